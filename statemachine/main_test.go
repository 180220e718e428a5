package statemachine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises rapid's number of checks where the command line does not set it.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		_ = flag.Set("rapid.checks", "3000")
	}
	os.Exit(m.Run())
}
