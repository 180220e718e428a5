package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// thisTree is the tree that these tests lie in.
func thisTree(t *testing.T) *Tree {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	tree, err := Open(root)
	require.NoError(t, err)
	require.NotEmpty(t, tree.goFiles())
	return tree
}

// TestThisTree runs every rule on the tree itself.
func TestThisTree(t *testing.T) {
	tree := thisTree(t)
	rules := []struct {
		name  string
		check func(*Tree) ([]Finding, error)
	}{
		{"arrows", Arrows},
		{"purity", func(t *Tree) ([]Finding, error) { return Purity(t, "statemachine") }},
		{"length", Length},
		{"top-level", TopLevel},
		{"hosts", Hosts},
		{"words", Words},
		{"docs", Docs},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			found, err := rule.check(tree)
			require.NoError(t, err)
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// write makes a small tree in a temporary folder. A file "go.mod" is added.
func write(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := t.TempDir()
	put(t, root, "go.mod", "module example.test/m\n\ngo 1.26\n")
	for name, text := range files {
		put(t, root, name, text)
	}
	tree, err := Open(root)
	require.NoError(t, err)
	return tree
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// run returns what a checker finds, as strings.
func run(t *testing.T, tree *Tree, check func(*Tree) ([]Finding, error)) []string {
	t.Helper()
	found, err := check(tree)
	require.NoError(t, err)
	var lines []string
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return lines
}

func TestOpenNeedsAModule(t *testing.T) {
	_, err := Open(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)

	root := t.TempDir()
	put(t, root, "go.mod", "go 1.26\n")
	_, err = Open(root)
	require.ErrorContains(t, err, "no module line")
}

func TestOpenLeavesOutWhatGitIgnores(t *testing.T) {
	root := t.TempDir()
	put(t, root, "go.mod", "module example.test/m\n")
	put(t, root, "bin/tool.go", "package tool\n")
	put(t, root, ".gitignore", "/bin/\n")
	tree, err := Open(root)
	require.NoError(t, err)
	require.Equal(t, []string{".gitignore", "bin/tool.go", "go.mod"}, tree.Files, "without git everything counts")

	out, err := exec.Command("git", "init", "-q", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	tree, err = Open(root)
	require.NoError(t, err)
	require.Equal(t, []string{".gitignore", "go.mod"}, tree.Files)
}

func TestSkippedFolders(t *testing.T) {
	tree := write(t, map[string]string{
		"wire/a.go":          "package wire\n",
		"wire/testdata/b.go": "package b\n",
		"wire/_old/c.go":     "package c\n",
		".hidden/d.go":       "package d\n",
	})
	require.Equal(t, []string{"wire/a.go"}, tree.goFiles())
}
