// Package nixltest helps tests of other packages that need the NIXL library.
package nixltest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

var bring struct {
	once sync.Once
	err  error
}

// Need finds the library, or fetches the pinned one into the cache, and loads it.
// Where that is not possible it skips the test and says so on standard error.
func Need(t testing.TB) {
	t.Helper()
	bring.once.Do(func() {
		if _, bring.err = nixl.Find(""); bring.err != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			if _, bring.err = fetch.Get(ctx, nixl.Wheel(), func(s string) { fmt.Fprintln(os.Stderr, s) }); bring.err != nil {
				return
			}
		}
		_, bring.err = nixl.Load("")
	})
	if bring.err != nil {
		NotRun(t, "no NIXL library: "+bring.err.Error())
	}
}

// NotRun skips the test and says so on standard error.
func NotRun(t testing.TB, why string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "NOT RUN: %s: %s\n", t.Name(), why)
	t.Skip("NOT RUN: " + why)
}
