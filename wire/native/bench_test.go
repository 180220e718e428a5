package native

import "testing"

func BenchmarkWalkRequest(b *testing.B) {
	body := goldenRequest(b)
	limits := DefaultLimits()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := WalkRequest(body, limits); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeReady(b *testing.B) {
	raw, err := AppendReady(nil, golden()[2].Ready)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeNotification(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	raw, err := AppendRequest(nil, golden()[0].Request)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeNotification(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	n := golden()[0]
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = AppendRequest(buf[:0], n.Request); err != nil {
			b.Fatal(err)
		}
	}
}
