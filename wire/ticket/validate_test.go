package ticket

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
)

func TestValidate(t *testing.T) {
	spec.Covers(t, "KS-TKT-6", "KS-TKT-7", "KS-TKT-9")
	with, err := Split(golden(t))
	require.NoError(t, err)
	require.True(t, with.HasTrailer)
	bare, err := Split(prefix(t))
	require.NoError(t, err)
	id, caps := with.Trailer.Ticket.RequestID, with.Trailer.RequiredCaps
	require.NotZero(t, caps)
	for name, c := range map[string]struct {
		s    State
		u    Use
		want any
		req  string
	}{
		"its request":                     {with, Use{RequestID: id}, nil, ""},
		"enabled":                         {with, Use{RequestID: id, Enabled: true, Selected: caps | descriptor.CapQuiescence}, nil, ""},
		"another request":                 {with, Use{RequestID: id + 1}, wire.ReasonBadValue, "KS-TKT-6"},
		"a capability that is missing":    {with, Use{RequestID: id, Enabled: true, Selected: caps &^ 1}, wire.ReasonOutOfRange, "KS-TKT-9"},
		"capabilities ask for enabled":    {with, Use{RequestID: id, Selected: 0}, nil, ""},
		"no trailer in baseline":          {bare, Use{RequestID: id}, nil, ""},
		"no trailer while enabled":        {bare, Use{RequestID: id, Enabled: true, Selected: caps}, wire.ReasonMissing, "KS-TKT-7"},
		"another request, and no enabled": {with, Use{RequestID: id + 1, Enabled: true}, wire.ReasonBadValue, "KS-TKT-6"},
	} {
		err := c.s.Validate(c.u)
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		e := wiretest.Refused(t, err, 0)
		require.Equal(t, c.want, e.Reason, name)
		require.Equal(t, c.req, e.Req, name)
		require.Equal(t, -1, e.Offset)
	}
}

// TestTaggedNeedsATrailer reads what AppendTagged refuses to write.
func TestTaggedNeedsATrailer(t *testing.T) {
	spec.Covers(t, "KS-TKT-12", "KS-RSN-4")
	wrap := func(state []byte) []byte {
		return append(append(append([]byte{TagByte}, magic...), be32(uint32(len(state)))...), state...)
	}
	read := func(b []byte) error { _, _, _, err := ReadTagged(b); return err }
	require.NoError(t, read(wrap(golden(t))))
	plain := wrap(prefix(t))
	e := wiretest.Refused(t, read(append(plain, 1, 2, 3)), len(plain)+3)
	require.Equal(t, wire.ReasonMissing, e.Reason)
	require.Equal(t, len(plain), e.Offset)
	broken := wrap(golden(t))
	broken[len(broken)-1] ^= 1
	e = wiretest.Refused(t, read(broken), len(broken))
	require.Equal(t, wire.ReasonBadChecksum, e.Reason)
	require.Equal(t, len(broken)-4, e.Offset)
	for n := range tagHeader {
		require.Zero(t, wiretest.Refused(t, read(wrap(golden(t))[:n]), n).Offset)
	}
}
