//go:build !linux

package service

func preferHugePages([]byte) {}
