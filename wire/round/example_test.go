package round_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/round"
)

func entry(id uint64, intent round.Intent) round.Entry {
	return round.Entry{
		Ticket: identity.Ticket{RequestID: id, InstanceEpoch: 7, Attempt: 1, Direction: identity.CTXToGEN},
		Intent: intent, Evidence: control.NotStarted,
	}
}

func ExampleAppend() {
	p := round.Payload{Round: 1, Entries: []round.Entry{entry(2, round.Cancel), entry(1, round.Admit)}}
	_, err := round.Append(nil, &p)
	fmt.Println(err)
	round.Sort(p.Entries)
	b, err := round.Append(nil, &p)
	fmt.Println(len(b), err)
	// Output:
	// round.entry: bad-order (KS-RND-3)
	// 200 <nil>
}

func ExampleDecode() {
	p := round.Payload{Round: 1, Entries: []round.Entry{entry(1, round.Admit)}}
	b, err := round.Append(nil, &p)
	fmt.Println(err)
	p, err = round.Decode(b)
	fmt.Println(p.Round, len(p.Entries), p.Entries[0].Ticket.RequestID, err)
	_, err = round.Decode(b[:30])
	fmt.Println(err)
	// Output:
	// <nil>
	// 1 1 1 <nil>
	// round.count at byte 12: bad-count: 1 elements in 14 bytes (KS-RND-2)
}

func ExampleSort() {
	entries := []round.Entry{entry(3, round.Admit), entry(1, round.Admit)}
	round.Sort(entries)
	fmt.Println(entries[0].Ticket.RequestID, round.Compare(&entries[0], &entries[1]))
	// Output: 1 -1
}

func ExampleCompare() {
	a, b := entry(1, round.Admit), entry(1, round.Cancel)
	fmt.Println(round.Compare(&a, &b))
	// Output: 0
}
