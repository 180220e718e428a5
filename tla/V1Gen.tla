------------------------------- MODULE V1Gen --------------------------------
(* One attempt on GEN in the legacy layer and in v1, as the table of GEN's     *)
(* transitions in chapter 12 has it.                                           *)
(*                                                                             *)
(* An attempt is a record: state, result and reason of the outcome, next (the  *)
(* edge whose request is being sent), wanted and wantedBy (a cancel), started, *)
(* hasSlot, local (a scatter reads the slot), wait (the deadline that runs),   *)
(* lease, and six sets of edges, which are counted from 0: asked (the request  *)
(* may be visible), ready, refused, synced, quiet (the writer is proven gone)  *)
(* and tainted (the edge contradicted itself).                                 *)
(*                                                                             *)
(* c is what does not change: edges, cancels (a cancel beats success) and      *)
(* expects (only ready=false is a right answer).                               *)
(*                                                                             *)
(* A step maps an attempt to a record of the attempt m afterwards and the      *)
(* effects fx in order.                                                        *)
EXTENDS Pools

New ==
  [state |-> "IMPORTED", result |-> "open", reason |-> "", next |-> 0, wanted |-> FALSE, wantedBy |-> "",
   started |-> FALSE, hasSlot |-> FALSE, local |-> FALSE, wait |-> "none", lease |-> NoLease,
   asked |-> {}, ready |-> {}, refused |-> {}, synced |-> {}, quiet |-> {}, tainted |-> {}]

Effect(what, m, proof, edge) == [do |-> what, lease |-> m.lease, proof |-> proof, edge |-> edge]

Stay(m) == [m |-> m, fx |-> <<>>]

(* An attempt that has not begun, or has no obligations left, takes nothing.   *)
Live(m) ==
  /\ m.started
  /\ m.state # "RETIRED"

All(c) == 0..(c.edges - 1)

(* Edges that write no more: refused before their commit, complete, or gone    *)
(* (KS-SLOT-20); one that contradicted itself only by being gone (KS-V1-24).   *)
Proven(m) == ((m.refused \cup m.synced) \ m.tainted) \cup m.quiet
IsProven(m) == m.asked \subseteq Proven(m)

ProofOf(m) ==
  CASE m.asked = {}                           -> "NeverAdvertised"
    [] m.asked \subseteq m.quiet              -> "WriterDead"
    [] m.asked \subseteq m.refused \ m.tainted -> "NotStarted"
    [] m.asked \subseteq m.synced \ m.tainted -> "Written"
    [] OTHER                                  -> "Settled"

(* The first wait that has not ended names the outcome.                        *)
Missing(m) ==
  CASE m.state = "SCATTERING"                                   -> "request-deadline-scatter"
    [] ~(m.asked \subseteq m.ready \cup m.refused \cup m.synced) -> "request-deadline-ready"
    [] OTHER                                                    -> "request-deadline-completion"

(* The first reason stands (KS-V1-15).                                         *)
Note(m, why) ==
  IF m.reason = ""
  THEN [m EXCEPT !.reason = why]
  ELSE m

-----------------------------------------------------------------------------

(* The slot goes on proof, into quarantine without (KS-SLOT-4).                *)
LetGo(x) ==
  CASE ~x.m.hasSlot -> [x EXCEPT !.m.state = "RETIRED"]
    [] x.m.hasSlot /\ IsProven(x.m) ->
         [x EXCEPT !.m.state = "RETIRED",
                   !.m.hasSlot = FALSE,
                   !.fx = @ \o <<Effect("release", x.m, ProofOf(x.m), 0), Effect("endTag", x.m, "None", 0)>>]
    [] OTHER ->
         [x EXCEPT !.m.state = "UNPROVEN",
                   !.fx = Append(@, Effect("quarantine", x.m, "None", 0))]

(* One outcome, once (KS-V1-12). While local work reads the slot it stays      *)
(* (KS-V1-22).                                                                 *)
End(x, result, why) ==
  LET y == [x EXCEPT !.m.result = result,
                     !.m.reason = why,
                     !.m.wait = "none"]
      z == IF x.m.local THEN y ELSE LetGo(y)
  IN [z EXCEPT !.fx = Append(@, Effect("settle", z.m, "None", 0))]

Fail(x, why) ==
  LET y == [x EXCEPT !.m = Note(@, why)]
  IN IF y.m.wanted
     THEN End(y, "cancelled", y.m.wantedBy)
     ELSE End(y, "failed", y.m.reason)

(* Late proof returns the slot and changes nothing else (KS-SLOT-6).           *)
ProveLate(x) ==
  IF IsProven(x.m) /\ ~x.m.local
  THEN [x EXCEPT !.m.state = "RETIRED",
                 !.m.hasSlot = FALSE,
                 !.fx = @ \o <<Effect("prove", x.m, IF x.m.asked = {} THEN "Settled" ELSE ProofOf(x.m), 0),
                               Effect("endTag", x.m, "None", 0)>>]
  ELSE x

(* A lost peer may still be proven quiet, within the control deadline          *)
(* (KS-V1-25).                                                                 *)
Drain(x) ==
  LET y == [x EXCEPT !.m = [Note(@, "peer-lost") EXCEPT !.state = "DRAINING"]]
  IN IF IsProven(y.m)
     THEN Fail(y, y.m.reason)
     ELSE [y EXCEPT !.m.wait = "control"]

(* What the answers so far mean for an attempt that is open (KS-V1-4,          *)
(* KS-V1-5, KS-V1-6, KS-V1-21, KS-V1-44).                                      *)
Progress(c, x) ==
  LET m == x.m
      yes == m.ready \cup m.synced
  IN CASE m.state \notin {"REQUEST_SENT", "IN_FLIGHT", "CANCEL_PENDING"} -> x
       [] c.expects /\ yes # {} /\ m.state # "CANCEL_PENDING" -> Fail(x, "unexpected-ready")
       [] m.refused = All(c) /\ m.wanted -> End(x, "cancelled", m.wantedBy)
       [] m.refused = All(c) -> End(x, "rejected", "peer-rejected")
       [] m.refused # {} /\ yes # {} /\ m.wanted /\ IsProven(m) -> End(x, "cancelled", m.wantedBy)
       [] m.refused # {} /\ yes # {} /\ m.wanted -> x
       [] m.refused # {} /\ yes # {} -> Fail(x, "mixed-readiness")
       [] m.synced = All(c) /\ m.wanted /\ c.cancels -> End(x, "cancelled", m.wantedBy)
       [] m.synced = All(c) ->
            [x EXCEPT !.m.state = "SCATTERING",
                      !.m.local = TRUE,
                      !.fx = @ \o (IF m.state = "IN_FLIGHT" THEN <<>> ELSE <<Effect("begin", m, "None", 0)>>),
                      !.fx = Append(@, Effect("scatter", m, "None", 0))]
       [] yes = All(c) /\ m.state = "REQUEST_SENT" ->
            [x EXCEPT !.m.state = "IN_FLIGHT",
                      !.fx = Append(@, Effect("begin", m, "None", 0))]
       [] OTHER -> x

(* New evidence, whatever the attempt waits for.                               *)
SettleProof(c, x) ==
  CASE x.m.state = "UNPROVEN" -> ProveLate(x)
    [] x.m.state = "DRAINING" /\ IsProven(x.m) -> Fail(x, x.m.reason)
    [] x.m.state = "DRAINING" -> x
    [] OTHER -> Progress(c, x)

-----------------------------------------------------------------------------

Start(m) ==
  Stay([m EXCEPT !.started = TRUE,
                 !.state = "WAITING",
                 !.wait = "admission"])

(* KS-V1-1, KS-V1-26, KS-SLOT-9: nothing was advertised.                       *)
EndWaiting(m, result, why) ==
  IF m.state = "WAITING"
  THEN End(Stay(m), result, why)
  ELSE Stay(m)

(* The edge counts as told before the call is made: the call may be observed   *)
(* before it returns.                                                          *)
PublishNext(x) ==
  [x EXCEPT !.m.asked = @ \cup {x.m.next},
            !.fx = Append(@, Effect("sendRequest", x.m, "None", x.m.next))]

(* KS-SLOT-17, KS-TIME-2                                                       *)
Granted(m, lease) ==
  LET n == [m EXCEPT !.hasSlot = TRUE,
                     !.lease = lease,
                     !.state = "PUBLISHING",
                     !.wait = "request"]
  IN IF m.state = "WAITING"
     THEN PublishNext([Stay(n) EXCEPT !.fx = Append(@, Effect("advertise", n, "None", 0))])
     ELSE Stay(m)

(* The fan-out goes on after a failure, or a peer that was told never hears of *)
(* an end (KS-V1-18, KS-V1-19).                                                *)
FanOutEnds(c, m) ==
  CASE m.reason = "peer-lost" \/ (m.quiet \cap m.asked) \ m.synced # {} -> Drain(Stay(m))
    [] m.reason # "" -> Fail(Stay(m), m.reason)
    [] OTHER -> Progress(c, Stay([m EXCEPT !.state = IF m.wanted /\ c.cancels THEN "CANCEL_PENDING" ELSE "REQUEST_SENT"]))

(* how is "sent", "error" (definitely not) or "doubt". An error is no longer   *)
(* definite when the edge was heard all the same.                              *)
Sent(c, m, how, e) ==
  LET heard == e \in m.ready \cup m.refused \cup m.synced
      n == [m EXCEPT !.next = @ + 1,
                     !.asked = IF how = "error" /\ ~heard THEN @ \ {e} ELSE @,
                     !.reason = IF how # "sent" /\ m.result = "open" /\ @ = "" THEN "publish-failed" ELSE @]
  IN CASE e # m.next \/ e \notin m.asked -> Stay(m)
       [] m.state = "PUBLISHING" /\ n.next < c.edges -> PublishNext(Stay(n))
       [] m.state = "PUBLISHING" -> FanOutEnds(c, n)
       [] OTHER -> SettleProof(c, Stay(n))

(* An edge that says both can be trusted in neither (KS-V1-24).                *)
Conflict(m, e) ==
  LET n == [m EXCEPT !.tainted = @ \cup {e}]
  IN CASE m.result # "open" -> Stay(n)
       [] m.state = "PUBLISHING" -> Stay(Note(n, "conflicting-ready"))
       [] OTHER -> Fail(Stay(n), "conflicting-ready")

Ready(c, m, e) ==
  CASE e \notin m.asked -> Stay(m)
    [] e \in m.refused -> Conflict(m, e)
    [] e \in m.ready \cup m.synced -> Stay(m)
    [] OTHER -> SettleProof(c, Stay([m EXCEPT !.ready = @ \cup {e}]))

Reject(c, m, e) ==
  CASE e \notin m.asked -> Stay(m)
    [] e \in m.ready \cup m.synced -> Conflict(m, e)
    [] e \in m.refused -> Stay(m)
    [] OTHER -> SettleProof(c, Stay([m EXCEPT !.refused = @ \cup {e}]))

(* A sync stands for a ready that was lost or overtaken (KS-V1-20).            *)
Sync(c, m, e) ==
  CASE e \notin m.asked -> Stay(m)
    [] e \in m.synced -> Stay(m)
    [] e \in m.refused -> Conflict(m, e)
    [] OTHER -> SettleProof(c, Stay([m EXCEPT !.synced = @ \cup {e}]))

Hears(c, m, kind, e) ==
  CASE kind = "ready" -> Ready(c, m, e)
    [] kind = "reject" -> Reject(c, m, e)
    [] kind = "sync" -> Sync(c, m, e)

(* KS-V1-17, KS-V1-21, KS-V1-22                                                *)
Scattered(c, m, right) ==
  LET x == Stay([m EXCEPT !.local = FALSE])
  IN CASE ~m.local -> Stay(m)
       [] m.result # "open" -> LetGo(x)
       [] m.wanted /\ c.cancels -> End(x, "cancelled", m.wantedBy)
       [] ~right -> End(x, "failed", "verify-failed")
       [] OTHER -> End(x, "completed", "")

(* KS-V1-8, KS-V1-9, KS-V1-17                                                  *)
Cancel(c, m) ==
  LET n == [m EXCEPT !.wanted = TRUE,
                     !.wantedBy = "user-cancel"]
  IN CASE m.result # "open" \/ m.wanted -> Stay(m)
       [] m.state = "WAITING" -> End(Stay(n), "cancelled", n.wantedBy)
       [] m.state \in {"REQUEST_SENT", "IN_FLIGHT"} /\ c.cancels -> Progress(c, Stay([n EXCEPT !.state = "CANCEL_PENDING"]))
       [] m.state \in {"REQUEST_SENT", "IN_FLIGHT"} -> Progress(c, Stay(n))
       [] OTHER -> Stay(n)

Abort(m, why) ==
  CASE m.result # "open" -> Stay(m)
    [] m.state = "WAITING" -> End(Stay(m), "failed", why)
    [] m.state = "PUBLISHING" -> Stay(Note(m, why))
    [] OTHER -> Fail(Stay(m), why)

(* quiet: the contract proves that the writer of edge e writes no more.        *)
PeerGone(c, m, e, quiet) ==
  LET n == [m EXCEPT !.quiet = IF quiet THEN @ \cup {e} ELSE @]
  IN CASE m.state = "PUBLISHING" /\ e \notin m.synced -> Stay(Note(n, "peer-lost"))
       [] m.state \in {"REQUEST_SENT", "IN_FLIGHT", "CANCEL_PENDING"} /\ e \notin m.synced -> Drain(Stay(n))
       [] m.state \in {"DRAINING", "UNPROVEN"} -> SettleProof(c, Stay(n))
       [] OTHER -> Stay(n)

(* The deadline that runs has passed (KS-TIME-2, KS-TIME-3, KS-TIME-4).        *)
Deadline(m) ==
  CASE m.wait = "none" -> Stay(m)
    [] m.state = "WAITING" -> End(Stay(m), "failed", "admission-deadline-slot")
    [] m.state = "DRAINING" -> Fail(Stay(m), m.reason)
    [] OTHER -> Fail(Stay(m), Missing(m))
=============================================================================
