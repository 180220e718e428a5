package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/pins"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

// The environment variables by which the tools of the tla room are named.
const (
	javaVariable = "KVSETTLE_JAVA"
	jarVariable  = "KVSETTLE_TLC_JAR"
)

// system is the machine as the checks see it, so that tests can make one up.
type system struct {
	// root is the folder that stands for "/".
	root     string
	goos     string
	arch     string
	cpus     int
	env      func(string) string
	lookPath func(string) (string, error)
	// output runs a program and returns what it prints.
	output func(ctx context.Context, name string, args ...string) ([]byte, error)
	shm    func() []Check
	// library finds and loads NIXL; wanted says whether there is one to find or one was
	// named, so that not to have it is not what the user wants.
	library func() (*nixl.Library, error)
	wanted  func() bool
	// ucx starts an agent with it; nil leaves that check out.
	ucx func() (*nixl.Examination, error)
	// cached returns the entry of a pinned package in the user's cache, checked against
	// the hashes of its files.
	cached func(fetch.Want) (string, error)
	// nvml asks the driver; nil where that is not built in.
	nvml func() (string, error)
}

func here(library string) *system {
	return &system{
		root: "/", goos: runtime.GOOS, arch: runtime.GOARCH, cpus: runtime.GOMAXPROCS(0),
		env: os.Getenv, lookPath: exec.LookPath,
		output: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			return exec.CommandContext(ctx, name, args...).CombinedOutput()
		},
		shm:     probeSHM,
		library: func() (*nixl.Library, error) { return nixl.Load(library) },
		ucx:     func() (*nixl.Examination, error) { return nixl.Examine(library) },
		cached:  cached,
		wanted: func() bool {
			_, err := nixl.Find(library)
			return err == nil || library != "" || os.Getenv(nixl.LibraryVariable) != ""
		},
		nvml: askNVML,
	}
}

func cached(w fetch.Want) (string, error) {
	dir, err := fetch.Have(w)
	if err != nil {
		return "", err
	}
	return w.Entry(dir), w.Check(dir)
}

// want is a pinned package of which everything is kept.
func want(name string) fetch.Want {
	a, _ := pins.ByName(name) // a test asks for every name used here
	return fetch.Want{Artifact: a}
}

func (s *system) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

func (s *system) read(parts ...string) string {
	b, err := os.ReadFile(s.path(parts...))
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *system) goCheck() Check {
	c := Check{Name: "go", Status: OK, Found: fmt.Sprintf("%s, %s/%s", runtime.Version(), s.goos, s.arch)}
	if s.goos != "linux" {
		c.Status, c.Fix = Limited, "Use Linux to run services; here the code only builds and vets."
	}
	return c
}

func (s *system) cpuCheck() Check {
	c := Check{Name: "cpu", Status: OK, Found: fmt.Sprintf("%d usable", s.cpus)}
	if s.cpus < 2 {
		c.Status, c.Fix = Limited, "Give it two CPUs: CTX and GEN share one here, and bench figures mean little."
	}
	return c
}
