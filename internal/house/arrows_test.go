package house

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func imports(pkg, path string) string { return "package " + pkg + "\n\nimport _ \"" + path + "\"\n" }

func TestArrows(t *testing.T) {
	const m = "example.test/m"
	cases := []struct {
		name, file, imports string
		want                string // "" when it is allowed
	}{
		{"wire reads spec", "wire/a.go", m + "/spec", ""},
		{"a room imports itself", "wire/native/a.go", m + "/wire", ""},
		{"statemachine reads wire", "statemachine/a.go", m + "/wire/native", ""},
		{"conformance reads machines", "conformance/a.go", m + "/statemachine", ""},
		{"nixlimpl uses pins", "nixlimpl/a.go", m + "/internal/pins", ""},
		{"tla reads machines", "tla/a.go", m + "/statemachine", ""},
		{"nixlimpl uses a module", "nixlimpl/a.go", "golang.org/x/sys/unix", ""},
		{"wire test uses a test library", "wire/a_test.go", "github.com/stretchr/testify/require", ""},
		{"a test helper uses a test library", "wire/internal/wiretest/a.go", "github.com/stretchr/testify/require", ""},
		{"a test uses a helper", "wire/a_test.go", m + "/wire/internal/wiretest", ""},
		{"code uses a helper", "wire/a.go", m + "/wire/internal/wiretest", `wire/a.go:3: arrows: imports "example.test/m/wire/internal/wiretest": only tests may import a test helper`},
		{"a test helper imports statemachine", "wire/internal/wiretest/a.go", m + "/statemachine", `wire/internal/wiretest/a.go:3: arrows: imports "example.test/m/statemachine": wire may import only spec`},
		{"names that only begin alike", "wire/a_test.go", "github.com/stretchr/testifyish",
			`wire/a_test.go:3: arrows: imports "github.com/stretchr/testifyish": not one of the test libraries of example.test/m/wire`},

		{"spec imports wire", "spec/a.go", m + "/wire", `spec/a.go:3: arrows: imports "example.test/m/wire": spec imports no room`},
		{"wire imports statemachine", "wire/a.go", m + "/statemachine/slot", `wire/a.go:3: arrows: imports "example.test/m/statemachine/slot": wire may import only spec`},
		{"wire test imports statemachine", "wire/a_test.go", m + "/statemachine", `wire/a_test.go:3: arrows: imports "example.test/m/statemachine": wire may import only spec`},
		{"statemachine imports nixlimpl", "statemachine/a.go", m + "/nixlimpl", `statemachine/a.go:3: arrows: imports "example.test/m/nixlimpl": statemachine may import only spec, wire`},
		{"conformance imports nixlimpl", "conformance/a.go", m + "/nixlimpl/transport", `conformance/a.go:3: arrows: imports "example.test/m/nixlimpl/transport": conformance may import only spec, wire, statemachine, internal`},
		{"conformance test imports nixlimpl", "conformance/a_test.go", m + "/nixlimpl", `conformance/a_test.go:3: arrows: imports "example.test/m/nixlimpl": conformance may import only spec, wire, statemachine, internal`},
		{"nixlimpl imports tla", "nixlimpl/a.go", m + "/tla", `nixlimpl/a.go:3: arrows: imports "example.test/m/tla": nixlimpl may import only spec, wire, statemachine, internal`},
		{"internal imports spec", "internal/x/a.go", m + "/spec", `internal/x/a.go:3: arrows: imports "example.test/m/spec": internal imports no room`},
		{"wire imports internal", "wire/a.go", m + "/internal/x", `wire/a.go:3: arrows: imports "example.test/m/internal/x": wire may import only spec`},
		{"wire imports a module", "wire/a.go", "golang.org/x/sys/unix", `wire/a.go:3: arrows: imports "golang.org/x/sys/unix": wire uses the standard library only`},
		{"wire code imports a test library", "wire/a.go", "pgregory.net/rapid", `wire/a.go:3: arrows: imports "pgregory.net/rapid": wire uses the standard library only`},
		{"somebody imports the top", "tla/a.go", m, `tla/a.go:3: arrows: imports "example.test/m": the top level is no package`},
		{"Go outside the rooms", "docs/a.go", "fmt", `docs/a.go: arrows: no room for Go code here`},
		{"Go at the top", "a.go", "fmt", `a.go: arrows: no room for Go code here`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, write(t, map[string]string{c.file: imports("a", c.imports)}), Arrows)
			if c.want == "" {
				require.Empty(t, got)
			} else {
				require.Equal(t, []string{c.want}, got)
			}
		})
	}
}

func TestArrowsReportsWhatDoesNotParse(t *testing.T) {
	got := run(t, write(t, map[string]string{"wire/a.go": "import\n"}), Arrows)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "wire/a.go: arrows: ")
}
