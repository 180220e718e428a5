//go:build unix

package main

import "syscall"

// cpuSeconds is the CPU time of this process so far, or of its children that ended.
func cpuSeconds(children bool) float64 {
	who := syscall.RUSAGE_SELF
	if children {
		who = syscall.RUSAGE_CHILDREN
	}
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
