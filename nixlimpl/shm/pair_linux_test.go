package shm

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// gen-ctx names as they are in use, descriptor suffix included.
const (
	genName = "gen-0__trtllm_protocol_v1_1_1_7_1_00000000000000a1__trtllm_protocol_end"
	ctxName = "ctx-0__trtllm_protocol_v1_1_1_7_1_00000000000000b2__trtllm_protocol_end"
)

// pair opens GEN and CTX in this process and lets GEN dial.
func pair(t testing.TB, region int) (gen, ctx *Agent, genEvents, ctxEvents *recorder, slot transport.Region) {
	t.Helper()
	gen, genEvents = open(t, Config{Name: genName})
	ctx, ctxEvents = open(t, Config{Name: ctxName})
	slot, err := gen.Register(region, true)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer(ctxName, ctx.Address(), nil))
	return
}

func target(r transport.Region) transport.Target {
	return transport.Target{Addr: r.Addr, Len: uint64(len(r.Bytes)), Device: r.Device}
}

func TestPair(t *testing.T) {
	spec.Covers(t, reqContract)
	gen, ctx, genEvents, ctxEvents, slot := pair(t, 1<<20)
	require.Equal(t, genName, gen.Name())
	require.Regexp(t, "^shm:@kvsettle-[0-9a-f]{32}$", gen.Address())
	meta, err := gen.Metadata()
	require.NoError(t, err)
	require.Empty(t, meta)
	require.Equal(t, transport.Contract{Visible: true, NotifyAfterData: true, SuccessQuiet: true,
		ErrorQuiet: true, DeathQuiet: true, NotifyReliable: true}, gen.Contract())

	require.NoError(t, gen.Notify(ctxName, []byte("request")))
	e := ctxEvents.await(t, transport.Notice, genName)
	require.Equal(t, "request", string(e.Payload))
	require.True(t, ctx.Covers(genName, target(slot)))

	src, err := ctx.Register(1<<20, false)
	require.NoError(t, err)
	pattern(src.Bytes, 7)
	id, err := ctx.Post(genName, src.Bytes, target(slot))
	require.NoError(t, err)
	require.NoError(t, ctx.Release(id), "it only forgets")
	e = ctxEvents.await(t, transport.WriteEnded, genName)
	require.Equal(t, id, e.Write)
	require.Equal(t, transport.Done, e.Status)
	require.NoError(t, e.Err)
	require.True(t, matches(slot.Bytes, 7, 0))
	require.NoError(t, ctx.Notify(genName, nil), "an empty notice is a notice")
	require.Empty(t, genEvents.await(t, transport.Notice, ctxName).Payload)

	require.ErrorIs(t, ctx.Release(0), &Error{Reason: ReasonUnknownWrite})
	require.ErrorIs(t, ctx.Release(id+1), &Error{Reason: ReasonUnknownWrite})
	require.Equal(t, Stats{Peers: 1, Done: 1, Bytes: 1 << 20, Notices: 1}, withoutFaults(ctx.Stats()))
}

func withoutFaults(s Stats) Stats {
	s.Faults = nil
	return s
}

func TestAddPeerIsIdempotent(t *testing.T) {
	gen, ctx, _, _, _ := pair(t, 4096)
	require.NoError(t, gen.AddPeer(ctxName, ctx.Address(), nil))
	require.NoError(t, ctx.AddPeer(genName, gen.Address(), nil), "the dialled side knows the dialler")
	require.ErrorIs(t, ctx.AddPeer(genName, ctx.Address(), nil), &Error{Reason: ReasonNameInUse})
	require.Equal(t, 1, gen.Stats().Peers)
	require.Equal(t, 1, ctx.Stats().Peers)
}

func TestAddPeerRefusals(t *testing.T) {
	gen, _ := open(t, Config{Name: "gen"})
	ctx, _ := open(t, Config{Name: "ctx"})
	closed, _ := open(t, Config{Name: "closed"})
	require.NoError(t, closed.Close())

	for _, c := range []struct {
		name, address string
		metadata      []byte
		want          error
	}{
		{"xtc", ctx.Address(), nil, &Error{Reason: ReasonWrongName}},
		{"", ctx.Address(), nil, &Error{Reason: ReasonWrongName}},
		{"gen", ctx.Address(), nil, &Error{Reason: ReasonWrongName}},
		{"ctx", ctx.Address(), []byte{1}, &Error{Reason: ReasonBadMetadata}},
		{"ctx", "", nil, &Error{Reason: ReasonBadAddress}},
		{"ctx", "shm:@other", nil, &Error{Reason: ReasonBadAddress}},
		{"ctx", ctx.Address() + "0", nil, &Error{Reason: ReasonBadAddress}},
		{"ctx", strings.ToUpper(ctx.Address()), nil, &Error{Reason: ReasonBadAddress}},
		{"closed", closed.Address(), nil, transport.ErrPeerGone},
		{"ctx", addressPrefix + strings.Repeat("0", 2*tokenLen), nil, transport.ErrPeerGone},
	} {
		err := gen.AddPeer(c.name, c.address, c.metadata)
		require.ErrorIs(t, err, c.want, "%q at %q", c.name, c.address)
	}
	require.Equal(t, 0, gen.Stats().Peers)
	require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil), "refusals leave nothing behind")
	require.EqualValues(t, 2, ctx.Stats().Faults[ReasonWrongName])
}

