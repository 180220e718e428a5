package descriptor

// Mode is what a service does about a mismatch: nothing (Baseline), or the
// cancellation protocol (Enabled). Other values are malformed on the wire.
type Mode uint8

// The two modes (KS-DESC-7).
const (
	Baseline Mode = 0
	Enabled  Mode = 1
)

// String returns "baseline", "enabled" or "invalid".
func (m Mode) String() string {
	switch m {
	case Baseline:
		return "baseline"
	case Enabled:
		return "enabled"
	}
	return "invalid"
}

// Caps is the capability bit set. Unknown bits are kept and ignored.
type Caps uint64

// The capability bits. Bits 48 to 63 are experimental.
const (
	// CapCancel: in-flight cancellation.
	CapCancel Caps = 1 << 0
	// CapReject: rejection before any DMA.
	CapReject Caps = 1 << 1
	// CapPeerCancel: the control carrier of schema 2.
	CapPeerCancel Caps = 1 << 2
	// CapRecovery: completion recovery, ours, experimental.
	CapRecovery Caps = 1 << 48
	// CapQuiescence: quiescence, ours, experimental.
	CapQuiescence Caps = 1 << 49
)

// Has reports whether every bit of c is set.
func (s Caps) Has(c Caps) bool { return s&c == c }

// Status says what a name carries.
type Status uint8

// A name carries no descriptor, a broken one, or a good one.
const (
	Missing Status = iota
	Malformed
	Valid
)

// String returns "missing", "malformed", "valid" or "invalid".
func (s Status) String() string {
	switch s {
	case Missing:
		return "missing"
	case Malformed:
		return "malformed"
	case Valid:
		return "valid"
	}
	return "invalid"
}

// Class names the check that made a name Missing or Malformed; empty for Valid.
// The names are those of the shared vectors.
type Class string

// The classes, in the order in which the checks run.
const (
	ClassMissing Class = "P_MISSING"
	ClassFields  Class = "P_FIELDS"
	ClassNumber  Class = "P_NUMBER"
	ClassRange   Class = "P_RANGE"
	ClassMode    Class = "P_MODE"
	ClassToken   Class = "P_TOKEN"
	// ClassABI exists in schema 2 only.
	ClassABI Class = "P_ABI"
)

// Descriptor is what a service says about itself in its agent name.
type Descriptor struct {
	// Min and Max bound the control versions that it speaks, 1 <= Min <= Max.
	Min, Max uint16
	// Caps are its capabilities.
	Caps Caps
	// Mode is its mode.
	Mode Mode
	// Token is the session token, the epoch of the agent; never 0.
	Token uint64
	// ABI is the id of the native layouts; nonzero in schema 2, 0 in schema 1.
	ABI uint64
	// Schema is 1 or 2.
	Schema uint8
}

// Default returns the schema 1 descriptor that a present-day service
// advertises: versions 1 to 1, cancellation and rejection.
func Default(mode Mode, token uint64) Descriptor {
	return Descriptor{Min: 1, Max: 1, Caps: CapCancel | CapReject, Mode: mode, Token: token, Schema: 1}
}

// DefaultV2 returns the schema 2 descriptor of a service of this specification:
// versions 1 to 1 (KS-DESC-22), ABI 1, bits 0 to 2 and the extensions that it
// implements, in both modes alike (KS-DESC-27).
func DefaultV2(mode Mode, token uint64, extensions Caps) Descriptor {
	return Descriptor{
		Min: 1, Max: 1, Caps: CapCancel | CapReject | CapPeerCancel | extensions&(CapRecovery|CapQuiescence),
		Mode: mode, Token: token, ABI: 1, Schema: 2,
	}
}

// The rule that makes a session token from a base name: FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// Token returns the session token that belongs to a base name. It is never 0.
func Token(base string) uint64 {
	h := uint64(fnvOffset)
	for i := 0; i < len(base); i++ {
		h = (h ^ uint64(base[i])) * fnvPrime
	}
	if h == 0 {
		return fnvOffset
	}
	return h
}
