package handover

import (
	"strings"
	"testing"
)

func BenchmarkDecode(b *testing.B) {
	h := golden()
	h.DisaggregatedParams.EncodedOpaqueState = ptr(strings.Repeat("A", 4096))
	raw, err := Append(nil, &h)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	p := golden().DisaggregatedParams
	p.EncodedOpaqueState = ptr(strings.Repeat("A", 4096))
	key := []byte("key")
	header := Sign(key, &p)
	b.ReportAllocs()
	for b.Loop() {
		if err := Verify(key, &p, header); err != nil {
			b.Fatal(err)
		}
	}
}
