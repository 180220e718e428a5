package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl/raw"
)

// PairCount is the number of interleaved pairs of RunNIXL when no other is asked
// for.
const PairCount = 100

// NIXLRow is one size over NIXL. Speeds are in 10^9 bytes per second over median
// times; ratios are medians of the ratios of neighbours.
type NIXLRow struct {
	Bytes int `json:"bytes"`
	Block int `json:"block"`
	Chunk int `json:"chunk"`
	// Raw is the library's writes alone, in the same chunks.
	RawGBPS float64 `json:"raw_gb_per_s"`
	// Slot is slot to slot through the whole v1 exchange, without gather and scatter.
	SlotGBPS  float64 `json:"slot_gb_per_s"`
	SlotRatio float64 `json:"slot_over_raw"`
	// Handover is paged end to end, Copy one plain copy of the same bytes.
	HandoverGBPS float64 `json:"handover_gb_per_s"`
	CopyGBPS     float64 `json:"copy_gb_per_s"`
	Ratio        float64 `json:"handover_over_copy"`
	// Profile splits the median paged hand-over: the writes alone, what the exchange adds
	// to them, and what gather and scatter add beyond what is hidden behind the writes.
	Profile NIXLProfile `json:"profile_ms"`
}

// NIXLProfile is in milliseconds.
type NIXLProfile struct {
	Write    float64 `json:"write"`
	Exchange float64 `json:"exchange"`
	Copies   float64 `json:"copies"`
}

// NIXLLatency is a small transfer, in microseconds.
type NIXLLatency struct {
	Bytes int `json:"bytes"`
	// Raw is the library's write alone, Slot the whole v1 exchange slot to slot, Added
	// their difference.
	Raw   float64 `json:"raw_us"`
	Slot  float64 `json:"slot_us"`
	Added float64 `json:"added_us"`
	// Notify is one notice one way in the same polling mode.
	Notify float64 `json:"notify_one_way_us"`
}

// NIXLResult is what RunNIXL ends with.
type NIXLResult struct {
	Rows      []NIXLRow   `json:"rows"`
	Latency   NIXLLatency `json:"latency"`
	Count     int         `json:"count"`
	Transport string      `json:"transport"`
	Memory    string      `json:"memory"`
}

// rawSide is a process that obeys package raw's orders.
type rawSide struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	dec *json.Decoder
	raw.Answer
}

func startRaw(o *Options, library string, bytes int) (*rawSide, error) {
	cmd := exec.Command(o.Exe, "child")
	cmd.Stderr, cmd.Env = o.Log, append(os.Environ(), "GOTRACEBACK=single")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &rawSide{cmd: cmd, in: in, enc: json.NewEncoder(in), dec: json.NewDecoder(bufio.NewReader(out))}
	if err := r.enc.Encode(child.Start{Role: child.RoleRaw, Library: library, SlotBytes: bytes}); err != nil {
		r.end()
		return nil, err
	}
	var first struct {
		raw.Answer
		Message string `json:"message"`
	}
	if err := r.dec.Decode(&first); err != nil || first.Op != raw.Ready {
		r.end()
		return nil, fmt.Errorf("bench: raw: %s %w", first.Message, errors.Join(err))
	}
	r.Answer = first.Answer
	return r, nil
}

func (r *rawSide) end() {
	_ = r.in.Close()
	late := time.AfterFunc(closing, func() { _ = r.cmd.Process.Kill() })
	_ = r.cmd.Wait()
	late.Stop()
}

