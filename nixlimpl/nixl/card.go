package nixl

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
)

// A card is what a peer needs to write to an agent: the library's metadata, and
// the regions in it. It travels as
//
//	metadata | regions, 24 bytes each: u64 address, u64 length, u32 device, u32 0 |
//	u32 number of regions | u32 length of metadata | u32 CRC-32C of all before | "KVSNIXL1"
//
// in network order. The metadata comes first because the library takes it with
// anything behind it, so that a peer without this trailer's knowledge can load the
// whole. The other direction is refused: metadata without a trailer cannot be told
// from truncated metadata, and loading that poisons the peer's name for good.
type card struct {
	blob    []byte
	regions []remote
}

// remote is one registered region of a peer.
type remote struct {
	addr, size uint64
	device     uint32
}

const (
	cardMagic   = "KVSNIXL1"
	cardTail    = 4 + 4 + 4 + len(cardMagic)
	regionLen   = 24
	maxCard     = 1 << 20
	addressKind = "nixl"
	blobStart   = "nixlSerDes|Agent"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c card) encode() []byte {
	out := make([]byte, 0, len(c.blob)+regionLen*len(c.regions)+cardTail)
	out = append(out, c.blob...)
	for _, r := range c.regions {
		out = binary.BigEndian.AppendUint64(out, r.addr)
		out = binary.BigEndian.AppendUint64(out, r.size)
		out = binary.BigEndian.AppendUint32(out, r.device)
		out = binary.BigEndian.AppendUint32(out, 0)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(c.regions)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(c.blob)))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	return append(out, cardMagic...)
}

// decodeCard checks a card and that its metadata is that of agent name. It copies
// what it keeps.
func decodeCard(name string, b []byte) (card, error) {
	bad := func(format string, args ...any) (card, error) {
		return card{}, &Error{Reason: ReasonBadMetadata, What: "metadata of " + name, Detail: fmt.Sprintf(format, args...)}
	}
	if len(b) > maxCard {
		return bad("%d bytes, at most %d", len(b), maxCard)
	}
	body, ok := bytes.CutSuffix(b, []byte(cardMagic))
	if !ok || len(body) < cardTail-len(cardMagic) {
		return bad("%d bytes without the trailer %q", len(b), cardMagic)
	}
	at := len(body) - 12
	regions, blob, sum := binary.BigEndian.Uint32(body[at:]), binary.BigEndian.Uint32(body[at+4:]), binary.BigEndian.Uint32(body[at+8:])
	if got := crc32.Checksum(body[:at+8], castagnoli); got != sum {
		return bad("CRC-32C is %08x, want %08x", got, sum)
	}
	if regions > MaxRegions || uint64(blob)+uint64(regions)*regionLen != uint64(at) {
		return bad("%d bytes of metadata and %d regions in %d bytes", blob, regions, at)
	}
	owner, err := blobName(body[:blob])
	if err != nil {
		return bad("%v", err)
	}
	if owner != name {
		return card{}, &Error{Reason: ReasonWrongName, What: "metadata of " + name, Detail: fmt.Sprintf("it is that of %q", owner)}
	}
	c := card{blob: append([]byte(nil), body[:blob]...), regions: make([]remote, regions)}
	for i := range c.regions {
		r := body[int(blob)+i*regionLen:]
		c.regions[i] = remote{addr: binary.BigEndian.Uint64(r), size: binary.BigEndian.Uint64(r[8:]), device: binary.BigEndian.Uint32(r[16:])}
		if c.regions[i].addr+c.regions[i].size < c.regions[i].addr {
			return bad("region %d wraps around", i)
		}
	}
	return c, nil
}

// blobName reads whose metadata a blob of the library is: loading it under another
// name would merge it into that other peer.
func blobName(blob []byte) (string, error) {
	rest, ok := bytes.CutPrefix(blob, []byte(blobStart))
	if !ok || len(rest) < 8 {
		return "", fmt.Errorf("not metadata of this library")
	}
	n := binary.LittleEndian.Uint64(rest)
	rest = rest[8:]
	if n > uint64(len(rest)) || n > MaxName || uint64(len(rest)) == n || rest[n] != '|' {
		return "", fmt.Errorf("no agent name at its start")
	}
	return string(rest[:n]), nil
}

// covers says whether one region holds [addr, addr+n) of device.
func (c card) covers(addr, n uint64, device uint32) bool {
	for _, r := range c.regions {
		// No sum of untrusted numbers: nothing can overflow.
		if n > 0 && device == r.device && addr >= r.addr && addr-r.addr < r.size && n <= r.size-(addr-r.addr) {
			return true
		}
	}
	return false
}

// addressOfCard is the address of an agent without a listener: it is its card.
func addressOfCard(b []byte) string {
	return addressKind + ":" + base64.RawURLEncoding.EncodeToString(b)
}

// place is a parsed address: a card, or where a listener is.
type place struct {
	card []byte
	ip   string
	port int
}

func parseAddress(s string) (place, error) {
	bad := func(detail string) (place, error) {
		return place{}, &Error{Reason: ReasonBadAddress, What: "address", Detail: detail}
	}
	host, rest, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(rest, ":") {
		return bad("not exactly one colon")
	}
	if host == addressKind {
		if len(rest) > base64.RawURLEncoding.EncodedLen(maxCard) {
			return bad("too long")
		}
		b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
		if err != nil {
			return bad("not base64: " + err.Error())
		}
		return place{card: b}, nil
	}
	port, err := strconv.Atoi(rest)
	if ip := net.ParseIP(host); ip == nil || ip.To4() == nil || err != nil || port < 1 || port > 65535 {
		return bad(fmt.Sprintf("%q is neither %s:CARD nor IPV4:PORT", s[:min(len(s), 64)], addressKind))
	}
	return place{ip: host, port: port}, nil
}
