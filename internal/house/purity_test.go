package house

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPurityRefuses(t *testing.T) {
	cases := []struct {
		name, code string // a file of package p
		line       int
		want       string
	}{
		{"clock", "import \"time\"\n\nfunc f() time.Time { return time.Now() }", 5, "uses time.Time, which is not pure"},
		{"timer", "import \"time\"\n\nvar _ = time.NewTimer", 5, "uses time.NewTimer, which is not pure"},
		{"sleep under another name", "import clock \"time\"\n\nfunc f() { clock.Sleep(1) }", 5, "uses time.Sleep, which is not pure"},
		{"lock", "import \"sync\"\n\nvar _ sync.Mutex", 3, `imports "sync", which is not in the list of pure packages`},
		{"atomic", "import _ \"sync/atomic\"", 3, `imports "sync/atomic", which is not in the list of pure packages`},
		{"files", "import _ \"os\"", 3, `imports "os", which is not in the list of pure packages`},
		{"network", "import _ \"net\"", 3, `imports "net", which is not in the list of pure packages`},
		{"context", "import _ \"context\"", 3, `imports "context", which is not in the list of pure packages`},
		{"randomness", "import _ \"math/rand/v2\"", 3, `imports "math/rand/v2", which is not in the list of pure packages`},
		{"entropy", "import _ \"crypto/rand\"", 3, `imports "crypto/rand", which is not in the list of pure packages`},
		{"readers", "import _ \"io\"", 3, `imports "io", which is not in the list of pure packages`},
		{"log", "import _ \"log/slog\"", 3, `imports "log/slog", which is not in the list of pure packages`},
		{"dot import", "import . \"strings\"\n\nvar _ = ToUpper", 3, "imports with a dot"},
		{"printing", "import \"fmt\"\n\nfunc f() { fmt.Println() }", 5, "uses fmt.Println, which is not pure"},
		{"print", "func f() { println() }", 3, "prints"},
		{"goroutine", "func f() { go f() }", 3, "starts a goroutine"},
		{"channel type", "func f(c chan int) {}", 3, "uses a channel"},
		{"receive", "type c = <-chan int\n\nfunc f(x c) { <-x }", 3, "uses a channel"},
		{"init", "func init() {}", 3, "has an init function"},
		{"pointer variable", "var p *int", 3, "package variable p holds a reference that is not an error"},
		{"interface variable", "var p any", 3, "package variable p holds a reference that is not an error"},
		{"assignment", "var n int\n\nfunc f() { n = 1 }", 5, "assigns to the package variable n"},
		{"count", "var n int\n\nfunc f() { n++ }", 5, "assigns to the package variable n"},
		{"element", "var t = [2]int{1, 2}\n\nfunc f() { t[0] += 1 }", 5, "assigns to the package variable t"},
		{"field", "var s struct{ a struct{ b int } }\n\nfunc f() { s.a.b = 1 }", 5, "assigns to the package variable s"},
		{"map element", "var m = map[int]int{}\n\nfunc f() { m[1] = 1 }", 5, "assigns to the package variable m"},
		{"delete", "var m = map[int]int{}\n\nfunc f() { delete(m, 1) }", 5, "deletes the package variable m"},
		{"clear", "var m = map[int]int{}\n\nfunc f() { clear(m) }", 5, "clears the package variable m"},
		{"copy", "var s = []int{1}\n\nfunc f() { copy(s[1:], s) }", 5, "copys the package variable s"},
		{"range assigns", "var n int\n\nfunc f() { for n = range 3 {\n} }", 5, "assigns to the package variable n"},
		{"address", "var n int\n\nfunc f() *int { return &n }", 5, "takes the address of the package variable n"},
		{"array slice", "var t = [2]int{1, 2}\n\nfunc f() []int { return t[:] }", 5, "takes a slice of the array in the package variable t"},
		{"pointer method", "type T struct{ n int }\n\nfunc (t *T) Inc() { t.n++ }\n\nvar x T\n\nfunc f() { x.Inc() }", 9, "calls a pointer method of the package variable x"},
		{"another package's table", "import \"example.test/m/spec\"\n\nfunc f() { spec.Table[0] = 1 }", 5, "assigns to the package variable Table"},
		{"map walk", "func f(m map[int]int) (s int) {\n\tfor k := range m {\n\t\ts += k\n\t}\n\treturn\n}", 4, `walks a map; write the reason on the line above as "// order-free: ..."`},
		{"map walk of a named type", "type M map[int]int\n\nfunc f(m M) {\n\tfor range m {\n\t}\n}", 6, `walks a map; write the reason on the line above as "// order-free: ..."`},
		{"generic map walk", "func f[M ~map[int]int](m M) {\n\tfor range m {\n\t}\n}", 4, `walks a map; write the reason on the line above as "// order-free: ..."`},
		{"map walk without a reason", "func f(m map[int]int) {\n\t// order-free:\n\tfor range m {\n\t}\n}", 5, `walks a map; write the reason on the line above as "// order-free: ..."`},
		{"map walk by iterator", "import \"maps\"\n\nfunc f(m map[int]int) {\n\tfor range maps.Keys(m) {\n\t}\n}", 6, "uses maps.Keys, which is not pure"},
		{"does not compile", "func f() int { return \"\" }", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := write(t, map[string]string{
				"spec/spec.go":        "package spec\n\nvar Table = []int{1}\n",
				"statemachine/p/p.go": "package p\n\n" + c.code + "\n",
			})
			found := run(t, tree, func(t *Tree) ([]Finding, error) { return Purity(t, "statemachine") })
			require.NotEmpty(t, found)
			if c.want != "" {
				require.Contains(t, found, fmt.Sprintf("statemachine/p/p.go:%d: purity: %s", c.line, c.want))
			}
		})
	}
}

