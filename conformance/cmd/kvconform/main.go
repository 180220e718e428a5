// Kvconform judges implementations of the protocol and the specification's own
// state.
//
//	kvconform requirements [--json] [--covers DIR]
//	kvconform vectors --dir DIR [--json]
//
// Results go to standard output, progress to standard error. It exits with 0 when
// all is well, 1 with findings, 2 when it was called wrongly, and 3 when it could
// not do its work.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// The exit codes.
const (
	exitOK       = 0
	exitFindings = 1
	exitUsage    = 2
	exitHarness  = 3
)

const usage = `usage:
  kvconform requirements [--json] [--covers DIR]
      which requirements a passed test shows; without --covers it runs go test ./...
      --covers DIR  the record of a run that had KVSETTLE_COVERS set to DIR
  kvconform vectors --dir DIR [--json]
      run the Go codecs over every *.jsonl file in DIR

exit: 0 ok, 1 findings, 2 usage, 3 could not do its work
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := command{ctx: ctx, stdout: stdout, stderr: stderr}
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "requirements":
		return c.requirements(args)
	case "vectors":
		return c.vectors(args)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	case "":
		return c.misuse("a command is missing")
	}
	return c.misuse("unknown command %q", name)
}

// command is where one call reads and writes.
type command struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

func (c *command) misuse(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "kvconform: "+format+"\n"+usage, args...)
	return exitUsage
}

func (c *command) broken(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "kvconform: "+format+"\n", args...)
	return exitHarness
}

// parse reads flags and refuses anything else; done is true when the command has
// been answered already, with the exit code.
func (c *command) parse(f *flag.FlagSet, args []string) (code int, done bool) {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case err == flag.ErrHelp:
		fmt.Fprint(c.stdout, usage)
		return exitOK, true
	case err != nil:
		return c.misuse("%s: %v", f.Name(), err), true
	case f.NArg() > 0:
		return c.misuse("%s: unexpected %q", f.Name(), f.Arg(0)), true
	}
	return 0, false
}

// printJSON writes a result for programs.
func (c *command) printJSON(v any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
