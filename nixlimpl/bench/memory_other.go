//go:build !linux

package bench

func preferHugePages([]byte) {}
