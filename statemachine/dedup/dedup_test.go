package dedup_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/dedup"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// TestMain raises rapid's number of checks where the command line does not set it.
func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		_ = flag.Set("rapid.checks", "1000")
	}
	os.Exit(m.Run())
}

func message(id uint64, text string) dedup.Message {
	return dedup.Message{Epoch: 10, ID: id, Sum: sha256.Sum256([]byte(text))}
}

func table(t require.TestingT, window, keys int) *dedup.Table[string, int] {
	d, err := dedup.New[string, int](window, keys)
	require.NoError(t, err)
	return d
}

// A repeated CANCEL is answered with what the first one got.
func ExampleTable() {
	d, err := dedup.New[string, string](dedup.DefaultWindow, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := message(1, "CANCEL")
	v, _, _ := d.Judge("edge 0", m)
	fmt.Println(v)
	_ = d.Record("edge 0", m, "TERMINAL")
	v, reply, _ := d.Judge("edge 0", m)
	fmt.Println(v, reply)
	_, _, err = d.Judge("edge 0", message(1, "TERMINAL"))
	fmt.Println(err)
	// Output:
	// first
	// repeat TERMINAL
	// dedup: known message id with other bytes: protocol-error (KS-REG-11)
}

func ExampleNew() {
	_, err := dedup.New[string, string](0, 1)
	fmt.Println(err)
	// Output: dedup-window 0 is not within 1 to 65536: bad-request (KS-TIME-8)
}

func TestNew(t *testing.T) {
	spec.Covers(t, "KS-TIME-8")
	for _, c := range [][2]int{{0, 1}, {dedup.MaxWindow + 1, 1}, {1, 0}, {1, -1}} {
		_, err := dedup.New[int, int](c[0], c[1])
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	}
	limits, err := spec.LoadTable("limits")
	require.NoError(t, err)
	row := limits.Rows[slices.IndexFunc(limits.Rows, func(r spec.Row) bool { return r.Cells[0] == "dedup-window" })]
	require.Equal(t, []string{fmt.Sprint(dedup.DefaultWindow), fmt.Sprint(dedup.MinWindow), fmt.Sprint(dedup.MaxWindow)}, row.Cells[2:5])
}

// TestWindow: M43 to M45, and late arrivals above the floor.
func TestWindow(t *testing.T) {
	spec.Covers(t, "KS-REG-10", "KS-REG-11", "KS-REG-12", "KS-REG-18", "KS-REG-15", "KS-ID-2")
	d := table(t, 3, 2)
	judge := func(id uint64, text string, want dedup.Verdict, reply int) {
		t.Helper()
		before := d.Counts()
		v, r, err := d.Judge("k", message(id, text))
		require.NoError(t, err)
		require.Equal(t, want, v)
		require.Equal(t, reply, r)
		require.Equal(t, before.IDs, d.Counts().IDs)
	}
	record := func(id uint64, reply int) {
		t.Helper()
		require.NoError(t, d.Record("k", message(id, "m"), reply))
	}
	for _, id := range []uint64{2, 4, 6} {
		judge(id, "m", dedup.First, 0)
		record(id, int(id))
	}
	judge(4, "m", dedup.Repeat, 4)
	judge(3, "m", dedup.First, 0) // overtaken, not repeated
	record(3, 3)                  // 2 leaves
	require.Equal(t, uint64(2), d.Floor("k"))
	judge(2, "m", dedup.Below, 0)
	judge(2, "other", dedup.Below, 0)
	judge(1, "m", dedup.Below, 0)
	judge(3, "m", dedup.Repeat, 3)
	record(9, 9) // 3 leaves
	judge(3, "m", dedup.Below, 0)
	judge(6, "m", dedup.Repeat, 6)
	require.NoError(t, d.Reply("k", 6, 66))
	judge(6, "m", dedup.Repeat, 66)

	before := d.Counts()
	for _, err := range []error{
		d.Record("k", message(6, "m"), 1), d.Record("k", message(6, "x"), 1), d.Record("k", message(2, "m"), 1),
		d.Reply("k", 5, 1), d.Reply("absent", 6, 1),
	} {
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.WrongState})
	}
	require.ErrorIs(t, d.Record("k", message(0, "m"), 1), &sm.Refusal{Reason: sm.BadRequest})
	_, _, err := d.Judge("k", message(0, "m"))
	require.ErrorIs(t, err, &sm.Refusal{Reason: sm.BadRequest})
	require.Equal(t, before, d.Counts())
	_, _, err = d.Judge("k", message(6, "other"))
	require.ErrorIs(t, err, &sm.Refusal{Reason: settle.ProtocolError})
	require.ErrorContains(t, err, "KS-REG-11")
	require.Equal(t, uint64(1), d.Counts().Violations)

	// Another incarnation of the sender voids the key instead of continuing it (M48).
	again := message(99, "m")
	again.Epoch++
	_, _, err = d.Judge("k", again)
	require.ErrorIs(t, err, &sm.Refusal{Reason: settle.StaleEpoch})
	require.ErrorIs(t, d.Record("k", again, 1), &sm.Refusal{Reason: settle.StaleEpoch})
	// The same epoch after a reconnect is a duplicate like any other (M47).
	judge(9, "m", dedup.Repeat, 9)
}

