package statemachine_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
	"github.com/kvsettle/kvsettle/statemachine/tag"
)

var ctxBounds = ctx.Settings{Admission: 300, Context: 150, Request: 60, Control: 15}

// run plays events at random; a world without faults still loses messages.
func (w *pairsWorld) run(events int) {
	actions := []struct {
		weight int
		do     func()
	}{
		{3, w.publish}, {6, w.admitCTX}, {4, w.begin}, {6, w.admitGEN}, {10, w.sent}, {20, w.deliver}, {10, w.write}, {6, w.copied}, {3, w.time},
		{1, w.cancel}, {1, w.fault}, {2, w.report},
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

func (w *pairsWorld) check() {
	for _, p := range w.pools() {
		c := p.Counts()
		require.Equal(w.rt, c.Total, c.Free+c.Leased+c.Quarantined)
	}
}

func (w *pairsWorld) pools() []*slot.Pool {
	var out []*slot.Pool
	for _, g := range w.gens {
		out = append(out, g.pool)
	}
	for _, c := range w.ctxs {
		out = append(out, c.pool)
	}
	return out
}

// all lists every attempt and every context in a fixed order.
func (w *pairsWorld) all() (as []*pairAttempt, cs []*pairContext) {
	for _, id := range ids {
		for _, g := range w.gens {
			if a := g.attempts[id]; a != nil {
				as = append(as, a)
			}
		}
		for _, c := range w.ctxs {
			if x := c.contexts[id]; x != nil {
				cs = append(cs, x)
			}
		}
	}
	return as, cs
}

func choose[T any](rt *rapid.T, list []T, ok func(T) bool) (T, bool) {
	var fit []T
	for _, x := range list {
		if ok(x) {
			fit = append(fit, x)
		}
	}
	if len(fit) == 0 {
		var none T
		return none, false
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(rt, "which")], true
}

// publish starts the next request on every CTX rank.
func (w *pairsWorld) publish() {
	if w.started == len(ids) {
		return
	}
	id := ids[w.started]
	w.started++
	for _, c := range w.ctxs {
		if c.dead {
			continue
		}
		require.NoError(w.rt, c.ids.Open(id, w.now))
		x := &pairContext{id: id, at: c, targets: make([]slot.Binding, len(w.gens))}
		c.contexts[id] = x
		w.stepCTX(x, ctx.Input{Kind: ctx.Start, Edges: uint8(len(w.gens)), Settings: ctxBounds})
	}
}

func (w *pairsWorld) admitCTX() {
	_, cs := w.all()
	x, ok := choose(w.rt, cs, func(x *pairContext) bool { return x.queued && !x.at.dead })
	if !ok {
		return
	}
	effects, err := x.at.pool.Step(slot.Input{Kind: slot.Lease, Owner: x.id}, nil)
	if err != nil {
		return
	}
	x.queued, x.bind = false, effects[0].Binding
	w.stepCTX(x, ctx.Input{Kind: ctx.Granted, Binding: x.bind})
}

// begin hands a published context to a GEN rank, perhaps after it has ended.
func (w *pairsWorld) begin() {
	_, cs := w.all()
	x, ok := choose(w.rt, cs, func(x *pairContext) bool { return x.shown })
	if !ok {
		return
	}
	g := w.gens[rapid.IntRange(0, len(w.gens)-1).Draw(w.rt, "gen rank")]
	if g.dead || g.attempts[x.id] != nil {
		return
	}
	a := &pairAttempt{id: x.id, at: g, sending: -1, refuse: slices.Contains(g.gone, true)}
	g.attempts[x.id] = a
	w.stepGEN(a, gen.Input{Kind: gen.Start, Edges: uint8(len(w.ctxs)), Settings: bounds,
		CancelBeatsSuccess: rapid.Bool().Draw(w.rt, "enabled")})
}

func (w *pairsWorld) admitGEN() {
	as, _ := w.all()
	a, ok := choose(w.rt, as, func(a *pairAttempt) bool { return a.queued && !a.at.dead })
	if !ok {
		return
	}
	if a.refuse || slices.Contains(a.at.gone, true) && rapid.Bool().Draw(w.rt, "seen to be gone") {
		w.stepGEN(a, gen.Input{Kind: gen.Denied, Reason: sm.PeerLost})
		return
	}
	for c := range a.at.tags {
		if free, _ := a.at.tags[c].FreeAt(a.id, w.now); !free {
			return
		}
	}
	effects, err := a.at.pool.Step(slot.Input{Kind: slot.Lease, Owner: a.id}, nil)
	if err != nil {
		return
	}
	a.queued, a.bind = false, effects[0].Binding
	for c := range a.at.tags {
		require.NoError(w.rt, a.at.tags[c].Hold(a.id, w.now))
	}
	w.stepGEN(a, gen.Input{Kind: gen.Granted, Binding: a.bind})
}

func (w *pairsWorld) sent() {
	as, _ := w.all()
	a, ok := choose(w.rt, as, func(a *pairAttempt) bool { return a.sending >= 0 && !a.at.dead })
	if !ok {
		return
	}
	edge, kind := a.sending, gen.Published
	a.sending = -1
	switch {
	case w.ctxs[edge].dead && rapid.Bool().Draw(w.rt, "known to be gone"), w.faults && rare(w.rt, "error"):
		kind = gen.PublishError
	default:
		w.net.send(w.now, pairWord{kind: request, g: a.at.index, c: edge, of: a.id, announce: a.bind})
		if w.faults && rare(w.rt, "doubt") {
			kind = gen.PublishDoubt
		}
	}
	w.stepGEN(a, gen.Input{Kind: kind, Edge: uint8(edge)})
}

func (w *pairsWorld) deliver() {
	m, ok := w.net.act(w.rt)
	if !ok {
		return
	}
	g, c := w.gens[m.g], w.ctxs[m.c]
	if m.kind != request {
		owner, live := g.tags[m.c].Owner(tag.Of(m.of))
		if a := g.attempts[owner]; live && a != nil && !g.dead && !a.queued {
			require.Equal(w.rt, m.of, a.id, "a message of an old attempt reached a new one")
			kind := gen.Ready
			if m.kind == sync {
				kind = gen.Sync
			}
			w.stepGEN(a, gen.Input{Kind: kind, Edge: uint8(m.c), Value: m.value})
		}
		return
	}
	if c.dead {
		return
	}
	active, answer, _ := c.ids.Look(m.of)
	if !active {
		if answer == registry.Reject {
			w.net.send(w.now, pairWord{kind: ready, g: m.g, c: m.c, of: m.of})
		}
		return
	}
	x := c.contexts[m.of]
	in := ctx.Input{Kind: ctx.Request, Edge: uint8(m.g), Value: true}
	if rare(w.rt, "not acceptable") {
		in.Value, in.Reason = false, "layout-mismatch"
	}
	if s := x.m.State(); (s == ctx.Published || s == ctx.Bound) && !x.m.Bound(in.Edge) {
		x.targets[m.g] = m.announce
	}
	w.stepCTX(x, in)
}

// write lets one posted write go on by a chunk, and checks both its ends.
func (w *pairsWorld) write() {
	if len(w.jobs) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.jobs)-1).Draw(w.rt, "job")
	j := w.jobs[i]
	state, generation, _ := j.c.at.pool.Look(j.c.bind.Slot)
	require.Equal(w.rt, j.c.bind.Generation, generation, "read from a source slot that was leased again")
	require.Contains(w.rt, []slot.State{slot.InFlight, slot.Quarantined}, state)
	if !j.g.dead {
		state, generation, _ = j.g.pool.Look(j.target.Slot)
		require.Equal(w.rt, j.target.Generation, generation, "wrote into a slot that was leased again")
		require.Contains(w.rt, []slot.State{slot.Advertised, slot.InFlight, slot.Quarantined}, state)
	}
	key := w.key(j.c.id, j.g.index, j.c.at.index)
	switch broken := j.g.dead || w.faults && rare(w.rt, "broken"); {
	case broken || j.stopped && j.left > 1:
		w.jobs = slices.Delete(w.jobs, i, i+1)
		w.stepCTX(j.c, ctx.Input{Kind: ctx.Ended, Edge: uint8(j.g.index)})
	default:
		if j.left--; j.left == 0 {
			w.jobs = slices.Delete(w.jobs, i, i+1)
			w.written[key]++
			w.stepCTX(j.c, ctx.Input{Kind: ctx.Written, Edge: uint8(j.g.index)})
		}
	}
}

