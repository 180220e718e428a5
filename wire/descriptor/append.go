package descriptor

import (
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/wire"
)

// AppendRaw appends the suffix of d to dst and returns the longer slice. It
// checks nothing, so that vectors can hold broken descriptors. Schema 2 writes
// the ABI field; every other Schema writes schema 1.
func AppendRaw(dst []byte, d Descriptor) []byte {
	if d.Schema == 2 {
		dst = append(dst, markerV2...)
	} else {
		dst = append(dst, markerV1...)
	}
	dst = appendFive(dst, d)
	if d.Schema == 2 {
		dst = append(dst, '_')
		dst = strconv.AppendUint(dst, d.ABI, 16)
	}
	return append(dst, terminator...)
}

// AppendOld appends the suffix of the form that preceded schema 1, unchecked.
// It exists so that earlier peers can be played in tests.
func AppendOld(dst []byte, d Descriptor) []byte {
	return appendFive(append(dst, markerOld...), d)
}

func appendFive(dst []byte, d Descriptor) []byte {
	dst = strconv.AppendUint(dst, uint64(d.Min), 10)
	dst = append(dst, '_')
	dst = strconv.AppendUint(dst, uint64(d.Max), 10)
	dst = append(dst, '_')
	dst = strconv.AppendUint(dst, uint64(d.Caps), 16)
	dst = append(dst, '_')
	dst = strconv.AppendUint(dst, uint64(d.Mode), 10)
	dst = append(dst, '_')
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[d.Token>>shift&0xF])
	}
	return dst
}

// Check returns an error unless d can be read back: the version range, mode,
// token, schema and ABI are what Parse calls Valid.
func (d Descriptor) Check() error {
	bad := func(field, req, detail string) error {
		return &wire.Error{Reason: wire.ReasonBadValue, Req: req, What: "descriptor." + field, Offset: -1, Detail: detail}
	}
	switch {
	case d.Schema != 1 && d.Schema != 2:
		return bad("schema", reqChecked, strconv.Itoa(int(d.Schema)))
	case d.Min == 0 || d.Min > d.Max:
		return bad("versions", reqRange, strconv.Itoa(int(d.Min))+" to "+strconv.Itoa(int(d.Max)))
	case d.Mode > Enabled:
		return bad("mode", reqMode, strconv.Itoa(int(d.Mode)))
	case d.Token == 0:
		return bad("token", reqToken, "zero")
	case d.Schema == 2 && d.ABI == 0:
		return bad("abi", reqABI, "zero")
	case d.Schema == 1 && d.ABI != 0:
		return bad("abi", reqChecked, "schema 1 cannot carry one")
	}
	return nil
}

// Append appends the suffix of d to dst, or returns dst unchanged and an error
// when Check refuses d.
func Append(dst []byte, d Descriptor) ([]byte, error) {
	if err := d.Check(); err != nil {
		return dst, err
	}
	return AppendRaw(dst, d), nil
}

// Name returns the agent name of base with d: the whole string is the identity
// that is registered, sent and compared. It refuses an empty base, and one that
// contains a marker, the old one included, or the terminator.
func Name(base string, d Descriptor) (string, error) {
	refuse := func(detail string) (string, error) {
		return "", &wire.Error{Reason: wire.ReasonBadValue, Req: reqMarks, What: "descriptor.base", Offset: -1, Detail: detail}
	}
	if base == "" {
		return refuse("empty")
	}
	for _, mark := range [...]string{markerV1, markerV2, terminator, markerOld} {
		if strings.Contains(base, mark) {
			return refuse("contains " + mark)
		}
	}
	b, err := Append(append(make([]byte, 0, len(base)+128), base...), d)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// Base returns an agent name without its descriptor. A name whose descriptor is
// missing or malformed is returned whole.
func Base(name string) string {
	d, s, _ := Parse(name)
	if s != Valid {
		return name
	}
	if d.Schema == 2 {
		return name[:markerAt(name, markerV2)]
	}
	return name[:markerAt(name, markerV1)]
}
