package bench

import (
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"
)

// copies makes the two plain copies of the same size, warm, in one thread.
type copies struct {
	src, dst []byte
	block    int
	order    []int // of the blocks
}

// newCopies maps both buffers and touches every page.
func newCopies(s Size) (*copies, error) {
	c := &copies{block: s.Block, order: rand.New(rand.NewPCG(1, 2)).Perm(s.Bytes / s.Block)}
	for _, b := range []*[]byte{&c.src, &c.dst} {
		mem, err := unix.Mmap(-1, 0, s.Bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			c.free()
			return nil, fmt.Errorf("bench: mapping %d bytes: %w", s.Bytes, err)
		}
		for i := range mem {
			mem[i] = byte(i)
		}
		*b = mem
	}
	return c, nil
}

// contiguous copies everything in one call.
func (c *copies) contiguous() time.Duration {
	start := time.Now()
	copy(c.dst, c.src)
	return time.Since(start)
}

// blocks copies everything block by block, in random order.
func (c *copies) blocks() time.Duration {
	start := time.Now()
	for _, i := range c.order {
		at := i * c.block
		copy(c.dst[at:at+c.block], c.src[at:at+c.block])
	}
	return time.Since(start)
}

func (c *copies) free() {
	for _, b := range [][]byte{c.src, c.dst} {
		if b != nil {
			_ = unix.Munmap(b)
		}
	}
}
