package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

// load reads every line of every file of this package.
func load(t testing.TB) map[string][]Line {
	t.Helper()
	names, err := fs.Glob(Files(), "*")
	require.NoError(t, err)
	all := map[string][]Line{}
	for _, name := range names {
		b, err := fs.ReadFile(Files(), name)
		require.NoError(t, err)
		for i, text := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
			l, err := ReadLine([]byte(text))
			require.NoError(t, err, "%s:%d", name, i+1)
			all[name] = append(all[name], l)
		}
	}
	return all
}

// inPart are requirements that vectors cite because they show their part in the
// bytes, and that ask for more: what an endpoint does, or a bound that no small
// file can reach. Vectors alone do not make them tested.
var inPart = []string{
	"KS-CTL-6", "KS-CTL-8", "KS-CTL-17", "KS-CTL-18", "KS-DESC-14", "KS-DESC-26", "KS-HTTP-3", "KS-HTTP-7", "KS-HTTP-8",
	"KS-ID-7", "KS-NAT-15", "KS-QUI-1", "KS-QUI-2", "KS-REC-1", "KS-REC-2", "KS-REC-4", "KS-SET-9", "KS-TAG-6", "KS-TKT-1",
	"KS-V1-14",
}

// TestFiles opens every file and runs every line. A requirement counts as shown
// by the vectors that cite it, unless they show it only in part.
func TestFiles(t *testing.T) {
	onDisk, err := fs.Glob(os.DirFS("."), "*.jsonl")
	require.NoError(t, err)
	inside, err := fs.Glob(Files(), "*")
	require.NoError(t, err)
	require.Equal(t, onDisk, inside)

	count := map[string]int{}
	total := 0
	for name, lines := range load(t) {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, l := range lines {
				require.Empty(t, l.Check(), l.ID)
				for _, id := range l.Req {
					if !slices.Contains(inPart, id) {
						ids = append(ids, id)
					}
				}
				count[l.Type]++
				total++
			}
			slices.Sort(ids)
			spec.Covers(t, slices.Compact(ids)...)
		})
	}
	report, err := Run(Files())
	require.NoError(t, err)
	require.Empty(t, report.Failures)
	require.Equal(t, total, report.Passed)
	require.Equal(t, count, report.PassedByType)
	require.Equal(t, 626, total)
	t.Logf("%d vectors, by type %v", total, count)
}

// TestComplete holds the vectors to the list of types, profiles and reason codes.
func TestComplete(t *testing.T) {
	type pair struct{ typ, profile string }
	good, bad := map[pair]int{}, map[string]int{}
	codes := map[string]int{}
	for _, lines := range load(t) {
		for _, l := range lines {
			if l.Result == OK {
				good[pair{l.Type, l.Profile}]++
			} else {
				bad[l.Type]++
			}
			codes[l.Error]++
		}
	}
	for _, typ := range Types() {
		for _, p := range Profiles(typ) {
			built := typ != "ContextPhaseParams" || p != Mid2026
			switch typ {
			case "QUERY", "STATUS", "DATA_COMPLETE":
				built = p == V2Recovery || p == V2Both
			}
			require.Equal(t, built, good[pair{typ, p}] > 0, "%s %s", typ, p)
		}
		// Every byte string has a token.
		require.Equal(t, typ != "SessionToken", bad[typ] > 0, typ)
	}
	for _, code := range Codes() {
		require.NotZero(t, codes[string(code)], code)
	}
	require.Len(t, Codes(), 23)
}

// TestReceiptsEcho holds each golden receipt to the terminal that it answers.
func TestReceiptsEcho(t *testing.T) {
	type answer struct{ id, evidence, digest any }
	terminals := map[answer]bool{}
	var receipts []answer
	for _, lines := range load(t) {
		for _, l := range lines {
			f, ok := l.Fields.(map[string]any)
			switch {
			case ok && l.Type == "TERMINAL":
				terminals[answer{f["messageId"], f["localEvidence"], f["payloadSha256"]}] = true
			case ok && l.Type == "TERMINAL_RECEIPT":
				receipts = append(receipts, answer{f["terminalMessageId"], f["localEvidence"], f["terminalPayloadSha256"]})
			}
		}
	}
	require.Len(t, receipts, 10)
	for _, r := range receipts {
		require.True(t, terminals[r], r)
	}
}

