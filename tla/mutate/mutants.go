// Package mutate breaks the models on purpose, one place at a time, and shows that
// each break is seen: by a named property, or else by the comparison of graphs.
package mutate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mutant is a module with one place changed.
type Mutant struct {
	// Name is the module, the line and the kind of change.
	Name string `json:"name"`
	// Module is the file name; Definition the operator in which the change is.
	Module     string `json:"module"`
	Definition string `json:"definition"`
	Line       int    `json:"line"`
	// Kind is guard, assignment, update, case or condition.
	Kind string `json:"kind"`
	// From and To are the text before and after.
	From string `json:"from"`
	To   string `json:"to"`
	// Text is the whole module after the change.
	Text []byte `json:"-"`
}

var (
	reDefinition = regexp.MustCompile(`^(?:RECURSIVE .*|(\w+)(?:\([^)]*\))?\s*==.*)$`)
	reConjunct   = regexp.MustCompile(`^(\s*(?:IN )?)/\\ (.+)$`)
	reAssigned   = regexp.MustCompile(`^(\w+)' = `)
	reArm        = regexp.MustCompile(`^(.*?(?:CASE|\[\]) )(.+?)(\s*->.*)$`)
	reIf         = regexp.MustCompile(`\bIF (.+?) THEN\b`)
	reIfLine     = regexp.MustCompile(`^(.*\bIF )(.+)$`)
	reExcept     = regexp.MustCompile(`!((?:\.\w+|\[[^\]]*\])+) = `)
	reCall       = regexp.MustCompile(`\b(\w+)\(`)
)

// source is a module taken apart by lines.
type source struct {
	name  string
	lines []string
	defs  []string // by line, the operator that it belongs to
}

func read(name string, text []byte) source {
	s := source{name: name, lines: strings.Split(string(text), "\n")}
	def := ""
	for _, line := range s.lines {
		if m := reDefinition.FindStringSubmatch(line); m != nil {
			def = m[1]
		}
		s.defs = append(s.defs, def)
	}
	return s
}

// Mutants returns every mutant of a module written with one conjunct, one update
// and one case arm a line. actions are operators that assign variables: to leave
// one out would not weaken the model but break it. Nothing from the definition of
// Init on is changed: there stand what starts, what is fair and what must hold.
func Mutants(name string, text []byte, actions []string) []Mutant {
	s := read(name, text)
	var out []Mutant
	add := func(line int, kind, from, to string, lines int) {
		changed := slices.Clone(s.lines[:line])
		changed = append(changed, to)
		changed = append(changed, s.lines[line+lines:]...)
		out = append(out, Mutant{Name: fmt.Sprintf("%s:%d:%s:%d", strings.TrimSuffix(name, ".tla"), line+1, kind, len(out)+1), Module: name,
			Definition: s.defs[line], Line: line + 1, Kind: kind, From: strings.TrimSpace(from), To: strings.TrimSpace(to),
			Text: []byte(strings.Join(changed, "\n"))})
	}
	comment := false
	for i, line := range s.lines {
		if strings.HasPrefix(line, "Init ==") {
			break
		}
		if comment || strings.HasPrefix(strings.TrimSpace(line), "(*") {
			comment = !strings.Contains(line, "*)")
			continue
		}
		if s.defs[i] == "" || strings.Contains(line, "LOCAL") {
			continue
		}
		conjunct(s, i, line, actions, add)
		updates(i, line, add)
		arms(i, line, add)
		conditions(i, line, add)
	}
	return out
}

type adder func(line int, kind, from, to string, lines int)

// conjunct takes a guard away or keeps a variable as it was.
func conjunct(s source, i int, line string, actions []string, add adder) {
	m := reConjunct.FindStringSubmatch(line)
	if m == nil {
		return
	}
	column := len(m[1])
	span := 1
	for i+span < len(s.lines) && strings.TrimSpace(s.lines[i+span]) != "" && indent(s.lines[i+span]) > column {
		span++
	}
	block := strings.Join(s.lines[i:i+span], "\n")
	if a := reAssigned.FindStringSubmatch(m[2]); a != nil {
		add(i, "assignment", block, m[1]+"/\\ UNCHANGED "+a[1], span)
		return
	}
	if strings.Contains(block, "'") || strings.Contains(block, "UNCHANGED") || strings.Contains(block, "Uses(") || strings.Contains(block, "|->") {
		return
	}
	for _, c := range reCall.FindAllStringSubmatch(block, -1) {
		if slices.Contains(actions, c[1]) {
			return
		}
	}
	if strings.Contains(s.lines[i], " => ") && span > 1 {
		return
	}
	add(i, "guard", block, m[1]+"/\\ TRUE", span)
}

