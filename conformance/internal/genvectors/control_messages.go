package main

import (
	"fmt"

	"github.com/kvsettle/kvsettle/conformance/vectors"
	"github.com/kvsettle/kvsettle/wire/native"
)

// The message types and items by number, as chapter 08 lists them.
const (
	mOpen, mReady, mCancel, mTerminal, mReceipt = 1, 2, 3, 4, 5
	mQuery, mStatus, mDataComplete              = 0x8001, 0x8002, 0x8003

	iKey, iRequest, iDecision, iReason, iEvidence, iTerminalID, iSHA256 = 1, 2, 3, 4, 5, 6, 7
	iState, iQueryID, iContract, iIndex, iCount, iBytes, iRetention     = 0x8001, 0x8002, 0x8003, 0x8004, 0x8005, 0x8006, 0x8007
)

// messageID is the id of every message here that has no reason for another.
const messageID = 77

// item is a required item.
func item(kind uint16, value []byte) []byte { return tlv(kind, 1, value) }

// keyed is a payload that begins with the key.
func keyed(items ...[]byte) []byte {
	return join(item(iKey, keyBytes(aKey())), join(items...))
}

// message is a whole notification of version 1.
func message(typ uint16, items ...[]byte) []byte { return frame(1, typ, messageID, keyed(items...)) }

func terminal(evidence byte) []byte { return message(mTerminal, item(iEvidence, []byte{evidence})) }

func requestBytes(s *set) []byte {
	r := aRequest()
	return s.must("request")(native.AppendRequestBody(nil, &r))
}

// everywhere are the profiles of the carrier.
var everywhere = []string{vectors.V2, vectors.V2Recovery, vectors.V2Quiescence, vectors.V2Both}

var profileIDs = map[string]string{
	vectors.V2: "v2", vectors.V2Recovery: "rec", vectors.V2Quiescence: "qui", vectors.V2Both: "both",
}

func controlMessages(s *set) {
	open := message(mOpen, item(iRequest, requestBytes(s)))
	for _, p := range everywhere {
		id := func(what string) string { return "ctl-" + profileIDs[p] + "-" + what }
		s.good("OPEN", p, id("open"), "proposal with one KV buffer", "KS-CTL-1 KS-CTL-4 KS-CTL-12", open, "")
		s.good("TERMINAL", p, id("terminal"), "source complete", "KS-CTL-1 KS-CTL-4 KS-CTL-12", terminal(2), "")
		s.good("TERMINAL_RECEIPT", p, id("receipt"), "echo of that terminal", "KS-CTL-1 KS-CTL-12 KS-SET-9", receipt(2), "")
		s.good("CANCEL", p, id("cancel"), "by the user", "KS-CTL-1 KS-CTL-12", message(mCancel, item(iReason, u32be(1))), "")
	}
	s.good("OPEN", vectors.V2, "ctl-open-version-9", "OPEN is read whatever version it proposes; the caller compares", "KS-CTL-1 KS-CTL-3",
		frame(9, mOpen, messageID, keyed(item(iRequest, requestBytes(s)))), "")
	s.good("OPEN", vectors.V2, "ctl-open-id-largest", "the largest message id", "KS-CTL-5",
		frame(1, mOpen, 1<<64-1, keyed(item(iRequest, requestBytes(s)))), "")
	for reason := range uint32(5) {
		s.good("CANCEL", vectors.V2, fmt.Sprint("ctl-cancel-reason-", reason+1), fmt.Sprint("reason ", reason+1), "KS-CTL-15",
			message(mCancel, item(iReason, u32be(reason+1))), "")
	}
	readies(s)
	for evidence := range byte(4) {
		e := evidence + 1
		s.good("TERMINAL", vectors.V2, fmt.Sprint("ctl-terminal-evidence-", e), fmt.Sprint("evidence ", e), "KS-CTL-15", terminal(e), "")
		s.good("TERMINAL_RECEIPT", vectors.V2, fmt.Sprint("ctl-receipt-evidence-", e), fmt.Sprint("echo of ctl-terminal-evidence-", e),
			"KS-SET-9 KS-CTL-15", receipt(e), "")
	}
	for _, p := range []string{vectors.V2Quiescence, vectors.V2Both} {
		s.good("TERMINAL", p, "ctl-"+profileIDs[p]+"-terminal-quiesced", "LOCAL_QUIESCED exists with bit 49", "KS-QUI-2", terminal(0x81), "")
		s.good("TERMINAL_RECEIPT", p, "ctl-"+profileIDs[p]+"-receipt-quiesced", "echo of LOCAL_QUIESCED", "KS-QUI-2 KS-SET-9", receipt(0x81), "")
	}
	for _, p := range []string{vectors.V2Recovery, vectors.V2Both} {
		recoveries(s, p, "ctl-"+profileIDs[p]+"-")
	}
}

