package wire

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var testRules = Rules{Short: "KS-T-1", Length: "KS-T-2", Count: "KS-T-3", Bool: "KS-T-4", Trailing: "KS-T-5"}

func reading(b []byte) *Reader {
	r := NewReader("msg", &testRules, b)
	return &r
}

func refused(t *testing.T, r *Reader) *Error {
	t.Helper()
	var e *Error
	require.ErrorAs(t, r.Err(), &e)
	return e
}

func TestReaderReadsScalars(t *testing.T) {
	r := reading([]byte{
		1, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1, 0xFF, 0xFF, 0xFF, 0xFF,
		0x12, 0x34, 0x12, 0x34, 0x56, 0x78, 1, 2, 3, 4, 5, 6, 7, 8, 9,
	})
	require.True(t, r.Bool("b"))
	require.Equal(t, uint16(0x1234), r.U16LE("x"))
	require.Equal(t, uint32(0x12345678), r.U32LE("x"))
	require.Equal(t, uint64(0x0102030405060708), r.U64LE("x"))
	require.Equal(t, int32(-1), r.I32LE("x"))
	require.Equal(t, uint16(0x1234), r.U16BE("x"))
	require.Equal(t, uint32(0x12345678), r.U32BE("x"))
	require.Equal(t, uint64(0x0102030405060708), r.U64BE("x"))
	require.Equal(t, 1, r.Left())
	require.Equal(t, uint8(9), r.U8("x"))
	require.NoError(t, r.Finish())
}

func TestReaderRefuses(t *testing.T) {
	str := func(n byte, rest string) []byte { return append([]byte{n, 0, 0, 0, 0, 0, 0, 0}, rest...) }
	for _, c := range []struct {
		name   string
		in     []byte
		read   func(*Reader)
		reason any
		req    string
		at     int
	}{
		{"short scalar", []byte{1, 2, 3}, func(r *Reader) { r.U32LE("f") }, ReasonShortInput, "KS-T-1", 0},
		{"bool", []byte{0, 2}, func(r *Reader) { r.Bool("f"); r.Bool("f") }, ReasonBadBool, "KS-T-4", 1},
		{"string length", str(3, "ab"), func(r *Reader) { r.StrLE("f") }, ReasonBadLength, "KS-T-2", 0},
		{"huge string length", []byte{255, 255, 255, 255, 255, 255, 255, 255}, func(r *Reader) { r.StrLE("f") }, ReasonBadLength, "KS-T-2", 0},
		{"count", str(2, "abc"), func(r *Reader) { r.CountLE("f", 2) }, ReasonBadCount, "KS-T-3", 0},
		{"huge count", []byte{255, 255, 255, 255, 255, 255, 255, 255, 1}, func(r *Reader) { r.CountLE("f", 1) }, ReasonBadCount, "KS-T-3", 0},
		{"count32", []byte{0, 0, 0, 2, 9}, func(r *Reader) { r.Count32BE("f", 1) }, ReasonBadCount, "KS-T-3", 0},
		{"negative take", []byte{1}, func(r *Reader) { r.Take("f", -1) }, ReasonShortInput, "KS-T-1", 0},
		{"trailing", []byte{1, 2}, func(r *Reader) { r.U8("f"); _ = r.Finish() }, ReasonTrailingBytes, "KS-T-5", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reading(c.in)
			c.read(r)
			e := refused(t, r)
			require.Equal(t, c.reason, e.Reason)
			require.Equal(t, c.req, e.Req)
			require.Equal(t, c.at, e.Offset)
		})
	}
}

func TestReaderErrorSticks(t *testing.T) {
	r := reading([]byte{7, 1, 1, 1, 1, 1, 1, 1, 1})
	r.Bool("first")
	at := r.Offset()
	require.Zero(t, r.U64LE("second"))
	require.Nil(t, r.StrLE("third"))
	require.Zero(t, r.CountLE("fourth", 1))
	require.Zero(t, r.Left())
	require.Equal(t, at, r.Offset())
	r.Fail(ReasonBadCount, "KS-T-9", "fifth", 3, "")
	require.Equal(t, "msg.first", refused(t, r).What)
	require.ErrorIs(t, r.Finish(), &Error{Reason: ReasonBadBool})
}

func TestReaderNamesThePath(t *testing.T) {
	r := reading(nil)
	for i := range 12 {
		r.Enter(fmt.Sprint("p", i))
	}
	for range 10 {
		r.Leave()
	}
	r.U8("f")
	require.Equal(t, "msg.p0.p1.f", refused(t, r).What)
	r.Leave()
	r.Leave()
	r.Leave()
	require.Equal(t, 1, r.depth)
}

// TestReaderStaysInside reads random things from random bytes: what comes out is
// always a part of the input and the cursor never passes its end.
func TestReaderStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Byte()).Draw(t, "in")
		r := NewReader("msg", &testRules, in)
		t.Repeat(map[string]func(*rapid.T){
			"str":   func(*rapid.T) { require.LessOrEqual(t, len(r.StrLE("f")), len(in)) },
			"bool":  func(*rapid.T) { r.Bool("f") },
			"u64":   func(*rapid.T) { r.U64BE("f") },
			"u8":    func(*rapid.T) { r.U8("f") },
			"count": func(*rapid.T) { require.LessOrEqual(t, 3*r.CountLE("f", 3), len(in)) },
			"take": func(t *rapid.T) {
				n := rapid.IntRange(-1, 20).Draw(t, "n")
				if b := r.Take("f", n); b != nil {
					require.Equal(t, in[r.Offset()-n:r.Offset()], b)
					require.Equal(t, n, cap(b))
				}
			},
			"": func(*rapid.T) {
				require.LessOrEqual(t, r.Offset(), len(in))
				require.Equal(t, r.OK(), r.Err() == nil)
			},
		})
	})
}

func TestReaderDoesNotAllocate(t *testing.T) {
	in := []byte{1, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r := NewReader("msg", &testRules, in)
		r.Bool("f")
		r.StrLE("g")
		if r.Finish() != nil {
			panic("refused")
		}
	}))
}

func TestErrorText(t *testing.T) {
	e := &Error{Reason: ReasonBadBool, Req: "KS-NAT-5", What: "ready.isReady", Offset: 55, Detail: "2", Err: io.EOF}
	require.Equal(t, "ready.isReady at byte 55: bad-bool: 2: EOF (KS-NAT-5)", e.Error())
	require.ErrorIs(t, e, io.EOF)
	require.ErrorIs(t, fmt.Errorf("while reading: %w", e), &Error{Reason: ReasonBadBool})
	require.NotErrorIs(t, e, &Error{Reason: ReasonBadCount})
	require.False(t, errors.Is(e, errors.New("bad-bool")))
	require.Equal(t, "x: bad-value", (&Error{Reason: ReasonBadValue, What: "x", Offset: -1}).Error())
}
