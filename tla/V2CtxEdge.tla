----------------------------- MODULE V2CtxEdge ------------------------------
(* What a CTX parent of v2 is and knows, the life of its writes, and how it    *)
(* ends; V2Ctx has its inputs.                                                 *)
(*                                                                             *)
(* A parent is a record: state, result and cause of the outcome, edges (how    *)
(* many there are; 0 before an OPEN was heard), retries, contract of the       *)
(* backend, flags, lease, and edge, the children. An edge is a record: state,  *)
(* peer (GEN's evidence), shown (READY was shown), sealing and sealed (no post *)
(* follows), told (TERMINAL was sent), receipted, and posts, the count of its  *)
(* writes. Flags: x48 and x49 (selected bits), perChunk, opened (an OPEN waits *)
(* for its round), wanted (this rank wants the end), sealed (its agreement is  *)
(* in a round), committed (READY was decided), leased, isolated (the lease is  *)
(* in quarantine), doubtful, expired (control-deadline), reduced, stale (the   *)
(* peer's epoch changed).                                                      *)
(*                                                                             *)
(* A step is a record x of ok (FALSE: the input is refused and changes         *)
(* nothing), p and eff. Effects that only counters, logs and caches see are    *)
(* left out.                                                                   *)
EXTENDS V2Common, TLC

MaxRetries == 16

NoPosts == [chunks |-> 0, made |-> 0, done |-> 0, failed |-> 0, released |-> 0]

NoEdge ==
  [state |-> "ABSENT", peer |-> "none", shown |-> FALSE, sealing |-> FALSE, sealed |-> FALSE,
   told |-> FALSE, receipted |-> FALSE, posts |-> NoPosts]

NewCtx(n) ==
  [state |-> "ABSENT", result |-> "open", cause |-> "none", edges |-> 0, retries |-> 0, contract |-> {},
   flags |-> {}, lease |-> NoLease, edge |-> [i \in 1..n |-> NoEdge]]

NoCtxIn ==
  [kind |-> "none", edge |-> 0, edges |-> 0, match |-> Exact, evidence |-> "none", cause |-> "none", wait |-> "none",
   contract |-> {}, room |-> FALSE, again |-> FALSE, perChunk |-> FALSE, chunks |-> 0, chunk |-> 0, count |-> 0,
   caps |-> {}, verdict |-> NoVerdict, binding |-> NoLease]

Authentic == {"request", "ticket", "epochs", "ranks"}

Ended == {"TERMINAL_NOT_STARTED", "TERMINAL_COMPLETED", "TERMINAL_UNKNOWN", "TERMINAL_QUIESCED"}

-----------------------------------------------------------------------------
(* What a parent knows.                                                        *)

PostsComplete(posts) == posts.chunks > 0 /\ posts.done >= posts.chunks
X48(p) == "x48" \in p.flags
X49(p) == "x49" \in p.flags
Quietly(p) == ErrorQuiet \in p.contract
Edges(p) == 1..p.edges

Every(p, state) ==
  /\ p.edges > 0
  /\ \A i \in Edges(p) : p.edge[i].state = state

(* What this side claims for an edge. One whose OPEN was never heard is        *)
(* NOT_STARTED once its parent has ended (KS-SET-2).                           *)
Evidence(p, i) ==
  LET e == p.edge[i].state
  IN CASE e = "ABSENT" -> IF p.state = "REDUCING" \/ p.state \in Ended THEN "NOT_STARTED" ELSE "none"
       [] e = "EVIDENCE_NOT_STARTED" -> "NOT_STARTED"
       [] e = "EVIDENCE_SOURCE_COMPLETE" -> "SOURCE_COMPLETE"
       [] e = "EVIDENCE_QUIESCED" -> "QUIESCED"
       [] e = "EVIDENCE_UNKNOWN" -> "UNKNOWN"
       [] OTHER -> "none"

(* No post touches the source slot any more, and none can follow (KS-SLOT-4).  *)
Quiet(p) ==
  \A i \in Edges(p) :
    LET e == p.edge[i]
    IN /\ PostsQuiet(e.posts, Quietly(p))
       /\ ~e.shown \/ e.sealed \/ PostsComplete(e.posts)

Phase(p) ==
  CASE p.state \in {"ABSENT", "PUBLISHED"} -> "Admission"
    [] p.state = "BOUND" /\ "committed" \notin p.flags -> "Ready"
    [] p.state \in {"BOUND", "SUCCESS_COMPLETE"} -> "Data"
    [] OTHER -> "Settling"

Committed(p) == p.state = "SUCCESS_COMPLETE"

(* The reduction of this rank's edges (KS-SET-5); fixed while no evidence is   *)
(* missing that can still arrive. Where all writes are complete, GEN's         *)
(* evidence can change nothing about this side's memory (KS-QUI-12).           *)
Local(p) ==
  LET fixed == \A i \in Edges(p) : Evidence(p, i) # "none" /\ p.edge[i].peer # "none"
      alone == \A i \in Edges(p) : Evidence(p, i) = "SOURCE_COMPLETE"
      results == {EdgeResult(Evidence(p, i), p.edge[i].peer, X49(p)) : i \in Edges(p)}
  IN CASE "stale" \in p.flags -> [t |-> "UNKNOWN", fixed |-> TRUE]
       [] "doubtful" \in p.flags -> [t |-> "UNKNOWN", fixed |-> fixed \/ "expired" \in p.flags]
       [] alone /\ X49(p) /\ ~fixed -> [t |-> "COMPLETED", fixed |-> TRUE]
       [] OTHER -> [t |-> Reduction(results, TRUE, X49(p)), fixed |-> fixed \/ "expired" \in p.flags]

Word(intent, evidence) == [intent |-> intent, evidence |-> evidence]
Nothing == Word("none", "none")

(* What the rank would say in a round (KS-RND-6).                              *)
Says(p) ==
  LET end == IF Wish(p.cause) THEN "CANCEL" ELSE "REJECT"
      wanted == "wanted" \in p.flags
      committed == "committed" \in p.flags
      complete == Every(p, "EVIDENCE_SOURCE_COMPLETE")
      local == Local(p)
  IN CASE p.state = "PUBLISHED" ->
            CASE wanted /\ end = "CANCEL" -> Word(end, "NOT_STARTED")
              [] wanted /\ end = "REJECT" -> Word(end, "UNKNOWN")
              [] ~wanted /\ "opened" \in p.flags -> Word("ADMIT", "none")
              [] OTHER -> Nothing
       [] p.state = "BOUND" ->
            CASE wanted /\ ~committed -> Word(end, "NOT_STARTED")
              [] wanted /\ committed -> Word(end, IF complete THEN "SOURCE_COMPLETE" ELSE "UNKNOWN")
              [] ~wanted /\ ~committed /\ Every(p, "READY_PREPARED") -> Word("ADMIT", "NOT_STARTED")
              [] ~wanted /\ complete -> Word("COMPLETE", "SOURCE_COMPLETE")
              [] OTHER -> Nothing
       [] p.state = "SUCCESS_COMPLETE" /\ wanted -> Word("CANCEL", "SOURCE_COMPLETE")
       [] p.state = "REDUCING" -> IF local.fixed THEN Word("CANCEL", AsEvidence(local.t, "SOURCE_COMPLETE")) ELSE Nothing
       [] p.state = "TERMINAL_NOT_STARTED" -> Word("CANCEL", "NOT_STARTED")
       [] p.state = "TERMINAL_COMPLETED" -> Word("CANCEL", "SOURCE_COMPLETE")
       [] p.state = "TERMINAL_QUIESCED" -> Word("CANCEL", "QUIESCED")
       [] p.state = "TERMINAL_UNKNOWN" -> Word("CANCEL", "UNKNOWN")
       [] OTHER -> Nothing

(* Something to say that changes something.                                    *)
Pending(p) ==
  /\ "sealed" \notin p.flags
  /\ p.state \notin Ended
  /\ Says(p).intent # "none"

-----------------------------------------------------------------------------
(* Small steps.                                                                *)

Only(kind) == [kind |-> kind]
Arm(wait, step) == [kind |-> "Arm", wait |-> wait, step |-> step]
Disarm(wait) == [kind |-> "Disarm", wait |-> wait]
Free(proof) == [kind |-> "Free", proof |-> proof]
Prove(proof) == [kind |-> "Prove", proof |-> proof]
Settle(result, cause) == [kind |-> "Settle", disposition |-> result, cause |-> cause]
Send(msg, i, says, chunk) == [kind |-> "Send", msg |-> msg, edge |-> i, says |-> says, chunk |-> chunk]
AtEdge(kind, i) == [kind |-> kind, edge |-> i]

Refused(x) == [x EXCEPT !.ok = FALSE]
Add(x, e) == [x EXCEPT !.eff = Append(@, e)]
Flag(x, f) == [x EXCEPT !.p.flags = @ \cup {f}]
Unflag(x, f) == [x EXCEPT !.p.flags = @ \ {f}]
Move(x, i, state) == [x EXCEPT !.p.edge[i].state = state]

Answer(x, i, evidence) == Add(x, Send("NOT_READY", i, evidence, 0))
Status(x, i, state) == Add(x, Send("STATUS", i, state, 0))

(* TERMINAL with what is fixed; evidence is final (KS-QUI-7).                  *)
Tell(x, i) ==
  LET v == Evidence(x.p, i)
  IN IF v = "none" \/ x.p.edge[i].state = "ABSENT"
     THEN x
     ELSE [Add(x, Send("TERMINAL", i, v, 0)) EXCEPT !.p.edge[i].told = TRUE]

(* Every edge before its commit is marked (KS-RND-9).                          *)
Mark(x) ==
  IF x.p.state # "BOUND" \/ "committed" \in x.p.flags
  THEN x
  ELSE [x EXCEPT !.p.edge = [i \in DOMAIN @ |->
         IF i \in Edges(x.p) /\ @[i].state \in {"BOUND", "READY_PREPARED"}
         THEN [@[i] EXCEPT !.state = "CANCEL_PENDING"]
         ELSE @[i]]]

(* The wish is recorded; only a round decides (KS-TIME-14, KS-TIME-15). An     *)
(* agreement that is in a round is not taken back one-sidedly.                 *)
Want(x, cause) ==
  LET y == IF "wanted" \in x.p.flags THEN x ELSE [Flag(x, "wanted") EXCEPT !.p.cause = cause]
  IN IF "sealed" \in x.p.flags THEN y ELSE Mark(y)

Voided(x) ==
  LET y == Flag(x, "stale")
  IN Want(IF Wish(x.p.cause) \/ x.p.cause = "none" THEN Unflag(y, "wanted") ELSE y, "epoch")

(* The lease ends once, by its token (KS-SLOT-3).                              *)
FreeLease(x) ==
  IF "leased" \notin x.p.flags
  THEN x
  ELSE Add(Unflag(x, "leased"),
           Free(IF \E i \in Edges(x.p) : x.p.edge[i].posts.made > 0 THEN "OwnWritesFinal" ELSE "NotStarted"))

(* The source lease goes as far as the writes themselves prove (KS-SET-6); one *)
(* that nothing proves restarts the process in plain v2 (KS-SET-10).           *)
Leave(x, t) ==
  LET y == Add(Flag(Unflag(x, "leased"), "isolated"), Only("Quarantine"))
  IN CASE "leased" \notin x.p.flags -> x
       [] Quiet(x.p) -> FreeLease(x)
       [] Restarts(t, X49(x.p)) -> Add(y, Only("Restart"))
       [] OTHER -> y

(* One outcome, once (KS-V1-12).                                               *)
Settled(x, t) ==
  LET late == x.p.cause = "context-deadline" /\ t = "NOT_STARTED"
      result == IF late THEN "failed" ELSE Outcome(t, x.p.cause = "peer-refusal", Wish(x.p.cause))
  IN IF x.p.result # "open"
     THEN x
     ELSE Add([x EXCEPT !.p.result = result], Settle(result, x.p.cause))

End(x, state, t) ==
  LET a == [x EXCEPT !.p.state = state,
                     !.eff = @ \o <<Disarm("request-deadline"), Disarm("control-deadline"), Disarm("retry-first")>>]
  IN Add(Settled(Leave(a, t), t), Arm("retention", 0))

-----------------------------------------------------------------------------
(* Writes, as the backend reports them. They count also after the end: a late  *)
(* write stays on watch (KS-BACK-5).                                           *)

Notify(x, i) ==
  CASE ~X48(x.p) -> Add(x, AtEdge("Sync", i))
    [] X48(x.p) /\ "perChunk" \notin x.p.flags -> Add(x, Send("DATA_COMPLETE", i, "", 0))
    [] OTHER -> x

(* A sealed edge has its evidence once its claim is fixed (KS-QUI-4).          *)
Drained(x, i) ==
  LET p == x.p
      claim == SourceClaim(p.edge[i].posts, TRUE, p.edge[i].sealed, X49(p) /\ MayQuiesce(p.contract), Quietly(p), "expired" \in p.flags)
      to == CASE claim = "SOURCE_COMPLETE" -> "EVIDENCE_SOURCE_COMPLETE"
              [] claim = "QUIESCED" -> "EVIDENCE_QUIESCED"
              [] OTHER -> "EVIDENCE_UNKNOWN"
  IN IF p.edge[i].state # "DRAINING" \/ claim = "none"
     THEN x
     ELSE Tell(Move(x, i, to), i)

Posted(x, in) ==
  LET e == x.p.edge[in.edge]
      held == e.posts.made - (IF Quietly(x.p) THEN e.posts.failed ELSE 0)
  IN IF e.sealed \/ ~e.shown \/ in.count = 0 \/ held + in.count > e.posts.chunks
     THEN Refused(x)
     ELSE [x EXCEPT !.p.edge[in.edge].posts.made = @ + in.count]

PostEnds(x, in) ==
  LET i == in.edge
      posts == x.p.edge[i].posts
      running == posts.made - posts.done - posts.failed - posts.released
      y == IF in.again THEN [x EXCEPT !.p.edge[i].posts.released = @ - 1] ELSE x
      done == [y EXCEPT !.p.edge[i].posts.done = @ + 1]
      failed == [y EXCEPT !.p.edge[i].posts.failed = @ + 1]
      released == [y EXCEPT !.p.edge[i].posts.released = @ + 1]
  IN CASE in.again /\ (posts.released = 0 \/ in.kind = "Released") -> Refused(x)
       [] ~in.again /\ running = 0 -> Refused(x)
       [] in.kind = "Written" -> IF {"x48", "perChunk"} \subseteq x.p.flags
                                 THEN Add(done, Send("DATA_COMPLETE", i, "", in.chunk))
                                 ELSE done
       [] in.kind = "WriteFailed" -> IF x.p.state = "BOUND" /\ (in.count = 0 \/ ~Quietly(x.p))
                                     THEN Want(failed, "write")
                                     ELSE failed
       [] OTHER -> IF x.p.state = "BOUND" THEN Want(released, "write") ELSE released

Seals(x, in) ==
  IF ~x.p.edge[in.edge].sealing \/ x.p.edge[in.edge].sealed
  THEN Refused(x)
  ELSE [x EXCEPT !.p.edge[in.edge].sealed = TRUE]

Advance(x, in) ==
  LET i == in.edge
      e == x.p.edge[i]
  IN CASE e.state = "IN_FLIGHT" /\ PostsComplete(e.posts) -> Notify(Move(x, i, "EVIDENCE_SOURCE_COMPLETE"), i)
       [] e.state = "DRAINING" -> Drained(x, i)
       [] e.state = "EVIDENCE_UNKNOWN" /\ in.kind = "Written" /\ PostsComplete(e.posts) -> Notify(x, i)
       [] OTHER -> x

(* The last post of an isolated lease became final: KS-SLOT-6.                 *)
LateProof(x) ==
  IF "isolated" \in x.p.flags /\ Quiet(x.p)
  THEN Add(Unflag(x, "isolated"), Prove("OwnWritesFinal"))
  ELSE x

Progress(x, in) ==
  LET e == x.p.edge[in.edge]
      y == CASE in.kind = "Posted" -> Posted(x, in)
             [] in.kind = "Sealed" -> Seals(x, in)
             [] OTHER -> PostEnds(x, in)
  IN CASE in.edge > x.p.edges -> Refused(x)
       [] ~e.shown /\ ~e.sealing -> Refused(x)
       [] ~y.ok -> y
       [] OTHER -> LateProof(Advance(y, in))

-----------------------------------------------------------------------------
(* The end of an attempt.                                                      *)

(* What is fixed is published, then repeated (KS-SET-9).                       *)
Reduce(x) ==
  LET Publish(y, i) ==
        CASE y.p.edge[i].state = "DRAINING" -> Drained(y, i)
          [] y.p.edge[i].told -> y
          [] OTHER -> Tell(y, i)
      a == [Unflag(x, "wanted") EXCEPT
             !.p.state = "REDUCING",
             !.p.retries = 0,
             !.eff = @ \o <<Disarm("request-deadline"), Disarm("retention"), Arm("control-deadline", 0), Arm("retry-first", 0)>>]
  IN EachEdge(x.p.edges, a, Publish)

(* The disposition of all ranks holds on each of them, whatever one has heard  *)
(* since (KS-SET-5, KS-SET-7, KS-REG-16).                                      *)
ReducedTo(x, topology) ==
  LET t == IF topology = "QUIESCED" /\ ~X49(x.p) THEN "UNKNOWN" ELSE topology
      to == CASE t = "NOT_STARTED" -> "TERMINAL_NOT_STARTED"
              [] t = "COMPLETED" -> "TERMINAL_COMPLETED"
              [] t = "QUIESCED" -> "TERMINAL_QUIESCED"
              [] OTHER -> "TERMINAL_UNKNOWN"
  IN End(x, to, t)

(* TERMINAL again where it may have been lost, or where GEN's own evidence is  *)
(* missing, with growing pauses (KS-REG-13).                                   *)
Resend(x) ==
  LET Repeat(y, i) == IF y.p.edge[i].told /\ (~y.p.edge[i].receipted \/ y.p.edge[i].peer = "none") THEN Tell(y, i) ELSE y
      a == EachEdge(x.p.edges, x, Repeat)
      n == IF a.p.retries < MaxRetries THEN a.p.retries + 1 ELSE a.p.retries
  IN IF "expired" \in x.p.flags
     THEN x
     ELSE Add([a EXCEPT !.p.retries = n], Arm("retry-first", n))

Complete(x) ==
  LET a == [x EXCEPT !.p.state = "SUCCESS_COMPLETE",
                     !.p.result = "completed",
                     !.eff = Append(@, Disarm("request-deadline"))]
      b == [FreeLease(a) EXCEPT !.eff = @ \o <<Settle("completed", "none"), Arm("retention", 0)>>]
      c == IF "wanted" \in b.p.flags /\ b.p.cause # "peer" THEN Unflag(b, "wanted") ELSE b
  IN IF "wanted" \in c.p.flags THEN c ELSE [c EXCEPT !.p.cause = "none"]

Retire(x) ==
  IF "isolated" \in x.p.flags \/ ~Quiet(x.p)
  THEN Refused(x)
  ELSE [x EXCEPT !.p.state = "RETIRED",
                 !.p.edge = [i \in DOMAIN @ |->
                   IF i \in Edges(x.p) /\ @[i].state # "ABSENT" THEN [@[i] EXCEPT !.state = "RETIRED"] ELSE @[i]]]

=============================================================================
