package vectors

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Failure is one line that did not pass.
type Failure struct {
	// File is relative to the folder; Line counts from 1, and 0 stands for the whole
	// file.
	File string `json:"file"`
	Line int    `json:"line"`
	// ID is what the line calls itself; empty where that cannot be read.
	ID string `json:"id"`
	// Difference says what was wanted and what was there.
	Difference string `json:"difference"`
}

// Report is the result of a run. Passed and Failed add up to the number of
// lines and of files without any.
type Report struct {
	Files    int       `json:"files"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Failures []Failure `json:"failures"`
	// PassedByType counts the passed lines by type, for descriptor commands by
	// command.
	PassedByType map[string]int `json:"passed_by_type"`
}

// ErrNothing says that a folder holds no vector file, so that nothing ran.
var ErrNothing = errors.New("no file that ends in .jsonl")

// Run judges every line of every file of fsys that ends in ".jsonl", folders
// below included, in order of name. A line that is not understood fails, and so
// does a file without lines; nothing is skipped. The error is about reading the
// folder, or ErrNothing.
func Run(fsys fs.FS) (Report, error) {
	r := Report{Failures: []Failure{}, PassedByType: map[string]int{}}
	seen := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".jsonl" {
			return err
		}
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		r.file(name, b, seen)
		return nil
	})
	if err == nil && r.Files == 0 {
		err = ErrNothing
	}
	return r, err
}

func (r *Report) file(name string, b []byte, seen map[string]string) {
	r.Files++
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) == 0 {
		r.fail(Failure{File: name, Difference: "the file holds no line"})
		return
	}
	for i, line := range bytes.Split(b, []byte("\n")) {
		kind, id, diff := judge(line)
		at := fmt.Sprintf("%s:%d", name, i+1)
		if kind == ownFormat && id != "" {
			if first, dup := seen[id]; dup && diff == "" {
				diff = "the id stands already at " + first
			}
			seen[id] = at
		}
		if diff != "" {
			r.fail(Failure{name, i + 1, id, diff})
			continue
		}
		r.Passed++
		r.PassedByType[typeOf(kind, line)]++
	}
}

func (r *Report) fail(f Failure) {
	r.Failed++
	r.Failures = append(r.Failures, f)
}

// format is the form of one line, told by a member that no other form has.
type format int

const (
	ownFormat     format = iota // "id"
	commandFormat               // "cmd": the descriptor functions of upstream
	upstreamForm                // "size": bytes of upstream's serialiser
	decodeForm                  // "outcome": what upstream's decoder makes of bytes
	unknownForm
)

func formatOf(tree map[string]any) format {
	for _, f := range []struct {
		member string
		format format
	}{{"id", ownFormat}, {"cmd", commandFormat}, {"outcome", decodeForm}, {"size", upstreamForm}} {
		if _, ok := tree[f.member]; ok {
			return f.format
		}
	}
	return unknownForm
}

// judge runs one line and returns what it is, what it calls itself, and the
// difference.
func judge(line []byte) (kind format, id, diff string) {
	tree, err := parseObject(line)
	if err != nil {
		return unknownForm, "", err.Error()
	}
	kind = formatOf(tree)
	text := func(name string) string {
		s, _ := tree[name].(string)
		return s
	}
	switch kind {
	case ownFormat:
		l, err := lineOf(tree)
		if err != nil {
			return kind, text("id"), err.Error()
		}
		return kind, l.ID, l.Check()
	case commandFormat:
		return kind, text("cmd"), checkCommand(tree)
	case upstreamForm:
		return kind, text("name"), checkUpstream(tree)
	case decodeForm:
		return kind, text("note"), checkDecode(tree)
	}
	return kind, "", "not a form of vector that is known here"
}

func typeOf(kind format, line []byte) string {
	tree, err := parseObject(line)
	if err != nil {
		return ""
	}
	if kind == commandFormat {
		command, _ := tree["cmd"].(string)
		command, _, _ = strings.Cut(command, "\t")
		return command
	}
	typ, _ := tree["type"].(string)
	return typ
}