func TestNameOfALivePeerIsTaken(t *testing.T) {
	ctx, _ := open(t, Config{Name: "ctx"})
	gen, genEvents := open(t, Config{Name: "gen"})
	other, _ := open(t, Config{Name: "gen"})
	require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
	require.ErrorIs(t, other.AddPeer("ctx", ctx.Address(), nil), &Error{Reason: ReasonNameInUse})
	same, _ := open(t, Config{Name: "ctx"})
	require.ErrorIs(t, same.AddPeer("ctx", ctx.Address(), nil), &Error{Reason: ReasonNameInUse})
	require.NoError(t, ctx.Notify("gen", []byte("still here")))
	genEvents.await(t, transport.Notice, "ctx")
	require.EqualValues(t, 2, ctx.Stats().Faults[ReasonNameInUse])
}

func TestDialToOneself(t *testing.T) {
	a, events := open(t, Config{Name: "self"})
	slot, err := a.Register(4096, true)
	require.NoError(t, err)
	require.NoError(t, a.AddPeer("self", a.Address(), nil))
	later, err := a.Register(4096, true)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return a.Covers("self", target(later)) }, 5*time.Second, time.Millisecond)
	pattern(slot.Bytes, 3)
	_, err = a.Post("self", slot.Bytes, target(later))
	require.NoError(t, err)
	require.Equal(t, transport.Done, events.await(t, transport.WriteEnded, "self").Status)
	require.True(t, matches(later.Bytes, 3, 0))
	require.NoError(t, a.Notify("self", []byte("echo")))
	require.Equal(t, "echo", string(events.await(t, transport.Notice, "self").Payload))
}

func TestRegionsRegisteredLaterComeBeforeLaterNotices(t *testing.T) {
	gen, ctx, _, ctxEvents, _ := pair(t, 4096)
	for i := range 20 {
		require.NoError(t, gen.Notify(ctxName, []byte("filler")))
		r, err := gen.Register(4096*(i+1), true)
		require.NoError(t, err)
		require.NoError(t, gen.Notify(ctxName, []byte("announced")))
		for string(ctxEvents.await(t, transport.Notice, genName).Payload) != "announced" {
		}
		require.True(t, ctx.Covers(genName, target(r)))
	}
	private, err := gen.Register(4096, false)
	require.NoError(t, err)
	require.NoError(t, gen.Notify(ctxName, nil))
	ctxEvents.await(t, transport.Notice, genName)
	require.False(t, ctx.Covers(genName, target(private)))
}

func TestPostRefusesWhatLiesOutside(t *testing.T) {
	_, ctx, _, ctxEvents, slot := pair(t, 8192)
	src, err := ctx.Register(8192, false)
	require.NoError(t, err)
	end := slot.Addr + 8192
	for name, c := range map[string]struct {
		src []byte
		dst transport.Target
	}{
		"below":             {src.Bytes[:64], transport.Target{Addr: slot.Addr - 1, Len: 64}},
		"far below":         {src.Bytes[:64], transport.Target{Addr: 0, Len: 64}},
		"at the end":        {src.Bytes[:64], transport.Target{Addr: end, Len: 64}},
		"over the end":      {src.Bytes[:64], transport.Target{Addr: end - 63, Len: 64}},
		"length overflows":  {src.Bytes[:64], transport.Target{Addr: slot.Addr, Len: ^uint64(0)}},
		"sum overflows":     {src.Bytes[:64], transport.Target{Addr: slot.Addr + 64, Len: ^uint64(0) - slot.Addr - 32}},
		"highest address":   {src.Bytes[:64], transport.Target{Addr: ^uint64(0), Len: 1}},
		"zero length":       {nil, transport.Target{Addr: slot.Addr, Len: 0}},
		"empty source":      {src.Bytes[:0], transport.Target{Addr: slot.Addr, Len: 64}},
		"empty target":      {src.Bytes[:64], transport.Target{Addr: slot.Addr, Len: 0}},
		"source too long":   {src.Bytes[:65], transport.Target{Addr: slot.Addr, Len: 64}},
		"device":            {src.Bytes[:64], transport.Target{Addr: slot.Addr, Len: 64, Device: 1}},
		"Go memory":         {make([]byte, 64), transport.Target{Addr: slot.Addr, Len: 64}},
		"own memory as dst": {src.Bytes[:64], transport.Target{Addr: src.Addr, Len: 64}},
	} {
		_, err := ctx.Post(genName, c.src, c.dst)
		require.ErrorIs(t, err, transport.ErrOutsideRegion, name)
		if name != "empty source" && name != "source too long" && name != "Go memory" {
			require.False(t, ctx.Covers(genName, c.dst), name)
		}
	}
	_, err = ctx.Post("nobody", src.Bytes, target(slot))
	require.ErrorIs(t, err, transport.ErrUnknownPeer)
	require.False(t, ctx.Covers("nobody", target(slot)))
	require.Equal(t, make([]byte, 8192), slot.Bytes)
	ctxEvents.none(t, transport.WriteEnded, genName)

	_, err = ctx.Post(genName, src.Bytes, target(slot))
	require.NoError(t, err, "the agent serves on")
	ctxEvents.await(t, transport.WriteEnded, genName)
}

