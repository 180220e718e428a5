package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
)

type chapter struct {
	name     string
	old, new []byte
}

var marker = regexp.MustCompile(`(?s)(<!-- (table|diagram): ([a-z0-9-]+) -->\n).*?(<!-- /(table|diagram) -->)`)

// render fills the markers of every chapter in fsys. It fails on a marker without
// a table, on a table that its own chapter does not show, and on a machine without
// a diagram.
func render(fsys fs.FS) ([]chapter, error) {
	tables, err := spec.ParseTables(fsys)
	if err != nil {
		return nil, err
	}
	reqs, err := spec.ParseChapters(fsys)
	if err != nil {
		return nil, err
	}
	links := make(map[string]string, len(reqs))
	for _, r := range reqs {
		links[r.ID] = r.Chapter + ".md#" + r.Anchor
	}
	names, err := fs.Glob(fsys, "*.md")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no chapter here")
	}
	shown := map[string]bool{}
	var out []chapter
	for _, name := range names {
		old, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		c := chapter{name: name, old: old}
		var failed error
		c.new = marker.ReplaceAllFunc(old, func(m []byte) []byte {
			p := marker.FindSubmatch(m)
			kind, table := string(p[2]), string(p[3])
			t, ok := tables[table]
			switch {
			case !ok:
				failed = fmt.Errorf("%s shows the table %q, which does not exist", name, table)
			case string(p[5]) != kind:
				failed = fmt.Errorf("%s: marker %s of %s is closed as %s", name, kind, table, p[5])
			case t.Chapter+".md" != name:
				failed = fmt.Errorf("%s shows %s, which belongs to %s", name, table, t.Chapter)
			}
			if failed != nil {
				return m
			}
			shown[kind+" "+table] = true
			var b bytes.Buffer
			b.Write(p[1])
			if kind == "diagram" {
				diagram(&b, t)
			} else {
				writeTable(&b, t, links)
			}
			b.Write(p[4])
			return b.Bytes()
		})
		if failed != nil {
			return nil, failed
		}
		out = append(out, c)
	}
	for name, t := range tables {
		if !shown["table "+name] {
			return nil, fmt.Errorf("no chapter shows the table %s", name)
		}
		if t.Kind == spec.Transitions && !shown["diagram "+name] {
			return nil, fmt.Errorf("no chapter shows the diagram of %s", name)
		}
	}
	return out, nil
}

func writeTable(b *bytes.Buffer, t spec.Table, links map[string]string) {
	fmt.Fprintf(b, "**%s**\n\n", t.Title)
	showID := t.Kind != spec.List
	head := slices.Clone(t.Columns)
	if showID {
		head = append([]string{"row"}, head...)
	}
	head = append(head, "requirements")
	line(b, head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(b, rule)
	for _, r := range t.Rows {
		var cells []string
		if showID {
			cells = append(cells, "`"+r.ID+"`")
		}
		for _, c := range r.Cells {
			if c == spec.None {
				c = "–"
			}
			cells = append(cells, strings.ReplaceAll(c, "|", `\|`))
		}
		var ids []string
		for _, id := range r.Req {
			ids = append(ids, "["+id+"]("+links[id]+")")
		}
		line(b, append(cells, strings.Join(ids, ", ")))
	}
	b.WriteByte('\n')
}

func line(b *bytes.Buffer, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// diagram draws the transitions that change the state; what several rows do
// between the same two states is one arrow with one line for each event.
func diagram(b *bytes.Buffer, t spec.Table) {
	type arrow struct{ from, to string }
	var order []arrow
	events := map[arrow][]string{}
	for _, r := range t.Rows {
		to := t.Cell(r, "to")
		if to == spec.Unchanged {
			continue
		}
		for _, from := range t.List(r, "from") {
			if from == to {
				continue
			}
			a := arrow{from, to}
			if _, ok := events[a]; !ok {
				order = append(order, a)
			}
			e := strings.ReplaceAll(t.Cell(r, "event"), ", ", " / ")
			if !slices.Contains(events[a], e) {
				events[a] = append(events[a], e)
			}
		}
	}
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	fmt.Fprintf(b, "    [*] --> %s\n", t.Initial)
	for _, a := range order {
		fmt.Fprintf(b, "    %s --> %s: %s\n", a.from, a.to, strings.Join(events[a], "<br/>"))
	}
	for _, s := range t.Final {
		fmt.Fprintf(b, "    %s --> [*]\n", s)
	}
	b.WriteString("```\n\n")
}
