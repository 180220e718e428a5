package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/internal/notrun"
	"github.com/kvsettle/kvsettle/spec"
)

const good = `{"timestamp": 5, "input_length": 600, "output_length": 0, "hash_ids": [0, 18446744073709551615]}`

func TestEmbedded(t *testing.T) {
	reqs, err := Embedded(0)
	require.NoError(t, err)
	require.Len(t, reqs, 100)
	first, last := reqs[0], reqs[99]
	require.Equal(t, int64(2622000), first.TimestampMS)
	require.Equal(t, 15554, first.InputLength)
	require.Equal(t, 579, first.OutputLength)
	require.Len(t, first.HashIDs, 31)
	require.Equal(t, uint64(0), first.HashIDs[0])
	require.Equal(t, uint64(137041), first.HashIDs[1])
	require.Equal(t, int64(2643000), last.TimestampMS)
	tokens, longest := 0, 0
	for i, r := range reqs {
		require.Equal(t, i, r.Index)
		tokens += r.InputLength
		longest = max(longest, r.InputLength)
	}
	require.Equal(t, 769353, tokens)
	require.Equal(t, 25373, longest)

	reqs, err = Embedded(3)
	require.NoError(t, err)
	require.Len(t, reqs, 3)
	_, err = Embedded(101)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, ReasonTooShort, e.Reason)
	require.Equal(t, EmbeddedFile, e.File)
	require.Contains(t, err.Error(), "101 requests asked for, the trace has 100")
}

// shared is the folder with the whole trace, which a bare clone does not have.
func shared(t *testing.T) string {
	path := filepath.Join("..", "..", "..", "shared", "data", "mooncake_conversation_trace.jsonl")
	if _, err := os.Stat(path); err != nil {
		notrun.Record(t, err.Error())
		return ""
	}
	return path
}

func TestWholeTrace(t *testing.T) {
	path := shared(t)
	if path == "" {
		return
	}
	reqs, err := ReadFile(path, 0)
	require.NoError(t, err)
	require.Len(t, reqs, 12031)
	hashes, longest, largest := 0, 0, uint64(0)
	for _, r := range reqs {
		hashes += len(r.HashIDs)
		longest = max(longest, r.InputLength)
		for _, h := range r.HashIDs {
			largest = max(largest, h)
		}
	}
	require.Equal(t, 288500, hashes)
	require.Equal(t, 126195, longest)
	require.Equal(t, uint64(182789), largest)
	_, err = ReadFile(path, 12032)
	require.ErrorIs(t, err, &Error{Reason: ReasonTooShort})
}

// TestSliceIsTheTrace says that the embedded lines are the named ones, unchanged.
func TestSliceIsTheTrace(t *testing.T) {
	path := shared(t)
	if path == "" {
		return
	}
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(all, []byte("\n"))
	require.Equal(t, string(bytes.Join(lines[8646:8746], nil)), string(embedded))
}

func TestRead(t *testing.T) {
	for name, text := range map[string]string{
		"plain":           good + "\n",
		"no last newline": good,
		"carriage return": good + "\r\n",
		"more fields":     `{"x": {"timestamp": 9}, ` + good[1:],
		"spaces":          " \t{\n"[:3] + strings.ReplaceAll(good[1:], ",", " , "),
	} {
		t.Run(name, func(t *testing.T) {
			reqs, err := Read(strings.NewReader(text), "f", 0)
			require.NoError(t, err)
			require.Equal(t, []Request{{TimestampMS: 5, InputLength: 600, HashIDs: []uint64{0, 1<<64 - 1}}}, reqs)
		})
	}
}

// line is good with one part replaced; it fails the test when there is no such part.
func line(t *testing.T, old, with string) string {
	t.Helper()
	require.Contains(t, good, old)
	return strings.Replace(good, old, with, 1)
}

