package timeline_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

const sample = `kvsettle-timeline 1
about dialect=plain seed=7
1 - ctx-0/17 OnPublish Room=true
2 1 gen-0/17 OnValidate Value=true Edges=1
3 1,2 ctx-0/17 OnOpen
end 3
`

func TestRead(t *testing.T) {
	tl, err := timeline.Read([]byte(sample))
	require.NoError(t, err)
	require.Len(t, tl.Events, 3)
	seed, ok := tl.Arg("seed")
	require.True(t, ok)
	require.Equal(t, "7", seed)
	edges, ok := tl.Events[1].Arg("Edges")
	require.True(t, ok)
	require.Equal(t, "1", edges)
	_, ok = tl.Events[1].Arg("edges")
	require.False(t, ok)
	require.Equal(t, []uint32{1, 2}, tl.Events[2].Causes)
	again, err := timeline.Append(nil, tl)
	require.NoError(t, err)
	require.Equal(t, sample, string(again))
}

// TestStrict changes one thing of a good timeline at a time; each is refused with its
// line.
func TestStrict(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		line     int
		says     string
	}{
		"magic":           {"timeline 1", "timeline 2", 1, "is not"},
		"about":           {"about ", "About ", 2, "about"},
		"about twice":     {"seed=7", "dialect=48", 2, "twice"},
		"about space":     {"seed=7\n", "seed=7 \n", 2, "form"},
		"gap":             {"\n2 1", "\n4 1", 4, "event 2 or the end is due"},
		"repeat":          {"\n2 1", "\n1 -", 4, "is due"},
		"zero before":     {"\n2 1", "\n02 1", 4, "is due"},
		"own cause":       {"2 1 gen", "2 2 gen", 4, "no earlier event"},
		"cause order":     {"1,2", "2,1", 5, "out of order"},
		"cause twice":     {"1,2", "1,1", 5, "out of order"},
		"cause form":      {"1,2", "1,02", 5, "list of numbers"},
		"cause empty":     {"1,2", "1,", 5, "list of numbers"},
		"no cause":        {"2 1 gen", "2  gen", 4, "list of numbers"},
		"actor":           {"ctx-0/17 OnOpen", "ctx?0 OnOpen", 5, "no token"},
		"no action":       {"ctx-0/17 OnOpen", "ctx-0/17", 5, "no token"},
		"two spaces":      {"Value=true Edges", "Value=true  Edges", 4, "argument"},
		"space at end":    {"OnOpen\n", "OnOpen \n", 5, "form"},
		"no value":        {"Edges=1", "Edges=", 4, "tokens"},
		"no equals":       {"Edges=1", "Edges", 4, "no argument"},
		"key twice":       {"Edges=1", "Value=1", 4, "twice"},
		"return":          {"OnOpen\n", "OnOpen\r\n", 5, "token"},
		"blank line":      {"\nend", "\n\nend", 6, "is due"},
		"end":             {"end 3", "end 2", 6, "there are 3"},
		"end form":        {"end 3", "end 3 ", 6, "there are 3"},
		"no end":          {"end 3\n", "", 6, "end is missing"},
		"no last newline": {"end 3\n", "end 3", 6, "end is missing"},
		"after the end":   {"end 3\n", "end 3\n4 - a b\n", 7, "after the end"},
		"long":            {"OnOpen", strings.Repeat("x", timeline.MaxToken+1), 5, "no token"},
		"many arguments":  {"OnOpen", "OnOpen" + strings.Repeat(" a=b", timeline.MaxArgs+1), 5, "too many"},
	} {
		require.Contains(t, sample, c.from, name)
		_, err := timeline.Read([]byte(strings.Replace(sample, c.from, c.to, 1)))
		var e *timeline.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, c.line, e.Line, "%s: %v", name, err)
		require.Contains(t, e.Error(), c.says, name)
		require.True(t, errors.Is(err, &timeline.Error{}), name)
	}
	_, err := timeline.Read(nil)
	require.ErrorContains(t, err, "line 1")
}

func TestWriterRefuses(t *testing.T) {
	_, err := timeline.New(nil, []timeline.Arg{{Key: "a b", Value: "c"}})
	require.EqualError(t, err, `timeline: argument "a b" is no pair of tokens`)
	w, err := timeline.New([]byte("before\n"), nil)
	require.NoError(t, err)
	many := make([]uint32, timeline.MaxCauses+1)
	for _, e := range []timeline.Event{
		{Actor: "", Action: "a"}, {Actor: "a", Action: "b c"}, {Actor: "a", Action: "b", Causes: []uint32{1}}, {Actor: "a", Action: "b", Causes: many},
		{Actor: "a", Action: "b", Args: []timeline.Arg{{Key: "k", Value: "v"}, {Key: "k", Value: "w"}}},
		{Actor: "a", Action: "b", Args: make([]timeline.Arg, timeline.MaxArgs+1)},
	} {
		_, err := w.Add(&e)
		require.Error(t, err, "%v", e)
	}
	require.Zero(t, w.Len(), "nothing was written")
	n, err := w.Add(&timeline.Event{Actor: "a", Action: "b"})
	require.NoError(t, err)
	require.Equal(t, uint32(1), n)
	require.Equal(t, "before\nkvsettle-timeline 1\nabout\n1 - a b\nend 1\n", string(w.End()))
	_, err = timeline.Append(nil, &timeline.Timeline{Events: []timeline.Event{{Actor: "?"}}})
	require.Error(t, err)
}

func TestRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[A-Za-z0-9._:/+-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		args := func(label string) (out []timeline.Arg) {
			for _, k := range rapid.SliceOfNDistinct(word, 0, 4, rapid.ID[string]).Draw(t, label) {
				out = append(out, timeline.Arg{Key: k, Value: word.Draw(t, "value")})
			}
			return out
		}
		tl := &timeline.Timeline{About: args("about")}
		for i := range rapid.IntRange(0, 6).Draw(t, "events") {
			e := timeline.Event{Actor: word.Draw(t, "actor"), Action: word.Draw(t, "action"), Args: args("args")}
			for c := range uint32(i) {
				if rapid.Bool().Draw(t, "cause "+strconv.Itoa(i)) {
					e.Causes = append(e.Causes, c+1)
				}
			}
			tl.Events = append(tl.Events, e)
		}
		text, err := timeline.Append(nil, tl)
		require.NoError(t, err)
		back, err := timeline.Read(text)
		require.NoError(t, err)
		require.Equal(t, tl, back)
	})
}

// FuzzRead: what is accepted has one form only, and nothing panics.
func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, text []byte) {
		tl, err := timeline.Read(text)
		if err != nil {
			return
		}
		again, err := timeline.Append(nil, tl)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}

func TestFuzzSeeds(t *testing.T) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzRead")
	require.NoError(t, err)
	require.Len(t, seeds, 6)
}
