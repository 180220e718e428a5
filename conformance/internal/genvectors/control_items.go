package main

import (
	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/identity"
)

const (
	payloadAt = 40                 // where the payload begins
	keyAt     = payloadAt + 8      // the value of the key, which stands first
	secondAt  = payloadAt + 8 + 89 // the item behind the key
)

// controlItems are about the items of a sound frame: what is skipped, and one
// broken thing each.
func controlItems(s *set) {
	const v2 = vectors.V2
	evidence := item(iEvidence, []byte{2})
	key := item(iKey, keyBytes(aKey()))
	raw := func(payload ...[]byte) []byte { return frame(1, mTerminal, messageID, join(payload...)) }
	good := func(id, note, req string, b []byte) { s.good("TERMINAL", v2, "item-"+id, note, req, b, "") }
	good("any-order", "a reader takes any order, a writer ascends", "KS-CTL-12", raw(evidence, key))
	good("unknown-optional", "an unknown item with flags 0 is skipped", "KS-CTL-14", raw(key, evidence, tlv(99, 0, []byte("later"))))
	good("unknown-empty", "an unknown item without value is skipped", "KS-CTL-14", raw(tlv(0x7FFF, 0, nil), key, evidence))
	good("unknown-twice", "unknown items may repeat", "KS-CTL-14", raw(tlv(99, 0, []byte{1}), key, tlv(99, 0, []byte{2}), evidence))
	good("experimental-optional", "without bit 48 its items are unknown", "KS-CTL-14 KS-REC-1", raw(key, evidence, tlv(iState, 0, []byte{1, 2})))
	good("type-zero-optional", "type 0 is unknown like any", "KS-CTL-14", raw(key, evidence, tlv(0, 0, nil)))

	bad := func(id, note, req string, b []byte, code string, offset int) {
		s.bad("TERMINAL", v2, "item-"+id, note, req, b, code, offset)
	}
	bad("none", "an empty payload", "KS-CTL-13", raw(), "missing", payloadAt)
	bad("header-cut", "seven bytes of an item header", "KS-CTL-9", raw(key, evidence, make([]byte, 7)), "short-input", secondAt+9)
	bad("length-beyond", "a length beyond the payload", "KS-CTL-9", raw(key, at(evidence, 7, 2)), "bad-length", secondAt+4)
	bad("length-huge", "a length of 2^32-1", "KS-CTL-9", raw(key, at(evidence, 4, 255, 255, 255, 255)), "bad-length", secondAt+4)
	bad("length-wrong", "an evidence of two bytes", "KS-CTL-9", raw(key, item(iEvidence, []byte{2, 0})), "bad-length", secondAt+4)
	bad("key-short", "a key of 88 bytes", "KS-CTL-9", raw(item(iKey, keyBytes(aKey())[:88]), evidence), "bad-length", payloadAt+4)
	bad("known-optional", "a known item with flags 0", "KS-CTL-10", raw(key, tlv(iEvidence, 0, []byte{2})), "bad-flags", secondAt+2)
	bad("flags-2", "flags 2 of a known item", "KS-CTL-10 KS-CTL-14", raw(key, tlv(iEvidence, 2, []byte{2})), "bad-flags", secondAt+2)
	bad("unknown-flags-3", "flags 3 of an unknown item", "KS-CTL-14", raw(key, evidence, tlv(99, 3, nil)), "bad-flags", secondAt+9+2)
	bad("unknown-required", "an unknown item with flags 1", "KS-CTL-14", raw(key, evidence, tlv(99, 1, nil)), "unknown-required", secondAt+9)
	bad("experimental-required", "without bit 48 its items are unknown", "KS-CTL-14 KS-REC-1", raw(key, evidence, tlv(iState, 1, []byte{1})), "unknown-required", secondAt+9)
	bad("twice", "the evidence twice, both alike", "KS-CTL-11", raw(key, evidence, evidence), "duplicate", secondAt+9)
	bad("key-twice", "the key twice", "KS-CTL-11", raw(key, key, evidence), "duplicate", secondAt)
	bad("missing-evidence", "no evidence", "KS-CTL-13", raw(key), "missing", secondAt)
	bad("missing-key", "no key", "KS-CTL-13", raw(evidence), "missing", payloadAt+9)
	bad("forbidden", "a cancel reason in a TERMINAL", "KS-CTL-13", raw(key, item(iReason, u32be(1)), evidence), "forbidden", secondAt)
	for _, e := range []struct {
		id string
		v  byte
	}{{"0", 0}, {"5", 5}, {"quiesced", 0x81}, {"255", 255}} {
		bad("evidence-"+e.id, "an evidence that does not exist here", "KS-CTL-15", terminal(e.v), "bad-value", secondAt+8)
	}
	keys(s)
	bodies(s)
	extensions(s)
}

