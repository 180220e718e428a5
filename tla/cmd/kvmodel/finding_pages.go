package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The lines between which a page is generated. The rest is written by hand.
const (
	pageBegin = "<!-- generated: kvmodel finding %s --pages docs/findings -->"
	pageEnd   = "<!-- /generated -->"
	indexName = "README.md"
)

var errPage = errors.New("page-unusable")

// pageFiles renders the generated part of a page, and the pictures beside it.
func (a *answered) pageFiles() (block string, pictures map[string]string) {
	var b strings.Builder
	b.WriteString("| | rule | property | answer | looked at | bounds |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range a.answers {
		x := &a.answers[i]
		seen := fmt.Sprintf("all %s states, %s edges", thousands(x.Report.States), thousands(x.Report.Edges))
		if !x.Holds {
			seen = fmt.Sprintf("%d events; %s states until then", len(x.Story.Steps), thousands(x.Report.States))
		}
		property := x.Ask.Property
		if reqs := x.Requirements(); len(reqs) > 0 {
			property += " (" + strings.Join(reqs, ", ") + ")"
		}
		var bounds []string
		for _, m := range x.Model.Bounds() {
			switch {
			case m.Value > 0:
				bounds = append(bounds, fmt.Sprintf("%s %d", m.Name, m.Value))
			case m.Value < 0:
				bounds = append(bounds, m.Name+" any")
			}
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", i+1, x.Ask.Rule, property, holds(x.Holds), seen, strings.Join(bounds, ", "))
	}
	pictures = map[string]string{}
	for i := range a.answers {
		x := &a.answers[i]
		if x.Holds {
			continue
		}
		name := a.picture(i) + ".svg"
		pictures[name] = x.Story.SVG()
		fmt.Fprintf(&b, "\n### Counterexample to %d: %s\n\n```text\n%s```\n\n![sequence diagram](%s)\n", i+1, x.Ask.Rule, x.Story.Text(), name)
	}
	return b.String(), pictures
}

// indexRow is the line of a finding in the index of the pages.
func (a *answered) indexRow() string {
	var other []string
	for i := range a.answers[1:] {
		x := &a.answers[i+1]
		if text := x.Ask.Rule + ": " + holds(x.Holds); !slices.Contains(other, text) {
			other = append(other, text)
		}
	}
	return fmt.Sprintf("| [%s](%s.md) | %s | %s | %s |\n", a.f.Name, a.f.Name, a.f.Question, a.verdict(), strings.Join(other, "; "))
}

func indexTable(all []answered) string {
	rows := "| finding | question | the rule as upstream has it | other rules asked |\n| --- | --- | --- | --- |\n"
	for i := range all {
		rows += all[i].indexRow()
	}
	return rows
}

// replaceBlock puts block between the two lines that name a finding.
func replaceBlock(page, name, block string) (string, error) {
	begin := fmt.Sprintf(pageBegin, name) + "\n"
	head, rest, found := strings.Cut(page, begin)
	_, tail, ended := strings.Cut(rest, pageEnd)
	if !found || !ended {
		return "", fmt.Errorf("%w: the line %q, or %q after it, is missing", errPage, strings.TrimSpace(begin), pageEnd)
	}
	return head + begin + block + pageEnd + tail, nil
}

// writePages writes the generated parts of the pages of the given findings, and the
// index where all of them were asked.
func writePages(dir string, all []answered, index bool, stderr io.Writer) error {
	write := func(name, text string) error {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "written: %s\n", file)
		return nil
	}
	update := func(file, name, block string) error {
		page, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		text, err := replaceBlock(string(page), name, block)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return write(file, text)
	}
	for i := range all {
		block, pictures := all[i].pageFiles()
		if err := update(all[i].f.Name+".md", all[i].f.Name, block); err != nil {
			return err
		}
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for k := range pictures {
				if !yield(k) {
					return
				}
			}
		}) {
			if err := write(name, pictures[name]); err != nil {
				return err
			}
		}
	}
	if !index {
		return nil
	}
	return update(indexName, "--all", indexTable(all))
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
