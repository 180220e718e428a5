package explore

import (
	"math/bits"
	"sync"
)

const (
	shardBits = 6
	shards    = 1 << shardBits
	// chunk is how many entries a shard's list grows by at a time: it never moves.
	chunkBits = 10
	chunk     = 1 << chunkBits
)

// entry is what is remembered of a state: its fingerprint and how it was reached
// first. 24 bytes.
type entry struct {
	print  Print
	parent uint32
	depth  uint16
	action uint8
	flags  uint8
}

const settledFlag = 1

// seen is the set of states reached so far, split by fingerprint so that workers
// rarely meet. A state's number is its place in its shard's list.
type seen struct {
	shards [shards]shard
}

type shard struct {
	mu    sync.Mutex
	n     uint32
	slots []uint32 // open addressing: 1 + place in the list, or 0
	list  []*[chunk]entry
	_     [40]byte
}

const none = ^uint32(0)

func (s *shard) at(i uint32) *entry { return &s.list[i>>chunkBits][i&(chunk-1)] }

// add notes a state and returns its number; fresh says that it was not known.
func (s *seen) add(p Print, parent uint32, depth int, action uint8, flags uint8) (id uint32, fresh bool) {
	k := uint32(p[1] & (shards - 1))
	sh := &s.shards[k]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if uint64(sh.n)*4 >= uint64(len(sh.slots))*3 {
		sh.grow()
	}
	mask := uint64(len(sh.slots) - 1)
	i := p[0] & mask
	for ; sh.slots[i] != 0; i = (i + 1) & mask {
		if sh.at(sh.slots[i]-1).print == p {
			return (sh.slots[i]-1)<<shardBits | k, false
		}
	}
	n := sh.n
	if n&(chunk-1) == 0 {
		sh.list = append(sh.list, new([chunk]entry))
	}
	sh.n++
	sh.slots[i] = n + 1
	*sh.at(n) = entry{p, parent, uint16(depth), action, flags}
	return n<<shardBits | k, true
}

func (sh *shard) grow() {
	size := max(64, len(sh.slots)*2)
	slots := make([]uint32, size)
	mask := uint64(size - 1)
	for n := range sh.n {
		i := sh.at(n).print[0] & mask
		for slots[i] != 0 {
			i = (i + 1) & mask
		}
		slots[i] = n + 1
	}
	sh.slots = slots
}

// full says that a shard cannot number more states.
func (s *seen) full() bool {
	for k := range s.shards {
		if s.shards[k].n >= 1<<(32-shardBits)-2*chunk {
			return true
		}
	}
	return false
}

// settle marks state id as settled.
func (s *seen) settle(id uint32) {
	sh := &s.shards[id&(shards-1)]
	sh.mu.Lock()
	sh.at(id >> shardBits).flags |= settledFlag
	sh.mu.Unlock()
}

// entry returns what is remembered of state id. No worker may be running.
func (s *seen) entry(id uint32) *entry {
	return s.shards[id&(shards-1)].at(id >> shardBits)
}

// len is the number of states.
func (s *seen) len() int {
	n := 0
	for k := range s.shards {
		n += int(s.shards[k].n)
	}
	return n
}

// bytes is the memory that the set takes, spare room included.
func (s *seen) bytes() int {
	n := 0
	for k := range s.shards {
		sh := &s.shards[k]
		n += cap(sh.slots)*4 + len(sh.list)*(chunk*24+8)
	}
	return n
}

// dense numbers all states from 0 without gaps: shard by shard.
func (s *seen) dense() (first [shards]uint32, total int) {
	for k := range s.shards {
		first[k] = uint32(total)
		total += int(s.shards[k].n)
	}
	return first, total
}

// CollisionBound is an upper bound of the probability that any two of n different
// states have the same 128-bit fingerprint, as a power of two: at most 2^result.
func CollisionBound(n int) int {
	return 2*bits.Len64(uint64(max(n, 1))) - 1 - 128
}
