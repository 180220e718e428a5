package world

import (
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// negCtxs is the number of CTX ranks of a negotiation world.
const negCtxs = 2

// NegotiateConfig fixes a negotiation model.
type NegotiateConfig struct {
	Size string
	// Kinds are the agents that each rank may be, as indexes into the list of agents.
	Kinds []uint8
	// Upgrades is how often a rank is replaced by one of another kind; Drops and Dups
	// are messages lost and doubled, Cancels users who give up.
	Upgrades, Drops, Dups, Cancels uint8
	// Wrong breaks rules on purpose. Its zero value is right; no size sets it.
	Wrong NegotiateWrong
}

// NegotiateWrong names the rules of a negotiation world that can be broken.
type NegotiateWrong struct {
	// AskAnyway sends the request although GEN's validation refused.
	AskAnyway bool
	// AcceptAll lets CTX accept every request.
	AcceptAll bool
	// LocalSelection lets GEN select with its first peer only.
	LocalSelection bool
}

// negAgent is one kind of agent.
type negAgent struct {
	name  string
	local negotiate.Local
	desc  descriptor.Descriptor
	// on says that the agent is in enabled mode; v2 that it speaks schema 2.
	on, v2 bool
}

// brokenAgent is the kind with a descriptor that cannot be read. Only CTX has it: no
// agent would call itself so, and what others do with such a name is the question.
const brokenAgent = 5

// negAgents lists the kinds: the ones of the rollout matrix first, then the odd ones.
func negAgents() []negAgent {
	with := func(base string, local negotiate.Local, d descriptor.Descriptor) negAgent {
		name := string(descriptor.AppendRaw([]byte(base), d))
		return negAgent{name, local, d, local == negotiate.On, d.Schema == 2}
	}
	on, off := descriptor.Default(descriptor.Enabled, 7), descriptor.Default(descriptor.Baseline, 7)
	newer, deaf := on, on
	newer.Min, newer.Max = 2, 3
	deaf.Caps = descriptor.CapCancel
	second := on
	second.Schema, second.ABI, second.Caps = 2, 1, on.Caps|descriptor.CapPeerCancel
	recovery, foreign := second, second
	recovery.Caps |= descriptor.CapRecovery
	foreign.ABI = 2
	broken := with("broken", negotiate.On, on)
	// A field that is no number; a name without its terminator would count as legacy.
	broken.name = strings.Replace(broken.name, "_v1_1_", "_v1_x_", 1)
	return []negAgent{
		{name: "legacy"},
		with("off", negotiate.Off, off),
		with("on", negotiate.On, on),
		with("newer", negotiate.On, newer),
		with("deaf", negotiate.On, deaf),
		broken,
		with("second", negotiate.On, second),
		with("recovery", negotiate.On, recovery),
		with("foreign", negotiate.On, foreign),
	}
}

// The phases of a request.
const (
	negNew uint8 = iota
	negAsked
	negCompleted
	negRejected
	negFailed
	negCancelled
	negRefused
)

var negPhases = [...]string{"new", "asked", "completed", "rejected", "failed", "cancelled", "refused"}

// The states of one edge.
const (
	edgeIdle uint8 = iota
	edgeRequest
	edgeYes
	edgeNo
	edgeHeardYes
	edgeHeardNo
	edgeLost
)

var edgeNames = [...]string{"idle", "request", "yes", "no", "heardYes", "heardNo", "lost"}

// NegotiateState is a state of a negotiation world.
//
// As TLA+ variables: gen and ctx (kinds of agents); phase; action (what GEN's
// validation said); edge (from CTX ranks to what is on its way); twice (a second copy
// of it); asked (the kind that each request came from); payload; moved; left.
type NegotiateState struct {
	Gen     uint8
	Ctx     [negCtxs]uint8
	Phase   uint8
	Action  negotiate.GENAction
	Edge    [negCtxs]uint8
	Twice   [negCtxs]bool
	Asked   [negCtxs]uint8
	Payload [negCtxs]bool
	// Odd says that a payload moved between agents that do not fit.
	Odd  bool
	Left negLeft
}

type negLeft struct{ Upgrades, Drops, Dups, Cancels uint8 }

type negWorld struct {
	cfg    NegotiateConfig
	agents []negAgent
}

// NegotiateSize returns the configuration with that name.
func NegotiateSize(size string) (NegotiateConfig, bool) {
	switch size {
	case "small":
		return NegotiateConfig{Size: size, Kinds: []uint8{0, 1, 2}, Drops: 1, Upgrades: 1, Dups: 1, Cancels: 1}, true
	case "medium":
		return NegotiateConfig{Size: size, Kinds: []uint8{0, 1, 2, 3, 5, 6, 7}, Drops: 1, Upgrades: 1, Dups: 1, Cancels: 1}, true
	case "large":
		return NegotiateConfig{Size: size, Kinds: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8}, Drops: 1, Upgrades: 2, Dups: 1, Cancels: 1}, true
	}
	return NegotiateConfig{}, false
}

