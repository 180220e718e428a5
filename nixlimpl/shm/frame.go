package shm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
)

type frameKind uint8

const (
	kindHello frameKind = iota + 1
	kindRegion
	kindReady
	kindRefuse
	kindNotice
)

const (
	headerLen    = 8
	regionLen    = 16
	maxRefuse    = 64
	maxAddress   = 128
	helloMagic   = "KVSETSHM"
	helloVersion = 1
	helloFixed   = 8 + 2 + 2 + 4 // magic, version, reserved, regions
	maxHello     = helloFixed + 3*2 + 2*MaxName + maxAddress
)

// header is the decoded first 8 bytes of a frame. A valid one bounds the body
// before anything is allocated.
type header struct {
	kind frameKind
	size int
}

func appendHeader(dst []byte, k frameKind, size int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	return append(dst, byte(k), 0, 0, 0)
}

func parseHeader(b [headerLen]byte) (header, error) {
	size, k := binary.BigEndian.Uint32(b[:4]), frameKind(b[4])
	least, most := uint32(0), uint32(0)
	switch k {
	case kindHello:
		least, most = helloFixed, maxHello
	case kindRegion:
		least, most = regionLen, regionLen
	case kindReady:
	case kindRefuse:
		least, most = 1, maxRefuse
	case kindNotice:
		most = MaxNotice
	default:
		return header{}, badFrame("kind %d", k)
	}
	if size < least || size > most {
		return header{}, badFrame("kind %d of %d bytes, want %d to %d", k, size, least, most)
	}
	if b[5]|b[6]|b[7] != 0 {
		return header{}, badFrame("reserved bytes are not zero")
	}
	return header{kind: k, size: int(size)}, nil
}

func badFrame(format string, args ...any) error {
	return &Error{Reason: ReasonBadFrame, What: "frame", Detail: fmt.Sprintf(format, args...)}
}

// hello opens a connection in either direction.
type hello struct {
	regions             uint32 // sent next, one frame each
	name, want, address string // own name, the name that must be at the other end, own address
}

func appendHello(dst []byte, h hello) []byte {
	size := helloFixed + 6 + len(h.name) + len(h.want) + len(h.address)
	dst = appendHeader(dst, kindHello, size)
	dst = append(dst, helloMagic...)
	dst = binary.BigEndian.AppendUint16(dst, helloVersion)
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, h.regions)
	for _, s := range []string{h.name, h.want, h.address} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// parseHello reads a hello body. The version is judged before the rest, because
// another version may have another layout.
func parseHello(b []byte) (hello, error) {
	bad := func(reason spec.Reason, format string, args ...any) (hello, error) {
		return hello{}, &Error{Reason: reason, What: "hello", Detail: fmt.Sprintf(format, args...)}
	}
	if len(b) < helloFixed || string(b[:len(helloMagic)]) != helloMagic {
		return bad(ReasonBadHello, "no magic")
	}
	b = b[len(helloMagic):]
	if v := binary.BigEndian.Uint16(b); v != helloVersion {
		return bad(ReasonWrongVersion, "version %d, want %d", v, helloVersion)
	}
	if binary.BigEndian.Uint16(b[2:]) != 0 {
		return bad(ReasonBadHello, "reserved bytes are not zero")
	}
	h := hello{regions: binary.BigEndian.Uint32(b[4:])}
	if h.regions > MaxRegions {
		return bad(ReasonTooManyRegions, "%d regions, at most %d", h.regions, MaxRegions)
	}
	b = b[8:]
	for _, s := range []*string{&h.name, &h.want, &h.address} {
		if len(b) < 2 {
			return bad(ReasonBadHello, "cut short")
		}
		n := int(binary.BigEndian.Uint16(b))
		if n > len(b)-2 {
			return bad(ReasonBadHello, "field of %d bytes, %d left", n, len(b)-2)
		}
		*s, b = string(b[2:2+n]), b[2+n:]
	}
	if len(b) != 0 {
		return bad(ReasonBadHello, "%d bytes too many", len(b))
	}
	for _, s := range []string{h.name, h.want} {
		if err := checkName(s); err != nil {
			return hello{}, &Error{Reason: ReasonBadHello, What: "hello", Err: err}
		}
	}
	if _, err := parseAddress(h.address); err != nil {
		return hello{}, &Error{Reason: ReasonBadHello, What: "hello", Err: err}
	}
	return h, nil
}

func appendRegion(dst []byte, addr, size uint64) []byte {
	dst = appendHeader(dst, kindRegion, regionLen)
	dst = binary.BigEndian.AppendUint64(dst, addr)
	return binary.BigEndian.AppendUint64(dst, size)
}

func parseRegion(b []byte) (addr, size uint64, err error) {
	if len(b) != regionLen {
		return 0, 0, badFrame("region of %d bytes", len(b))
	}
	addr, size = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if size == 0 || addr+size < addr {
		return 0, 0, &Error{Reason: ReasonBadRegion, What: "region",
			Detail: fmt.Sprintf("%d bytes at %#x", size, addr)}
	}
	return addr, size, nil
}

func appendRefuse(dst []byte, r spec.Reason) []byte {
	dst = appendHeader(dst, kindRefuse, len(r))
	return append(dst, r...)
}

func parseRefuse(b []byte) (spec.Reason, error) {
	ok := len(b) > 0 && len(b) <= maxRefuse
	for _, c := range b {
		ok = ok && (c == '-' || c >= 'a' && c <= 'z')
	}
	if !ok {
		return "", badFrame("refusal is no reason code")
	}
	return spec.Reason(b), nil
}

const addressPrefix = "shm:@kvsettle-"

// parseAddress returns the socket name of an address.
func parseAddress(s string) (string, error) {
	token, ok := strings.CutPrefix(s, addressPrefix)
	ok = ok && len(token) == 2*tokenLen
	for _, c := range token {
		ok = ok && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	}
	if !ok {
		return "", &Error{Reason: ReasonBadAddress, What: "address",
			Detail: fmt.Sprintf("%.200q, want %s and %d hexadecimal digits", s, addressPrefix, 2*tokenLen)}
	}
	return strings.TrimPrefix(s, "shm:"), nil
}
