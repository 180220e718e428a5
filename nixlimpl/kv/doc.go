// Package kv is the paged KV memory of the reference transceiver: the geometry
// of named models, a pool of blocks, a prefix cache over it, block content that
// can be checked without its source, the stamp of free slots, and the copies
// between paged blocks and a staging slot.
//
// Pool and Cache keep their books without locks: one goroutine owns them. The
// functions that only move or look at bytes (Piece, Block, Gather, Scatter,
// FillBlock, VerifyBlock, Fill, Verify, StampFree, CheckFree) read no books, so
// any number of goroutines may call them on disjoint memory.
package kv
