package shm_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// GEN offers a slot, CTX writes into it and says so.
func ExampleOpen() {
	request, done := make(chan transport.Event, 1), make(chan transport.Event, 1)
	written := make(chan transport.Event, 1)
	ctx, err := shm.Open(shm.Config{Name: "ctx-0"}, func(e transport.Event) {
		switch e.Kind {
		case transport.Notice:
			request <- e
		case transport.WriteEnded:
			written <- e
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ctx.Close()
	gen, err := shm.Open(shm.Config{Name: "gen-0"}, func(e transport.Event) {
		if e.Kind == transport.Notice {
			done <- e
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gen.Close()

	slot, _ := gen.Register(4096, true)
	if err := gen.AddPeer("ctx-0", ctx.Address(), nil); err != nil {
		fmt.Println(err)
		return
	}
	_ = gen.Notify("ctx-0", []byte("request"))

	from := (<-request).Peer
	source, _ := ctx.Register(4096, false)
	copy(source.Bytes, "the KV cache")
	_, err = ctx.Post(from, source.Bytes[:12], transport.Target{Addr: slot.Addr, Len: 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("write succeeded:", (<-written).Status == transport.Done)
	_ = ctx.Notify(from, []byte("sync"))

	fmt.Printf("%s from %s: %s\n", (<-done).Payload, "ctx-0", slot.Bytes[:12])
	// Output:
	// write succeeded: true
	// sync from ctx-0: the KV cache
}

func ExampleSupported() {
	if err := shm.Supported(); err != nil {
		fmt.Println(err) // names what is missing
		return
	}
	fmt.Println("shared memory works here")
	// Output: shared memory works here
}
