package negotiate

import "github.com/kvsettle/kvsettle/wire/descriptor"

// ValidateOldMode judges as the implementation before schema 1 does: names are
// read with the old marker, each peer's range is compared with 1 to 1 by itself,
// and pre-DMA rejection is unknown, so CanReject and SelectedVersion stay zero.
// Baseline looks at the mode only, as schema 1 does; no vector shows that case.
// It serves to predict what such a peer will do; kvsettle never speaks this form.
func ValidateOldMode(mode descriptor.Mode, names []string) Verdict {
	if len(names) == 0 {
		return Verdict{Class: ClassEmpty, Rank: -1}
	}
	enabled := mode == descriptor.Enabled
	v := Verdict{Class: ClassOK, Rank: -1}
	for rank, name := range names {
		d, status, parse := descriptor.ParseOld(name)
		switch status {
		case descriptor.Malformed:
			return Verdict{Class: ClassMalformed, Rank: rank, Parse: parse, HasLegacy: v.HasLegacy}
		case descriptor.Missing:
			v.HasLegacy = true
			continue
		}
		if v.Class != ClassOK {
			continue
		}
		switch {
		case d.Mode != mode:
			v.Class, v.Rank = ClassMode, rank
		case enabled && d.Min > 1:
			v.Class, v.Rank = ClassVersion, rank
		case enabled && !d.Caps.Has(descriptor.CapCancel):
			v.Class, v.Rank = ClassPeerNoCancel, rank
		}
	}
	if enabled && v.HasLegacy {
		return Verdict{Class: ClassLegacy, Rank: -1, HasLegacy: true}
	}
	v.AllAware = !v.HasLegacy
	if v.Class == ClassOK {
		v.Compatible = true
		if v.HasLegacy {
			v.Class = ClassOKLegacy
		}
	}
	return v
}
