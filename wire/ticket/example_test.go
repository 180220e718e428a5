package ticket_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
	"github.com/kvsettle/kvsettle/wire/ticket"
)

var trailer = ticket.Trailer{
	Ticket:       identity.Ticket{RequestID: 42, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN},
	RequiredCaps: 7, ABI: ticket.ABI1,
}

func ExampleAppend() {
	b, err := ticket.Append(nil, []byte{0, 0}, &trailer)
	fmt.Println(len(b), err)
	_, err = ticket.Append(nil, []byte{0}, &trailer)
	fmt.Println(err)
	// Output:
	// 111 <nil>
	// state.hasCacheState at byte 1: short-input: need 1, have 0 (KS-NAT-2)
}

func ExampleSplit() {
	b, err := ticket.Append(nil, []byte{0, 0}, &trailer)
	fmt.Println(err)
	s, err := ticket.Split(b)
	fmt.Println(s.HasTrailer, s.Trailer.Ticket == trailer.Ticket, s.Native, err)
	s, err = ticket.Split([]byte{0, 0})
	fmt.Println(s.HasTrailer, s.Native, err)
	b[3] ^= 1
	_, err = ticket.Split(b)
	fmt.Println(err)
	// Output:
	// <nil>
	// true true [0 0] <nil>
	// false [0 0] <nil>
	// ticket.crc32c at byte 107: bad-checksum (KS-TKT-3)
}

func ExampleDecode() {
	b, err := ticket.Append(nil, []byte{0, 0}, &trailer)
	fmt.Println(err)
	s, state, err := ticket.Decode(b, native.Late2025)
	fmt.Println(s.Trailer.Ticket.RequestID, state.Comm == nil, err)
	// Output:
	// <nil>
	// 42 true <nil>
}

func ExampleReadTagged() {
	b, err := ticket.Append(nil, []byte{0, 0}, &trailer)
	fmt.Println(err)
	b, err = ticket.AppendTagged(nil, b)
	fmt.Println(b[0] == ticket.TagByte, err)
	opaque, rest, tagged, err := ticket.ReadTagged(append(b, 9, 9))
	fmt.Println(len(opaque), rest, tagged, err)
	_, rest, tagged, err = ticket.ReadTagged([]byte{1, 2, 3})
	fmt.Println(rest, tagged, err)
	_, _, _, err = ticket.ReadTagged([]byte{2})
	fmt.Println(err)
	// Output:
	// <nil>
	// true <nil>
	// 111 [9 9] true <nil>
	// [1 2 3] false <nil>
	// taggedState.tag at byte 0: bad-value: 2 (KS-TKT-11)
}

func ExampleAppendTagged() {
	_, err := ticket.AppendTagged(nil, []byte{0, 0})
	fmt.Println(err)
	// Output: taggedState.trailer: missing: a state without ticket keeps its old encoding (KS-TKT-12)
}

func ExampleProfile() {
	fmt.Println(ticket.Profile(ticket.ABI1))
	_, err := ticket.Profile(2)
	fmt.Println(err)
	// Output:
	// 2026mid <nil>
	// ticket.serializationAbiId: bad-version: 2 (KS-TKT-5)
}

func ExampleState_Validate() {
	var s ticket.State
	fmt.Println(s.Validate(ticket.Use{RequestID: 42}))
	fmt.Println(s.Validate(ticket.Use{RequestID: 42, Enabled: true}))
	// Output:
	// <nil>
	// opaqueState.trailer: missing: enabled v2 needs a ticket (KS-TKT-7)
}
