package shm

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// piece is one write of an outbox.
type piece struct {
	bytes []byte
	fd    int
}

// TestOutbox lets a sender block, piles up frames behind it, and checks bounds,
// order and where descriptors travel.
func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(load{notices: 3, bytes: 100})
		gate := make(chan struct{})
		var got []piece
		go func() {
			_ = o.run(func(b []byte, fd int) error {
				<-gate
				got = append(got, piece{bytes.Clone(b), fd})
				return nil
			})
		}()
		require.Empty(t, o.notice([]byte("first")))
		synctest.Wait() // the sender holds it and blocks

		o.control(appendRegion(nil, 1, 2), 7)
		require.Empty(t, o.notice([]byte("second")))
		require.Empty(t, o.notice([]byte("third")))
		require.Equal(t, ReasonPeerSlow, o.notice(nil), "count: what is being sent still counts")
		o.control(appendRegion(nil, 3, 4), 8)
		o.control(appendRegion(nil, 5, 6), 9)
		close(gate)
		synctest.Wait()

		notice := func(s string) []byte { return append(appendHeader(nil, kindNotice, len(s)), s...) }
		require.Equal(t, []piece{
			{notice("first"), -1},
			{append(append(appendRegion(nil, 1, 2), notice("second")...), notice("third")...), 7},
			{appendRegion(nil, 3, 4), 8},
			{appendRegion(nil, 5, 6), 9},
		}, got)
		require.Zero(t, o.held)

		require.Empty(t, o.notice(make([]byte, 92)), "100 bytes with the header")
		require.Equal(t, ReasonPeerSlow, o.notice(make([]byte, 93)))
		o.close()
		<-o.done
		require.Equal(t, ReasonPeerGone, o.notice(nil))
		require.Len(t, got, 5, "close sends what was accepted")
	})
}

func TestOutboxFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(load{notices: 3, bytes: 100})
		broken := errors.New("broken")
		require.Empty(t, o.notice([]byte("x")))
		require.ErrorIs(t, o.run(func([]byte, int) error { return broken }), broken)
		require.Equal(t, ReasonPeerGone, o.notice(nil))
		o.control(nil, 3)
		o.close()
		require.Equal(t, boxFailed, o.state, "close does not revive it")
	})
}
