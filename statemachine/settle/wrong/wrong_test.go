package wrong_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

func ExampleAll() {
	for _, r := range wrong.All()[:2] {
		fmt.Println(r.Invariant, r.Name)
	}
	// Output:
	// I1 IdentifyByRequestID
	// I2 IgnoreEpochs
}

// TestOneRulePerInvariant: each row of the table of invariants has a rule that
// breaks it, each rule is one bit of its own.
func TestOneRulePerInvariant(t *testing.T) {
	tab, err := spec.LoadTable("invariants")
	require.NoError(t, err)
	all := wrong.All()
	require.Len(t, all, len(tab.Rows))
	var seen wrong.Rules
	for i, r := range tab.Rows {
		require.Equal(t, r.ID, all[i].Invariant)
		require.Zero(t, seen&all[i].Rule)
		require.True(t, all[i].Rule.Has(all[i].Rule))
		require.False(t, wrong.Rules(0).Has(all[i].Rule))
		seen |= all[i].Rule
	}
	require.False(t, seen.Has(0))
	require.Equal(t, wrong.NoPause, all[len(all)-1].Rule)
	require.Equal(t, wrong.IdentifyByRequestID, all[0].Rule)
}

// mayImport are the folders whose code may know of broken rules: the machines that
// have them, and the models that look at them.
var mayImport = []string{"statemachine/", "tla/"}

// TestNoProductionCodeSetsThem: outside of models and tests nobody imports this
// package or calls WithWrongRules.
func TestNoProductionCodeSetsThem(t *testing.T) {
	root := "../../.."
	_, err := os.Stat(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil // gone since the folder was read
		}
		files++
		allowed := false
		for _, p := range mayImport {
			allowed = allowed || strings.HasPrefix(rel, p)
		}
		if f, err := parser.ParseFile(token.NewFileSet(), rel, src, parser.ImportsOnly); err == nil && !allowed {
			for _, imp := range f.Imports {
				if strings.Contains(imp.Path.Value, "statemachine/settle/wrong") {
					t.Errorf("%s imports the broken rules", rel)
				}
			}
		}
		if strings.Contains(string(src), ".WithWrongRules(") && !strings.HasPrefix(rel, "statemachine/world/") && !strings.HasPrefix(rel, "tla/") {
			t.Errorf("%s sets broken rules", rel)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100, "the whole tree was looked at")
}
