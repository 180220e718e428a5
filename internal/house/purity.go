package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// all means that every name of a package may be used.
var all = []string{"*"}

// pureImports are the packages of the standard library that pure code may use,
// with the names that it may use of each. What is not listed is refused: add it
// when it reads no clock, does no I/O, holds no lock and is not random.
var pureImports = map[string][]string{
	"bytes":           all,
	"cmp":             all,
	"container/heap":  all,
	"crypto/sha256":   all,
	"encoding/binary": all,
	"encoding/hex":    all,
	"errors":          all,
	"fmt":             {"Append", "Appendf", "Appendln", "Errorf", "Sprint", "Sprintf", "Sprintln", "State", "Stringer"},
	"hash/crc32":      all,
	"iter":            {"Seq", "Seq2"},
	"maps":            {"Clone", "Copy", "DeleteFunc", "Equal", "EqualFunc"},
	"math":            all,
	"math/bits":       all,
	"slices":          all,
	"sort":            all,
	"strconv":         all,
	"strings":         all,
	"time":            {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"unicode":         all,
	"unicode/utf8":    all,
}

// orderFree is the comment that permits a range over a map on the next line. A
// reason must follow.
const orderFree = "// order-free:"

// Purity checks the code (not tests and test helpers) under dir: only [pureImports] and the
// tree's own packages, no goroutine, no channel, no init, no print, no
// package-level variable that changes, and no walk over a map without a comment
// that says why the order cannot be seen. It sees what is written in place; a
// table changed through an alias made elsewhere escapes it.
func Purity(t *Tree, dir string) ([]Finding, error) {
	pkgs, found, err := load(t, dir, "purity")
	if err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		for _, f := range pkg.files {
			c := purityChecker{tree: t, typed: pkg, reasons: map[int]bool{}}
			c.file(f)
			found = append(found, c.found...)
		}
	}
	return found, nil
}

type purityChecker struct {
	tree *Tree
	typed
	reasons map[int]bool // lines that hold an order-free comment with a reason
	found   []Finding
}

func (c *purityChecker) add(n ast.Node, text string) {
	at := c.fset.Position(n.Pos())
	c.found = append(c.found, Finding{at.Filename, at.Line, "purity", text})
}

func (c *purityChecker) line(n ast.Node) int { return c.fset.Position(n.Pos()).Line }

func (c *purityChecker) file(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if why, ok := strings.CutPrefix(comment.Text, orderFree); ok && strings.TrimSpace(why) != "" {
				c.reasons[c.line(group)+len(group.List)-1] = true
			}
		}
	}
	for _, imp := range f.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		own := strings.HasPrefix(path, c.tree.Module+"/")
		if _, ok := pureImports[path]; !ok && !own {
			c.add(imp, "imports "+strconv.Quote(path)+", which is not in the list of pure packages")
		}
		if imp.Name != nil && imp.Name.Name == "." {
			c.add(imp, "imports with a dot")
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				c.add(d, "has an init function")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				c.vars(d)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool { c.node(n); return true })
}

// vars refuses package-level variables that can only be there to change: those
// that hold a pointer or an interface, errors aside.
func (c *purityChecker) vars(d *ast.GenDecl) {
	errorType := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	for _, s := range d.Specs {
		for _, name := range s.(*ast.ValueSpec).Names {
			obj := c.info.Defs[name]
			if name.Name == "_" || obj == nil || types.Implements(obj.Type(), errorType) {
				continue
			}
			switch obj.Type().Underlying().(type) {
			case *types.Pointer, *types.Interface:
				c.add(name, "package variable "+name.Name+" holds a reference that is not an error")
			}
		}
	}
}

func (c *purityChecker) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.add(n, "starts a goroutine")
	case *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
		c.add(n, "uses a channel")
	case *ast.UnaryExpr:
		switch n.Op {
		case token.ARROW:
			c.add(n, "uses a channel")
		case token.AND:
			c.changes(n.X, "takes the address of")
		}
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			c.changes(lhs, "assigns to")
		}
	case *ast.IncDecStmt:
		c.changes(n.X, "assigns to")
	case *ast.SliceExpr:
		if t := c.info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Array); ok {
				c.changes(n.X, "takes a slice of the array in")
			}
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.changes(n.Key, "assigns to")
			c.changes(n.Value, "assigns to")
		}
		if overMap(c.info.TypeOf(n.X)) && !c.reasons[c.line(n)-1] {
			c.add(n, "walks a map; write the reason on the line above as "+strconv.Quote(orderFree+" ..."))
		}
	case *ast.CallExpr:
		c.call(n)
	case *ast.SelectorExpr:
		c.selector(n)
	}
}

// call looks at builtins, which have no package.
func (c *purityChecker) call(n *ast.CallExpr) {
	id, ok := ast.Unparen(n.Fun).(*ast.Ident)
	if !ok {
		return
	}
	if _, ok := c.info.Uses[id].(*types.Builtin); !ok {
		return
	}
	switch id.Name {
	case "print", "println":
		c.add(n, "prints")
	case "clear", "copy", "delete":
		c.changes(n.Args[0], id.Name+"s")
	}
}

// selector looks at names of other packages, and at methods that change their
// receiver.
func (c *purityChecker) selector(n *ast.SelectorExpr) {
	if id, ok := n.X.(*ast.Ident); ok {
		if pkg, ok := c.info.Uses[id].(*types.PkgName); ok {
			path := pkg.Imported().Path()
			names, listed := pureImports[path]
			if listed && !slices.Contains(names, n.Sel.Name) && names[0] != "*" {
				c.add(n, "uses "+path+"."+n.Sel.Name+", which is not pure")
			}
			return
		}
	}
	sel := c.info.Selections[n]
	if sel == nil || sel.Kind() != types.MethodVal {
		return
	}
	_, wantsPointer := sel.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	_, isPointer := c.info.TypeOf(n.X).Underlying().(*types.Pointer)
	if wantsPointer && !isPointer {
		c.changes(n.X, "calls a pointer method of")
	}
}

// changes reports expr when it names a package-level variable or a part of one.
func (c *purityChecker) changes(expr ast.Expr, verb string) {
	for expr != nil {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.SliceExpr:
			expr = e.X
		case *ast.SelectorExpr:
			if c.isGlobal(e.Sel) {
				c.add(e, verb+" the package variable "+e.Sel.Name)
				return
			}
			expr = e.X
		case *ast.Ident:
			if c.isGlobal(e) {
				c.add(e, verb+" the package variable "+e.Name)
			}
			return
		default:
			return
		}
	}
}

func (c *purityChecker) isGlobal(id *ast.Ident) bool {
	v, ok := c.info.Uses[id].(*types.Var)
	return ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// overMap reports whether a range over a value of type t can be one over a map.
func overMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := t.(*types.TypeParam); ok {
		return termIsMap(p.Constraint().Underlying())
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// termIsMap looks through the union terms of a constraint.
func termIsMap(t types.Type) bool {
	switch t := t.(type) {
	case *types.Interface:
		for e := range t.EmbeddedTypes() {
			if termIsMap(e) {
				return true
			}
		}
	case *types.Union:
		for term := range t.Terms() {
			if termIsMap(term.Type()) {
				return true
			}
		}
	case *types.Named:
		return termIsMap(t.Underlying())
	case *types.Map:
		return true
	}
	return false
}
