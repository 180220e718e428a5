package world

import (
	"errors"

	"github.com/kvsettle/kvsettle/statemachine/canon"
	"github.com/kvsettle/kvsettle/statemachine/ctx"
	"github.com/kvsettle/kvsettle/statemachine/gen"
	"github.com/kvsettle/kvsettle/statemachine/round"
)

// V2CtxValue is the canonical form of a CTX parent of v2 with its first edges edges,
// as in the form of a whole state. The error says that the parent has something that
// the form does not name.
func V2CtxValue(p ctx.Parent, edges int) (canon.Value, error) {
	var errs []error
	v := ctxParentValue(&p, edges, &errs)
	return v, errors.Join(errs...)
}

// V2GenValue is V2CtxValue for a GEN parent.
func V2GenValue(p gen.Parent, edges int) (canon.Value, error) {
	var errs []error
	v := genParentValue(&p, edges, &errs)
	return v, errors.Join(errs...)
}

// V2VerdictValue is the canonical form of the verdict of a round.
func V2VerdictValue(v round.Verdict) canon.Value { return verdictValue(&v) }
