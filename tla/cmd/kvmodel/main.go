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
  kvmodel finding NAME... | --all     ask the doubts D1 to D16, and what was found beyond,
                                      again; exit 1 if an answer is not the recorded one
      --json, --svg, --mermaid        as above
      --pages DIR                     write the generated parts of the pages anew
  kvmodel bench [MODEL]               states per second and memory per state, and TLC's
                                      in the same run (default: slot, large)
      --go-only                       leave TLC out
      --size, --workers, --max-states, --json as above
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
  kvmodel simulate                    many transfers at once in virtual time, with faults
      --schedules N, --seed S         how many (default 10000), seed of the first
      --dialects A,B                  of legacy baseline enabled plain 48 49 48+49
      --transfers N, --workers N, --json
      --compare                       restarts per lost notice and per user cancel, side by side
      --only SEED [--out DIR]         one seed; a failing one is shrunk and written down
  kvmodel trace FILE [--tell]         replay a trace or a timeline on the machines
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
	case "simulate":
		return simulateCommand(ctx, args[1:], stdout, stderr)
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
