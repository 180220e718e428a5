package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/world"
)

// Story is a run told to people: who did what in which order, and what changed.
type Story struct {
	// Title says what the run shows.
	Title string
	// Actors are the columns, left to right.
	Actors []string
	Steps  []Step
}

// Step is one event of a Story.
type Step struct {
	// From and To are Actors; equal for something that concerns one only.
	From, To string
	// Label is the event with its arguments.
	Label string
	// Notes are the changes that it made, one a line.
	Notes []string
}

// Tell makes a Story of a violation.
func Tell[S comparable](m *world.Model[S], v Violation) (Story, error) {
	title := m.Name + " (" + m.Size + ") violates " + v.Property
	if len(v.Reqs) > 0 {
		title += " (" + strings.Join(v.Reqs, ", ") + ")"
	}
	return TellPath(m, title, v.Path)
}

// TellPath makes a Story of any run of m.
func TellPath[S comparable](m *world.Model[S], title string, p Path) (Story, error) {
	st := Story{Title: title}
	states, err := Replay(m, p)
	if err != nil {
		return st, err
	}
	var before canon.Value
	if m.Canon != nil {
		if before, err = m.Canon(&states[0]); err != nil {
			return st, err
		}
	}
	used := map[string]bool{}
	for i, ev := range p.Events {
		info := &m.Actions[ev.Action]
		step := Step{Label: m.Describe(ev)}
		step.From, step.To = info.Ends(ev)
		used[step.From], used[step.To] = true, true
		if p.Loop == i {
			step.Notes = append(step.Notes, "from here on the same again and again")
		}
		if m.Canon != nil {
			after, err := m.Canon(&states[i+1])
			if err != nil {
				return st, err
			}
			for _, c := range canon.Diff(before, after) {
				step.Notes = append(step.Notes, c.String())
			}
			before = after
		}
		st.Steps = append(st.Steps, step)
	}
	for _, a := range m.Actors {
		if used[a] {
			st.Actors = append(st.Actors, a)
		}
	}
	for _, s := range st.Steps {
		for _, a := range []string{s.From, s.To} {
			if !slices.Contains(st.Actors, a) {
				st.Actors = append(st.Actors, a)
			}
		}
	}
	return st, nil
}

// Text returns the story as numbered lines.
func (st Story) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", st.Title)
	if len(st.Steps) == 0 {
		b.WriteString("   already in the initial state\n")
	}
	for i, s := range st.Steps {
		who := s.From
		if s.To != s.From {
			who += " -> " + s.To
		}
		fmt.Fprintf(&b, "%3d. %-18s %s\n", i+1, who, s.Label)
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "       %s\n", n)
		}
	}
	return b.String()
}

// Mermaid returns the story as a Mermaid sequence diagram.
func (st Story) Mermaid() string {
	var b strings.Builder
	// Mermaid ends a statement at a semicolon and a comment begins with two percent
	// signs; number signs begin an entity.
	clean := strings.NewReplacer(";", ",", "#", "no. ", "%%", "% %", "\n", " ")
	id := func(actor string) string { return fmt.Sprintf("a%d", slices.Index(st.Actors, actor)) }
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nsequenceDiagram\n", clean.Replace(st.Title))
	for _, a := range st.Actors {
		fmt.Fprintf(&b, "    participant %s as %s\n", id(a), clean.Replace(a))
	}
	for i, s := range st.Steps {
		fmt.Fprintf(&b, "    %s->>%s: %d. %s\n", id(s.From), id(s.To), i+1, clean.Replace(s.Label))
		if len(s.Notes) > 0 {
			lines := make([]string, len(s.Notes))
			for j, n := range s.Notes {
				lines[j] = clean.Replace(n)
			}
			fmt.Fprintf(&b, "    Note over %s: %s\n", id(s.To), strings.Join(lines, "<br/>"))
		}
	}
	return b.String()
}

// Sizes of the SVG, in pixels.
const (
	colWidth  = 220
	topHeight = 80
	rowHeight = 34
	noteLine  = 14
	margin    = 20
	maxNote   = 110 // characters of a note that are shown
	// The widths of a character, generously: of the title, of labels, of notes.
	titleChar = 9
	labelChar = 7
	noteChar  = 6
)

// svgText is one line of text in the picture.
type svgText struct {
	x, y, char int
	style      string
	text       string
}

// SVG returns the story as a picture that needs no other file. It is as wide as its
// longest text, and text that crosses a line hides it.
func (st Story) SVG() string {
	x := func(actor string) int { return margin + colWidth/2 + colWidth*slices.Index(st.Actors, actor) }
	texts := []svgText{{margin, 20, titleChar, `font-size="14" font-weight="bold"`, st.Title}}
	var lines strings.Builder
	y := topHeight
	for i, s := range st.Steps {
		from, to := x(s.From), x(s.To)
		label := svgText{min(from, to) + 6, y + 3, labelChar, "", fmt.Sprintf("%d. %s", i+1, s.Label)}
		if from == to {
			fmt.Fprintf(&lines, `<path d="M%d %dh26v12h-26" fill="none" stroke="black" marker-end="url(#head)"/>`+"\n", from, y)
			label.x, label.y = from+32, y+10
		} else {
			fmt.Fprintf(&lines, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="black" marker-end="url(#head)"/>`+"\n", from, y+9, to, y+9)
		}
		texts = append(texts, label)
		for j, n := range s.Notes {
			if runes := []rune(n); len(runes) > maxNote {
				n = string(runes[:maxNote]) + " ..."
			}
			texts = append(texts, svgText{min(from, to) + 12, y + 24 + noteLine*j, noteChar, `font-size="10" fill="#555"`, n})
		}
		y += rowHeight + noteLine*len(s.Notes)
	}
	height, width := y+margin, 2*margin+colWidth*max(len(st.Actors), 1)
	for _, t := range texts {
		width = max(width, t.x+t.char*len([]rune(t.text))+margin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	b.WriteString(`<defs><marker id="head" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for _, a := range st.Actors {
		fmt.Fprintf(&b, `<text x="%d" y="55" text-anchor="middle" font-weight="bold">%s</text>`+"\n", x(a), escape(a))
		fmt.Fprintf(&b, `<line x1="%d" y1="62" x2="%d" y2="%d" stroke="#999" stroke-dasharray="4 3"/>`+"\n", x(a), x(a), height-margin/2)
	}
	b.WriteString(lines.String())
	b.WriteString(`<g stroke="white" stroke-width="3" stroke-linejoin="round" paint-order="stroke">` + "\n")
	for _, t := range texts {
		style := t.style
		if style != "" {
			style = " " + style
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d"%s>%s</text>`+"\n", t.x, t.y, style, escape(t.text))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
