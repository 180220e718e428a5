------------------------------- MODULE V2Gen --------------------------------
(* One attempt on one GEN rank in v2: what it says in a round, what a verdict  *)
(* makes of it, its waits, and all its inputs (chapter 14). V2GenEdge has the  *)
(* record of the parent and what messages mean.                                *)
(*                                                                             *)
(* GenStep(p, in) takes a parent and an input, a record like NoGenIn of which  *)
(* the fields count that belong to its kind. It returns ok (refused inputs     *)
(* change nothing), the parent afterwards, and the effects in order. Effects   *)
(* that nothing outside has to carry out are left out: rows taken, that a      *)
(* round is wanted or OPEN may be sent (see Pending and MayPublish), cached    *)
(* answers, counters. Local work that begins unasked is no input here.         *)
EXTENDS V2GenEdge

NoGenIn ==
  [kind |-> "", edge |-> 0, edges |-> 0, parts |-> 0, part |-> 0, value |-> FALSE, match |-> {}, decision |-> "",
   evidence |-> "none", state |-> "", cause |-> "none", wait |-> "", contract |-> {}, chunk |-> 0, count |-> 0,
   caps |-> {}, verdict |-> NoVerdict, binding |-> NoLease]

-----------------------------------------------------------------------------
(* What a rank says in a round.                                                *)

(* How far the attempt has come by the decisions of the local ranks.           *)
Phase(p) ==
  CASE p.state = "SUCCESS_COMPLETE" -> "Data"
    [] "settling" \in p.flags -> "Settling"
    [] p.state \in {"CONTEXT_IMPORTED", "ADMISSION_PREPARED", "LOCAL_CANCELLED"} -> "Admission"
    [] "installed" \in p.flags -> "Data"
    [] OTHER -> "Ready"

Committed(p) == p.state = "SUCCESS_COMPLETE"

(* Nobody was told of the slot by an edge that was never opened.               *)
PeerEvidence(p, i) == IF p.edge[i].state = "ABSENT" THEN "NOT_STARTED" ELSE p.edge[i].peer

ResultOf(p, i) ==
  IF p.edge[i].tainted
  THEN "UNKNOWN"
  ELSE EdgeResult(PeerEvidence(p, i), Evidence(p, i), X49(p))

