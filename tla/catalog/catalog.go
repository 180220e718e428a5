// Package catalog lists the models of the tree by name and size, with their state
// types hidden, so that commands can work with all of them alike.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/world"
	"github.com/kvsettle/kvsettle/tla/explore"
)

// ErrUnknown says that there is no such model or size.
var ErrUnknown = errors.New("no such model")

// Sizes are the names of the configurations that every model has, smallest first.
// Small ones are for every test run, medium ones for CI, large ones for the night.
func Sizes() []string { return []string{"small", "medium", "large"} }

// Model is one model in one size.
type Model interface {
	Name() string
	Size() string
	Bounds() []world.Bound
	Actions() []world.Info
	// Invariants returns the names and requirements of the invariants.
	Invariants() []Property
	// Rows names the rows of the specification's tables that the model counts.
	Rows() []string
	// Leaves lists what the canonical form leaves out, with the reason.
	Leaves() []string
	// Explore enumerates the model; see explore.Run.
	Explore(ctx context.Context, opt explore.Options) (explore.Report, error)
	// Tell makes a story of a violation that Explore reported.
	Tell(v explore.Violation) (explore.Story, error)
	// Canon returns the canonical form of a state given by its key; see explore.Sink.
	Canon(key []uint64) (canon.Value, error)
	// Twins says whether the model knows symmetries.
	Twins() bool
}

// Property is an invariant as catalogs show it.
type Property struct {
	Name string   `json:"name"`
	Reqs []string `json:"requirements"`
}

type maker struct {
	name string
	make func(size string) (Model, error)
}

// makers is in the order in which --all runs.
func makers() []maker {
	all := []maker{
		{"negotiate", func(size string) (Model, error) {
			cfg, ok := world.NegotiateSize(size)
			return of(ok, size, func() (*world.Model[world.NegotiateState], error) { return world.Negotiate(cfg) })
		}},
		{"slot", func(size string) (Model, error) {
			cfg, ok := world.SlotSize(size)
			return of(ok, size, func() (*world.Model[world.SlotState], error) { return world.Slot(cfg) })
		}},
		{"v1", func(size string) (Model, error) {
			cfg, ok := world.V1Size(size)
			return of(ok, size, func() (*world.Model[world.V1State], error) { return world.V1(cfg) })
		}},
	}
	all = append(all, maker{"round", func(size string) (Model, error) {
		cfg, ok := world.RoundSize(size)
		return of(ok, size, func() (*world.Model[world.RoundState], error) { return world.Round(cfg) })
	}})
	all = append(all, maker{"registry", func(size string) (Model, error) {
		cfg, ok := world.RegistrySize(size)
		return of(ok, size, func() (*world.Model[world.RegistryState], error) { return world.Registries(cfg) })
	}})
	for _, name := range world.V2Names() {
		all = append(all, maker{name, func(size string) (Model, error) {
			cfg, ok := world.V2Size(name, size)
			return of(ok, size, func() (*world.Model[world.V2State], error) { return world.V2(cfg) })
		}})
	}
	return all
}

// Names lists the models in order.
func Names() []string {
	var out []string
	for _, m := range makers() {
		out = append(out, m.name)
	}
	return out
}

// New makes a model. The error wraps ErrUnknown when the tree has no model of that
// name, or not in that size.
func New(name, size string) (Model, error) {
	all := makers()
	i := slices.IndexFunc(all, func(m maker) bool { return m.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q (there are %v)", ErrUnknown, name, Names())
	}
	return all[i].make(size)
}

func of[S comparable](ok bool, size string, build func() (*world.Model[S], error)) (Model, error) {
	if !ok {
		return nil, fmt.Errorf("%w: size %q (there are %v)", ErrUnknown, size, Sizes())
	}
	m, err := build()
	if err != nil {
		return nil, err
	}
	return Of(m)
}

// Of hides the state type of any model.
func Of[S comparable](m *world.Model[S]) (Model, error) {
	return &typed[S]{m: m}, nil
}

type typed[S comparable] struct {
	m     *world.Model[S]
	codec *explore.Codec[S]
}

func (t *typed[S]) Name() string          { return t.m.Name }
func (t *typed[S]) Size() string          { return t.m.Size }
func (t *typed[S]) Bounds() []world.Bound { return slices.Clone(t.m.Bounds) }
func (t *typed[S]) Actions() []world.Info { return slices.Clone(t.m.Actions) }
func (t *typed[S]) Rows() []string        { return slices.Clone(t.m.Rows) }
func (t *typed[S]) Leaves() []string      { return slices.Clone(t.m.Leaves) }
func (t *typed[S]) Twins() bool           { return t.m.Twins != nil }

func (t *typed[S]) Invariants() []Property {
	var out []Property
	for _, inv := range t.m.Invariants {
		out = append(out, Property{inv.Name, slices.Clone(inv.Reqs)})
	}
	return out
}

func (t *typed[S]) Explore(ctx context.Context, opt explore.Options) (explore.Report, error) {
	codec, err := explore.NewCodec[S]()
	if err != nil {
		return explore.Report{}, err
	}
	t.codec = codec
	return explore.RunWith(ctx, t.m, codec, opt)
}

func (t *typed[S]) Tell(v explore.Violation) (explore.Story, error) { return explore.Tell(t.m, v) }

func (t *typed[S]) Canon(key []uint64) (canon.Value, error) {
	if t.codec == nil || t.m.Canon == nil {
		return canon.Value{}, fmt.Errorf("%w: %s: no canonical form outside of a run", explore.ErrModel, t.m.Name)
	}
	var s S
	t.codec.Read(key, &s)
	return t.m.Canon(&s)
}
