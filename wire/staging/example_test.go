package staging_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/wire/staging"
)

// Two layers of eight heads, three blocks of 32 tokens, bf16.
func ExampleRegion_Offset() {
	r := staging.Region{Heads: []int{8, 8}, Factor: 2, Blocks: 3, Tokens: 32, HeadSize: 128, ElementBytes: 2}
	fmt.Println(r.Size())
	fmt.Println(r.Offset(staging.Index{Layer: 1, KV: 1, Block: 2}))
	_, err := r.Offset(staging.Index{Layer: 2})
	fmt.Println(err)
	// Output:
	// 786432 <nil>
	// 720896 <nil>
	// staging.index: out-of-range: outside the region (KS-STG-1)
}

func ExampleRegion_Size() {
	r := staging.Region{Heads: []int{1}, Factor: 1, Blocks: 1, Tokens: 32, HeadSize: 576, ElementBytes: 2}
	fmt.Println(r.Size())
	// Output: 36864 <nil>
}

func ExamplePlace() {
	fmt.Println(staging.Place(nil, []uint64{100, 50}, 150))
	_, err := staging.Place(nil, []uint64{100, 51}, 150)
	fmt.Println(err)
	// Output:
	// [0 100] <nil>
	// staging.slot: out-of-range: region 1 ends behind 150 (KS-STG-5)
}

func ExampleCheckPlaces() {
	fmt.Println(staging.CheckPlaces([]uint64{0, 101}, []uint64{100, 49}, 150))
	// Output: staging.places: bad-order: region 1 is not behind the one before it (KS-STG-3)
}

func ExampleCheckChunks() {
	fmt.Println(staging.CheckChunks(100, []staging.Span{{Offset: 60, Length: 40}, {Offset: 0, Length: 60}}))
	fmt.Println(staging.CheckChunks(100, []staging.Span{{Offset: 0, Length: 60}}))
	// Output:
	// <nil>
	// staging.chunks: missing: 40 bytes are in no chunk (KS-STG-2)
}