// The actions of the negotiation model.
const (
	negValidate Action = iota
	negJudge
	negHear
	negDrop
	negDup
	negUpgradeGen
	negUpgradeCtx
	negCancel
	negDeadline
)

var negActions = []Info{
	negValidate:   {Name: "GenValidates", Fair: true, From: "GEN", To: "CTX"},
	negJudge:      {Name: "CtxJudges", Fair: true, From: "CTX {ctx}", To: "GEN", Args: []string{"ctx"}},
	negHear:       {Name: "GenHears", Fair: true, From: "CTX {ctx}", To: "GEN", Args: []string{"ctx"}},
	negDrop:       {Name: "Drop", From: "network", To: "network", Args: []string{"ctx"}},
	negDup:        {Name: "Duplicate", From: "network", To: "network", Args: []string{"ctx"}},
	negUpgradeGen: {Name: "UpgradeGen", From: "GEN", To: "GEN", Args: []string{"kind"}},
	negUpgradeCtx: {Name: "UpgradeCtx", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "kind"}},
	negCancel:     {Name: "UserCancelGen", From: "router", To: "GEN"},
	negDeadline:   {Name: "GenRequestDeadline", Fair: true, From: "GEN", To: "GEN"},
}

// Negotiate is the model of negotiation in a rolling upgrade: any mixture of old and
// new agents, one request, and agents that are replaced while it is under way. An
// upgraded agent is a new process: it has another epoch, and nothing reaches it that
// was sent to the old one.
func Negotiate(cfg NegotiateConfig) (*Model[NegotiateState], error) {
	w := &negWorld{cfg: cfg, agents: negAgents()}
	m := &Model[NegotiateState]{
		Name: "negotiate", Size: cfg.Size, Actors: []string{"router", "GEN", "network", "CTX", "CTX 1", "CTX 2"},
		Bounds: []Bound{{"kinds", len(cfg.Kinds)}, {"CTX ranks", negCtxs}, {"drop", int(cfg.Drops)}, {"duplicate", int(cfg.Dups)},
			{"reorder", -1}, {"upgrade", int(cfg.Upgrades)}, {"cancel at GEN", int(cfg.Cancels)}},
		Actions: negActions, Next: w.next, Canon: w.canon,
		Settled: func(s *NegotiateState) bool { return s.Phase >= negCompleted },
		Invariants: []Invariant[NegotiateState]{
			{"NoPayloadInRefusedCell", []string{"KS-SEL-11", "KS-SEL-26"}, func(s *NegotiateState) bool { return !s.Odd }},
			{"RefusalIsSilent", []string{"KS-V1-43"}, w.refusalIsSilent},
			{"RejectExpected", []string{"KS-V1-42"}, w.rejectExpected},
			{"SelectionAgrees", []string{"KS-SEL-15", "KS-SEL-18"}, w.selectionAgrees},
		},
	}
	left := negLeft{cfg.Upgrades, cfg.Drops, cfg.Dups, cfg.Cancels}
	for _, g := range cfg.Kinds {
		if g == brokenAgent {
			continue
		}
		for _, a := range cfg.Kinds {
			for _, b := range cfg.Kinds {
				m.Init = append(m.Init, NegotiateState{Gen: g, Ctx: [negCtxs]uint8{a, b}, Left: left})
			}
		}
	}
	return m, nil
}

