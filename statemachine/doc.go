// Package statemachine holds what the machines share: time as a value, the
// disposition of a request and the error of a refused step. The machines live in
// its subpackages. Everything here is pure: no clock, no goroutine, no I/O, no
// randomness, no package-level state. Time and choices are inputs, effects are
// data.
package statemachine
