// Package round decides among the local ranks of one service. Once per executor
// iteration every rank enters one batched round, also with nothing to say; what a
// round decides holds for all of them.
//
// Machine is one rank's view of the present round: who has entered, who has passed
// the installation barrier, and when it has failed. Decide is a pure function over
// the contributions of all ranks to one attempt, so that every rank that saw the
// same contributions decides the same. Fold turns the wire entries of one rank
// into its contribution.
package round
