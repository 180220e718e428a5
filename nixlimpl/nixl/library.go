package nixl

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Library is the loaded library. There is one per process, for ever: UCX cannot be
// unloaded, and two copies of it in one process do not get along.
type Library struct {
	Found
	// Version is that of the wheel the library came in; empty when it is unknown: the
	// library itself cannot say.
	Version string `json:"version,omitempty"`
	// PluginDir is where it looks for plugins.
	PluginDir string `json:"plugin_dir"`
	// Missing are the optional functions that it lacks.
	Missing []string `json:"missing_functions,omitempty"`
}

var loaded struct {
	mu  sync.Mutex
	lib *Library
}

// environment is set before the library is loaded, where the user has not set it.
// The libraries read it once.
var environment = [][2]string{
	// Only C++ log lines say why a call failed, but they go to standard error of a
	// program that reports its errors itself.
	{"NIXL_LOG_LEVEL", "FATAL"},
	{"UCX_LOG_LEVEL", "fatal"},
	// Go owns the signals.
	{"UCX_HANDLE_ERRORS", "none"},
}

// Load loads the library at the given path, or the one that Find finds. The first
// success stands for the life of the process; asking for another file then is an
// error. The error is a *UnsupportedError that names the file and the fix.
func Load(given string) (*Library, error) { return load(given, true) }

// loadUnchecked is Load of a file whose hashes the starting process has checked.
func loadUnchecked(given string) (*Library, error) { return load(given, false) }

func load(given string, check bool) (*Library, error) {
	if !withCgo {
		return nil, &UnsupportedError{Missing: []string{"this program was built without cgo, or not for Linux"},
			Fix: "build it on Linux with CGO_ENABLED=1 and a C compiler"}
	}
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if loaded.lib != nil {
		if given == "" {
			return loaded.lib, nil
		}
		f, err := Find(given)
		if err != nil {
			return nil, err
		}
		if f.Path != loaded.lib.Path {
			return nil, &UnsupportedError{Missing: []string{"this process has loaded " + loaded.lib.Path + " already"},
				Fix: "use one library per process, not also " + f.Path}
		}
		return loaded.lib, nil
	}
	f, err := Find(given)
	if err != nil {
		return nil, err
	}
	if check {
		if err := verify(f); err != nil {
			return nil, err
		}
	}
	for _, kv := range environment {
		setEnv(kv[0], kv[1])
	}
	if err := open(f.Path); err != nil {
		return nil, err
	}
	loaded.lib = &Library{Found: f, Version: version(f.Path), PluginDir: pluginDir(f.Path), Missing: missingFunctions()}
	return loaded.lib, nil
}

// open loads the file; when a library that it needs is not found, those beside it
// are loaded first, in the order of their needs.
func open(path string) error {
	err := openLibrary(path)
	if err == nil {
		return nil
	}
	for _, base := range []string{"libserdes.so", "libnixl_common.so", "libstream.so", "libfile_utils.so", "libnixl_build.so", "libnixl.so"} {
		if f := filepath.Join(filepath.Dir(path), base); exists(f) {
			_ = preloadLibrary(f) // what stays missing shows below
		}
	}
	if again := openLibrary(path); again != nil {
		return &UnsupportedError{Missing: []string{path + ": " + again.Error()},
			Fix: "install what is missing (the wheel wants OpenSSL 3 from the system), or use another NIXL"}
	}
	return nil
}

func exists(f string) bool {
	_, err := os.Stat(f)
	return err == nil
}

var distInfo = regexp.MustCompile(`nixl_cu\d+-([0-9][0-9A-Za-z.]*)\.dist-info$`)

// version is that of the wheel around the file.
func version(path string) string {
	dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "nixl_cu*-*.dist-info"))
	kind := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "."), ".mesonpy.libs")
	for _, d := range dirs {
		if m := distInfo.FindStringSubmatch(d); m != nil && strings.HasPrefix(filepath.Base(d), kind+"-") {
			return m[1]
		}
	}
	return ""
}

// pluginDir is where the library looks: the variable, else beside libnixl.so.
func pluginDir(path string) string {
	if d := os.Getenv("NIXL_PLUGIN_DIR"); d != "" {
		return d
	}
	core := mappedFile("libnixl.so")
	if core == "" {
		core = path
	}
	return filepath.Join(filepath.Dir(core), "plugins")
}
