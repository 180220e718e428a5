package nixl

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/internal/notrun"
)

// notRun says loudly that a test did not run on this machine.
func notRun(t testing.TB, why string) {
	t.Helper()
	notrun.Skip(t, why)
}

var bring struct {
	once sync.Once
	err  error
}

// needLibrary finds the library, or fetches the pinned one into the cache.
func needLibrary(t testing.TB) {
	t.Helper()
	if os.Getenv("KVSETTLE_NO_NIXL") == "1" {
		notRun(t, "over NIXL: KVSETTLE_NO_NIXL is 1")
	}
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
		t.Fatalf("no NIXL library: %v (KVSETTLE_NO_NIXL=1 leaves the tests over NIXL out)", bring.err)
	}
}

// probeVariable makes the test program a probe.
const probeVariable = "KVSETTLE_NIXL_PROBE"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	if os.Getenv(probeVariable) != "" {
		in := bufio.NewReader(os.Stdin)
		first, _ := in.ReadSlice('\n')
		os.Exit(ServeProbe(first, in))
	}
	if os.Getenv(ServiceVariable) != "" {
		os.Exit(ServiceMain())
	}
	os.Exit(m.Run())
}
