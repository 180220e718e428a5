//go:build !linux

package doctor

// probeSHM has nothing to try: memfd, pidfd and abstract sockets are Linux's.
func probeSHM() []Check {
	var out []Check
	for _, name := range []string{"memfd", "seals", "pidfd", "abstract-socket"} {
		out = append(out, Check{name, Missing, "only Linux has it", "Run services on Linux."})
	}
	return out
}