// TestRetired holds the ids apart from those of vectors that were taken out.
func TestRetired(t *testing.T) {
	b, err := os.ReadFile("retired.txt")
	require.NoError(t, err)
	retired := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if id, _, _ := strings.Cut(strings.TrimSpace(line), " "); id != "" && !strings.HasPrefix(id, "#") {
			retired[id] = true
		}
	}
	for _, lines := range load(t) {
		for _, l := range lines {
			require.False(t, retired[l.ID], l.ID)
		}
	}
}

// TestUpstream runs the vectors that were taken from upstream, from the copies
// that the packages of wire hold.
func TestUpstream(t *testing.T) {
	spec.Covers(t, "KS-NAT-10", "KS-SEL-1")
	native, err := Run(os.DirFS("../../wire/native/testdata"))
	require.NoError(t, err)
	require.Empty(t, native.Failures)
	require.Equal(t, map[string]int{
		"AgentState": 14, "BlockKey": 4, "CacheState": 12, "CommState": 18, "ContextPhaseParams": 3,
		"DataTransceiverState": 16, "MemoryDesc": 4, "NotificationInfo": 27, "RequestInfo": 6,
	}, native.PassedByType)
	commands, err := Run(os.DirFS("../../wire/descriptor/testdata"))
	require.NoError(t, err)
	require.Empty(t, commands.Failures)
	require.Equal(t, map[string]int{
		"append": 25, "make": 8, "parse": 298, "parseuint": 49, "token": 3,
		"validate": 423, "validatelocal": 59, "validatemode": 129,
	}, commands.PassedByType)
	require.Equal(t, 1098, native.Passed+commands.Passed)
}

// TestPlanted changes one member of every vector at a time. Each change must turn
// the vector red.
func TestPlanted(t *testing.T) {
	planted := 0
	wrong := func(l Line, what string) {
		planted++
		require.NotEmpty(t, l.Check(), "%s: %s", l.ID, what)
	}
	for _, lines := range load(t) {
		for _, l := range lines {
			other := l
			other.Type = "NoSuchType"
			wrong(other, "type")
			other = l
			other.Profile = "2027"
			wrong(other, "profile")
			other = l
			if l.Result == Error {
				other.Error = "bad-nothing"
				wrong(other, "error")
				other = l
				at := 7777
				other.Offset = &at
				wrong(other, "offset")
				other = l
				other.Result = OK
				wrong(other, "result")
				continue
			}
			other.Result, other.Error = Error, "bad-value"
			wrong(other, "result")
			other = l
			if l.Reencode != "" {
				other.Reencode = ""
				wrong(other, "reencode")
				other = l
			}
			other.Validate = "bad-nothing"
			wrong(other, "validate")
			for key := range l.Fields.(map[string]any) {
				if l.ID == "sign-nothing" && key == "header" {
					continue // what it shows is that any header passes
				}
				other = l
				other.Fields = changed(l.Fields.(map[string]any), key)
				wrong(other, "fields."+key)
			}
			if other = l; l.Hex != "" && l.Reencode == "" && l.Type != "Signature" {
				other.Hex = l.Hex[:len(l.Hex)-2]
				wrong(other, "hex")
			}
		}
	}
	require.Greater(t, planted, 4000)
	t.Logf("%d planted changes, all red", planted)
}

// changed returns fields with another value for one member.
func changed(fields map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range fields {
		out[k] = v
	}
	switch v := out[key].(type) {
	case string:
		out[key] = v + "0"
	case json.Number:
		out[key] = json.Number("99" + strings.TrimPrefix(v.String(), "-"))
	case bool:
		out[key] = !v
	case nil:
		out[key] = "0"
	default:
		out[key] = nil
	}
	return out
}

