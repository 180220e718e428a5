// Package wire turns bytes into values and back, and nothing else: no state, no
// policy. Its subpackages hold one protocol family each (descriptor, native,
// control, identity, ticket, round, handover); this package holds what they
// share: the error type and the bounded reader.
package wire
