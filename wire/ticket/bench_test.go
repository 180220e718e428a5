package ticket

import "testing"

func BenchmarkSplit(b *testing.B) {
	raw := golden(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Split(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	state, trailer, buf := prefix(b), goldenTrailer(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], state, &trailer); err != nil {
			b.Fatal(err)
		}
	}
}