(* This rank's edges reduced; with an epoch that changed they prove nothing.   *)
Local(p) ==
  IF {"doubtful", "stale"} \cap p.flags # {}
  THEN "UNKNOWN"
  ELSE Reduction({ResultOf(p, i) : i \in All(p)}, TRUE, X49(p))

(* No evidence is missing that can still arrive.                               *)
LocalFixed(p) ==
  \/ {"stale", "expired"} \cap p.flags # {}
  \/ \A i \in All(p) : PeerEvidence(p, i) # "none" /\ Evidence(p, i) # "none"

(* A wish and no doubt. In plain v2 an OPEN that nobody answered in time is    *)
(* doubt (KS-REG-14); with bit 49 the deadline only cancels (KS-QUI-14).       *)
Wishes(p) ==
  /\ Wish(p.cause)
  /\ p.cause # "request-deadline" \/ X49(p)

(* What a rank that wants the end can claim: NOT_STARTED where no source can   *)
(* have crossed its commit, and nothing here has begun (KS-SET-2).             *)
Uncommitted(p) ==
  CASE p.state = "IN_FLIGHT" /\ "processed" \in p.flags -> "DESTINATION_COMPLETE"
    [] p.state = "IN_FLIGHT" -> "UNKNOWN"
    [] ~Wishes(p) /\ p.cause # "peer-refusal" -> "UNKNOWN"
    [] \E i \in All(p) : p.edge[i].state \notin {"ABSENT", "OPEN_SENT", "EVIDENCE_NOT_STARTED"} -> "UNKNOWN"
    [] OTHER -> "NOT_STARTED"

Words(intent, evidence) == [intent |-> intent, evidence |-> evidence]

Nothing == Words("none", "none")

Ends(p) == IF Wishes(p) THEN "CANCEL" ELSE "REJECT"

Reduces(p) == Words("CANCEL", AsEvidence(Local(p), "DESTINATION_COMPLETE"))

(* What the rank would contribute now (KS-RND-7, KS-RND-9, KS-GEN-3).          *)
Says(p) ==
  LET wanted == "wanted" \in p.flags
  IN CASE p.state \in {"CONTEXT_IMPORTED", "ADMISSION_PREPARED", "ADMISSION_DECIDED"} /\ wanted -> Words(Ends(p), "NOT_STARTED")
       [] p.state = "ADMISSION_PREPARED" /\ "leased" \in p.flags -> Words("ADMIT", "none")
       [] p.state \in {"OPEN_PUBLISHING", "OPEN_SENT", "IN_FLIGHT"} /\ wanted -> Words(Ends(p), Uncommitted(p))
       [] p.state = "IN_FLIGHT" /\ "processed" \in p.flags -> Words("COMPLETE", "DESTINATION_COMPLETE")
       [] p.state = "OPEN_SENT" /\ "installed" \notin p.flags /\ Every(p, "READY_ACCEPTED") -> Words("ADMIT", "none")
       [] p.state = "SUCCESS_COMPLETE" /\ wanted -> Words("CANCEL", "DESTINATION_COMPLETE")
       [] p.state = "CANCEL_PENDING" /\ MayPublish(p) /\ "stale" \notin p.flags -> Nothing
       [] p.state = "CANCEL_PENDING" /\ LocalFixed(p) /\ Local(p) = "NOT_STARTED" -> Reduces(p)
       [] p.state = "CANCEL_PENDING" /\ {"stale", "expired"} \cap p.flags # {} -> Reduces(p)
       [] p.state = "REDUCING" /\ LocalFixed(p) -> Reduces(p)
       [] p.state = "CANCEL_SENT" /\ "stale" \in p.flags -> Words("CANCEL", "UNKNOWN")
       [] p.state = "UNINSTALLED_UNKNOWN" -> Words("REJECT", "UNKNOWN")
       [] p.state = "LOCAL_CANCELLED" -> Words(Ends(p), "NOT_STARTED")
       [] p.state = "TERMINAL_NOT_STARTED" -> Words("CANCEL", "NOT_STARTED")
       [] p.state = "TERMINAL_COMPLETED" -> Words("CANCEL", "DESTINATION_COMPLETE")
       [] p.state = "TERMINAL_QUIESCED" -> Words("CANCEL", "QUIESCED")
       [] p.state = "TERMINAL_UNKNOWN" -> Words("CANCEL", "UNKNOWN")
       [] OTHER -> Nothing

(* The rank has something to contribute that changes something.                *)
Pending(p) ==
  /\ "sealed" \notin p.flags
  /\ ~Terminal(p)
  /\ Says(p) # Nothing

(* An agreement on which the others may act binds this rank (KS-RND-10).       *)
Contribute(x) ==
  LET c == Says(x.p)
      y == IF c.intent \in {"ADMIT", "COMPLETE"}
           THEN With(x, "sealed")
           ELSE x
  IN IF c = Nothing
     THEN x
     ELSE Do(y, [kind |-> "Contribute", intent |-> c.intent, evidence |-> c.evidence, publication |-> x.p.pub])

-----------------------------------------------------------------------------
(* The ways to an end.                                                         *)

(* No peer was told of this attempt (KS-GEN-3).                                *)
LocalEnd(x, result) ==
  LET y == IF "queued" \in x.p.flags
           THEN Ask(Without(x, "queued"), "Withdraw")
           ELSE x
      z == Disarm([y EXCEPT !.p.state = "LOCAL_CANCELLED",
                            !.p.result = result], "admission-deadline")
  IN Arm(Settle(Free(z)), "retention")

(* What a decided end before the first OPEN is called.                         *)
LocalResult(p, v) ==
  LET cancel == v.decision = "END_NOT_STARTED" /\ Wish(p.cause) /\ "wanted" \in p.flags
  IN CASE p.cause = "admission-deadline" -> "failed"
       [] p.state = "ADMISSION_PREPARED" /\ ~cancel /\ ~Wish(p.cause) -> "rejected"
       [] p.state = "ADMISSION_PREPARED" /\ ~cancel -> "cancelled"
       [] OTHER -> "cancelled"

(* The clock of the terminal exchange starts.                                  *)
SettleWaits(x) ==
  Again(Arm(Disarm(Disarm(Without(x, "asking"), "request-deadline"), "soft-deadline"), "control-deadline"), TRUE)

CancelReady(x, i) ==
  IF x.p.edge[i].state = "READY_ACCEPTED"
  THEN SendCancel(Move(x, i, "CANCEL_SENT"), i)
  ELSE x

(* The decided cancel of an attempt that may have been published.              *)
Cancelled(x) ==
  LET y == SettleWaits(In(With(x, "settling"), "CANCEL_PENDING"))
  IN Progress(Proven(EachEdge(x.p.edges, y, CancelReady)))

(* REDUCING from anywhere but CANCEL_SENT.                                     *)
Reduce(x) ==
  LET y == With(Without(In(x, "REDUCING"), "wanted"), "settling")
  IN EachEdge(x.p.edges, SettleWaits(Disarm(y, "retention")), TellUntold)

(* No peer is proven to know of the attempt: silent, the slot isolated unless  *)
(* no address left this process (KS-GEN-4, KS-SLOT-18).                        *)
Uninstalled(x) ==
  LET y == Disarm(Disarm(Disarm(In(x, "UNINSTALLED_UNKNOWN"), "request-deadline"), "retry-first"), "soft-deadline")
  IN CASE "leased" \notin x.p.flags -> y
       [] Quiet(x.p) -> Free(y)
       [] OTHER -> Isolate(y)

(* Doubt in plain v2 before the data phase.                                    *)
DoubtEdge(x, i) ==
  IF x.p.edge[i].state \in {"OPEN_SENT", "READY_ACCEPTED"}
  THEN Move(x, i, "EVIDENCE_UNKNOWN")
  ELSE x

Mixed(x) ==
  LET y == EachEdge(x.p.edges, With(x, "settling"), DoubtEdge)
      z == Disarm(Disarm(Disarm(y, "request-deadline"), "soft-deadline"), "retry-first")
  IN IF AnyProven(x.p)
     THEN Reduce(y)
     ELSE Uninstalled(Arm(z, "control-deadline"))

(* Doubt in the data phase: nothing can be claimed (KS-SET-4).                 *)
DropEdge(x, i) == Move(SendCancel(x, i), i, "EVIDENCE_UNKNOWN")

PlainDoubt(x) == Reduce(EachEdge(x.p.edges, x, DropEdge))

(* With bit 49 the data phase is cancelled and drained (KS-QUI-10).            *)
DrainEdge(x, i) == SendCancel(Move(x, i, "CANCEL_SENT"), i)

Drain(x) == Progress(EachEdge(x.p.edges, SettleWaits(In(x, "CANCEL_SENT")), DrainEdge))

Unknown(x) == End(x, "TERMINAL_UNKNOWN", "UNKNOWN")

FinishEdge(x, i) == Move(x, i, "EVIDENCE_DESTINATION_COMPLETE")

(* The data is here and processed on every rank. A wish of this side ends with *)
(* its success; a peer's CANCEL is still answered (KS-GEN-7, KS-QUI-12).       *)
Success(x) ==
  LET done == [EachEdge(x.p.edges, x, FinishEdge) EXCEPT !.p.state = "SUCCESS_COMPLETE",
                                                         !.p.result = "completed"]
      freed == Free(Disarm(Disarm(Disarm(done, "request-deadline"), "soft-deadline"), "retry-first"))
      told == Do(freed, [kind |-> "Settle", disposition |-> "completed", cause |-> "none"])
      y == Arm(told, "retention")
  IN IF "wanted" \in x.p.flags /\ x.p.cause = "peer"
     THEN y
     ELSE Without([y EXCEPT !.p.cause = "none"], "wanted")

-----------------------------------------------------------------------------
(* What a verdict makes of the attempt (KS-RND-6, KS-GEN-1).                   *)

Ending(v) == v.decision \in {"REFUSE", "END_NOT_STARTED", "END_UNKNOWN", "END_DRAIN"}

(* A reason for a rank that had none of its own.                               *)
Blame(x, v) ==
  LET cause == CASE x.p.cause # "none" -> x.p.cause
                 [] v.row = "round-missing" -> "round"
                 [] v.cancelled -> "sibling"
                 [] OTHER -> "ranks"
  IN [x EXCEPT !.p.cause = cause]

(* Ranks that are missing or disagree leave nothing to rely on (KS-RND-12).    *)
Doubted(x, v) ==
  IF v.row \in {"round-missing", "round-conflict"}
  THEN With(x, "doubtful")
  ELSE x

LocalVerdict(x, v) == LocalEnd(x, LocalResult(x.p, v))

RoundBeforeAdmission(x, v, agreed) ==
  CASE Ending(v) -> LocalVerdict(Blame(x, v), v)
    [] v.decision # "GO_ON" -> x
    [] x.p.state = "ADMISSION_PREPARED" /\ agreed /\ v.genAttempt # 0 -> In(x, "ADMISSION_DECIDED")
    [] OTHER -> Refuse(x.p)

RoundAdmitted(x, v) ==
  LET y == In(With(Blame(x, v), "settling"), "CANCEL_PENDING")
  IN CASE v.decision = "ADOPT" -> Want(x, "sibling")
       [] v.decision = "GO_ON" -> Refuse(x.p)
       [] Ending(v) /\ v.allUnset -> LocalVerdict(Blame(x, v), v)
       [] Ending(v) -> Arm(Disarm(y, "admission-deadline"), "control-deadline")
       [] OTHER -> x

RoundDoubt(x, v) ==
  CASE "stale" \in x.p.flags /\ x.p.state = "OPEN_SENT" -> Unknown(With(x, "settling"))
    [] X49(x.p) \/ x.p.state = "OPEN_PUBLISHING" -> Cancelled(x)
    [] Wishes(x.p) \/ v.cancelled -> Cancelled(x)
    [] OTHER -> Mixed(x)

RoundOpen(x, v, agreed) ==
  LET y == Blame(x, v)
  IN CASE v.decision = "GO_ON" /\ (~agreed \/ x.p.state # "OPEN_SENT") -> Refuse(x.p)
       [] v.decision = "GO_ON" /\ ("installed" \in x.p.flags \/ ~Every(x.p, "READY_ACCEPTED")) -> Refuse(x.p)
       [] v.decision = "GO_ON" -> Ask(With(x, "installed"), "Install")
       [] v.decision = "ADOPT" -> Want(x, "sibling")
       [] v.decision = "END_NOT_STARTED" /\ v.allReject /\ Every(x.p, "EVIDENCE_NOT_STARTED") ->
            End(With(y, "settling"), "TERMINAL_NOT_STARTED", "NOT_STARTED")
       [] v.decision = "END_NOT_STARTED" -> Cancelled(y)
       [] Ending(v) -> RoundDoubt(Doubted(y, v), v)
       [] OTHER -> x

RoundData(x, v) ==
  LET y == With(Doubted(Blame(x, v), v), "settling")
  IN CASE v.decision = "COMMIT" /\ "processed" \notin x.p.flags -> Refuse(x.p)
       [] v.decision = "COMMIT" -> Success(x)
       [] Ending(v) /\ "stale" \in x.p.flags -> Unknown(y)
       [] Ending(v) /\ X49(x.p) -> Drain(y)
       [] Ending(v) -> PlainDoubt(y)
       [] OTHER -> x

-----------------------------------------------------------------------------
(* Waits.                                                                      *)

LateEdge(x, i) ==
  LET state == x.p.edge[i].state
  IN CASE state = "OPEN_SENT" -> Move(x, i, "EVIDENCE_UNKNOWN")
       [] state = "CANCEL_SENT" /\ ~X49(x.p) -> Tell(Move(x, i, "EVIDENCE_UNKNOWN"), i)
       [] OTHER -> x

(* The wait for evidence ends; the ranks reduce what there is (KS-GEN-9,       *)
(* KS-TIME-4).                                                                 *)
ControlDeadline(x) ==
  LET y == EachEdge(x.p.edges, With(x, "expired"), LateEdge)
      missing == \E i \in All(y.p) : Evidence(y.p, i) # "NOT_STARTED"
  IN CASE x.p.state = "CANCEL_SENT" -> HasEvidence(y)
       [] x.p.state = "CANCEL_PENDING" /\ missing /\ ~AnyProven(y.p) -> Uninstalled(y)
       [] x.p.state = "CANCEL_PENDING" /\ missing -> HasEvidence(In(y, "CANCEL_SENT"))
       [] OTHER -> y

ResendTerminal(x, i) ==
  LET e == x.p.edge[i]
      y == IF X49(x.p) /\ e.cancelled THEN SendCancel(x, i) ELSE x
  IN IF e.told /\ (~e.receipted \/ e.peer = "none")
     THEN Tell(y, i)
     ELSE y

ResendEdge(x, i) ==
  LET e == x.p.edge[i]
  IN CASE e.state = "OPEN_SENT" /\ x.p.state # "REDUCING" -> Send(x, "OPEN", i, "", TRUE)
       [] e.state = "CANCEL_SENT" -> SendCancel(x, i)
       [] x.p.state = "REDUCING" -> ResendTerminal(x, i)
       [] OTHER -> x

(* What waits for an answer is sent again, with growing pauses (KS-REG-13).    *)
Resend(x) ==
  LET expired == "expired" \in x.p.flags
  IN CASE x.p.state = "OPEN_PUBLISHING" -> Again(x, FALSE)
       [] x.p.state \in {"OPEN_SENT", "CANCEL_PENDING", "REDUCING"} /\ expired -> x
       [] x.p.state \in {"OPEN_SENT", "CANCEL_PENDING", "CANCEL_SENT", "REDUCING"} ->
            Again(EachEdge(x.p.edges, x, ResendEdge), FALSE)
       [] x.p.state = "IN_FLIGHT" /\ "soft" \in x.p.flags -> AskPeers(x)
       [] OTHER -> x

RetireEdge(x, i) ==
  IF x.p.edge[i].state = "ABSENT"
  THEN x
  ELSE Move(x, i, "RETIRED")

Retire(x) ==
  LET y == EachEdge(x.p.edges, In(x, "RETIRED"), RetireEdge)
  IN IF "isolated" \in x.p.flags
     THEN Ask(Without(y, "isolated"), "Abandon")
     ELSE y

(* A deadline proves nothing and decides nothing alone (KS-TIME-14).           *)
WaitEnds(x, wait) ==
  LET p == x.p
      published == p.state \in {"OPEN_PUBLISHING", "OPEN_SENT", "CANCEL_PENDING", "CANCEL_SENT", "IN_FLIGHT"}
  IN CASE wait = "admission-deadline" /\ p.state \in {"CONTEXT_IMPORTED", "ADMISSION_PREPARED", "ADMISSION_DECIDED"} ->
            Want(x, "admission-deadline")
       [] wait = "request-deadline" /\ Open(p) /\ published -> Want(x, "request-deadline")
       [] wait = "soft-deadline" /\ X48(p) /\ Open(p) /\ p.state = "IN_FLIGHT" -> AskPeers(With(x, "soft"))
       [] wait = "soft-deadline" /\ X48(p) /\ Open(p) /\ published -> With(x, "soft")
       [] wait = "control-deadline" /\ "settling" \in p.flags /\ ~Terminal(p) -> ControlDeadline(x)
       [] wait = "retry-first" -> Resend(x)
       [] wait = "retention" /\ p.state = "SUCCESS_COMPLETE" -> Retire(x)
       [] wait = "retention" /\ Terminal(p) -> Retire(x)
       [] OTHER -> x

-----------------------------------------------------------------------------
(* The disposition of all ranks.                                               *)

(* A disposition that a rank cannot have in plain v2 is UNKNOWN.               *)
Topology(x, v) == IF v.topology = "QUIESCED" /\ ~X49(x.p) THEN "UNKNOWN" ELSE v.topology

EndReduced(x, t) ==
  CASE t = "NOT_STARTED" -> End(x, "TERMINAL_NOT_STARTED", t)
    [] t = "COMPLETED" -> End(x, "TERMINAL_COMPLETED", t)
    [] t = "QUIESCED" -> End(x, "TERMINAL_QUIESCED", t)
    [] OTHER -> Unknown(x)

(* KS-SET-12: the same on every rank, whatever one of them has heard since     *)
(* (KS-REG-16).                                                                *)
ReducedTo(x, t) ==
  CASE "stale" \in x.p.flags /\ t = "UNKNOWN" -> Unknown(x)
    [] x.p.state = "UNINSTALLED_UNKNOWN" -> Unknown(x)
    [] x.p.state = "CANCEL_PENDING" /\ t = "UNKNOWN" /\ ~AnyProven(x.p) -> Unknown(Uninstalled(x))
    [] x.p.state = "CANCEL_SENT" -> EndReduced(ControlDeadline(x), t)
    [] OTHER -> EndReduced(x, t)

Round(p, v) ==
  LET x == Without(Begin(p), "sealed")
      agreed == "sealed" \in p.flags
      y == CASE "settling" \in p.flags /\ p.state # "SUCCESS_COMPLETE" /\ v.decision = "REDUCED" /\ ~Terminal(p) /\ p.state # "RETIRED" ->
                  ReducedTo(x, Topology(x, v))
             [] "settling" \in p.flags /\ p.state # "SUCCESS_COMPLETE" -> x
             [] p.state \in {"CONTEXT_IMPORTED", "ADMISSION_PREPARED"} -> RoundBeforeAdmission(x, v, agreed)
             [] p.state = "ADMISSION_DECIDED" -> RoundAdmitted(x, v)
             [] p.state \in {"OPEN_PUBLISHING", "OPEN_SENT"} -> RoundOpen(x, v, agreed)
             [] p.state = "IN_FLIGHT" -> RoundData(x, v)
             [] p.state = "UNINSTALLED_UNKNOWN" /\ Ending(v) -> Unknown(With(x, "settling"))
             [] p.state = "SUCCESS_COMPLETE" /\ v.decision = "KEEP_EVIDENCE" -> Reduce(x)
             [] p.state = "RETIRED" -> Refuse(p)
             [] OTHER -> x
  IN IF v.decision = "END_DRAIN" /\ ~X49(p)
     THEN Refuse(p)
     ELSE y

-----------------------------------------------------------------------------
(* The other inputs.                                                           *)

(* KS-SEL-20                                                                   *)
Validate(x, in) ==
  CASE x.p.state # "CONTEXT_IMPORTED" -> Refuse(x.p)
    [] x.p.edges # 0 -> Refuse(x.p)
    [] ~in.value -> LocalEnd([x EXCEPT !.p.cause = in.cause], "rejected")
    [] in.edges \notin DOMAIN x.p.edge \/ in.parts = 0 -> Refuse(x.p)
    [] OTHER -> Ask([x EXCEPT !.p.state = "ADMISSION_PREPARED",
                              !.p.edges = in.edges,
                              !.p.parts = in.parts,
                              !.p.flags = @ \cup in.caps \cup {"queued"}], "Lease")

(* A rank agrees to the admission with its lease in hand only, so that none    *)
(* can publish while a sibling waits for a slot (KS-GEN-13).                   *)
Granted(x, lease) ==
  IF "queued" \in x.p.flags
  THEN With(Without([x EXCEPT !.p.lease = lease], "queued"), "leased")
  ELSE Refuse(x.p)

Denied(x, cause) ==
  IF "queued" \in x.p.flags
  THEN Want(Without(x, "queued"), cause)
  ELSE Refuse(x.p)

SendOpen(x, i) == Send(Move(x, i, "OPEN_SENT"), "OPEN", i, "", FALSE)

(* Every edge counts as told before the first send: the call may be observed   *)
(* before it returns (KS-GEN-2).                                               *)
Publish(x) ==
  LET told == [x EXCEPT !.p.pub = "MAYBE_OBSERVABLE"]
      armed == Arm(Arm(Disarm(In(told, "OPEN_PUBLISHING"), "admission-deadline"), "request-deadline"), "retry-first")
      asks == IF X48(x.p) THEN Arm(armed, "soft-deadline") ELSE armed
      y == IF x.p.state = "CANCEL_PENDING" THEN Again(told, TRUE) ELSE asks
  IN IF MayPublish(x.p)
     THEN EachEdge(x.p.edges, Ask(y, "Advertise"), SendOpen)
     ELSE Refuse(x.p)

(* The fan-out is over. A call that failed leaves doubt who was told           *)
(* (KS-GEN-4).                                                                 *)
FanOutEnds(x) ==
  CASE x.p.state # "OPEN_PUBLISHING" -> x
    [] "failed" \in x.p.flags -> Uninstalled(With([x EXCEPT !.p.cause = "publish"], "wanted"))
    [] OTHER -> Answers(In(x, "OPEN_SENT"))

AllSent(x) ==
  CASE \E i \in All(x.p) : ~x.p.edge[i].sent -> x
    [] "failed" \in x.p.flags -> FanOutEnds(x)
    [] OTHER -> FanOutEnds([x EXCEPT !.p.pub = "ACKED"])

(* An OPEN of which definitely no byte left, and that was not heard all the    *)
(* same, told nobody (KS-SLOT-18).                                             *)
SendFailed(x, i, definitely) ==
  LET e == x.p.edge[i]
      y == With([x EXCEPT !.p.pub = "FAILED_INDETERMINATE"], "failed")
  IN IF definitely /\ e.state = "OPEN_SENT" /\ e.peer = "none" /\ e.got = {}
     THEN Move(y, i, "ABSENT")
     ELSE y

Sent(x, in) ==
  LET y == [x EXCEPT !.p.edge[in.edge].sent = TRUE]
  IN CASE in.edge \notin All(x.p) -> Refuse(x.p)
       [] x.p.pub = "UNSET" \/ x.p.edge[in.edge].sent -> Refuse(x.p)
       [] in.kind = "SendFailed" -> AllSent(SendFailed(y, in.edge, in.value))
       [] OTHER -> AllSent(y)

InstallEdge(x, i) == Move(x, i, "IN_FLIGHT")

(* Every rank has passed the installation barrier (KS-RND-10, KS-RND-11).      *)
Barrier(x) ==
  LET y == Arrived(EachEdge(x.p.edges, Ask(Disarm(In(x, "IN_FLIGHT"), "retry-first"), "Begin"), InstallEdge))
  IN CASE x.p.state # "OPEN_SENT" -> Refuse(x.p)
       [] "installed" \notin x.p.flags -> Refuse(x.p)
       [] "settling" \in x.p.flags -> Refuse(x.p)
       [] "soft" \in x.p.flags -> AskPeers(y)
       [] OTHER -> y

(* The local work on the whole bundle has ended, right or wrong (KS-SLOT-16).  *)
WorkOver(x, right) ==
  LET idle == Without(x, "busy")
      kept == IF /\ x.p.state = "IN_FLIGHT"
                 /\ "settling" \notin x.p.flags
                 /\ right
                 /\ x.p.cause # "verify"
              THEN With(idle, "processed")
              ELSE idle
      left == IF "owed" \in x.p.flags
              THEN LeaveNow(Without(kept, "owed"), "UNKNOWN")
              ELSE kept
  IN Progress(LateProof(left))

Processed(x, in) ==
  LET ready == [x EXCEPT !.p.ready = @ \cup {in.part}]
      y == IF ~in.value /\ Open(x.p) THEN Want(ready, "verify") ELSE ready
  IN CASE "busy" \notin x.p.flags -> Refuse(x.p)
       [] in.part >= x.p.parts \/ in.part \in x.p.ready -> Refuse(x.p)
       [] Open(x.p) /\ in.value /\ ~AllDone(x.p) -> Refuse(x.p)
       [] y.p.ready = 0..(x.p.parts - 1) -> WorkOver(y, in.value)
       [] OTHER -> y

Cancel(x, cause) ==
  CASE x.p.state = "RETIRED" -> Refuse(x.p)
    [] x.p.state = "SUCCESS_COMPLETE" \/ Over(x.p) -> x
    [] {"wanted", "settling"} \cap x.p.flags # {} -> x
    [] OTHER -> Want(x, cause)

(* A protocol violation or a connection fault; before the first OPEN nothing   *)
(* can be in doubt.                                                            *)
Doubts(x, cause) ==
  CASE x.p.state = "RETIRED" -> Refuse(x.p)
    [] Open(x.p) /\ x.p.pub = "UNSET" -> Want(x, cause)
    [] Open(x.p) -> Want(With(x, "doubtful"), cause)
    [] x.p.state \in {"REDUCING", "CANCEL_PENDING", "CANCEL_SENT"} -> With(x, "doubtful")
    [] OTHER -> x

(* The peer is another process now: nothing more can be proven by it           *)
(* (KS-ID-2, KS-SET-4).                                                        *)
EpochChanged(x) ==
  LET stale == IF x.p.pub = "UNSET" THEN x ELSE With(x, "stale")
      y == IF x.p.cause = "none" \/ Wish(x.p.cause) THEN Without(stale, "wanted") ELSE stale
  IN CASE x.p.state = "RETIRED" -> Refuse(x.p)
       [] Open(x.p) -> Want(y, "epoch")
       [] "settling" \in x.p.flags /\ ~Terminal(x.p) -> With(x, "stale")
       [] OTHER -> x

PeerQuiet(x, i) ==
  IF i \in All(x.p)
  THEN LateProof([x EXCEPT !.p.edge[i].quiet = TRUE])
  ELSE Refuse(x.p)

GenStep(p, in) ==
  LET x == Begin(p)
  IN CASE in.kind \in MessageKinds -> Message(p, in)
       [] in.kind = "Validate" -> Validate(x, in)
       [] in.kind = "Contribute" -> Contribute(x)
       [] in.kind = "Round" -> Round(p, in.verdict)
       [] in.kind = "Granted" -> Granted(x, in.binding)
       [] in.kind = "Denied" -> Denied(x, in.cause)
       [] in.kind = "Publish" -> Publish(x)
       [] in.kind \in {"Sent", "SendFailed"} -> Sent(x, in)
       [] in.kind = "Barrier" -> Barrier(x)
       [] in.kind = "Processed" -> Processed(x, in)
       [] in.kind = "Cancel" -> Cancel(x, in.cause)
       [] in.kind = "Doubt" -> Doubts(x, in.cause)
       [] in.kind = "Wait" -> WaitEnds(x, in.wait)
       [] in.kind = "EpochChanged" -> EpochChanged(x)
       [] in.kind = "PeerQuiet" -> PeerQuiet(x, in.edge)
       [] OTHER -> Refuse(p)
=============================================================================
