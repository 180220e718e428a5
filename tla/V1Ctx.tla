------------------------------- MODULE V1Ctx --------------------------------
(* One published context on CTX in the legacy layer and in v1, as the table of *)
(* CTX's transitions in chapter 12 has it.                                     *)
(*                                                                             *)
(* A context is a record: state, result and reason of the outcome, why (the    *)
(* first reason to refuse), started, hasSlot, committed (the ready commit was  *)
(* crossed), wanted (a cancel after it), wait (the deadline that runs), lease, *)
(* and four sets of edges, which are counted from 0: bound (the request was    *)
(* heard), stopped (told to post no more), written, and ended (no posted write *)
(* is left, and not all was written).                                          *)
(*                                                                             *)
(* n is the number of edges. A step maps a context to a record of the context  *)
(* m afterwards and the effects fx in order.                                   *)
EXTENDS Pools

New ==
  [state |-> "IMPORTED", result |-> "open", reason |-> "", why |-> "", started |-> FALSE, hasSlot |-> FALSE,
   committed |-> FALSE, wanted |-> FALSE, wait |-> "none", lease |-> NoLease,
   bound |-> {}, stopped |-> {}, written |-> {}, ended |-> {}]

Effect(what, m, proof, edge) == [do |-> what, lease |-> m.lease, proof |-> proof, edge |-> edge]

(* One effect for each edge of S, in the order of the edges.                   *)
RECURSIVE ForEach(_, _, _)
ForEach(what, m, S) ==
  IF S = {}
  THEN <<>>
  ELSE <<Effect(what, m, "None", First(S))>> \o ForEach(what, m, S \ {First(S)})

Stay(m) == [m |-> m, fx |-> <<>>]

Live(m) ==
  /\ m.started
  /\ m.state # "RETIRED"

All(n) == 0..(n - 1)

Quiet(n, m) == m.written \cup m.ended = All(n)

FirstOf(a, b) == IF a = "" THEN b ELSE a

(* One outcome, once (KS-V1-12); the slot goes on proof, into quarantine       *)
(* without (KS-SLOT-4, KS-V1-31).                                              *)
End(n, x, result, why) ==
  LET m == [x.m EXCEPT !.result = result,
                       !.reason = why,
                       !.wait = "none"]
      y == [x EXCEPT !.m = m]
      z == CASE ~m.hasSlot -> [y EXCEPT !.m.state = "RETIRED"]
             [] m.hasSlot /\ ~m.committed ->
                  [y EXCEPT !.m.state = "RETIRED",
                            !.m.hasSlot = FALSE,
                            !.fx = Append(@, Effect("release", m, "NotStarted", 0))]
             [] m.hasSlot /\ m.committed /\ Quiet(n, m) ->
                  [y EXCEPT !.m.state = "RETIRED",
                            !.m.hasSlot = FALSE,
                            !.fx = Append(@, Effect("release", m, "OwnWritesFinal", 0))]
             [] OTHER ->
                  [y EXCEPT !.m.state = "UNPROVEN",
                            !.fx = Append(@, Effect("quarantine", m, "None", 0))]
      gone == IF z.m.state = "RETIRED" THEN <<Effect("drop", m, "None", 0)>> ELSE <<>>
  IN [z EXCEPT !.fx = @ \o <<Effect("settle", m, "None", 0)>> \o gone]

(* Every edge that asked gets the same answer; those that ask later get it     *)
(* from the registry (KS-V1-29).                                               *)
Refuse(n, m, result, why) ==
  End(n, [Stay(m) EXCEPT !.fx = ForEach("sayNo", m, m.bound)], result, why)

-----------------------------------------------------------------------------

Start(m) ==
  Stay([m EXCEPT !.started = TRUE,
                 !.state = "WAITING",
                 !.wait = "admission"])

(* The lease exists before the result is visible (KS-SLOT-15).                 *)
Granted(m, lease) ==
  LET k == [m EXCEPT !.hasSlot = TRUE,
                     !.lease = lease,
                     !.state = "PUBLISHED",
                     !.wait = "context"]
  IN IF m.state = "WAITING"
     THEN [Stay(k) EXCEPT !.fx = Append(@, Effect("publish", k, "None", 0))]
     ELSE Stay(m)

Denied(n, m, why) ==
  IF m.state = "WAITING"
  THEN End(n, Stay(m), "failed", why)
  ELSE Stay(m)

(* The ready commit is one step for all edges, before anybody is told          *)
(* (KS-V1-28).                                                                 *)
Commit(n, m) ==
  LET k == [m EXCEPT !.committed = TRUE,
                     !.state = "IN_FLIGHT"]
  IN [Stay(k) EXCEPT !.fx = @ \o <<Effect("begin", k, "None", 0)>>
                              \o ForEach("sayYes", k, All(n))
                              \o ForEach("write", k, All(n))]

(* good: CTX finds nothing wrong with the request. A duplicate gets no other   *)
(* answer than the first (KS-V1-7).                                            *)
Request(n, m, e, good) ==
  LET k == [m EXCEPT !.bound = @ \cup {e},
                     !.why = IF good THEN @ ELSE FirstOf(@, "bad-buffers"),
                     !.wait = IF m.state = "PUBLISHED" THEN "request" ELSE @,
                     !.state = "BOUND"]
  IN CASE m.state \notin {"PUBLISHED", "BOUND"} \/ e \in m.bound -> Stay(m)
       [] k.bound # All(n) -> Stay(k)
       [] k.why # "" -> Refuse(n, k, "rejected", k.why)
       [] OTHER -> Commit(n, k)

(* What follows the end of a write.                                            *)
WriteOver(n, x) ==
  CASE ~Quiet(n, x.m) -> x
    [] x.m.state = "UNPROVEN" ->
         [x EXCEPT !.m.state = "RETIRED",
                   !.m.hasSlot = FALSE,
                   !.fx = @ \o <<Effect("prove", x.m, "OwnWritesFinal", 0), Effect("drop", x.m, "None", 0)>>]
    [] x.m.ended # {} -> End(n, x, "failed", x.m.why)
    [] OTHER -> End(n, x, "completed", "")

Running(m, e) ==
  /\ m.committed
  /\ e \notin m.written \cup m.ended

(* The sync is sent after final success, also late (KS-V1-11, KS-V1-27).       *)
Written(n, m, e) ==
  IF Running(m, e)
  THEN WriteOver(n, [Stay([m EXCEPT !.written = @ \cup {e}]) EXCEPT !.fx = Append(@, Effect("sync", m, "None", e))])
  ELSE Stay(m)

Ended(n, m, e, why) ==
  IF Running(m, e)
  THEN WriteOver(n, Stay([m EXCEPT !.ended = @ \cup {e},
                                   !.why = FirstOf(@, why)]))
  ELSE Stay(m)

(* After the ready commit there is no message that revokes: the write drains   *)
(* (KS-V1-10).                                                                 *)
Cancel(n, m) ==
  CASE m.result # "open" \/ m.wanted -> Stay(m)
    [] m.state = "WAITING" -> End(n, Stay(m), "cancelled", "user-cancel")
    [] m.state \in {"PUBLISHED", "BOUND"} -> Refuse(n, m, "cancelled", "user-cancel")
    [] OTHER -> Stay([m EXCEPT !.wanted = TRUE])

(* What is being written to the edges of S is stopped; the drain is bounded    *)
(* (KS-TIME-4).                                                                *)
Lost(n, m, S, why) ==
  LET open == S \ (m.written \cup m.ended \cup m.stopped)
      k == [m EXCEPT !.stopped = @ \cup open]
      x == [Stay(k) EXCEPT !.fx = ForEach("stop", m, open)]
  IN CASE m.state \in {"PUBLISHED", "BOUND"} /\ m.bound \cap S # {} -> Refuse(n, m, "failed", why)
       [] m.state \notin {"IN_FLIGHT", "DRAINING", "UNPROVEN"} \/ open = {} -> Stay(m)
       [] m.state = "IN_FLIGHT" ->
            [x EXCEPT !.m.state = "DRAINING",
                      !.m.why = FirstOf(@, why),
                      !.m.wait = "control"]
       [] OTHER -> x

Abort(n, m, why) ==
  CASE m.state = "WAITING" -> End(n, Stay(m), "failed", why)
    [] m.state \in {"PUBLISHED", "BOUND"} -> Refuse(n, m, "failed", why)
    [] m.state = "IN_FLIGHT" -> Lost(n, m, All(n), why)
    [] OTHER -> Stay(m)

(* The deadline that runs has passed (KS-TIME-2, KS-TIME-3, KS-TIME-4,         *)
(* KS-TIME-6).                                                                 *)
Deadline(n, m) ==
  CASE m.wait = "none" -> Stay(m)
    [] m.state = "WAITING" -> End(n, Stay(m), "failed", "admission-deadline-slot")
    [] m.state = "PUBLISHED" -> End(n, Stay(m), "failed", "context-deadline")
    [] m.state = "BOUND" -> Refuse(n, m, "failed", "request-deadline-bind")
    [] m.state = "IN_FLIGHT" -> End(n, Stay(m), "failed", "request-deadline-write")
    [] m.state = "DRAINING" -> End(n, Stay(m), "failed", m.why)
    [] OTHER -> Stay(m)
=============================================================================
