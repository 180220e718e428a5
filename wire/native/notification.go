package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// NotificationKind is the variant index of a notification.
type NotificationKind uint64

// The variants. KindControl is decoded by package control.
const (
	KindRequest NotificationKind = 0
	KindSync    NotificationKind = 1
	KindReady   NotificationKind = 2
	KindControl NotificationKind = 3
)

// String returns "request", "sync", "ready", "control" or "invalid".
func (k NotificationKind) String() string {
	switch k {
	case KindRequest:
		return "request"
	case KindSync:
		return "sync"
	case KindReady:
		return "ready"
	case KindControl:
		return "control"
	}
	return "invalid"
}

// Notification is one decoded notification; only the part that Kind names is
// set.
type Notification struct {
	Kind    NotificationKind
	Request RequestAndBufferInfo
	Sync    Sync
	Ready   Ready
}

// AppendRequest appends v with its variant index (Mid2026).
func AppendRequest(dst []byte, v RequestAndBufferInfo) ([]byte, error) {
	out, err := AppendRequestBody(appendU64(dst, uint64(KindRequest)), &v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendNotification appends the part of n that Kind names.
func AppendNotification(dst []byte, n *Notification) ([]byte, error) {
	switch n.Kind {
	case KindRequest:
		return AppendRequest(dst, n.Request)
	case KindSync:
		return AppendSync(dst, n.Sync)
	case KindReady:
		return AppendReady(dst, n.Ready)
	}
	return dst, refuse(wire.ReasonBadIndex, reqIndex, "notification.variantIndex", strconv.FormatUint(uint64(n.Kind), 10))
}

// Peek returns the variant index of a notification without reading further.
// ok is false when b is too short to hold one.
func Peek(b []byte) (kind NotificationKind, ok bool) {
	r := wire.NewReader("notification", &rules, b)
	kind = NotificationKind(r.U64LE("variantIndex"))
	return kind, r.OK()
}

// DecodeNotification decodes exactly one notification of the native variants 0
// to 2 (Mid2026). The result owns its memory. Variant 3 is refused with
// ReasonControl, so that the caller hands the bytes to package control.
func DecodeNotification(b []byte) (Notification, error) {
	r := wire.NewReader("notification", &rules, b)
	kind := NotificationKind(r.U64LE("variantIndex"))
	if err := r.Err(); err != nil {
		return Notification{}, err
	}
	switch kind {
	case KindRequest, KindSync, KindReady:
		return decodeNotification(b)
	case KindControl:
		r.Fail(wire.ReasonControl, reqIndex, "variantIndex", 0, "")
	default:
		r.Fail(wire.ReasonBadIndex, reqIndex, "variantIndex", 0, strconv.FormatUint(uint64(kind), 10))
	}
	return Notification{}, r.Err()
}

// decodeNotification is decode for the one type that is read for every message: called
// directly, reader and result stay off the heap.
func decodeNotification(b []byte) (n Notification, err error) {
	r := newReader("notification", Mid2026, b)
	readNotification(&r, nil)
	if err := r.Finish(); err != nil {
		return Notification{}, err
	}
	r = newReader("notification", Mid2026, b)
	readNotification(&r, &n)
	return n, nil
}

func readNotification(r *reader, dst *Notification) {
	kind := NotificationKind(r.U64LE("variantIndex"))
	r.Enter(kind.String())
	defer r.Leave()
	if dst == nil {
		switch kind {
		case KindRequest:
			readRequest(r, nil)
		case KindSync:
			readSync(r, nil)
		case KindReady:
			readReady(r, nil)
		}
		return
	}
	dst.Kind = kind
	switch kind {
	case KindRequest:
		readRequest(r, &dst.Request)
	case KindSync:
		readSync(r, &dst.Sync)
	case KindReady:
		readReady(r, &dst.Ready)
	}
}

// CheckNames refuses a notification whose embedded agent name is not the one that
// belongs there: the sender's, as the transport reports it, in a request, and the
// receiver's own in sync and ready (KS-NAT-15). It does not allocate unless it
// refuses.
func (n *Notification) CheckNames(sender, receiver string) error {
	name, want := n.Request.AgentName, sender
	switch n.Kind {
	case KindSync:
		name, want = n.Sync.AgentName, receiver
	case KindReady:
		name, want = n.Ready.AgentName, receiver
	}
	if name != want {
		return refuse(wire.ReasonBadValue, reqNotice, n.Kind.String()+".agentName", strconv.Quote(name))
	}
	return nil
}
