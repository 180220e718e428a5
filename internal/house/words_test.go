package house

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	tree := write(t, map[string]string{
		"wire/a.go":     "package wire\n\n// to" + "do: later\n",
		"docs/b.md":     "A Place" + "holder here.\nTwo on a line: FIX" + "ME, not  implemented.\n",
		"tla/c.tla":     "\\* a st" + "ub\n",
		"tla/d.txt":     "TO" + "DO\n",
		"wire/fine.go":  "package wire // to do is two words\n",
		"wire/e_gen.go": "package wire\n\nvar agentSt" + "ub int\n",
	})
	require.Equal(t, []string{
		"docs/b.md:1: words: holds Place" + "holder",
		"docs/b.md:2: words: holds FIX" + "ME",
		"tla/c.tla:1: words: holds st" + "ub",
		"wire/a.go:3: words: holds to" + "do",
		"wire/e_gen.go:3: words: holds St" + "ub",
	}, run(t, tree, Words))
}

func TestHosts(t *testing.T) {
	tree := write(t, map[string]string{
		".ci/run":    "pip --index-url https://py" + "pi.org/simple\nGOPROXY=https://Proxy.Go" + "lang.org\n",
		"wire/a.go":  "package wire // golang.org/x/sys is a module, not a registry\n",
		"wire/b.bin": "\x00py" + "pi.org",
	})
	require.Equal(t, []string{
		".ci/run:1: hosts: holds py" + "pi.org",
		".ci/run:2: hosts: holds Proxy.Go" + "lang.org",
	}, run(t, tree, Hosts))
}
