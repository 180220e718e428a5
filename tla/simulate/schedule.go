package simulate

import (
	"math/rand/v2"
	"slices"

	sm "github.com/kvsettle/kvsettle/statemachine"
)

// MaxRanks is the largest number of ranks of a service.
const MaxRanks = 2

// Units of virtual time.
const (
	Microsecond sm.Time = 1000
	Millisecond         = 1000 * Microsecond
	Second              = 1000 * Millisecond
)

// Kind is what goes wrong.
type Kind uint8

// The faults. Those of messages count the messages of one transfer, in the order of
// sending, completion notices apart.
const (
	// NoFault is the cause of what nobody planned.
	NoFault Kind = iota
	// Drop, Duplicate, Reorder, Delay and Corrupt concern message N of Transfer. A
	// reordered one leaves the order of its connection; a delayed one holds what is
	// behind it.
	Drop
	Duplicate
	Reorder
	Delay
	Corrupt
	// LostNotice drops the first completion notice of Edge.
	LostNotice
	// CancelGen and CancelCtx are a user's, For after the arrival.
	CancelGen
	CancelCtx
	// WriteFail ends the write of a chunk (N) of Edge in error; without bit 3 of the
	// contract it may land later all the same. SlowWrite makes one last For. Release
	// gives its handle up; it ends For later.
	WriteFail
	SlowWrite
	Release
	// SendFail fails the request or OPEN of Edge; it may have been heard (N odd).
	SendFail
	// Refuse: CTX cannot serve. Mismatch: the two sides do not fit.
	Refuse
	Mismatch
	// WrongBlock: the content is not what was expected.
	WrongBlock
	// CrashCtx and CrashGen end a process at At; it comes back after For.
	CrashCtx
	CrashGen
	// StallCtx and StallGen stop a service for For. SlowCtx and SlowGen make each
	// event cost it some time, for For.
	StallCtx
	StallGen
	SlowCtx
	SlowGen
	// AbsentRank: rank Edge misses the next round of CTX (N even) or GEN after At.
	AbsentRank
	// Collateral is no fault of its own: the end of a process for another reason.
	Collateral
	NumKinds
)

// String returns the name that reports use.
func (k Kind) String() string {
	names := [NumKinds]string{"none", "drop", "duplicate", "reorder", "delay", "corrupt", "lost-notice", "cancel-gen", "cancel-ctx",
		"write-failure", "slow-write", "released-handle", "send-failure", "refusal", "mismatch", "wrong-block", "crash-ctx", "crash-gen",
		"stall-ctx", "stall-gen", "slow-ctx", "slow-gen", "absent-rank", "collateral"}
	if k < NumKinds {
		return names[k]
	}
	return "invalid"
}

// Timed says that the fault happens to a service at a point in time and not to one
// transfer.
func (k Kind) Timed() bool { return k >= CrashCtx && k <= AbsentRank }

// Fault is one thing that goes wrong. Which fields count depends on Kind.
type Fault struct {
	Kind Kind
	// Transfer is the index of the transfer.
	Transfer uint16
	// Edge is CTX rank + MaxRanks * GEN rank.
	Edge uint8
	N    uint8
	At   sm.Time
	For  sm.Time
}

// Transfer is one request.
type Transfer struct {
	At sm.Time
	// ID is its request id. Those of one schedule differ; their last 12 bits may not.
	ID uint64
	// Chunks is how many writes each edge takes, 1 to 8.
	Chunks uint8
	// PerChunk: with bit 48, one notice per chunk.
	PerChunk bool
	// RouterDies: nobody cancels at CTX if GEN cannot take the context.
	RouterDies bool
	// Key is what its delays are drawn by: its index in the schedule that was drawn.
	Key uint16
}

// Schedule is everything that a run depends on.
type Schedule struct {
	Seed               uint64
	Dialect            Dialect
	CtxRanks, GenRanks int
	// Slots is the size of every pool; the quarantine budget is half of it.
	Slots int
	// ErrorQuiet is bit 3 of the backend's contract. DeathQuiet: a dead writer's writes
	// end with it, and the adaptor counts that as proof.
	ErrorQuiet, DeathQuiet bool
	// FixedTag: the legacy peer sends the constant 42 in every ready.
	FixedTag  bool
	Transfers []Transfer
	// Faults are ordered by transfer; those with a time of their own come last.
	Faults []Fault
}

// Shape says what kind of schedules Draw makes.
type Shape struct {
	// Transfers is the number of transfers, 1 to 4,096.
	Transfers int
	// PerMille is how many transfers of 1,000 get a fault; half of them get a second.
	PerMille int
	// Only limits the faults to these kinds; empty means every kind.
	Only []Kind
	// Calm leaves out faults of whole services.
	Calm bool
	// Ranks fixes the ranks on both sides; 0 lets the seed choose.
	Ranks int
}

// DefaultShape is 100 transfers, every second one with a fault.
func DefaultShape() Shape { return Shape{Transfers: 100, PerMille: 400} }

// weights of the faults of single transfers.
var weights = [...]struct {
	kind   Kind
	weight int
}{
	{Drop, 16}, {Duplicate, 12}, {Reorder, 12}, {Delay, 8}, {LostNotice, 8}, {CancelGen, 12}, {CancelCtx, 8}, {WriteFail, 4},
	{SlowWrite, 3}, {Release, 2}, {SendFail, 3}, {Refuse, 3}, {Mismatch, 3}, {WrongBlock, 2},
}

// Draw makes the schedule of a seed. The transfers, their faults and everything else
// but the dialect are the same for every dialect.
func Draw(seed uint64, d Dialect, shape Shape) *Schedule {
	s := new(Schedule)
	s.draw(rand.New(rand.NewPCG(seed, drawStream)), seed, d, shape)
	return s
}

