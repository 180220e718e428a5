package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const folder = "../../vectors"

// TestFresh compares the files in the tree with what this program makes now.
func TestFresh(t *testing.T) {
	want, err := build()
	require.NoError(t, err)
	have, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, have, len(want), "a file that nothing makes, or one that is missing")
	for name, b := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, string(b), string(got), "%s is not fresh: run go generate ./conformance/...", name)
	}
}

func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, generate(dir))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, len(families))
	require.Error(t, generate(filepath.Join(dir, "none")))
}

// TestRefuses holds that a vector that says something wrong does not get out.
func TestRefuses(t *testing.T) {
	memory := make([]byte, 20)
	memory[8] = 1
	cases := []struct {
		name, want string
		fill       func(*set)
	}{
		{"good bytes called bad", "x: want error bad-value, got no error", func(s *set) { s.bad("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory, "bad-value", 0) }},
		{"bad bytes called good", "short-input", func(s *set) { s.good("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory[1:], "ok") }},
		{"another code", "x: want error bad-count, got memoryDesc.deviceId", func(s *set) { s.bad("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory[1:], "bad-count", 16) }},
		{"another offset", "x: want offset 15, got 16", func(s *set) { s.bad("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory[1:], "short-input", 15) }},
		{"another validation", "x: validate: want missing, got ok", func(s *set) { s.good("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory, "missing") }},
		{"an id twice", "x: id used twice", func(s *set) {
			s.good("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory, "ok")
			s.good("MemoryDesc", mid, "x", "n", "KS-NAT-2", memory, "ok")
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &set{seen: map[string]bool{}}
			c.fill(s)
			require.NotEmpty(t, s.errs)
			require.ErrorContains(t, s.errs[0], c.want)
		})
	}
}
