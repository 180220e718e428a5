package round

import "testing"

func BenchmarkDecode(b *testing.B) {
	raw := goldenBytes()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	p, buf := goldenPayload(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], &p); err != nil {
			b.Fatal(err)
		}
	}
}
