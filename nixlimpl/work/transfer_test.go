package work_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
	"github.com/kvsettle/kvsettle/spec"
)

// flights lists what is posted by all of them.
func flights(all []*moved) []flight {
	var out []flight
	for _, m := range all {
		m.p.mu.Lock()
		out = append(out, m.p.flying...)
		m.p.mu.Unlock()
	}
	return out
}

// earlyEnd lets another goroutine report the end of a write before Post returns.
func earlyEnd(s *work.Source, p *poster) func(flight) {
	return func(f flight) {
		var other sync.WaitGroup
		other.Go(func() { s.WriteEnded(p.land(f, transport.Done)) })
		other.Wait()
	}
}

// TestTransfers runs one to three transfers at once over one source; their writes
// end in any order, some before Post has returned. Each must arrive whole, and the
// poster checks that no staging position is written again under a write.
func TestTransfers(t *testing.T) {
	spec.Covers(t, "KS-STG-2", "KS-STG-8")
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			g := work.New(rapid.IntRange(1, 3).Draw(rt, "workers"))
			defer g.Close()
			var ids atomic.Uint64
			s := work.NewSource(g, nil)
			var all []*moved
			for range rapid.IntRange(1, 3).Draw(rt, "transfers") {
				ring := rapid.IntRange(1, 4).Draw(rt, "ring")
				m := newMove(rt, &ids, rapid.IntRange(0, 6).Draw(rt, "blocks"), rapid.IntRange(1024, 5000).Draw(rt, "chunk"), ring)
				if rapid.IntRange(0, 3).Draw(rt, "early") == 3 {
					m.p.early = earlyEnd(s, m.p)
				}
				all = append(all, m)
				s.Start(m.Transfer)
				synctest.Wait()
			}
			for list := flights(all); len(list) > 0; list = flights(all) {
				f := list[rapid.IntRange(0, len(list)-1).Draw(rt, "lands")]
				s.WriteEnded(f.from.land(f, transport.Done))
				synctest.Wait()
			}
			for _, m := range all {
				m.check(rt)
				require.LessOrEqual(rt, m.p.most, len(m.Staging)/m.Chunk)
				require.Equal(rt, (m.Layout.Bytes()+m.Chunk-1)/m.Chunk, m.p.posts)
			}
		})
	})
}

// TestTransferFaults stops, releases and breaks a transfer at random points. What
// was posted ends first; then End comes once, with the first cause.
func TestTransferFaults(t *testing.T) {
	spec.Covers(t, "KS-BACK-3", "KS-BACK-5", "KS-STG-8", "KS-V1-31")
	why := errors.New("why")
	ended := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			g := work.New(2)
			defer g.Close()
			var ids atomic.Uint64
			s := work.NewSource(g, nil)
			m := newMove(rt, &ids, rapid.IntRange(1, 6).Draw(rt, "blocks"), rapid.IntRange(512, 3000).Draw(rt, "chunk"), rapid.IntRange(1, 3).Draw(rt, "ring"))
			m.p.refuse = []int{0, 0, rapid.IntRange(1, 5).Draw(rt, "refused")}[rapid.IntRange(0, 2).Draw(rt, "refuse")]
			s.Start(m.Transfer)
			synctest.Wait()
			var cause error
			if _, _, err := m.result(); err != nil {
				cause = errRefused
			}
			stopped, released := false, false
			for list := flights([]*moved{m}); len(list) > 0; list = flights([]*moved{m}) {
				posts, _ := m.p.count()
				switch rapid.IntRange(0, 6).Draw(rt, "event") {
				case 4:
					s.Stop(m.Transfer, why)
					synctest.Wait()
					stopped = true
					if after, _ := m.p.count(); after != posts {
						rt.Fatalf("posted after Stop")
					}
					continue
				case 5:
					if !released {
						s.Release(m.Transfer)
						released = true
						require.Len(rt, m.p.released, len(list))
					}
					continue
				case 6:
					f := list[rapid.IntRange(0, len(list)-1).Draw(rt, "breaks")]
					s.WriteEnded(m.p.land(f, transport.Broken))
					if cause == nil {
						cause = transport.ErrPeerGone
					}
				default:
					f := list[rapid.IntRange(0, len(list)-1).Draw(rt, "lands")]
					s.WriteEnded(m.p.land(f, transport.Done))
				}
				synctest.Wait()
				if after, _ := m.p.count(); stopped && after != posts {
					rt.Fatalf("posted after Stop")
				}
			}
			ends, complete, err := m.result()
			require.Equal(rt, 1, ends)
			ended[complete]++
			if complete {
				m.check(rt)
				return
			}
			require.True(rt, errors.Is(err, why) || errors.Is(err, errRefused) || errors.Is(err, transport.ErrPeerGone), "%v", err)
			if errors.Is(err, why) {
				require.True(rt, stopped)
			}
			if released {
				// Everything posted up to the release and after it was given up once.
				seen := map[transport.WriteID]bool{}
				for _, id := range m.p.released {
					require.False(rt, seen[id])
					seen[id] = true
				}
			}
		})
	})
	require.NotZero(t, ended[true])
	require.NotZero(t, ended[false])
}

