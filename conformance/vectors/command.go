package vectors

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// checkCommand judges one call of a descriptor function: its arguments between
// tabs with escapes, and what upstream's function answered.
func checkCommand(tree map[string]any) string {
	if err := onlyKeys(tree, []string{"cmd", "out"}); err != nil {
		return err.Error()
	}
	text, ok := tree["cmd"].(string)
	if !ok {
		return "cmd is no string"
	}
	c := command{args: strings.Split(text, "\t"), out: tree["out"]}
	for i := range c.args {
		if c.args[i], ok = unescape(c.args[i]); !ok {
			return fmt.Sprintf("bad escape in argument %d", i)
		}
	}
	c.name, c.args = c.args[0], c.args[1:]
	got := c.answer()
	if c.problem != "" {
		return c.problem
	}
	have, err := treeOf(got)
	if err != nil {
		return err.Error()
	}
	return difference("out", tree["out"], have)
}

// command is one call; the first thing wrong with it stays in problem.
type command struct {
	name string
	args []string
	// out is the answer that is asked for.
	out     any
	problem string
}

func (c *command) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

// form takes the first argument, which says which generation is meant.
func (c *command) form() (old bool) {
	if len(c.args) == 0 || c.args[0] != "new" && c.args[0] != "old" {
		c.fail("unknown form of command %q", c.name)
		return false
	}
	old = c.args[0] == "old"
	c.args = c.args[1:]
	return old
}

// want checks that n arguments are left.
func (c *command) want(n int) bool {
	if c.problem == "" && len(c.args) != n {
		c.fail("command %s wants %d arguments, has %d", c.name, n, len(c.args))
	}
	return c.problem == ""
}

func (c *command) next() string {
	if len(c.args) == 0 {
		c.fail("command %s lacks arguments", c.name)
		return ""
	}
	s := c.args[0]
	c.args = c.args[1:]
	return s
}

func (c *command) number(bits int) uint64 {
	s := c.next()
	v, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		c.fail("argument %q is no number of %d bits", s, bits)
	}
	return v
}

func (c *command) mode() descriptor.Mode { return descriptor.Mode(c.number(8)) }

func (c *command) descriptor() descriptor.Descriptor {
	return descriptor.Descriptor{
		Min: uint16(c.number(16)), Max: uint16(c.number(16)), Caps: descriptor.Caps(c.number(64)), Mode: c.mode(),
		Token: c.number(64), Schema: 1,
	}
}

func (c *command) answer() any {
	switch c.name {
	case "parse":
		return c.parse()
	case "append":
		return c.append()
	case "make":
		return c.make()
	case "parseuint":
		return c.parseUint()
	case "token":
		if !c.want(1) {
			return nil
		}
		t := descriptor.Token(c.args[0])
		return object{"token": u64(t), "tokenHex": fmt.Sprintf("%016x", t)}
	case "validate", "validatemode", "validatelocal":
		return c.validate()
	}
	c.fail("unknown command %q", c.name)
	return nil
}

func (c *command) parse() any {
	read := descriptor.ParseV1
	if c.form() {
		read = descriptor.ParseOld
	}
	if !c.want(1) {
		return nil
	}
	d, status, class := read(c.args[0])
	o := object{"status": status.String(), "descriptor": nil, "reasonClass": class}
	if status == descriptor.Valid {
		o["descriptor"] = commandDescriptor(d)
	}
	return o
}

func commandDescriptor(d descriptor.Descriptor) any {
	return object{
		"minVersion": d.Min, "maxVersion": d.Max, "capabilities": u64(d.Caps), "mode": d.Mode,
		"sessionToken": u64(d.Token), "sessionTokenHex": fmt.Sprintf("%016x", d.Token),
	}
}

func (c *command) append() any {
	write := descriptor.AppendRaw
	if c.form() {
		write = descriptor.AppendOld
	}
	if !c.want(6) {
		return nil
	}
	base := c.next()
	name := write([]byte(base), c.descriptor())
	return object{"name": latin(string(name)), "nameHex": hex.EncodeToString(name)}
}

func (c *command) make() any {
	old := c.form()
	if !c.want(2) {
		return nil
	}
	mode := c.mode()
	d := descriptor.Default(mode, c.number(64))
	if old {
		d.Caps = descriptor.CapCancel // that generation could not reject before DMA
	}
	return commandDescriptor(d)
}

func (c *command) parseUint() any {
	if c.form() {
		c.fail("command parseuint has no old form")
	}
	if !c.want(2) {
		return nil
	}
	base := c.number(8)
	v, ok := descriptor.ParseNumber(c.next(), int(base))
	if !ok {
		// What upstream had read up to the bad character means nothing.
		out, _ := c.out.(map[string]any)
		value, _ := out["value"].(string)
		return object{"ok": false, "value": value}
	}
	return object{"ok": true, "value": u64(v)}
}

func (c *command) validate() any {
	old := c.form()
	var v negotiate.Verdict
	switch {
	case c.name == "validate" && !old:
		local := c.descriptor()
		v = negotiate.ValidatePeers(local, c.args)
	case c.name == "validatemode" && old:
		mode := c.mode()
		v = negotiate.ValidateOldMode(mode, c.args)
	case c.name == "validatemode":
		mode := c.mode()
		v = negotiate.ValidatePeersMode(mode, c.args)
	case c.name == "validatelocal" && !old:
		mode := c.mode()
		v = negotiate.ValidateLocal(mode, c.args)
	default:
		c.fail("unknown form of command %q", c.name)
	}
	o := object{
		"compatible": v.Compatible, "hasLegacyPeer": v.HasLegacy, "allPeersProtocolAware": v.AllAware, "reasonClass": v.Class,
	}
	if !old {
		// The form before knows neither of these.
		o["allPeersCanRejectBeforeDma"] = v.CanReject
		o["selectedVersion"] = optional(v.SelectedVersion != 0, v.SelectedVersion)
	}
	if v.Rank >= 0 {
		o["rank"] = v.Rank
	}
	if v.Parse != "" {
		o["parseClass"] = v.Parse
	}
	return o
}

// unescape undoes \t, \n, \r, \\ and \xHH.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			if len(s) < i+3 {
				return "", false
			}
			v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(v))
			i += 2
		default:
			return "", false
		}
	}
	return b.String(), true
}
