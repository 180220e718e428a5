package spec

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed *.md tables/*.json untested.json retired.txt
var files embed.FS

// Level is how binding a requirement is, in the words of RFC 2119.
type Level string

// The levels. Must covers MUST NOT, Should covers SHOULD NOT.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Requirement is one numbered statement of the chapters.
type Requirement struct {
	// ID is KS-<TOPIC>-<n>. It is never used for anything else (KS-VER-1).
	ID string
	// Level is how binding it is.
	Level Level
	// Title is a few words without the full stop.
	Title string
	// Text is the statement without id, level and title, on one line.
	Text string
	// Chapter is the file name without ".md", for example "11-slots".
	Chapter string
	// Anchor is the fragment of the section heading above it, as code hosts make it,
	// for example "ownership".
	Anchor string
}

// Topic returns the middle part of the id, for example "SLOT".
func (r Requirement) Topic() string { return Topic(r.ID) }

// Link returns the place of the requirement relative to the repository root, for
// example "spec/11-slots.md#ownership".
func (r Requirement) Link() string { return "spec/" + r.Chapter + ".md#" + r.Anchor }

// Topic returns the middle part of an id, or "" when id is not one.
func Topic(id string) string {
	topic, _, ok := splitID(id)
	if !ok {
		return ""
	}
	return topic
}

type text struct {
	list []Requirement
	byID map[string]Requirement
	err  error
}

var loadText = sync.OnceValue(func() text {
	list, err := ParseChapters(files)
	t := text{list: list, byID: make(map[string]Requirement, len(list)), err: err}
	for _, r := range list {
		t.byID[r.ID] = r
	}
	return t
})

// Requirements returns every requirement of the embedded chapters, sorted by
// topic and number. The slice is the caller's own. The chapters are checked by
// this package's tests; if they could not be read the result is empty.
func Requirements() []Requirement { return slices.Clone(loadText().list) }

// Lookup returns the requirement with this id.
func Lookup(id string) (Requirement, bool) {
	r, ok := loadText().byID[id]
	return r, ok
}

var headPattern = regexp.MustCompile(`^\*\*(KS-[A-Z0-9]+-[0-9]+)\*\* \((MUST|SHOULD|MAY)\) \*\*([^*]+)\*\* (.+)$`)

// ParseChapters reads the requirements of every .md file in the root of fsys,
// sorted by topic and number. It fails on a paragraph that starts like a
// requirement and is not one, on an id that is used twice, and on a level that
// the text does not bear out: the word of the level stands in the text and no
// stronger one does.
func ParseChapters(fsys fs.FS) ([]Requirement, error) {
	names, err := fs.Glob(fsys, "*.md")
	if err != nil {
		return nil, err
	}
	var list []Requirement
	seen := make(map[string]string)
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		chapter := strings.TrimSuffix(path.Base(name), ".md")
		anchors := make(map[string]int)
		anchor := ""
		for _, p := range paragraphs(string(b)) {
			if h, ok := heading(p.text); ok {
				anchor = uniqueAnchor(anchors, h)
				continue
			}
			if !strings.HasPrefix(p.text, "**KS-") {
				continue
			}
			r, err := parseRequirement(p.text)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, p.line, err)
			}
			if at, dup := seen[r.ID]; dup {
				return nil, fmt.Errorf("%s:%d: %s is already defined at %s", name, p.line, r.ID, at)
			}
			seen[r.ID] = fmt.Sprintf("%s:%d", name, p.line)
			r.Chapter, r.Anchor = chapter, anchor
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Requirement) int { return CompareIDs(a.ID, b.ID) })
	return list, nil
}

func parseRequirement(p string) (Requirement, error) {
	m := headPattern.FindStringSubmatch(p)
	if m == nil {
		return Requirement{}, fmt.Errorf("a requirement is **KS-TOPIC-n** (LEVEL) **Title.** text: %.60q", p)
	}
	r := Requirement{ID: m[1], Level: Level(m[2]), Title: strings.TrimSuffix(m[3], "."), Text: m[4]}
	for _, l := range []Level{Must, Should, May} {
		if !hasWord(r.Text, string(l)) {
			if l == r.Level {
				return Requirement{}, fmt.Errorf("%s is marked %s and its text does not say so", r.ID, l)
			}
			continue
		}
		if l == r.Level {
			break
		}
		return Requirement{}, fmt.Errorf("%s is marked %s and its text says %s", r.ID, r.Level, l)
	}
	return r, nil
}

func hasWord(text, word string) bool {
	for _, f := range strings.FieldsFunc(text, func(c rune) bool { return c < 'A' || c > 'Z' }) {
		if f == word {
			return true
		}
	}
	return false
}

type paragraph struct {
	text string
	line int
}

// paragraphs joins the lines of each paragraph with spaces. Headings stand alone.
// Fenced and indented code is left out.
func paragraphs(doc string) []paragraph {
	var out []paragraph
	var cur []string
	start, fenced := 0, false
	flush := func() {
		if len(cur) > 0 {
			out = append(out, paragraph{strings.Join(cur, " "), start})
			cur = nil
		}
	}
	for i, line := range strings.Split(doc, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			flush()
			fenced = !fenced
			continue
		}
		if fenced || (len(cur) == 0 && strings.HasPrefix(line, "    ")) {
			continue
		}
		_, isHeading := heading(trimmed)
		if trimmed == "" || isHeading {
			flush()
			if isHeading {
				out = append(out, paragraph{trimmed, i + 1})
			}
			continue
		}
		if len(cur) == 0 {
			start = i + 1
		}
		cur = append(cur, trimmed)
	}
	flush()
	return out
}

func heading(p string) (string, bool) {
	h := strings.TrimLeft(p, "#")
	if n := len(p) - len(h); n == 0 || n > 6 || !strings.HasPrefix(h, " ") {
		return "", false
	}
	return strings.TrimSpace(h), true
}

func uniqueAnchor(seen map[string]int, h string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(h) {
		switch {
		case c == ' ' || c == '-':
			b.WriteByte('-')
		case c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		}
	}
	a := b.String()
	n := seen[a]
	seen[a]++
	if n > 0 {
		a += "-" + strconv.Itoa(n)
	}
	return a
}

// CompareIDs orders ids by topic and then by number; what is not an id comes
// first, in its own order.
func CompareIDs(a, b string) int {
	ta, na, _ := splitID(a)
	tb, nb, _ := splitID(b)
	if c := strings.Compare(ta, tb); c != 0 {
		return c
	}
	if na != nb {
		return na - nb
	}
	return strings.Compare(a, b)
}

func splitID(id string) (topic string, n int, ok bool) {
	rest, ok := strings.CutPrefix(id, "KS-")
	if !ok {
		return "", 0, false
	}
	topic, num, ok := strings.Cut(rest, "-")
	if !ok || topic == "" {
		return "", 0, false
	}
	n, err := strconv.Atoi(num)
	if err != nil || n < 1 {
		return "", 0, false
	}
	return topic, n, true
}
