//go:build cgo && linux

package nixl

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/fetch"
)

// start runs a helper that must not come up and returns what it says.
func refusedStart(t *testing.T, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(append(os.Environ(), helperVariable+"="+fresh("broken")), env...)
	out, err := cmd.Output()
	var e *exec.ExitError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 3, e.ExitCode())
	var a answer
	require.NoError(t, json.NewDecoder(bytes.NewReader(out)).Decode(&a))
	require.Equal(t, "failed", a.Op)
	return a.Err
}

// Whatever is wrong with the library, the error names the file and the fix.
func TestBadLibraries(t *testing.T) {
	needLibrary(t)
	lib, err := Load("")
	require.NoError(t, err)
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		f := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, b, 0o644))
		return f
	}
	real, err := os.ReadFile(lib.Path)
	require.NoError(t, err)
	arm := append([]byte(nil), real...)
	arm[18], arm[19] = 183, 0 // e_machine: AArch64
	plugin, err := os.ReadFile(filepath.Join(lib.PluginDir, "libplugin_UCX.so"))
	require.NoError(t, err)
	put("lonely/libplugin_UCX.so", plugin)
	put("garbage/libplugin_UCX.so", []byte("no library"))
	put("none/readme", nil)
	armed := append([]byte(nil), plugin...)
	armed[18], armed[19] = 183, 0
	put("armed/libplugin_UCX.so", armed)
	put("cut/libplugin_UCX.so", plugin[:len(plugin)/2])
	libc := mappedFile("libc.so")
	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"missing file", []string{LibraryVariable + "=" + dir + "/absent.so"}, []string{dir + "/absent.so", "no such file"}},
		{"folder without it", []string{LibraryVariable + "=" + dir + "/none"}, []string{dir + "/none", "holds no libnixl_capi.so"}},
		{"text file", []string{LibraryVariable + "=" + put("text.so", []byte("hello"))}, []string{dir + "/text.so", "no shared library"}},
		{"empty file", []string{LibraryVariable + "=" + put("empty.so", nil)}, []string{dir + "/empty.so", "no shared library"}},
		{"truncated", []string{LibraryVariable + "=" + put("short.so", real[:5000])}, []string{dir + "/short.so"}},
		{"wrong architecture", []string{LibraryVariable + "=" + put("arm.so", arm)}, []string{dir + "/arm.so", "EM_AARCH64", "amd64"}},
		{"another library", []string{LibraryVariable + "=" + libc}, []string{libc, "nixl_capi_create_configured_agent", "no function"}},
		{"alone, without what it needs", []string{LibraryVariable + "=" + put("lone/libnixl_capi.so", real)}, []string{"lone/libnixl_capi.so", "libnixl"}},
		{"empty plugin folder", []string{"NIXL_PLUGIN_DIR=" + dir + "/none"}, []string{dir + "/none/libplugin_UCX.so", "no such plugin", "NIXL_PLUGIN_DIR"}},
		{"garbage plugin", []string{"NIXL_PLUGIN_DIR=" + dir + "/garbage"}, []string{dir + "/garbage/libplugin_UCX.so", "no shared library"}},
		{"plugin of another architecture", []string{"NIXL_PLUGIN_DIR=" + dir + "/armed"}, []string{dir + "/armed/libplugin_UCX.so", "EM_AARCH64", "amd64"}},
		{"cut plugin", []string{"NIXL_PLUGIN_DIR=" + dir + "/cut"}, []string{dir + "/cut/libplugin_UCX.so"}},
		{"cut in the middle", []string{LibraryVariable + "=" + put("half.so", real[:len(real)-len(real)/3])}, []string{dir + "/half.so"}},
		{"plugin whose UCX is missing", []string{"NIXL_PLUGIN_DIR=" + dir + "/lonely"}, []string{dir + "/lonely/libplugin_UCX.so", "cannot be loaded", "libucp"}},
		{"transports that do not exist", []string{"UCX_TLS=nonsense"}, []string{"does not start", "UCX_TLS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := refusedStart(t, c.env...)
			for _, w := range c.want {
				require.Contains(t, text, w)
			}
			require.Contains(t, text, string(ReasonUnsupported))
		})
	}
}

func TestNothingFound(t *testing.T) {
	empty := t.TempDir()
	for _, v := range []string{LibraryVariable, "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", empty)
	t.Setenv("PATH", empty)
	t.Setenv(fetch.CacheVariable, empty)
	f, err := Find("")
	if err == nil {
		require.Contains(t, []Source{FromPython, FromSystem}, f.Source)
		notRun(t, "this machine has "+f.Path)
	}
	var u *UnsupportedError
	require.ErrorAs(t, err, &u)
	require.Contains(t, u.Fix, "doctor --fetch")
}

// The order: what is named wins and is never passed over.
func TestFindOrder(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"flag", "env", "py/.nixl_cu12.mesonpy.libs", "ld"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, d, "libnixl_capi.so"), nil, 0o644))
	}
	t.Setenv(LibraryVariable, filepath.Join(dir, "env"))
	t.Setenv("PYTHONPATH", filepath.Join(dir, "py"))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "ld"))
	want := func(given string, source Source, part string) {
		t.Helper()
		f, err := Find(given)
		require.NoError(t, err)
		require.Equal(t, source, f.Source)
		require.Equal(t, filepath.Join(dir, part, "libnixl_capi.so"), f.Path)
	}
	want(filepath.Join(dir, "flag"), FromFlag, "flag")
	want("", FromEnvironment, "env")
	t.Setenv(LibraryVariable, "")
	want("", FromPython, "py/.nixl_cu12.mesonpy.libs")
	t.Setenv("PYTHONPATH", "")
	f, err := Find("")
	require.NoError(t, err)
	require.Contains(t, []Source{FromPython, FromSystem}, f.Source)
	_, err = Find(filepath.Join(dir, "nowhere"))
	require.ErrorContains(t, err, "nowhere")
}

func TestVersionIsTheWheels(t *testing.T) {
	needLibrary(t)
	lib, err := Load("")
	require.NoError(t, err)
	if lib.Source == FromCache {
		require.Equal(t, Wheel().Artifact.Version, lib.Version)
		begun := time.Now()
		require.NoError(t, verify(lib.Found))
		t.Logf("hashes and forms of all files checked in %v", time.Since(begun))
	}
	require.Empty(t, lib.Missing)
	require.FileExists(t, filepath.Join(lib.PluginDir, "libplugin_UCX.so"))
	_, err = Load("/somewhere/else")
	require.Error(t, err)
}

func TestExamine(t *testing.T) {
	needLibrary(t)
	e, err := Examine("")
	require.NoError(t, err)
	require.Contains(t, e.Plugins, "UCX")
	require.Contains(t, e.Transports, "tcp")
	require.Contains(t, e.Transports, "cma")
	require.FileExists(t, e.UCX)
	t.Logf("transports %v, unusable %v", e.Transports, e.Unusable)
}

func TestReasonsOutsideTheLibrary(t *testing.T) {
	require.Empty(t, whySystem("", 1024))
	require.Empty(t, whySystem("lo,all,mlx5_0:1", 0))
	require.Contains(t, whySystem("lo,nope0", 0)[0], "nope0")
	require.Contains(t, whySystem("", 64)[0], "ulimit -n")
}
