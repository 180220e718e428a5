package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/child"
)

// report acts on one line of a child.
func (d *driver) report(rep report) {
	if rep.exit {
		d.exited(rep)
		return
	}
	pr := rep.from
	r := d.byID[rep.RequestID]
	switch rep.Op {
	case child.Ready:
		pr.up, pr.name = true, rep.Name
		d.ready++
		if pr.role == "ctx" {
			d.resend()
		} else {
			held := d.held
			d.held = nil
			for _, f := range held {
				f()
			}
		}
	case child.Refused:
		if !pr.up {
			d.fatal = fmt.Errorf("%s could not start: %s", pr.role, rep.Message)
			return
		}
		d.broke("%s refused a command: %s", pr.role, rep.Message)
	case child.Fault:
		d.res.FaultsInjected[rep.Name]++
	case child.Unhealthy:
		pr.up = false
	case child.StateReport:
		pr.bye = &rep.Report
	case child.Bye:
		pr.bye = &rep.Report
		d.accounts(pr, rep.State.Canary, rep.State.Counters)
	case child.Context, child.ContextError:
		if r != nil && r.phase == atCTX && r.ctxInc == pr.inc {
			d.contextAnswer(r, &rep.Report)
		}
	case child.Sent:
		if r != nil && r.phase == atGEN && r.genInc == pr.inc {
			d.openTransfer(r)
			d.arm(r, atGEN, true)
			d.strike(r)
		}
	case child.Outcome:
		if r != nil && r.phase == atGEN && r.genInc == pr.inc {
			d.outcome(r, &rep.Report)
		}
	case child.Ended:
		d.ctxBytes[pr.inc] = max(d.ctxBytes[pr.inc], rep.Bytes)
		if r != nil && r.ctxInc == pr.inc && r.ctxOwes {
			r.ctxOwes, r.ctxDone = false, rep.Disposition
		}
	}
}

func (d *driver) contextAnswer(r *request, rep *child.Report) {
	if rep.Op == child.ContextError {
		r.ctxOwes = false
		switch rep.Reason {
		case "user-cancel", "shutdown":
			d.end(r, "cancelled", rep.Reason)
		case "pool-unhealthy", "pool-closed":
			// CTX is on its way out; the restarted one is asked again.
			if d.stopping {
				d.end(r, "failed", rep.Reason)
			}
		default:
			d.end(r, "failed", rep.Reason)
		}
		return
	}
	d.askGEN(r, rep.Handover)
}

func (d *driver) outcome(r *request, rep *child.Report) {
	if rep.Disposition == "completed" && !rep.FullHit {
		d.latencies = append(d.latencies, rep.Latency)
	}
	if rep.FullHit {
		d.res.BlockCache.FullHits++
	}
	d.res.BlocksVerified += rep.Blocks
	d.res.BlocksCorrupt += rep.Corrupt
	d.res.BlockCache.Hits += rep.Hits
	d.res.BlockCache.Misses += rep.Misses
	d.end(r, rep.Disposition, rep.Reason)
	if rep.Disposition != "completed" || rep.FullHit {
		d.release(r)
	}
}

// accounts adds up what an ending process says about itself.
func (d *driver) accounts(pr *process, canary int, counters map[string]uint64) {
	d.res.CanaryViolations += canary
	if n := counters["slot_refusals"]; n > 0 {
		d.broke("%s: the slot pool refused %d effects of a machine", pr.role, n)
	}
}

func (d *driver) broke(format string, a ...any) {
	d.res.Broken = append(d.res.Broken, fmt.Sprintf(format, a...))
}

