package trace_test

import (
	"fmt"
	"strings"

	"github.com/kvsettle/kvsettle/nixlimpl/trace"
)

func ExampleRead() {
	const text = `{"timestamp": 0, "input_length": 700, "output_length": 20, "hash_ids": [4, 9]}
{"timestamp": 31, "input_length": 700, "output_length": 20, "hash_ids": [4]}
`
	reqs, err := trace.Read(strings.NewReader(text), "my.jsonl", 1)
	fmt.Println(reqs[0].InputLength, reqs[0].HashIDs, err)
	_, err = trace.Read(strings.NewReader(text), "my.jsonl", 0)
	fmt.Println(err)
	// Output:
	// 700 [4 9] <nil>
	// trace my.jsonl: line 2: field hash_ids: trace-hash-count: 1 ids for input_length 700, want 2 (KS-TRC-3)
}

func ExampleReadFile() {
	_, err := trace.ReadFile("no/such/trace.jsonl", 10)
	fmt.Println(err)
	// Output: trace no/such/trace.jsonl: trace-missing: open no/such/trace.jsonl: no such file or directory (KS-TRC-4)
}

func ExampleEmbedded() {
	reqs, err := trace.Embedded(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	first := reqs[0].TimestampMS
	fmt.Println(len(reqs), "requests in", reqs[len(reqs)-1].TimestampMS-first, "ms")
	// Output: 100 requests in 21000 ms
}
