package spec

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Citation is one place in the tree that names a requirement.
type Citation struct {
	ID string `json:"id"`
	// File is relative to the root, with slashes.
	File string `json:"file"`
	// Line counts from 1.
	Line int `json:"line"`
}

var idPattern = regexp.MustCompile(`\bKS-[A-Z][A-Z0-9]*-[0-9]+\b`)

// testTopic is the topic of ids that test files make up; no chapter defines it and
// nothing else may cite it.
const testTopic = "T"

// citing are the kinds of files that cite requirements.
var citing = []string{".go", ".tla", ".cfg", ".md", ".json", ".jsonl", ".py", ".proto", ".txtar"}

// Citations finds every requirement id in the files of fsys, in order of file and
// line. Hidden folders, folders named testdata/fuzz, and the chapters' own
// definitions are left out; the file with the retired ids is not of a kind that
// is searched. In a _test.go file ids of the topic T are made up and left out too.
func Citations(fsys fs.FS) ([]Citation, error) {
	var out []Citation
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // a temporary file that is gone again
		case err != nil:
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && strings.HasPrefix(base, ".") || strings.HasSuffix(name, "testdata/fuzz") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !slices.Contains(citing, path.Ext(name)) {
			return nil
		}
		b, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		out = appendCitations(out, name, b)
		return nil
	})
	return out, err
}

func appendCitations(out []Citation, name string, b []byte) []Citation {
	if !bytes.Contains(b, []byte("KS-")) {
		return out
	}
	n, made := 0, strings.HasSuffix(name, "_test.go")
	for line := range bytes.Lines(b) {
		n++
		if bytes.HasPrefix(line, []byte("**KS-")) {
			_, line, _ = bytes.Cut(line, []byte("** "))
		}
		for _, id := range idPattern.FindAll(line, -1) {
			if made && Topic(string(id)) == testTopic {
				continue
			}
			out = append(out, Citation{ID: string(id), File: name, Line: n})
		}
	}
	return out
}

// Dangling returns the citations of ids that no chapter defines.
func Dangling(citations []Citation) []Citation {
	var out []Citation
	for _, c := range citations {
		if _, ok := Lookup(c.ID); !ok {
			out = append(out, c)
		}
	}
	return out
}