// TestLowestLeavesAtOnce: an id below a full window is carried out once and not again.
func TestLowestLeavesAtOnce(t *testing.T) {
	spec.Covers(t, "KS-REG-18", "KS-REG-12")
	d := table(t, 1, 1)
	require.NoError(t, d.Record("k", message(5, "m"), 1))
	v, _, err := d.Judge("k", message(3, "m"))
	require.NoError(t, err)
	require.Equal(t, dedup.First, v)
	require.NoError(t, d.Record("k", message(3, "m"), 2))
	v, _, err = d.Judge("k", message(3, "m"))
	require.NoError(t, err)
	require.Equal(t, dedup.Below, v)
	require.Equal(t, uint64(3), d.Floor("k"))
	v, _, _ = d.Judge("k", message(5, "m"))
	require.Equal(t, dedup.Repeat, v)
	require.Zero(t, d.Floor("absent"))
}

func TestKeysAreBounded(t *testing.T) {
	spec.Covers(t, "KS-TIME-18", "KS-SEC-3")
	d := table(t, 2, 2)
	require.NoError(t, d.Record("a", message(1, "m"), 1))
	require.NoError(t, d.Record("b", message(1, "m"), 1))
	for range 1000 {
		_, _, err := d.Judge("c", message(1, "m"))
		require.ErrorIs(t, err, &sm.Refusal{Reason: sm.RegistryFull})
		require.ErrorIs(t, d.Record("c", message(1, "m"), 1), &sm.Refusal{Reason: sm.RegistryFull})
	}
	require.Equal(t, dedup.Counts{Keys: 2, IDs: 2, Refused: 1000}, d.Counts())
	d.Drop("a")
	d.Drop("a")
	d.Drop("never")
	require.Equal(t, 1, d.Counts().Keys)
	v, _, err := d.Judge("c", message(1, "m"))
	require.NoError(t, err)
	require.Equal(t, dedup.First, v)
	require.NoError(t, d.Record("c", message(1, "m"), 1))
	require.Zero(t, d.Floor("c"), "nothing is left of the key that had the room before")
}

