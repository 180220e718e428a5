package simulate

import "slices"

// Shrink takes faults and transfers out of a schedule while fails still says yes of
// what is left, and returns the least that it finds in at most tries runs. sch itself
// is not changed.
func Shrink(sch *Schedule, tries int, fails func(*Schedule) bool) *Schedule {
	best := sch
	try := func(next *Schedule) bool {
		if tries--; tries < 0 || !fails(next) {
			return false
		}
		best = next
		return true
	}
	for before := -1; before != len(best.Faults)+len(best.Transfers) && tries > 0; {
		before = len(best.Faults) + len(best.Transfers)
		thin(func() int { return len(best.Transfers) }, func(i, n int) bool { return try(best.withoutTransfers(i, n)) })
		thin(func() int { return len(best.Faults) }, func(i, n int) bool { return try(best.withoutFaults(i, n)) })
	}
	return best
}

// thin removes parts of a list, large ones first.
func thin(size func() int, remove func(i, n int) bool) {
	for n := size(); n > 0; n /= 2 {
		for i := 0; i < size(); {
			if !remove(i, min(n, size()-i)) {
				i += n
			}
		}
	}
}

func (s *Schedule) withoutFaults(i, n int) *Schedule {
	c := *s
	c.Faults = slices.Delete(slices.Clone(s.Faults), i, i+n)
	return &c
}

// withoutTransfers also drops the faults of what it removes.
func (s *Schedule) withoutTransfers(i, n int) *Schedule {
	c := *s
	c.Transfers = slices.Delete(slices.Clone(s.Transfers), i, i+n)
	c.Faults = nil
	for _, f := range s.Faults {
		switch x := int(f.Transfer); {
		case f.Kind.Timed(), x < i:
		case x < i+n:
			continue
		default:
			f.Transfer -= uint16(n)
		}
		c.Faults = append(c.Faults, f)
	}
	return &c
}
