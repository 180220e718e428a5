package shm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

const benchBytes, benchChunk = 64 << 20, 1 << 20

// writer posts src to dst in chunks and waits for all of them.
type writer struct {
	agent *Agent
	peer  string
	ended chan transport.Event
}

// writerPair returns a writer whose sink only passes write ends on, and the target.
func writerPair(t testing.TB, size int) (w writer, src, dst transport.Region) {
	w = writer{peer: "gen", ended: make(chan transport.Event, 1024)}
	var err error
	w.agent, err = Open(Config{Name: "ctx"}, func(e transport.Event) {
		if e.Kind == transport.WriteEnded {
			w.ended <- e
		}
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.agent.Close() })
	gen, err := Open(Config{Name: "gen"}, func(transport.Event) {})
	require.NoError(t, err)
	t.Cleanup(func() { _ = gen.Close() })
	dst, err = gen.Register(size, true)
	require.NoError(t, err)
	src, err = w.agent.Register(size, false)
	require.NoError(t, err)
	pattern(src.Bytes, 1)
	require.NoError(t, gen.AddPeer("ctx", w.agent.Address(), nil))
	return w, src, dst
}

func (w writer) write(t testing.TB, src, dst transport.Region, chunk int) {
	n := 0
	for at := 0; at < len(src.Bytes); at += chunk {
		_, err := w.agent.Post(w.peer, src.Bytes[at:at+chunk], transport.Target{Addr: dst.Addr + uint64(at), Len: uint64(chunk)})
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	for range n {
		if e := <-w.ended; e.Status != transport.Done {
			t.Fatal(e.Err)
		}
	}
}

// BenchmarkWrite moves 64 MiB, once as one plain copy and once through Post in
// 1 MiB chunks, in turn; ratio is speed of Post over speed of the copy.
func BenchmarkWrite(b *testing.B) {
	w, src, dst := writerPair(b, benchBytes)
	copy(dst.Bytes, src.Bytes)
	w.write(b, src, dst, benchChunk)
	b.SetBytes(2 * benchBytes)
	var plain, posted time.Duration
	n := 0
	for b.Loop() {
		begin := time.Now()
		copy(dst.Bytes, src.Bytes)
		middle := time.Now()
		w.write(b, src, dst, benchChunk)
		plain, posted = plain+middle.Sub(begin), posted+time.Since(middle)
		n++
	}
	speed := func(d time.Duration) float64 { return float64(n) * benchBytes / 1e9 / d.Seconds() }
	b.ReportMetric(speed(plain), "copy-GB/s")
	b.ReportMetric(speed(posted), "post-GB/s")
	b.ReportMetric(float64(plain)/float64(posted), "ratio")
}

// BenchmarkSmallWrite is the cost of one 64-byte write, end event included.
func BenchmarkSmallWrite(b *testing.B) {
	w, src, dst := writerPair(b, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = w.agent.Post(w.peer, src.Bytes[:64], transport.Target{Addr: dst.Addr, Len: 64})
		<-w.ended
	}
}

// BenchmarkNotice is one notice there and one back.
func BenchmarkNotice(b *testing.B) {
	back := make(chan struct{}, 1)
	gen, err := Open(Config{Name: "gen"}, func(e transport.Event) {
		if e.Kind == transport.Notice {
			back <- struct{}{}
		}
	})
	require.NoError(b, err)
	defer gen.Close()
	var ctx *Agent
	ready := make(chan struct{})
	ctx, err = Open(Config{Name: "ctx"}, func(e transport.Event) {
		<-ready
		if e.Kind == transport.Notice {
			_ = ctx.Notify(e.Peer, e.Payload)
		}
	})
	require.NoError(b, err)
	close(ready)
	defer ctx.Close()
	require.NoError(b, gen.AddPeer("ctx", ctx.Address(), nil))
	payload := make([]byte, 500)
	b.ReportAllocs()
	for b.Loop() {
		_ = gen.Notify("ctx", payload)
		<-back
	}
}

// TestPostDoesNotAllocate covers Post, the worker and the event.
func TestPostDoesNotAllocate(t *testing.T) {
	w, src, dst := writerPair(t, 4096)
	once := func() { w.write(t, src, dst, 4096) }
	once()
	require.Zero(t, testing.AllocsPerRun(1000, once))
}
