package service_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
	"github.com/kvsettle/kvsettle/nixlimpl/service"
	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/handover"
)

func config() service.Config {
	geometry, _ := kv.Lookup("llama-3.1-8b")
	geometry, _ = geometry.Scaled(geometry.DefaultScale())
	return service.Config{
		Local: negotiate.On, Geometry: geometry, KVBlocks: 256, Slots: 2, SlotBytes: 1 << 20, Budget: -1, Chunk: 1 << 18,
		Settings: service.DefaultSettings(), Workers: 2, Stamp: true, Verify: true,
		Open: func(name string, sink transport.Sink) (transport.Agent, error) {
			return shm.Open(shm.Config{Name: name}, sink)
		},
	}
}

// A router between the two services: the context result of one is the request of
// the other. Both run in this process here; over shm they are usually two.
func ExampleNewGEN() {
	ctx, err := service.NewCTX(config(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	gen, err := service.NewGEN(config(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := handover.Handover{RequestID: 1, KVSettle: handover.KVSettle{HashIDs: []uint64{11, 12}, InputLength: 700}}
	done := make(chan service.Outcome)
	ctx.Context(request, func(result handover.Handover, err error) {
		gen.Generation(result, func(o service.Outcome) { done <- o })
	})
	o := <-done
	fmt.Println(o.Disposition, o.Blocks, "blocks,", o.Corrupt, "corrupt")
	_, _ = ctx.Close()
	last, _ := gen.Close()
	fmt.Println(last.Slots.Free, "of", last.Slots.Total, "slots free")
	// Output:
	// completed 22 blocks, 0 corrupt
	// 2 of 2 slots free
}
