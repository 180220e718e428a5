package trace

import (
	"bufio"
	"bytes"
	_ "embed" // for the slice of the conversation trace
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/kvsettle/kvsettle/spec"
)

// Bounds of what a trace may hold.
const (
	// PrefixTokens is the number of tokens that one hash id stands for.
	PrefixTokens = 512
	// MaxLine is the largest line in bytes, its end not counted.
	MaxLine = 1 << 20
	// MaxTokens bounds input_length (1 to MaxTokens) and output_length (0 to MaxTokens).
	MaxTokens = 10_000_000
	// MaxTimestampMS bounds timestamp (0 to MaxTimestampMS), so that the caller's
	// arithmetic in nanoseconds cannot overflow; it is about 139 years.
	MaxTimestampMS = 1 << 42
)

// EmbeddedFile is the name under which errors and reports speak of the slice
// that is built into the program.
const EmbeddedFile = "embedded:conversation_slice.jsonl"

// embedded is documented in README.md beside it.
//
//go:embed conversation_slice.jsonl
var embedded []byte

// Request is one line of a trace.
type Request struct {
	// Index is the position in the trace, from 0; the line is Index + 1.
	Index int
	// TimestampMS is the arrival time in milliseconds as the file has it: the first
	// one need not be zero. It never decreases from request to request.
	TimestampMS int64
	// InputLength is the prompt in tokens, 1 to MaxTokens.
	InputLength int
	// OutputLength is the answer in tokens, 0 to MaxTokens.
	OutputLength int
	// HashIDs names the content of each started block of PrefixTokens tokens of the
	// prompt, in order. It belongs to the request.
	HashIDs []uint64
}

// Embedded returns the first limit requests of the built-in slice of 100, or all
// of them for limit <= 0. Asking for more is ReasonTooShort.
func Embedded(limit int) ([]Request, error) {
	return Read(bytes.NewReader(embedded), EmbeddedFile, limit)
}

// ReadFile reads the first limit requests of a trace file, or all of them for
// limit <= 0. Every error is an *Error (KS-TRC-1 to KS-TRC-6).
func ReadFile(path string, limit int) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		e := &Error{File: path, Reason: ReasonUnreadable, Req: ReqFile, Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			e.Reason = ReasonMissing
		}
		return nil, e
	}
	defer f.Close() // read only: nothing is lost when closing fails
	return Read(f, path, limit)
}

// Read reads the first limit requests from r, or all of them for limit <= 0. It
// reads no line beyond the last one it needs, holds one line at a time, and
// takes file only as the name for errors. Fields that it does not know are
// skipped. On error no request is returned, and the error is an *Error
// (KS-TRC-1 to KS-TRC-6).
func Read(r io.Reader, file string, limit int) ([]Request, error) {
	sc := bufio.NewScanner(r)
	// One byte more than MaxLine, for the line's end.
	sc.Buffer(make([]byte, 0, 64<<10), MaxLine+1)
	var out []Request
	p := parser{file: file}
	for limit <= 0 || len(out) < limit {
		if !sc.Scan() {
			break
		}
		p.line++
		q, err := p.parse(sc.Bytes())
		if err != nil {
			return nil, err
		}
		q.Index = len(out)
		out = append(out, q)
	}
	if err := sc.Err(); err != nil {
		e := &Error{File: file, Line: p.line + 1, Reason: ReasonUnreadable, Req: ReqFile, Err: err}
		if errors.Is(err, bufio.ErrTooLong) {
			e.Reason, e.Req, e.Err = ReasonLineTooLong, ReqBounds, nil
			e.Detail = fmt.Sprintf("more than %d bytes", MaxLine)
		}
		return nil, e
	}
	if len(out) == 0 {
		return nil, &Error{File: file, Reason: ReasonEmpty, Req: ReqFile, Detail: "it has no line"}
	}
	if len(out) < limit {
		return nil, &Error{File: file, Line: p.line, Reason: ReasonTooShort, Req: ReqEnough,
			Detail: fmt.Sprintf("%d requests asked for, the trace has %d", limit, len(out))}
	}
	return out, nil
}

// parser holds what one line's check needs to know of the lines before it.
type parser struct {
	file string
	line int
	last int64
}