// do gives an order; a process that does not answer in time is killed, which ends
// the wait.
func (r *rawSide) do(o raw.Order) (time.Duration, error) {
	late := time.AfterFunc(deadline, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	if err := r.enc.Encode(o); err != nil {
		return 0, fmt.Errorf("bench: raw: %w", err)
	}
	var a raw.Answer
	if err := r.dec.Decode(&a); err != nil {
		return 0, fmt.Errorf("bench: raw: %w", err)
	}
	if a.Err != "" {
		return 0, fmt.Errorf("bench: raw: %s", a.Err)
	}
	return a.Time, nil
}

// RunNIXL measures hand-overs over NIXL against the library's own writes and
// against plain copies, all in turn, so that what else the machine does hits all
// alike. Options.Count 0 means PairCount; without sizes it measures 64 MiB in
// blocks of 64 KiB. Errors as for Run.
func RunNIXL(ctx context.Context, o Options, library string) (*NIXLResult, error) {
	if o.Count == 0 {
		o.Count = PairCount
	}
	if len(o.Sizes) == 0 {
		o.Sizes = []Size{{64 << 20, DefaultBlock}}
	}
	shapes, err := o.check()
	if err != nil {
		return nil, err
	}
	small, err := shapeOf(Size{64 << 10, 512})
	if err != nil {
		return nil, err
	}
	res := &NIXLResult{Count: o.Count, Transport: "nixl", Memory: "host"}
	for _, s := range shapes {
		row, err := measureNIXL(ctx, o, s, library)
		if err != nil {
			return nil, err
		}
		res.Rows = append(res.Rows, row)
		if o.Progress != nil {
			fmt.Fprintf(o.Progress, "bench: %d bytes in blocks of %d: slot over raw %.3f, hand-over over copy %.3f\n", row.Bytes, row.Block, row.SlotRatio, row.Ratio)
		}
	}
	if res.Latency, err = latencyNIXL(ctx, o, small, library); err != nil {
		return nil, err
	}
	return res, nil
}

// nixlSetup is one service pair and one raw pair.
type nixlSetup struct {
	slot, paged *pair
	w, t        *rawSide
}

func (n *nixlSetup) end(failed bool) error {
	var errs []error
	for _, p := range []*pair{n.slot, n.paged} {
		switch {
		case p == nil:
		case failed:
			p.kill()
		default:
			errs = append(errs, p.close())
		}
	}
	for _, r := range []*rawSide{n.w, n.t} {
		if r != nil {
			r.end()
		}
	}
	return errors.Join(errs...)
}

func setupNIXL(ctx context.Context, o Options, s shape, library string, paged bool) (n *nixlSetup, err error) {
	n = &nixlSetup{}
	defer func() {
		if err != nil {
			_ = n.end(true)
		}
	}()
	tune := func(noCopy bool) func(*child.Start) {
		return func(st *child.Start) {
			st.Transport, st.Library, st.NoCopy = "nixl", library, noCopy
		}
	}
	o.tune = tune(true)
	if n.slot, err = startPair(ctx, &o, s); err != nil {
		return n, err
	}
	if paged {
		o.tune = tune(false)
		if n.paged, err = startPair(ctx, &o, s); err != nil {
			return n, err
		}
	}
	if n.w, err = startRaw(&o, library, s.Bytes); err != nil {
		return n, err
	}
	if n.t, err = startRaw(&o, library, s.Bytes); err != nil {
		return n, err
	}
	for _, p := range [][2]*rawSide{{n.w, n.t}, {n.t, n.w}} {
		if _, err = p[0].do(raw.Order{Op: raw.Peer, Name: p[1].Name, Address: p[1].Address}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// write is the raw write of the same bytes and chunks, as many under way as CTX's
// staging slot has places.
func (n *nixlSetup) write(bytes int) (time.Duration, error) {
	chunk := min(child.DefaultChunk, bytes)
	return n.w.do(raw.Order{Op: raw.Write, Name: n.t.Name, Addr: n.t.Addr, Bytes: bytes, Chunk: chunk, Window: child.DefaultWindow})
}

func measureNIXL(ctx context.Context, o Options, s shape, library string) (row NIXLRow, err error) {
	c, err := newCopies(s.Size)
	if err != nil {
		return row, err
	}
	defer c.free()
	n, err := setupNIXL(ctx, o, s, library, true)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, n.end(err != nil)) }()
	contents := [2][]uint64{s.hashes(0), s.hashes(1)}
	var rawT, slotT, pagedT, copyT []time.Duration
	var slotR, pagedR []float64
	for i := range warmUp + o.Count {
		r, err := n.write(s.Bytes)
		if err != nil {
			return row, err
		}
		slot, err := n.slot.transfer(ctx, contents[i%2], s.tokens, nil)
		if err != nil {
			return row, err
		}
		paged, err := n.paged.transfer(ctx, contents[i%2], s.tokens, nil)
		if err != nil {
			return row, err
		}
		c.contiguous()
		cp := c.contiguous()
		if i < warmUp {
			continue
		}
		rawT, slotT, pagedT, copyT = append(rawT, r), append(slotT, slot.Latency), append(pagedT, paged.Latency), append(copyT, cp)
		slotR = append(slotR, float64(r)/float64(slot.Latency))
		pagedR = append(pagedR, float64(cp)/float64(paged.Latency))
	}
	n.paged.gen.Send(child.Command{Op: child.OpVerify})
	if rep, err := n.paged.transfer(ctx, contents[(warmUp+o.Count)%2], s.tokens, nil); err != nil {
		return row, err
	} else if rep.Blocks != s.blocks() || rep.Corrupt > 0 {
		return row, broke("%d blocks checked, %d corrupt", rep.Blocks, rep.Corrupt)
	}
	ms := func(d time.Duration) float64 { return round(float64(d) / 1e6) }
	m := func(t []time.Duration) time.Duration { return raw.Median(t) }
	row = NIXLRow{Bytes: s.Bytes, Block: s.Block, Chunk: min(child.DefaultChunk, s.Bytes),
		RawGBPS: speed(s.Bytes, rawT), SlotGBPS: speed(s.Bytes, slotT), SlotRatio: medianRatio(slotR),
		HandoverGBPS: speed(s.Bytes, pagedT), CopyGBPS: speed(s.Bytes, copyT), Ratio: medianRatio(pagedR),
		Profile: NIXLProfile{Write: ms(m(rawT)), Exchange: ms(m(slotT) - m(rawT)), Copies: ms(m(pagedT) - m(slotT))}}
	return row, nil
}

func latencyNIXL(ctx context.Context, o Options, s shape, library string) (l NIXLLatency, err error) {
	n, err := setupNIXL(ctx, o, s, library, false)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, n.end(err != nil)) }()
	contents := [2][]uint64{s.hashes(0), s.hashes(1)}
	var rawT, slotT, pingT []time.Duration
	for i := range warmUp + o.Count {
		r, err := n.write(s.Bytes)
		if err != nil {
			return l, err
		}
		ping, err := n.w.do(raw.Order{Op: raw.Ping, Name: n.t.Name, Count: 5})
		if err != nil {
			return l, err
		}
		slot, err := n.slot.transfer(ctx, contents[i%2], s.tokens, nil)
		if err != nil {
			return l, err
		}
		if i >= warmUp {
			rawT, slotT, pingT = append(rawT, r), append(slotT, slot.Latency), append(pingT, ping)
		}
	}
	us := func(t []time.Duration) float64 { return round(float64(raw.Median(t)) / 1e3) }
	return NIXLLatency{Bytes: s.Bytes, Raw: us(rawT), Slot: us(slotT), Added: round(us(slotT) - us(rawT)), Notify: us(pingT)}, nil
}

func medianRatio(r []float64) float64 {
	slices.Sort(r)
	return round(r[(len(r)-1)/2])
}

// Table writes the result for people.
func (r *NIXLResult) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "bytes\tblock\traw\tslot to slot\tslot/raw\thand-over\tcopy\thand-over/copy\twrite\texchange\tcopies\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.2f GB/s\t%.2f GB/s\t%.3f\t%.2f GB/s\t%.2f GB/s\t%.3f\t%.2f ms\t%.2f ms\t%.2f ms\t\n",
			row.Bytes, row.Block, row.RawGBPS, row.SlotGBPS, row.SlotRatio, row.HandoverGBPS, row.CopyGBPS, row.Ratio,
			row.Profile.Write, row.Profile.Exchange, row.Profile.Copies)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	l := r.Latency
	_, err := fmt.Fprintf(w, "%d bytes: write alone %.0f us, slot to slot %.0f us (%.0f us added); one notice one way %.0f us\nmedian of %d in turn, %s transport, %s memory\n",
		l.Bytes, l.Raw, l.Slot, l.Added, l.Notify, r.Count, r.Transport, r.Memory)
	return err
}
