package vectors

import (
	"encoding/hex"

	"github.com/kvsettle/kvsettle/wire/control"
	"github.com/kvsettle/kvsettle/wire/descriptor"
	"github.com/kvsettle/kvsettle/wire/identity"
	"github.com/kvsettle/kvsettle/wire/native"
)

var byDialect = []string{V2, V2Recovery, V2Quiescence, V2Both}

var controlCodecs = map[string]codec{
	"OPEN": messageCodec(
		func(f *control.Frame, d control.Dialect) (control.Open, error) { return f.Open(d, native.Limits{}) }, control.AppendOpen,
		func(m *control.Open, _ *control.Frame, _ control.Dialect) object {
			return object{"messageId": u64(m.ID), "key": showKey(&m.Key), "requestHex": hex.EncodeToString(m.Request)}
		}),
	"READY": messageCodec((*control.Frame).Ready, control.AppendReady,
		func(m *control.Ready, _ *control.Frame, d control.Dialect) object {
			contract := m.Decision == control.DecisionReady && d != Dialect(V2)
			return object{
				"messageId": u64(m.ID), "key": showKey(&m.Key), "readyDecision": m.Decision,
				"localEvidence":   optional(m.Evidence != 0, m.Evidence),
				"backendContract": optional(contract, m.Contract), "retentionMs": optional(contract, m.RetentionMS),
			}
		}),
	"CANCEL": messageCodec((*control.Frame).Cancel, control.AppendCancel,
		func(m *control.Cancel, _ *control.Frame, _ control.Dialect) object {
			return object{"messageId": u64(m.ID), "key": showKey(&m.Key), "cancelReason": m.Reason}
		}),
	"TERMINAL": messageCodec((*control.Frame).Terminal, control.AppendTerminal,
		func(m *control.Terminal, f *control.Frame, _ control.Dialect) object {
			sum := f.PayloadSHA256()
			return object{
				"messageId": u64(m.ID), "key": showKey(&m.Key), "localEvidence": m.Evidence,
				"payloadSha256": hex.EncodeToString(sum[:]),
			}
		}),
	"TERMINAL_RECEIPT": messageCodec((*control.Frame).Receipt, control.AppendReceipt,
		func(m *control.Receipt, _ *control.Frame, _ control.Dialect) object {
			return object{
				"messageId": u64(m.ID), "key": showKey(&m.Key), "localEvidence": m.Evidence,
				"terminalMessageId": u64(m.TerminalID), "terminalPayloadSha256": hex.EncodeToString(m.SHA256[:]),
			}
		}),
	"QUERY": messageCodec((*control.Frame).Query, control.AppendQuery,
		func(m *control.Query, _ *control.Frame, _ control.Dialect) object {
			return object{"messageId": u64(m.ID), "key": showKey(&m.Key)}
		}),
	"STATUS": messageCodec((*control.Frame).Status, control.AppendStatus,
		func(m *control.Status, _ *control.Frame, _ control.Dialect) object {
			return object{
				"messageId": u64(m.ID), "key": showKey(&m.Key), "sourceState": m.State, "queryMessageId": u64(m.QueryID),
			}
		}),
	"DATA_COMPLETE": messageCodec((*control.Frame).DataComplete, control.AppendDataComplete,
		func(m *control.DataComplete, _ *control.Frame, _ control.Dialect) object {
			return object{
				"messageId": u64(m.ID), "key": showKey(&m.Key), "chunkIndex": m.Index, "chunkCount": m.Count,
				"bytes": u64(m.Bytes),
			}
		}),
}

// Dialect returns what is selected in a profile of the control carrier: version
// 1 and the capabilities that its name lists. Other profiles give the zero value.
func Dialect(profile string) control.Dialect {
	caps := descriptor.CapCancel | descriptor.CapReject | descriptor.CapPeerCancel
	switch profile {
	case V2:
	case V2Recovery:
		caps |= descriptor.CapRecovery
	case V2Quiescence:
		caps |= descriptor.CapQuiescence
	case V2Both:
		caps |= descriptor.CapRecovery | descriptor.CapQuiescence
	default:
		return control.Dialect{}
	}
	return control.Dialect{Version: 1, Caps: caps}
}

// messageCodec makes the codec of one message type. The envelope's version is a
// field, because OPEN is read whatever version it proposes.
func messageCodec[T any](read func(*control.Frame, control.Dialect) (T, error),
	write func([]byte, control.Dialect, *T) ([]byte, error), show func(*T, *control.Frame, control.Dialect) object,
) codec {
	return codec{profiles: byDialect, run: func(profile string, b []byte, _ map[string]any) (outcome, error) {
		d := Dialect(profile)
		f, err := control.Parse(b)
		if err != nil {
			return outcome{}, err
		}
		m, err := read(&f, d)
		if err != nil {
			return outcome{}, err
		}
		fields := show(&m, &f, d)
		fields["version"] = f.Version
		d.Version = f.Version
		again, err := write(nil, d, &m)
		if err != nil {
			return outcome{}, unwritten(err)
		}
		return outcome{fields: fields, again: again}, nil
	}}
}

func showTicket(t identity.Ticket) any {
	return object{
		"ctxRequestId": u64(t.RequestID), "ctxInstanceEpoch": u64(t.InstanceEpoch), "ctxAttempt": u64(t.Attempt),
		"direction": t.Direction,
	}
}

func showKey(k *identity.TransferKey) any {
	return object{
		"ctxRequestId": u64(k.Ticket.RequestID), "ctxInstanceEpoch": u64(k.Ticket.InstanceEpoch),
		"ctxAttempt": u64(k.Ticket.Attempt), "genAttempt": u64(k.GenAttempt), "direction": k.Ticket.Direction,
		"sourceRank": k.SourceRank, "destinationRank": k.DestinationRank,
		"sourceInstanceEpoch": u64(k.SourceEpoch), "destinationInstanceEpoch": u64(k.DestinationEpoch),
		"topologyDigest": hex.EncodeToString(k.Digest[:]),
	}
}