func TestPurityRefusesOtherSources(t *testing.T) {
	tree := write(t, map[string]string{
		"statemachine/p/p.go":       "package p\n",
		"statemachine/p/p_plan9.go": "package p\n\nimport _ \"os\"\n",
		"statemachine/p/a.s":        "\n",
		"statemachine/q/q.go":       "package q\n",
	})
	require.ElementsMatch(t, []string{
		"statemachine/p/p_plan9.go: purity: only Go that builds everywhere belongs here",
		"statemachine/p/a.s: purity: only Go that builds everywhere belongs here",
	}, run(t, tree, func(t *Tree) ([]Finding, error) { return Purity(t, "statemachine") }))
}

func TestPurityAccepts(t *testing.T) {
	tree := write(t, map[string]string{
		"spec/spec.go": "package spec\n\nvar Table = []int{1}\n",
		"statemachine/m.go": `package statemachine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.test/m/spec"
)

// Wait is a value, not a clock.
const Wait = 10 * time.Second

type shape interface{ Area() int }

type square struct{ side int }

func (s square) Area() int { return s.side * s.side }

func (s *square) grow() { s.side++ }

var _ shape = square{}

var ErrX = errors.New("x")

var names = [...]string{"a", "b"}

type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

var errY = &refusal{"y"}

func Step(m map[int]int, in time.Duration) (int, error) {
	s := square{1}
	s.grow()
	sum := spec.Table[0]
	// order-free: a sum does not depend on the order
	for _, v := range m {
		sum += v
	}
	for _, n := range names {
		sum += len(n)
	}
	local := []int{1}
	local[0], sum = 2, sum+int(in.Milliseconds())
	slices.Sort(local)
	if sum < 0 {
		return 0, fmt.Errorf("%w: %w", ErrX, errY)
	}
	return sum, nil
}
`,
		"statemachine/internal/mtest/a.go": "package mtest\n\nimport _ \"os\"\n",
		"statemachine/m_test.go":           "package statemachine\n\nimport (\n\t_ \"os\"\n\t_ \"time\"\n)\n",
	})
	require.Empty(t, run(t, tree, func(t *Tree) ([]Finding, error) { return Purity(t, "statemachine") }))
}
