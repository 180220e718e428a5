package bench_test

import (
	"context"
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/bench"
)

func ExampleRun() {
	res, err := bench.Run(context.Background(), bench.Options{Sizes: []bench.Size{{Bytes: 1 << 20, Block: 16 << 10}}, Count: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := res.Rows[0]
	fmt.Println(row.Bytes, row.Block, row.Geometry, row.HandoverGBPS > 0, row.Ratio > 0, res.Checked)
	// Output: 1048576 16384 llama-3.1-8b true true true
}

func ExampleDefaultSizes() {
	for _, s := range bench.DefaultSizes() {
		fmt.Println(s.Bytes>>20, "MiB in blocks of", s.Block>>10, "KiB")
	}
	// Output:
	// 4 MiB in blocks of 64 KiB
	// 64 MiB in blocks of 64 KiB
	// 256 MiB in blocks of 64 KiB
	// 64 MiB in blocks of 16 KiB
}
