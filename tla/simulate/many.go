package simulate

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Options of Many.
type Options struct {
	// Schedules is how many to run; First is the seed of the first, and each next one
	// has the next seed.
	Schedules int
	First     uint64
	// Dialects that the seeds take turns in; empty means all. A seed always has the
	// same one for the same list.
	Dialects []Dialect
	Shape    Shape
	// Workers is the number of goroutines; at least 1.
	Workers int
	// Progress, if not nil, is called now and then with the number of finished runs.
	Progress func(done int)
}

// Failure is a seed of which a judge found something.
type Failure struct {
	Seed    uint64 `json:"seed"`
	Dialect string `json:"dialect"`
	What    string `json:"what"`
}

// Report sums up many runs.
type Report struct {
	Result
	Schedules int
	ByDialect [NumDialects]Result
	Counts    [NumDialects]int
	// Failures are the first that were found, by seed, at most maxFailures.
	Failures []Failure
	Seconds  float64
}

const maxFailures = 16

// DialectOf says in which dialect a seed runs.
func (o *Options) DialectOf(seed uint64) Dialect {
	if len(o.Dialects) == 0 {
		return Dialect(seed % uint64(NumDialects))
	}
	return o.Dialects[seed%uint64(len(o.Dialects))]
}

// Many runs schedules on several goroutines. When ctx ends it returns what was done,
// with the error of ctx. The sums do not depend on the number of workers.
func Many(ctx context.Context, o Options) (Report, error) {
	start := time.Now()
	var next atomic.Int64
	var mu sync.Mutex
	var rep Report
	var wg sync.WaitGroup
	for range max(o.Workers, 1) {
		wg.Go(func() {
			own := work(ctx, &o, &next)
			mu.Lock()
			defer mu.Unlock()
			rep.merge(own)
		})
	}
	wg.Wait()
	rep.Seconds = time.Since(start).Seconds()
	return rep, ctx.Err()
}

// work runs schedules until none is left.
func work(ctx context.Context, o *Options, next *atomic.Int64) *Report {
	rep := new(Report)
	sim, sch := New(), new(Schedule)
	pcg := rand.NewPCG(0, 0)
	rng := rand.New(pcg)
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if i >= o.Schedules {
			break
		}
		seed := o.First + uint64(i)
		d := o.DialectOf(seed)
		pcg.Seed(seed, drawStream)
		sch.draw(rng, seed, d, o.Shape)
		res := sim.Run(sch)
		rep.Add(&res)
		rep.ByDialect[d].Add(&res)
		rep.Counts[d]++
		rep.Schedules++
		if res.Bad() > 0 {
			rep.fail(Failure{seed, d.String(), res.First})
		}
		if o.Progress != nil && i%1000 == 999 {
			o.Progress(i + 1)
		}
	}
	return rep
}

func (r *Report) fail(f Failure) {
	i := len(r.Failures)
	for i > 0 && r.Failures[i-1].Seed > f.Seed {
		i--
	}
	if i == maxFailures {
		return
	}
	r.Failures = append(r.Failures, Failure{})
	copy(r.Failures[i+1:], r.Failures[i:])
	r.Failures[i] = f
	r.Failures = r.Failures[:min(len(r.Failures), maxFailures)]
}

func (r *Report) merge(o *Report) {
	r.Add(&o.Result)
	r.Schedules += o.Schedules
	for d := range r.ByDialect {
		r.ByDialect[d].Add(&o.ByDialect[d])
		r.Counts[d] += o.Counts[d]
	}
	for _, f := range o.Failures {
		r.fail(f)
	}
	r.First = ""
	if len(r.Failures) > 0 {
		r.First = r.Failures[0].What
	}
}
