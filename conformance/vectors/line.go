package vectors

import (
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.jsonl
var files embed.FS

// Files returns the vector files of this package: names that end in ".jsonl" in
// the root, read only.
func Files() fs.FS { return files }

// Result says what a reader of the bytes, or a writer of the fields, does.
type Result string

// The results. There is no third one.
const (
	OK    Result = "ok"
	Error Result = "error"
)

// Line is one vector. README.md of this folder says what the members of Fields
// are for each type.
type Line struct {
	// ID is a slug that is never used for another vector.
	ID string `json:"id"`
	// Type names the format, Profile the variant of it that both sides know
	// beforehand.
	Type    string `json:"type"`
	Profile string `json:"profile"`
	// Note says in a few words what the vector shows.
	Note string `json:"note"`
	// Req are the requirements that it shows.
	Req []string `json:"req"`
	// Fields is the value: a tree of map[string]any, []any, string, json.Number, bool
	// and nil. It is nil for bytes that are refused.
	Fields any `json:"fields,omitempty"`
	// Hex is the bytes in lower-case hexadecimal.
	Hex string `json:"hex"`
	// Reencode is what a writer makes of Fields where that is not Hex again.
	Reencode string `json:"reencode,omitempty"`
	// Result says whether the bytes, or the fields, are good.
	Result Result `json:"result"`
	// Validate is "ok" or the reason code of the range checks that follow decoding;
	// empty where the vector says nothing about them.
	Validate string `json:"validate,omitempty"`
	// Error is the reason code (for descriptors the class) of a refusal.
	Error string `json:"error,omitempty"`
	// Offset is the byte at which the refused item starts; nil where there is none.
	Offset *int `json:"offset,omitempty"`
}

var lineKeys = []string{
	"id", "type", "profile", "note", "req", "fields", "hex", "reencode", "result", "validate", "error", "offset",
}

// ReadLine reads one vector. It refuses unknown and repeated members and whatever
// makes no sense together, so that a slip in a file cannot hide a check.
func ReadLine(b []byte) (Line, error) {
	tree, err := parseObject(b)
	if err != nil {
		return Line{}, err
	}
	return lineOf(tree)
}

func lineOf(tree map[string]any) (Line, error) {
	if err := onlyKeys(tree, lineKeys); err != nil {
		return Line{}, err
	}
	var l Line
	m := members{tree: tree}
	l.ID, l.Type, l.Profile = m.need("id"), m.need("type"), m.need("profile")
	l.Note, l.Hex, l.Reencode = m.need("note"), m.need("hex"), m.may("reencode")
	l.Result, l.Validate, l.Error = Result(m.need("result")), m.may("validate"), m.may("error")
	l.Req, l.Offset, l.Fields = m.texts("req"), m.number("offset"), tree["fields"]
	if m.err != nil {
		return l, m.err
	}
	return l, l.check()
}

func (l *Line) check() error {
	_, hasFields := l.Fields.(map[string]any)
	switch {
	case !isSlug(l.ID):
		return fmt.Errorf("id %q is no slug", l.ID)
	case len(l.Req) == 0:
		return fmt.Errorf("no requirement in req")
	case l.Fields != nil && !hasFields:
		return fmt.Errorf("fields is no object")
	case l.Result == OK && (!hasFields || l.Error != "" || l.Offset != nil):
		return fmt.Errorf("result ok needs fields, and neither error nor offset")
	case l.Result == Error && (l.Error == "" || l.Reencode != "" || l.Validate != ""):
		return fmt.Errorf("result error needs error, and neither reencode nor validate")
	case l.Result != OK && l.Result != Error:
		return fmt.Errorf("unknown result %q", l.Result)
	}
	for _, h := range []string{l.Hex, l.Reencode} {
		if _, err := unhex(h); err != nil {
			return err
		}
	}
	return nil
}

func isSlug(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

// unhex reads lower-case hexadecimal.
func unhex(s string) ([]byte, error) {
	if strings.ContainsAny(s, "ABCDEF") {
		return nil, fmt.Errorf("hexadecimal with capitals")
	}
	return hex.DecodeString(s)
}

func onlyKeys(tree map[string]any, known []string) error {
	var unknown []string
	for k := range tree {
		if !slices.Contains(known, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("unknown member %s", strings.Join(unknown, ", "))
}

// Complete sets Fields, and Reencode where a writer makes other bytes of them,
// from what the codec reads in Hex. It is for those who write vectors: the bytes
// then still have to come from somewhere else.
func (l *Line) Complete() error {
	got, err := l.run()
	if err != nil {
		return err
	}
	if l.Fields, err = treeOf(got.fields); err != nil {
		return err
	}
	if again := hex.EncodeToString(got.again); again != l.Hex {
		l.Reencode = again
	}
	return nil
}
