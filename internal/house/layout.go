package house

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// MaxLines is the greatest number of lines of a Go file, generated code aside.
const MaxLines = 600

// topLevel is everything that the top of the tree may hold beside dot-files.
var topLevel = []string{
	"spec", "wire", "statemachine", "nixlimpl", "tla", "conformance", "docs", "internal",
	"go.mod", "go.sum", "README.md", "LICENSE",
}

// TopLevel checks that the top of the tree holds the rooms and the few files of
// the design, and nothing else.
func TopLevel(t *Tree) ([]Finding, error) {
	var found []Finding
	seen := map[string]bool{}
	for _, file := range t.Files {
		top, _, _ := strings.Cut(file, "/")
		if seen[top] || strings.HasPrefix(top, ".") || slices.Contains(topLevel, top) {
			continue
		}
		seen[top] = true
		found = append(found, Finding{top, 0, "top-level", "the top level has no place for this"})
	}
	return found, nil
}

// Length checks that no Go file is longer than [MaxLines]. Files with the
// standard header of generated code are exempt.
func Length(t *Tree) ([]Finding, error) {
	var found []Finding
	for _, file := range t.Files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		src, err := t.read(file)
		if err != nil {
			return nil, err
		}
		lines := bytes.Count(src, []byte("\n"))
		if len(src) > 0 && src[len(src)-1] != '\n' {
			lines++
		}
		if lines > MaxLines && !isGenerated(src) {
			found = append(found, Finding{file, 0, "length", fmt.Sprintf("%d lines, more than %d", lines, MaxLines)})
		}
	}
	return found, nil
}
