package doctor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// demoPeak is about what both processes of the built-in demo use, in bytes.
	demoPeak = 1 << 30
	// comfort is the memory that the demo is promised to run in.
	comfort = 2 << 30
)

// Memory returns the total and the available memory of this machine in bytes,
// with the limits of its control group. ok is false where the system does not say.
func Memory() (total, available uint64, ok bool) { return here("").memory() }

func (s *system) memory() (total, available uint64, ok bool) {
	for line := range strings.Lines(s.read("proc/meminfo")) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 54) // kB: times 1024 fits
		if err != nil {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			total = n * 1024
		case "MemAvailable:":
			available, ok = n*1024, true
		}
	}
	limit, limited := s.number("sys/fs/cgroup/memory.max")
	if used, known := s.number("sys/fs/cgroup/memory.current"); limited && known {
		total = min(total, limit)
		available = min(available, limit-min(limit, used))
	}
	return total, available, ok
}

func (s *system) number(path string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s.read(path)), 10, 64)
	return n, err == nil
}

func (s *system) memoryCheck() Check {
	total, available, ok := s.memory()
	if !ok {
		return Check{"memory", Limited, "the system does not say", "Make sure that 2 GiB are free."}
	}
	c := Check{Name: "memory", Status: OK, Found: gib(available) + " available of " + gib(total)}
	const fix = "Free memory, or give demo fewer --slots and smaller --kv-bytes."
	switch {
	case available < demoPeak:
		c.Status, c.Fix = Missing, fix
	case available < comfort:
		c.Status, c.Fix = Limited, fix
	}
	return c
}

// gib rounds down, so that a lack of memory never reads as enough.
func gib(n uint64) string {
	return fmt.Sprintf("%.1f GiB", math.Floor(float64(n)/(1<<30)*10)/10)
}
