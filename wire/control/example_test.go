package control_test

import (
	"errors"
	"fmt"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

var (
	key = identity.TransferKey{
		Ticket:     identity.Ticket{RequestID: 42, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN},
		GenAttempt: 1, SourceEpoch: 100, DestinationEpoch: 200,
	}
	plain    = control.Dialect{Version: 1, Caps: descriptor.CapPeerCancel}
	extended = control.Dialect{Version: 1, Caps: descriptor.CapPeerCancel | descriptor.CapRecovery}
)

// show writes a message, parses it, and returns the frame.
func show(b []byte, err error) control.Frame {
	if err != nil {
		fmt.Println(err)
		return control.Frame{}
	}
	f, err := control.Parse(b)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(f.Type, f.ID, len(b), "bytes")
	return f
}

func ExampleParse() {
	b, err := control.AppendCancel(nil, plain, &control.Cancel{ID: 9, Key: key, Reason: control.ReasonUser})
	f := show(b, err)
	k, err := f.Key()
	fmt.Println(k == key, err)
	m, err := f.Cancel(plain)
	fmt.Println(m.Reason, err)

	b[len(b)-1] ^= 1
	_, err = control.Parse(b)
	fmt.Println(errors.Is(err, &wire.Error{Reason: wire.ReasonBadChecksum}), err)
	// Output:
	// CANCEL 9 149 bytes
	// true <nil>
	// USER <nil>
	// true control.crc32c at byte 28: bad-checksum (KS-CTL-4)
}

func ExampleAppendOpen() {
	request, err := native.AppendRequestBody(nil, &native.RequestAndBufferInfo{AgentName: "gen"})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := show(control.AppendOpen(nil, plain, &control.Open{ID: 1, Key: key, Request: request}))
	m, err := f.Open(plain, native.DefaultLimits())
	fmt.Println(len(m.Request), err)
	_, err = control.AppendOpen(nil, plain, &control.Open{ID: 1, Key: key, Request: request[:10]})
	fmt.Println(err)
	// Output:
	// OPEN 1 218 bytes
	// 73 <nil>
	// control.request.agentName: bad-length: request.agentName at byte 0: bad-length: 3 of 2 (KS-NAT-4) (KS-CTL-18)
}

func ExampleAppendReady() {
	f := show(control.AppendReady(nil, extended, &control.Ready{
		ID: 2, Key: key, Decision: control.DecisionReady,
		Contract: control.ContractVisible | control.ContractSuccessQuiet, RetentionMS: 30_000,
	}))
	m, err := f.Ready(extended)
	fmt.Println(m.Contract, m.RetentionMS, err)
	_, err = f.Ready(plain)
	fmt.Println(err)
	// Output:
	// READY 2 170 bytes
	// 5 30000 <nil>
	// control.item at byte 146: unknown-required: 32771 (KS-CTL-14)
}

func ExampleAppendCancel() {
	_, err := control.AppendCancel(nil, plain, &control.Cancel{ID: 1, Key: key})
	fmt.Println(err)
	// Output: control.cancelReason: bad-value: 0 (KS-CTL-15)
}

func ExampleAppendTerminal() {
	f := show(control.AppendTerminal(nil, plain, &control.Terminal{ID: 3, Key: key, Evidence: control.SourceComplete}))
	m, err := f.Terminal(plain)
	fmt.Println(m.Evidence, err)
	// Output:
	// TERMINAL 3 146 bytes
	// LOCAL_SOURCE_COMPLETE <nil>
}

func ExampleAppendReceipt() {
	f := show(control.AppendTerminal(nil, plain, &control.Terminal{ID: 3, Key: key, Evidence: control.Unknown}))
	f = show(control.AppendReceipt(nil, plain, &control.Receipt{
		ID: 4, Key: key, TerminalID: f.ID, Evidence: control.Unknown, SHA256: f.PayloadSHA256(),
	}))
	m, err := f.Receipt(plain)
	fmt.Println(m.TerminalID, m.Evidence, err)
	// Output:
	// TERMINAL 3 146 bytes
	// TERMINAL_RECEIPT 4 202 bytes
	// 3 LOCAL_UNKNOWN <nil>
}

func ExampleAppendQuery() {
	f := show(control.AppendQuery(nil, extended, &control.Query{ID: 5, Key: key}))
	_, err := f.Query(plain)
	fmt.Println(err)
	// Output:
	// QUERY 5 137 bytes
	// control.type at byte 18: bad-type: QUERY without capability bit 48 (KS-REC-1)
}

func ExampleAppendStatus() {
	f := show(control.AppendStatus(nil, extended, &control.Status{ID: 6, Key: key, State: control.StateInProgress, QueryID: 5}))
	m, err := f.Status(extended)
	fmt.Println(m.State, m.QueryID, err)
	// Output:
	// STATUS 6 162 bytes
	// 2 5 <nil>
}

func ExampleAppendDataComplete() {
	f := show(control.AppendDataComplete(nil, extended, &control.DataComplete{ID: 7, Key: key, Index: 1, Count: 2, Bytes: 4096}))
	m, err := f.DataComplete(extended)
	fmt.Println(m.Index, m.Count, m.Bytes, err)
	// Output:
	// DATA_COMPLETE 7 177 bytes
	// 1 2 4096 <nil>
}

func ExampleBroken() {
	_, err := control.Parse(make([]byte, 39))
	fmt.Println(control.Broken(err))
	_, err = control.Parse(make([]byte, 40))
	fmt.Println(control.Broken(err))
	// Output:
	// true
	// false
}

func ExampleType_CheckFrom() {
	fmt.Println(control.TypeOpen.CheckFrom(control.GEN))
	fmt.Println(control.TypeOpen.CheckFrom(control.CTX))
	// Output:
	// <nil>
	// control.type at byte 18: bad-type: OPEN from the other side (KS-CTL-7)
}
