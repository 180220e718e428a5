package canon_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/registry"
	"github.com/kvsettle/kvsettle/statemachine/slot"
)

func ExampleRec() {
	v := canon.Rec(
		canon.Field{Name: "state", Value: canon.Str("FREE")},
		canon.Field{Name: "edges", Value: canon.Bits(0b101, 1)},
		canon.Field{Name: "gens", Value: canon.Seq(canon.Int(2), canon.Int(0))},
	)
	fmt.Println(v)
	// Output: [edges |-> {1, 3}, gens |-> <<2, 0>>, state |-> "FREE"]
}

func ExampleRead() {
	v, err := canon.Read(slot.Binding{Slot: 3, Generation: 7, Token: 9})
	fmt.Println(v, err)
	// Output: [Buffer |-> 0, Generation |-> 7, Pool |-> 0, Slot |-> 3, Token |-> 9] <nil>
}

func ExampleOpen() {
	f := canon.Open(slot.Binding{Slot: 3, Generation: 7})
	fmt.Println(f.Int("Slot"), f.Int("Generation"))
	f.Leave("Pool")
	fmt.Println(f.Err())
	// Output:
	// 3 7
	// canonical form of slot.Binding: field Buffer is not in the form; field Token is not in the form
}

func TestEqualityIsTLA(t *testing.T) {
	seq := canon.Seq(canon.Str("a"), canon.Str("b"))
	fun := canon.Fun(canon.Pair{Key: canon.Int(2), Value: canon.Str("b")}, canon.Pair{Key: canon.Int(1), Value: canon.Str("a")})
	require.Zero(t, seq.Compare(fun), "a sequence is a function on 1..n")
	require.Equal(t, `<<"a", "b">>`, fun.String())
	require.Zero(t, canon.Seq().Compare(canon.Rec()), "the empty functions are one")
	require.Zero(t, canon.Set(canon.Int(1), canon.Int(2)).Compare(canon.Set(canon.Int(2), canon.Int(1), canon.Int(2))))
	require.NotZero(t, canon.Str("a").Compare(canon.Atom("a")))
	require.NotZero(t, canon.Int(1).Compare(canon.Bool(true)))
	left := canon.Fun(canon.Pair{Key: canon.Str("x"), Value: canon.Int(1)}, canon.Pair{Key: canon.Str("x"), Value: canon.Int(2)})
	require.Equal(t, "[x |-> 1]", left.String(), "as with @@ the first counts")
	odd := canon.Fun(canon.Pair{Key: canon.Int(0), Value: canon.Int(1)}, canon.Pair{Key: canon.Str("a b"), Value: canon.Set()})
	require.Equal(t, `(0 :> 1 @@ "a b" :> {})`, odd.String())
	require.Equal(t, `"q\"b\\n\n"`, canon.Str("q\"b\\n\n").String())
	v, ok := odd.Apply(canon.Int(0))
	require.True(t, ok)
	n, ok := v.Int64()
	require.True(t, ok)
	require.Equal(t, int64(1), n)
	_, ok = odd.Get("absent")
	require.False(t, ok)
	_, ok = canon.Int(1).Get("absent")
	require.False(t, ok)
}

type inner struct {
	Mask uint64
	name string
}

type outer struct {
	Inner inner
	list  [2]inner
	more  []int8
	m     map[uint64]struct{}
	n     map[string]inner
	on    bool
	anon  struct{ X int }
}