func readies(s *set) {
	s.good("READY", vectors.V2, "ctl-ready", "READY carries no evidence", "KS-CTL-16", message(mReady, item(iDecision, []byte{1})), "")
	for _, e := range []byte{1, 4} {
		s.good("READY", vectors.V2, fmt.Sprint("ctl-not-ready-", e), fmt.Sprint("NOT_READY with evidence ", e), "KS-CTL-16",
			message(mReady, item(iDecision, []byte{2}), item(iEvidence, []byte{e})), "")
	}
	for _, p := range everywhere[1:] {
		s.good("READY", p, "ctl-"+profileIDs[p]+"-ready", "with contract and retention", "KS-REC-3",
			message(mReady, item(iDecision, []byte{1}), item(iContract, u32be(0x07)), item(iRetention, u32be(60000))), "")
		s.good("READY", p, "ctl-"+profileIDs[p]+"-ready-zero", "contract and retention are there and 0", "KS-REC-3",
			message(mReady, item(iDecision, []byte{1}), item(iContract, u32be(0)), item(iRetention, u32be(0))), "")
		s.good("READY", p, "ctl-"+profileIDs[p]+"-ready-bits", "contract bits that have no name are kept", "KS-REC-3",
			message(mReady, item(iDecision, []byte{1}), item(iContract, u32be(0xFFFFFFFF)), item(iRetention, u32be(0xFFFFFFFF))), "")
		s.good("READY", p, "ctl-"+profileIDs[p]+"-not-ready", "NOT_READY has no contract", "KS-REC-3 KS-CTL-16",
			message(mReady, item(iDecision, []byte{2}), item(iEvidence, []byte{1})), "")
	}
}

// receipt answers terminal(evidence): it echoes the digest of its payload.
func receipt(evidence byte) []byte {
	payload := terminal(evidence)[40:]
	return frame(1, mReceipt, messageID+1, keyed(item(iEvidence, []byte{evidence}), item(iTerminalID, u64be(messageID)), item(iSHA256, sum(payload))))
}

func recoveries(s *set, p, id string) {
	s.good("QUERY", p, id+"query", "the key alone", "KS-REC-2", message(mQuery), "")
	for state := range byte(5) {
		s.good("STATUS", p, fmt.Sprint(id, "status-", state+1), fmt.Sprint("source state ", state+1), "KS-REC-2",
			message(mStatus, item(iState, []byte{state + 1}), item(iQueryID, u64be(messageID))), "")
	}
	for _, c := range []struct {
		id, note     string
		index, count uint32
		bytes        uint64
	}{
		{"data-single", "one notice for everything", 0, 1, 2 << 20},
		{"data-last", "the last of four chunks", 3, 4, 1},
		{"data-empty", "a chunk of no byte", 0, 2, 0},
		{"data-largest", "the largest numbers", 1<<32 - 2, 1<<32 - 1, 1<<64 - 1},
	} {
		s.good("DATA_COMPLETE", p, id+c.id, c.note, "KS-REC-2 KS-REC-4",
			message(mDataComplete, item(iIndex, u32be(c.index)), item(iCount, u32be(c.count)), item(iBytes, u64be(c.bytes))), "")
	}
}
