// Command kvmodel works with the models of kvsettle: it explores the worlds that
// are made of the machines themselves, runs TLC on the TLA+ models, and shows that
// both are the same graph.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitOK       = 0
	exitViolated = 1
	exitUsage    = 2
	exitUnusable = 3
)

const usage = `kvmodel checks the protocol's machines.

  kvmodel list                        models, their sizes and bounds
  kvmodel explore MODEL... | --all    enumerate every reachable state
      --size small|medium|large       configuration (default medium)
      --json                          one JSON object on stdout
      --workers N                     goroutines (default: one per CPU)
      --max-states N                  give up beyond that many (exit 3)
      --symmetry                      merge states that differ by names only
      --svg DIR, --mermaid DIR        write each counterexample there as a picture
  kvmodel finding NAME... | --all     replay a world in which a property is known
                                      not to hold; exit 1 if it holds after all
      --svg DIR, --mermaid DIR        as above
  kvmodel bench [MODEL]               states per second and memory per state
      --size, --workers, --json       as above (default: v1, medium)
  kvmodel check MODEL... | --all      run TLC; compare with the ledger tla/models.json
      --size, --workers, --json       as above; several sizes with commas between
      --junit FILE                    results as JUnit XML
      --java, --jar, --offline        the tools to use; fetch none
      --heap N                        Java's heap in MiB (default 2048)
  kvmodel compare MODEL... | --all    TLC's graph against the Go world's: must be equal
      flags as for check
  kvmodel mutate MODEL... | --all     break the models on purpose; all must be seen
      --sample N, --seed S, --only P  take N at random; those whose name begins with P
      --no-tla, --no-go               leave out one kind; other flags as for check
  kvmodel explain MODEL PROPERTY      a counterexample as text, picture, trace and Go test
      --mutant NAME | --config FILE   what to break; --out DIR, --size as above
  kvmodel trace FILE [--tell]         replay a trace on the machines
  kvmodel doctor                      find Java and TLC, fetch them if needed, try them

exit codes: 0 ok, 1 violated, 2 usage, 3 model unusable or stopped early
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "explore":
		return exploreCommand(ctx, args[1:], stdout, stderr)
	case "bench":
		return benchCommand(ctx, args[1:], stdout, stderr)
	case "check":
		return checkCommand(ctx, args[1:], stdout, stderr)
	case "compare":
		return compareCommand(ctx, args[1:], stdout, stderr)
	case "mutate":
		return mutateCommand(ctx, args[1:], stdout, stderr)
	case "trace":
		return traceCommand(ctx, args[1:], stdout, stderr)
	case "explain":
		return explainCommand(ctx, args[1:], stdout, stderr)
	case "doctor":
		return doctorCommand(ctx, args[1:], stdout, stderr)
	case "finding":
		return findingCommand(ctx, args[1:], stdout, stderr)
	case "list":
		return listCommand(args[1:], stdout, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	fmt.Fprintf(stderr, "kvmodel: unknown command %q\n%s", args[0], usage)
	return exitUsage
}