func TestReadSeesEveryField(t *testing.T) {
	v, err := canon.Read(outer{
		Inner: inner{5, "a, b}: \"q\""}, list: [2]inner{{1, ""}, {2, "z"}}, more: []int8{-1, 3},
		m: map[uint64]struct{}{7: {}}, n: map[string]inner{"k": {9, "v"}}, on: true, anon: struct{ X int }{4},
	})
	require.NoError(t, err)
	require.Equal(t, `[Inner |-> [Mask |-> 5, name |-> "a, b}: \"q\""], anon |-> [X |-> 4], list |-> <<[Mask |-> 1, name |-> ""], [Mask |-> 2, name |-> "z"]>>, `+
		`m |-> (7 :> <<>>), more |-> <<-1, 3>>, n |-> [k |-> [Mask |-> 9, name |-> "v"]], on |-> TRUE]`, v.String())

	type names []int8
	type holds struct{ a, b names }
	v, err = canon.Read(holds{a: nil, b: names{1, 2}})
	require.NoError(t, err)
	require.Equal(t, `[a |-> <<>>, b |-> <<1, 2>>]`, v.String(), "a named slice is a sequence")

	v, err = canon.Read(&outer{})
	require.NoError(t, err)
	require.Contains(t, v.String(), "m |-> <<>>, more |-> <<>>")

	for _, bad := range []any{nil, 1.5, struct{ P *int }{new(int)}, struct{ F func() }{func() {}}, struct{ I any }{nil}, struct{ U uint64 }{1 << 63}} {
		_, err := canon.Read(bad)
		require.ErrorIs(t, err, canon.ErrUnreadable, "%#v", bad)
	}
}

// The machines and containers of this tree must stay readable.
func TestReadMachines(t *testing.T) {
	p, err := slot.New(slot.Config{Slots: 2, Bytes: 1})
	require.NoError(t, err)
	v, err := canon.Read(p)
	require.NoError(t, err)
	e, ok := v.Get("entries")
	require.True(t, ok)
	require.Equal(t, 2, e.Len())
	r, err := registry.New(1, 1, 0)
	require.NoError(t, err)
	require.NoError(t, r.Open(5, 0))
	v, err = canon.Read(r)
	require.NoError(t, err)
	require.Contains(t, v.String(), "active |-> (5 :> <<>>)")
	_, err = canon.Read(gen.Machine{})
	require.NoError(t, err)
}

func TestFieldsErrors(t *testing.T) {
	f := canon.Open(slot.Binding{})
	f.Take("Nothing")
	require.ErrorContains(t, f.Err(), "no field Nothing")
	require.ErrorContains(t, f.Err(), "field Slot is not in the form")
	g := canon.Open(inner{})
	g.Int("name")
	g.Set("Mask")
	require.ErrorContains(t, g.Err(), "name is no number")
	require.ErrorContains(t, canon.Open(1.5).Err(), "no canonical form")
}

// drawValue makes a random tree of bounded depth.
func drawValue(t *rapid.T, depth int) canon.Value {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return canon.Bool(rapid.Bool().Draw(t, "bool"))
	case 1:
		return canon.Int(rapid.Int64Range(-3, 3).Draw(t, "int"))
	case 2:
		return canon.Str(rapid.StringMatching(`[a-b" \\]{0,2}`).Draw(t, "str"))
	case 3:
		return canon.Atom(rapid.StringMatching(`[a-b]{1,2}`).Draw(t, "atom"))
	case 4:
		n := rapid.IntRange(0, 3).Draw(t, "n")
		var m []canon.Value
		for range n {
			m = append(m, drawValue(t, depth-1))
		}
		return canon.Set(m...)
	}
	n := rapid.IntRange(0, 3).Draw(t, "n")
	var p []canon.Pair
	for range n {
		p = append(p, canon.Pair{Key: drawValue(t, depth-1), Value: drawValue(t, depth-1)})
	}
	return canon.Fun(p...)
}

func TestTextIsEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawValue(t, 2), drawValue(t, 2)
		require.Equal(t, a.Compare(b) == 0, a.String() == b.String(), "%s %s", a, b)
		require.Equal(t, a.Compare(b), -b.Compare(a))
		require.Zero(t, a.Compare(a))
	})
}

func ExampleDiff() {
	state := func(s string, n int64) canon.Value {
		return canon.Rec(
			canon.Field{Name: "gen", Value: canon.Seq(canon.Rec(canon.Field{Name: "state", Value: canon.Str(s)}), canon.Int(1))},
			canon.Field{Name: "net", Value: canon.Set(canon.Int(n))})
	}
	for _, c := range canon.Diff(state("WAITING", 1), state("RETIRED", 2)) {
		fmt.Println(c)
	}
	// Output:
	// gen[1].state: "WAITING" -> "RETIRED"
	// net: {1} -> {2}
}

func TestDiffIsEmptyOnlyForEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawValue(t, 3), drawValue(t, 3)
		require.Equal(t, a.Compare(b) == 0, len(canon.Diff(a, b)) == 0)
	})
}