func (w *negWorld) names(s *NegotiateState) []string {
	return []string{w.agents[s.Ctx[0]].name, w.agents[s.Ctx[1]].name}
}

// validate is GEN's own validation: by v1, or topology-wide where it speaks v2.
func (w *negWorld) validate(s *NegotiateState) negotiate.GENAction {
	me := &w.agents[s.Gen]
	if !me.v2 {
		return negotiate.GEN(me.local, me.desc, w.names(s)).Action
	}
	if sel := negotiate.Select([]string{me.name}, w.names(s)); sel.Err() != nil {
		return negotiate.RefuseLocally
	}
	return negotiate.Proceed
}

// accepts is what CTX rank k thinks of the request's sender.
func (w *negWorld) accepts(s *NegotiateState, k int) bool {
	me, from := &w.agents[s.Ctx[k]], &w.agents[s.Asked[k]]
	if !me.v2 {
		return negotiate.CTX(me.local, me.desc, []string{from.name}).Action == negotiate.Accept
	}
	sel := negotiate.Select(w.names(s), []string{from.name})
	return sel.Err() == nil
}

// fit says whether data may flow between two agents: both do not speak the protocol
// or have it off, or both have it on and offer the same.
func (w *negWorld) fit(a, b uint8) bool {
	x, y := &w.agents[a], &w.agents[b]
	if !x.on && !y.on {
		return true
	}
	if x.v2 && y.v2 {
		return x.desc.ABI == y.desc.ABI
	}
	return x.on && y.on && a == b && x.desc.Caps.Has(descriptor.CapReject)
}

func (w *negWorld) next(s *NegotiateState, out *Out[NegotiateState]) {
	if s.Phase >= negCompleted {
		return
	}
	if s.Phase == negNew {
		n := out.From(s)
		n.Action, n.Phase = w.validate(s), negRefused
		if n.Action != negotiate.RefuseLocally || w.cfg.Wrong.AskAnyway {
			n.Phase = negAsked
			n.Edge = [negCtxs]uint8{edgeRequest, edgeRequest}
			n.Asked = [negCtxs]uint8{s.Gen, s.Gen}
		}
		out.Emit(negValidate)
	}
	for k := range negCtxs {
		w.nextEdge(s, k, out)
	}
	if s.Left.Cancels > 0 {
		n := out.From(s)
		n.Left.Cancels--
		n.Phase = negCancelled
		out.Emit(negCancel)
	}
	if s.Phase == negAsked {
		out.From(s).Phase = negFailed
		out.Emit(negDeadline)
	}
	if s.Left.Upgrades == 0 {
		return
	}
	for _, kind := range w.cfg.Kinds {
		if kind != s.Gen && kind != brokenAgent {
			n := out.From(s)
			n.Left.Upgrades--
			n.Gen = kind
			if s.Phase == negAsked {
				n.Phase = negFailed // its process is gone
			}
			out.Emit(negUpgradeGen, int8(kind))
		}
		for k := range negCtxs {
			if kind == s.Ctx[k] {
				continue
			}
			n := out.From(s)
			n.Left.Upgrades--
			n.Ctx[k] = kind
			if s.Edge[k] == edgeRequest {
				n.Edge[k], n.Twice[k] = edgeLost, false
			}
			out.Emit(negUpgradeCtx, int8(k), int8(kind))
		}
	}
}

