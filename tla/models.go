// Package tla holds the TLA+ models of the protocol, their configurations and the
// ledger that says what TLC must find in each.
package tla

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrLedger says that the ledger lacks a line or has one that cannot be right.
var ErrLedger = errors.New("ledger-unusable")

//go:embed *.tla *.cfg models.json
var files embed.FS

// Files returns the modules and configurations by name. Nothing in it may be changed.
func Files() fs.ReadFileFS { return files }

// Entry is one line of the ledger: a model in one size and what TLC finds in it.
type Entry struct {
	Model string `json:"model"`
	Size  string `json:"size"`
	// Module is the root module, Config the configuration for checking, with its
	// properties.
	Module string `json:"module"`
	Config string `json:"config"`
	// States and Depth are the distinct states and the depth that TLC counts.
	States int64 `json:"states"`
	Depth  int   `json:"depth"`
	// Result is ok, or the name of the property that this configuration violates on
	// purpose; then States and Depth are not compared.
	Result string `json:"result"`
}

// Ledger returns every line. An error wraps ErrLedger: the file does not parse, a
// line is there twice, or a module or configuration that it names is missing.
func Ledger() ([]Entry, error) {
	text, err := files.ReadFile("models.json")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return ParseLedger(text, files)
}

// ParseLedger is Ledger for a text and the files beside it.
func ParseLedger(text []byte, in fs.ReadFileFS) ([]Entry, error) {
	var list []Entry
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("%w: models.json: %w", ErrLedger, err)
	}
	seen := map[string]bool{}
	for _, e := range list {
		key := e.Model + " " + e.Size
		switch {
		case e.Model == "" || e.Size == "" || e.Result == "" || e.Result == "ok" && (e.States <= 0 || e.Depth <= 0):
			return nil, fmt.Errorf("%w: models.json: the line of %q lacks something", ErrLedger, key)
		case seen[key]:
			return nil, fmt.Errorf("%w: models.json: %s is there twice", ErrLedger, key)
		}
		seen[key] = true
		for _, name := range []string{e.Module + ".tla", e.Config} {
			if _, err := in.ReadFile(name); err != nil {
				return nil, fmt.Errorf("%w: models.json: %s: %w", ErrLedger, key, err)
			}
		}
	}
	return list, nil
}

// Find returns the line of a model in a size; a missing one is ErrLedger.
func Find(list []Entry, model, size string) (Entry, error) {
	i := slices.IndexFunc(list, func(e Entry) bool { return e.Model == model && e.Size == size })
	if i < 0 {
		return Entry{}, fmt.Errorf("%w: models.json has no line for %s %s", ErrLedger, model, size)
	}
	return list[i], nil
}

// Unpack writes every module and configuration into dir, with replace in place of
// the files that it names.
func Unpack(dir string, replace map[string][]byte) error {
	names, err := fs.Glob(files, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, ok := replace[name]
		if !ok {
			if text, err = files.ReadFile(name); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// GraphConfig turns a configuration for checking into one for dumping the graph:
// TLC adds edges of its own for every temporal property, so only the initial
// predicate, the next-state relation and the constants stay. With invariants those
// stay too.
func GraphConfig(cfg []byte, invariants bool) []byte {
	out := []string{"INIT Init", "NEXT Next"}
	keep := true
	for _, line := range strings.Split(string(cfg), "\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "SPECIFICATION", "INIT", "NEXT", "PROPERTY", "PROPERTIES":
			keep = false
		case "INVARIANT", "INVARIANTS":
			keep = invariants
		case "CONSTANT", "CONSTANTS", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT":
			keep = true
		}
		if keep {
			out = append(out, line)
		}
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// Properties returns the invariants and temporal properties that a configuration
// names.
func Properties(cfg []byte) (invariants, temporal []string) {
	var into *[]string
	for _, word := range strings.Fields(string(cfg)) {
		switch word {
		case "INVARIANT", "INVARIANTS":
			into = &invariants
		case "PROPERTY", "PROPERTIES":
			into = &temporal
		case "SPECIFICATION", "INIT", "NEXT", "CONSTANT", "CONSTANTS", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT":
			into = nil
		default:
			if into != nil {
				*into = append(*into, word)
			}
		}
	}
	return invariants, temporal
}
