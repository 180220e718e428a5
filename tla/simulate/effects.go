package simulate

import (
	"strconv"
	"strings"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
	"github.com/kvsettle/kvsettle/wire/control"
)

// The effects of a step that others can see, as one token: messages with the edge
// that they go to, what becomes of the lease, the outcome, and a wish to restart.
// "a+b" is a, then b.

type doing struct{ parts []string }

func (d *doing) add(s string) { d.parts = append(d.parts, s) }

func (d *doing) token() string {
	s := strings.Join(d.parts, "+")
	return s[:min(len(s), timeline.MaxToken)]
}

func (d *doing) settle(how sm.Disposition) { d.add("settle:" + how.String()) }

// message names one message of v2 to edge.
func message(t control.Type, edge uint8, words ...string) string {
	s := t.String()
	for _, w := range words {
		if w != "" {
			s += ":" + w
		}
	}
	return s + "/" + strconv.Itoa(int(edge))
}

func word(e control.Evidence) string {
	if e == 0 {
		return ""
	}
	return e.String()
}

func decision(d control.Decision) string {
	if d == control.DecisionReady {
		return "YES"
	}
	return "NO"
}

func sourceState(s control.SourceState) string {
	switch s {
	case control.StateNotStarted:
		return "NOT_STARTED"
	case control.StateInProgress:
		return "IN_PROGRESS"
	case control.StateSourceComplete:
		return "SOURCE_COMPLETE"
	case control.StateQuiesced:
		return "QUIESCED"
	}
	return "UNKNOWN"
}

func ctxDoes(out []ctx.ParentEffect) string {
	var d doing
	for i := range out {
		switch e := &out[i]; e.Kind {
		case ctx.DoSend:
			how := ""
			switch e.Msg {
			case control.TypeReady:
				how = decision(e.Decision)
			case control.TypeStatus:
				how = sourceState(e.State)
			case control.TypeDataComplete:
				how = strconv.Itoa(int(e.Chunk)) + "of" + strconv.Itoa(int(e.Count))
			}
			d.add(message(e.Msg, e.Edge, how, word(e.Evidence)))
		case ctx.DoSync:
			d.add("sync/" + strconv.Itoa(int(e.Edge)))
		case ctx.DoWrite:
			d.add("write/" + strconv.Itoa(int(e.Edge)))
		case ctx.DoFree, ctx.DoProve:
			d.add("free")
		case ctx.DoQuarantine:
			d.add("quarantine")
		case ctx.DoRestart:
			d.add("restart")
		case ctx.DoSettle:
			d.settle(e.Disposition)
		}
	}
	return d.token()
}

func genDoes(out []gen.ParentEffect) string {
	var d doing
	for i := range out {
		switch e := &out[i]; e.Kind {
		case gen.DoSend:
			d.add(message(e.Msg, e.Edge, word(e.Evidence)))
		case gen.DoProcess:
			d.add("process")
		case gen.DoFree, gen.DoProve:
			d.add("free")
		case gen.DoQuarantine:
			d.add("quarantine")
		case gen.DoAbandon:
			d.add("abandon")
		case gen.DoRestart:
			d.add("restart")
		case gen.DoSettle:
			d.settle(e.Disposition)
		}
	}
	return d.token()
}

func ctx1Does(out []ctx.Effect) string {
	var d doing
	for i := range out {
		switch e := &out[i]; e.Kind {
		case ctx.SendReady:
			d.add("ready:" + strconv.FormatBool(e.Value) + "/" + strconv.Itoa(int(e.Edge)))
		case ctx.SendSync:
			d.add("sync/" + strconv.Itoa(int(e.Edge)))
		case ctx.StartWrite:
			d.add("write/" + strconv.Itoa(int(e.Edge)))
		case ctx.StopWrite:
			d.add("stop/" + strconv.Itoa(int(e.Edge)))
		case ctx.ReleaseSlot, ctx.ProveSlot:
			d.add("free")
		case ctx.QuarantineSlot:
			d.add("quarantine")
		case ctx.Settle:
			d.settle(e.Disposition)
		}
	}
	return d.token()
}

func gen1Does(out []gen.Effect) string {
	var d doing
	for i := range out {
		switch e := &out[i]; e.Kind {
		case gen.SendRequest:
			d.add("request/" + strconv.Itoa(int(e.Edge)))
		case gen.Scatter:
			d.add("scatter")
		case gen.ReleaseSlot, gen.ProveSlot:
			d.add("free")
		case gen.QuarantineSlot:
			d.add("quarantine")
		case gen.Settle:
			d.settle(e.Disposition)
		}
	}
	return d.token()
}
