package kv_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/nixlimpl/kv"
)

func ExampleLookup() {
	g, err := kv.Lookup("llama-3.1-8b")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.BytesPerToken(), "bytes per token in pieces of", g.PieceBytes())
	_, err = kv.Lookup("llama-2")
	fmt.Println(err)
	// Output:
	// 131072 bytes per token in pieces of 65536
	// geometry "llama-2" is not one of llama-3.1-8b, llama-3.1-70b, qwen3-32b, deepseek-v3: kv-geometry-unknown (KS-KV-1)
}

func ExampleKnown() {
	fmt.Println(kv.Known())
	// Output: [llama-3.1-8b llama-3.1-70b qwen3-32b deepseek-v3]
}

func ExampleGeometry_Scaled() {
	for _, slug := range kv.Known() {
		g, _ := kv.Lookup(slug)
		s, err := g.Scaled(g.DefaultScale())
		fmt.Println(slug, s.Layers, s.Heads, s.HeadDim, s.BytesPerToken(), err)
	}
	// Output:
	// llama-3.1-8b 1 2 128 1024 <nil>
	// llama-3.1-70b 1 2 128 1024 <nil>
	// qwen3-32b 1 2 128 1024 <nil>
	// deepseek-v3 1 1 520 1040 <nil>
}

// A request of 600 tokens is reserved, filled and put into the cache; the next
// one with the same beginning misses its tail only.
func ExampleCache() {
	g, _ := kv.Lookup("llama-3.1-8b")
	g, _ = g.Scaled(g.DefaultScale())
	const blocks = 64
	pool, err := kv.NewPool(make([]byte, kv.PoolBytes(g, blocks)), g, blocks)
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := kv.NewCache(pool)

	hashes, tokens := []uint64{7, 8}, 600
	plan, _ := cache.Reserve(hashes, tokens)
	for i, id := range plan.NewBlocks() {
		_ = pool.FillBlock(id, kv.ContentOf(g, hashes, tokens, plan.HitBlocks+i))
	}
	fmt.Println("first:", plan.HitTokens, "tokens hit,", len(plan.NewBlocks()), "blocks missing")
	_ = cache.Commit(plan)
	_ = cache.Release(plan)

	plan, _ = cache.Reserve([]uint64{7, 9}, 1000)
	fmt.Println("second:", plan.HitTokens, "tokens hit,", len(plan.NewBlocks()), "blocks missing")
	_ = cache.Release(plan)
	fmt.Printf("%+v\n", cache.Stats())
	// Output:
	// first: 0 tokens hit, 19 blocks missing
	// second: 512 tokens hit, 16 blocks missing
	// {Hits:1 Misses:3 FullHits:0 Evicted:0 Duplicates:0}
}

// Blocks go into a slot and out again at the other end, and every byte of them
// is checked without asking the source.
func ExampleLayout() {
	g, _ := kv.Lookup("deepseek-v3")
	g, _ = g.Scaled(g.DefaultScale())
	src, err := kv.NewPool(make([]byte, kv.PoolBytes(g, 4)), g, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	dst, _ := kv.NewPool(make([]byte, kv.PoolBytes(g, 4)), g, 4)
	from, to := []kv.BlockID{0, 1}, []kv.BlockID{3, 1}
	const tokens = 40 // the second block has 8 of them
	for i, id := range from {
		_ = src.FillBlock(id, kv.ContentOf(g, []uint64{5}, tokens, i))
	}

	l := kv.Layout{Geometry: g, Blocks: len(from)}
	slot := make([]byte, l.Bytes())
	fmt.Println("gather:", l.Gather(slot, src, from, 0, len(slot)))
	fmt.Println("scatter:", l.Scatter(slot, dst, to, 0, len(slot)))
	for i, id := range to {
		ok, _ := dst.VerifyBlock(id, kv.ContentOf(g, []uint64{5}, tokens, i))
		fmt.Println("block", id, ok)
	}
	// Output:
	// gather: <nil>
	// scatter: <nil>
	// block 3 true
	// block 1 true
}

func ExampleCheckFree() {
	slot := make([]byte, 4096)
	kv.StampFree(slot, 2, 17)
	fmt.Println(kv.CheckFree(slot, 2, 17))
	slot[1000] ^= 1 // a late write
	fmt.Println(kv.CheckFree(slot, 2, 17))
	// Output:
	// 0
	// 1
}
