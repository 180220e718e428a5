package nixl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/pins"
)

// LibraryVariable is the environment variable that names the library, or a folder
// that holds it.
const LibraryVariable = "KVSETTLE_NIXL"

// capiNames are the file names of the library, the newer one second.
var capiNames = []string{"libnixl_capi.so", "libnixl_capi.so.0"}

// Source says where a library was found.
type Source string

// The sources, in the order in which Find looks.
const (
	FromFlag        Source = "flag"
	FromEnvironment Source = "environment"
	FromPython      Source = "python"
	FromSystem      Source = "system"
	FromCache       Source = "cache"
)

// Found is a library file.
type Found struct {
	// Path is absolute.
	Path string `json:"path"`
	// Source says where it was found.
	Source Source `json:"source"`
}

// Find looks for the library: given (a flag's value; a file or a folder), then the
// environment variable, then Python's folders, the system's, and the cache. What
// was named explicitly is used or refused, never passed over. The error is a
// *UnsupportedError that says where it looked and what to do.
func Find(given string) (Found, error) {
	source := FromFlag
	if given == "" {
		given, source = os.Getenv(LibraryVariable), FromEnvironment
	}
	if given != "" {
		path, err := locate(given)
		if err != nil {
			return Found{}, &UnsupportedError{Missing: []string{fmt.Sprintf("%s (%s): %v", given, source, err)},
				Fix: "name libnixl_capi.so, a folder that holds it, or a site-packages folder with a nixl wheel"}
		}
		return Found{path, source}, nil
	}
	for _, p := range pythonFolders() {
		if path, err := locate(p); err == nil {
			return Found{path, FromPython}, nil
		}
	}
	for _, p := range systemFolders() {
		if path, err := locate(p); err == nil {
			return Found{path, FromSystem}, nil
		}
	}
	if dir, err := fetch.Have(Wheel()); err == nil {
		return Found{Wheel().Entry(dir), FromCache}, nil
	}
	return Found{}, &UnsupportedError{
		Missing: []string{"no libnixl_capi.so in " + LibraryVariable + ", Python's and the system's folders, or the cache"},
		Fix:     "run `kvtransceiver doctor --fetch`, or install nixl-cu13 with pip, or set " + LibraryVariable + " to the library",
	}
}

// wheelManifest pins the list of the files that Wheel keeps, each with its hash; it
// changes with the wheel and with Keep.
const wheelManifest = "818ed3220dca0631c30047204e96ee574b5d077fcc84cc7024e9d1492b41ae0b"

// Wheel is what to fetch for a machine without the library: the pinned wheel, and
// of it only the library with all that it needs, the UCX plugin, the modules of UCX
// that serve host and CUDA memory, and the version.
func Wheel() fetch.Want {
	a, _ := pins.ByName("nixl-cu13")
	return fetch.Want{Artifact: a, Follow: true, Manifest: wheelManifest, Keep: []string{
		".nixl_cu13.mesonpy.libs/libnixl_capi.so", ".nixl_cu13.mesonpy.libs/plugins/libplugin_UCX.so",
		"nixl_cu13.libs/ucx/libuct_*.so.0.0.0", "nixl_cu13.libs/ucx/libucm_cuda.so.0.0.0",
		"nixl_cu13-*.dist-info/METADATA", "nixl_cu13-*.dist-info/licenses/*",
	}}
}

// locate finds the library at p: the file itself, in the folder p, or in the
// folders of a wheel below the site-packages folder p.
func locate(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(p)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	if !st.IsDir() {
		return p, nil
	}
	for _, dir := range []string{"", "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", ".nixl_cu13.mesonpy.libs", ".nixl_cu12.mesonpy.libs"} {
		for _, name := range capiNames {
			f := filepath.Join(p, dir, name)
			if st, err := os.Stat(f); err == nil && !st.IsDir() {
				return f, nil
			}
		}
	}
	return "", errors.New("the folder holds no libnixl_capi.so")
}

func pythonFolders() []string {
	out := filepath.SplitList(os.Getenv("PYTHONPATH"))
	roots := []string{"/usr", "/usr/local"}
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		roots = append([]string{v}, roots...)
	}
	if v := os.Getenv("CONDA_PREFIX"); v != "" {
		roots = append(roots, v)
	}
	if p, err := exec.LookPath("python3"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			roots = append(roots, filepath.Dir(filepath.Dir(p)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, ".local"))
	}
	for _, r := range roots {
		for _, kind := range []string{"site-packages", "dist-packages"} {
			found, _ := filepath.Glob(filepath.Join(r, "lib", "python3*", kind))
			out = append(out, found...)
		}
	}
	return out
}

func systemFolders() []string {
	var out []string
	for _, p := range append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")),
		"/usr/local/nixl", "/opt/nvidia/nvda_nixl", "/usr/local", "/usr") {
		if strings.HasPrefix(p, "/") {
			out = append(out, p)
		}
	}
	return out
}
