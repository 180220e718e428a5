package vectors_test

import (
	"fmt"
	"testing/fstest"

	"github.com/kvsettle/kvsettle/conformance/vectors"
)

const line = `{"id":"m-1","type":"MemoryDesc","profile":"2026mid","note":"zero","req":["KS-NAT-20"],` +
	`"fields":{"addr":"1","len":"0","deviceId":3},"hex":"0100000000000000000000000000000003000000",` +
	`"result":"ok","validate":"out-of-range"}`

func ExampleReadLine() {
	l, err := vectors.ReadLine([]byte(line))
	fmt.Println(l.ID, l.Validate, err)
	_, err = vectors.ReadLine([]byte(`{"id":"m-1","results":"ok"}`))
	fmt.Println(err)
	// Output:
	// m-1 out-of-range <nil>
	// unknown member results
}

func ExampleLine_Check() {
	l, err := vectors.ReadLine([]byte(line))
	fmt.Printf("%q %v\n", l.Check(), err)
	l.Hex = l.Hex[:38]
	fmt.Println(l.Check())
	// Output:
	// "" <nil>
	// want no error, got memoryDesc.deviceId at byte 16: short-input: need 4, have 3 (KS-NAT-2)
}

func ExampleRun() {
	r, err := vectors.Run(vectors.Files())
	fmt.Println(r.Failed, r.PassedByType["DATA_COMPLETE"], err)
	r, err = vectors.Run(fstest.MapFS{"mine.jsonl": {Data: []byte(`{"id":"x","type":"Ticket"}`)}})
	fmt.Println(r.Failures[0], err)
	// Output:
	// 0 13 <nil>
	// {mine.jsonl 1 x member profile is missing} <nil>
}

func ExampleProfiles() {
	fmt.Println(len(vectors.Types()), vectors.Profiles("CacheState"), vectors.Profiles("NoSuch"))
	// Output: 33 [2026mid 2025late] []
}

func ExampleDialect() {
	d := vectors.Dialect(vectors.V2Recovery)
	fmt.Printf("%d %#x\n", d.Version, uint64(d.Caps))
	// Output: 1 0x1000000000007
}

func ExampleCodes() {
	fmt.Println(len(vectors.Codes()), vectors.Codes()[0])
	// Output: 23 bad-bool
}