func TestNoticeBounds(t *testing.T) {
	gen, _, _, ctxEvents, _ := pair(t, 4096)
	require.ErrorIs(t, gen.Notify(ctxName, make([]byte, MaxNotice+1)), transport.ErrTooLarge)
	require.ErrorIs(t, gen.Notify("nobody", nil), transport.ErrUnknownPeer)
	require.NoError(t, gen.Notify(ctxName, make([]byte, MaxNotice)))
	require.Len(t, ctxEvents.await(t, transport.Notice, genName).Payload, MaxNotice)
}

func TestWriteQueueIsBounded(t *testing.T) {
	gen, _ := open(t, Config{Name: "gen"})
	ctx, _ := open(t, Config{Name: "ctx", QueueWrites: 4, Writers: 1})
	slot, err := gen.Register(32<<20, true)
	require.NoError(t, err)
	require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
	src, err := ctx.Register(32<<20, false)
	require.NoError(t, err)
	for range 100 {
		if _, err = ctx.Post("gen", src.Bytes, target(slot)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, &Error{Reason: ReasonQueueFull})
}

func TestPeersAreBounded(t *testing.T) {
	ctx, _ := open(t, Config{Name: "ctx", MaxPeers: 2})
	for i := range 3 {
		gen, _ := open(t, Config{Name: fmt.Sprintf("gen-%d", i)})
		err := gen.AddPeer("ctx", ctx.Address(), nil)
		if i < 2 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, &Error{Reason: ReasonTooManyPeers})
	}
}

func TestCrossedDials(t *testing.T) {
	for i := range 50 {
		a, aEvents := open(t, Config{Name: fmt.Sprintf("a-%d", i)})
		b, bEvents := open(t, Config{Name: fmt.Sprintf("b-%d", i)})
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for k := range errs {
			wg.Go(func() {
				if k%2 == 0 {
					errs[k] = a.AddPeer(b.Name(), b.Address(), nil)
				} else {
					errs[k] = b.AddPeer(a.Name(), a.Address(), nil)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NoError(t, a.Notify(b.Name(), nil))
		require.NoError(t, b.Notify(a.Name(), nil))
		aEvents.await(t, transport.Notice, b.Name())
		bEvents.await(t, transport.Notice, a.Name())
		require.Equal(t, []int{1, 1}, []int{a.Stats().Peers, b.Stats().Peers})
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	}
}

func TestPeerThatClosesIsLostAndMayComeBack(t *testing.T) {
	ctx, ctxEvents := open(t, Config{Name: "ctx"})
	for range 3 {
		gen, _ := open(t, Config{Name: "gen"})
		require.NoError(t, gen.AddPeer("ctx", ctx.Address(), nil))
		require.NoError(t, gen.Notify("ctx", []byte("accepted before Close")))
		require.NoError(t, gen.Close())
		require.ErrorIs(t, gen.Notify("ctx", nil), transport.ErrClosed)
		e, ok := ctxEvents.next(time.Second, func(transport.Event) bool { return true })
		require.True(t, ok)
		require.Equal(t, transport.Notice, e.Kind, "accepted notices come before the loss")
		ctxEvents.await(t, transport.PeerLost, "gen")
		require.Eventually(t, func() bool { return ctx.Stats().Peers == 0 }, 5*time.Second, time.Millisecond)
	}
	ctxEvents.none(t, transport.PeerDead, "gen")
}

// TestCloseEndsAddPeer closes an agent whose handshake waits for a silent one.
func TestCloseEndsAddPeer(t *testing.T) {
	a, _ := open(t, Config{Name: "a", ConnectDeadline: 10 * time.Second})
	socket := "@kvsettle-" + strings.Repeat("0", 2*tokenLen)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	require.NoError(t, err)
	defer ln.Close()
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- a.AddPeer("silent", "shm:"+socket, nil) }()
	}
	conn, err := ln.Accept()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, a.Close())
	for range 2 {
		require.ErrorIs(t, <-done, transport.ErrClosed)
	}
}
