package simulate

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// TestEveryDialect: nothing that the judges look for happens, whatever goes wrong,
// and everything that can happen does.
func TestEveryDialect(t *testing.T) {
	spec.Covers(t, "KS-SLOT-3", "KS-SLOT-4", "KS-V1-12", "KS-TIME-18")
	rep, err := Many(context.Background(), Options{Schedules: 700, Shape: DefaultShape(), Workers: 2})
	require.NoError(t, err)
	require.Empty(t, rep.Failures)
	require.Zero(t, rep.Verdict)
	for d := range NumDialects {
		r := &rep.ByDialect[d]
		require.Equal(t, 100, rep.Counts[d])
		require.Equal(t, r.Transfers, r.Completed+r.Rejected+r.Cancelled+r.Failed+r.Refused+r.Lost, "%v: every transfer is in one class", d)
		for name, n := range map[string]int{"completed": r.Completed, "rejected": r.Rejected, "cancelled": r.Cancelled, "failed": r.Failed, "unknown": r.Unknown, "crashes": r.Crashes} {
			require.Positive(t, n, "%v never %s", d, name)
		}
		require.Equal(t, d == Quiescence || d == Both, r.Quiesced > 0, "%v", d)
		require.Equal(t, d == Recovery || d == Both, r.Recovered > 0, "%v", d)
		t.Logf("%v: %+v, restarts %v, %d crashes, %d slots held, %d events, %d messages", d, r.Ends, r.Restarts.Map(), r.Crashes, r.Held, r.Events, r.Messages)
	}
	for k := Drop; k < Collateral; k++ {
		require.Positive(t, rep.Applied[k], "fault %v never hits", k)
	}
}

// TestSchedules: a schedule has at least 100 transfers and 3 kinds of faults, and is
// the same for every dialect.
func TestSchedules(t *testing.T) {
	for seed := range uint64(500) {
		s := Draw(seed, Plain, DefaultShape())
		require.Len(t, s.Transfers, 100)
		require.GreaterOrEqual(t, s.Kinds(), 3, "seed %d", seed)
		o := Draw(seed, Both, DefaultShape())
		require.Equal(t, s.Faults, o.Faults)
		require.Equal(t, s.Transfers, o.Transfers)
		last := uint16(0)
		for _, f := range s.Faults {
			if !f.Kind.Timed() {
				require.GreaterOrEqual(t, f.Transfer, last, "faults are ordered")
				last = f.Transfer
			}
		}
	}
}

// TestAgain: the same seed gives the same run, whatever ran before it, and the sums do
// not depend on the workers.
func TestAgain(t *testing.T) {
	used := New()
	for seed := range uint64(140) {
		d := Dialect(seed % uint64(NumDialects))
		s := Draw(seed, d, DefaultShape())
		require.Equal(t, New().Run(s), used.Run(s), "seed %d", seed)
	}
	o := Options{Schedules: 70, First: 500, Shape: DefaultShape()}
	one, err := Many(context.Background(), o)
	require.NoError(t, err)
	o.Workers = 3
	three, err := Many(context.Background(), o)
	require.NoError(t, err)
	one.Seconds, three.Seconds = 0, 0
	require.Equal(t, one, three)
}

func TestManyStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rep, err := Many(ctx, Options{Schedules: 10, Shape: DefaultShape()})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, rep.Schedules)
}

// TestReplay: the timeline of a run is a run of the machines, and a timeline with
// another step in it is not.
func TestReplay(t *testing.T) {
	shape := Shape{Transfers: 20, PerMille: 600}
	for d := range NumDialects {
		for seed := range uint64(10) {
			sch := Draw(seed, d, shape)
			res, text, err := Record(sch, Wrong{})
			require.NoError(t, err)
			require.Equal(t, New().Run(sch), res, "recording changes nothing")
			tl, err := timeline.Read(text)
			require.NoError(t, err)
			found, err := Replay(tl)
			require.NoError(t, err, "%v seed %d", d, seed)
			require.Empty(t, found)
			st := Tell("a run", tl)
			require.Len(t, st.Steps, len(tl.Events))
		}
	}
}

// TestHotLoop: a run allocates for its processes, not for its events.
func TestHotLoop(t *testing.T) {
	for _, d := range []Dialect{Enabled, Both} {
		sim := New()
		sch := Draw(3, d, DefaultShape())
		calm := *sch
		calm.Faults = nil
		for range 3 {
			sim.Run(&calm)
		}
		var res Result
		n := testing.AllocsPerRun(20, func() { res = sim.Run(&calm) })
		t.Logf("%v: %d events, %.0f allocations for a run of %d transfers", d, res.Events, n, res.Transfers)
		require.Less(t, n, float64(res.Events)/50)
		if d.V2() {
			require.Less(t, n, 40.0, "pools and processes only")
		}
	}
}

func TestQueue(t *testing.T) {
	var q queue
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		q.push(event{x: 0})
		q.push(event{at: sm.Time(rng.IntN(50)), x: 1})
		q.push(event{at: Microsecond * 7, x: uint16(rng.IntN(3))})
	}
	var last event
	n := 0
	for {
		e, ok := q.pop()
		if !ok {
			break
		}
		require.False(t, before(&e, &last), "in order of time, then of pushing")
		last = e
		n++
	}
	require.Equal(t, 6000, n)
}

func BenchmarkSchedule(b *testing.B) {
	for d := range NumDialects {
		b.Run(d.String(), func(b *testing.B) {
			sim := New()
			seed, events := uint64(0), 0
			b.ReportAllocs()
			for b.Loop() {
				seed++
				r := sim.Run(Draw(seed, d, DefaultShape()))
				events += r.Events
			}
			b.ReportMetric(float64(events)/float64(b.N), "events/op")
		})
	}

}