func (p *parser) parse(line []byte) (Request, error) {
	var q Request
	// A map, not a struct: struct fields would match in any letter case and would
	// take null for zero.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		var typed *json.UnmarshalTypeError
		if err == nil || errors.As(err, &typed) {
			err = errors.New("not a JSON object")
		}
		return q, &Error{File: p.file, Line: p.line, Reason: ReasonNotJSON, Req: ReqLine, Err: err}
	}
	var err error
	if q.TimestampMS, err = p.integer(fields, "timestamp", 0, MaxTimestampMS); err != nil {
		return q, err
	}
	if q.TimestampMS < p.last {
		return q, p.fail("timestamp", ReasonTimeBack, ReqTime,
			fmt.Sprintf("%d after %d", q.TimestampMS, p.last))
	}
	in, err := p.integer(fields, "input_length", 1, MaxTokens)
	if err != nil {
		return q, err
	}
	out, err := p.integer(fields, "output_length", 0, MaxTokens)
	if err != nil {
		return q, err
	}
	q.InputLength, q.OutputLength = int(in), int(out)
	want := (q.InputLength + PrefixTokens - 1) / PrefixTokens
	if q.HashIDs, err = p.hashes(fields, want); err != nil {
		return q, err
	}
	p.last = q.TimestampMS
	return q, nil
}

// raw returns the text of a field that must be there.
func (p *parser) raw(fields map[string]json.RawMessage, name string) (json.RawMessage, error) {
	v, ok := fields[name]
	if !ok {
		return nil, p.fail(name, ReasonFieldMissing, ReqLine, "")
	}
	if string(v) == "null" {
		return nil, p.fail(name, ReasonFieldMissing, ReqLine, "it is null")
	}
	return v, nil
}

func (p *parser) integer(fields map[string]json.RawMessage, name string, lo, hi int64) (int64, error) {
	v, err := p.raw(fields, name)
	if err != nil {
		return 0, err
	}
	n, perr := strconv.ParseInt(string(v), 10, 64)
	if perr != nil && !errors.Is(perr, strconv.ErrRange) {
		return 0, p.fail(name, ReasonFieldType, ReqLine, "want an integer, have "+clip(v))
	}
	if perr != nil || n < lo || n > hi {
		return 0, p.fail(name, ReasonFieldRange, ReqBounds,
			fmt.Sprintf("%s is not within %d to %d", clip(v), lo, hi))
	}
	return n, nil
}

// hashes takes a field that is known to be valid JSON, so that cutting it at
// commas is exact: whatever holds a comma of its own is no integer either.
func (p *parser) hashes(fields map[string]json.RawMessage, want int) ([]uint64, error) {
	const name = "hash_ids"
	v, err := p.raw(fields, name)
	if err != nil {
		return nil, err
	}
	if v[0] != '[' {
		return nil, p.fail(name, ReasonFieldType, ReqLine, "want a list of integers, have "+clip(v))
	}
	body := bytes.TrimSpace(v[1 : len(v)-1])
	count := 0
	if len(body) > 0 {
		count = bytes.Count(body, []byte{','}) + 1
	}
	ids := make([]uint64, 0, min(want, count))
	for more := count > 0; more; {
		var item []byte
		item, body, more = bytes.Cut(body, []byte{','})
		item = bytes.TrimSpace(item)
		id, perr := strconv.ParseUint(string(item), 10, 64)
		switch {
		case errors.Is(perr, strconv.ErrRange) || perr != nil && isNegative(item):
			return nil, p.fail(name, ReasonFieldRange, ReqBounds,
				fmt.Sprintf("item %d: %s is no unsigned 64-bit integer", len(ids), clip(item)))
		case perr != nil:
			return nil, p.fail(name, ReasonFieldType, ReqLine,
				fmt.Sprintf("item %d: want an integer, have %s", len(ids), clip(item)))
		}
		ids = append(ids, id)
	}
	if len(ids) != want {
		return nil, p.fail(name, ReasonHashCount, ReqHashes,
			fmt.Sprintf("%d ids for input_length %s, want %d", len(ids), fields["input_length"], want))
	}
	return ids, nil
}

func (p *parser) fail(field string, reason spec.Reason, req, detail string) *Error {
	return &Error{File: p.file, Line: p.line, Field: field, Reason: reason, Req: req, Detail: detail}
}

// isNegative says whether b is a JSON integer below zero.
func isNegative(b []byte) bool {
	_, err := strconv.ParseInt(string(b), 10, 64)
	return len(b) > 0 && b[0] == '-' && (err == nil || errors.Is(err, strconv.ErrRange))
}

// clip keeps the quoted value in an error short.
func clip(b []byte) string {
	const most = 40
	if len(b) <= most {
		return string(b)
	}
	return string(b[:most]) + "..."
}
