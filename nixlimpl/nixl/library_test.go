package nixl

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kvsettle/kvsettle/internal/fetch"
)

// notRun says loudly that a test did not run on this machine; TestMain repeats how
// many.
func notRun(t testing.TB, why string) {
	t.Helper()
	skipped.Lock()
	skipped.n++
	skipped.Unlock()
	fmt.Fprintf(os.Stderr, "NOT RUN: %s: %s\n", t.Name(), why)
	t.Skip("NOT RUN: " + why)
}

var skipped struct {
	sync.Mutex
	n int
}

var bring struct {
	once sync.Once
	err  error
}

// needLibrary finds the library, or fetches the pinned one into the cache.
func needLibrary(t testing.TB) {
	t.Helper()
	bring.once.Do(func() {
		if !withCgo {
			bring.err = fmt.Errorf("built without cgo")
			return
		}
		if _, bring.err = Find(""); bring.err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		_, bring.err = fetch.Get(ctx, Wheel(), func(s string) { fmt.Fprintln(os.Stderr, s) })
	})
	if bring.err != nil {
		notRun(t, "no NIXL library: "+bring.err.Error())
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	if os.Getenv(ServiceVariable) != "" {
		os.Exit(ServiceMain())
	}
	code := m.Run()
	if skipped.n > 0 {
		fmt.Fprintf(os.Stderr, "NOT RUN: %d tests of nixlimpl/nixl\n", skipped.n)
	}
	os.Exit(code)
}