func TestReadRefuses(t *testing.T) {
	spec.Covers(t, ReqLine, ReqBounds, ReqHashes, ReqTime)
	for _, tc := range []struct {
		name, bad, field string
		reason           spec.Reason
		req              string
	}{
		{"text", "hello", "", ReasonNotJSON, ReqLine},
		{"blank line", "", "", ReasonNotJSON, ReqLine},
		{"cut", good[:40], "", ReasonNotJSON, ReqLine},
		{"two objects", good + good, "", ReasonNotJSON, ReqLine},
		{"array", "[1]", "", ReasonNotJSON, ReqLine},
		{"null", "null", "", ReasonNotJSON, ReqLine},
		{"number", "7", "", ReasonNotJSON, ReqLine},
		{"no UTF-8", "\xff\xfe", "", ReasonNotJSON, ReqLine},

		{"no timestamp", line(t, `"timestamp": 5, `, ""), "timestamp", ReasonFieldMissing, ReqLine},
		{"no input_length", line(t, `"input_length": 600, `, ""), "input_length", ReasonFieldMissing, ReqLine},
		{"no output_length", line(t, `"output_length": 0, `, ""), "output_length", ReasonFieldMissing, ReqLine},
		{"no hash_ids", line(t, `, "hash_ids": [0, 18446744073709551615]`, ""), "hash_ids", ReasonFieldMissing, ReqLine},
		{"null length", line(t, `600`, "null"), "input_length", ReasonFieldMissing, ReqLine},
		{"null hashes", line(t, `[0, 18446744073709551615]`, "null"), "hash_ids", ReasonFieldMissing, ReqLine},
		{"other case", line(t, `"timestamp"`, `"Timestamp"`), "timestamp", ReasonFieldMissing, ReqLine},

		{"string time", line(t, `: 5`, `: "5"`), "timestamp", ReasonFieldType, ReqLine},
		{"fraction", line(t, `600`, "600.5"), "input_length", ReasonFieldType, ReqLine},
		{"exponent", line(t, `600`, "6e2"), "input_length", ReasonFieldType, ReqLine},
		{"bool", line(t, `: 0`, ": true"), "output_length", ReasonFieldType, ReqLine},
		{"object", line(t, `600`, `{"a":1}`), "input_length", ReasonFieldType, ReqLine},
		{"hashes a number", line(t, `[0, 18446744073709551615]`, "3"), "hash_ids", ReasonFieldType, ReqLine},
		{"hash a string", line(t, `[0`, `["0"`), "hash_ids", ReasonFieldType, ReqLine},
		{"hash null", line(t, `[0`, `[null`), "hash_ids", ReasonFieldType, ReqLine},
		{"hash a list", line(t, `[0, 18446744073709551615]`, `[[0,1]]`), "hash_ids", ReasonFieldType, ReqLine},
		{"hash a fraction", line(t, `[0`, `[0.0`), "hash_ids", ReasonFieldType, ReqLine},

		{"negative time", line(t, `: 5`, ": -1"), "timestamp", ReasonFieldRange, ReqBounds},
		{"huge time", line(t, `: 5`, ": 4398046511105"), "timestamp", ReasonFieldRange, ReqBounds},
		{"no tokens", line(t, `600`, "0"), "input_length", ReasonFieldRange, ReqBounds},
		{"negative tokens", line(t, `600`, "-600"), "input_length", ReasonFieldRange, ReqBounds},
		{"absurd tokens", line(t, `600`, "10000001"), "input_length", ReasonFieldRange, ReqBounds},
		{"beyond 64 bits", line(t, `600`, "99999999999999999999999"), "input_length", ReasonFieldRange, ReqBounds},
		{"negative output", line(t, `: 0`, ": -1"), "output_length", ReasonFieldRange, ReqBounds},
		{"absurd output", line(t, `: 0`, ": 10000001"), "output_length", ReasonFieldRange, ReqBounds},
		{"negative hash", line(t, `[0`, "[-3"), "hash_ids", ReasonFieldRange, ReqBounds},
		{"hash beyond 64 bits", line(t, `[0`, "[18446744073709551616"), "hash_ids", ReasonFieldRange, ReqBounds},
		{"time goes back", line(t, `: 5`, ": 4"), "timestamp", ReasonTimeBack, ReqTime},

		{"too few hashes", line(t, `600`, "1025"), "hash_ids", ReasonHashCount, ReqHashes},
		{"too many hashes", line(t, `600`, "512"), "hash_ids", ReasonHashCount, ReqHashes},
		{"no hashes", line(t, `[0, 18446744073709551615]`, "[ ]"), "hash_ids", ReasonHashCount, ReqHashes},
		{"too long", strings.Repeat(" ", MaxLine-len(good)+1) + good, "", ReasonLineTooLong, ReqBounds},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, end := range []string{"", "\n", "\n" + good + "\n"} {
				if tc.bad == "" && end == "" {
					continue // that is no line at all
				}
				reqs, err := Read(strings.NewReader(good+"\n"+tc.bad+end), "dir/f.jsonl", 0)
				require.Nil(t, reqs)
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tc.reason, e.Reason, err)
				require.Equal(t, tc.req, e.Req)
				require.Equal(t, "dir/f.jsonl", e.File)
				require.Equal(t, 2, e.Line)
				require.Equal(t, tc.field, e.Field)
				text := err.Error()
				for _, part := range []string{"dir/f.jsonl", "line 2", tc.field, string(tc.reason), tc.req} {
					require.Contains(t, text, part)
				}
				require.Less(t, len(text), 300)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	// The longest line passes, with and without its end.
	longest := strings.Repeat(" ", MaxLine-len(good)) + good
	for _, end := range []string{"", "\n"} {
		reqs, err := Read(strings.NewReader(longest+end), "f", 1)
		require.NoError(t, err)
		require.Len(t, reqs, 1)
	}
	big := fmt.Sprintf(`{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[%s1]}`,
		MaxTimestampMS, MaxTokens, MaxTokens, strings.Repeat("1,", (MaxTokens-1)/PrefixTokens))
	reqs, err := Read(strings.NewReader(big), "f", 1)
	require.NoError(t, err)
	require.Equal(t, MaxTokens, reqs[0].InputLength)
	require.Len(t, reqs[0].HashIDs, 19532)
	// What comes after the limit is not looked at.
	reqs, err = Read(strings.NewReader(good+"\n"+good+"\nno JSON"), "f", 2)
	require.NoError(t, err)
	require.Len(t, reqs, 2)
}

func TestFiles(t *testing.T) {
	spec.Covers(t, ReqFile, ReqEnough)
	dir := t.TempDir()
	var e *Error
	missing := filepath.Join(dir, "none.jsonl")
	_, err := ReadFile(missing, 1)
	require.ErrorAs(t, err, &e)
	require.Equal(t, ReasonMissing, e.Reason)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Contains(t, err.Error(), missing)

	_, err = ReadFile(dir, 1)
	require.ErrorIs(t, err, &Error{Reason: ReasonUnreadable})

	empty := filepath.Join(dir, "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, limit := range []int{0, 5} {
		_, err = ReadFile(empty, limit)
		require.ErrorAs(t, err, &e)
		require.Equal(t, ReasonEmpty, e.Reason)
		require.Equal(t, empty, e.File)
	}

	full := filepath.Join(dir, "full.jsonl")
	require.NoError(t, os.WriteFile(full, []byte(good+"\n"+good+"\n"), 0o600))
	reqs, err := ReadFile(full, 0)
	require.NoError(t, err)
	require.Len(t, reqs, 2)
	_, err = ReadFile(full, 3)
	require.ErrorAs(t, err, &e)
	require.Equal(t, ReasonTooShort, e.Reason)
	require.Equal(t, ReqEnough, e.Req)

	broken := errors.New("disk on fire")
	_, err = Read(io.MultiReader(strings.NewReader(good+"\n"), iotest.ErrReader(broken)), "f", 0)
	require.ErrorIs(t, err, broken)
	require.ErrorAs(t, err, &e)
	require.Equal(t, ReasonUnreadable, e.Reason)
	require.Equal(t, 2, e.Line)
}

// TestReadBack writes random requests and reads them again.
func TestReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		var want []Request
		now := int64(0)
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			now += rapid.Int64Range(0, 1<<32).Draw(t, "step")
			r := Request{Index: i, TimestampMS: now,
				InputLength:  rapid.IntRange(1, 5000).Draw(t, "input"),
				OutputLength: rapid.IntRange(0, MaxTokens).Draw(t, "output")}
			n := (r.InputLength + 511) / 512
			r.HashIDs = rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "hashes")
			ids := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.HashIDs), "[]"), " ", ",")
			fmt.Fprintf(&b, "{\"hash_ids\":[%s],\"output_length\":%d,\"input_length\":%d,\"timestamp\":%d}\n",
				ids, r.OutputLength, r.InputLength, r.TimestampMS)
			want = append(want, r)
		}
		got, err := Read(iotest.OneByteReader(&b), "f", len(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// FuzzRead takes any bytes: either an *Error that names the file, or requests that
// keep every bound.
func FuzzRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, limit int16) {
		reqs, err := Read(bytes.NewReader(text), "fuzz", int(limit))
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "fuzz", e.File)
			require.NotEmpty(t, e.Reason)
			require.NotEmpty(t, e.Req)
			require.Nil(t, reqs)
			require.LessOrEqual(t, len(err.Error()), 400)
			return
		}
		require.NotEmpty(t, reqs)
		if limit > 0 {
			require.Len(t, reqs, int(limit))
		} else {
			lines := 0
			sc := bufio.NewScanner(bytes.NewReader(text))
			for sc.Buffer(nil, 2*MaxLine); sc.Scan(); {
				lines++
			}
			require.Len(t, reqs, lines)
		}
		last := int64(0)
		for i, r := range reqs {
			require.Equal(t, i, r.Index)
			require.GreaterOrEqual(t, r.TimestampMS, last)
			last = r.TimestampMS
			require.True(t, r.InputLength >= 1 && r.InputLength <= MaxTokens)
			require.True(t, r.OutputLength >= 0 && r.OutputLength <= MaxTokens)
			require.Len(t, r.HashIDs, (r.InputLength+PrefixTokens-1)/PrefixTokens)
		}
	})
}

func TestFuzzSeeds(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "fuzz", "FuzzRead"))
	require.NoError(t, err)
	require.Len(t, files, 6)
}

func BenchmarkReadEmbedded(b *testing.B) {
	b.SetBytes(int64(len(embedded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Embedded(0); err != nil {
			b.Fatal(err)
		}
	}
}
