// Package settle holds what both v2 endpoints share in order to end a transfer:
// the evidence of one edge and its reduction, the claims of a cancelled edge, the
// effects of a disposition, how a message fits its attempt, and the waits.
//
// Everything here is a pure function or a value; the decision tables of chapters
// 16 and 26 are the reference, and the tests compare with them row by row.
package settle