const (
	ownLine      = `{"id":"m-1","type":"MemoryDesc","profile":"2026mid","note":"n","req":["KS-NAT-10"],"fields":{"addr":"1","len":"2","deviceId":3},"hex":"0100000000000000020000000000000003000000","result":"ok"}`
	upstreamLine = `{"type":"MemoryDesc","name":"m","profile":"2026-mid (x)","size":20,"fields":{"addr":"1","len":"2","deviceId":3},"hex":"0100000000000000020000000000000003000000"}`
	decodeLine   = `{"type":"CommState","note":"n","inputHex":"f9ffffff01000000000000000000000000000000","outcome":"decoded","selfIdx":-7,"isMpi":1,"isSocket":0,"isAgent":0,"streamFail":false,"unreadBytes":0,"reencodedHex":"f9ffffff01000000000000000000000000000000"}`
	commandLine  = `{"cmd":"parseuint\tnew\t10\t12","out":{"ok":true,"value":"12"}}`
)

// TestForms changes lines of every form; each but the first of a form must fail
// with a text that says what is wrong.
func TestForms(t *testing.T) {
	cases := []struct{ line, from, to, want string }{
		{ownLine, "", "", ""},
		{ownLine, `"note":"n"`, `"note":"n","notes":"n"`, "unknown member notes"},
		{ownLine, `"note":"n"`, `"note":"n","note":"n"`, `member "note" stands twice`},
		{ownLine, `"id":"m-1"`, `"id":"M 1"`, "is no slug"},
		{ownLine, `["KS-NAT-10"]`, `[]`, "no requirement in req"},
		{ownLine, `["KS-NAT-10"]`, `[7]`, "member req is no list of strings"},
		{ownLine, `"MemoryDesc"`, `"MemoryDescs"`, `unknown type "MemoryDescs"`},
		{ownLine, `"2026mid"`, `"2025late"`, `unknown profile "2025late" of type MemoryDesc`},
		{ownLine, `"result":"ok"`, `"result":"acceptable"`, `unknown result "acceptable"`},
		{ownLine, `"result":"ok"`, `"result":"error","error":"bad-value"`, "has no fields in bytes that are refused"},
		{ownLine, `"result":"ok"`, `"result":"ok","offset":1`, "result ok needs fields"},
		{ownLine, `"result":"ok"`, `"result":"ok","offset":"1"`, "member offset is no integer"},
		{ownLine, `"result":"ok"`, `"result":"ok","validate":"out-of-range"`, "validate: want out-of-range, got ok"},
		{ownLine, `"len":"2"`, `"len":2`, `fields.len: want 2, got "2"`},
		{ownLine, `"len":"2",`, ``, `fields.len: not expected, got "2"`},
		{ownLine, `"len":"2"`, `"len":"2","size":"2"`, `fields.size: want "2", got nothing`},
		{ownLine, `"hex":"01`, `"hex":"0G`, "invalid byte"},
		{ownLine, `"hex":"01`, `"hex":"1F`, "hexadecimal with capitals"},
		{ownLine, `"hex":"01`, `"hex":"02`, `fields.addr: want "1", got "2"`},
		{ownLine, ownLine, `{}`, "not a form of vector"},
		{ownLine, ownLine, ``, "not JSON"},
		{ownLine, ownLine, `[1]`, "not a JSON object"},
		{ownLine, `"result":"ok"}`, `"result":"ok"}{}`, "something follows"},
		{ownLine, ownLine, strings.Repeat("[", 100), "nested too deep"},

		{upstreamLine, "", "", ""},
		{upstreamLine, `"2026-mid (x)"`, `"2026-late (x)"`, `unknown profile "2026-late (x)"`},
		{upstreamLine, `"2026-mid (x)"`, `"2025-late"`, `unknown profile "2025late"`},
		{upstreamLine, `"MemoryDesc"`, `"Ticket"`, `unknown type "Ticket"`},
		{upstreamLine, `"size":20`, `"size":21`, "size is not the number of bytes"},
		{upstreamLine, `"size":20`, `"size":20,"extra":1`, "unknown member extra"},
		{upstreamLine, `"deviceId":3`, `"deviceId":4`, "fields.deviceId: want 4, got 3"},

		{decodeLine, "", "", ""},
		{decodeLine, `"CommState"`, `"Comm"`, `unknown type "Comm"`},
		{decodeLine, `"decoded"`, `"thrown"`, `unknown outcome "thrown"`},
		{decodeLine, `"decoded"`, `"throw"`, "upstream throws, and ours does not refuse"},
		{decodeLine, `"streamFail":false`, `"streamFail":true`, "reads past the end, and ours does not refuse"},
		{decodeLine, `"unreadBytes":0`, `"unreadBytes":8`, "leaves bytes unread, and ours does not refuse"},
		{decodeLine, `"streamFail":false,`, ``, "needs streamFail"},
		{decodeLine, `"isMpi":1`, `"isMpi":0`, ".isMpi: want 0, got 1"},
		{decodeLine, `"reencodedHex":"f9`, `"reencodedHex":"f8`, "first difference at byte 0"},
		{decodeLine, `"inputHex":"f9ffffff01`, `"inputHex":"f9ffffff09`, "want no error, got"},
		{decodeLine, `"note":"n"`, `"notes":"n"`, "unknown member notes"},

		{commandLine, "", "", ""},
		{commandLine, `parseuint`, `parseint`, `unknown command "parseint"`},
		{commandLine, `\tnew\t`, `\tolder\t`, "unknown form of command"},
		{commandLine, `\tnew\t`, `\told\t`, "has no old form"},
		{commandLine, `\t12`, ``, "wants 2 arguments, has 1"},
		{commandLine, `\t12`, `\t13`, `out.value: want "12", got "13"`},
		{commandLine, `\t12`, `\t\\q`, "bad escape"},
		{commandLine, `\t12`, `\t\\x1`, "bad escape"},
		{commandLine, `"ok":true`, `"ok":false`, "out.ok: want false, got true"},
		{commandLine, `"value":"12"`, `"value":"12","base":10`, "out.base: want 10, got nothing"},
		{commandLine, `"out"`, `"output"`, "unknown member output"},
		{commandLine, `parseuint\tnew\t10\t12`, `validate\tnew`, "lacks arguments"},
		{commandLine, `parseuint\tnew\t10\t12`, `validatelocal\told\t1`, `unknown form of command "validatelocal"`},
		{commandLine, `parseuint\tnew\t10\t12`, `make\tnew\t256\t1`, "is no number of 8 bits"},
	}
	for i, c := range cases {
		line := c.line
		if c.from != "" {
			line = strings.Replace(line, c.from, c.to, 1)
			require.NotEqual(t, c.line, line, "case %d", i)
		}
		report, err := Run(fstest.MapFS{"a.jsonl": {Data: []byte(line + "\n" + "{}\n")}})
		require.NoError(t, err)
		require.Equal(t, 2, report.Passed+report.Failed)
		if c.want == "" {
			require.Equal(t, 1, report.Passed, "case %d: %v", i, report.Failures)
			continue
		}
		require.Equal(t, 2, report.Failed, "case %d: %s", i, line)
		require.Equal(t, 1, report.Failures[0].Line)
		require.Contains(t, report.Failures[0].Difference, c.want, "case %d", i)
	}
}

