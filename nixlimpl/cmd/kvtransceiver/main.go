// Command kvtransceiver is kvsettle's reference transceiver.
package main

import (
	"fmt"
	"io"
	"os"
)

// The exit codes of every subcommand.
const (
	exitOK      = 0 // done, every invariant held
	exitBroken  = 1 // an invariant broke
	exitUsage   = 2 // bad usage or input; nothing was started
	exitMachine = 3 // this machine cannot do it
)

const help = `kvtransceiver moves KV cache between two services by the kvsettle protocol.

  kvtransceiver demo [flags]     run both services here and replay a trace
  kvtransceiver bench [flags]    measure a hand-over against plain copies
  kvtransceiver doctor [flags]   what this machine can run, and how to get the rest
  kvtransceiver help             this text

Every subcommand takes --help. Results go to standard output, logs to standard error.
Exit codes: 0 ok, 1 an invariant broke, 2 bad usage or input, 3 this machine cannot do it.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, help)
		return exitUsage
	}
	switch args[0] {
	case "demo":
		return runDemo(args[1:], stdout, stderr)
	case "bench":
		return runBench(args[1:], stdout, stderr)
	case "doctor":
		return runDoctor(args[1:], stdout, stderr)
	case "child":
		return runChild(stdout, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, help)
		return exitOK
	}
	fmt.Fprintf(stderr, "unknown subcommand %q\n\n%s", args[0], help)
	return exitUsage
}