// exited replaces a process that ended before its time and settles what it leaves
// behind: the driver decides only for requests whose GEN died.
func (d *driver) exited(rep report) {
	pr := rep.from
	pr.gone, pr.up = true, false
	cpu, peak := pr.usage()
	d.res.CPUSeconds[pr.role] += Float(cpu.Seconds())
	d.peak(pr.role, peak)
	if d.fatal != nil || d.quits["over"] > 0 {
		return
	}
	code := pr.child.Ended().ExitCode()
	if !pr.killed && code != child.ExitUnhealthy {
		d.broke("%s ended by itself: %v", pr.role, rep.err)
		if d.quits[pr.role]++; d.quits[pr.role] > 3 {
			d.fatal = fmt.Errorf("%s keeps ending: %v", pr.role, rep.err)
			return
		}
	}
	d.res.Restarts++
	d.res.RestartsBy[pr.role]++
	for _, r := range d.reqs {
		switch {
		case pr.role == "gen" && r.phase == atGEN && r.genInc == pr.inc:
			d.end(r, "failed", "gen-died")
			d.release(r)
		case pr.role == "ctx" && r.ctxInc == pr.inc && r.ctxOwes:
			r.ctxOwes = false // nobody is left who owes anything
		}
	}
	if err := d.launch(pr.role); err != nil {
		d.fatal = err
	}
}

// resend asks a restarted CTX for the contexts that its predecessor owed.
func (d *driver) resend() {
	for _, r := range d.reqs {
		if r.phase == atCTX && r.ctxInc != d.ctx.inc {
			d.askCTX(r)
		}
	}
}

func (d *driver) peak(role string, bytes int64) {
	d.peaks[role] = max(d.peaks[role], bytes)
}

// finish waits for what both sides still owe, takes them down in order, and
// computes the result.
func (d *driver) finish() {
	if d.fatal != nil {
		d.quits["over"] = 1
		d.killAll()
		d.await(5*time.Second, func() bool { return d.ctx.gone && d.gen.gone })
		return
	}
	d.res.Seconds = roundSeconds(time.Since(d.started))
	bound := d.Deadline*2 + 5*time.Second
	if d.res.Interrupted {
		bound = interruptGrace
	}
	d.await(bound, func() bool { return d.stops == 0 && d.ctx.up && d.gen.up && !d.owing() })
	d.await(bound, d.settled)
	for _, r := range d.reqs[:d.next] {
		if r.phase != finished {
			d.end(r, "failed", "swept")
			d.res.Unsettled++
		} else if bad := d.disagree(r); bad != "" {
			d.res.Unsettled++
			d.broke("request %d: %s", r.id, bad)
		}
	}
	if d.ctx.bye != nil {
		d.res.Slots.CTX = d.ctx.bye.State.Slots
		d.ctxBytes[d.ctx.inc] = max(d.ctxBytes[d.ctx.inc], d.ctx.bye.State.Bytes)
	}
	if d.gen.bye != nil {
		d.res.Slots.GEN = d.gen.bye.State.Slots
	}
	// CTX first: its writes end with it, then GEN looks at its slots for the last time.
	d.quits["over"] = 1
	for _, pr := range []*process{d.ctx, d.gen} {
		pr.send(child.Command{Op: child.OpShutdown})
		d.await(d.Deadline*3+10*time.Second, func() bool { return pr.gone })
		if !pr.gone {
			d.broke("%s did not end when told to", pr.role)
			pr.kill()
			d.await(5*time.Second, func() bool { return pr.gone })
		} else if code := pr.child.Ended().ExitCode(); code != 0 && !pr.killed {
			d.broke("%s ended with code %d", pr.role, code)
		}
	}
	d.conclude()
}

// await handles reports until cond holds or the bound has passed.
func (d *driver) await(bound time.Duration, cond func() bool) {
	end := time.NewTimer(bound)
	defer end.Stop()
	for !cond() {
		select {
		case rep := <-d.reports:
			d.report(rep)
		case f := <-d.alarms:
			f()
		case <-end.C:
			return
		}
	}
}

func (d *driver) owing() bool {
	for _, r := range d.reqs[:d.next] {
		if r.ctxOwes && r.ctxInc == d.ctx.inc {
			return true
		}
	}
	return false
}

