package tlc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrTruncated says that a dump ends in the middle: TLC was killed or the disk was
// full. It wraps ErrUnusable.
var ErrTruncated = fmt.Errorf("%w: the dump is cut short", ErrUnusable)

// maxDumpLine bounds one line of a dump.
const maxDumpLine = 1 << 24

// ReadDump streams a graph that TLC wrote with -dump dot,actionlabels. state is
// called for each state with TLC's number of it and the text of its variables;
// edge for each transition. The text belongs to the callee only during the call.
// An unreadable line is an error that names its number; a missing end is
// ErrTruncated.
func ReadDump(r io.Reader, state func(id int64, text []byte, initial bool) error, edge func(from, to int64, action string) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), maxDumpLine)
	n, open, ended := 0, false, false
	actions := map[string]string{}
	for sc.Scan() {
		n++
		line := bytes.TrimSpace(sc.Bytes())
		bad := func(why string) error {
			return fmt.Errorf("%w: dump line %d: %s: %.120q", ErrUnusable, n, why, line)
		}
		switch {
		case len(line) == 0:
		case bytes.HasPrefix(line, []byte("strict digraph")), bytes.HasPrefix(line, []byte("digraph")):
			open = true
		case !open:
			return bad("no graph")
		case bytes.Equal(line, []byte("}")):
			ended = true
		case line[0] == '-' || line[0] >= '0' && line[0] <= '9':
			ended = false
			id, rest, ok := leadingInt(line)
			if !ok {
				return bad("no state number")
			}
			if bytes.HasPrefix(rest, []byte("->")) {
				to, rest, ok := leadingInt(bytes.TrimSpace(rest[2:]))
				if !ok {
					return bad("no target state")
				}
				label, _, ok := attribute(rest, []byte(`label="`))
				if !ok {
					return bad("edge without action label")
				}
				name, seen := actions[string(label)]
				if !seen {
					name = string(label)
					actions[name] = name
				}
				if err := edge(id, to, name); err != nil {
					return err
				}
				continue
			}
			label, after, ok := attribute(rest, []byte(`label="`))
			if !ok {
				return bad("state without label")
			}
			if err := state(id, unescape(label), bytes.Contains(after, []byte("style = filled"))); err != nil {
				return err
			}
		default:
			// Layout: nodesep, subgraph, legend, rank.
			ended = ended && line[0] != '{'
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("%w: dump line %d is longer than %d bytes", ErrUnusable, n+1, maxDumpLine)
		}
		return fmt.Errorf("%w: reading the dump: %w", ErrUnusable, err)
	}
	if !ended {
		return ErrTruncated
	}
	return nil
}

func leadingInt(b []byte) (int64, []byte, bool) {
	i := 0
	for i < len(b) && (b[i] == '-' && i == 0 || b[i] >= '0' && b[i] <= '9') {
		i++
	}
	v, err := strconv.ParseInt(string(b[:i]), 10, 64)
	return v, bytes.TrimSpace(b[i:]), err == nil
}

// attribute returns the quoted value after key, with its escapes, and what follows.
func attribute(b, key []byte) (value, after []byte, ok bool) {
	at := bytes.Index(b, key)
	if at < 0 {
		return nil, nil, false
	}
	b = b[at+len(key):]
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// unescape undoes dot's escaping in place: \\ \" and \n.
func unescape(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		if b[i] == 'n' {
			out = append(out, '\n')
		} else {
			out = append(out, b[i])
		}
	}
	return out
}
