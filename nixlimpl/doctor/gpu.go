package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	gpuNode       = regexp.MustCompile(`^nvidia[0-9]+$`)
	driverVersion = regexp.MustCompile(`[0-9]+\.[0-9.]+`)
)

// gpuCheck looks for device nodes, the kernel driver and the two libraries of
// NVIDIA; with the build tag nvml it asks the driver as well.
func (s *system) gpuCheck() Check {
	c := Check{Name: "gpu", Status: Missing}
	nodes := 0
	entries, _ := os.ReadDir(s.path("dev"))
	for _, e := range entries {
		if gpuNode.MatchString(e.Name()) {
			nodes++
		}
	}
	driver := driverVersion.FindString(s.read("proc/driver/nvidia/version"))
	if nodes == 0 && driver == "" {
		c.Found, c.Fix = "no NVIDIA device and no driver", "Nothing here needs one; for GPU memory use a machine with an NVIDIA GPU and its driver."
		return c
	}
	var lacks []string
	if nodes == 0 {
		lacks = append(lacks, "/dev/nvidia0")
	}
	if driver == "" {
		lacks = append(lacks, "/proc/driver/nvidia")
	}
	for _, lib := range []string{"libnvidia-ml.so.1", "libcuda.so.1"} {
		if s.libraryPath(lib) == "" {
			lacks = append(lacks, lib)
		}
	}
	c.Found = fmt.Sprintf("%d device nodes, driver %s%s", nodes, orNone(driver), s.models())
	if lacks != nil {
		c.Status, c.Found = Limited, c.Found+", lacks "+strings.Join(lacks, ", ")
		c.Fix = "Install the whole NVIDIA driver; in a container pass the GPUs in (for Docker: --gpus all)."
		return c
	}
	if s.nvml != nil {
		said, err := s.nvml()
		if err != nil {
			c.Status, c.Found, c.Fix = Limited, c.Found+", NVML: "+err.Error(), "See whether nvidia-smi works, and restart or reinstall the driver if not."
			return c
		}
		c.Found += ", " + said
	}
	c.Status = OK
	return c
}

// models lists what the kernel driver says its GPUs are.
func (s *system) models() string {
	var out []string
	files, _ := filepath.Glob(s.path("proc/driver/nvidia/gpus/*/information"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				out = append(out, strings.TrimSpace(name))
			}
		}
	}
	if out == nil {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// libraryPath looks where the dynamic linker of the usual systems looks.
func (s *system) libraryPath(name string) string {
	dirs := append(filepath.SplitList(s.env("LD_LIBRARY_PATH")),
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
		"/usr/lib64", "/usr/lib", "/usr/local/nvidia/lib64", "/usr/local/lib", "/usr/lib/wsl/lib")
	for _, dir := range dirs {
		if p := s.path(dir, name); dir != "" && exists(p) {
			return p
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func orNone(s string) string {
	if s == "" {
		return "not loaded"
	}
	return s
}
