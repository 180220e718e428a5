-------------------------------- MODULE Slot --------------------------------
(* One pool of staging slots with attempts that each lease one slot once, and  *)
(* peers that may write as soon as they were told of a slot (chapter 11).      *)
(*                                                                             *)
(* Things that the pool must refuse are tried as well; a pool that takes one,  *)
(* or refuses what is right, makes odd TRUE.                                   *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Slots,   \* how many slots the pool has
  Budget,  \* how many may be quarantined while it stays healthy
  Owners,  \* the set of attempts, from 1
  Stales,  \* how often somebody uses a lease that has ended
  Closes   \* whether the pool may be closed

VARIABLES
  pool,    \* see Pools
  lease,   \* lease[o]: the lease of attempt o, also after its end
  phase,   \* phase[o]: new, held or gone
  peer,    \* peer[o]: untold, told, writes, done, never or dead
  odd,
  closed,
  stales   \* how many stale uses are left

vars == <<pool, lease, phase, peer, odd, closed, stales>>

P == INSTANCE Pools

(* What the pool does; it must take the step, or must refuse it.               *)
Takes(x) ==
  /\ pool' = x.pool
  /\ odd' = (odd \/ ~x.ok)

MustRefuse(x) ==
  /\ pool' = x.pool
  /\ odd' = (odd \/ x.ok \/ x.pool # pool)

StateOf(o) == pool.slots[lease[o].slot + 1].state

Held(o, states) ==
  /\ phase[o] = "held"
  /\ StateOf(o) \in states

(* What the peer of an attempt proves; the death of a peer counts here.        *)
ProofOf(o) ==
  CASE peer[o] = "untold" -> "NeverAdvertised"
    [] peer[o] = "done"   -> "Written"
    [] peer[o] = "never"  -> "NotStarted"
    [] peer[o] = "dead"   -> "WriterDead"
    [] OTHER              -> "None"

-----------------------------------------------------------------------------

(* KS-SLOT-1, KS-SLOT-2, KS-SLOT-3                                             *)
Lease ==
  \E o \in Owners :
    LET got == P!LeaseSlot(pool, o)
        old == pool.slots[got.lease.slot + 1]
    IN /\ phase[o] = "new"
       /\ P!MayLease(pool)
       /\ pool' = got.pool
       /\ odd' = (odd \/ got.lease.gen <= old.gen \/ old.state # "FREE")
       /\ lease' = [lease EXCEPT ![o] = got.lease]
       /\ phase' = [phase EXCEPT ![o] = "held"]
       /\ UNCHANGED <<peer, closed, stales>>

(* KS-SLOT-5, KS-SLOT-11, KS-SLOT-24                                           *)
LeaseRefused ==
  \E o \in Owners :
    /\ phase[o] = "new"
    /\ ~P!MayLease(pool)
    /\ MustRefuse(P!LeaseSlot(pool, o))
    /\ UNCHANGED <<lease, phase, peer, closed, stales>>

(* KS-SLOT-17                                                                  *)
Advertise ==
  \E o \in Owners :
    /\ Held(o, {"LEASED"})
    /\ Takes(P!Advertise(pool, lease[o]))
    /\ peer' = [peer EXCEPT ![o] = "told"]
    /\ UNCHANGED <<lease, phase, closed, stales>>

Begin ==
  \E o \in Owners :
    /\ Held(o, {"ADVERTISED"})
    /\ Takes(P!Begin(pool, lease[o]))
    /\ UNCHANGED <<lease, phase, peer, closed, stales>>

(* KS-SLOT-4                                                                   *)
Release ==
  \E o \in Owners :
    /\ Held(o, {"LEASED", "ADVERTISED", "IN_FLIGHT"})
    /\ ProofOf(o) # "None"
    /\ Takes(P!Release(pool, lease[o], ProofOf(o)))
    /\ phase' = [phase EXCEPT ![o] = "gone"]
    /\ UNCHANGED <<lease, peer, closed, stales>>

ReleaseUnproven ==
  \E o \in Owners :
    /\ Held(o, {"ADVERTISED", "IN_FLIGHT"})
    /\ MustRefuse(P!Release(pool, lease[o], "None"))
    /\ UNCHANGED <<lease, phase, peer, closed, stales>>

(* KS-SLOT-4, KS-SLOT-5                                                        *)
Quarantine ==
  \E o \in Owners :
    /\ Held(o, {"ADVERTISED", "IN_FLIGHT"})
    /\ ProofOf(o) = "None"
    /\ Takes(P!Quarantine(pool, lease[o], Budget))
    /\ UNCHANGED <<lease, phase, peer, closed, stales>>

(* KS-SLOT-6                                                                   *)
Prove ==
  \E o \in Owners :
    /\ Held(o, {"QUARANTINED"})
    /\ ProofOf(o) # "None"
    /\ Takes(P!Prove(pool, lease[o], ProofOf(o)))
    /\ phase' = [phase EXCEPT ![o] = "gone"]
    /\ UNCHANGED <<lease, peer, closed, stales>>

(* Late proof of a slot that is not quarantined, or without a proof.           *)
ProveUnproven ==
  \E o \in Owners :
    /\ Held(o, {"LEASED", "QUARANTINED"})
    /\ MustRefuse(P!Prove(pool, lease[o], IF StateOf(o) = "LEASED" THEN "Settled" ELSE "None"))
    /\ UNCHANGED <<lease, phase, peer, closed, stales>>

(* KS-SLOT-7                                                                   *)
Retire ==
  \E o \in Owners :
    /\ Held(o, {"QUARANTINED"})
    /\ Takes(P!Retire(pool, lease[o]))
    /\ phase' = [phase EXCEPT ![o] = "gone"]
    /\ UNCHANGED <<lease, peer, closed, stales>>

(* A lease that has ended opens nothing: KS-SLOT-3, KS-SLOT-8                  *)
StaleUse ==
  \E o \in Owners :
    /\ phase[o] = "gone"
    /\ stales > 0
    /\ stales' = stales - 1
    /\ \E x \in {P!Advertise(pool, lease[o]), P!Begin(pool, lease[o]), P!Release(pool, lease[o], "Settled"),
                 P!Quarantine(pool, lease[o], Budget), P!Prove(pool, lease[o], "Settled"), P!Retire(pool, lease[o])} :
         MustRefuse(x)
    /\ UNCHANGED <<lease, phase, peer, closed>>

Close ==
  /\ Closes
  /\ ~closed
  /\ Takes(P!Close(pool))
  /\ closed' = TRUE
  /\ UNCHANGED <<lease, phase, peer, stales>>

-----------------------------------------------------------------------------
(* The peer, as long as its attempt holds the slot.                            *)

PeerBecomes(o, to) ==
  /\ peer' = [peer EXCEPT ![o] = to]
  /\ UNCHANGED <<pool, lease, phase, odd, closed, stales>>

PeerWrites ==
  \E o \in Owners :
    /\ phase[o] = "held"
    /\ peer[o] = "told"
    /\ PeerBecomes(o, "writes")

PeerEnds ==
  \E o \in Owners :
    /\ phase[o] = "held"
    /\ peer[o] = "writes"
    /\ PeerBecomes(o, "done")

PeerRefuses ==
  \E o \in Owners :
    /\ phase[o] = "held"
    /\ peer[o] = "told"
    /\ PeerBecomes(o, "never")

PeerDies ==
  \E o \in Owners :
    /\ phase[o] = "held"
    /\ peer[o] \in {"told", "writes"}
    /\ PeerBecomes(o, "dead")

-----------------------------------------------------------------------------

Init ==
  /\ pool = P!NewPool(Slots)
  /\ lease = [o \in Owners |-> P!NoLease]
  /\ phase = [o \in Owners |-> "new"]
  /\ peer = [o \in Owners |-> "untold"]
  /\ odd = FALSE
  /\ closed = FALSE
  /\ stales = Stales

Next ==
  \/ Lease
  \/ LeaseRefused
  \/ Advertise
  \/ Begin
  \/ Release
  \/ ReleaseUnproven
  \/ Quarantine
  \/ Prove
  \/ ProveUnproven
  \/ Retire
  \/ StaleUse
  \/ Close
  \/ PeerWrites
  \/ PeerEnds
  \/ PeerRefuses
  \/ PeerDies

(* A write ends or its process dies, and what is proven is let go.             *)
Due ==
  \/ PeerEnds
  \/ PeerDies
  \/ Release
  \/ Prove

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(Due)

-----------------------------------------------------------------------------

(* I8, I14: while a peer may write, the slot is its attempt's. KS-SLOT-4,      *)
(* KS-SLOT-6                                                                   *)
NoWriteIntoFreeSlot ==
  \A o \in Owners :
    peer[o] \in {"told", "writes"} =>
      LET s == pool.slots[lease[o].slot + 1]
      IN /\ s.gen = lease[o].gen
         /\ s.state \notin {"FREE", "LEASED"}

(* KS-SLOT-3, KS-SLOT-5, KS-SLOT-7, KS-SLOT-8, KS-SLOT-25                      *)
PoolBehaves == ~odd

(* KS-SLOT-2                                                                   *)
OneOwner ==
  \A o, q \in Owners :
    o # q /\ phase[o] = "held" /\ phase[q] = "held" => lease[o].slot # lease[q].slot

(* KS-SLOT-27                                                                  *)
SlotsAddUp ==
  /\ P!FreeCount(pool) + P!LeasedCount(pool) + P!IsolatedCount(pool) = Slots
  /\ Slots - P!FreeCount(pool) - Cardinality(P!Places(pool, {"RETIRED"})) = Cardinality({o \in Owners : phase[o] = "held"})

(* B2: KS-SLOT-5, KS-SLOT-24                                                   *)
BudgetStopsAdmission == P!IsolatedCount(pool) <= Budget \/ pool.unhealthy

Settled == \A o \in Owners : phase[o] # "held"

(* B2: KS-SLOT-5. Every slot that an attempt holds is let go or retired.       *)
Settles == []<>Settled
=============================================================================