// keys are TERMINALs whose key holds a value that no key has.
func keys(s *set) {
	for _, k := range []struct {
		id, note string
		offset   int
		change   func(*identity.TransferKey)
	}{
		{"direction-0", "direction 0", 32, func(k *identity.TransferKey) { k.Ticket.Direction = 0 }},
		{"direction-2", "direction 2", 32, func(k *identity.TransferKey) { k.Ticket.Direction = 2 }},
		{"epoch-zero", "epoch 0 of the ticket", 8, func(k *identity.TransferKey) { k.Ticket.InstanceEpoch = 0 }},
		{"attempt-zero", "attempt 0 of the ticket", 16, func(k *identity.TransferKey) { k.Ticket.Attempt = 0 }},
		{"gen-attempt-zero", "GEN attempt 0", 24, func(k *identity.TransferKey) { k.GenAttempt = 0 }},
		{"source-rank", "the source rank that stands for none", 33, func(k *identity.TransferKey) { k.SourceRank = 1<<32 - 1 }},
		{"destination-rank", "the destination rank that stands for none", 37, func(k *identity.TransferKey) { k.DestinationRank = 1<<32 - 1 }},
		{"source-epoch-zero", "epoch 0 of the source", 41, func(k *identity.TransferKey) { k.SourceEpoch = 0 }},
		{"destination-epoch-zero", "epoch 0 of the destination", 49, func(k *identity.TransferKey) { k.DestinationEpoch = 0 }},
	} {
		key := aKey()
		k.change(&key)
		s.bad("TransferKey", vectors.V2, "key-"+k.id, k.note, "KS-ID-12", keyBytes(key), "bad-value", k.offset)
		s.bad("TERMINAL", vectors.V2, "item-key-"+k.id, k.note+" in a message", "KS-ID-12 KS-CTL-17",
			frame(1, mTerminal, messageID, join(item(iKey, keyBytes(key)), item(iEvidence, []byte{2}))), "bad-value", keyAt+k.offset)
	}
}

// bodies are the rules of the single types.
func bodies(s *set) {
	bad := func(typ, id, note, req string, b []byte, code string, offset int) {
		s.bad(typ, vectors.V2, "body-"+id, note, req, b, code, offset)
	}
	decision := func(d byte, more ...[]byte) []byte { return message(mReady, item(iDecision, []byte{d}), join(more...)) }
	e1, e2, e3 := item(iEvidence, []byte{1}), item(iEvidence, []byte{2}), item(iEvidence, []byte{3})
	bad("READY", "ready-0", "decision 0", "KS-CTL-15", decision(0), "bad-value", secondAt+8)
	bad("READY", "ready-3", "decision 3", "KS-CTL-15", decision(3, e1), "bad-value", secondAt+8)
	bad("READY", "ready-evidence", "READY with an evidence", "KS-CTL-16", decision(1, e1), "forbidden", secondAt+9)
	bad("READY", "not-ready-bare", "NOT_READY without evidence", "KS-CTL-16", decision(2), "missing", secondAt+9)
	bad("READY", "not-ready-complete", "NOT_READY with SOURCE_COMPLETE", "KS-CTL-16", decision(2, e2), "bad-value", secondAt+9+8)
	bad("READY", "not-ready-destination", "NOT_READY with DESTINATION_COMPLETE", "KS-CTL-16", decision(2, e3), "bad-value", secondAt+9+8)
	bad("READY", "ready-contract", "a contract without bit 48 or 49", "KS-REC-3 KS-CTL-14", decision(1, item(iContract, u32be(1)), item(iRetention, u32be(1))),
		"unknown-required", secondAt+9)
	bad("CANCEL", "cancel-0", "reason 0", "KS-CTL-15", message(mCancel, item(iReason, u32be(0))), "bad-value", secondAt+8)
	bad("CANCEL", "cancel-6", "reason 6", "KS-CTL-15", message(mCancel, item(iReason, u32be(6))), "bad-value", secondAt+8)
	bad("CANCEL", "cancel-wide", "a reason that is 1 in its low byte", "KS-CTL-15", message(mCancel, item(iReason, u32be(257))), "bad-value", secondAt+8)
	bad("TERMINAL_RECEIPT", "receipt-id-zero", "the echoed message id is 0", "KS-SET-9",
		message(mReceipt, item(iEvidence, []byte{2}), item(iTerminalID, u64be(0)), item(iSHA256, make([]byte, 32))), "bad-value", secondAt+9+8)
	bad("TERMINAL_RECEIPT", "receipt-no-digest", "no digest", "KS-CTL-13",
		message(mReceipt, item(iEvidence, []byte{2}), item(iTerminalID, u64be(1))), "missing", secondAt+9+16)
	bad("TERMINAL_RECEIPT", "receipt-short-digest", "a digest of 31 bytes", "KS-CTL-9",
		message(mReceipt, item(iEvidence, []byte{2}), item(iTerminalID, u64be(1)), item(iSHA256, make([]byte, 31))), "bad-length", secondAt+9+16+4)

	request := requestBytes(s)
	n := len(request)
	open := func(request []byte) []byte { return message(mOpen, item(iRequest, request)) }
	bad("OPEN", "open-empty", "an empty request", "KS-CTL-18", open(nil), "short-input", secondAt+8)
	bad("OPEN", "open-cut", "a request that lacks its last byte", "KS-CTL-18", open(cut(request, -1)), "bad-count", secondAt+8+n-9)
	bad("OPEN", "open-trailing", "a byte behind the request", "KS-CTL-18", open(join(request, []byte{0})), "trailing-bytes", secondAt+8+n)
	bad("OPEN", "open-index", "a request with its variant index", "KS-CTL-18", open(join(u64le(0), request)), "bad-bool", secondAt+8+28+len(v2Name(genBase, genEpoch)))
	bad("OPEN", "open-no-request", "no request", "KS-CTL-13", message(mOpen), "missing", secondAt)
	bad("OPEN", "open-evidence", "an evidence in an OPEN", "KS-CTL-13", message(mOpen, item(iRequest, request), item(iEvidence, []byte{1})), "forbidden", secondAt+8+n)
}

