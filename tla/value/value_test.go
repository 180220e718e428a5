package value_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/tla/value"
)

func ExampleParseState() {
	v, err := value.ParseState([]byte("/\\ slot = [state |-> \"FREE\", gen |-> 1]\n/\\ net = {<<1, 2>>,\n  <<>>}"))
	fmt.Println(v, err)
	// Output: [net |-> {<<>>, <<1, 2>>}, slot |-> [gen |-> 1, state |-> "FREE"]] <nil>
}

func ExampleParse() {
	v, err := value.Parse([]byte(`(2 :> "b" @@ 1 :> "a")`))
	fmt.Println(v, err)
	// Output: <<"a", "b">> <nil>
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-12": "-12", "TRUE": "TRUE", " FALSE ": "FALSE", "GEN": "GEN", "m_1": "m_1",
		`"a \"b\" \\ \n"`: `"a \"b\" \\ \n"`, "{}": "{}", "{3, 1, 2, 1}": "{1, 2, 3}", "1..3": "{1, 2, 3}", "3..1": "{}",
		"<< >>": "<<>>", "<<1,\n <<2>>>>": "<<1, <<2>>>>", "[b |-> 1, a |-> {TRUE}]": "[a |-> {TRUE}, b |-> 1]",
		`("x" :> 1)`: "[x |-> 1]", `("a b" :> 1 @@ 0 :> 2)`: `(0 :> 2 @@ "a b" :> 1)`, "(1 :> 2 @@ 1 :> 3)": "<<2>>", "((5))": "5",
	} {
		v, err := value.Parse([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, v.String(), text)
	}
	for _, text := range []string{
		"", "{1", "{1 2}", "<<1}", "<<1, 2>", "[a 1]", "[a |-> ]", "[ |-> 1]", `"abc`, `"abc\`, "(1 :> 2", "(1 2)", "(1 :> 2 @@ 3)",
		"1 2", "-", "--1", "99999999999999999999", "1..", "0..999999999", "?", "/\\ x = 1",
	} {
		_, err := value.Parse([]byte(text))
		require.ErrorIs(t, err, value.ErrSyntax, text)
	}
	deep := make([]byte, 0, 2000)
	for range 1000 {
		deep = append(deep, '{')
	}
	_, err := value.Parse(deep)
	require.ErrorContains(t, err, "nesting")
}

func TestParseState(t *testing.T) {
	v, err := value.ParseState([]byte("x = 1"))
	require.NoError(t, err)
	require.Equal(t, "[x |-> 1]", v.String())
	for _, text := range []string{"", "x", "/\\ = 1", "/\\ x = 1 y = 2", "/\\ x = 1\n/\\ x = 2", "/\\ x 1", "/\\ x = {"} {
		_, err := value.ParseState([]byte(text))
		require.ErrorIs(t, err, value.ErrSyntax, text)
	}
}

func drawValue(t *rapid.T, depth int) canon.Value {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	list := func() (out []canon.Value) {
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			out = append(out, drawValue(t, depth-1))
		}
		return out
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return canon.Bool(rapid.Bool().Draw(t, "bool"))
	case 1:
		return canon.Int(rapid.Int64().Draw(t, "int"))
	case 2:
		return canon.Str(rapid.String().Draw(t, "str"))
	case 3:
		return canon.Atom(rapid.StringMatching(`[a-z][a-z0-9_]{0,3}`).Draw(t, "atom"))
	case 4:
		return canon.Set(list()...)
	}
	var points []canon.Pair
	for _, k := range list() {
		points = append(points, canon.Pair{Key: k, Value: drawValue(t, depth-1)})
	}
	return canon.Fun(points...)
}

func TestReadsWhatCanonWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		back, err := value.Parse([]byte(v.String()))
		require.NoError(t, err, v.String())
		require.Zero(t, v.Compare(back), "%s %s", v, back)
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", `[a |-> <<1, "x">>]`, "(1 :> {TRUE, q} @@ 2 :> 1..2)", "/\\ x = 1\n/\\ y = {}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, err := value.ParseState(text); err == nil {
			require.Positive(t, v.Len())
		}
		v, err := value.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, value.ErrSyntax)
			return
		}
		back, err := value.Parse([]byte(v.String()))
		require.NoError(t, err)
		require.Zero(t, v.Compare(back))
	})
}

func TestFuzzSeeds(t *testing.T) {
	files, err := filepath.Glob("testdata/fuzz/FuzzParse/*")
	require.NoError(t, err)
	require.Len(t, files, 6)
	for _, f := range files {
		_, err := os.ReadFile(f)
		require.NoError(t, err)
	}
}
