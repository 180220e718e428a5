package service

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
	"github.com/kvsettle/kvsettle/wire/native"
)

const probeVariable = "KVSETTLE_SERVICE_PROBE"

// The test program is also the probe process.
func TestMain(m *testing.M) {
	if os.Getenv(probeVariable) != "" {
		in := bufio.NewReader(os.Stdin)
		first, _ := in.ReadSlice('\n')
		os.Exit(nixl.ServeProbe(first, in))
	}
	os.Exit(m.Run())
}

func probedConfig(t testing.TB, more nixl.Config) Config {
	c := nixlConfig(t, negotiate.On)
	c.Open = func(name string, sink transport.Sink) (transport.Agent, error) {
		more.Name, more.ConnectDeadline = name, 10*time.Second
		more.Probe = func() *exec.Cmd {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), probeVariable+"=1")
			return cmd
		}
		return nixl.Open(more, sink)
	}
	return c
}

// newNIXLRogue is a bare agent over the real library that says what a test wants.
func newNIXLRogue(t *testing.T) *rogue {
	t.Helper()
	r := &rogue{got: make(chan native.Notification, 64)}
	var err error
	r.name, _, err = describe(NewBase(), negotiate.On)
	require.NoError(t, err)
	r.Agent, err = nixl.Open(nixl.Config{Name: r.name}, func(ev transport.Event) {
		if n, err := native.DecodeNotification(ev.Payload); ev.Kind == transport.Notice && err == nil {
			select {
			case r.got <- n:
			default:
			}
		}
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Agent.Close() })
	r.region, err = r.Agent.Register(1<<20, true)
	require.NoError(t, err)
	return r
}

func (r *rogue) request(t *testing.T, address string, metadata []byte) []byte {
	t.Helper()
	msg, err := native.AppendRequest(nil, native.RequestAndBufferInfo{AgentName: r.name, Address: address, HasMetadata: metadata != nil, Metadata: metadata,
		Info:    native.RequestInfo{RequestID: 1 << 40, IndexFromEnd: 3, State: r.state(t), LastBlockKey: lastKey(testGeometry(t), []uint64{1}, 100, 3)},
		Buffers: []native.MemoryDesc{{Addr: r.region.Addr, Len: 1 << 20}}, Kinds: []native.BufferKind{native.KV}})
	require.NoError(t, err)
	return msg
}

