package nixl

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/kvsettle/kvsettle/internal/fetch"
)

// verify looks at the files before any of them is mapped, because the dynamic
// linker ends the process over a cut one: what the cache holds against the pinned
// hashes (every file, once per process), and whatever the library needs beside it for being whole.
func verify(f Found) error {
	if dir, err := fetch.Have(Wheel()); err == nil && within(f.Path, dir) {
		err := Wheel().Check(dir)
		var changed *fetch.ChangedError
		if errors.As(err, &changed) {
			return &UnsupportedError{Missing: []string{changed.Error()}, Fix: "run `kvtransceiver doctor --fetch`, which fetches it again"}
		}
		if err != nil {
			return &UnsupportedError{Missing: []string{err.Error()}, Fix: "make the folder readable, or remove it and run `kvtransceiver doctor --fetch`"}
		}
	}
	return inspectAll(f.Path)
}

// within says whether file lies in the folder dir, links followed.
func within(file, dir string) bool {
	if p, err := filepath.EvalSymlinks(file); err == nil {
		file = p
	}
	if p, err := filepath.EvalSymlinks(dir); err == nil {
		dir = p
	}
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// inspectAll inspects a library and what it needs that its own search path finds.
func inspectAll(path string) error {
	files := []string{path}
	for i := 0; i < len(files); i++ {
		needed, err := inspect(files[i])
		if err != nil {
			return err
		}
		for _, n := range needed {
			if !slices.Contains(files, n) {
				files = append(files, n)
			}
		}
	}
	return nil
}

// inspectPlugin is inspectAll for a backend's plugin and the modules of its UCX.
func inspectPlugin(lib *Library, name string) error {
	plugin := filepath.Join(lib.PluginDir, "libplugin_"+name+".so")
	if !exists(plugin) {
		return nil // said better when the backend does not come up
	}
	if err := inspectAll(plugin); err != nil {
		return err
	}
	needed, err := inspect(plugin)
	if err != nil {
		return err
	}
	for _, n := range needed {
		if !strings.HasPrefix(filepath.Base(n), "libuc") {
			continue
		}
		modules, _ := filepath.Glob(filepath.Join(filepath.Dir(n), "ucx", "libuc*.so*"))
		for _, m := range modules {
			if err := inspectAll(m); err != nil {
				return err
			}
		}
		break
	}
	return nil
}

// inspect says what is wrong with a file better than the dynamic linker does, and
// which files it needs.
func inspect(path string) (needed []string, err error) {
	bad := func(what, fix string) ([]string, error) {
		return nil, &UnsupportedError{Missing: []string{path + ": " + what}, Fix: fix}
	}
	const again = "name another file, or remove it and fetch or install it again"
	file, err := elf.Open(path)
	if err != nil {
		return bad(fmt.Sprintf("no shared library: %v", err), again)
	}
	defer file.Close()
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if file.Machine != want {
		return bad(fmt.Sprintf("built for %v, this machine is %s", file.Machine, runtime.GOARCH), "use a library for this architecture")
	}
	if file.Type != elf.ET_DYN {
		return bad("no shared library", "name libnixl_capi.so")
	}
	st, err := os.Stat(path)
	if err != nil {
		return bad(err.Error(), again)
	}
	for _, p := range file.Progs {
		if end := p.Off + p.Filesz; p.Type == elf.PT_LOAD && (end < p.Off || end > uint64(st.Size())) {
			return bad(fmt.Sprintf("cut off: it has %d bytes and should have %d or more", st.Size(), end), again)
		}
	}
	names, err := file.ImportedLibraries()
	if err != nil {
		return bad(fmt.Sprintf("no shared library: %v", err), again)
	}
	for _, n := range names {
		for _, dir := range searchPath(file, filepath.Dir(path)) {
			if f := filepath.Join(dir, n); exists(f) {
				needed = append(needed, f)
				break
			}
		}
	}
	return needed, nil
}

// searchPath is where a library says that what it needs is, and its own folder.
func searchPath(file *elf.File, own string) []string {
	var out []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		list, _ := file.DynString(tag)
		for _, l := range list {
			for _, dir := range filepath.SplitList(l) {
				dir = strings.NewReplacer("${ORIGIN}", own, "$ORIGIN", own).Replace(dir)
				if filepath.IsAbs(dir) {
					out = append(out, filepath.Clean(dir))
				}
			}
		}
	}
	return append(out, own)
}
