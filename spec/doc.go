// Package spec is the normative text of kvsettle as data: requirements with
// their ids, reason codes and decision tables. Every other room reads from it;
// it imports no room.
//
// The chapters (*.md), the tables (tables/*.json) and the list of requirements
// that no test covers (untested.json) are embedded, so that a program that
// carries this package carries the text it was built against. The chapters show
// the tables between marker comments; `go generate ./spec` renders them, and a
// test compares.
//
// A test states which requirements it shows with [Covers]. With KVSETTLE_COVERS
// set, that leaves a record, which [ReadCovered] reads back and [Judge] turns
// into tested and untested.
package spec

//go:generate go run ./internal/gen
