// Package house checks the rules that keep the tree as it was designed: which
// room may import which, that statemachine is pure, that files stay short, what
// the top level holds, which words must not appear, and that exported names are
// documented.
//
// Every rule is a function from a [Tree] to findings, so that each is tested
// against a small bad tree as well as run on this one. It imports no room.
package house

import "fmt"

// Finding is one place that breaks a rule.
type Finding struct {
	// File is relative to the root of the tree, with slashes.
	File string
	// Line counts from 1; 0 when the finding is about the whole file.
	Line int
	// Rule names the checker: arrows, purity, length, top-level, hosts, words, docs.
	Rule string
	// Text says what is wrong and, where it is not obvious, what to do.
	Text string
}

// String returns "file:line: rule: text", the form that editors can open.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.File, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text)
}