// settled asks both sides until neither has anything open. It is polled.
func (d *driver) settled() bool {
	ok := true
	for _, pr := range []*process{d.ctx, d.gen} {
		if !pr.up {
			return false
		}
		if pr.bye == nil || pr.bye.Op != child.StateReport {
			ok = false
		} else if s := pr.bye.State; s.Open > 0 || s.Stamping > 0 || s.Slots.Leased > 0 {
			ok = false
		}
	}
	if !ok && !d.asking {
		d.asking = true
		d.after(20*time.Millisecond, func() {
			d.asking = false
			for _, pr := range []*process{d.ctx, d.gen} {
				pr.send(child.Command{Op: child.OpState})
			}
		})
	}
	return ok
}

// disagree compares the two sides' outcomes with what the protocol allows; CTX's
// is unknown when its process died. GEN may call failed or cancelled what CTX
// wrote to the end, never the reverse.
func (d *driver) disagree(r *request) string {
	switch {
	case r.ctxOwes && r.ctxInc == d.ctx.inc:
		return "CTX never ended it (GEN: " + r.disposition + ")"
	case r.ctxDone == "" || r.disposition != "completed" && r.disposition != "rejected":
		return ""
	case r.disposition == "completed" && r.sent && r.ctxDone != "completed":
		return "GEN completed it, CTX says " + r.ctxDone
	case r.disposition == "rejected" && r.ctxDone == "completed":
		return "GEN says rejected, CTX wrote it"
	}
	return ""
}

func (d *driver) conclude() {
	res := d.res
	for _, n := range d.ctxBytes {
		res.Bytes += n
	}
	if s := d.openTotal.Seconds(); s > 0 {
		res.GBPerS = float64(int(float64(res.Bytes)/s/1e6)) / 1e3
	}
	slices.Sort(d.latencies)
	res.LatencyMS = Latency{percentile(d.latencies, 0.50), percentile(d.latencies, 0.95), percentile(d.latencies, 0.99)}
	for _, n := range d.peaks {
		res.PeakBytes += n
	}
	if res.Unsettled > 0 {
		d.broke("%d requests unsettled", res.Unsettled)
	}
	if res.BlocksCorrupt > 0 {
		d.broke("%d blocks corrupt", res.BlocksCorrupt)
	}
	if res.CanaryViolations > 0 {
		d.broke("%d free slots were written", res.CanaryViolations)
	}
	for name, c := range map[string]struct{ free, leased, quarantined, total int }{
		"ctx": {res.Slots.CTX.Free, res.Slots.CTX.Leased, res.Slots.CTX.Quarantined, res.Slots.CTX.Total},
		"gen": {res.Slots.GEN.Free, res.Slots.GEN.Leased, res.Slots.GEN.Quarantined, res.Slots.GEN.Total},
	} {
		if c.leased != 0 || c.total == 0 || c.free+c.leased+c.quarantined != c.total {
			d.broke("%s slots: %d free + %d leased + %d quarantined of %d", name, c.free, c.leased, c.quarantined, c.total)
		}
	}
	for _, name := range sortedKeys(res.FaultsInjected) {
		if res.FaultsInjected[name] == 0 && !res.Interrupted {
			d.broke("fault %s struck nothing", name)
		}
	}
	slices.Sort(res.Broken)
}

func roundSeconds(t time.Duration) float64 { return float64(t.Round(time.Millisecond)) / 1e9 }

func (d *driver) progress() {
	if d.Progress == nil {
		return
	}
	n, done := len(d.reqs), d.res.Dispositions.total()
	const width = 30
	bar := strings.Repeat("=", done*width/max(n, 1))
	fmt.Fprintf(d.Progress, "\r[%-*s] %d/%d requests, %d open, %.1fs ", width, bar, done, n, d.inFlight, time.Since(d.started).Seconds())
}

func (d *driver) progressEnd() {
	if d.Progress != nil {
		d.progress()
		fmt.Fprintln(d.Progress)
	}
}
