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
	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

var bring struct {
	once sync.Once
	err  error
}

// OptOut is the variable by which a user says that this machine shall not run the
// tests over NIXL; its value is 1.
const OptOut = "KVSETTLE_NO_NIXL"

// Need finds the library, or fetches the pinned one into the cache, and loads it.
// Where that is not possible the test fails, unless the user has opted out.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv(OptOut) == "1" {
		notrun.Skip(t, "over NIXL: "+OptOut+" is 1")
	}
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
		t.Fatalf("no NIXL library: %v (%s=1 leaves the tests over NIXL out)", bring.err, OptOut)
	}
}