func (s *Schedule) draw(r *rand.Rand, seed uint64, d Dialect, shape Shape) {
	*s = Schedule{Seed: seed, Dialect: d, Transfers: s.Transfers[:0], Faults: s.Faults[:0]}
	// Most schedules have one rank on each side, as most of the transceiver's do.
	layouts := [...][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 2}, {2, 2}}
	l := layouts[r.IntN(len(layouts))]
	s.CtxRanks, s.GenRanks = l[0], l[1]
	if shape.Ranks > 0 {
		s.CtxRanks, s.GenRanks = min(shape.Ranks, MaxRanks), min(shape.Ranks, MaxRanks)
	}
	s.Slots = 8 << r.IntN(3)
	s.ErrorQuiet, s.DeathQuiet = r.IntN(2) == 0, r.IntN(2) == 0
	s.FixedTag = r.IntN(5) == 0 && d == Legacy
	var at sm.Time
	for i := range shape.Transfers {
		// Bursts: several at once, then a pause.
		if r.IntN(8) == 0 {
			at += sm.Time(r.IntN(1500)) * Millisecond
		} else {
			at += sm.Time(r.IntN(1500)) * Microsecond
		}
		id := uint64(i+1) * 3
		if i > 0 && r.IntN(20) == 0 {
			id = s.Transfers[r.IntN(i)].ID%4096 + 4096*uint64(i) // the same 12-bit tag
		}
		s.Transfers = append(s.Transfers, Transfer{At: at, ID: id, Chunks: uint8(1 + r.IntN(4)), PerChunk: r.IntN(2) == 0, RouterDies: r.IntN(4) == 0, Key: uint16(i)})
		if r.IntN(1000) < shape.PerMille {
			s.fault(r, uint16(i), shape.Only)
			if r.IntN(2) == 0 && len(shape.Only) == 0 {
				s.fault(r, uint16(i), shape.Only)
			}
		}
	}
	if !shape.Calm {
		s.services(r, at+Second, shape.Only)
	}
}

// fault gives a transfer a fault.
func (s *Schedule) fault(r *rand.Rand, x uint16, only []Kind) {
	total := 0
	for _, w := range weights {
		if len(only) == 0 || slices.Contains(only, w.kind) {
			total += w.weight
		}
	}
	if total == 0 {
		return
	}
	n := r.IntN(total)
	for _, w := range weights {
		if len(only) > 0 && !slices.Contains(only, w.kind) {
			continue
		}
		if n -= w.weight; n >= 0 {
			continue
		}
		f := Fault{Kind: w.kind, Transfer: x, Edge: uint8(r.IntN(s.CtxRanks) + MaxRanks*r.IntN(s.GenRanks)), N: uint8(r.IntN(12))}
		switch w.kind {
		case Reorder:
			f.For = sm.Time(1+r.IntN(20)) * Millisecond
		case Delay:
			f.For = sm.Time(1+r.IntN(800)) * Millisecond
		case CancelGen, CancelCtx:
			f.For = sm.Time(r.IntN(100_000)) * Microsecond
			if r.IntN(2) == 0 {
				f.For /= 8 // while most transfers are under way
			}
		case SlowWrite:
			f.For = sm.Time(1+r.IntN(14_000)) * Millisecond
		case Release:
			f.For = sm.Time(1+r.IntN(5_000)) * Millisecond
		case WriteFail:
			f.For = sm.Time(r.IntN(3_000)) * Millisecond
		}
		s.Faults = append(s.Faults, f)
		return
	}
}

// services adds what goes wrong with whole services before end.
func (s *Schedule) services(r *rand.Rand, end sm.Time, only []Kind) {
	add := func(k Kind, one int, f Fault) {
		if r.IntN(one) == 0 && (len(only) == 0 || slices.Contains(only, k)) {
			f.Kind, f.At = k, sm.Time(r.Int64N(int64(end)))
			s.Faults = append(s.Faults, f)
		}
	}
	add(CrashCtx, 6, Fault{For: sm.Time(50+r.IntN(1000)) * Millisecond})
	add(CrashGen, 6, Fault{For: sm.Time(50+r.IntN(1000)) * Millisecond})
	add(StallCtx, 3, Fault{For: sm.Time(10+r.IntN(1500)) * Millisecond})
	add(StallGen, 3, Fault{For: sm.Time(10+r.IntN(1500)) * Millisecond})
	add(SlowCtx, 4, Fault{For: sm.Time(10+r.IntN(400)) * Millisecond})
	add(SlowGen, 4, Fault{For: sm.Time(10+r.IntN(400)) * Millisecond})
	add(AbsentRank, 8, Fault{Edge: uint8(r.IntN(MaxRanks)), N: uint8(r.IntN(2))})
	if r.IntN(6) == 0 && len(s.Transfers) > 0 && (len(only) == 0 || slices.Contains(only, Corrupt)) {
		f := Fault{Kind: Corrupt, Transfer: uint16(r.IntN(len(s.Transfers))), N: uint8(r.IntN(8))}
		i, _ := slices.BinarySearchFunc(s.Faults, f, func(a, b Fault) int {
			if a.Kind.Timed() {
				return 1
			}
			return int(a.Transfer) - int(b.Transfer)
		})
		s.Faults = slices.Insert(s.Faults, i, f)
	}
}

// Kinds counts the different faults of a schedule.
func (s *Schedule) Kinds() int {
	var seen [NumKinds]bool
	n := 0
	for _, f := range s.Faults {
		if !seen[f.Kind] {
			seen[f.Kind] = true
			n++
		}
	}
	return n
}

// drawStream is the stream of the generator that schedules are drawn from.
const drawStream = 0x6b767365