func (w *negWorld) nextEdge(s *NegotiateState, k int, out *Out[NegotiateState]) {
	if e := s.Edge[k]; e != edgeRequest && e != edgeYes && e != edgeNo {
		return
	}
	n := out.From(s)
	if s.Edge[k] == edgeRequest {
		n.Edge[k] = edgeNo
		if w.accepts(s, k) || w.cfg.Wrong.AcceptAll {
			n.Edge[k], n.Payload[k] = edgeYes, true
			n.Odd = n.Odd || !w.fit(s.Asked[k], s.Ctx[k])
		}
		out.Emit(negJudge, int8(k))
	} else {
		n.Edge[k] += edgeHeardYes - edgeYes
		n.Twice[k] = false // a second copy of an answer changes nothing
		w.judged(n)
		out.Emit(negHear, int8(k))
	}
	if s.Left.Drops > 0 {
		n := out.From(s)
		n.Left.Drops--
		if s.Twice[k] {
			n.Twice[k] = false
		} else {
			n.Edge[k] = edgeLost
		}
		out.Emit(negDrop, int8(k))
	}
	if s.Left.Dups > 0 && !s.Twice[k] {
		n := out.From(s)
		n.Left.Dups--
		n.Twice[k] = true
		out.Emit(negDup, int8(k))
	}
}

// judged ends the request when every edge was heard.
func (w *negWorld) judged(n *NegotiateState) {
	yes, no := 0, 0
	for k := range negCtxs {
		switch n.Edge[k] {
		case edgeHeardYes:
			yes++
		case edgeHeardNo:
			no++
		}
	}
	switch {
	case yes+no < negCtxs:
	case no == negCtxs:
		n.Phase = negRejected
	case yes == negCtxs && n.Action == negotiate.Proceed:
		n.Phase = negCompleted
	default:
		n.Phase = negFailed
	}
}

// refusalIsSilent: a request that GEN's validation refused reached nobody.
func (w *negWorld) refusalIsSilent(s *NegotiateState) bool {
	return s.Action != negotiate.RefuseLocally || s.Edge == [negCtxs]uint8{}
}

// rejectExpected: where GEN expects to be refused it never completes, and in a
// service whose ranks agree no rank accepts.
func (w *negWorld) rejectExpected(s *NegotiateState) bool {
	if s.Action != negotiate.ProceedExpectReject {
		return true
	}
	agreed := s.Ctx[0] == s.Ctx[1] && s.Left.Upgrades == w.cfg.Upgrades
	return s.Phase != negCompleted && !(agreed && (s.Payload[0] || s.Payload[1]))
}

// selectionAgrees: both sides, each from its own view, select the same or both
// refuse.
func (w *negWorld) selectionAgrees(s *NegotiateState) bool {
	me := &w.agents[s.Gen]
	if !me.v2 || !w.agents[s.Ctx[0]].v2 || !w.agents[s.Ctx[1]].v2 {
		return true
	}
	theirs := w.names(s)
	if w.cfg.Wrong.LocalSelection {
		theirs = theirs[:1]
	}
	a := negotiate.Select([]string{me.name}, theirs)
	b := negotiate.Select(w.names(s), []string{me.name})
	return a.Control == b.Control && (!a.Control || a.Common == b.Common)
}

func (w *negWorld) canon(s *NegotiateState) (canon.Value, error) {
	name := func(kind uint8) canon.Value {
		return canon.Str([]string{"legacy", "off", "on", "newer", "deaf", "broken", "second", "recovery", "foreign"}[kind])
	}
	by := func(f func(k int) canon.Value) canon.Value { return seq(negCtxs, f) }
	num := func(n uint8) canon.Value { return canon.Int(int64(n)) }
	action := "none"
	if s.Action != 0 {
		action = s.Action.String()
	}
	return canon.Rec(field("gen", name(s.Gen)), field("ctx", by(func(k int) canon.Value { return name(s.Ctx[k]) })),
		field("phase", canon.Str(negPhases[s.Phase])), field("action", canon.Str(action)),
		field("edge", by(func(k int) canon.Value { return canon.Str(edgeNames[s.Edge[k]]) })),
		field("twice", by(func(k int) canon.Value { return canon.Bool(s.Twice[k]) })),
		field("asked", by(func(k int) canon.Value { return name(s.Asked[k]) })),
		field("payload", by(func(k int) canon.Value { return canon.Bool(s.Payload[k]) })),
		field("odd", canon.Bool(s.Odd)),
		field("left", canon.Rec(field("upgrades", num(s.Left.Upgrades)), field("drops", num(s.Left.Drops)),
			field("dups", num(s.Left.Dups)), field("cancels", num(s.Left.Cancels)))),
	), nil
}
