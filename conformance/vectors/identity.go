package vectors

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
	"github.com/kvsettle/kvsettle/wire/round"
	"github.com/kvsettle/kvsettle/wire/ticket"
)

var identityCodecs = map[string]codec{
	"Ticket": plainCodec(onlyV2, identity.DecodeTicket,
		func(t *identity.Ticket) ([]byte, error) { return identity.AppendTicket(nil, *t) },
		func(t *identity.Ticket) any { return showTicket(*t) }),
	"TransferKey": plainCodec(onlyV2, identity.DecodeKey,
		func(k *identity.TransferKey) ([]byte, error) { return identity.AppendKey(nil, k) }, showKey),
	"RoundPayload": plainCodec(onlyV2, round.Decode,
		func(p *round.Payload) ([]byte, error) { return round.Append(nil, p) }, showRound),
	"Topology":    {profiles: onlyV2, input: topologyFields, run: writeTopology},
	"OpaqueState": {profiles: byNative, run: readOpaque},
	"TaggedState": {profiles: onlyV2, run: readTagged},
}

var topologyFields = []string{
	"direction", "version", "capabilities", "abi", "sources", "destinations", "edges", "topologyDigest",
}

func plainCodec[T any](profiles []string, read func([]byte) (T, error), write func(*T) ([]byte, error), show func(*T) any) codec {
	return nativeCodec(profiles, read, write, show, nil)
}

func showRound(p *round.Payload) any {
	return object{"roundId": u64(p.Round), "contributions": list(p.Entries, func(e round.Entry) any {
		o := object{
			"ticket": showTicket(e.Ticket), "genAttempt": u64(e.GenAttempt), "key": nil, "intent": e.Intent,
			"evidence": e.Evidence, "openPublication": e.Publication, "mode": e.Mode, "version": e.Version,
			"capabilities": u64(e.Caps), "abi": u64(e.ABI), "topologyDigest": hex.EncodeToString(e.Digest[:]),
		}
		if e.HasKey {
			o["key"] = showKey(&e.Key)
		}
		return o
	})}
}

// writeTopology builds the input of the digest from the fields: nobody reads it
// back from bytes.
func writeTopology(_ string, _ []byte, fields map[string]any) (outcome, error) {
	m := members{tree: fields}
	t := identity.Topology{
		Direction: identity.Direction(m.unsigned("direction", 8)), Version: uint16(m.unsigned("version", 16)),
		Caps: descriptor.Caps(m.unsigned("capabilities", 64)), ABI: m.unsigned("abi", 64),
		Sources: m.ranks("sources"), Destinations: m.ranks("destinations"),
	}
	for _, e := range m.objects("edges") {
		t.Edges = append(t.Edges, identity.Edge{
			Source: uint32(e.unsigned("sourceRank", 32)), Destination: uint32(e.unsigned("destinationRank", 32)),
		})
		m.join(e)
	}
	if m.err != nil {
		return outcome{}, harness("fields: %v", m.err)
	}
	b, err := identity.AppendTopology(nil, &t)
	if err != nil {
		return outcome{}, err
	}
	digest, err := t.Digest()
	if err != nil {
		return outcome{}, err
	}
	if digest != sha256.Sum256(b) {
		return outcome{}, harness("the digest is not the SHA-256 of the bytes")
	}
	return outcome{fields: ShowTopology(&t, digest), again: b}, nil
}

// ShowTopology renders the fields of a Topology vector. A digest of zeros is left
// out, as in a vector whose fields are refused.
func ShowTopology(t *identity.Topology, digest [32]byte) map[string]any {
	side := func(m identity.Member) any { return object{"agentName": latin(m.Name), "epoch": u64(m.Epoch)} }
	o := object{
		"direction": t.Direction, "version": t.Version, "capabilities": u64(t.Caps), "abi": u64(t.ABI),
		"sources": list(t.Sources, side), "destinations": list(t.Destinations, side),
		"edges": list(t.Edges, func(e identity.Edge) any {
			return object{"sourceRank": e.Source, "destinationRank": e.Destination}
		}),
	}
	if digest != [32]byte{} {
		o["topologyDigest"] = hex.EncodeToString(digest[:])
	}
	return o
}

func readOpaque(profile string, b []byte, _ map[string]any) (outcome, error) {
	p := nativeProfile(profile)
	s, v, err := ticket.Decode(b, p)
	if err != nil {
		return outcome{}, err
	}
	o := object{"state": showState(p, &v), "trailer": nil}
	if s.HasTrailer {
		// The ABI id decides about the layouts, whatever the caller would have taken.
		if p, err = ticket.Profile(s.Trailer.ABI); err != nil {
			return outcome{}, unwritten(err)
		}
		o["state"] = showState(p, &v)
	}
	state, err := native.AppendState(nil, p, v)
	if err != nil {
		return outcome{}, unwritten(err)
	}
	if !s.HasTrailer {
		return outcome{fields: o, again: state}, nil
	}
	o["trailer"] = object{
		"ticket": showTicket(s.Trailer.Ticket), "requiredCapabilities": u64(s.Trailer.RequiredCaps),
		"serializationAbiId": u64(s.Trailer.ABI),
	}
	again, err := ticket.Append(nil, state, &s.Trailer)
	if err != nil {
		return outcome{}, unwritten(err)
	}
	return outcome{fields: o, again: again}, nil
}

func readTagged(_ string, b []byte, _ map[string]any) (outcome, error) {
	opaque, rest, tagged, err := ticket.ReadTagged(b)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{again: b, fields: object{
		"tagged": tagged, "opaqueHex": optional(tagged, hex.EncodeToString(opaque)), "restHex": hex.EncodeToString(rest),
	}}
	if tagged {
		if o.again, err = ticket.AppendTagged(nil, opaque); err != nil {
			return outcome{}, unwritten(err)
		}
		o.again = append(o.again, rest...)
	}
	return o, nil
}

func (m *members) ranks(name string) []identity.Member {
	var out []identity.Member
	for _, o := range m.objects(name) {
		agent, ok := unlatin(o.need("agentName"))
		if !ok {
			o.fail("agentName", "text with one code point per byte")
		}
		out = append(out, identity.Member{Name: agent, Epoch: o.unsigned("epoch", 64)})
		m.join(o)
	}
	return out
}
