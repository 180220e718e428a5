// Package descriptor reads and writes the peer descriptor that a service
// appends to its agent name: schema 1 (five fields), schema 2 (six fields, with
// the ABI id) and, for recognition only, the form that came before both.
//
// Parsing never fails with an error: a name without a descriptor is an ordinary
// legacy peer, so the answer is a Status and, where it is not Valid, the Class
// of the check that decided.
package descriptor