func (w *pairsWorld) copied() {
	as, _ := w.all()
	if a, ok := choose(w.rt, as, func(a *pairAttempt) bool { return a.copying }); ok {
		a.copying = false
		w.stepGEN(a, gen.Input{Kind: gen.Scattered, Value: !rare(w.rt, "wrong block")})
	}
}

func (w *pairsWorld) cancel() {
	as, cs := w.all()
	if rapid.Bool().Draw(w.rt, "at ctx") {
		if x, ok := choose(w.rt, cs, func(x *pairContext) bool { return !x.dropped }); ok {
			kind := ctx.Cancel
			if rare(w.rt, "abort") {
				kind = ctx.Abort
			}
			w.stepCTX(x, ctx.Input{Kind: kind})
		}
		return
	}
	if a, ok := choose(w.rt, as, func(a *pairAttempt) bool { return !a.dropped }); ok {
		kind := gen.Cancel
		if rare(w.rt, "abort") {
			kind = gen.Abort
		}
		w.stepGEN(a, gen.Input{Kind: kind})
	}
}

func (w *pairsWorld) time() {
	w.now += sm.Time(rapid.Int64Range(0, []int64{3, 6, 25}[rapid.IntRange(0, 2).Draw(w.rt, "pace")]).Draw(w.rt, "pause"))
	w.net.expire(w.now)
	as, cs := w.all()
	for _, a := range as {
		if a.timer != 0 && a.timer <= w.now && !rare(w.rt, "tick comes later") {
			w.stepGEN(a, gen.Input{Kind: gen.Tick})
		}
	}
	for _, x := range cs {
		if x.timer != 0 && x.timer <= w.now && !rare(w.rt, "tick comes later") {
			w.stepCTX(x, ctx.Input{Kind: ctx.Tick})
		}
	}
}