// TestStopKeepsItsCause: also when all chunks are already with the workers.
func TestStopKeepsItsCause(t *testing.T) {
	why := errors.New("why")
	for _, c := range []struct{ give, want error }{{why, why}, {nil, work.ErrStopped}} {
		synctest.Test(t, func(t *testing.T) {
			g := work.New(1)
			var ids atomic.Uint64
			s := work.NewSource(g, nil)
			m := newMove(t, &ids, 1, 2048, 1)
			hold := make(chan struct{})
			g.Go(func() { <-hold })
			s.Start(m.Transfer)
			s.Stop(m.Transfer, c.give)
			s.Stop(m.Transfer, errors.New("a second cause"))
			close(hold)
			synctest.Wait()
			ends, complete, err := m.result()
			require.Equal(t, 1, ends)
			require.False(t, complete)
			require.ErrorIs(t, err, c.want)
			require.Zero(t, m.p.posts)
			g.Close()
		})
	}
}

// TestStopAfterTheLastPost changes nothing: what was posted is all there is.
func TestStopAfterTheLastPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := work.New(1)
		var ids atomic.Uint64
		s := work.NewSource(g, nil)
		m := newMove(t, &ids, 2, 2048, 2)
		s.Start(m.Transfer)
		synctest.Wait()
		s.Stop(m.Transfer, errors.New("too late"))
		for _, f := range flights([]*moved{m}) {
			s.WriteEnded(m.p.land(f, transport.Done))
		}
		synctest.Wait()
		m.check(t)
		s.Stop(m.Transfer, errors.New("later still"))
		s.Release(m.Transfer)
		m.check(t)
		require.Empty(t, m.p.released)
		g.Close()
	})
}

func TestReleaseCoversLaterPosts(t *testing.T) {
	spec.Covers(t, "KS-BACK-3")
	synctest.Test(t, func(t *testing.T) {
		g := work.New(1)
		var ids atomic.Uint64
		s := work.NewSource(g, nil)
		m := newMove(t, &ids, 3, 2048, 1)
		s.Start(m.Transfer)
		synctest.Wait()
		s.Release(m.Transfer)
		for list := flights([]*moved{m}); len(list) > 0; list = flights([]*moved{m}) {
			s.WriteEnded(m.p.land(list[0], transport.Done))
			synctest.Wait()
		}
		m.check(t) // release only forgets: the data still arrives
		require.Equal(t, []transport.WriteID{1, 2, 3}, m.p.released)
		g.Close()
	})
}

func TestBadTransfers(t *testing.T) {
	g := work.New(1)
	defer g.Close()
	for name, change := range map[string]func(*work.Transfer){
		"chunk 0":         func(t *work.Transfer) { t.Chunk = 0 },
		"negative chunk":  func(t *work.Transfer) { t.Chunk = -1 },
		"no staging":      func(t *work.Transfer) { t.Staging = nil },
		"small staging":   func(t *work.Transfer) { t.Staging = t.Staging[:t.Chunk-1] },
		"target":          func(t *work.Transfer) { t.Dst.Len-- },
		"blocks":          func(t *work.Transfer) { t.Blocks = t.Blocks[1:] },
		"negative blocks": func(t *work.Transfer) { t.Layout.Blocks, t.Blocks = -1, nil },
		"no pool":         func(t *work.Transfer) { t.Pool = nil },
	} {
		var ids atomic.Uint64
		m := newMove(t, &ids, 2, 2048, 2)
		change(m.Transfer)
		work.NewSource(g, m.p).Start(m.Transfer)
		ends, complete, err := m.result()
		require.Equal(t, 1, ends, name)
		require.False(t, complete, name)
		require.ErrorIs(t, err, work.ErrBadTransfer, name)
		require.Zero(t, m.p.posts, name)
	}
}

// TestGatherError: a block outside the pool ends the transfer with kv's error.
func TestGatherError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := work.New(1)
		var ids atomic.Uint64
		s := work.NewSource(g, nil)
		m := newMove(t, &ids, 2, 2048, 2)
		m.Blocks[1] = 99
		s.Start(m.Transfer)
		synctest.Wait()
		for _, f := range flights([]*moved{m}) {
			s.WriteEnded(m.p.land(f, transport.Done))
		}
		synctest.Wait()
		_, complete, err := m.result()
		require.False(t, complete)
		var e *kv.Error
		require.ErrorAs(t, err, &e)
		g.Close()
	})
}

func TestClosedGroup(t *testing.T) {
	g := work.New(1)
	g.Close()
	var ids atomic.Uint64
	m := newMove(t, &ids, 2, 2048, 2)
	work.NewSource(g, m.p).Start(m.Transfer)
	ends, complete, err := m.result()
	require.Equal(t, 1, ends)
	require.False(t, complete)
	require.ErrorIs(t, err, transport.ErrClosed)
}

// TestDefaultPoster: the source's poster serves transfers that bring none.
func TestDefaultPoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := work.New(1)
		var ids atomic.Uint64
		m := newMove(t, &ids, 1, 4096, 1)
		p := m.p
		m.Poster = nil
		s := work.NewSource(g, p)
		s.Start(m.Transfer)
		synctest.Wait()
		s.WriteEnded(p.land(p.flying[0], transport.Done))
		synctest.Wait()
		m.check(t)
		g.Close()
	})
}

// TestFreeRun lets writes end from other goroutines at once, without the test's
// hand on the order: for the race detector.
func TestFreeRun(t *testing.T) {
	g := work.New(3)
	defer g.Close()
	var ids atomic.Uint64
	for range 50 {
		m := newMove(t, &ids, 6, 1000, 3)
		s := work.NewSource(g, m.p)
		m.p.early = func(f flight) { go func() { s.WriteEnded(m.p.land(f, transport.Done)) }() }
		over := make(chan struct{})
		end := m.End
		m.End = func(c bool, err error) {
			end(c, err)
			close(over)
		}
		s.Start(m.Transfer)
		<-over
		m.check(t)
	}
}
