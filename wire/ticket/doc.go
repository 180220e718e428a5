// Package ticket reads and writes the opaque state that carries a context result
// to GEN: the native state first, so that old readers find it where it always
// was, then a trailer with the ticket, whose footer is found from the end. It also
// reads and writes the tagged form in which such a state stands inside positional
// streams.
package ticket
