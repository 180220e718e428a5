// Package simulate runs many transfers at once through the machines that the
// transceiver runs, in virtual time, under faults. A Schedule is plain data that a
// seed gives: when which transfer arrives and what goes wrong. Running it makes no
// choice of its own, so a schedule that fails fails again, and faults and transfers
// can be taken out of it while it still does.
//
// All transfers of a schedule share two services (CTX and GEN, one or two ranks
// each), their slot pools, rounds, connections and processes. After every event that
// can change it the run is judged: no slot is free or leased anew while a posted write
// can reach it, every lease ends once, every request has exactly one outcome, nothing
// stays open past its bound, and at the end no slot is lost.
package simulate
