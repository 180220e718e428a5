package shm

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func someAddress() string { return addressPrefix + strings.Repeat("5a", tokenLen) }

func TestFramesRoundTrip(t *testing.T) {
	name := rapid.StringMatching(`[ -~äß世]{1,200}`)
	rapid.Check(t, func(t *rapid.T) {
		h := hello{regions: rapid.Uint32Range(0, MaxRegions).Draw(t, "regions"), name: name.Draw(t, "name"),
			want: name.Draw(t, "want"), address: someAddress()}
		b := appendHello(nil, h)
		head, err := parseHeader([headerLen]byte(b))
		require.NoError(t, err)
		require.Equal(t, header{kindHello, len(b) - headerLen}, head)
		got, err := parseHello(b[headerLen:])
		require.NoError(t, err)
		require.Equal(t, h, got)
		for cut := range len(b) - headerLen {
			_, err := parseHello(b[headerLen : headerLen+cut])
			require.Error(t, err)
		}
	})
}

func TestLongestHelloFits(t *testing.T) {
	long := strings.Repeat("n", MaxName)
	b := appendHello(nil, hello{name: long, want: long, address: someAddress()})
	_, err := parseHeader([headerLen]byte(b))
	require.NoError(t, err)
	_, err = parseHello(b[headerLen:])
	require.NoError(t, err)
	b = appendHello(nil, hello{name: long + "n", want: "w", address: someAddress()})
	_, err = parseHello(b[headerLen:])
	require.ErrorIs(t, err, &Error{Reason: ReasonBadHello})
}

const helloSeeds, headerSeeds = 9, 8

func FuzzHello(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHello(b)
		if err != nil {
			var e *Error
			require.True(t, errors.As(err, &e) && e.Reason != "")
			return
		}
		require.Equal(t, b, appendHello(nil, h)[headerLen:], "one hello has one encoding")
	})
}

func FuzzHeader(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerLen {
			return
		}
		h, err := parseHeader([headerLen]byte(b))
		if err != nil {
			require.ErrorIs(t, err, &Error{Reason: ReasonBadFrame})
			return
		}
		require.LessOrEqual(t, h.size, MaxNotice)
		require.Equal(t, b[:headerLen], appendHeader(nil, h.kind, h.size))
		body := b[headerLen:]
		if addr, size, err := parseRegion(body); err == nil {
			require.Equal(t, body, appendRegion(nil, addr, size)[headerLen:])
			require.GreaterOrEqual(t, addr+size, addr)
		}
		if r, err := parseRefuse(body); err == nil {
			require.Equal(t, body, appendRefuse(nil, r)[headerLen:])
		}
	})
}

func TestSeedsAreThere(t *testing.T) {
	for dir, want := range map[string]int{"FuzzHello": helloSeeds, "FuzzHeader": headerSeeds} {
		files, err := os.ReadDir("testdata/fuzz/" + dir)
		require.NoError(t, err)
		require.Len(t, files, want, dir)
		for _, f := range files {
			b, err := os.ReadFile("testdata/fuzz/" + dir + "/" + f.Name())
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(b, []byte("go test fuzz v1\n")), f.Name())
		}
	}
}
