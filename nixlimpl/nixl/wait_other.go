//go:build !linux

package nixl

import "time"

type waiter struct{}

func newWaiter() (*waiter, error) { return &waiter{}, nil }

func (*waiter) sleep(d time.Duration, _ func() bool) { time.Sleep(d) }
func (*waiter) idle(f func(fd int), _ func() bool)   { f(0) }
func (*waiter) wake()                                {}
func (*waiter) close()                               {}

func preciseSleep() func() { return func() {} }
