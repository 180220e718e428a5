package main

import (
	"github.com/kvsettle/kvsettle/conformance/vectors"
)

// controlFrames breaks one thing of the frame each: what is wrong before any item
// is looked at.
func controlFrames(s *set) {
	const typ, p = "TERMINAL", vectors.V2
	b := terminal(2)
	bad := func(id, note, req string, b []byte, code string, offset int) {
		s.bad(typ, p, "frame-"+id, note, req, b, code, offset)
	}
	bad("none", "no byte", "KS-CTL-1", nil, "short-input", 0)
	bad("short", "39 bytes", "KS-CTL-1", cut(b, 39), "short-input", 0)
	bad("index-2", "variant index 2", "KS-CTL-1 KS-NAT-6", at(b, 0, 2), "bad-index", 0)
	bad("index-64-bits", "the index is compared over all 64 bits", "KS-CTL-1 KS-NAT-6", at(b, 4, 1), "bad-index", 0)
	bad("magic", "one bit of the magic", "KS-CTL-1", at(b, 15, '0'), "bad-magic", 8)
	bad("flags", "the lowest envelope flag", "KS-CTL-5", at(b, 23, 1), "bad-flags", 20)
	bad("too-large", "one byte above the largest payload", "KS-CTL-6", at(b, 24, 0, 0x10, 0, 1), "too-large", 24)
	bad("length-beyond", "the payload ends early", "KS-CTL-1", cut(b, -1), "bad-length", 24)
	bad("length-largest", "the largest payload is announced and not there", "KS-CTL-1 KS-CTL-6", at(b, 24, 0, 0x10, 0, 0), "bad-length", 24)
	bad("trailing", "one byte behind the payload", "KS-CTL-1", join(b, []byte{0}), "trailing-bytes", len(b))
	bad("id-zero", "message id 0", "KS-CTL-5", at(b, 39, 0), "bad-value", 32)
	bad("crc", "one bit of the checksum", "KS-CTL-4", at(b, 31, b[31]^1), "bad-checksum", 28)
	bad("crc-payload", "one bit of the payload", "KS-CTL-4", at(b, len(b)-1, 3), "bad-checksum", 28)
	bad("crc-zero", "no checksum at all", "KS-CTL-4", at(b, 28, 0, 0, 0, 0), "bad-checksum", 28)
	for _, t := range []struct {
		id  string
		typ uint16
	}{{"0", 0}, {"6", 6}, {"8000", 0x8000}, {"8004", 0x8004}, {"ffff", 0xFFFF}} {
		bad("type-"+t.id, "a sound frame of type 0x"+t.id, "KS-CTL-8", frame(1, t.typ, messageID, keyed(item(iEvidence, []byte{2}))), "bad-type", 18)
	}
	bad("other-type", "a RECEIPT where a TERMINAL is read", "KS-CTL-8", receipt(2), "bad-type", 18)
	bad("version-0", "version 0", "KS-CTL-3", frame(0, mTerminal, messageID, keyed(item(iEvidence, []byte{2}))), "bad-version", 16)
	bad("version-2", "version 2 where 1 is selected", "KS-CTL-3", frame(2, mTerminal, messageID, keyed(item(iEvidence, []byte{2}))), "bad-version", 16)

	// Without capability bit 48 its types are as unknown as any.
	for _, p := range []string{vectors.V2, vectors.V2Quiescence} {
		id := "frame-" + profileIDs[p] + "-"
		s.bad("QUERY", p, id+"query", "QUERY without bit 48", "KS-REC-1", message(mQuery), "bad-type", 18)
		s.bad("STATUS", p, id+"status", "STATUS without bit 48", "KS-REC-1",
			message(mStatus, item(iState, []byte{3}), item(iQueryID, u64be(messageID))), "bad-type", 18)
		s.bad("DATA_COMPLETE", p, id+"data-complete", "DATA_COMPLETE without bit 48", "KS-REC-1",
			message(mDataComplete, item(iIndex, u32be(0)), item(iCount, u32be(1)), item(iBytes, u64be(1))), "bad-type", 18)
	}
}
