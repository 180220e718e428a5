package statemachine_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

// ids has pairs that share their twelve bits.
var ids = []uint64{1, 2, 3, 4, 1 + 4096, 2 + 4096, 3 + 4096, 1 + 2*4096, 2 + 2*4096}

// run plays events at random. Some worlds are calm, or most attempts would end by a
// fault before anything else can happen to them.
func (w *writersWorld) run(events int) {
	type action struct {
		weight int
		do     func()
	}
	actions := []action{
		{3, w.begin}, {6, w.admit}, {8, w.sent}, {16, w.deliver}, {10, w.answer}, {8, w.write}, {6, w.copied}, {2, w.time},
	}
	if !rapid.Bool().Draw(w.rt, "calm") {
		actions = append(actions, action{2, w.time}, action{1, w.cancel}, action{1, w.kill}, action{2, w.report})
	}
	// Turn by turn, because rapid draws the low end of a range more often.
	var wheel []func()
	for turn := range 20 {
		for _, a := range actions {
			if turn < a.weight {
				wheel = append(wheel, a.do)
			}
		}
	}
	for range events {
		wheel[rapid.IntRange(0, len(wheel)-1).Draw(w.rt, "event")]()
		w.check()
	}
}

// pick chooses among the attempts that meet a condition.
func (w *writersWorld) pick(ok func(*attempt) bool) *attempt {
	var list []*attempt
	for _, a := range w.attempts {
		if ok(a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(w.rt, "attempt")]
}

func (w *writersWorld) begin() {
	if len(w.attempts) == w.most {
		return
	}
	a := &attempt{id: ids[len(w.attempts)], sending: -1, mood: rapid.IntRange(0, 4).Draw(w.rt, "mood")}
	for _, p := range w.procs {
		a.writers = append(a.writers, writer{proc: p})
	}
	w.attempts = append(w.attempts, a)
	w.step(a, gen.Input{Kind: gen.Start, Edges: uint8(len(w.procs)), Settings: bounds,
		CancelBeatsSuccess: rapid.Bool().Draw(w.rt, "enabled"), ExpectReject: rare(w.rt, "expect reject")})
}

// admit gives tag and slot to a waiting attempt if there are any.
func (w *writersWorld) admit() {
	a := w.pick(func(a *attempt) bool { return a.queued })
	if a == nil {
		return
	}
	for i := range a.writers {
		if free, _ := a.writers[i].proc.tags.FreeAt(a.id, w.now); !free {
			return
		}
	}
	effects, err := w.pool.Step(slot.Input{Kind: slot.Lease, Owner: a.id}, nil)
	if err != nil {
		return
	}
	a.bind, a.queued, a.tagged = effects[0].Binding, false, true
	for i := range a.writers {
		require.NoError(w.rt, a.writers[i].proc.tags.Hold(a.id, w.now))
	}
	w.check() // a new lease: nobody may write for the old one
	w.step(a, gen.Input{Kind: gen.Granted, Binding: a.bind})
}

// sent ends a notify call. What the peer can see was not a definite error.
func (w *writersWorld) sent() {
	a := w.pick(func(a *attempt) bool { return a.sending >= 0 })
	if a == nil {
		return
	}
	edge := a.sending
	kind := gen.Published
	switch {
	case rare(w.rt, "doubt"):
		kind = gen.PublishDoubt
	case !a.visible && rare(w.rt, "error"):
		kind = gen.PublishError
	}
	if !a.visible && kind != gen.PublishError && !rare(w.rt, "lost at once") {
		w.net.send(w.now, word{kind: request, of: a, edge: edge})
	}
	a.sending, a.visible = -1, false
	w.step(a, gen.Input{Kind: kind, Edge: uint8(edge)})
}

// deliver brings a message to a writer or to GEN.
func (w *writersWorld) deliver() {
	m, ok := w.net.act(w.rt)
	if !ok {
		return
	}
	x := &m.of.writers[m.edge]
	if m.kind == request {
		switch {
		case x.proc.dead:
		case x.state == refused: // a duplicate gets the same answer
			w.net.send(w.now, word{kind: ready, of: m.of, edge: m.edge})
		default:
			x.heard = true
		}
		return
	}
	// GEN knows the sender and twelve bits.
	owner, live := x.proc.tags.Owner(tag.Of(m.of.id))
	if !live {
		return
	}
	for _, a := range w.attempts {
		if a.id != owner || !a.told {
			continue
		}
		require.Equal(w.rt, m.of.id, a.id, "a message of an old attempt reached a new one")
		kind := gen.Ready
		if m.kind == sync {
			kind = gen.Sync
		}
		w.step(a, gen.Input{Kind: kind, Edge: uint8(m.edge), Value: m.value})
	}
}

// answer lets a writer that heard a request decide; a few contradict themselves
// while the attempt lives, without writing. (One that lies later can hit the next
// attempt with its tag: twelve bits do not tell them apart.)
func (w *writersWorld) answer() {
	a := w.pick(func(a *attempt) bool { return a.told })
	if a == nil {
		return
	}
	e := rapid.IntRange(0, len(a.writers)-1).Draw(w.rt, "edge")
	x := &a.writers[e]
	if x.proc.dead {
		return
	}
	switch {
	case x.state == idle && x.heard:
		yes := a.mood < 3 || a.mood == 3 && rapid.Bool().Draw(w.rt, "answer")
		x.state = refused
		if yes {
			x.state = committed
		}
		w.net.send(w.now, word{kind: ready, of: a, edge: e, value: yes})
	case x.state == refused && a.tagged && rare(w.rt, "lie"):
		w.net.send(w.now, word{kind: []wordKind{ready, sync}[rapid.IntRange(0, 1).Draw(w.rt, "which")], of: a, edge: e, value: true})
	case x.state == finished && a.tagged && rare(w.rt, "lie"):
		w.net.send(w.now, word{kind: ready, of: a, edge: e})
	}
}

// write ends the write of a committed writer, mostly with a sync.
func (w *writersWorld) write() {
	a := w.pick(func(a *attempt) bool { return a.told })
	if a == nil {
		return
	}
	e := rapid.IntRange(0, len(a.writers)-1).Draw(w.rt, "edge")
	if x := &a.writers[e]; x.state == committed && !x.proc.dead {
		x.state = finished
		if !rare(w.rt, "silent") {
			w.net.send(w.now, word{kind: sync, of: a, edge: e})
		}
	}
}

func (w *writersWorld) copied() {
	if a := w.pick(func(a *attempt) bool { return a.copying }); a != nil {
		a.copying = false
		w.step(a, gen.Input{Kind: gen.Scattered, Value: !rare(w.rt, "wrong block")})
	}
}

func (w *writersWorld) cancel() {
	if a := w.pick(func(a *attempt) bool { return !a.dropped }); a != nil {
		kind := gen.Cancel
		if rare(w.rt, "abort") {
			kind = gen.Abort
		}
		w.step(a, gen.Input{Kind: kind})
	}
}

// time passes, and whoever is due is told, sooner or later.
func (w *writersWorld) time() {
	w.now += sm.Time(rapid.Int64Range(0, []int64{3, 6, 25}[rapid.IntRange(0, 2).Draw(w.rt, "pace")]).Draw(w.rt, "pause"))
	w.net.expire(w.now)
	for _, a := range w.attempts {
		if a.timer != 0 && a.timer <= w.now && !rare(w.rt, "tick comes later") {
			w.step(a, gen.Input{Kind: gen.Tick})
		}
	}
}

// kill ends a CTX process; a new incarnation serves the attempts that come later.
func (w *writersWorld) kill() {
	i := rapid.IntRange(0, len(w.procs)-1).Draw(w.rt, "rank")
	w.procs[i].dead = true
	w.procs[i] = &process{rank: i}
	w.everyone = append(w.everyone, w.procs[i])
}

// report tells GEN of a lost connection (which also a living process may lose) or
// of a death, in any order and late.
func (w *writersWorld) report() {
	p := w.everyone[rapid.IntRange(0, len(w.everyone)-1).Draw(w.rt, "process")]
	if p.dead && rapid.Bool().Draw(w.rt, "proof") {
		w.quiet(p)
		return
	}
	if !p.lost && (p.dead || rare(w.rt, "cut")) {
		p.lost = true
		w.tell(p, gen.PeerLost)
	}
}

func (w *writersWorld) quiet(p *process) {
	if !p.quiet {
		p.quiet = true
		w.tell(p, gen.PeerQuiet)
	}
}

func (w *writersWorld) tell(p *process, kind gen.Kind) {
	for _, a := range w.attempts {
		if a.writers[p.rank].proc == p {
			w.step(a, gen.Input{Kind: kind, Mask: 1 << p.rank})
		}
	}
}

// settle: from here on nobody hears anything any more, and deadlines alone must
// end every attempt, once.
func (w *writersWorld) settle() {
	for _, a := range w.attempts {
		for n := 0; a.m.Disposition() == sm.Open; n++ {
			require.Less(w.rt, n, 4, "request %d does not end", a.id)
			require.NotZero(w.rt, a.timer, "request %d is open without a deadline", a.id)
			w.now = max(w.now, a.timer)
			w.net.expire(w.now)
			w.step(a, gen.Input{Kind: gen.Tick})
			w.check()
		}
		require.Equal(w.rt, 1, a.settled)
	}
}

// prove: local work ends, calls return, and with the death of every process each
// slot comes back. It returns how many were proven so.
func (w *writersWorld) prove() int {
	for _, a := range w.attempts {
		if a.copying {
			a.copying = false
			w.step(a, gen.Input{Kind: gen.Scattered, Value: true})
		}
		for a.sending >= 0 && !a.dropped {
			edge := a.sending
			a.sending = -1
			w.step(a, gen.Input{Kind: gen.Published, Edge: uint8(edge)})
		}
		w.check()
	}
	before := w.pool.Counts().Quarantined
	for _, p := range w.everyone {
		p.dead = true
		w.quiet(p)
		w.check()
	}
	require.Equal(w.rt, slot.Counts{Free: w.pool.Slots(), Total: w.pool.Slots()}, w.pool.Counts())
	for _, a := range w.attempts {
		require.True(w.rt, a.dropped)
		require.False(w.rt, a.tagged)
	}
	for _, p := range w.everyone {
		require.Zero(w.rt, p.tags.Busy())
	}
	return before
}
