// Command gen renders the tables of package spec into the chapters, between the
// marker comments. Run it with `go generate ./spec`; with -check it changes
// nothing and fails when a chapter is not up to date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("check", false, "change nothing; fail when a chapter is not up to date")
	dir := flags.String("dir", ".", "the folder of the chapters")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	stale, err := update(*dir, *check)
	if err != nil {
		fmt.Fprintln(stderr, "gen:", err)
		return 2
	}
	for _, name := range stale {
		fmt.Fprintln(stdout, name)
	}
	if *check && len(stale) > 0 {
		fmt.Fprintln(stderr, "gen: these chapters differ from their tables: run go generate ./spec")
		return 1
	}
	return 0
}

// update renders every chapter in dir from the tables in dir and returns those
// that differed. With check it writes nothing.
func update(dir string, check bool) ([]string, error) {
	fsys := os.DirFS(dir)
	rendered, err := render(fsys)
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, c := range rendered {
		if bytes.Equal(c.old, c.new) {
			continue
		}
		stale = append(stale, c.name)
		if check {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, c.name), c.new, 0o644); err != nil {
			return nil, err
		}
	}
	return stale, nil
}
