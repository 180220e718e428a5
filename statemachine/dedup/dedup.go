// Package dedup tells a first message from its repetitions. Per sender epoch and
// key it remembers the last message ids, the SHA-256 of their bytes and what was
// replied, so that a repetition is answered from memory and never carried out again.
package dedup

import (
	"slices"
	"strconv"

	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
)

// The bounds of dedup-window (table of limits).
const (
	MinWindow     = 1
	MaxWindow     = 65536
	DefaultWindow = 32
)

// Verdict says what a message is.
type Verdict uint8

// The verdicts.
const (
	// First: not seen before and above the floor. Carry it out, then Record it.
	First Verdict = iota + 1
	// Repeat: the same id and bytes. Send the remembered reply again; change nothing.
	Repeat
	// Below: at or below the window's floor. Nothing changes; the answer comes from
	// the terminal cache or is UNKNOWN (KS-REG-18).
	Below
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case First:
		return "first"
	case Repeat:
		return "repeat"
	case Below:
		return "below"
	}
	return "invalid"
}

// Message is what identifies one transmission under its key.
type Message struct {
	// Epoch is the sender's.
	Epoch uint64
	// ID is the message id of its envelope; never 0.
	ID uint64
	// Sum is the SHA-256 of the whole notification, envelope included, so that a type
	// or version that differs is other bytes.
	Sum [32]byte
}

// Counts are the gauges and counters of a table.
type Counts struct {
	// Keys with a window, and ids remembered in all of them.
	Keys, IDs int
	// Repeats and Below were answered; Violations are same ids with other bytes;
	// Refused are keys for which there was no room.
	Repeats, Below, Violations, Refused uint64
}

// Table holds the windows of many keys. K is the key, or a handle that stands for
// exactly one key while it is in the table; R is what was replied, often an index
// into stored bytes. A table never walks its keys, so its order cannot be seen.
//
// It is bounded: by the number of keys, by the window of each, and in age by Drop,
// which the owner calls when the registry has let the key go.
type Table[K comparable, R any] struct {
	window, keys int
	index        map[K]uint32
	slabs        []window[R]
	free         []uint32
	counts       Counts
	bad          wrong.Rules
}

type window[R any] struct {
	epoch uint64
	floor uint64
	items []item[R] // by id, ascending
}

type item[R any] struct {
	id    uint64
	sum   [32]byte
	reply R
}

// New returns an empty table for at most keys keys with windows of window ids each.
// It refuses a window outside 1 to 65,536 and a number of keys below 1.
func New[K comparable, R any](window, keys int) (*Table[K, R], error) {
	if window < MinWindow || window > MaxWindow {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "dedup-window "+strconv.Itoa(window)+" is not within 1 to 65536")
	}
	if keys < 1 {
		return nil, sm.Refuse(sm.BadRequest, reqBounds, "dedup: keys must be positive")
	}
	return &Table[K, R]{window: window, keys: keys, index: make(map[K]uint32)}, nil
}

// WithWrongRules breaks rules of t itself and returns it, for models and tests that
// want to see an invariant fail. Nothing else can set them.
func (t *Table[K, R]) WithWrongRules(r wrong.Rules) *Table[K, R] {
	t.bad = r
	return t
}

// Counts returns the present numbers.
func (t *Table[K, R]) Counts() Counts { return t.counts }

// The refusals, as values so that refusing costs no allocation.
var (
	errZero      error = &sm.Refusal{Reason: sm.BadRequest, Req: reqID, What: "dedup: message id 0"}
	errEpoch     error = &sm.Refusal{Reason: settle.StaleEpoch, Req: reqEpoch, What: "dedup: sender of another epoch"}
	errViolation error = &sm.Refusal{Reason: settle.ProtocolError, Req: reqSame, What: "dedup: known message id with other bytes"}
	errFull      error = &sm.Refusal{Reason: sm.RegistryFull, Req: reqCount, What: "dedup: no room for another key"}
	errTwice     error = &sm.Refusal{Reason: sm.WrongState, Req: reqOnce, What: "dedup: message was recorded before"}
	errAbsent    error = &sm.Refusal{Reason: sm.WrongState, Req: reqWindow, What: "dedup: message was not recorded"}
)

