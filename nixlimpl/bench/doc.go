// Package bench measures a hand-over against plain copies of the same bytes: a
// CTX and a GEN process move paged KV over shared memory as the demo does, and in
// the same run, in turn, this process makes one contiguous copy and one copy
// block by block.
//
// A hand-over lasts from GEN's request to the last block in its place: blocks are
// gathered into staging memory, written, and scattered. Content is not checked
// while the clock runs; slots have guard pages instead of stamps. After the last
// repetition one more request goes the same way, and every byte of it is checked.
package bench
