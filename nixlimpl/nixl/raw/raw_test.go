package raw

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/internal/nixltest"
)

// side runs Serve in this process.
type side struct {
	orders  *json.Encoder
	answers chan Answer
	in      *io.PipeWriter
	over    chan error
}

func start(name string) *side {
	r, w := io.Pipe()
	s := &side{orders: json.NewEncoder(w), answers: make(chan Answer, 4), in: w, over: make(chan error, 1)}
	go func() {
		s.over <- Serve(Config{Name: name, Bytes: 1 << 20}, r, func(v any) { s.answers <- v.(Answer) })
	}()
	return s
}

func (s *side) next(t *testing.T) Answer {
	t.Helper()
	select {
	case a := <-s.answers:
		return a
	case err := <-s.over:
		t.Fatalf("ended early: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
	return Answer{}
}

func (s *side) do(t *testing.T, o Order) Answer {
	t.Helper()
	require.NoError(t, s.orders.Encode(o))
	return s.next(t)
}

func TestServe(t *testing.T) {
	nixltest.Need(t)
	a, b := start("raw-test-a"), start("raw-test-b")
	ra, rb := a.next(t), b.next(t)
	require.Equal(t, Ready, ra.Op)
	require.NotEmpty(t, ra.Address)
	require.Empty(t, a.do(t, Order{Op: Peer, Name: rb.Name, Address: rb.Address}).Err)
	require.Empty(t, b.do(t, Order{Op: Peer, Name: ra.Name, Address: ra.Address}).Err)

	w := a.do(t, Order{Op: Write, Name: rb.Name, Addr: rb.Addr, Bytes: 1 << 20, Chunk: 100_000, Window: 3})
	require.Empty(t, w.Err)
	require.Positive(t, w.Time)
	p := a.do(t, Order{Op: Ping, Name: rb.Name, Count: 3})
	require.Empty(t, p.Err)
	require.Positive(t, p.Time)

	for _, c := range []struct {
		order Order
		want  string
	}{
		{Order{Op: Write, Name: rb.Name, Addr: rb.Addr, Bytes: 1<<20 + 1, Chunk: 1, Window: 1}, "1048577 bytes of 1048576"},
		{Order{Op: Write, Name: rb.Name, Addr: rb.Addr, Bytes: 0, Chunk: 1, Window: 1}, "0 bytes"},
		{Order{Op: Write, Name: rb.Name, Addr: rb.Addr, Bytes: 10, Chunk: 0, Window: 1}, "pieces of 0"},
		{Order{Op: Write, Name: "nobody", Addr: rb.Addr, Bytes: 10, Chunk: 1, Window: 1}, "unknown-peer"},
		{Order{Op: "dance"}, `unknown order "dance"`},
	} {
		require.Contains(t, a.do(t, c.order).Err, c.want)
	}
	for _, s := range []*side{a, b} {
		require.NoError(t, s.in.Close())
		require.NoError(t, <-s.over)
	}
}

func TestServeCannotStart(t *testing.T) {
	err := Serve(Config{Name: "x", Library: "/nonexistent/libnixl_capi.so", Bytes: 1}, nil, nil)
	require.ErrorContains(t, err, "/nonexistent")
}

func ExampleMedian() {
	fmt.Println(Median([]time.Duration{3, 1, 2, 10}), Median(nil))
	// Output: 2ns 0s
}
