package kv

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestStreamIsCopy compares stream with copy for every alignment of both ends, and
// looks at the bytes around the destination.
func TestStreamIsCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<10).Draw(t, "n")
		at, from := rapid.IntRange(0, 80).Draw(t, "at"), rapid.IntRange(0, 80).Draw(t, "from")
		src := make([]byte, from+n)
		fillWords(src, rapid.Uint64().Draw(t, "w"))
		got, want := bytes.Repeat([]byte{0xa5}, at+n+80), bytes.Repeat([]byte{0xa5}, at+n+80)
		stream(got[at:at+n], src[from:])
		copy(want[at:at+n], src[from:])
		require.Equal(t, want, got)
	})
}

func TestStreamDoesNotAllocate(t *testing.T) {
	dst, src := mapped(t, 4096), make([]byte, 200)
	require.Zero(t, testing.AllocsPerRun(100, func() { stream(dst[:200], src) }))
}
