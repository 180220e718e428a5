// Package round reads and writes the payload of a decision round: what one local
// rank contributes about every transfer it knows, sorted, in network order. The
// bytes are the same for the same contributions, so that ranks can compare them.
package round