// updates keeps one field of a record as it was.
func updates(i int, line string, add adder) {
	for _, at := range reExcept.FindAllStringIndex(line, -1) {
		expr := line[at[1]:]
		end, ok := endOf(expr)
		if !ok || strings.TrimSpace(expr[:end]) == "@" {
			continue
		}
		add(i, "update", line, line[:at[1]]+"@"+expr[end:], 1)
	}
}

// arms never takes a case, or takes it with one conjunct of its condition less.
func arms(i int, line string, add adder) {
	m := reArm.FindStringSubmatch(line)
	if m == nil || m[2] == "OTHER" || strings.Contains(m[2], "CASE ") {
		return
	}
	add(i, "case", line, m[1]+"FALSE"+m[3], 1)
	for _, less := range without(m[2]) {
		add(i, "case", line, m[1]+less+m[3], 1)
	}
}

// conditions takes one branch always.
func conditions(i int, line string, add adder) {
	for _, at := range reIf.FindAllStringSubmatchIndex(line, -1) {
		for _, v := range []string{"TRUE", "FALSE"} {
			add(i, "condition", line, line[:at[2]]+v+line[at[3]:], 1)
		}
	}
	if reIf.MatchString(line) {
		return
	}
	// The condition stands alone on its line, THEN on the next.
	if m := reIfLine.FindStringSubmatch(line); m != nil && balanced(m[2]) && !strings.HasPrefix(m[2], "\\/") && !strings.Contains(m[2], "IF ") {
		for _, v := range []string{"TRUE", "FALSE"} {
			add(i, "condition", line, m[1]+v, 1)
		}
	}
}

// without returns the conjunction with each of its conjuncts left out.
func without(cond string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(cond); i++ {
		switch cond[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\\':
			if depth == 0 && strings.HasPrefix(cond[i:], `\/`) {
				return nil
			}
		case '/':
			if depth == 0 && strings.HasPrefix(cond[i:], `/\ `) {
				parts = append(parts, strings.TrimSpace(cond[start:i]))
				start = i + 3
			}
		}
	}
	parts = append(parts, strings.TrimSpace(cond[start:]))
	if len(parts) < 2 || strings.Contains(cond, `\E`) || strings.Contains(cond, `\A`) {
		return nil
	}
	var out []string
	for i := range parts {
		out = append(out, strings.Join(slices.Delete(slices.Clone(parts), i, i+1), ` /\ `))
	}
	return out
}

// endOf returns where the expression at the front of s ends: at a comma or a closing
// bracket that is not its own.
func endOf(s string) (int, bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return i, true
			}
			depth--
		case '<':
			if strings.HasPrefix(s[i:], "<<") {
				depth++
				i++
			}
		case '>':
			if strings.HasPrefix(s[i:], ">>") {
				depth--
				i++
			}
		case ',':
			if depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}

func balanced(s string) bool {
	return strings.Count(s, "(") == strings.Count(s, ")") && strings.Count(s, "[") == strings.Count(s, "]")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Actions returns the operators of the modules that assign variables, by themselves
// or through others.
func Actions(modules map[string][]byte) []string {
	body := map[string]string{}
	for name, text := range modules {
		s := read(name, text)
		for i, line := range s.lines {
			if s.defs[i] != "" && !strings.HasPrefix(line, "(*") {
				body[s.defs[i]] += line + "\n"
			}
		}
	}
	assigns := map[string]bool{}
	for again := true; again; {
		again = false
		for name, text := range body {
			if assigns[name] {
				continue
			}
			hit := strings.Contains(text, "' =") || strings.Contains(text, "UNCHANGED")
			for _, c := range reCall.FindAllStringSubmatch(text, -1) {
				hit = hit || assigns[c[1]]
			}
			if hit {
				assigns[name], again = true, true
			}
		}
	}
	var out []string
	for name := range assigns {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
