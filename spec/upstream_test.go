package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUpstreamMapsTheWholeMatrix: docs/upstream.md names M01 to M72 and D1 to D16,
// each once and with a requirement.
func TestUpstreamMapsTheWholeMatrix(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root(t), "docs", "upstream.md"))
	require.NoError(t, err)
	row := regexp.MustCompile(`^\| ([MD][0-9]+) \|.* \| (KS-[A-Z0-9]+-[0-9]+, )*KS-[A-Z0-9]+-[0-9]+ \|$|^\| (D[0-9]+) \| KS-`)
	seen := map[string]int{}
	for _, line := range strings.Split(string(b), "\n") {
		if m := row.FindStringSubmatch(line); m != nil {
			seen[m[1]+m[3]]++
		}
	}
	for i := 1; i <= 72; i++ {
		require.Equal(t, 1, seen[fmt.Sprintf("M%02d", i)], "M%02d", i)
	}
	for i := 1; i <= 16; i++ {
		require.Equal(t, 1, seen[fmt.Sprintf("D%d", i)], "D%d", i)
	}
}
