package house

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Tree is a checkout: where it lies, its module path and its files.
type Tree struct {
	// Root is the folder that holds go.mod.
	Root string
	// Module is the module path of go.mod.
	Module string
	// Files are the paths of all files relative to Root, with slashes, sorted.
	// In a git work tree those that git ignores are left out.
	Files []string
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// Open lists the tree at root, which must hold a go.mod.
func Open(root string) (*Tree, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("house: %w", err)
	}
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return nil, fmt.Errorf("house: %s: no module line", filepath.Join(root, "go.mod"))
	}
	t := &Tree{Root: root, Module: string(m[1])}
	known := gitFiles(root)
	// The folders are walked even where git lists the files: the go command then sees
	// which folders this test depends on and does not serve a stale cached result.
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed while we walked
			}
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.Name() == ".git" { // a folder, or a file in a linked work tree
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && (known == nil || known[rel]) {
			t.Files = append(t.Files, rel)
		}
		return nil
	})
	slices.Sort(t.Files)
	return t, err
}

// gitFiles returns what git tracks or would track under root, or nil when root
// is not the top of a git work tree or there is no git.
func gitFiles(root string) map[string]bool {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return nil
	}
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			known[name] = true
		}
	}
	return known
}

// read returns a file of the tree; a file that vanished reads as empty.
func (t *Tree) read(file string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// goFiles returns the Go source files that the go command would look at: not
// those under testdata, or in folders that start with "_" or ".".
func (t *Tree) goFiles() []string {
	var files []string
	for _, f := range t.Files {
		if strings.HasSuffix(f, ".go") && !skipped(f) {
			files = append(files, f)
		}
	}
	return files
}

func skipped(file string) bool {
	parts := strings.Split(file, "/")
	for _, dir := range parts[:len(parts)-1] {
		if dir == "testdata" || strings.HasPrefix(dir, "_") || strings.HasPrefix(dir, ".") {
			return true
		}
	}
	return false
}

// room is the first folder of a path, or "" for a file at the top.
func room(file string) string {
	if i := strings.IndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return ""
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// isGenerated reports whether src has the standard header of generated Go code
// before its package clause.
func isGenerated(src []byte) bool {
	loc := generatedLine.FindIndex(src)
	if loc == nil {
		return false
	}
	clause := bytes.Index(src, []byte("\npackage "))
	return clause < 0 || loc[0] < clause
}
