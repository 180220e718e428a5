package wire_test

import (
	"errors"
	"fmt"

	"github.com/kvsettle/kvsettle/wire"
)

var rules = wire.Rules{Short: "KS-NAT-2", Length: "KS-NAT-4", Count: "KS-NAT-4", Bool: "KS-NAT-5", Trailing: "KS-NAT-2"}

func ExampleNewReader() {
	r := wire.NewReader("greeting", &rules, []byte{5, 0, 0, 0, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o', 1})
	text, polite := r.StrLE("text"), r.Bool("polite")
	fmt.Println(string(text), polite, r.Finish())

	r = wire.NewReader("greeting", &rules, []byte{5, 0, 0, 0, 0, 0, 0, 0, 'h', 'i'})
	r.StrLE("text")
	fmt.Println(r.Finish())
	// Output:
	// hello true <nil>
	// greeting.text at byte 0: bad-length: 5 of 2 (KS-NAT-4)
}

func ExampleError() {
	r := wire.NewReader("flag", &rules, []byte{7})
	r.Bool("set")
	err := r.Finish()
	var e *wire.Error
	fmt.Println(errors.Is(err, &wire.Error{Reason: wire.ReasonBadBool}), errors.As(err, &e), e.Offset, e.Req)
	// Output: true true 0 KS-NAT-5
}
