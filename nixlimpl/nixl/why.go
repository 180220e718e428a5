package nixl

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// whyNoBackend says why the library could not make a backend; it does not say so
// itself.
func whyNoBackend(lib *Library, name string) *UnsupportedError {
	file := filepath.Join(lib.PluginDir, "libplugin_"+name+".so")
	fix := "unset NIXL_PLUGIN_DIR, or set it to the plugins folder of " + lib.Path
	if !exists(file) {
		return &UnsupportedError{Missing: []string{file + ": no such plugin"}, Fix: fix}
	}
	if err := preloadLibrary(file); err != nil {
		return &UnsupportedError{Missing: []string{file + ": cannot be loaded: " + err.Error()},
			Fix: "install what is missing, or use a NIXL whose UCX loads"}
	}
	return &UnsupportedError{Missing: append([]string{file + ": the backend " + name + " does not start"}, whySystem(os.Getenv("UCX_NET_DEVICES"), openFiles())...),
		Fix: "check UCX_TLS and UCX_NET_DEVICES (UCX needs one transport that reports failed peers, such as tcp); UCX_LOG_LEVEL=info and NIXL_LOG_LEVEL=DEBUG say more"}
}

// fewFiles is the limit on open files below which UCX is likely to run out.
const fewFiles = 256

// whySystem looks for reasons outside the library: interfaces that are named and are
// not there, or none at all, and a low limit on open files (0: unknown).
func whySystem(devices string, files uint64) []string {
	var out []string
	all, err := net.Interfaces()
	if err == nil && len(all) == 0 {
		out = append(out, "this system has no network interface: give it at least lo")
	}
	for _, d := range strings.Split(devices, ",") {
		d, _, _ = strings.Cut(strings.TrimSpace(d), ":")
		if d == "" || d == "all" || strings.ContainsAny(d, "*^") || strings.HasPrefix(d, "mlx") {
			continue
		}
		if _, err := net.InterfaceByName(d); err != nil {
			out = append(out, fmt.Sprintf("UCX_NET_DEVICES names %s, which is not an interface of this system", d))
		}
	}
	if files > 0 && files < fewFiles {
		out = append(out, fmt.Sprintf("this process may open %d files: raise that (ulimit -n), %d or more", files, fewFiles))
	}
	return out
}
