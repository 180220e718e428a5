package nixl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

// blobOf is the start of what the library would give for an agent of that name.
func blobOf(name, rest string) []byte {
	b := []byte(blobStart)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(name)))
	return append(append(b, name...), "|"+rest...)
}

func TestCardRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 40, 100).Draw(t, "name")
		c := card{blob: blobOf(name, rapid.String().Draw(t, "rest"))}
		for range rapid.IntRange(0, 5).Draw(t, "regions") {
			c.regions = append(c.regions, remote{addr: rapid.Uint64Max(1<<62).Draw(t, "addr"), size: rapid.Uint64Max(1<<62).Draw(t, "size"), device: rapid.Uint32().Draw(t, "device")})
		}
		b := c.encode()
		got, err := decodeCard(name, b)
		if err != nil || !bytes.Equal(got.blob, c.blob) || len(got.regions) != len(c.regions) {
			t.Fatalf("%v", err)
		}
		for i := range got.regions {
			if got.regions[i] != c.regions[i] {
				t.Fatalf("region %d", i)
			}
		}
		at, err := parseAddress(addressOfCard(b))
		if err != nil || !bytes.Equal(at.card, b) {
			t.Fatalf("address: %v", err)
		}
	})
}

// Every cut and every flipped bit is found before the library sees the blob.
func TestEveryBrokenCardIsRefused(t *testing.T) {
	b := card{blob: blobOf("peer", "Conns"), regions: []remote{{4096, 8192, 0}}}.encode()
	for i := range b {
		_, err := decodeCard("peer", b[:i])
		require.Error(t, err, "cut at %d", i)
		for bit := range 8 {
			f := append([]byte(nil), b...)
			f[i] ^= 1 << bit
			_, err := decodeCard("peer", f)
			require.Error(t, err, "bit %d of byte %d", bit, i)
		}
	}
	_, err := decodeCard("other", b)
	require.ErrorIs(t, err, &Error{Reason: ReasonWrongName})
	_, err = decodeCard("peer", card{blob: []byte("no blob")}.encode())
	require.ErrorIs(t, err, &Error{Reason: ReasonBadMetadata})
	_, err = decodeCard("peer", card{blob: blobOf("peer", ""), regions: []remote{{^uint64(0), 2, 0}}}.encode())
	require.ErrorContains(t, err, "wraps")
	spec.Covers(t, "KS-BACK-14")
}

func TestCovers(t *testing.T) {
	c := card{regions: []remote{{1000, 100, 0}, {5000, 10, 1}}}
	for _, x := range []struct {
		addr, n uint64
		device  uint32
		want    bool
	}{
		{1000, 100, 0, true}, {1050, 50, 0, true}, {1000, 101, 0, false}, {999, 2, 0, false}, {1100, 1, 0, false},
		{1050, 0, 0, false}, {1050, ^uint64(0), 0, false}, {5000, 10, 0, false}, {5000, 10, 1, true},
	} {
		require.Equal(t, x.want, c.covers(x.addr, x.n, x.device), "%+v", x)
	}
}

func TestErrorsMatch(t *testing.T) {
	for reason, want := range map[spec.Reason]error{
		ReasonUnknownPeer: transport.ErrUnknownPeer, ReasonPeerGone: transport.ErrPeerGone, ReasonOutsideRegion: transport.ErrOutsideRegion,
		ReasonClosed: transport.ErrClosed, ReasonTooLarge: transport.ErrTooLarge,
	} {
		err := failed(reason, "post peer-7", "post_xfer_req", backend)
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, err, &Error{Reason: reason})
		require.Contains(t, err.Error(), "nixl_capi_post_xfer_req: backend error (-2)")
		require.Contains(t, err.Error(), "peer-7")
		require.Contains(t, err.Error(), "KS-")
	}
	require.ErrorIs(t, &UnsupportedError{}, errors.ErrUnsupported)
}

func TestConfigBounds(t *testing.T) {
	for name, c := range map[string]Config{
		"no name": {}, "control": {Name: "a\nb"}, "long": {Name: strings.Repeat("x", MaxName+1)}, "port": {Name: "a", Listen: 70000},
		"ip": {Name: "a", Listen: 1, ListenIP: "host"}, "delay": {Name: "a", ProgressDelay: 1}, "idle": {Name: "a", IdlePoll: 1},
		"peers": {Name: "a", MaxPeers: -1}, "connect": {Name: "a", ConnectDeadline: 1},
	} {
		err := c.complete()
		require.ErrorIs(t, err, &Error{Reason: ReasonBadConfig}, name)
	}
	c := Config{Name: "a"}
	require.NoError(t, c.complete())
	require.Equal(t, "UCX", c.Backend)
}

func FuzzCard(f *testing.F) {
	f.Add("peer", card{blob: blobOf("peer", "x"), regions: []remote{{1, 2, 3}}}.encode())
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		c, err := decodeCard(name, b)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.Equal(t, b[:len(c.blob)], c.blob)
		require.LessOrEqual(t, len(c.regions), MaxRegions)
		again, err := decodeCard(name, c.encode())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func FuzzAddress(f *testing.F) {
	f.Add("nixl:AAAA")
	f.Add("10.0.0.1:80")
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseAddress(s)
		if err != nil {
			require.ErrorIs(t, err, &Error{Reason: ReasonBadAddress})
			return
		}
		require.Equal(t, 1, strings.Count(s, ":"))
		if at.ip != "" {
			require.True(t, at.port > 0 && at.port < 65536)
		} else {
			require.Equal(t, s, addressOfCard(at.card))
		}
	})
}

func TestSeedsAreThere(t *testing.T) {
	for name, want := range map[string]int{"FuzzCard": 6, "FuzzAddress": 8} {
		found, err := filepath.Glob(filepath.Join("testdata", "fuzz", name, "*"))
		require.NoError(t, err)
		require.Len(t, found, want, name)
	}
}
