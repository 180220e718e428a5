package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// typed is one package, parsed and type checked without its tests.
type typed struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// listed is what the go command says about a package.
type listed struct {
	ImportPath     string
	Dir            string
	Export         string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	SFiles         []string
	Error          *struct{ Err string }
}

// load type checks the packages under dir of the tree, test helpers aside. What they import comes
// from the build cache as export data, which is quick. Findings of the given
// rule report code that the go command would not build here, or not as Go.
func load(t *Tree, dir, rule string) (pkgs []typed, found []Finding, err error) {
	list, err := goList(t.Root, "./"+dir+"/...")
	if err != nil {
		return nil, nil, err
	}
	export := map[string]string{}
	for _, p := range list {
		export[p.ImportPath] = p.Export
	}
	prefix := t.Module + "/" + dir
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(export[path])
	})
	for _, p := range list {
		if p.ImportPath != prefix && !strings.HasPrefix(p.ImportPath, prefix+"/") {
			continue
		}
		rel, err := filepath.Rel(t.Root, p.Dir)
		if err != nil {
			return nil, nil, err
		}
		rel = filepath.ToSlash(rel)
		if isHelper(rel) {
			continue
		}
		if p.Error != nil {
			found = append(found, Finding{rel, 0, rule, strings.TrimSpace(p.Error.Err)})
			continue
		}
		for _, group := range [][]string{p.CgoFiles, p.SFiles, p.IgnoredGoFiles} {
			for _, name := range group {
				if !isTest(name) {
					found = append(found, Finding{rel + "/" + name, 0, rule, "only Go that builds everywhere belongs here"})
				}
			}
		}
		pkg := typed{fset: fset, info: &types.Info{
			Types:      map[ast.Expr]types.TypeAndValue{},
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, nil, err
			}
			f, err := parser.ParseFile(fset, rel+"/"+name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, nil, err
			}
			pkg.files = append(pkg.files, f)
		}
		conf := types.Config{Importer: imports, Error: func(err error) {
			var te types.Error
			if errors.As(err, &te) {
				at := te.Fset.Position(te.Pos)
				found = append(found, Finding{at.Filename, at.Line, rule, te.Msg})
			}
		}}
		if _, err := conf.Check(p.ImportPath, fset, pkg.files, pkg.info); err == nil {
			pkgs = append(pkgs, pkg)
		}
	}
	return pkgs, found, nil
}

func goList(root, pattern string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,IgnoredGoFiles,SFiles,Error", pattern)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("house: go list: %w: %s", err, stderr.String())
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("house: go list: %w", err)
		}
		list = append(list, p)
	}
}
