package catalog

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/kvsettle/kvsettle/statemachine/world"
)

// Wrongs lists the rules of a model's world that can be broken on purpose, by field
// name. A model without such rules, or an unknown one, has none.
func Wrongs(name string) []string {
	if name == "v1" {
		return flags(reflect.TypeFor[world.V1Wrong]())
	}
	return nil
}

// NewWrong makes a model whose world breaks one rule. Only tools that look for the
// break may use it.
func NewWrong(name, size, rule string) (Model, error) {
	if !slices.Contains(Wrongs(name), rule) {
		return nil, fmt.Errorf("%w: %s has no rule %q to break (there are %v)", ErrUnknown, name, rule, Wrongs(name))
	}
	cfg, ok := world.V1Size(size)
	reflect.ValueOf(&cfg.Wrong).Elem().FieldByName(rule).SetBool(true)
	return of(ok, size, func() (*world.Model[world.V1State], error) { return world.V1(cfg) })
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
