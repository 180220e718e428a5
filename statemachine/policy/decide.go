package policy

import (
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

// Variable is the name of the environment variable that is the switch.
const Variable = "TRTLLM_DISAGG_ENABLE_INFLIGHT_CANCEL"

// Setting is the switch variable as found: unset, or set to a value that may be
// empty.
type Setting struct {
	Set   bool
	Value string
}

// Choice is what a command-line flag asks for.
type Choice uint8

// A flag is not given, or asks for baseline or for enabled mode.
const (
	NotGiven Choice = iota
	ChooseOff
	ChooseOn
)

// Source says what a decision came from; the log names it.
type Source uint8

// The sources, weakest first.
const (
	Default Source = iota
	FromVariable
	FromFlag
)

// String returns "default", "variable" or "flag".
func (s Source) String() string {
	switch s {
	case Default:
		return "default"
	case FromVariable:
		return "variable"
	case FromFlag:
		return "flag"
	}
	return "invalid"
}

// Decision is the mode of a service.
type Decision struct {
	// Mode is what the service advertises and does.
	Mode descriptor.Mode
	// Required: enabled mode was asked for, so an unqualified cell refuses to start.
	Required bool
	// Source is what decided.
	Source Source
	// Overridden: the variable was set too, and a flag won over it.
	Overridden bool
	// Reason is empty in enabled mode, else the code of why not.
	Reason spec.Reason
	// Reasons is why the cell is not qualified for enabled mode, nil when it is. They
	// are told in every case, also where the switch is off.
	Reasons []spec.Reason
}

// UnqualifiedError says that enabled mode is required and the cell is not
// qualified. errors.Is finds RequiredNotQualified and each of Reasons as a
// *statemachine.Refusal.
type UnqualifiedError struct {
	// Source is what required enabled mode.
	Source Source
	// Reasons holds at least one reason, in the order of Cell's fields.
	Reasons []spec.Reason
}

// Error names what required enabled mode and every reason against it.
func (e *UnqualifiedError) Error() string {
	var b strings.Builder
	b.WriteString("enabled mode is required by the " + e.Source.String())
	b.WriteString(", but this configuration is not qualified: ")
	b.WriteString(string(RequiredNotQualified) + " (" + reqRequired + ")")
	for _, r := range e.Reasons {
		b.WriteString("; " + string(r) + ": " + Explain(r))
	}
	return b.String()
}

// Unwrap returns a *statemachine.Refusal for the whole and one per reason.
func (e *UnqualifiedError) Unwrap() []error {
	errs := []error{statemachine.Refuse(RequiredNotQualified, reqRequired, Explain(RequiredNotQualified))}
	for _, r := range e.Reasons {
		errs = append(errs, statemachine.Refuse(r, reqRequired, Explain(r)))
	}
	return errs
}

// Decide returns the mode of a service (KS-POL-1 to KS-POL-4, KS-POL-9):
//
//	flag    variable  qualified cell      unqualified cell
//	on      any       enabled, required   *UnqualifiedError
//	off     any       baseline            baseline
//	none    unset     enabled             baseline
//	none    0         baseline            baseline
//	none    1         enabled, required   *UnqualifiedError
//	none    other     *statemachine.Refusal with BadSwitch; empty is such a value
//
// A flag that is given wins; the variable is then not even read for errors. With
// an error the service must not start; the Decision still says where it came from
// and why.
func Decide(flag Choice, variable Setting, cell Cell) (Decision, error) {
	d := Decision{Reasons: cell.Qualify()}
	qualified := len(d.Reasons) == 0
	off := false
	switch {
	case flag == ChooseOff || flag == ChooseOn:
		d.Source, d.Overridden = FromFlag, variable.Set
		d.Required, off = flag == ChooseOn, flag == ChooseOff
	case flag != NotGiven:
		return bad(d, "the flag's choice is "+strconv.Itoa(int(flag)))
	case variable.Set:
		d.Source = FromVariable
		d.Required, off = variable.Value == "1", variable.Value == "0"
		if !d.Required && !off {
			return bad(d, Variable+" must be unset, 0 or 1, not "+strconv.Quote(variable.Value))
		}
	}
	switch {
	case off:
		d.Reason = SwitchedOff
	case qualified:
		d.Mode = descriptor.Enabled
	case d.Required:
		d.Reason = RequiredNotQualified
		return d, &UnqualifiedError{d.Source, d.Reasons}
	default:
		d.Reason = NotQualified
	}
	return d, nil
}

func bad(d Decision, what string) (Decision, error) {
	d.Reason = BadSwitch
	return d, statemachine.Refuse(BadSwitch, reqSwitch, what)
}
