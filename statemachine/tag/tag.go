// Package tag keeps the rule that one rank pair never holds two attempts whose
// request ids are equal modulo 4096, because legacy and v1 messages carry only
// those 12 bits (KS-TAG-3).
package tag

import (
	sm "github.com/kvsettle/kvsettle/statemachine"
)

// Width is the number of request ids that a data tag can tell apart.
const Width = 4096

// Of returns the 12 bits of a request id that a data tag carries.
func Of(requestID uint64) uint16 { return uint16(requestID & (Width - 1)) }

type entry struct {
	owner uint64
	until sm.Time
	busy  bool
	used  bool
}

// Table holds the tags of one rank pair. The zero value is empty and ready.
type Table struct {
	entries [Width]entry
	busy    int
}

// Busy is the number of tags that live or quarantined attempts hold.
func (t *Table) Busy() int { return t.busy }

// Owner returns the request id that holds or last held the tag of m; live is true
// while its attempt has not ended. A ready or sync is matched with it (KS-TAG-4).
func (t *Table) Owner(m uint16) (requestID uint64, live bool) {
	e := &t.entries[m%Width]
	return e.owner, e.busy
}

// FreeAt says whether requestID may be admitted at now. If it may not, again is
// the earliest time at which asking again can help; it is 0 while a live attempt
// holds the tag.
func (t *Table) FreeAt(requestID uint64, now sm.Time) (free bool, again sm.Time) {
	e := &t.entries[Of(requestID)]
	switch {
	case e.busy:
		return false, 0
	case e.used && now < e.until:
		return false, e.until
	}
	return true, 0
}

// Hold gives the tag of requestID to its attempt. It refuses while FreeAt does.
func (t *Table) Hold(requestID uint64, now sm.Time) error {
	if free, _ := t.FreeAt(requestID, now); !free {
		return sm.Refuse(sm.TagBusy, reqOne, "another attempt of this rank pair holds the 12-bit tag")
	}
	t.entries[Of(requestID)] = entry{owner: requestID, busy: true, used: true}
	t.busy++
	return nil
}

// End returns the tag when the attempt has ended and none of its slots is
// quarantined; no other id gets it before until (end + control lifetime).
func (t *Table) End(requestID uint64, until sm.Time) error {
	e := &t.entries[Of(requestID)]
	if !e.busy || e.owner != requestID {
		return sm.Refuse(sm.NotOwner, reqOne, "tag returned by an attempt that does not hold it")
	}
	e.busy, e.until = false, until
	t.busy--
	return nil
}
