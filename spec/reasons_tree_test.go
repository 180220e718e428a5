package spec_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// codesIn returns the string literals in a Go file that are declared as, or
// converted to, spec.Reason.
func codesIn(src []byte, add func(spec.Reason, token.Position)) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isReason := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			x, ok := e.X.(*ast.Ident)
			return ok && x.Name == "spec" && e.Sel.Name == "Reason"
		case *ast.Ident:
			return f.Name.Name == "spec" && e.Name == "Reason"
		}
		return false
	}
	literal := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && s != "" {
				add(spec.Reason(s), set.Position(l.Pos()))
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if n.Type != nil && isReason(n.Type) {
				for _, v := range n.Values {
					literal(v)
				}
			}
		case *ast.CallExpr:
			if isReason(n.Fun) && len(n.Args) == 1 {
				literal(n.Args[0])
			}
		}
		return true
	})
	return nil
}

func unlisted(t *testing.T, fsys fs.FS) (found int, bad []string) {
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && name != "." && strings.HasPrefix(path.Base(name), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return nil
		}
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil // gone since the folder was read
		}
		if err := codesIn(b, func(r spec.Reason, at token.Position) {
			found++
			if _, ok := spec.Known(r); !ok {
				bad = append(bad, name+":"+strconv.Itoa(at.Line)+" "+string(r))
			}
		}); err != nil {
			t.Logf("%s does not parse: %v", name, err)
		}
		return nil
	})
	require.NoError(t, err)
	return found, bad
}

// TestReasonsInTheTreeAreListed: no code outside the one list.
func TestReasonsInTheTreeAreListed(t *testing.T) {
	spec.Covers(t, "KS-RSN-2")
	found, bad := unlisted(t, os.DirFS(root(t)))
	require.Greater(t, found, 50)
	for _, b := range bad {
		t.Errorf("%s is not in the table of reason codes", b)
	}
}

func TestUnlistedReasonIsFound(t *testing.T) {
	src := "package a\n\nconst A spec.Reason = \"not-in-the-list\"\n\nvar b = spec.Reason(\"no-proof\")\n"
	found, bad := unlisted(t, fstest.MapFS{"a/a.go": {Data: []byte(src)}})
	require.Equal(t, 2, found)
	require.Equal(t, []string{"a/a.go:3 not-in-the-list"}, bad)
}
