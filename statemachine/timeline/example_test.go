package timeline_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// An event names what caused it.
func ExampleWriter_Add() {
	w, err := timeline.New(nil, []timeline.Arg{{Key: "dialect", Value: "plain"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := w.Add(&timeline.Event{Actor: "ctx-0/1", Action: "OnPublish"})
	_, _ = w.Add(&timeline.Event{Causes: []uint32{first}, Actor: "gen-0/1", Action: "OnValidate", Args: []timeline.Arg{{Key: "Edges", Value: "1"}}})
	fmt.Print(string(w.End()))
	// Output:
	// kvsettle-timeline 1
	// about dialect=plain
	// 1 - ctx-0/1 OnPublish
	// 2 1 gen-0/1 OnValidate Edges=1
	// end 2
}

// What comes after the end is refused.
func ExampleRead() {
	_, err := timeline.Read([]byte("kvsettle-timeline 1\nabout\nend 0\n1 - a b\n"))
	fmt.Println(err)
	// Output: timeline: line 4: comes after the end
}
