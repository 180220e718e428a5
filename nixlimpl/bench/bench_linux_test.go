package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/wire/handover"
)

// The test binary is also the child process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(child.Run(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// small has two prefix blocks and more, in many pieces.
var small = Size{Bytes: 1 << 20, Block: 512}

func TestRun(t *testing.T) {
	var log, progress bytes.Buffer
	res, err := Run(context.Background(), Options{Sizes: []Size{small, {1 << 20, 64 << 10}}, Count: 3, Log: &log, Progress: &progress})
	require.NoError(t, err, log.String())
	require.Empty(t, log.String())
	require.Len(t, res.Rows, 2)
	require.True(t, res.Checked)
	require.Equal(t, 2, strings.Count(progress.String(), "\n"))
	for i, want := range []Size{small, {1 << 20, 64 << 10}} {
		row := res.Rows[i]
		require.Equal(t, want, Size{row.Bytes, row.Block})
		for _, x := range []float64{row.HandoverGBPS, row.CopyGBPS, row.BlockCopyGBPS, row.Ratio, row.RatioBlock} {
			require.Positive(t, x)
		}
		require.InDelta(t, row.HandoverGBPS/row.CopyGBPS, row.Ratio, 0.001)
		require.InDelta(t, row.HandoverGBPS/row.BlockCopyGBPS, row.RatioBlock, 0.001)
	}

	raw, err := json.Marshal(res)
	require.NoError(t, err)
	var names struct {
		Rows []map[string]any `json:"rows"`
	}
	require.NoError(t, json.Unmarshal(raw, &names))
	for _, name := range []string{"bytes", "block", "handover_gb_per_s", "copy_gb_per_s", "block_copy_gb_per_s", "ratio", "ratio_block"} {
		require.Contains(t, names.Rows[0], name)
	}

	var table bytes.Buffer
	require.NoError(t, res.Table(&table))
	require.Contains(t, table.String(), "guard pages")
	require.Equal(t, 4, strings.Count(table.String(), "\n"))
}

// TestRunChecksTheBytes makes GEN expect other bytes of one prefix block, which
// CTX cannot notice: it looks at the key of the last block only.
func TestRunChecksTheBytes(t *testing.T) {
	tamper := func(h *handover.Handover) {
		h.KVSettle.HashIDs = append([]uint64{h.KVSettle.HashIDs[0] + 1<<40}, h.KVSettle.HashIDs[1:]...)
	}
	_, err := Run(context.Background(), Options{Sizes: []Size{small}, Count: 1, tamper: tamper})
	var b *BrokenError
	require.ErrorAs(t, err, &b)
	require.Contains(t, err.Error(), "16 of 1024 blocks arrived wrong")
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	_, err := Run(ctx, Options{Sizes: []Size{small}, Count: MaxCount})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRunWithoutAProgram(t *testing.T) {
	_, err := Run(context.Background(), Options{Sizes: []Size{small}, Count: 1, Exe: "/nonexistent/kvtransceiver"})
	require.ErrorIs(t, err, os.ErrNotExist)
	var b *BrokenError
	require.False(t, errors.As(err, &b))

	// A program that is no child ends at once.
	_, err = Run(context.Background(), Options{Sizes: []Size{small}, Count: 1, Exe: "/bin/true"})
	require.ErrorContains(t, err, "ended before its time")
}
