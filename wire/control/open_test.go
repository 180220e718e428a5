package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/internal/wiretest"
	"github.com/kvsettle/kvsettle/wire/native"
)

// readOnly reads a frame of any type and drops the result.
func readOnly(f *Frame, d Dialect) {
	var err error
	switch f.Type {
	case TypeOpen:
		_, err = f.Open(d, native.DefaultLimits())
	case TypeReady:
		_, err = f.Ready(d)
	case TypeCancel:
		_, err = f.Cancel(d)
	case TypeTerminal:
		_, err = f.Terminal(d)
	case TypeReceipt:
		_, err = f.Receipt(d)
	case TypeQuery:
		_, err = f.Query(d)
	case TypeStatus:
		_, err = f.Status(d)
	case TypeDataComplete:
		_, err = f.DataComplete(d)
	}
	if err != nil {
		panic(err)
	}
}

func TestOpenRequest(t *testing.T) {
	open := goldenOpen(t, 300)
	b, err := AppendOpen(nil, plain, &open)
	require.NoError(t, err)
	f, err := Parse(b)
	require.NoError(t, err)
	got, err := f.Open(plain, native.DefaultLimits())
	require.NoError(t, err)
	request, err := native.DecodeRequestBody(got.Request)
	require.NoError(t, err)
	require.EqualValues(t, 42, request.Info.RequestID)
	require.Equal(t, len(got.Request), cap(got.Request))

	_, err = f.Open(plain, native.Limits{Text: 10})
	e := wiretest.Refused(t, err, len(b))
	require.Equal(t, wire.ReasonTooLarge, e.Reason)
	require.Equal(t, "KS-CTL-18", e.Req)
	require.Equal(t, "control.request.agentName", e.What)
	require.Equal(t, Overhead+keyTLV+tlvHeader, e.Offset)
}

func TestOpenRefusesBrokenRequests(t *testing.T) {
	spec.Covers(t, "KS-CTL-18")
	open := goldenOpen(t, 300)
	for n := range open.Request {
		m := open
		m.Request = open.Request[:n]
		_, err := AppendOpen(nil, plain, &m)
		wiretest.Refused(t, err, 0)
		b := frame(1, 1, 5, payload(keyItem(), tlv{2, 1, m.Request}))
		_, err = read(b, plain)
		e := wiretest.Refused(t, err, len(b))
		require.Equal(t, "KS-CTL-18", e.Req)
		require.GreaterOrEqual(t, e.Offset, Overhead+keyTLV+tlvHeader)
	}
	open.Request = make([]byte, MaxRequest+1)
	_, err := AppendOpen(nil, plain, &open)
	require.ErrorIs(t, err, &wire.Error{Reason: wire.ReasonTooLarge})
}

func TestOpenAtTheBound(t *testing.T) {
	spec.Covers(t, "KS-CTL-6")
	open := goldenOpen(t, MaxRequest)
	require.Len(t, open.Request, MaxRequest)
	b, err := AppendOpen(nil, plain, &open)
	require.NoError(t, err)
	require.Len(t, b, MaxNotification)
	f, err := Parse(b)
	require.NoError(t, err)
	_, err = f.Open(plain, native.DefaultLimits())
	require.NoError(t, err)
}
