//go:build cgo && linux

package nixl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

func probeCommand() *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), probeVariable+"=1")
	return c
}

// renamed is an agent's card for another name, to be spoilt by the test.
func renamed(t testing.TB, e *end, name string) card {
	t.Helper()
	m, err := e.Metadata()
	require.NoError(t, err)
	c, err := decodeCard(e.Name(), m)
	require.NoError(t, err)
	c.blob = renameBlob(c.blob, name)
	return c
}

// works says that a can write to b.
func works(t testing.TB, a, b *end) {
	t.Helper()
	_, err := a.Post(b.Name(), a.region.Bytes[:8], b.target())
	require.NoError(t, err)
	require.Equal(t, transport.Done, a.want(transport.WriteEnded).Status)
}

// Metadata with a right checksum that UCX dies of: the process lives, the name is
// not spoilt, and honest peers are served.
func TestProbeTakesTheDamage(t *testing.T) {
	a, b := open2(t, Config{Probe: probeCommand, ConnectDeadline: 20 * time.Second}), open2(t, Config{})
	a.strict = false // the probe alone sees it
	for i := range 3 {
		// As an unknown name, and in the honest peer's own.
		for _, name := range []string{fmt.Sprintf("%s_%d", b.Name(), i), b.Name()} {
			c := renamed(t, b, name)
			c.blob[bytes.Index(c.blob, []byte("UCX|c"))+13] |= 0x0f // UCX ends the process over this version
			err := a.AddPeer(name, "", c.encode())
			require.ErrorContains(t, err, string(ReasonBadMetadata))
		}
	}
	require.Greater(t, a.probe.starts, 3, "nothing ended the probe: this test shows nothing")
	require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
	works(t, a, b)
	require.EqualValues(t, 6, a.Stats().Faults[ReasonBadMetadata])
	spec.Covers(t, "KS-BACK-14", "KS-SEC-3")
}

// A cut blob in a sound card poisons nothing, with a probe and without one.
func TestCutMetadataPoisonsNothing(t *testing.T) {
	for _, cfg := range []Config{{}, {Probe: probeCommand, ConnectDeadline: 20 * time.Second}} {
		a, b := open2(t, cfg), open2(t, Config{})
		a.strict = cfg.Probe == nil // with a probe, let it alone see it
		c := renamed(t, b, b.Name())
		for _, cut := range []int{1, 9, len(c.blob) / 2} {
			bad := c
			bad.blob = c.blob[:len(c.blob)-cut]
			require.ErrorContains(t, a.AddPeer(b.Name(), "", bad.encode()), string(ReasonBadMetadata))
		}
		require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
		works(t, a, b)
	}
	spec.Covers(t, "KS-BACK-14")
}

// Random damage; KVSETTLE_PROBE_FUZZ sets how much of it.
func TestProbeSurvivesRandomDamage(t *testing.T) {
	n := 60
	if s, err := strconv.Atoi(os.Getenv("KVSETTLE_PROBE_FUZZ")); err == nil {
		n = s
	}
	a, b := open2(t, Config{Probe: probeCommand, ConnectDeadline: 20 * time.Second, MaxPeers: 10 * n}), open2(t, Config{})
	a.strict = false
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	loaded, refused := 0, 0
	for i := range n {
		name := fmt.Sprintf("%s_f%d", b.Name(), i)
		c := renamed(t, b, name)
		head := len(blobStart) + 8 + len(name) + 1
		switch rng.IntN(3) {
		case 0:
			for range 1 + rng.IntN(4) {
				c.blob[head+rng.IntN(len(c.blob)-head)] = byte(rng.Uint32())
			}
		case 1:
			at := bytes.Index(c.blob, []byte("UCX|c")) + 13
			for range 1 + rng.IntN(8) {
				c.blob[at+rng.IntN(210)] = byte(rng.Uint32())
			}
		case 2:
			c.blob = c.blob[:head+rng.IntN(len(c.blob)-head)]
		}
		if a.AddPeer(name, "", c.encode()) != nil {
			refused++
			continue
		}
		loaded++
		_ = a.Notify(name, []byte("hello"))
		_, _ = a.Post(name, a.region.Bytes[:8], transport.Target{Addr: b.region.Addr, Len: 8})
	}
	t.Logf("%d loaded, %d refused, %d probe processes", loaded, refused, a.probe.starts)
	require.NoError(t, a.AddPeer(b.Name(), b.Address(), nil))
	require.NoError(t, a.Notify(b.Name(), []byte("honest")))
}

// A probe that cannot start, hangs or dies costs a first contact its deadline, and no more.
func TestBrokenProbes(t *testing.T) {
	b := open2(t, Config{})
	for name, args := range map[string][]string{"hangs": {"sleep", "60"}, "ends at once": {"true"}, "babbles": {"sh", "-c", "echo x >&3; sleep 60"}} {
		t.Run(name, func(t *testing.T) {
			a := open2(t, Config{Probe: func() *exec.Cmd { return exec.Command(args[0], args[1:]...) }, ConnectDeadline: 300 * time.Millisecond})
			begun := time.Now()
			require.ErrorContains(t, a.AddPeer(b.Name(), b.Address(), nil), string(ReasonConnectDeadline))
			require.Less(t, time.Since(begun), 3*time.Second)
			begun = time.Now()
			require.NoError(t, a.Close())
			require.Less(t, time.Since(begun), 3*time.Second)
		})
	}
	_, err := Open(Config{Name: fresh("none"), Probe: func() *exec.Cmd { return exec.Command("/nonexistent/probe") }}, func(transport.Event) {})
	require.ErrorContains(t, err, "/nonexistent/probe")
}
