package shm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
)

func TestConfigBounds(t *testing.T) {
	spec.Covers(t, reqSetting)
	for field, c := range map[string]Config{
		"Name":            {},
		"length":          {Name: strings.Repeat("n", MaxName+1)},
		"control":         {Name: "a\x00b"},
		"Writers":         {Name: "a", Writers: 65},
		"ConnectDeadline": {Name: "a", ConnectDeadline: -1},
		"FlushDeadline":   {Name: "a", FlushDeadline: -time.Second},
		"QueueNotices":    {Name: "a", QueueNotices: -1},
		"QueueBytes":      {Name: "a", QueueBytes: MaxNotice},
		"QueueWrites":     {Name: "a", QueueWrites: -1},
		"MaxPeers":        {Name: "a", MaxPeers: -1},
		"sink":            {Name: "a"},
	} {
		_, err := Open(c, nil)
		require.ErrorIs(t, err, &Error{Reason: ReasonBadConfig}, field)
		if field != "length" && field != "control" {
			require.ErrorContains(t, err, field)
		}
	}
}

func TestErrors(t *testing.T) {
	for reason, want := range map[spec.Reason]error{
		ReasonUnknownPeer:   transport.ErrUnknownPeer,
		ReasonPeerGone:      transport.ErrPeerGone,
		ReasonPeerSlow:      transport.ErrPeerSlow,
		ReasonOutsideRegion: transport.ErrOutsideRegion,
		ReasonClosed:        transport.ErrClosed,
		ReasonTooLarge:      transport.ErrTooLarge,
	} {
		require.Equal(t, string(reason), want.Error(), "code and sentinel are the same words")
		cause := errors.New("cause")
		err := fmt.Errorf("outer: %w", &Error{Reason: reason, What: "post x", Detail: "why", Err: cause})
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, &Error{Reason: reason})
		require.NotErrorIs(t, err, &Error{Reason: ReasonBadFrame})
		require.Equal(t, "outer: shm: post x: "+string(reason)+": why: cause ("+requirement(reason)+")", err.Error())
	}
	require.NotErrorIs(t, &Error{Reason: ReasonBadFrame}, transport.ErrPeerGone)
	err := error(&UnsupportedError{Missing: []string{"this", "that"}})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "needs this, that")
	require.Equal(t, ReasonSystem, reasonOf(errors.New("other")))
}
