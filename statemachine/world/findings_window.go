package world

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/dedup"
)

// d12Most is the largest number of messages of a WindowConfig.
const d12Most = 6

// WindowConfig fixes the world of D12: a sender, a connection that may be made anew,
// and a receiver with a window of message ids.
type WindowConfig struct {
	// Window is the number of remembered ids, Messages how many different messages the
	// sender has for one key, at most 6.
	Window, Messages int
	// Reconnects is how often the sender queues everything again that it has sent.
	Reconnects uint8
}

// WindowState is a state of that world.
type WindowState struct {
	// Table is the receiver's window, a row of its table.
	Table uint16
	// Sent is how many messages the sender has made; Net what is on its way, by bit.
	Sent, Net uint8
	// Done counts how often each message was carried out; Below are those that were met
	// below the floor.
	Done  [d12Most]uint8
	Below uint8
	Left  uint8
}

type d12In struct {
	id     uint64
	record bool
}

const (
	winSend Action = iota
	winDeliver
	winReconnect
)

var d12Actions = [...]Info{
	winSend:      {Name: "Send", Fair: true, From: "GEN", To: "network", Args: []string{"id"}},
	winDeliver:   {Name: "Deliver", Fair: true, From: "network", To: "CTX", Args: []string{"id", "verdict=none|first|repeat|below"}},
	winReconnect: {Name: "Reconnect", From: "GEN", To: "network"},
}

// Window is the model of D12. Messages arrive in any order.
func Window(cfg WindowConfig) (*Model[WindowState], error) {
	fresh := func() *dedup.Table[uint8, uint8] {
		t, _ := dedup.New[uint8, uint8](cfg.Window, 1)
		return t
	}
	if cfg.Messages < 1 || cfg.Messages > d12Most {
		return nil, sm.Refuse(sm.BadRequest, "KS-REG-10", "window world: 1 to 6 messages")
	}
	if _, err := dedup.New[uint8, uint8](cfg.Window, 1); err != nil {
		return nil, err
	}
	message := func(id uint64) dedup.Message { return dedup.Message{Epoch: 1, ID: id, Sum: [32]byte{byte(id)}} }
	apply := func(t *dedup.Table[uint8, uint8], in d12In) (v dedup.Verdict) {
		if in.record {
			_ = t.Record(0, message(in.id), 0)
			return 0
		}
		v, _, _ = t.Judge(0, message(in.id))
		return v
	}
	// Counters of what was judged are no part of what a window does.
	key := func(t *dedup.Table[uint8, uint8]) string {
		text := ""
		for id := range uint64(d12Most) {
			v, _, _ := t.Judge(0, message(id+1))
			text += v.String() + " "
		}
		return text + string(itoa(int(t.Floor(0))))
	}
	look := func(t *dedup.Table[uint8, uint8]) (canon.Value, error) { return canon.Int(int64(t.Floor(0))), nil }
	table, err := tabulate(fresh, key, look, apply, func([]past[d12In, dedup.Verdict]) []d12In {
		var ins []d12In
		for id := range uint64(cfg.Messages) {
			ins = append(ins, d12In{id + 1, false}, d12In{id + 1, true})
		}
		return ins
	})
	if err != nil {
		return nil, err
	}
	next := func(s *WindowState, out *Out[WindowState]) {
		if int(s.Sent) < cfg.Messages {
			n := out.From(s)
			n.Net |= 1 << s.Sent
			n.Sent++
			out.Emit(winSend, int8(s.Sent))
		}
		if s.Left > 0 && s.Sent > 0 {
			n := out.From(s)
			n.Left--
			n.Net = 1<<s.Sent - 1
			out.Emit(winReconnect)
		}
		for i := range cfg.Messages {
			if s.Net>>i&1 == 0 {
				continue
			}
			n := out.From(s)
			n.Net &^= 1 << i
			var v dedup.Verdict
			n.Table, v, _ = table.step(s.Table, d12In{uint64(i) + 1, false})
			switch v {
			case dedup.First:
				n.Done[i]++
				n.Table, _, _ = table.step(n.Table, d12In{uint64(i) + 1, true})
			case dedup.Below:
				n.Below |= 1 << i
			}
			out.Emit(winDeliver, int8(i), int8(v))
		}
	}
	return &Model[WindowState]{
		Name: "window", Size: "finding", Actors: []string{"GEN", "network", "CTX"},
		Bounds:  []Bound{{"window", cfg.Window}, {"messages", cfg.Messages}, {"reconnects", int(cfg.Reconnects)}, {"reorder", -1}},
		Actions: collect(len(d12Actions), func(i int) Info { return d12Actions[i] }),
		Init:    []WindowState{{Left: cfg.Reconnects}}, Next: next,
		Settled: func(s *WindowState) bool { return int(s.Sent) == cfg.Messages && s.Net == 0 },
		Canon: func(s *WindowState) (canon.Value, error) {
			return canon.Rec(field("floor", table.states[s.Table]),
				field("carried_out", seq(cfg.Messages, func(i int) canon.Value { return canon.Int(int64(s.Done[i])) }))), nil
		},
		Invariants: []Invariant[WindowState]{
			{"CarriedOutOnce", []string{"KS-REG-10", "KS-REG-12"}, func(s *WindowState) bool {
				for _, n := range s.Done {
					if n > 1 {
						return false
					}
				}
				return true
			}},
			{"NothingSkipped", []string{"KS-REG-10", "KS-REG-18"}, func(s *WindowState) bool {
				for i, n := range s.Done {
					if n == 0 && s.Below>>i&1 != 0 {
						return false
					}
				}
				return true
			}},
		},
	}, nil
}
