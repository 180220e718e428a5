package work

import (
	"errors"
	"fmt"
	"sync"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// Poster is the part of a transport.Agent that a transfer needs, with the same
// contract: src stays unchanged until the write's end, an error of Post means that
// nothing was started, and each write ends exactly once. It must not report an end
// from inside Post.
type Poster interface {
	Post(peer string, src []byte, dst transport.Target) (transport.WriteID, error)
	Release(transport.WriteID) error
}

// Errors of a transfer, besides those of Gather and of the Poster.
var (
	// ErrBadTransfer: the fields of the Transfer do not fit each other.
	ErrBadTransfer = errors.New("bad-transfer")
	// ErrStopped is the cause of a Stop that gave none.
	ErrStopped = errors.New("transfer-stopped")
)

// Transfer is one edge's data on the source side: blocks are gathered chunk by
// chunk into a ring of staging positions and written from there. A position is
// used again only after the final success of the write that read it.
type Transfer struct {
	// Peer and Dst say where to; Dst.Len is at least Layout.Bytes(), or nothing is
	// posted and End gets ErrBadTransfer. The same holds for the fields below.
	Peer string
	Dst  transport.Target
	// Layout, Pool and Blocks say what. The blocks stay pinned by the caller until End.
	Layout kv.Layout
	Pool   *kv.Pool
	Blocks []kv.BlockID
	// Staging is the leased slot, at least Chunk bytes long; Chunk is positive.
	Staging []byte
	Chunk   int
	// NoGather writes what the staging positions hold instead of the blocks
	// (benchmarks of what lies around the copies).
	NoGather bool
	// Poster, if set, replaces the source's poster for this transfer.
	Poster Poster
	// Progress, if set, is called with the bytes of each write that reached final
	// success, always before End.
	Progress func(n int)
	// End is called once, from any goroutine and perhaps before Start or Stop has
	// returned, when nothing posted is left: complete says that every byte reached
	// final success; err says why not.
	End func(complete bool, err error)

	mu      sync.Mutex
	off     int
	ring    []int // free staging positions
	posted  map[transport.WriteID]piece
	gather  int // gathers under way
	stopped bool
	release bool
	why     error // of the first Stop
	failed  error
	broken  bool
	ended   bool
}

// Broken says whether a posted write of t ended in an error. Whether such a write
// may still touch memory is the contract's to say (ErrorQuiet).
func (t *Transfer) Broken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// Source runs transfers over one poster.
type Source struct {
	group *Group
	post  Poster

	mu sync.Mutex
	// byWrite finds the transfer of a posted write; early holds ends that came
	// before Post had returned their id.
	byWrite map[transport.WriteID]*Transfer
	early   map[transport.WriteID]transport.Event
}

// piece is one posted write: its staging position and its bytes.
type piece struct{ pos, n int }

// NewSource returns a Source that gathers on g and writes through p.
func NewSource(g *Group, p Poster) *Source {
	return &Source{group: g, post: p, byWrite: make(map[transport.WriteID]*Transfer), early: make(map[transport.WriteID]transport.Event)}
}

// Start begins t. It must be called once per transfer; its exported fields are not
// changed after that.
func (s *Source) Start(t *Transfer) {
	if err := t.check(); err != nil {
		t.stopped, t.failed = true, err
		s.finish(t)
		return
	}
	n := len(t.Staging) / t.Chunk
	t.posted = make(map[transport.WriteID]piece)
	if t.Poster == nil {
		t.Poster = s.post
	}
	for i := range n {
		t.ring = append(t.ring, n-1-i)
	}
	s.more(t)
}

// check says whether the parts of a transfer fit each other.
func (t *Transfer) check() error {
	size := t.Layout.Bytes()
	switch {
	case t.Chunk <= 0 || len(t.Staging) < t.Chunk:
		return fmt.Errorf("%w: chunks of %d bytes in a slot of %d", ErrBadTransfer, t.Chunk, len(t.Staging))
	case t.Pool == nil || t.Layout.Blocks < 0 || len(t.Blocks) != t.Layout.Blocks:
		return fmt.Errorf("%w: layout of %d blocks, %d listed", ErrBadTransfer, t.Layout.Blocks, len(t.Blocks))
	case t.Dst.Len < uint64(size):
		return fmt.Errorf("%w: %d bytes to a target of %d", ErrBadTransfer, size, t.Dst.Len)
	}
	return nil
}

// Stop makes t post nothing more; a post that has begun counts as posted. End
// follows when nothing posted is left, with why unless all was posted by then and
// reaches final success.
func (s *Source) Stop(t *Transfer, why error) {
	if why == nil {
		why = ErrStopped
	}
	t.mu.Lock()
	t.stopped = true
	if t.why == nil {
		t.why = why
	}
	if t.failed == nil && t.off < t.Layout.Bytes() {
		t.failed = why
	}
	t.mu.Unlock()
	s.finish(t)
}

// Release gives up interest in everything that t has posted or will post. What
// that does to memory is the contract's to say; End still comes.
func (s *Source) Release(t *Transfer) {
	t.mu.Lock()
	t.release = true
	ids := make([]transport.WriteID, 0, len(t.posted))
	for id := range t.posted {
		ids = append(ids, id)
	}
	t.mu.Unlock()
	for _, id := range ids {
		_ = t.Poster.Release(id)
	}
}

// WriteEnded takes an agent's event of that kind. It does not block on anything
// but short locks.
func (s *Source) WriteEnded(ev transport.Event) {
	s.mu.Lock()
	t := s.byWrite[ev.Write]
	if t == nil {
		s.early[ev.Write] = ev
		s.mu.Unlock()
		return
	}
	delete(s.byWrite, ev.Write)
	s.mu.Unlock()
	s.ended(t, ev)
}

func (s *Source) ended(t *Transfer, ev transport.Event) {
	t.mu.Lock()
	p, ok := t.posted[ev.Write]
	t.mu.Unlock()
	if ok && ev.Status == transport.Done && t.Progress != nil {
		t.Progress(p.n)
	}
	t.mu.Lock()
	delete(t.posted, ev.Write)
	if ok && ev.Status == transport.Done {
		t.ring = append(t.ring, p.pos)
	}
	if ev.Status != transport.Done {
		t.broken = t.broken || ok && !ev.Unstarted
		err := ev.Err
		if err == nil {
			err = transport.ErrPeerGone
		}
		t.fail(err)
	}
	t.mu.Unlock()
	s.more(t)
}

// more queues a gather if there is a chunk and a free position, else looks for the end.
func (s *Source) more(t *Transfer) {
	t.mu.Lock()
	if t.stopped || t.off >= t.Layout.Bytes() || len(t.ring) == 0 {
		t.mu.Unlock()
		s.finish(t)
		return
	}
	pos := t.ring[len(t.ring)-1]
	t.ring = t.ring[:len(t.ring)-1]
	off := t.off
	n := min(t.Chunk, t.Layout.Bytes()-off)
	t.off += n
	t.gather++
	again := t.off < t.Layout.Bytes() && len(t.ring) > 0
	t.mu.Unlock()
	if t.NoGather {
		s.chunk(t, pos, off, n) // posting does not block: no worker is woken for it
	} else if !s.group.Go(func() { s.chunk(t, pos, off, n) }) {
		t.mu.Lock()
		t.gather--
		t.fail(transport.ErrClosed)
		t.mu.Unlock()
		s.finish(t)
		return
	}
	if again {
		s.more(t)
	}
}

func (s *Source) chunk(t *Transfer, pos, off, n int) {
	src := t.Staging[pos*t.Chunk : pos*t.Chunk+n]
	var err error
	if !t.NoGather {
		err = t.Layout.Gather(src, t.Pool, t.Blocks, off, n)
	}
	t.mu.Lock()
	if err == nil && t.stopped {
		if err = t.failed; err == nil {
			err = t.why
		}
	}
	t.mu.Unlock()
	var id transport.WriteID
	if err == nil {
		id, err = t.Poster.Post(t.Peer, src, transport.Target{Addr: t.Dst.Addr + uint64(off), Len: uint64(n), Device: t.Dst.Device})
	}
	t.mu.Lock()
	t.gather--
	if err != nil {
		t.fail(err)
		t.mu.Unlock()
		s.finish(t)
		return
	}
	t.posted[id] = piece{pos, n}
	release := t.release
	t.mu.Unlock()
	s.mu.Lock()
	ev, early := s.early[id]
	if early {
		delete(s.early, id)
	} else {
		s.byWrite[id] = t
	}
	s.mu.Unlock()
	if release {
		_ = t.Poster.Release(id)
	}
	if early {
		s.ended(t, ev)
	}
}

// fail keeps the first cause and posts nothing more; t.mu is held.
func (t *Transfer) fail(err error) {
	t.stopped = true
	if t.failed == nil {
		t.failed = err
	}
}

func (s *Source) finish(t *Transfer) {
	t.mu.Lock()
	over := t.gather == 0 && len(t.posted) == 0 && (t.stopped || t.off >= t.Layout.Bytes())
	if !over || t.ended {
		t.mu.Unlock()
		return
	}
	t.ended = true
	complete := t.failed == nil && t.off >= t.Layout.Bytes()
	err := t.failed
	t.mu.Unlock()
	t.End(complete, err)
}
