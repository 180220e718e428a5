package work_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/nixlimpl/work"
)

var geometry = kv.Geometry{Slug: "small", Layers: 2, Heads: 1, HeadDim: 8, KVFactor: 2, ElemBytes: 2, TokensPerBlock: 32}

// memory is a pool of random blocks, made once.
var memory = sync.OnceValue(func() *kv.Pool {
	mem := make([]byte, kv.PoolBytes(geometry, 8))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range mem {
		mem[i] = byte(rng.Uint32())
	}
	p, err := kv.NewPool(mem, geometry, 8)
	if err != nil {
		panic(err)
	}
	return p
})

// flight is a write that was posted and has not ended. Its bytes are read when it
// ends, as late as a real write may.
type flight struct {
	id   transport.WriteID
	src  []byte
	at   int
	from *poster
}

// poster plays the agent: writes end when the test says so.
type poster struct {
	t    require.TestingT
	base uint64
	ids  *atomic.Uint64 // shared by all posters of one source

	mu       sync.Mutex
	out      []byte
	flying   []flight
	posts    int
	most     int
	released []transport.WriteID
	refuse   int // posts from this one on are refused; 0: none
	// early, if set, is called inside Post, after the write was started and before its
	// id is returned.
	early func(flight)
}

var errRefused = errors.New("refused by the test")

func (p *poster) Post(_ string, src []byte, dst transport.Target) (transport.WriteID, error) {
	p.mu.Lock()
	p.posts++
	if p.refuse != 0 && p.posts >= p.refuse {
		p.mu.Unlock()
		return 0, errRefused
	}
	for _, f := range p.flying {
		if &f.src[0] == &src[0] {
			p.t.Errorf("write %d reads the staging position that write %d still reads", p.ids.Load()+1, f.id)
		}
	}
	id := transport.WriteID(p.ids.Add(1))
	f := flight{id, src, int(dst.Addr - p.base), p}
	if int(dst.Len) != len(src) || f.at < 0 || f.at+len(src) > len(p.out) {
		p.t.Errorf("write of %d bytes to %d + %d of %d", len(src), f.at, dst.Len, len(p.out))
	}
	p.flying = append(p.flying, f)
	p.most = max(p.most, len(p.flying))
	early := p.early
	p.mu.Unlock()
	if early != nil {
		early(f)
	}
	return f.id, nil
}

func (p *poster) Release(id transport.WriteID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = append(p.released, id)
	return nil
}

func (p *poster) count() (posts, flying int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.posts, len(p.flying)
}

// land ends one write: its bytes are read now.
func (p *poster) land(f flight, status transport.Status) transport.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.flying {
		if p.flying[i].id == f.id {
			p.flying = append(p.flying[:i], p.flying[i+1:]...)
			break
		}
	}
	ev := transport.Event{Kind: transport.WriteEnded, Peer: "gen", Write: f.id, Status: status}
	if status == transport.Done {
		copy(p.out[f.at:], f.src)
	} else {
		ev.Err = transport.ErrPeerGone
	}
	return ev
}

// moved is a transfer with what its callbacks said.
type moved struct {
	*work.Transfer
	p        *poster
	mu       sync.Mutex
	progress int
	ends     int
	complete bool
	err      error
}

// newMove makes a transfer of blocks in chunks over a ring of positions.
func newMove(t require.TestingT, ids *atomic.Uint64, blocks, chunk, ring int) *moved {
	list := make([]kv.BlockID, blocks)
	for i := range list {
		list[i] = kv.BlockID((5*i + 3) % 8)
	}
	layout := kv.Layout{Geometry: geometry, Blocks: blocks}
	p := &poster{t: t, base: 1 << 40, ids: ids, out: make([]byte, layout.Bytes())}
	m := &moved{p: p}
	m.Transfer = &work.Transfer{Peer: "gen", Dst: transport.Target{Addr: p.base, Len: uint64(layout.Bytes())}, Layout: layout,
		Pool: memory(), Blocks: list, Staging: make([]byte, chunk*ring+min(chunk-1, 7)), Chunk: chunk, Poster: p}
	m.Progress = func(n int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.ends > 0 {
			t.Errorf("progress after the end")
		}
		m.progress += n
	}
	m.End = func(complete bool, err error) {
		_, flying := p.count()
		m.mu.Lock()
		defer m.mu.Unlock()
		if flying > 0 {
			t.Errorf("the end came while %d writes were posted", flying)
		}
		m.ends++
		m.complete, m.err = complete, err
	}
	return m
}

func (m *moved) result() (ends int, complete bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ends, m.complete, m.err
}

// check says that everything arrived.
func (m *moved) check(t require.TestingT) {
	ends, complete, err := m.result()
	require.Equal(t, 1, ends)
	require.True(t, complete)
	require.NoError(t, err)
	want := make([]byte, m.Layout.Bytes())
	require.NoError(t, m.Layout.Gather(want, m.Pool, m.Blocks, 0, len(want)))
	require.True(t, bytes.Equal(want, m.p.out), "bytes differ")
	require.Equal(t, len(want), m.progress)
}

func TestMemory(t *testing.T) { require.Equal(t, 2048, memory().Geometry().BlockBytes()) }
