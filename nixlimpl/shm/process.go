package shm

import "os"

// process is the process at the other end of a connection, as the kernel names
// it. watch is its pidfd, or nil where it is this very process.
type process struct {
	pid   int
	watch *os.File
}

// self reports whether the peer lives in this process, whose death nobody here can
// hear of.
func (p *process) self() bool { return p.watch == nil }

// close stops watching; wait then returns false. Idempotent.
func (p *process) close() {
	if p.watch != nil {
		p.watch.Close()
	}
}

// wait blocks until the process has ended (true) or close was called (false).
func (p *process) wait() bool {
	raw, err := p.watch.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool { return ended(int(fd)) })
	return err == nil
}

// alive reports whether the process still runs. Its pid names no other process
// as long as it does.
func (p *process) alive() bool {
	if p.self() {
		return true
	}
	raw, err := p.watch.SyscallConn()
	if err != nil {
		return false
	}
	dead := false
	err = raw.Control(func(fd uintptr) { dead = ended(int(fd)) })
	return err == nil && !dead
}
