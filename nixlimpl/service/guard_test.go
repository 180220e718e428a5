package service

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// guarded is a base with memory and nothing else.
func guarded(slots, slotBytes int, stamp bool) *base {
	b := &base{cfg: Config{Slots: slots, SlotBytes: slotBytes, Stamp: stamp}, log: slog.New(slog.DiscardHandler)}
	b.region = transport.Region{Bytes: make([]byte, b.regionSize())}
	return b
}

func TestGuardsStandAroundSlots(t *testing.T) {
	const slots, size = 3, 5000
	b := guarded(slots, size, false)
	require.Len(t, b.region.Bytes, slots*size+(slots+1)*guardBytes)
	b.stampGuards()
	for i := range uint32(slots) {
		mem := b.slotMem(i)
		require.Len(t, mem, size)
		require.Equal(t, &b.region.Bytes[b.slotAt(i)], &mem[0])
		for j := range mem {
			mem[j] = 0xff
		}
	}
	require.Zero(t, b.checkGuards(), "filling the slots leaves the guards alone")
	for i := range uint32(slots) {
		b.region.Bytes[b.slotAt(i)-1]++    // one byte below
		b.region.Bytes[b.slotAt(i)+size]++ // and above
	}
	require.Equal(t, slots+1, b.checkGuards())
	b.stampGuards()
	b.region.Bytes[len(b.region.Bytes)-1]++ // the far end of the last guard
	require.Equal(t, 1, b.checkGuards())
}

func TestStampedSlotsNeedNoGuards(t *testing.T) {
	b := guarded(3, 5000, true)
	require.Len(t, b.region.Bytes, 15000)
	require.Equal(t, 5000, b.slotAt(1))
}
