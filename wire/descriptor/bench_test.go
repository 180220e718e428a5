package descriptor

import "testing"

func BenchmarkParseV1(b *testing.B) {
	name := "ctx-host-0_1234_9876543210123456789_0" + string(AppendRaw(nil, Default(Enabled, 0xdeadbeef)))
	b.ReportAllocs()
	for b.Loop() {
		if _, s, _ := ParseV1(name); s != Valid {
			b.Fatal(s)
		}
	}
}

func BenchmarkParseV2(b *testing.B) {
	d := Descriptor{Min: 1, Max: 1, Caps: 7, Mode: Enabled, Token: 0xdeadbeef, ABI: 1, Schema: 2}
	name := "ctx-host-0_1234_9876543210123456789_0" + string(AppendRaw(nil, d))
	b.ReportAllocs()
	for b.Loop() {
		if _, s, _ := Parse(name); s != Valid {
			b.Fatal(s)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	d := Default(Enabled, 0xdeadbeef)
	buf := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], d); err != nil {
			b.Fatal(err)
		}
	}
}
