package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

// nixlCheck finds and loads the library. What the cache holds is checked against
// its hashes first: a changed file must not be run.
func (s *system) nixlCheck() Check {
	c := Check{Name: "nixl", Status: Missing}
	if entry, err := s.cached(nixl.Wheel()); entry != "" && err != nil {
		c.Status, c.Found, c.Fix = Limited, err.Error(), "Remove that folder and run `kvtransceiver doctor --fetch`."
		return c
	}
	lib, err := s.library()
	if err != nil {
		c.Found, c.Fix = err.Error(), "Run `kvtransceiver doctor --fetch`, or set "+nixl.LibraryVariable+" to libnixl_capi.so."
		var u *nixl.UnsupportedError
		if errors.As(err, &u) {
			c.Found, c.Fix = strings.Join(u.Missing, "; "), sentence(u.Fix)
		}
		return c
	}
	version := lib.Version
	if version == "" {
		version = "of an unknown version"
	}
	c.Status, c.Found = OK, fmt.Sprintf("NIXL %s, %s (%s), plugins in %s", version, lib.Path, lib.Source, lib.PluginDir)
	if len(lib.Missing) > 0 {
		c.Status, c.Fix = Limited, "Use NIXL 1.5.1 or newer."
		c.Found += ", lacks " + strings.Join(lib.Missing, ", ")
	}
	return c
}

// sentence makes one of a fix that begins in lower case and has no full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