// seal gives a changed card its right checksum: it is no secret.
func seal(card []byte) []byte {
	body := card[:len(card)-12]
	card = binary.BigEndian.AppendUint32(append([]byte(nil), body...), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(card, "KVSNIXL1"...)
}

// deadly is a card that UCX dies of: the version of the UCX address is one that no
// UCX has. (The check of the form sees this one too: TestProbeTakesTheDamage is past it.)
func deadly(t *testing.T, card []byte) []byte {
	t.Helper()
	c := append([]byte(nil), card...)
	at := bytes.Index(c, []byte("UCX|c"))
	require.Positive(t, at)
	c[at+13] |= 0x0f
	return seal(c)
}

// cut is a card around metadata that lacks its last byte.
func cut(card []byte) []byte {
	n := binary.BigEndian.Uint32(card[len(card)-16:])
	c := append(append([]byte(nil), card[:n-1]...), card[n:]...)
	binary.BigEndian.PutUint32(c[len(c)-16:], n-1)
	return seal(c)
}

func fakeCTX(t *testing.T, r *rogue, id uint64, name string, card []byte) handover.Handover {
	t.Helper()
	st := r.state(t)
	st.Comm.Agents[0] = native.AgentState{Name: name, ConnInfo: "nixl:" + base64.RawURLEncoding.EncodeToString(card)}
	raw, err := native.AppendState(nil, native.Mid2026, st)
	require.NoError(t, err)
	h := ask(id, 900, id*2, id*2+1)
	text := handover.EncodeState(raw)
	h.DisaggregatedParams = handover.DisaggregatedParams{CtxRequestID: &id, EncodedOpaqueState: &text}
	return h
}

// One notice or one context result of a stranger ends neither service, and poisons
// no honest name.
func TestDeadlyMetadata(t *testing.T) {
	p := newPair(t, probedConfig(t, nixl.Config{}), probedConfig(t, nixl.Config{}))
	r := newNIXLRogue(t)
	require.NoError(t, r.AddPeer(p.ctx.Name(), p.ctx.Address(), nil))
	card, err := r.Agent.Metadata()
	require.NoError(t, err)
	honest, err := p.ctx.agent.Metadata()
	require.NoError(t, err)
	for i, bad := range [][]byte{deadly(t, card), cut(card)} {
		require.NoError(t, r.Notify(p.ctx.Name(), r.request(t, r.Address(), bad)))
		require.Eventually(t, func() bool { return state(t, p.ctx.State).Counters["refused_bad-metadata"] == uint64(i+1) }, 20*time.Second, 5*time.Millisecond)
		o := generation(t, p.gen, fakeCTX(t, r, uint64(1+i), r.name, bad))
		require.Equal(t, sm.Failed, o.Disposition)
		require.Contains(t, o.Message, "bad-metadata")
	}
	// In the honest CTX's name, before GEN has met it.
	o := generation(t, p.gen, fakeCTX(t, r, 5, p.ctx.Name(), cut(honest)))
	require.Contains(t, o.Message, "bad-metadata")
	o = p.run(t, ask(10, 900, 20, 21))
	require.Equal(t, sm.Completed, o.Disposition, o.Message)
	spec.Covers(t, "KS-BACK-14", "KS-SEC-3")
}

// Addresses that lead nowhere, as fast as a stranger can send them: CTX connects to
// none, and honest requests are served in time.
func TestAddressFlood(t *testing.T) {
	p := newPair(t, nixlConfig(t, negotiate.On), nixlConfig(t, negotiate.On))
	r := newNIXLRogue(t)
	require.NoError(t, r.AddPeer(p.ctx.Name(), p.ctx.Address(), nil))
	msg := r.request(t, "10.255.255.1:9", nil)
	for range 200 {
		require.NoError(t, r.Notify(p.ctx.Name(), msg))
	}
	begun := time.Now()
	for id := uint64(1); id <= 4; id++ {
		o := p.run(t, ask(id, 900, id*2, id*2+1))
		require.Equal(t, sm.Completed, o.Disposition, o.Message)
	}
	require.Less(t, time.Since(begun), 5*time.Second)
	require.Eventually(t, func() bool {
		c := state(t, p.ctx.State).Counters
		return c["refused_bad-address"]+c["refused_too-many-peers"] == 200 && c["refused_bad-address"] > 0
	}, 10*time.Second, 5*time.Millisecond)
	spec.Covers(t, "KS-SEC-3", "KS-V1-34")
}

// More strangers than the table holds, each once: honest peers get in.
func TestStrangersMakeRoom(t *testing.T) {
	few := nixlConfig(t, negotiate.On)
	few.Open = func(name string, sink transport.Sink) (transport.Agent, error) {
		return nixl.Open(nixl.Config{Name: name, MaxPeers: 3}, sink)
	}
	p := newPair(t, few, nixlConfig(t, negotiate.On))
	for i := range 6 {
		r := newNIXLRogue(t)
		require.NoError(t, r.AddPeer(p.ctx.Name(), p.ctx.Address(), nil))
		m, err := r.Agent.Metadata()
		require.NoError(t, err)
		require.NoError(t, r.Notify(p.ctx.Name(), r.request(t, r.Address(), m)))
		require.Eventually(t, func() bool { return state(t, p.ctx.State).Counters["refused_unknown-context"] == uint64(i+1) }, 5*time.Second, time.Millisecond)
		require.NoError(t, r.Agent.Close())
	}
	for id := uint64(1); id <= 3; id++ {
		o := p.run(t, ask(id, 900, id*2, id*2+1))
		require.Equal(t, sm.Completed, o.Disposition, o.Message)
	}
	spec.Covers(t, "KS-SEC-3")
}

// A first contact that takes its time holds up neither copies nor the end.
func TestSlowJoinsHoldUpNothing(t *testing.T) {
	j := newJoiners(2)
	block := make(chan struct{})
	var ran int
	for range 2 {
		require.True(t, j.start(func() { <-block }))
	}
	accepted := 0
	for j.start(func() { ran++ }) {
		accepted++
		require.LessOrEqual(t, accepted, maxJoins+2)
	}
	j.quit()
	close(block)
	j.wait()
	require.Zero(t, ran, "what waits is dropped, not run")
}
