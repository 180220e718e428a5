//go:build unix

package nixl

import "syscall"

// noCore keeps a process that is there to be ended from leaving its memory on disk.
func noCore() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }

// openFiles is the limit on open files, or 0.
func openFiles() uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Cur)
}
