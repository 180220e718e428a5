package native

// Profile names a generation of native layouts. It is agreed outside the bytes
// (ABI 1 is Mid2026).
type Profile uint8

// The profiles that have upstream bytes to check against.
const (
	// Mid2026: CacheState with partial reuse, FP4 indexer and RNN; RequestInfo of
	// four fields; notifications with counted buffers and kinds.
	Mid2026 Profile = iota
	// Late2025: CacheState without those; ContextPhaseParams; no notifications.
	Late2025
)

// String returns "2026mid", "2025late" or "invalid".
func (p Profile) String() string {
	switch p {
	case Mid2026:
		return "2026mid"
	case Late2025:
		return "2025late"
	}
	return "invalid"
}

func (p Profile) check(what string) error {
	if p > Late2025 {
		return refuse(reasonProfile, reqProfile, what, "no such profile")
	}
	return nil
}
