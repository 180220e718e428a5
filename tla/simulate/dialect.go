package simulate

import (
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Dialect is the layer that both services speak, with its extensions.
type Dialect uint8

// The dialects. The first three run the machines of v1, the others those of v2.
const (
	Legacy Dialect = iota
	Baseline
	Enabled
	Plain      // v2 as upstream leaves it
	Recovery   // bit 48
	Quiescence // bit 49
	Both       // bits 48 and 49
	NumDialects
)

// String returns the name that reports and flags use.
func (d Dialect) String() string {
	names := [NumDialects]string{"legacy", "baseline", "enabled", "plain", "48", "49", "48+49"}
	if d < NumDialects {
		return names[d]
	}
	return "invalid"
}

// ParseDialect is the inverse of String.
func ParseDialect(s string) (Dialect, error) {
	var all []string
	for d := range NumDialects {
		if d.String() == s {
			return d, nil
		}
		all = append(all, d.String())
	}
	return 0, fmt.Errorf("simulate: no dialect %q; there are %s", s, strings.Join(all, ", "))
}

// V2 says whether the machines of v2 run.
func (d Dialect) V2() bool { return d >= Plain }

// Tags says that completion is told by the native sync, which carries a 12-bit tag.
func (d Dialect) Tags() bool { return d != Recovery && d != Both }

// Caps are the capability bits that the dialect selects beyond plain v2.
func (d Dialect) Caps() descriptor.Caps {
	switch d {
	case Recovery:
		return descriptor.CapRecovery
	case Quiescence:
		return descriptor.CapQuiescence
	case Both:
		return descriptor.CapRecovery | descriptor.CapQuiescence
	}
	return 0
}
