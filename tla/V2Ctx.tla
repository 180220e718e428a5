------------------------------- MODULE V2Ctx --------------------------------
(* One published ticket on one CTX rank in v2, with one edge to every GEN rank *)
(* (chapter 13, and 26 for bit 49). CtxStep takes an input and gives the       *)
(* parent afterwards and what it asks to be done, in order.                    *)
EXTENDS V2CtxEdge

-----------------------------------------------------------------------------
(* Rounds.                                                                     *)

(* A reason on a rank that had none of its own.                                *)
Blame(x, v) ==
  CASE x.p.cause # "none" -> x
    [] v.row = "round-missing" -> [x EXCEPT !.p.cause = "round"]
    [] v.cancelled -> [x EXCEPT !.p.cause = "sibling"]
    [] OTHER -> [x EXCEPT !.p.cause = "ranks"]

(* A ticket to which nothing was ever bound. Edges that asked get the answer;  *)
(* no child is left, so that the ticket can never be bound (KS-REG-19).        *)
Unbound(x, cause, state, t, evidence) ==
  LET Reply(y, i) == IF y.p.edge[i].state = "ABSENT" THEN y ELSE Answer(y, i, evidence)
      a == [x EXCEPT !.p.cause = IF @ = "none" THEN cause ELSE @,
                     !.eff = Append(@, Disarm("context-deadline"))]
      b == EachEdge(x.p.edges, a, Reply)
      c == [b EXCEPT !.p.edges = 0,
                     !.p.edge = [i \in DOMAIN @ |-> IF i \in Edges(x.p) THEN NoEdge ELSE @[i]]]
  IN End(c, state, t)

RoundPublished(x, v) ==
  LET bound == [x EXCEPT !.p.state = "BOUND",
                         !.eff = @ \o <<Disarm("context-deadline"), Arm("request-deadline", 0)>>]
  IN CASE v.decision = "GO_ON" ->
            CASE "opened" \notin x.p.flags -> Refused(x)
              [] "stale" \in x.p.flags -> Voided(bound)
              [] "wanted" \in x.p.flags -> Mark(bound)
              [] OTHER -> bound
       [] v.decision = "END_NOT_STARTED" -> Unbound(x, "sibling", "TERMINAL_NOT_STARTED", "NOT_STARTED", "NOT_STARTED")
       [] v.decision \in {"REFUSE", "END_UNKNOWN", "END_DRAIN"} /\ v.row # "round-missing" ->
            Unbound(x, "ranks", "TERMINAL_UNKNOWN", "UNKNOWN", "UNKNOWN")
       [] OTHER -> x

(* Every edge ends before its commit: proven, as NOT_STARTED (KS-SET-2).       *)
EndUncommitted(x, v, proven) ==
  LET EndEdge(y, i) ==
        CASE y.p.edge[i].state = "ABSENT" -> y
          [] proven -> Answer(Move(y, i, "EVIDENCE_NOT_STARTED"), i, "NOT_STARTED")
          [] OTHER -> Move(y, i, "EVIDENCE_UNKNOWN")
  IN EachEdge(x.p.edges, Blame(x, v), EndEdge)

Seal(x, i) == Add([x EXCEPT !.p.edge[i].sealing = TRUE], AtEdge("Seal", i))

(* At or past the commit: UNKNOWN in plain v2, with bit 49 sealed and drained  *)
(* (KS-QUI-3).                                                                 *)
EndCommitted(x, v) ==
  LET EndEdge(y, i) ==
        LET st == y.p.edge[i].state
        IN CASE st = "READY_DECIDED" /\ v.row # "round-missing" /\ X49(y.p) -> Seal(Move(y, i, "DRAINING"), i)
             [] st = "READY_DECIDED" -> Move(y, i, "EVIDENCE_UNKNOWN")
             [] st = "IN_FLIGHT" -> Seal(Move(y, i, IF X49(y.p) THEN "DRAINING" ELSE "EVIDENCE_UNKNOWN"), i)
             [] OTHER -> y
  IN EachEdge(x.p.edges, x, EndEdge)