// fault kills a process or cuts a connection. The reports come later, in any order.
func (w *pairsWorld) fault() {
	if !w.faults {
		return
	}
	g, c := w.gens[rapid.IntRange(0, len(w.gens)-1).Draw(w.rt, "gen rank")], w.ctxs[rapid.IntRange(0, len(w.ctxs)-1).Draw(w.rt, "ctx rank")]
	switch rapid.IntRange(0, 2).Draw(w.rt, "fault") {
	case 0:
		w.events = append(w.events, pairEvent{true, g.index, c.index, gen.PeerLost}, pairEvent{g: g.index, c: c.index})
	case 1:
		w.killCTX(c)
	case 2:
		if !g.dead {
			g.dead = true
			for _, c := range w.ctxs {
				w.events = append(w.events, pairEvent{g: g.index, c: c.index})
			}
		}
	}
}

func (w *pairsWorld) killCTX(c *ctxRank) {
	if c.dead {
		return
	}
	c.dead = true
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool { return j.c.at == c })
	for _, g := range w.gens {
		w.events = append(w.events, pairEvent{true, g.index, c.index, gen.PeerLost}, pairEvent{true, g.index, c.index, gen.PeerQuiet})
	}
}

func (w *pairsWorld) report() {
	if len(w.events) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.events)-1).Draw(w.rt, "report")
	e := w.events[i]
	w.events = slices.Delete(w.events, i, i+1)
	w.tell(e)
}

func (w *pairsWorld) tell(e pairEvent) {
	as, cs := w.all()
	if e.toGEN {
		w.gens[e.g].gone[e.c] = true
	}
	for _, a := range as {
		if e.toGEN && a.at.index == e.g {
			w.stepGEN(a, gen.Input{Kind: e.kind, Mask: 1 << e.c})
		}
	}
	for _, x := range cs {
		if !e.toGEN && x.at.index == e.c {
			w.stepCTX(x, ctx.Input{Kind: ctx.PeerLost, Mask: 1 << e.g})
		}
	}
}

// settle: no message arrives any more and no write moves; deadlines alone end
// everything on both sides.
func (w *pairsWorld) settle() {
	as, cs := w.all()
	for range 5 {
		for _, a := range as {
			if a.m.Disposition() == sm.Open && !a.at.dead {
				require.NotZero(w.rt, a.timer)
				w.now = max(w.now, a.timer)
				w.stepGEN(a, gen.Input{Kind: gen.Tick})
			}
		}
		for _, x := range cs {
			if x.m.Disposition() == sm.Open && !x.at.dead {
				require.NotZero(w.rt, x.timer)
				w.now = max(w.now, x.timer)
				w.stepCTX(x, ctx.Input{Kind: ctx.Tick})
			}
		}
	}
	w.net.expire(w.now)
	w.check()
}

// prove: the writes end, the workers end, the peers die: every slot comes back.
func (w *pairsWorld) prove() {
	w.faults = false
	as, _ := w.all()
	for _, a := range as {
		if a.copying {
			a.copying = false
			w.stepGEN(a, gen.Input{Kind: gen.Scattered, Value: true})
		}
		for a.sending >= 0 && !a.dropped && !a.at.dead {
			edge := a.sending
			a.sending = -1
			w.stepGEN(a, gen.Input{Kind: gen.PublishError, Edge: uint8(edge)})
		}
	}
	for len(w.jobs) > 0 {
		w.write()
		w.check()
	}
	free := func(p *slot.Pool) {
		require.Equal(w.rt, slot.Counts{Free: p.Slots(), Total: p.Slots()}, p.Counts())
	}
	for _, c := range w.ctxs {
		if !c.dead {
			free(c.pool)
		}
		w.killCTX(c)
	}
	for _, e := range w.events {
		w.tell(e)
	}
	for _, g := range w.gens {
		if !g.dead {
			free(g.pool)
			for c := range g.tags {
				require.Zero(w.rt, g.tags[c].Busy())
			}
		}
	}
}
