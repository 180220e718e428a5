package negotiate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// service is one side: how it presents itself, its descriptor and agent names.
type service struct {
	local Local
	d     descriptor.Descriptor
	names []string
}

// serve makes a service with the given number of ranks.
func serve(t *testing.T, local Local, base string, ranks int) service {
	t.Helper()
	s := service{local: local}
	for i := range ranks {
		name := base + "_" + string(rune('a'+i))
		if local != Legacy {
			mode := descriptor.Baseline
			if local == On {
				mode = descriptor.Enabled
			}
			s.d = descriptor.Default(mode, descriptor.Token(name))
			var err error
			name, err = descriptor.Name(name, s.d)
			require.NoError(t, err)
		}
		s.names = append(s.names, name)
	}
	return s
}

// TestGENMixedPeers covers what one pair of settings cannot: ranks that differ.
func TestGENMixedPeers(t *testing.T) {
	name := func(d descriptor.Descriptor) string {
		return "ctx" + string(descriptor.AppendRaw(nil, d))
	}
	on := descriptor.Default(descriptor.Enabled, 7)
	off := descriptor.Default(descriptor.Baseline, 7)
	noReject, noCancel, newer := on, on, on
	noReject.Caps, noCancel.Caps = descriptor.CapCancel, descriptor.CapReject
	newer.Min, newer.Max = 2, 3
	const malformed = "ctx__trtllm_protocol_v1_1_1_3_1__trtllm_protocol_end"

	cases := []struct {
		name   string
		local  Local
		d      descriptor.Descriptor
		peers  []string
		action GENAction
		class  Class
		rank   int
		reason spec.Reason
	}{
		{"one rank is off", On, on, []string{name(on), name(off)}, ProceedExpectReject, ClassMode, 1, PeerModeMismatch},
		{"one rank is newer", On, on, []string{name(on), name(newer)}, ProceedExpectReject, ClassVersion, 1, PeerVersion},
		{"one rank cannot cancel", On, on, []string{name(noCancel), name(on)}, ProceedExpectReject, ClassPeerNoCancel, 0, PeerNoCancel},
		{"one rank cannot reject", On, on, []string{name(on), name(noReject)}, RefuseLocally, ClassPeerNoReject, 1, PeerNoReject},
		{"the mode differs and a rank cannot reject", Off, off, []string{name(noReject)}, RefuseLocally, ClassMode, 0, PeerModeMismatch},
		{"one rank is legacy", On, on, []string{name(on), "ctx"}, RefuseLocally, ClassLegacy, -1, PeerLegacy},
		{"off, one rank is legacy", Off, off, []string{name(off), "ctx"}, Proceed, ClassOKLegacy, -1, ""},
		{"off, one legacy and one on", Off, off, []string{name(on), "ctx"}, RefuseLocally, ClassMode, 0, PeerModeMismatch},
		{"a malformed rank", On, on, []string{name(on), malformed}, RefuseLocally, ClassMalformed, 1, PeerMalformed},
		{"off, a malformed rank", Off, off, []string{malformed}, RefuseLocally, ClassMalformed, 0, PeerMalformed},
		{"nobody", On, on, nil, RefuseLocally, ClassEmpty, -1, NoPeers},
		{"on with a baseline descriptor", On, off, []string{name(on)}, RefuseLocally, ClassLocalMode, -1, LocalMode},
		{"off with an enabled descriptor", Off, on, []string{name(off)}, RefuseLocally, ClassLocalMode, -1, LocalMode},
		{"no such setting", On + 1, on, []string{name(on)}, RefuseLocally, ClassLocalMode, -1, LocalMode},
		{"broken local range", On, descriptor.Descriptor{Mode: descriptor.Enabled}, []string{name(on)}, RefuseLocally, ClassLocalRange, -1, LocalRange},
		{"legacy looks at nothing", Legacy, on, []string{malformed}, Proceed, ClassNone, -1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := GEN(c.local, c.d, c.peers)
			require.Equal(t, c.action, g.Action, g.Verdict)
			require.Equal(t, c.class, g.Verdict.Class)
			require.Equal(t, c.rank, g.Verdict.Rank)
			require.Equal(t, c.reason, g.Reason)
			if c.action == RefuseLocally {
				require.ErrorIs(t, g.Err(), &statemachine.Refusal{Reason: c.reason})
			}

			// CTX has no third choice: what is not compatible is rejected.
			x := CTX(c.local, c.d, c.peers)
			require.Equal(t, g.Verdict, x.Verdict)
			require.Equal(t, c.action == Proceed, x.Action == Accept)
			require.Equal(t, c.reason, x.Reason)
			if c.action != Proceed {
				require.ErrorIs(t, x.Err(), &statemachine.Refusal{Reason: c.reason})
			}
		})
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "invalid", Local(9).String())
	require.Equal(t, "invalid", GENAction(0).String())
	require.Equal(t, "invalid", CTXAction(0).String())
	require.Equal(t, "unchecked", Verdict{Rank: -1}.String())
	require.Equal(t, UnknownClass, Class("V_NEW").Reason())
	v := ValidatePeersMode(descriptor.Enabled, []string{"a__trtllm_protocol_v1_1_1_3_1_0__trtllm_protocol_end"})
	require.Equal(t, "V_PEER_MALFORMED at rank 0 (P_TOKEN)", v.String())
	require.EqualError(t, v.Err(), "peer protocol V_PEER_MALFORMED at rank 0 (P_TOKEN): peer-malformed ("+reqValidate+")")
	require.NoError(t, ValidatePeersMode(descriptor.Baseline, []string{"a"}).Err())
}
