package nixl

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// Examination is what a library can do on this machine, found by starting an agent.
type Examination struct {
	Library
	// Plugins are the backends that the library has found.
	Plugins []string `json:"plugins"`
	// UCX is the path of the loaded libucp.
	UCX string `json:"ucx"`
	// Transports are what this UCX has here: its built-in ones and the modules that load.
	// UCX_TLS restricts them further.
	Transports []string `json:"transports"`
	// Unusable are the modules that do not load, each with the reason.
	Unusable []string `json:"unusable,omitempty"`
}

// builtIn are the transports in UCX itself.
var builtIn = []string{"self", "tcp", "posix", "sysv"}

var moduleName = regexp.MustCompile(`^libuct_(\w+)\.so`)

// Examine loads the library as Load does, starts an agent with the UCX backend and
// looks at what is there. Errors as for Open.
func Examine(given string) (*Examination, error) {
	var b [8]byte
	rand.Read(b[:]) // never fails
	a, err := Open(Config{Name: "kvsettle-doctor-" + hex.EncodeToString(b[:]), Library: given}, func(transport.Event) {})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	e := &Examination{Library: a.Library(), UCX: filepath.Clean(mappedFile("libucp")), Transports: append([]string(nil), builtIn...)}
	if text, st := availablePlugins(a.h); st == success && text != "" {
		e.Plugins = strings.Split(text, ",")
		sort.Strings(e.Plugins)
	}
	dir := filepath.Join(filepath.Dir(mappedFile("libucs")), "ucx")
	if d := os.Getenv("UCX_MODULE_DIR"); d != "" && !exists(dir) {
		dir = d
	}
	files, _ := filepath.Glob(filepath.Join(dir, "libuct_*.so*"))
	for _, f := range files {
		m := moduleName.FindStringSubmatch(filepath.Base(f))
		if m == nil {
			continue
		}
		if err := preloadLibrary(f); err != nil {
			e.Unusable = append(e.Unusable, m[1]+": "+err.Error())
			continue
		}
		e.Transports = append(e.Transports, m[1])
	}
	return e, nil
}
