package spec

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Untested is a requirement that no test covers, with the reason.
type Untested struct {
	ID     string `json:"id"`
	Level  Level  `json:"level"`
	Reason string `json:"reason"`
}

// Excuses returns the written reasons of untested.json by requirement id. The map
// is the caller's own.
func Excuses() (map[string]string, error) { return parseExcuses(files) }

func parseExcuses(fsys fs.FS) (map[string]string, error) {
	b, err := fs.ReadFile(fsys, "untested.json")
	if err != nil {
		return nil, err
	}
	var list []struct{ ID, Reason string }
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("untested.json: %w", err)
	}
	out := make(map[string]string, len(list))
	for _, e := range list {
		if _, dup := out[e.ID]; dup || e.Reason == "" {
			return nil, fmt.Errorf("untested.json: %s is listed twice or without a reason", e.ID)
		}
		out[e.ID] = e.Reason
	}
	return out, nil
}

// Judge splits the requirements by the record: the ids that a passed test showed,
// and the rest with its reason. A reason that begins with Unexcused marks a
// requirement that untested.json does not list.
func Judge(covered []Covered) (tested []string, untested []Untested, err error) {
	excuses, err := Excuses()
	if err != nil {
		return nil, nil, err
	}
	shown := make(map[string]bool, len(covered))
	for _, c := range covered {
		shown[c.ID] = true
	}
	for _, r := range Requirements() {
		switch reason, excused := excuses[r.ID]; {
		case shown[r.ID]:
			tested = append(tested, r.ID)
		case excused:
			untested = append(untested, Untested{r.ID, r.Level, reason})
		default:
			untested = append(untested, Untested{r.ID, r.Level, Unexcused})
		}
	}
	return tested, untested, nil
}

// Unexcused is the reason of a requirement that nothing tests and nobody excused.
const Unexcused = "no test and no reason"

// Retired returns the ids that were withdrawn and must not be used again.
func Retired() ([]string, error) {
	b, err := fs.ReadFile(files, "retired.txt")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, _, _ := strings.Cut(line, " ")
		out = append(out, id)
	}
	slices.SortFunc(out, CompareIDs)
	return out, nil
}
