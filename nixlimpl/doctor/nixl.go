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
		c.Status, c.Found, c.Fix = Limited, err.Error(), "Run `kvtransceiver doctor --fetch`, which fetches it again."
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

// ucxCheck starts an agent and says what its UCX has.
func (s *system) ucxCheck(library bool) Check {
	c := Check{Name: "nixl-ucx", Status: Missing}
	if !library {
		c.Found, c.Fix = "no NIXL library to look into", "See nixl."
		return c
	}
	e, err := s.ucx()
	if err != nil {
		c.Found, c.Fix = err.Error(), "Check UCX_TLS and UCX_NET_DEVICES."
		var u *nixl.UnsupportedError
		if errors.As(err, &u) {
			c.Found, c.Fix = strings.Join(u.Missing, "; "), sentence(u.Fix)
		}
		return c
	}
	c.Status = OK
	c.Found = fmt.Sprintf("plugins %s, UCX %s, transports %s", strings.Join(e.Plugins, " "), e.UCX, strings.Join(e.Transports, " "))
	if len(e.Unusable) > 0 {
		c.Found += ", without " + strings.Join(e.Unusable, "; ")
	}
	c.Found += "; NIXL's own listener is off, because it binds every interface and asks nobody who he is (--nixl-listen)"
	return c
}

// sentence makes one of a fix that begins in lower case and has no full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