func TestRun(t *testing.T) {
	_, err := Run(fstest.MapFS{"README.md": {Data: []byte("x")}})
	require.ErrorIs(t, err, ErrNothing)
	_, err = Run(os.DirFS("no-such-folder"))
	require.ErrorIs(t, err, fs.ErrNotExist)

	report, err := Run(fstest.MapFS{
		"a.jsonl":   {Data: []byte(ownLine + "\n\n" + ownLine)},
		"b/c.jsonl": {Data: []byte(ownLine + "\n")},
		"d.jsonl":   {},
	})
	require.NoError(t, err)
	require.Equal(t, 1, report.Passed)
	require.Equal(t, 4, report.Failed)
	var text []string
	for _, f := range report.Failures {
		text = append(text, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Difference))
	}
	require.Equal(t, []string{
		"a.jsonl:2 not JSON: EOF", "a.jsonl:3 the id stands already at a.jsonl:1",
		"b/c.jsonl:1 the id stands already at a.jsonl:3", "d.jsonl:0 the file holds no line",
	}, text)
}

// FuzzLine holds that no line makes the runner panic, and that what passes is
// read, written and judged the same again.
func FuzzLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, _, diff := judge(line)
		if diff != "" || kind != ownFormat {
			return
		}
		l, err := ReadLine(line)
		require.NoError(t, err)
		again, err := json.Marshal(&l)
		require.NoError(t, err)
		_, _, diff = judge(again)
		require.Empty(t, diff)
	})
}

func TestFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzLine")
	require.NoError(t, err)
	require.Len(t, seeds, 24)
}
