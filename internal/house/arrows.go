package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mayImport says which rooms each room may import beside itself. A folder that
// is not listed holds no Go code.
var mayImport = map[string][]string{
	"spec":         {},
	"wire":         {"spec"},
	"statemachine": {"spec", "wire"},
	"conformance":  {"spec", "wire", "statemachine", "internal"},
	"nixlimpl":     {"spec", "wire", "statemachine", "internal"},
	"tla":          {"spec", "wire", "statemachine", "internal"},
	"internal":     {},
}

// lean are the rooms whose code imports nothing outside the standard library and
// the rooms before them; their tests may use testLibraries.
var lean = []string{"spec", "wire", "statemachine"}

var testLibraries = []string{
	"github.com/stretchr/testify",
	"github.com/google/go-cmp",
	"pgregory.net/rapid",
	"google.golang.org/protobuf",
}

// Arrows checks that imports point one way:
// spec <- wire <- statemachine <- {conformance, nixlimpl, tla}, that these three
// do not import each other, and that internal imports no room. Tests are held to
// the rule of their own room; so are test helpers, the internal packages whose
// name ends in "test", which only tests may import.
func Arrows(t *Tree) ([]Finding, error) {
	var found []Finding
	for _, file := range t.goFiles() {
		from := room(file)
		allowed, ok := mayImport[from]
		if !ok {
			found = append(found, Finding{file, 0, "arrows", "no room for Go code here"})
			continue
		}
		src, err := t.read(file)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ImportsOnly)
		if err != nil {
			found = append(found, Finding{file, 0, "arrows", err.Error()})
			continue
		}
		for _, imp := range f.Imports {
			target, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				continue // the parser has accepted it; the compiler will not
			}
			if why := t.forbidden(file, from, allowed, target); why != "" {
				line := fset.Position(imp.Pos()).Line
				found = append(found, Finding{file, line, "arrows", fmt.Sprintf("imports %q: %s", target, why)})
			}
		}
	}
	return found, nil
}

// forbidden returns why file must not import target, or "".
func (t *Tree) forbidden(file, from string, allowed []string, target string) string {
	if target == t.Module {
		return "the top level is no package"
	}
	if rest, ok := strings.CutPrefix(target, t.Module+"/"); ok {
		to := room(rest + "/")
		if isHelper(rest) && !isTest(file) && !isHelper(path.Dir(file)) {
			return "only tests may import a test helper"
		}
		if to == from || slices.Contains(allowed, to) {
			return ""
		}
		if len(allowed) == 0 {
			return from + " imports no room"
		}
		return from + " may import only " + strings.Join(allowed, ", ")
	}
	host, _, _ := strings.Cut(target, "/")
	if !strings.Contains(host, ".") || !slices.Contains(lean, from) {
		return ""
	}
	if !isTest(file) && !isHelper(path.Dir(file)) {
		return from + " uses the standard library only"
	}
	for _, lib := range testLibraries {
		if target == lib || strings.HasPrefix(target, lib+"/") {
			return ""
		}
	}
	return "not one of the test libraries of " + path.Join(t.Module, from)
}

// isHelper reports whether a folder holds a test helper.
func isHelper(dir string) bool {
	return strings.HasSuffix(dir, "test") && strings.Contains(dir, "/internal/")
}