// TestAgainstNaive compares a table with the whole history of each key.
func TestAgainstNaive(t *testing.T) {
	spec.Covers(t, "KS-REG-10", "KS-REG-11", "KS-REG-12", "KS-REG-18")
	rapid.Check(t, func(rt *rapid.T) {
		window := rapid.IntRange(1, 5).Draw(rt, "window")
		d := table(rt, window, 2)
		type past struct {
			ids   []uint64 // ascending, all that were recorded
			done  map[uint64]int
			bytes map[uint64]string
			floor uint64
		}
		keys := map[string]*past{}
		carried := map[string]int{}
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			k := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")
			id := rapid.Uint64Range(1, 20).Draw(rt, "id")
			text := rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(rt, "bytes")
			p := keys[k]
			if rapid.IntRange(0, 19).Draw(rt, "drop") == 0 {
				d.Drop(k)
				delete(keys, k)
				continue
			}
			v, reply, err := d.Judge(k, message(id, text))
			switch {
			case p == nil && len(keys) == 2:
				require.ErrorIs(rt, err, &sm.Refusal{Reason: sm.RegistryFull})
				continue
			case p == nil:
				require.Equal(rt, dedup.First, v)
			case slices.Contains(p.ids, id) && p.bytes[id] != text:
				require.ErrorIs(rt, err, &sm.Refusal{Reason: settle.ProtocolError})
				continue
			case slices.Contains(p.ids, id):
				require.Equal(rt, dedup.Repeat, v)
				require.Equal(rt, p.done[id], reply)
				continue
			case id <= p.floor:
				require.Equal(rt, dedup.Below, v)
				continue
			default:
				require.Equal(rt, dedup.First, v)
			}
			require.NoError(rt, err)
			if p == nil {
				p = &past{done: map[uint64]int{}, bytes: map[uint64]string{}}
				keys[k] = p
			}
			_, before := p.done[id]
			require.False(rt, before, "nothing is carried out twice")
			carried[k]++
			require.NoError(rt, d.Record(k, message(id, text), carried[k]))
			p.done[id], p.bytes[id] = carried[k], text
			p.ids = append(p.ids, id)
			slices.Sort(p.ids)
			if len(p.ids) > window {
				p.floor = max(p.floor, p.ids[0])
				p.ids = p.ids[1:]
			}
			require.Equal(rt, p.floor, d.Floor(k))
		}
		ids := 0
		for _, p := range keys {
			ids += len(p.ids)
		}
		require.Equal(rt, ids, d.Counts().IDs)
		require.Equal(rt, len(keys), d.Counts().Keys)
	})
}

func TestWrongRules(t *testing.T) {
	d := table(t, 1, 1)
	require.NoError(t, d.Record("k", message(5, "m"), 1))
	require.NoError(t, d.Record("k", message(7, "m"), 1))
	other := message(8, "m")
	other.Epoch++
	for rule, m := range map[wrong.Rules]dedup.Message{
		wrong.CancelTwice: message(7, "m"), wrong.OldReachesNew: message(5, "m"), wrong.IgnoreEpochs: other,
	} {
		d.WithWrongRules(0)
		v, _, err := d.Judge("k", m)
		require.True(t, err != nil || v != dedup.First)
		d.WithWrongRules(rule)
		v, _, err = d.Judge("k", m)
		require.NoError(t, err)
		require.Equal(t, dedup.First, v, "%b", rule)
	}
}

func TestStrings(t *testing.T) {
	require.Equal(t, []string{"first", "repeat", "below", "invalid"},
		[]string{dedup.First.String(), dedup.Repeat.String(), dedup.Below.String(), dedup.Verdict(0).String()})
}

func TestNoAllocation(t *testing.T) {
	d, err := dedup.New[uint32, int](4, 10)
	require.NoError(t, err)
	id := uint64(0)
	life := func() {
		for range 6 {
			id++
			m := dedup.Message{Epoch: 1, ID: id}
			if v, _, err := d.Judge(7, m); err != nil || v != dedup.First || d.Record(7, m, 1) != nil {
				t.Fatal(err)
			}
			if v, _, _ := d.Judge(7, m); v != dedup.Repeat {
				t.Fatal(v)
			}
		}
		d.Drop(7)
	}
	life()
	require.Zero(t, testing.AllocsPerRun(100, life))
}

// TestMemory reports what a key with two messages costs.
func TestMemory(t *testing.T) {
	const n = 20_000
	d, err := dedup.New[uint64, uint32](dedup.DefaultWindow, n)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for k := range uint64(n) {
		for id := uint64(1); id <= 2; id++ {
			if err := d.Record(k, dedup.Message{Epoch: 1, ID: id}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes per key with two messages", per)
	require.Less(t, per, 400.0)
	runtime.KeepAlive(d)
}

func BenchmarkJudgeRecord(b *testing.B) {
	d, err := dedup.New[uint64, uint32](dedup.DefaultWindow, 10)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := uint64(1); b.Loop(); i++ {
		m := dedup.Message{Epoch: 1, ID: i}
		if v, _, _ := d.Judge(1, m); v != dedup.First || d.Record(1, m, 0) != nil {
			b.Fatal(v)
		}
	}
}
