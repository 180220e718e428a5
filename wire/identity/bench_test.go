package identity

import "testing"

func BenchmarkDecodeKey(b *testing.B) {
	raw := keyBytes()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeKey(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendKey(b *testing.B) {
	k, buf := goldenKey(), make([]byte, 0, KeySize)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = AppendKey(buf[:0], &k); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	top := goldenTopology()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := top.Digest(); err != nil {
			b.Fatal(err)
		}
	}
}
