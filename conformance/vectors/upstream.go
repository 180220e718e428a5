package vectors

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/native"
)

// upstreamProfiles are the names that vectors of upstream's serialisers use, up to
// the first space; the rest names the file and commit that wrote them.
var upstreamProfiles = map[string]string{"2026-mid": Mid2026, "2025-late": Late2025}

// checkUpstream judges bytes that upstream's serialiser wrote, with its own
// description of the value.
func checkUpstream(tree map[string]any) string {
	if err := onlyKeys(tree, []string{"type", "name", "profile", "size", "fields", "hex"}); err != nil {
		return err.Error()
	}
	m := members{tree: tree}
	l := Line{ID: m.need("name"), Type: m.need("type"), Hex: m.need("hex"), Result: OK, Fields: tree["fields"]}
	full, size := m.need("profile"), m.number("size")
	if m.err != nil {
		return m.err.Error()
	}
	if size == nil || *size*2 != len(l.Hex) {
		return "size is not the number of bytes"
	}
	name, _, _ := strings.Cut(full, " ")
	profile, ok := upstreamProfiles[name]
	if !ok {
		return fmt.Sprintf("unknown profile %q", full)
	}
	if _, known := nativeCodecs[l.Type]; !known {
		return fmt.Sprintf("unknown type %q", l.Type)
	}
	if _, ok := l.Fields.(map[string]any); !ok {
		return "fields is no object"
	}
	// The layouts of a type without a row for the older profile are the same in both.
	l.Profile = profile
	return l.Check()
}

var decodeKeys = []string{
	"type", "note", "inputHex", "outcome", "what", "variantIndex", "streamFail", "unreadBytes", "reencodedHex",
	"reencodeError", "caution", "selfIdx", "isMpi", "isSocket", "isAgent",
}

// checkDecode judges what upstream's decoder made of bytes that nobody may have
// written. Where it threw, read past the end, left bytes unread or took a bool
// above 1, ours refuses; elsewhere ours agrees and writes the same bytes.
func checkDecode(tree map[string]any) string {
	if err := onlyKeys(tree, decodeKeys); err != nil {
		return err.Error()
	}
	m := members{tree: tree}
	l := Line{Type: m.need("type"), Profile: Mid2026, Hex: m.need("inputHex"), Result: OK}
	outcomeName := m.need("outcome")
	if m.err != nil {
		return m.err.Error()
	}
	if _, known := nativeCodecs[l.Type]; !known {
		return fmt.Sprintf("unknown type %q", l.Type)
	}
	got, err := l.run()
	var h *harnessError
	if errors.As(err, &h) {
		return h.text
	}
	switch outcomeName {
	case "throw":
		return mustRefuse(err, "upstream throws")
	case "decoded":
	default:
		return fmt.Sprintf("unknown outcome %q", outcomeName)
	}
	unread := m.number("unreadBytes")
	failed, isBool := tree["streamFail"].(bool)
	switch {
	case m.err != nil:
		return m.err.Error()
	case !isBool || unread == nil:
		return "a decoded outcome needs streamFail and unreadBytes"
	case failed:
		return mustRefuse(err, "upstream reads past the end")
	case *unread > 0:
		return mustRefuse(err, "upstream leaves bytes unread")
	case errors.Is(err, &wire.Error{Reason: wire.ReasonBadBool}):
		return "" // upstream takes any byte for a bool
	case err != nil:
		return "want no error, got " + err.Error()
	}
	if d := differentHex("written again", m.need("reencodedHex"), got.again); d != "" {
		return d
	}
	return difference("", decodedMembers(tree), decodedTree(l.Type, got))
}

func mustRefuse(err error, why string) string {
	if err == nil {
		return why + ", and ours does not refuse"
	}
	return ""
}

// decodedMembers are the members of a line that describe the decoded value.
func decodedMembers(tree map[string]any) map[string]any {
	out := object{}
	for _, k := range []string{"variantIndex", "selfIdx", "isMpi", "isSocket", "isAgent"} {
		if v, ok := tree[k]; ok {
			out[k] = v
		}
	}
	return out
}

// decodedTree renders the same members of what ours decoded.
func decodedTree(typ string, got outcome) any {
	fields, _ := got.fields.(map[string]any)
	var o object
	switch typ {
	case "NotificationInfo":
		o = object{"variantIndex": fields["variantIndex"]}
	case "CommState":
		kind, _ := fields["variantIndex"].(native.CommKind)
		flag := func(k native.CommKind) int {
			if kind == k {
				return 1
			}
			return 0
		}
		o = object{
			"selfIdx": fields["selfIdx"], "isMpi": flag(native.CommMPI), "isSocket": flag(native.CommSocket),
			"isAgent": flag(native.CommAgent),
		}
	}
	tree, err := treeOf(o)
	if err != nil {
		return nil
	}
	return tree
}
