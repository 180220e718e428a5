package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const perfect = `{"requests": 12, "dispositions": {"completed": 12, "rejected": 0, "cancelled": 0, "failed": 0},
"reasons": {}, "unsettled": 0, "faults_injected": {}, "bytes": 4096, "seconds": 1.5, "gb_per_s": 2,
"blocks_verified": 30, "blocks_corrupt": 0, "canary_violations": 0, "restarts": 0, "interrupted": false,
"slots": {"ctx": {"free": 8, "leased": 0, "quarantined": 0, "total": 8}, "gen": {"free": 4, "leased": 0, "quarantined": 0, "total": 4}}}`

func TestPerfect(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(strings.NewReader(perfect+"\n"), &out))
	require.Equal(t, "demo: 12 requests completed, 30 blocks verified, 4096 bytes in 1.50 s, all slots free (ctx 8, gen 4)\n", out.String())
}

func TestImperfect(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"requests": 12`, `"requests": 13`, "dispositions.completed is 12, want 13"},
		{`"requests": 12`, `"requests": 0`, "requests is 0, want more than 0"},
		{`"requests": 12,`, ``, "requests is missing"},
		{`"rejected": 0`, `"rejected": 1`, "dispositions.rejected is 1, want 0"},
		{`"cancelled": 0`, `"cancelled": 1`, "dispositions.cancelled is 1, want 0"},
		{`"failed": 0`, `"failed": 1`, "dispositions.failed is 1, want 0"},
		{`"dispositions"`, `"disposition"`, "dispositions is missing"},
		{`"unsettled": 0`, `"unsettled": 1`, "unsettled is 1, want 0"},
		{`"unsettled": 0,`, ``, "unsettled is missing"},
		{`"bytes": 4096`, `"bytes": 0`, "bytes is 0, want more than 0"},
		{`"seconds": 1.5,`, ``, "seconds is missing"},
		{`"blocks_verified": 30`, `"blocks_verified": 0`, "blocks_verified is 0, want more than 0"},
		{`"blocks_corrupt": 0`, `"blocks_corrupt": 2`, "blocks_corrupt is 2, want 0"},
		{`"canary_violations": 0`, `"canary_violations": 1`, "canary_violations is 1, want 0"},
		{`"restarts": 0`, `"restarts": 1`, "restarts is 1, want 0"},
		{`"interrupted": false`, `"interrupted": true`, "interrupted is missing or true"},
		{`"interrupted": false,`, ``, "interrupted is missing or true"},
		{`"free": 8`, `"free": 7`, "slots.ctx.free is 7, want 8"},
		{`"free": 4, "leased": 0`, `"free": 4, "leased": 1`, "slots.gen.leased is 1, want 0"},
		{`"quarantined": 0, "total": 8`, `"quarantined": 1, "total": 8`, "slots.ctx.quarantined is 1, want 0"},
		{`"total": 4`, `"total": 0`, "slots.gen.total is 0, want more than 0"},
		{`"gen": {"free"`, `"other": {"free"`, "slots.gen is missing"},
		{`"slots"`, `"slot"`, "slots is missing"},
		{`{"requests"`, `["requests"`, "no JSON object on standard input"},
		{`"total": 4}}}`, `"total": 4}}} {}`, "something follows the JSON object"},
	} {
		t.Run(c.want, func(t *testing.T) {
			text := strings.Replace(perfect, c.old, c.new, 1)
			require.NotEqual(t, perfect, text)
			require.ErrorContains(t, run(strings.NewReader(text), &bytes.Buffer{}), c.want)
		})
	}
	require.Error(t, run(strings.NewReader(""), &bytes.Buffer{}))
}

func Example() {
	if err := run(strings.NewReader(perfect), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: demo: 12 requests completed, 30 blocks verified, 4096 bytes in 1.50 s, all slots free (ctx 8, gen 4)
}