RoundBound(x, v, agreed) ==
  LET before == "committed" \notin x.p.flags
      doubt == IF v.row \in {"round-missing", "round-conflict"} THEN Flag(x, "doubtful") ELSE x
      Install(y, i) == Move(y, i, "READY_DECIDED")
  IN CASE v.decision = "GO_ON" -> IF before /\ agreed /\ Every(x.p, "READY_PREPARED")
                                  THEN Add(EachEdge(x.p.edges, Flag(x, "committed"), Install), Only("Install"))
                                  ELSE Refused(x)
       [] v.decision = "ADOPT" -> Want(x, "sibling")
       [] v.decision = "WAIT" -> IF "wanted" \in x.p.flags THEN Mark(x) ELSE x
       [] v.decision = "COMMIT" -> IF before \/ ~Every(x.p, "EVIDENCE_SOURCE_COMPLETE") THEN Refused(x) ELSE Complete(x)
       [] v.decision = "END_NOT_STARTED" -> IF before THEN Reduce(EndUncommitted(x, v, TRUE)) ELSE Refused(x)
       [] v.decision \in {"END_UNKNOWN", "REFUSE"} ->
            Reduce(IF before THEN EndUncommitted(doubt, v, FALSE) ELSE EndCommitted(Blame(doubt, v), v))
       [] v.decision = "END_DRAIN" ->
            CASE ~X49(x.p) -> Refused(x)
              [] before -> Reduce(EndUncommitted(x, v, TRUE))
              [] OTHER -> Reduce(EndCommitted(Blame(x, v), v))
       [] OTHER -> x

Round(x, v) ==
  LET y == Unflag(x, "sealed")
  IN CASE x.p.state = "PUBLISHED" -> RoundPublished(y, v)
       [] x.p.state = "BOUND" -> RoundBound(y, v, "sealed" \in x.p.flags)
       [] x.p.state = "SUCCESS_COMPLETE" /\ v.decision = "KEEP_EVIDENCE" -> Reduce(y)
       [] x.p.state = "REDUCING" /\ v.decision = "REDUCED" -> ReducedTo(y, v.topology)
       [] x.p.state \in {"ABSENT", "RETIRED"} -> Refused(x)
       [] OTHER -> y

(* An agreement that the others may act on is remembered: a cancel waits for   *)
(* that round.                                                                 *)
Contribute(x) ==
  LET w == Says(x.p)
      y == Add(x, [kind |-> "Contribute", intent |-> w.intent, evidence |-> w.evidence])
  IN CASE w.intent = "none" -> x
       [] w.intent \in {"ADMIT", "COMPLETE"} -> Flag(y, "sealed")
       [] OTHER -> y

Prepare(x) ==
  IF x.p.state # "BOUND" \/ x.p.flags \cap {"committed", "wanted"} # {}
  THEN Refused(x)
  ELSE [x EXCEPT !.p.edge = [i \in DOMAIN @ |->
         IF i \in Edges(x.p) /\ @[i].state = "BOUND" THEN [@[i] EXCEPT !.state = "READY_PREPARED"] ELSE @[i]]]

(* READY is visible before the writes begin (KS-CTX-7, KS-RND-11).             *)
Barrier(x) ==
  LET Show(y, i) ==
        [y EXCEPT !.p.edge[i].state = "IN_FLIGHT",
                  !.p.edge[i].shown = TRUE,
                  !.eff = @ \o <<Send("READY", i, "", 0), AtEdge("Write", i)>>]
  IN IF x.p.state = "BOUND" /\ "committed" \in x.p.flags /\ \A i \in Edges(x.p) : x.p.edge[i].state = "READY_DECIDED"
     THEN EachEdge(x.p.edges, x, Show)
     ELSE Refused(x)

