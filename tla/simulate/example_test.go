package simulate_test

import (
	"context"
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
	"github.com/kvsettle/kvsettle/tla/simulate"
)

// lostNotice is one transfer whose completion notice is lost.
func lostNotice(d simulate.Dialect) *simulate.Schedule {
	return &simulate.Schedule{Dialect: d, CtxRanks: 1, GenRanks: 1, Slots: 8, ErrorQuiet: true,
		Transfers: []simulate.Transfer{{ID: 1, Chunks: 2}}, Faults: []simulate.Fault{{Kind: simulate.LostNotice}}}
}

// The same schedule in two dialects.
func ExampleSim_Run() {
	sim := simulate.New()
	for _, d := range []simulate.Dialect{simulate.Plain, simulate.Recovery} {
		r := sim.Run(lostNotice(d))
		fmt.Println(d, r.Completed, r.Failed, r.Restarts.Map(), r.Bad())
	}
	// Output:
	// plain 0 1 map[lost-notice:1] 0
	// 48 1 0 map[] 0
}

// Many schedules on two goroutines.
func ExampleMany() {
	rep, err := simulate.Many(context.Background(), simulate.Options{Schedules: 70, First: 1, Shape: simulate.DefaultShape(), Workers: 2})
	fmt.Println(err, rep.Schedules, rep.Transfers, rep.Bad())
	// Output: <nil> 70 7000 0
}

// Of a drawn schedule, what it takes to make somebody restart.
func ExampleShrink() {
	sim := simulate.New()
	sch := simulate.Draw(9, simulate.Plain, simulate.Shape{Transfers: 100, PerMille: 50, Only: []simulate.Kind{simulate.LostNotice}, Calm: true, Ranks: 1})
	small := simulate.Shrink(sch, 1000, func(s *simulate.Schedule) bool { r := sim.Run(s); return r.Restarts.Sum() > 0 })
	fmt.Println(len(sch.Transfers), len(small.Transfers), len(small.Faults), small.Faults[0].Kind)
	// Output: 100 1 1 lost-notice
}

// A run written down is a run of the machines.
func ExampleReplay() {
	_, text, err := simulate.Record(lostNotice(simulate.Both), simulate.Wrong{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tl, err := timeline.Read(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := simulate.Replay(tl)
	fmt.Println(len(found), err)
	for i := range tl.Events {
		if e := &tl.Events[i]; e.Action == "OnStatus" {
			does, _ := e.Arg("does")
			fmt.Println(e.Actor, e.Action, does)
		}
	}
	// Output:
	// 0 <nil>
	// gen-0/0 OnStatus process
}
