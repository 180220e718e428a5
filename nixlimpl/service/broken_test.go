package service

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvsettle/kvsettle/nixlimpl/shm"
	"github.com/kvsettle/kvsettle/nixlimpl/transport"
	"github.com/kvsettle/kvsettle/spec"
	sm "github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/statemachine/negotiate"
)

// promising is an agent with another contract.
type promising struct {
	transport.Agent
	errorQuiet bool
}

func (p promising) Contract() transport.Contract {
	c := p.Agent.Contract()
	c.ErrorQuiet = p.errorQuiet
	return c
}

// A write of CTX ends in an error. Its staging slot may be used again where the
// contract says that such a write is over, or where it never began; else it is
// quarantined, and the next request finds another slot.
func TestBrokenWriteAsksTheContract(t *testing.T) {
	for _, c := range []struct {
		name                  string
		errorQuiet, unstarted bool
		quarantined           int
	}{
		{"an error means quiet", true, false, 0},
		{"an error means nothing", false, false, 1},
		{"never started", false, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig(t, negotiate.On)
			var broken atomic.Bool
			cfg.Open = func(name string, sink transport.Sink) (transport.Agent, error) {
				a, err := shm.Open(shm.Config{Name: name}, func(ev transport.Event) {
					if ev.Kind == transport.WriteEnded && broken.CompareAndSwap(false, true) {
						ev.Status, ev.Err, ev.Unstarted = transport.Broken, transport.ErrPeerGone, c.unstarted
					}
					sink(ev)
				})
				return promising{a, c.errorQuiet}, err
			}
			g := testConfig(t, negotiate.On)
			g.Settings.Request = 800 * time.Millisecond
			p := newPair(t, cfg, g)
			require.Equal(t, sm.Failed, p.run(t, ask(1, 900, 1, 2)).Disposition)
			require.Equal(t, sm.Failed, p.ends.wait(t, 1).Disposition)
			state := make(chan State, 1)
			p.ctx.State(func(s State) { state <- s })
			s := <-state
			require.EqualValues(t, c.quarantined, s.Slots.Quarantined)
			require.EqualValues(t, 4-c.quarantined, s.Slots.Free)
			require.Equal(t, sm.Completed, p.run(t, ask(2, 900, 3, 4)).Disposition)
		})
	}
	spec.Covers(t, "KS-BACK-4")
}