// extensions are the rules where bit 48 or 49 is selected.
func extensions(s *set) {
	rec, qui := vectors.V2Recovery, vectors.V2Quiescence
	data := func(index, count uint32) []byte {
		return message(mDataComplete, item(iIndex, u32be(index)), item(iCount, u32be(count)), item(iBytes, u64be(1)))
	}
	s.bad("DATA_COMPLETE", rec, "ext-chunk-beyond", "chunk 4 of 4", "KS-REC-4", data(4, 4), "bad-value", secondAt+8)
	s.bad("DATA_COMPLETE", rec, "ext-chunk-none", "chunk 0 of 0", "KS-REC-4", data(0, 0), "bad-value", secondAt+12+8)
	s.bad("DATA_COMPLETE", rec, "ext-chunk-no-count", "no count", "KS-REC-2",
		message(mDataComplete, item(iIndex, u32be(0)), item(iBytes, u64be(1))), "missing", secondAt+12+16)
	status := func(state byte, query uint64) []byte {
		return message(mStatus, item(iState, []byte{state}), item(iQueryID, u64be(query)))
	}
	s.bad("STATUS", rec, "ext-status-0", "source state 0", "KS-REC-2", status(0, 1), "bad-value", secondAt+8)
	s.bad("STATUS", rec, "ext-status-6", "source state 6", "KS-REC-2", status(6, 1), "bad-value", secondAt+8)
	s.bad("STATUS", rec, "ext-status-query", "the echoed message id is 0", "KS-REC-2", status(3, 0), "bad-value", secondAt+9+8)
	s.bad("QUERY", rec, "ext-query-evidence", "an evidence in a QUERY", "KS-REC-2", message(mQuery, item(iEvidence, []byte{1})), "forbidden", secondAt)
	s.bad("TERMINAL", rec, "ext-terminal-quiesced", "LOCAL_QUIESCED without bit 49", "KS-QUI-1", terminal(0x81), "bad-value", secondAt+8)
	s.bad("TERMINAL", rec, "ext-known-flags", "with bit 48 its items are known, and known items are required", "KS-CTL-10",
		message(mTerminal, item(iEvidence, []byte{2}), tlv(iState, 0, []byte{1})), "bad-flags", secondAt+9+2)
	s.bad("TERMINAL", rec, "ext-forbidden", "a source state in a TERMINAL", "KS-CTL-13",
		message(mTerminal, item(iEvidence, []byte{2}), item(iState, []byte{1})), "forbidden", secondAt+9)
	ready := func(items ...[]byte) []byte { return message(mReady, items...) }
	yes, no := item(iDecision, []byte{1}), item(iDecision, []byte{2})
	contract, retention := item(iContract, u32be(7)), item(iRetention, u32be(1))
	for _, p := range []string{rec, qui} {
		id := "ext-" + profileIDs[p] + "-ready-"
		s.bad("READY", p, id+"bare", "READY without contract", "KS-REC-3", ready(yes), "missing", secondAt+9)
		s.bad("READY", p, id+"no-retention", "a contract without retention", "KS-REC-3", ready(yes, contract), "missing", secondAt+9+12)
		s.bad("READY", p, id+"no-contract", "a retention without contract", "KS-REC-3", ready(yes, retention), "missing", secondAt+9+12)
		s.bad("READY", p, id+"refused", "NOT_READY with a contract", "KS-REC-3", ready(no, item(iEvidence, []byte{1}), contract, retention), "forbidden", secondAt+9+9)
	}
	s.bad("READY", qui, "ext-ready-quiesced", "LOCAL_QUIESCED does not travel in READY", "KS-QUI-2 KS-CTL-16",
		ready(no, item(iEvidence, []byte{0x81})), "bad-value", secondAt+9+8)
}
