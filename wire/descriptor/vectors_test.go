package descriptor

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
)

type vectorDescriptor struct {
	Min      uint64 `json:"minVersion"`
	Max      uint64 `json:"maxVersion"`
	Caps     string `json:"capabilities"`
	Mode     uint64 `json:"mode"`
	Token    string `json:"sessionToken"`
	TokenHex string `json:"sessionTokenHex"`
}

func show(d Descriptor) *vectorDescriptor {
	return &vectorDescriptor{
		uint64(d.Min), uint64(d.Max), strconv.FormatUint(uint64(d.Caps), 10), uint64(d.Mode),
		strconv.FormatUint(d.Token, 10), fmt.Sprintf("%016x", d.Token),
	}
}

func unescape(t *testing.T, s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		require.Less(t, i, len(s))
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			require.NoError(t, err)
			b.WriteByte(byte(v))
			i += 2
		default:
			t.Fatalf("escape %q", s[i])
		}
	}
	return b.String()
}

func number(t *testing.T, s string, bits int) uint64 {
	v, err := strconv.ParseUint(s, 0, bits)
	require.NoError(t, err)
	return v
}

// TestVectors runs every command of the shared file that concerns one name. The
// validate commands belong to negotiation, which has its own test over the file.
func TestVectors(t *testing.T) {
	spec.Covers(t, "KS-DESC-1", "KS-DESC-2", "KS-DESC-3", "KS-DESC-4", "KS-DESC-5", "KS-DESC-6", "KS-DESC-7", "KS-DESC-8", "KS-DESC-9", "KS-DESC-10", "KS-DESC-11", "KS-DESC-12", "KS-DESC-17", "KS-DESC-24")
	f, err := os.Open("testdata/descriptor_v1.jsonl")
	require.NoError(t, err)
	defer f.Close()
	ran := map[string]int{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var line struct {
			Cmd string          `json:"cmd"`
			Out json.RawMessage `json:"out"`
		}
		require.NoError(t, json.Unmarshal(sc.Bytes(), &line))
		arg := strings.Split(line.Cmd, "\t")
		for i := range arg {
			arg[i] = unescape(t, arg[i])
		}
		ran[arg[0]]++
		switch arg[0] {
		case "parse":
			var want struct {
				Status     string            `json:"status"`
				Descriptor *vectorDescriptor `json:"descriptor"`
				Class      Class             `json:"reasonClass"`
			}
			require.NoError(t, json.Unmarshal(line.Out, &want))
			parse := ParseV1
			if arg[1] == "old" {
				parse = ParseOld
			}
			d, s, c := parse(arg[2])
			require.Equal(t, want.Status, s.String(), line.Cmd)
			require.Equal(t, want.Class, c, line.Cmd)
			if s == Valid {
				require.Equal(t, want.Descriptor, show(d), line.Cmd)
			} else {
				require.Nil(t, want.Descriptor)
				require.Zero(t, d)
			}
			if arg[1] == "new" {
				both, s2, c2 := Parse(arg[2])
				if s == Valid {
					require.Equal(t, d, both)
				}
				if _, v2, _ := ParseV2(arg[2]); v2 == Missing {
					require.Equal(t, s, s2)
					require.Equal(t, c, c2)
				}
			}
		case "append":
			var want struct {
				NameHex string `json:"nameHex"`
			}
			require.NoError(t, json.Unmarshal(line.Out, &want))
			d := Descriptor{
				Min: uint16(number(t, arg[3], 16)), Max: uint16(number(t, arg[4], 16)),
				Caps: Caps(number(t, arg[5], 64)), Mode: Mode(number(t, arg[6], 8)), Token: number(t, arg[7], 64), Schema: 1,
			}
			write := AppendRaw
			if arg[1] == "old" {
				write = AppendOld
			}
			require.Equal(t, want.NameHex, hex.EncodeToString(write([]byte(arg[2]), d)), line.Cmd)
		case "make":
			var want vectorDescriptor
			require.NoError(t, json.Unmarshal(line.Out, &want))
			d := Default(Mode(number(t, arg[2], 8)), number(t, arg[3], 64))
			if arg[1] == "old" {
				d.Caps = CapCancel
			}
			require.Equal(t, &want, show(d), line.Cmd)
		case "parseuint":
			var want struct {
				OK    bool   `json:"ok"`
				Value string `json:"value"`
			}
			require.NoError(t, json.Unmarshal(line.Out, &want))
			v, ok := ParseNumber(arg[3], int(number(t, arg[2], 8)))
			require.Equal(t, want.OK, ok, line.Cmd)
			if ok {
				require.Equal(t, want.Value, strconv.FormatUint(v, 10), line.Cmd)
			}
		case "token":
			var want struct {
				Token string `json:"token"`
			}
			require.NoError(t, json.Unmarshal(line.Out, &want))
			require.Equal(t, want.Token, strconv.FormatUint(Token(arg[1]), 10), line.Cmd)
		case "validate", "validatemode", "validatelocal":
		default:
			t.Fatalf("unknown command %q", arg[0])
		}
	}
	require.NoError(t, sc.Err())
	require.Equal(t, map[string]int{
		"parse": 298, "append": 25, "make": 8, "parseuint": 49, "token": 3,
		"validate": 423, "validatemode": 129, "validatelocal": 59,
	}, ran)
	t.Logf("383 commands class-exact here; 611 validate commands are negotiation's")
}
