package catalog

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/settle/wrong"
	"github.com/kvsettle/kvsettle/statemachine/world"
)

// Wrongs lists the rules of a model's world that can be broken on purpose, by field
// name. A model without such rules, or an unknown one, has none.
func Wrongs(name string) []string {
	switch name {
	case "negotiate":
		return flags(reflect.TypeFor[world.NegotiateWrong]())
	case "slot":
		return flags(reflect.TypeFor[world.SlotWrong]())
	case "v1":
		return flags(reflect.TypeFor[world.V1Wrong]())
	case "round":
		return flags(reflect.TypeFor[world.RoundWrong]())
	case "registry":
		return append(flags(reflect.TypeFor[world.RegistryWrong]()), noPeerEarly)
	}
	if slices.Contains(world.V2Names(), name) {
		out := flags(reflect.TypeFor[world.V2Wrong]())
		for _, r := range wrong.All() {
			out = append(out, r.Name)
		}
		return out
	}
	return nil
}

// noPeerEarly is the one rule of the machines that the registry's world breaks.
const noPeerEarly = "EvictNoPeerEarly"

// machineRule finds a rule of the machines, as opposed to one of the world around
// them.
func machineRule(name string) (wrong.Rules, bool) {
	if name == noPeerEarly {
		return wrong.EvictNoPeerEarly, true
	}
	for _, r := range wrong.All() {
		if r.Name == name {
			return r.Rule, true
		}
	}
	return 0, false
}

// NewWrong makes a model whose world breaks one rule. Only tools that look for the
// break may use it.
func NewWrong(name, size, rule string) (Model, error) {
	if !slices.Contains(Wrongs(name), rule) {
		return nil, fmt.Errorf("%w: %s has no rule %q to break (there are %v)", ErrUnknown, name, rule, Wrongs(name))
	}
	bad, ofMachines := machineRule(rule)
	breaks := func(fields any) {
		if !ofMachines {
			reflect.ValueOf(fields).Elem().FieldByName(rule).SetBool(true)
		}
	}
	switch name {
	case "negotiate":
		cfg, ok := world.NegotiateSize(size)
		breaks(&cfg.Wrong)
		return of(ok, size, func() (*world.Model[world.NegotiateState], error) { return world.Negotiate(cfg) })
	case "slot":
		cfg, ok := world.SlotSize(size)
		breaks(&cfg.Wrong)
		return of(ok, size, func() (*world.Model[world.SlotState], error) { return world.Slot(cfg) })
	case "v1":
		cfg, ok := world.V1Size(size)
		breaks(&cfg.Wrong)
		return of(ok, size, func() (*world.Model[world.V1State], error) { return world.V1(cfg) })
	case "round":
		cfg, ok := world.RoundSize(size)
		breaks(&cfg.Wrong)
		return of(ok, size, func() (*world.Model[world.RoundState], error) { return world.Round(cfg) })
	case "registry":
		cfg, ok := world.RegistrySize(size)
		cfg.Bad = bad
		breaks(&cfg.Wrong)
		return of(ok, size, func() (*world.Model[world.RegistryState], error) { return world.Registries(cfg) })
	}
	cfg, ok := world.V2Size(name, size)
	cfg.Bad = bad
	breaks(&cfg.Wrong)
	return of(ok, size, func() (*world.Model[world.V2State], error) { return world.V2(cfg) })
}

func flags(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if t.Field(i).Type.Kind() == reflect.Bool {
			out = append(out, t.Field(i).Name)
		}
	}
	return out
}
