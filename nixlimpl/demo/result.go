package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kvsettle/kvsettle/statemachine/slot"
)

// Result is what a run ends with; its JSON is the command's output.
type Result struct {
	Requests         int              `json:"requests"`
	Dispositions     Dispositions     `json:"dispositions"`
	Reasons          map[string]int   `json:"reasons"`
	Unsettled        int              `json:"unsettled"`
	FaultsInjected   map[string]int   `json:"faults_injected"`
	Bytes            int64            `json:"bytes"`
	Seconds          float64          `json:"seconds"`
	GBPerS           float64          `json:"gb_per_s"`
	LatencyMS        Latency          `json:"latency_ms"`
	BlocksVerified   int              `json:"blocks_verified"`
	BlocksCorrupt    int              `json:"blocks_corrupt"`
	CanaryViolations int              `json:"canary_violations"`
	BlockCache       BlockCache       `json:"block_cache"`
	Slots            Sides            `json:"slots"`
	Restarts         int              `json:"restarts"`
	RestartsBy       map[string]int   `json:"restarts_by"`
	CPUSeconds       map[string]Float `json:"cpu_seconds"`
	PeakBytes        int64            `json:"peak_bytes"`
	Transport        string           `json:"transport"`
	Memory           string           `json:"memory"`
	CTXMode          string           `json:"ctx_mode"`
	GENMode          string           `json:"gen_mode"`
	Seed             uint64           `json:"seed"`
	Interrupted      bool             `json:"interrupted"`

	// Broken lists the invariants that did not hold; empty means success.
	Broken []string `json:"-"`
}

// Float is a number that JSON shows with at most three decimals.
type Float float64

// MarshalJSON is json.Marshaler's.
func (f Float) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%.3f", float64(f)), nil }

// Dispositions counts requests by how they ended at GEN.
type Dispositions struct {
	Completed int `json:"completed"`
	Rejected  int `json:"rejected"`
	Cancelled int `json:"cancelled"`
	Failed    int `json:"failed"`
}

// Latency percentiles in milliseconds, GEN send to verified.
type Latency struct {
	P50 Float `json:"p50"`
	P95 Float `json:"p95"`
	P99 Float `json:"p99"`
}

// BlockCache counts prefix blocks at GEN, and requests that missed nothing.
type BlockCache struct {
	Hits     int `json:"hits"`
	Misses   int `json:"misses"`
	FullHits int `json:"full_hits"`
}

// Sides holds the slot counts of the last incarnation of each side.
type Sides struct {
	CTX slot.Counts `json:"ctx"`
	GEN slot.Counts `json:"gen"`
}

func (d *Dispositions) add(name string) {
	switch name {
	case "completed":
		d.Completed++
	case "rejected":
		d.Rejected++
	case "cancelled":
		d.Cancelled++
	default:
		d.Failed++
	}
}

func (d Dispositions) total() int { return d.Completed + d.Rejected + d.Cancelled + d.Failed }

// percentile is the nearest-rank percentile of sorted values.
func percentile(sorted []time.Duration, p float64) Float {
	if len(sorted) == 0 {
		return 0
	}
	i := int(p*float64(len(sorted))+0.9999999) - 1
	return Float(float64(sorted[min(max(i, 0), len(sorted)-1)]) / 1e6)
}

// Table writes the result for people.
func (r *Result) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name, format string, a ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, a...)) }
	d := r.Dispositions
	row("requests", "%d", r.Requests)
	row("  completed", "%d (%d needed no transfer)", d.Completed, r.BlockCache.FullHits)
	row("  rejected", "%d", d.Rejected)
	row("  cancelled", "%d", d.Cancelled)
	row("  failed", "%d", d.Failed)
	row("  unsettled", "%d", r.Unsettled)
	for _, k := range sortedKeys(r.Reasons) {
		row("    "+k, "%d", r.Reasons[k])
	}
	row("moved", "%.1f MB in %.2f s, %.2f GB/s while a transfer was open", float64(r.Bytes)/1e6, r.Seconds, r.GBPerS)
	row("latency", "p50 %.1f ms, p95 %.1f ms, p99 %.1f ms (GEN send to verified)", float64(r.LatencyMS.P50), float64(r.LatencyMS.P95), float64(r.LatencyMS.P99))
	row("blocks", "%d verified, %d corrupt", r.BlocksVerified, r.BlocksCorrupt)
	row("free slots", "%d written by somebody (canaries)", r.CanaryViolations)
	row("prefix blocks", "%d hits, %d misses", r.BlockCache.Hits, r.BlockCache.Misses)
	for _, s := range []struct {
		name string
		c    slot.Counts
	}{{"slots ctx", r.Slots.CTX}, {"slots gen", r.Slots.GEN}} {
		row(s.name, "%d free + %d leased + %d quarantined = %d", s.c.Free, s.c.Leased, s.c.Quarantined, s.c.Total)
	}
	for _, k := range sortedKeys(r.FaultsInjected) {
		row("fault "+k, "%d", r.FaultsInjected[k])
	}
	row("restarts", "ctx %d, gen %d", r.RestartsBy["ctx"], r.RestartsBy["gen"])
	row("cpu", "ctx %.2f s, gen %.2f s", float64(r.CPUSeconds["ctx"]), float64(r.CPUSeconds["gen"]))
	row("peak memory", "%.0f MB", float64(r.PeakBytes)/1e6)
	row("run", "%s transport, %s memory, ctx %s, gen %s, seed %d", r.Transport, r.Memory, r.CTXMode, r.GENMode, r.Seed)
	if r.Interrupted {
		row("interrupted", "yes: the table shows what had ended")
	}
	verdict := "every request ended, every invariant held"
	if len(r.Broken) > 0 {
		verdict = "BROKEN: " + strings.Join(r.Broken, "; ")
	}
	row("verdict", "%s", verdict)
	return t.Flush()
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