-----------------------------------------------------------------------------
(* Messages.                                                                   *)

(* Authority is never assumed: KS-REG-1.                                       *)
Stale(x, in) ==
  CASE in.kind = "Open" -> Answer(x, in.edge, "UNKNOWN")
    [] in.kind = "CancelMessage" /\ x.p.state = "ABSENT" -> Answer(x, in.edge, "UNKNOWN")
    [] in.kind = "Terminal" -> x
    [] in.kind = "Query" -> Status(x, in.edge, "UNKNOWN")
    [] OTHER -> Refused(x)

OpenPublished(x, in) ==
  LET i == in.edge
      caps == in.caps \cup (IF in.perChunk THEN {"perChunk"} ELSE {})
      first == [x EXCEPT !.p.edges = in.edges,
                         !.p.flags = @ \cup caps]
      y == IF x.p.edges = 0 THEN first ELSE x
      odd == [x EXCEPT !.p.edges = IF x.p.edges > in.edges THEN x.p.edges ELSE in.edges,
                       !.p.edge[i].state = "BOUND"]
  IN CASE ~(Authentic \subseteq in.match) -> Refused(x)
       [] in.edges = 0 \/ in.chunks = 0 \/ i > in.edges -> Refused(x)
       [] "attempt" \notin in.match /\ x.p.edges > 0 -> Answer(x, i, "UNKNOWN")
       [] ~({"digest", "selection"} \subseteq in.match) \/ (x.p.edges > 0 /\ in.edges # x.p.edges) -> Want(odd, "incompatible")
       [] OTHER -> [Flag(y, "opened") EXCEPT !.p.edge[i].state = "BOUND",
                                             !.p.edge[i].posts.chunks = in.chunks]

(* The first OPEN of an edge after its ticket was bound or ended (KS-QUI-16).  *)
OpenFirst(x, in) ==
  LET i == in.edge
      heard == [x EXCEPT !.p.edge[i].posts.chunks = in.chunks,
                         !.p.edge[i].state = "BOUND"]
      late == Answer(Move(x, i, "EVIDENCE_NOT_STARTED"), i, "NOT_STARTED")
  IN CASE in.chunks = 0 -> Refused(x)
       [] x.p.state = "BOUND" -> IF "wanted" \in x.p.flags /\ "committed" \notin x.p.flags THEN Mark(heard) ELSE heard
       [] x.p.state = "TERMINAL_NOT_STARTED" /\ x.p.edges = 0 -> Answer(x, i, "NOT_STARTED")
       [] OTHER -> IF X49(x.p) THEN Tell(late, i) ELSE late

(* What was said about an edge is said again.                                  *)
AnswerAgain(x, i) ==
  LET e == x.p.edge[i]
      y == CASE e.shown -> Add(x, Send("READY", i, "", 0))
             [] ~e.shown /\ e.state = "EVIDENCE_NOT_STARTED" -> Answer(x, i, "NOT_STARTED")
             [] OTHER -> x
  IN IF (x.p.state = "REDUCING" \/ x.p.state \in Ended) /\ e.told THEN Tell(y, i) ELSE y

KeepsMetadata(x) ==
  IF x.p.state \in Ended \/ x.p.state = "SUCCESS_COMPLETE" THEN Add(x, Arm("retention", 0)) ELSE x

(* One attempt binds a ticket; another one learns nothing (KS-REG-20).         *)
Open(x, in) ==
  LET i == in.edge
      y == KeepsMetadata(x)
  IN CASE x.p.state = "PUBLISHED" -> OpenPublished(x, in)
       [] ~(Authentic \subseteq in.match) -> Refused(x)
       [] x.p.edges > 0 /\ i > x.p.edges -> Refused(x)
       [] x.p.state = "TERMINAL_UNKNOWN" /\ x.p.edges = 0 /\ "attempt" \in in.match -> Answer(y, i, "UNKNOWN")
       [] "attempt" \notin in.match -> Answer(y, i, "UNKNOWN")
       [] in.match # Exact -> Refused(x)
       [] x.p.edge[i].state = "ABSENT" -> OpenFirst(y, in)
       [] OTHER -> AnswerAgain(y, i)

CancelMessage(x, i) ==
  CASE x.p.state = "BOUND" -> IF "wanted" \in x.p.flags THEN x ELSE Want(x, "peer")
    [] x.p.state = "SUCCESS_COMPLETE" -> Want(Tell(x, i), "peer")
    [] OTHER -> Tell(x, i)

(* GEN's evidence counts once; its bytes are acknowledged (KS-SET-9, KS-SET-11). *)
Terminal(x, in) ==
  LET i == in.edge
      e == x.p.edge[i]
      odd == in.evidence \in {"none", "SOURCE_COMPLETE"} \/ (in.evidence = "QUIESCED" /\ ~X49(x.p))
      peer == IF odd THEN "UNKNOWN" ELSE in.evidence
      y == Add([x EXCEPT !.p.edge[i].peer = IF @ = "none" THEN peer ELSE @], Send("RECEIPT", i, in.evidence, 0))
  IN CASE e.state = "ABSENT" -> Refused(x)
       [] x.p.state = "BOUND" -> IF in.evidence = "DESTINATION_COMPLETE" THEN y ELSE Want(y, "peer")
       [] OTHER -> IF e.told /\ e.receipted THEN y ELSE Tell(y, i)

(* A receipt only stops the re-sending (KS-SET-9).                             *)
Receipt(x, in) ==
  IF ~x.p.edge[in.edge].told \/ in.evidence # Evidence(x.p, in.edge)
  THEN Refused(x)
  ELSE [x EXCEPT !.p.edge[in.edge].receipted = TRUE]

(* KS-REC-6, KS-REC-13                                                         *)
Query(x, i) ==
  LET e == x.p.edge[i].state
      state == CASE e \in {"ABSENT", "BOUND", "READY_PREPARED", "CANCEL_PENDING", "EVIDENCE_NOT_STARTED"} -> "NOT_STARTED"
                 [] e = "EVIDENCE_SOURCE_COMPLETE" -> "SOURCE_COMPLETE"
                 [] e = "EVIDENCE_QUIESCED" -> "QUIESCED"
                 [] e = "EVIDENCE_UNKNOWN" -> "UNKNOWN"
                 [] OTHER -> "IN_PROGRESS"
  IN IF X48(x.p) THEN Status(x, i, state) ELSE Refused(x)

(* Only an exact match changes anything (KS-ID-17).                            *)
Message(x, in) ==
  LET y == KeepsMetadata(x)
  IN CASE x.p.state \in {"ABSENT", "RETIRED"} -> Stale(x, in)
       [] in.kind = "Open" -> Open(x, in)
       [] in.kind = "CancelMessage" /\ x.p.state = "PUBLISHED" ->
            IF Authentic \subseteq in.match THEN Answer(x, in.edge, "UNKNOWN") ELSE Refused(x)
       [] in.match # Exact -> Refused(x)
       [] in.edge > x.p.edges -> Refused(x)
       [] x.p.state = "PUBLISHED" /\ in.kind # "Query" -> Refused(x)
       [] in.kind = "CancelMessage" -> CancelMessage(y, in.edge)
       [] in.kind = "Terminal" -> Terminal(y, in)
       [] in.kind = "Receipt" -> Receipt(y, in)
       [] OTHER -> Query(y, in.edge)

-----------------------------------------------------------------------------
(* What else happens to a parent.                                              *)

(* The lease exists before the result is visible (KS-REG-2).                   *)
Publish(x, in) ==
  CASE x.p.state # "ABSENT" -> Refused(x)
    [] ~in.room -> x
    [] OTHER -> [Flag(x, "leased") EXCEPT !.p.state = "PUBLISHED",
                                          !.p.contract = in.contract,
                                          !.p.lease = in.binding,
                                          !.eff = @ \o <<Arm("context-deadline", 0), Only("Publish")>>]

Cancel(x, in) ==
  CASE x.p.state \in {"PUBLISHED", "BOUND"} -> IF "wanted" \in x.p.flags THEN x ELSE Want(x, in.cause)
    [] x.p.state \in {"ABSENT", "RETIRED"} -> Refused(x)
    [] OTHER -> x

Distrust(x, in) ==
  LET doubtful == in.kind = "Doubt" /\ x.p.state \in {"BOUND", "REDUCING"}
      y == IF doubtful THEN Flag(x, "doubtful") ELSE x
  IN CASE x.p.state \in {"PUBLISHED", "BOUND"} -> Want(y, in.cause)
       [] x.p.state \in {"ABSENT", "RETIRED"} -> Refused(x)
       [] OTHER -> y

(* A proposal dies with its epoch, the ticket does not (KS-REG-16).            *)
EpochChanged(x) ==
  CASE x.p.state = "PUBLISHED" /\ "sealed" \in x.p.flags -> Flag(x, "stale")
    [] x.p.state = "PUBLISHED" /\ "sealed" \notin x.p.flags ->
         [x EXCEPT !.p.edges = 0,
                   !.p.edge = [i \in DOMAIN @ |-> IF i \in Edges(x.p) THEN NoEdge ELSE @[i]],
                   !.p.flags = @ \ {"opened", "x48", "x49", "perChunk"}]
    [] x.p.state = "BOUND" -> Voided(x)
    [] x.p.state = "REDUCING" -> Flag(x, "stale")
    [] x.p.state \in {"ABSENT", "RETIRED"} -> Refused(x)
    [] OTHER -> x

(* KS-TIME-14; a wait that ended while its disarm was under way changes        *)
(* nothing.                                                                    *)
Waited(x, in) ==
  CASE in.wait = "context-deadline" /\ x.p.state = "PUBLISHED" -> Want(x, "context-deadline")
    [] in.wait = "request-deadline" /\ x.p.state = "BOUND" -> Want(x, "request-deadline")
    [] in.wait = "control-deadline" /\ x.p.state = "REDUCING" -> EachEdge(x.p.edges, Flag(x, "expired"), Drained)
    [] in.wait = "retry-first" /\ x.p.state = "REDUCING" -> Resend(x)
    [] in.wait = "retention" /\ (x.p.state = "SUCCESS_COMPLETE" \/ x.p.state \in Ended) -> Retire(x)
    [] OTHER -> x

Messages == {"Open", "CancelMessage", "Terminal", "Receipt", "Query"}
Writes == {"Posted", "Written", "WriteFailed", "Released", "Sealed"}

Apply(x, in) ==
  CASE in.kind \in Messages -> Message(x, in)
    [] in.kind \in Writes -> Progress(x, in)
    [] in.kind = "Publish" -> Publish(x, in)
    [] in.kind = "Contribute" -> Contribute(x)
    [] in.kind = "Round" -> Round(x, in.verdict)
    [] in.kind = "Prepare" -> Prepare(x)
    [] in.kind = "Barrier" -> Barrier(x)
    [] in.kind = "Cancel" -> Cancel(x, in)
    [] in.kind \in {"Reject", "Doubt"} -> Distrust(x, in)
    [] in.kind = "Wait" -> Waited(x, in)
    [] in.kind = "EpochChanged" -> EpochChanged(x)
    [] OTHER -> Refused(x)

(* A refused input changes nothing.                                            *)
CtxStep(p, in) ==
  LET x == TLCEval(Apply(Begin(p), in))
  IN IF x.ok THEN x ELSE [ok |-> FALSE, p |-> p, eff |-> <<>>]
=============================================================================
