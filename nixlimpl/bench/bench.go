package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/doctor"
)

// warmUp is the number of repetitions of each kind before the clock counts.
const warmUp = 3

// Row is one measured size. Speeds are in 10^9 bytes per second, each the size
// over the median time of the repetitions.
type Row struct {
	Bytes         int     `json:"bytes"`
	Block         int     `json:"block"`
	HandoverGBPS  float64 `json:"handover_gb_per_s"`
	CopyGBPS      float64 `json:"copy_gb_per_s"`
	BlockCopyGBPS float64 `json:"block_copy_gb_per_s"`
	// Ratio is hand-over over contiguous copy, RatioBlock over the copy by blocks.
	Ratio      float64 `json:"ratio"`
	RatioBlock float64 `json:"ratio_block"`
	// Geometry is the model and the scale whose pieces have the block's size.
	Geometry string `json:"geometry"`
	Scale    int    `json:"scale"`
}

// Result is what a run ends with; its JSON is the command's output.
type Result struct {
	Rows []Row `json:"rows"`
	// Count is the number of repetitions behind each median.
	Count int `json:"count"`
	// Checked says that one request of each size was checked byte by byte, outside
	// the timing, and was right.
	Checked bool `json:"checked"`
	// Canary says what stands in for the stamps of free slots.
	Canary    string `json:"canary"`
	Transport string `json:"transport"`
	Memory    string `json:"memory"`
}

// Run measures all sizes. Errors: *UsageError, nothing was started; *BrokenError,
// an invariant did not hold; ctx's error when it ended; all others mean that this
// machine cannot do it. Both children are gone when it returns.
func Run(ctx context.Context, o Options) (*Result, error) {
	shapes, err := o.check()
	if err != nil {
		return nil, err
	}
	res := &Result{Count: o.Count, Canary: "guard-pages", Transport: "shm", Memory: "host"}
	for _, s := range shapes {
		row, err := measure(ctx, &o, s)
		if err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, row)
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "bench: %d bytes in blocks of %d: ratio %.3f\n", row.Bytes, row.Block, row.Ratio)
		}
	}
	res.Checked = true
	return res, nil
}

func measure(ctx context.Context, o *Options, s shape) (row Row, err error) {
	if _, available, ok := doctor.Memory(); ok && available < uint64(s.memory()) {
		return row, fmt.Errorf("bench: %d bytes take %d MiB of memory, %d MiB are available; choose smaller --bytes", s.Bytes, s.memory()>>20, available>>20)
	}
	c, err := newCopies(s.Size)
	if err != nil {
		return row, err
	}
	defer c.free()
	p, err := startPair(ctx, o, s)
	if err != nil {
		return row, err
	}
	defer func() {
		if err != nil {
			p.kill()
		}
	}()
	// Two contents take turns: GEN never has what it asks for, and a repetition that
	// moved nothing would leave the wrong bytes behind.
	contents := [2][]uint64{s.hashes(0), s.hashes(1)}
	var over, contiguous, blocks []time.Duration
	for i := range warmUp + o.Count {
		rep, err := p.transfer(ctx, contents[i%2], s.tokens, nil)
		if err != nil {
			return row, err
		}
		if rep.Bytes != int64(s.Bytes) {
			return row, broke("%d bytes moved, not %d", rep.Bytes, s.Bytes)
		}
		// Each copy once before the clock, so that it is as warm as it can be.
		c.contiguous()
		a := c.contiguous()
		c.blocks()
		b := c.blocks()
		if i >= warmUp {
			over, contiguous, blocks = append(over, rep.Latency), append(contiguous, a), append(blocks, b)
		}
	}
	p.gen.Send(child.Command{Op: child.OpVerify})
	rep, err := p.transfer(ctx, contents[(warmUp+o.Count)%2], s.tokens, o.tamper)
	if err != nil {
		return row, err
	}
	if rep.Blocks != s.blocks() {
		return row, broke("%d blocks checked, not %d", rep.Blocks, s.blocks())
	}
	if err := p.close(); err != nil {
		return row, err
	}
	row = Row{Bytes: s.Bytes, Block: s.Block, Geometry: s.slug, Scale: s.scale,
		HandoverGBPS: speed(s.Bytes, over), CopyGBPS: speed(s.Bytes, contiguous), BlockCopyGBPS: speed(s.Bytes, blocks)}
	row.Ratio, row.RatioBlock = round(row.HandoverGBPS/row.CopyGBPS), round(row.HandoverGBPS/row.BlockCopyGBPS)
	return row, nil
}

// speed is bytes over the median time, in 10^9 bytes per second.
func speed(bytes int, times []time.Duration) float64 {
	slices.Sort(times)
	n := len(times)
	median := (times[(n-1)/2] + times[n/2]) / 2
	return round(float64(bytes) / float64(max(median, 1)))
}

func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

// Table writes the result for people.
func (r *Result) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "bytes\tblock\thand-over\tcopy\tblock copy\tratio\tratio (block)\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.2f GB/s\t%.2f GB/s\t%.2f GB/s\t%.3f\t%.3f\t\n",
			row.Bytes, row.Block, row.HandoverGBPS, row.CopyGBPS, row.BlockCopyGBPS, row.Ratio, row.RatioBlock)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "median of %d, %s transport, %s memory; slots have guard pages, not stamps; one request of each size checked: right\n",
		r.Count, r.Transport, r.Memory)
	return err
}
