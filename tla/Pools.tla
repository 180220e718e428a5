------------------------------- MODULE Pools -------------------------------
(* A pool of staging slots: who owns which slot, in which generation, and on   *)
(* what proof it may be used again (chapter 11).                               *)
(*                                                                             *)
(* A pool is a record: slots (a sequence of records of state, generation,      *)
(* clean-up token and owner), tokens (how many were given out), unhealthy and  *)
(* closed. A lease is a record of slot (counted from 0), generation and token. *)
(*                                                                             *)
(* Every operator that changes a pool returns a record of the pool afterwards  *)
(* and ok; a refused one leaves the pool as it was, with ok = FALSE            *)
(* (KS-SLOT-25).                                                               *)
EXTENDS Naturals, Sequences, FiniteSets

NoLease == [slot |-> 0, gen |-> 0, token |-> 0]

FreeSlot == [state |-> "FREE", gen |-> 0, token |-> 0, owner |-> 0]

NewPool(n) == [slots |-> [i \in 1..n |-> FreeSlot], tokens |-> 0, unhealthy |-> FALSE, closed |-> FALSE]

Places(p, states) == {i \in DOMAIN p.slots : p.slots[i].state \in states}

FreeCount(p) == Cardinality(Places(p, {"FREE"}))
LeasedCount(p) == Cardinality(Places(p, {"LEASED", "ADVERTISED", "IN_FLIGHT"}))
IsolatedCount(p) == Cardinality(Places(p, {"QUARANTINED", "RETIRED"}))

First(S) == CHOOSE i \in S : \A j \in S : i <= j

Refused(p) == [pool |-> p, ok |-> FALSE]
Changed(p) == [pool |-> p, ok |-> TRUE]

(* KS-SLOT-1, KS-SLOT-2, KS-SLOT-3, KS-SLOT-5, KS-SLOT-11                      *)
MayLease(p) ==
  /\ ~p.closed
  /\ ~p.unhealthy
  /\ Places(p, {"FREE"}) # {}

LeaseSlot(p, owner) ==
  LET i == First(Places(p, {"FREE"}))
      s == [state |-> "LEASED", gen |-> p.slots[i].gen + 1, token |-> p.tokens + 1, owner |-> owner]
  IN IF MayLease(p)
     THEN [pool |-> [p EXCEPT !.slots[i] = s,
                              !.tokens = @ + 1],
           ok |-> TRUE,
           lease |-> [slot |-> i - 1, gen |-> s.gen, token |-> s.token]]
     ELSE [pool |-> p, ok |-> FALSE, lease |-> NoLease]

(* A lease names the slot only in its own generation and while its token is    *)
(* unspent: KS-SLOT-8, KS-SLOT-3, KS-SLOT-7.                                   *)
Holds(p, lease) ==
  /\ lease.slot + 1 \in DOMAIN p.slots
  /\ p.slots[lease.slot + 1].gen = lease.gen
  /\ p.slots[lease.slot + 1].token = lease.token
  /\ p.slots[lease.slot + 1].state \notin {"FREE", "RETIRED"}

In(p, lease, states) ==
  /\ Holds(p, lease)
  /\ p.slots[lease.slot + 1].state \in states

Moved(p, lease, to) == [p EXCEPT !.slots[lease.slot + 1].state = to]

Freed(p, lease) ==
  [p EXCEPT !.slots[lease.slot + 1].state = "FREE",
            !.slots[lease.slot + 1].token = 0,
            !.slots[lease.slot + 1].owner = 0]

Advertise(p, lease) ==
  IF In(p, lease, {"LEASED"})
  THEN Changed(Moved(p, lease, "ADVERTISED"))
  ELSE Refused(p)

Begin(p, lease) ==
  IF In(p, lease, {"LEASED", "ADVERTISED"})
  THEN Changed(Moved(p, lease, "IN_FLIGHT"))
  ELSE Refused(p)

(* No free without proof (KS-SLOT-4); a slot that nobody was told of needs     *)
(* none.                                                                       *)
Release(p, lease, proof) ==
  IF \/ In(p, lease, {"LEASED"})
     \/ In(p, lease, {"ADVERTISED"}) /\ proof # "None"
     \/ In(p, lease, {"IN_FLIGHT"}) /\ proof \notin {"None", "NeverAdvertised"}
  THEN Changed(Freed(p, lease))
  ELSE Refused(p)

(* KS-SLOT-5, KS-SLOT-24                                                       *)
Quarantine(p, lease, budget) ==
  LET q == Moved(p, lease, "QUARANTINED")
      over == \/ IsolatedCount(q) > budget
              \/ IsolatedCount(q) = Len(q.slots)
  IN IF In(p, lease, {"ADVERTISED", "IN_FLIGHT"})
     THEN Changed([q EXCEPT !.unhealthy = @ \/ over])
     ELSE Refused(p)

(* KS-SLOT-6                                                                   *)
Prove(p, lease, proof) ==
  IF In(p, lease, {"QUARANTINED"}) /\ proof # "None"
  THEN Changed(Freed(p, lease))
  ELSE Refused(p)

(* KS-SLOT-7                                                                   *)
Retire(p, lease) ==
  IF In(p, lease, {"QUARANTINED"})
  THEN Changed(Moved(p, lease, "RETIRED"))
  ELSE Refused(p)

Close(p) == Changed([p EXCEPT !.closed = TRUE])

(* Effect e of an endpoint machine, carried out on its pool.                   *)
PoolEffects == {"advertise", "begin", "release", "quarantine", "prove"}

PoolDo(p, budget, e) ==
  CASE e.do = "advertise"  -> Advertise(p, e.lease)
    [] e.do = "begin"      -> Begin(p, e.lease)
    [] e.do = "release"    -> Release(p, e.lease, e.proof)
    [] e.do = "quarantine" -> Quarantine(p, e.lease, budget)
    [] e.do = "prove"      -> Prove(p, e.lease, e.proof)
=============================================================================
