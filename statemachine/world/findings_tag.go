package world

import "github.com/kvsettle/kvsettle/statemachine/canon"

// WatchV1 is the v1 model with a canonical form for readers: the states of the
// machines and of GEN's slots. It is never compared with another model.
func WatchV1(cfg V1Config) (*Model[V1State], error) {
	m, err := V1(cfg)
	if err != nil {
		return nil, err
	}
	whole := m.Canon
	m.Canon = func(s *V1State) (canon.Value, error) {
		v, err := whole(s)
		part := func(name, field string) canon.Value {
			x, _ := v.Get(name)
			return pick(x, field)
		}
		return canon.Rec(field("GEN", part("gen", "state")), field("CTX", part("ctx", "state")),
			field("slot", part("genPool", "state")), field("generation", part("genPool", "gen"))), err
	}
	return m, nil
}

// pick replaces every record that has the named field by that field, inside
// sequences and other records.
func pick(v canon.Value, name string) canon.Value {
	if x, ok := v.Get(name); ok {
		return x
	}
	if x, ok := v.Get("slots"); ok {
		return pick(x, name)
	}
	if v.Kind() != canon.KindFun {
		return v
	}
	return seq(v.Len(), func(i int) canon.Value {
		_, x := v.At(i)
		return pick(x, name)
	})
}
