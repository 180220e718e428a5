package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Docs checks that every exported function, type and method of a package that
// others can import has a doc comment that starts with its name, and that
// exported constants and variables have a comment, their own or their group's.
// Commands, internal packages, tests and generated code are exempt.
func Docs(t *Tree) ([]Finding, error) {
	var found []Finding
	for _, file := range t.goFiles() {
		if isTest(file) || strings.HasPrefix(file, "internal/") || strings.Contains(file, "/internal/") {
			continue
		}
		src, err := t.read(file)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			found = append(found, Finding{file, 0, "docs", err.Error()})
			continue
		}
		if f.Name.Name == "main" || ast.IsGenerated(f) {
			continue
		}
		c := docChecker{file: file, fset: fset}
		for _, d := range f.Decls {
			c.decl(d)
		}
		found = append(found, c.found...)
	}
	return found, nil
}

type docChecker struct {
	file  string
	fset  *token.FileSet
	found []Finding
}

func (c *docChecker) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !exportedReceiver(d.Recv) {
			return
		}
		c.named(d.Name, d.Doc)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil && !d.Lparen.IsValid() {
					doc = d.Doc
				}
				if s.Name.IsExported() {
					c.named(s.Name, doc)
				}
			case *ast.ValueSpec:
				if d.Doc != nil || s.Doc != nil || s.Comment != nil {
					continue
				}
				for _, name := range s.Names {
					if name.IsExported() {
						c.add(name, "has no comment and its group has none")
					}
				}
			}
		}
	}
}

// named wants doc to start with the name as a whole word.
func (c *docChecker) named(name *ast.Ident, doc *ast.CommentGroup) {
	if doc == nil {
		c.add(name, "has no doc comment")
		return
	}
	rest, ok := strings.CutPrefix(doc.Text(), name.Name)
	next, _ := utf8.DecodeRuneInString(rest)
	if !ok || rest == "" || unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_' {
		c.add(name, "has a doc comment that does not start with its name")
	}
}

func (c *docChecker) add(name *ast.Ident, text string) {
	c.found = append(c.found, Finding{c.file, c.fset.Position(name.Pos()).Line, "docs", name.Name + " " + text})
}

func exportedReceiver(recv *ast.FieldList) bool {
	expr := recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}
