// Genvectors writes conformance/vectors/*.jsonl from the explicit values in this
// folder. `go generate ./conformance/...` runs it; a test compares.
//
// Every vector is checked against the Go codec while it is made: a good one must
// read to what its bytes were made from and write the same bytes, a bad one must
// be refused with the code and at the offset that stand here.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kvsettle/kvsettle/conformance/vectors"
)

func main() {
	dir := flag.String("dir", ".", "folder to write to")
	flag.Parse()
	if err := generate(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "genvectors:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	all, err := build()
	if err != nil {
		return err
	}
	for name, b := range all {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// families are the files and what fills them.
var families = map[string]func(*set){
	"descriptor.jsonl":      descriptors,
	"native_states.jsonl":   nativeStates,
	"native_messages.jsonl": nativeMessages,
	"control.jsonl":         controlMessages,
	"control_frame.jsonl":   controlFrames,
	"control_items.jsonl":   controlItems,
	"identity.jsonl":        identities,
	"ticket.jsonl":          tickets,
	"round.jsonl":           rounds,
	"handover.jsonl":        handovers,
}

// build returns the contents of every file by name.
func build() (map[string][]byte, error) {
	out := map[string][]byte{}
	seen := map[string]bool{}
	var errs []error
	for name, fill := range families {
		s := &set{seen: seen}
		fill(s)
		errs = append(errs, s.errs...)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for i := range s.lines {
			if err := enc.Encode(&s.lines[i]); err != nil {
				errs = append(errs, err)
			}
		}
		out[name] = b.Bytes()
	}
	return out, errors.Join(errs...)
}

// set collects the vectors of one file.
type set struct {
	lines []vectors.Line
	seen  map[string]bool
	errs  []error
}

func (s *set) fail(id string, err error) {
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", id, err))
	}
}

func (s *set) add(l vectors.Line) {
	if s.seen[l.ID] {
		s.fail(l.ID, errors.New("id used twice"))
	}
	s.seen[l.ID] = true
	if d := l.Check(); d != "" {
		s.fail(l.ID, errors.New(d))
	}
	s.lines = append(s.lines, l)
}

// of begins a vector. Ids of requirements stand in req with spaces between them.
func of(typ, profile, id, note, req string, b []byte) vectors.Line {
	return vectors.Line{ID: id, Type: typ, Profile: profile, Note: note, Req: strings.Fields(req), Hex: hex.EncodeToString(b)}
}

// good adds bytes that are read. validate is "ok", a reason code, or "" where the
// type has no range checks.
func (s *set) good(typ, profile, id, note, req string, b []byte, validate string) {
	l := of(typ, profile, id, note, req, b)
	l.Result, l.Validate = vectors.OK, validate
	s.fail(id, l.Complete())
	s.add(l)
}

// none stands for the offset of a refusal that has none.
const none = -1

// bad adds bytes that are refused with the given code at the given offset.
func (s *set) bad(typ, profile, id, note, req string, b []byte, code string, offset int) {
	l := of(typ, profile, id, note, req, b)
	s.refused(l, code, offset)
}

// badFields adds fields that a writer or a check refuses.
func (s *set) badFields(typ, profile, id, note, req string, b []byte, fields map[string]any, code string) {
	l := of(typ, profile, id, note, req, b)
	l.Fields = s.tree(id, fields)
	s.refused(l, code, none)
}

// goodFields adds fields that a writer or a check accepts. b is what it takes or
// makes; fields are complete.
func (s *set) goodFields(typ, profile, id, note, req string, b []byte, fields map[string]any) {
	l := of(typ, profile, id, note, req, b)
	l.Result, l.Fields = vectors.OK, s.tree(id, fields)
	s.add(l)
}

func (s *set) refused(l vectors.Line, code string, offset int) {
	l.Result, l.Error = vectors.Error, code
	if offset != none {
		l.Offset = &offset
	}
	s.add(l)
}

// tree turns fields into what their JSON reads as.
func (s *set) tree(id string, fields map[string]any) any {
	b, err := json.Marshal(fields)
	s.fail(id, err)
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var tree map[string]any
	s.fail(id, dec.Decode(&tree))
	return tree
}