// Judge says what a message is, and for a Repeat what was replied. It counts and
// changes nothing else. It refuses id 0, the epoch of another incarnation (that key
// is void, KS-ID-2) and a known id with other bytes: a protocol violation, its key
// becomes UNKNOWN (KS-REG-11). For a new key it refuses when there is no room; the
// message is dropped then, and its sender will repeat it.
func (t *Table[K, R]) Judge(key K, m Message) (v Verdict, reply R, err error) {
	if m.ID == 0 {
		return 0, reply, errZero
	}
	i, ok := t.index[key]
	if !ok {
		if len(t.index) >= t.keys {
			t.counts.Refused++
			return 0, reply, errFull
		}
		return First, reply, nil
	}
	w := &t.slabs[i]
	if w.epoch != m.Epoch && !t.bad.Has(wrong.IgnoreEpochs) {
		return 0, reply, errEpoch
	}
	at, known := w.find(m.ID)
	switch {
	case known && w.items[at].sum != m.Sum:
		t.counts.Violations++
		return 0, reply, errViolation
	case known && t.bad.Has(wrong.CancelTwice):
		return First, reply, nil
	case known:
		t.counts.Repeats++
		return Repeat, w.items[at].reply, nil
	case m.ID <= w.floor && t.bad.Has(wrong.OldReachesNew):
		return First, reply, nil
	case m.ID <= w.floor:
		t.counts.Below++
		return Below, reply, nil
	}
	return First, reply, nil
}

func (w *window[R]) find(id uint64) (int, bool) {
	// The newest message is the usual one.
	if n := len(w.items); n == 0 || id > w.items[n-1].id {
		return n, false
	}
	return slices.BinarySearchFunc(w.items, id, func(a item[R], id uint64) int {
		switch {
		case a.id < id:
			return -1
		case a.id > id:
			return 1
		}
		return 0
	})
}

// Record remembers a message that Judge called First, with its reply, after it was
// carried out or refused. An id that arrives late, above the floor, is new like any
// other. Where the window is full the lowest id leaves it and becomes its floor.
// Record refuses what Judge would not call First, and changes nothing then.
func (t *Table[K, R]) Record(key K, m Message, reply R) error {
	if m.ID == 0 {
		return errZero
	}
	i, ok := t.index[key]
	if !ok {
		if len(t.index) >= t.keys {
			return errFull
		}
		i = t.add(key, m.Epoch)
	}
	w := &t.slabs[i]
	if w.epoch != m.Epoch && !t.bad.Has(wrong.IgnoreEpochs) {
		return errEpoch
	}
	at, known := w.find(m.ID)
	if known && !t.bad.Has(wrong.CancelTwice) || m.ID <= w.floor && !t.bad.Has(wrong.OldReachesNew) {
		return errTwice
	}
	if len(w.items) < t.window {
		w.items = slices.Insert(w.items, at, item[R]{m.ID, m.Sum, reply})
		t.counts.IDs++
		return nil
	}
	if at == 0 {
		// It is the lowest of all, and leaves at once.
		w.floor = max(w.floor, m.ID)
		return nil
	}
	w.floor = w.items[0].id
	copy(w.items, w.items[1:at])
	w.items[at-1] = item[R]{m.ID, m.Sum, reply}
	return nil
}

func (t *Table[K, R]) add(key K, epoch uint64) uint32 {
	var i uint32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		i = uint32(len(t.slabs))
		t.slabs = append(t.slabs, window[R]{})
	}
	w := &t.slabs[i]
	w.epoch, w.floor, w.items = epoch, 0, w.items[:0]
	t.index[key] = i
	t.counts.Keys++
	return i
}

// Reply replaces the remembered reply of a message, for one that is answered only
// later. It refuses a message that is not in the window.
func (t *Table[K, R]) Reply(key K, id uint64, reply R) error {
	i, ok := t.index[key]
	if !ok {
		return errAbsent
	}
	w := &t.slabs[i]
	at, known := w.find(id)
	if !known {
		return errAbsent
	}
	w.items[at].reply = reply
	return nil
}

// Floor is the highest id of a key that is surely forgotten; 0 for none.
func (t *Table[K, R]) Floor(key K) uint64 {
	if i, ok := t.index[key]; ok {
		return t.slabs[i].floor
	}
	return 0
}

// Drop forgets a key, when the registry has let it go. A message of it that comes
// after that meets no key and is refused there.
func (t *Table[K, R]) Drop(key K) {
	i, ok := t.index[key]
	if !ok {
		return
	}
	delete(t.index, key)
	w := &t.slabs[i]
	t.counts.Keys--
	t.counts.IDs -= len(w.items)
	clear(w.items) // replies may hold references
	w.items = w.items[:0]
	t.free = append(t.free, i)
}
