----------------------------- MODULE V2GenEdge ------------------------------
(* One attempt on one GEN rank in v2 and its edges: what an edge knows, what   *)
(* proves the slot quiet, how an attempt ends, and what each message of CTX    *)
(* means (chapter 14; chapters 25 and 26 with bits 48 and 49).                 *)
(*                                                                             *)
(* The parent is a record: state, result, cause, edges and parts (how many;    *)
(* none before Validate), ready (parts processed), retries, pub (how far an    *)
(* OPEN may have got), contract (what every source promised), lease, edge (a   *)
(* sequence), and flags, a set of:                                             *)
(*   x48, x49    capability bit 48 or 49 is selected                           *)
(*   wanted      this rank wants the end                                       *)
(*   sealed      this rank's agreement is in a round that is not decided       *)
(*   installed   the round agreed to READY on every edge                       *)
(*   settling    the local ranks decided to end the attempt                    *)
(*   leased, isolated   the lease is owned, or in quarantine                   *)
(*   owed        the lease ends when the local work does                       *)
(*   busy        local work can touch the slot                                 *)
(*   processed   every part of the bundle is there                             *)
(*   doubtful    whatever the edges say, this rank's disposition is UNKNOWN    *)
(*   expired     control-deadline is over                                      *)
(*   soft        soft-deadline is over: ask                                    *)
(*   asking      the retry wait is armed for QUERY                             *)
(*   stale       the peer's epoch changed                                      *)
(*   failed      a send failed                                                 *)
(*   queued      the lease was asked for and not answered                      *)
(*                                                                             *)
(* An edge is a record: state, peer (the source's evidence), told and          *)
(* receipted (TERMINAL was sent, acknowledged), proven (the peer has the       *)
(* attempt), cancelled (CANCEL was sent), sent (the OPEN was accepted or has   *)
(* failed), tainted (the source contradicted itself), quiet (the contract      *)
(* counts the writer as ended), done (all data is here), count and got (the    *)
(* number of notices and which are here).                                      *)
(*                                                                             *)
(* x is a step under way, as Begin in V2Common makes it; i an edge.            *)
EXTENDS V2Common

NewEdge ==
  [state |-> "ABSENT", peer |-> "none", told |-> FALSE, receipted |-> FALSE, proven |-> FALSE, cancelled |-> FALSE,
   sent |-> FALSE, tainted |-> FALSE, quiet |-> FALSE, done |-> FALSE, count |-> 0, got |-> {}]

NewGen(n) ==
  [state |-> "CONTEXT_IMPORTED", result |-> "open", cause |-> "none", edges |-> 0, parts |-> 0, ready |-> {},
   retries |-> 0, pub |-> "UNSET", contract |-> {}, flags |-> {}, lease |-> NoLease,
   edge |-> [i \in 1..n |-> NewEdge]]

MaxRetries == 16

X48(p) == "x48" \in p.flags
X49(p) == "x49" \in p.flags

All(p) == 1..p.edges

(* No round changes the disposition any more.                                  *)
Terminal(p) ==
  p.state \in {"LOCAL_CANCELLED", "TERMINAL_NOT_STARTED", "TERMINAL_COMPLETED", "TERMINAL_QUIESCED", "TERMINAL_UNKNOWN"}

(* Under way, and not decided to end.                                          *)
Open(p) ==
  /\ p.state \in {"CONTEXT_IMPORTED", "ADMISSION_PREPARED", "ADMISSION_DECIDED", "OPEN_PUBLISHING", "OPEN_SENT",
                  "CANCEL_PENDING", "CANCEL_SENT", "IN_FLIGHT"}
  /\ "settling" \notin p.flags

(* Nothing is said or decided any more: KS-GEN-4, KS-GEN-8.                    *)
Over(p) ==
  \/ p.state = "UNINSTALLED_UNKNOWN"
  \/ Terminal(p)

Every(p, state) ==
  /\ p.edges > 0
  /\ \A i \in All(p) : p.edge[i].state = state

AnyProven(p) == \E i \in All(p) : p.edge[i].proven

AllDone(p) == \A i \in All(p) : p.edge[i].done

(* Evidence of this side that is fixed.                                        *)
Fixed == {"EVIDENCE_NOT_STARTED", "EVIDENCE_DESTINATION_COMPLETE", "EVIDENCE_QUIESCED", "EVIDENCE_UNKNOWN"}

(* This rank may send its OPENs. With bit 49 it still does when a sibling's    *)
(* attempt was cancelled before that: CTX answers only a complete topology     *)
(* (KS-QUI-18).                                                                *)
MayPublish(p) ==
  /\ "leased" \in p.flags
  /\ p.pub = "UNSET"
  /\ \/ /\ p.state = "ADMISSION_DECIDED"
        /\ {"wanted", "sealed"} \cap p.flags = {}
     \/ /\ p.state = "CANCEL_PENDING"
        /\ X49(p)
        /\ "expired" \notin p.flags

(* What this side claims for an edge. One that was never opened is NOT_STARTED *)
(* once its parent is being ended, unless it may still be opened.              *)
Evidence(p, i) ==
  CASE p.edge[i].state = "ABSENT" /\ "settling" \in p.flags /\ ~MayPublish(p) -> "NOT_STARTED"
    [] p.edge[i].state = "EVIDENCE_NOT_STARTED" -> "NOT_STARTED"
    [] p.edge[i].state = "EVIDENCE_DESTINATION_COMPLETE" -> "DESTINATION_COMPLETE"
    [] p.edge[i].state = "EVIDENCE_QUIESCED" -> "QUIESCED"
    [] p.edge[i].state = "EVIDENCE_UNKNOWN" -> "UNKNOWN"
    [] OTHER -> "none"

(* The source of the edge cannot write any more (KS-SLOT-4, KS-QUI-13).        *)
EdgeQuiet(p, i) ==
  LET e == p.edge[i]
  IN \/ e.state = "ABSENT"
     \/ e.quiet
     \/ ~e.tainted /\ e.done
     \/ ~e.tainted /\ Proves(e.peer, X49(p))

(* Every edge is quiet, and no local work touches the slot.                    *)
Quiet(p) ==
  /\ "busy" \notin p.flags
  /\ \A i \in All(p) : EdgeQuiet(p, i)

(* What proves it, if one proof covers every edge that was opened.             *)
ProofOf(p) ==
  LET opened == {i \in All(p) : p.edge[i].state # "ABSENT"}
      written == {i \in opened : p.edge[i].done /\ ~p.edge[i].tainted}
      refused == {i \in opened \ written : p.edge[i].peer = "NOT_STARTED" /\ ~p.edge[i].tainted}
      gone == {i \in opened \ (written \cup refused) : p.edge[i].quiet}
  IN CASE opened = {} -> "NeverAdvertised"
       [] refused = opened -> "NotStarted"
       [] written = opened -> "Written"
       [] gone = opened -> "WriterDead"
       [] written \cup refused \cup gone = {} -> "Quiesced"
       [] OTHER -> "Settled"

-----------------------------------------------------------------------------
(* Small steps.                                                                *)

Do(x, e) == [x EXCEPT !.eff = Append(@, e)]

Ask(x, kind) == Do(x, [kind |-> kind])

Arm(x, wait) == Do(x, [kind |-> "Arm", wait |-> wait, step |-> 0])

Disarm(x, wait) == Do(x, [kind |-> "Disarm", wait |-> wait])

Send(x, msg, i, says, again) ==
  Do(x, [kind |-> "Send", msg |-> msg, edge |-> i, says |-> says, again |-> again])

Settle(x) == Do(x, [kind |-> "Settle", disposition |-> x.p.result, cause |-> x.p.cause])

With(x, flag) == [x EXCEPT !.p.flags = @ \cup {flag}]

Without(x, flag) == [x EXCEPT !.p.flags = @ \ {flag}]

In(x, state) == [x EXCEPT !.p.state = state]

Move(x, i, state) == [x EXCEPT !.p.edge[i].state = state]

(* This rank wants the end, for its first reason. Only a round decides         *)
(* (KS-TIME-14, KS-TIME-15, KS-RND-9).                                         *)
Want(x, cause) ==
  CASE "wanted" \in x.p.flags -> x
    [] "settling" \in x.p.flags /\ x.p.state # "SUCCESS_COMPLETE" -> x
    [] OTHER -> With([x EXCEPT !.p.cause = cause], "wanted")

(* The source said two things that exclude each other; neither proves          *)
(* anything any more (KS-SET-4).                                               *)
Contradiction(x, i) ==
  LET y == [x EXCEPT !.p.edge[i].tainted = TRUE]
  IN IF Open(x.p)
     THEN Want(With(y, "doubtful"), "protocol")
     ELSE y

(* The pause before what waits for an answer is sent again (KS-REG-13).        *)
Again(x, first) ==
  LET n == CASE first -> 0
             [] x.p.retries < MaxRetries -> x.p.retries + 1
             [] OTHER -> x.p.retries
  IN Do([x EXCEPT !.p.retries = n], [kind |-> "Arm", wait |-> "retry-first", step |-> n])

(* TERMINAL with what is fixed, on proven edges only (KS-SEL-25).              *)
Tell(x, i) ==
  LET e == x.p.edge[i]
  IN IF \/ Evidence(x.p, i) = "none"
        \/ ~e.proven
        \/ x.p.state = "UNINSTALLED_UNKNOWN"
     THEN x
     ELSE Send([x EXCEPT !.p.edge[i].told = TRUE], "TERMINAL", i, Evidence(x.p, i), e.told)

TellUntold(x, i) == IF x.p.edge[i].told THEN x ELSE Tell(x, i)

(* CANCEL, on proven edges only, and not after the source's word.              *)
SendCancel(x, i) ==
  LET e == x.p.edge[i]
  IN IF e.proven /\ e.peer = "none"
     THEN Send([x EXCEPT !.p.edge[i].cancelled = TRUE], "CANCEL", i, "", e.cancelled)
     ELSE x

-----------------------------------------------------------------------------
(* Leases and the end.                                                         *)

(* The lease ends once, by its token (KS-SLOT-3).                              *)
Free(x) ==
  IF "leased" \in x.p.flags
  THEN Do(Without(x, "leased"), [kind |-> "Free", proof |-> ProofOf(x.p)])
  ELSE x

Isolate(x) == Ask(With(Without(x, "leased"), "isolated"), "Quarantine")

(* Late proof returns the slot and changes nothing else (KS-SLOT-6, KS-GEN-8). *)
LateProof(x) ==
  LET proof == IF ProofOf(x.p) = "NeverAdvertised" THEN "Settled" ELSE ProofOf(x.p)
  IN IF "isolated" \in x.p.flags /\ Quiet(x.p)
     THEN Do(Without(x, "isolated"), [kind |-> "Prove", proof |-> proof])
     ELSE x

(* KS-SET-10                                                                   *)
MayRestart(x, t) == IF Restarts(t, X49(x.p)) THEN Ask(x, "Restart") ELSE x

(* The slot goes as far as proof allows (KS-SET-6, KS-SET-7).                  *)
LeaveNow(x, t) ==
  CASE "leased" \in x.p.flags /\ Quiet(x.p) -> Free(x)
    [] "leased" \in x.p.flags -> MayRestart(Isolate(x), t)
    [] "isolated" \notin x.p.flags -> x
    [] Quiet(x.p) -> LateProof(x)
    [] OTHER -> MayRestart(x, t)

(* Not under the hands of local work (KS-SLOT-16).                             *)
Leave(x, t) ==
  IF {"busy", "leased"} \subseteq x.p.flags
  THEN With(x, "owed")
  ELSE LeaveNow(x, t)

(* One outcome, once (KS-V1-12).                                               *)
Report(x, t) ==
  LET result == Outcome(t, x.p.cause = "peer-refusal", Wish(x.p.cause))
  IN IF x.p.result = "open"
     THEN Settle([x EXCEPT !.p.result = result])
     ELSE x

(* The disposition is t, and final.                                            *)
End(x, state, t) ==
  LET quiet == Disarm(Disarm(Disarm(Disarm(In(x, state), "request-deadline"), "soft-deadline"), "control-deadline"), "retry-first")
  IN Arm(Report(Leave(quiet, t), t), "retention")

-----------------------------------------------------------------------------
(* The way through a cancel.                                                   *)

(* CANCEL_PENDING goes on once the peer is proven to have the attempt          *)
(* (KS-GEN-5, KS-GEN-6).                                                       *)
Proven(x) ==
  IF /\ x.p.state = "CANCEL_PENDING"
     /\ \E i \in All(x.p) : x.p.edge[i].proven /\ x.p.edge[i].state \in {"CANCEL_SENT", "EVIDENCE_UNKNOWN"}
  THEN In(x, "CANCEL_SENT")
  ELSE x

(* What the destination of a cancelled edge may say with bit 49 (KS-QUI-6).    *)
ClaimEdge(x, i) ==
  LET claim == DestinationClaim("busy" \in x.p.flags, x.p.edge[i].peer)
  IN CASE x.p.edge[i].state # "CANCEL_SENT" -> x
       [] claim = "NOT_STARTED" -> Tell(Move(x, i, "EVIDENCE_NOT_STARTED"), i)
       [] claim = "QUIESCED" -> Tell(Move(x, i, "EVIDENCE_QUIESCED"), i)
       [] OTHER -> x

Claim(x) ==
  IF X49(x.p) /\ x.p.state \in {"CANCEL_SENT", "REDUCING", "TERMINAL_UNKNOWN"}
  THEN EachEdge(x.p.edges, x, ClaimEdge)
  ELSE x

(* CANCEL_SENT ends with evidence on every edge, or at the deadline            *)
(* (KS-GEN-9).                                                                 *)
HasEvidence(x) ==
  IF \/ "expired" \in x.p.flags
     \/ \A i \in All(x.p) : Evidence(x.p, i) # "none"
  THEN EachEdge(x.p.edges, In(x, "REDUCING"), TellUntold)
  ELSE x

Progress(x) ==
  LET y == Claim(x)
  IN IF y.p.state = "CANCEL_SENT"
     THEN HasEvidence(y)
     ELSE y

(* Every edge has said something to its OPEN (KS-GEN-6).                       *)
Answers(x) ==
  LET states == {x.p.edge[i].state : i \in All(x.p)}
  IN CASE x.p.state # "OPEN_SENT" -> x
       [] {"wanted", "installed", "settling"} \cap x.p.flags # {} -> x
       [] "OPEN_SENT" \in states -> x
       [] states = {"READY_ACCEPTED"} -> x
       [] states = {"EVIDENCE_NOT_STARTED"} -> Want(x, "peer-refusal")
       [] OTHER -> Want(x, "mixture")

-----------------------------------------------------------------------------
(* Data.                                                                       *)

(* The local work starts once every edge is complete (KS-SLOT-16).             *)
Arrived(x) ==
  LET y == IF "asking" \in x.p.flags
           THEN Disarm(Without(x, "asking"), "retry-first")
           ELSE x
  IN IF /\ x.p.state = "IN_FLIGHT"
        /\ {"settling", "processed"} \cap x.p.flags = {}
        /\ AllDone(x.p)
     THEN Ask(With(y, "busy"), "Process")
     ELSE x

(* All data of the edge is here.                                               *)
Complete(x, i) ==
  LET y == IF x.p.edge[i].peer = "NOT_STARTED"
           THEN Contradiction(x, i)
           ELSE x
  IN IF x.p.edge[i].done
     THEN y
     ELSE LateProof(Arrived([y EXCEPT !.p.edge[i].done = TRUE]))

(* A notice is kept before READY too (KS-REC-10); all of an edge agree on      *)
(* their number (KS-REC-4).                                                    *)
Data(x, in) ==
  LET i == in.edge
      e == x.p.edge[i]
      y == [x EXCEPT !.p.edge[i].count = in.count,
                     !.p.edge[i].got = @ \cup {in.chunk}]
  IN CASE ~X48(x.p) -> Refuse(x.p)
       [] in.chunk >= in.count -> Refuse(x.p)
       [] e.count # 0 /\ e.count # in.count -> Contradiction(x, i)
       [] y.p.edge[i].got = 0..(in.count - 1) -> Complete(y, i)
       [] OTHER -> y

Sync(x, in) == IF X48(x.p) THEN Refuse(x.p) ELSE Complete(x, in.edge)

(* The answer to a QUERY is no evidence and frees nothing (KS-REC-5).          *)
Status(x, in) ==
  CASE ~X48(x.p) -> Refuse(x.p)
    [] ~x.p.edge[in.edge].proven -> Refuse(x.p)
    [] in.state = "SOURCE_COMPLETE" /\ Visible \in x.p.contract -> Complete(x, in.edge)
    [] in.state = "QUIESCED" /\ Open(x.p) -> Want(x, "peer")
    [] OTHER -> x

Query(x, i) ==
  IF x.p.edge[i].proven /\ ~x.p.edge[i].done
  THEN Send(x, "QUERY", i, "", FALSE)
  ELSE x

(* QUERY where the data is not complete, with growing pauses (KS-REC-5).       *)
AskPeers(x) ==
  LET first == "asking" \notin x.p.flags
  IN IF \E i \in All(x.p) : x.p.edge[i].proven /\ ~x.p.edge[i].done
     THEN With(Again(EachEdge(x.p.edges, x, Query), first), "asking")
     ELSE x

-----------------------------------------------------------------------------
(* READY and NOT_READY.                                                        *)

(* What every source promises. Before the first READY nobody has.              *)
Promised(x, contract) ==
  CASE ~X48(x.p) /\ ~X49(x.p) -> x
    [] AnyProven(x.p) -> [x EXCEPT !.p.contract = @ \cap contract]
    [] OTHER -> [x EXCEPT !.p.contract = contract]

(* KS-GEN-5: after the decision to end, READY is answered with CANCEL.         *)
ReadyEdge(x, i) ==
  LET y == [x EXCEPT !.p.edge[i].proven = TRUE]
  IN CASE Over(x.p) -> x
       [] "settling" \in x.p.flags -> Progress(Proven(SendCancel(Move(y, i, "CANCEL_SENT"), i)))
       [] OTHER -> Answers(Move(y, i, "READY_ACCEPTED"))

Ready(x, in) ==
  LET e == x.p.edge[in.edge]
  IN CASE e.state = "OPEN_SENT" -> ReadyEdge(Promised(x, in.contract), in.edge)
       [] e.state = "EVIDENCE_NOT_STARTED" /\ e.peer = "NOT_STARTED" -> Contradiction(x, in.edge)
       [] OTHER -> x

(* Edges that the source has, as far as this rank knows, committed.            *)
Commits(e) == e.state \in {"READY_ACCEPTED", "IN_FLIGHT", "CANCEL_SENT", "EVIDENCE_DESTINATION_COMPLETE"}

(* NOT_READY with NOT_STARTED is the source's evidence (KS-SET-2).             *)
Refusal(x, i) ==
  LET e == x.p.edge[i]
      y == [x EXCEPT !.p.edge[i].peer = "NOT_STARTED"]
  IN CASE Commits(e) \/ e.done \/ e.got # {} -> Contradiction(x, i)
       [] e.peer # "none" -> x
       [] e.state = "OPEN_SENT" /\ ~Over(x.p) -> Progress(Answers(Move(y, i, "EVIDENCE_NOT_STARTED")))
       [] OTHER -> LateProof(y)

(* NOT_READY with UNKNOWN, a miss of the registry, is none. It fills gaps only *)
(* (KS-QUI-8, KS-REG-7).                                                       *)
Miss(x, i) ==
  LET e == x.p.edge[i]
  IN CASE e.state = "OPEN_SENT" /\ ~Over(x.p) -> Progress(Answers(Move(x, i, "EVIDENCE_UNKNOWN")))
       [] Commits(e) /\ Open(x.p) /\ ~X49(x.p) -> Want(With(x, "doubtful"), "protocol")
       [] OTHER -> x

ReadyMessage(x, in) ==
  CASE in.decision = "READY" -> Ready(x, in)
    [] in.evidence = "NOT_STARTED" -> Refusal(x, in.edge)
    [] OTHER -> Miss(x, in.edge)

-----------------------------------------------------------------------------
(* CANCEL, TERMINAL and RECEIPT.                                               *)

(* A peer's CANCEL needs the local decision like any other wish (KS-SET-8);    *)
(* what is fixed is told at once (KS-GEN-7).                                   *)
CancelMessage(x, i) ==
  LET y == IF x.p.edge[i].state = "CANCEL_SENT" /\ ~X49(x.p)
           THEN Move(x, i, "EVIDENCE_UNKNOWN")
           ELSE x
  IN CASE x.p.state = "UNINSTALLED_UNKNOWN" -> x
       [] x.p.state = "SUCCESS_COMPLETE" -> Want(Tell(x, i), "peer")
       [] Terminal(x.p) -> Tell(x, i)
       [] "settling" \in x.p.flags -> Progress(Tell(y, i))
       [] OTHER -> Want(x, "peer")

(* KS-SET-11: what a source cannot say counts as UNKNOWN.                      *)
OfSource(p, evidence) ==
  IF \/ evidence \in {"none", "DESTINATION_COMPLETE"}
     \/ evidence = "QUIESCED" /\ ~X49(p)
  THEN "UNKNOWN"
  ELSE evidence

(* Evidence of the source that contradicts what it said or did.                *)
Contradicts(e, evidence) ==
  \/ evidence = "NOT_STARTED" /\ (e.done \/ e.state \in {"READY_ACCEPTED", "IN_FLIGHT"})
  \/ evidence \in {"SOURCE_COMPLETE", "QUIESCED"} /\ e.peer = "NOT_STARTED"

(* The source ended an edge before READY was heard here. KS-QUI-11             *)
TerminalForOpen(x, i, evidence) ==
  CASE evidence = "NOT_STARTED" -> Move(x, i, "EVIDENCE_NOT_STARTED")
    [] X49(x.p) /\ evidence # "UNKNOWN" -> Want(Move(x, i, "CANCEL_SENT"), "peer")
    [] OTHER -> Move(x, i, "EVIDENCE_UNKNOWN")

(* In the data phase it stands for lost notices where the contract says so     *)
(* (KS-REC-11), or ends the attempt.                                           *)
TerminalForData(x, i, evidence) ==
  CASE evidence = "SOURCE_COMPLETE" /\ X48(x.p) /\ "wanted" \notin x.p.flags /\ Visible \in x.p.contract -> Complete(x, i)
    [] evidence = "QUIESCED" -> Want(x, "peer")
    [] evidence = "UNKNOWN" -> Want(x, "peer-unknown")
    [] OTHER -> x

TerminalForEdge(x, i, evidence) ==
  LET state == x.p.edge[i].state
  IN CASE state = "OPEN_SENT" -> TerminalForOpen(x, i, evidence)
       [] state \in {"READY_ACCEPTED", "IN_FLIGHT"} -> TerminalForData(x, i, evidence)
       [] state = "CANCEL_SENT" /\ ~X49(x.p) -> Tell(Move(x, i, "EVIDENCE_UNKNOWN"), i)
       [] OTHER -> x

(* What is fixed is answered until it is acknowledged, after the decision.     *)
Answer(x, i) ==
  LET e == x.p.edge[i]
  IN IF /\ ~e.told \/ ~e.receipted
        /\ Over(x.p) \/ x.p.state \in {"REDUCING", "SUCCESS_COMPLETE"}
     THEN Tell(x, i)
     ELSE x

(* The source's first evidence counts (KS-QUI-7); every TERMINAL is            *)
(* acknowledged (KS-SET-9), but an uninstalled attempt is silent (KS-GEN-4).   *)
TerminalMessage(x, in) ==
  LET i == in.edge
      before == x.p.edge[i]
      evidence == OfSource(x.p, in.evidence)
      doubted == IF Contradicts(before, evidence) THEN Contradiction(x, i) ELSE x
      heard == IF before.peer = "none"
               THEN [doubted EXCEPT !.p.edge[i].peer = evidence]
               ELSE doubted
      proven == Send([heard EXCEPT !.p.edge[i].proven = TRUE], "RECEIPT", i, in.evidence, FALSE)
      taken == IF Over(x.p) THEN proven ELSE TerminalForEdge(proven, i, evidence)
      answered == IF before.state \in Fixed \/ Over(x.p) THEN Answer(taken, i) ELSE taken
  IN IF x.p.state = "UNINSTALLED_UNKNOWN"
     THEN LateProof(heard)
     ELSE Progress(Answers(LateProof(Proven(answered))))

(* A receipt stops the re-sending of TERMINAL and does nothing else            *)
(* (KS-SET-9).                                                                 *)
Receipt(x, in) ==
  IF x.p.edge[in.edge].told /\ in.evidence = Evidence(x.p, in.edge)
  THEN [x EXCEPT !.p.edge[in.edge].receipted = TRUE]
  ELSE Refuse(x.p)

MessageKinds == {"Ready", "CancelMessage", "Terminal", "Receipt", "Status", "Sync", "Data"}

Hears(x, in) ==
  CASE in.kind = "Ready" -> ReadyMessage(x, in)
    [] in.kind = "CancelMessage" -> CancelMessage(x, in.edge)
    [] in.kind = "Terminal" -> TerminalMessage(x, in)
    [] in.kind = "Receipt" -> Receipt(x, in)
    [] in.kind = "Status" -> Status(x, in)
    [] in.kind = "Sync" -> Sync(x, in)
    [] in.kind = "Data" -> Data(x, in)

(* Any message of the key keeps its metadata (KS-REG-8). An edge to which      *)
(* nothing was sent can have no answer.                                        *)
Message(p, in) ==
  CASE in.match # Exact -> Refuse(p)
    [] p.state = "RETIRED" /\ in.kind \in {"Ready", "CancelMessage", "Terminal"} -> Begin(p)
    [] p.state = "RETIRED" -> Refuse(p)
    [] in.edge \notin All(p) -> Refuse(p)
    [] p.pub = "UNSET" -> Refuse(p)
    [] p.edge[in.edge].state = "ABSENT" -> Refuse(p)
    [] p.state = "SUCCESS_COMPLETE" \/ Terminal(p) -> Hears(Arm(Begin(p), "retention"), in)
    [] OTHER -> Hears(Begin(p), in)
=============================================================================
