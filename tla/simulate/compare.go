package simulate

import "context"

// Price is what one kind of fault costs one dialect, over schedules that have no
// other faults.
type Price struct {
	Dialect string `json:"dialect"`
	// Faults is how many found what they were meant for: notices that were lost, user
	// cancels that met an attempt in flight.
	Faults int `json:"faults"`
	// Restarts are processes that had to exit; Asked are attempts that asked for it. One
	// exit can end several attempts, and drag the other service along.
	Restarts int `json:"restarts"`
	Asked    int `json:"asked"`
	// PerFault is Restarts divided by Faults.
	PerFault float64 `json:"restarts_per_fault"`
	// Held are slots in quarantine at the end, of processes that did not have to exit.
	Held int `json:"slots_held"`
	Ends
}

// Comparison holds the prices of one fault side by side, over the same schedules.
type Comparison struct {
	Fault     string  `json:"fault"`
	Ranks     int     `json:"ranks"`
	Schedules int     `json:"schedules"`
	Prices    []Price `json:"prices"`
}

// Compare runs the same schedules in plain v2, with bit 48, with bit 49 and with
// both, once with lost completion notices and once with user cancels, 1 or 2 ranks on
// each side, and nothing else going wrong.
func Compare(ctx context.Context, o Options) ([]Comparison, Verdict, error) {
	var out []Comparison
	var all Verdict
	for _, ranks := range []int{1, 2} {
		for _, c := range []struct {
			name  string
			kinds []Kind
		}{{"lost completion notice", []Kind{LostNotice}}, {"user cancel in flight", []Kind{CancelGen, CancelCtx}}} {
			cmp := Comparison{Fault: c.name, Ranks: ranks, Schedules: o.Schedules}
			for _, d := range []Dialect{Plain, Recovery, Quiescence, Both} {
				run := o
				run.Dialects = []Dialect{d}
				// Few faults, so that a process rarely dies of two of them.
				run.Shape = Shape{Transfers: max(o.Shape.Transfers, 1), PerMille: 10, Only: c.kinds, Calm: true, Ranks: ranks}
				rep, err := Many(ctx, run)
				all.add(&rep.Verdict)
				if err != nil {
					return out, all, err
				}
				p := Price{Dialect: d.String(), Restarts: rep.Restarts.Sum(), Asked: rep.Asked.Sum(), Held: rep.Held, Ends: rep.Ends}
				p.Faults = rep.Applied[LostNotice]
				if c.kinds[0] != LostNotice {
					p.Faults = rep.InFlight.Sum()
				}
				if p.Faults > 0 {
					p.PerFault = float64(p.Restarts) / float64(p.Faults)
				}
				cmp.Prices = append(cmp.Prices, p)
			}
			out = append(out, cmp)
		}
	}
	return out, all, nil
}
