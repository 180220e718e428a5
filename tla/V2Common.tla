------------------------------ MODULE V2Common ------------------------------
(* What both endpoints of v2 share: evidence and its reduction (chapter 16),   *)
(* the claims of bit 49 (chapter 26), and the decision of a round among the    *)
(* local ranks of one service (chapter 15).                                    *)
(*                                                                             *)
(* A CASE is read from above: the first line that fits counts.                 *)
(*                                                                             *)
(* Evidence is what one end of an edge claims: none, NOT_STARTED,              *)
(* SOURCE_COMPLETE, DESTINATION_COMPLETE, UNKNOWN, and QUIESCED with bit 49.   *)
(* What both ends together say, about an edge or about all of them, is         *)
(* UNKNOWN, NOT_STARTED, COMPLETED or QUIESCED. x49: bit 49 is selected.       *)
EXTENDS Naturals, Sequences, FiniteSets

(* The bits of a backend's contract (KS-BACK-1).                               *)
Visible == 0
NoticeFollows == 1
SuccessQuiet == 2
ErrorQuiet == 3
ReleaseDrains == 4

(* What of a message's key can fit the attempt it reached. Only an exact fit   *)
(* may change anything (KS-ID-17).                                             *)
Exact == {"request", "ticket", "attempt", "epochs", "ranks", "digest", "selection"}

NoLease == [slot |-> 0, gen |-> 0, token |-> 0]

(* A step of an endpoint under way: its record p, and what it asks to be done. *)
Begin(p) == [ok |-> TRUE, p |-> p, eff |-> <<>>]

Refuse(p) == [ok |-> FALSE, p |-> p, eff |-> <<>>]

(* Op for the edges 1..n of a step, one after the other.                       *)
EachEdge(n, x, Op(_, _)) ==
  LET upTo[i \in 0..n] == IF i = 0 THEN x ELSE Op(upTo[i - 1], i)
  IN upTo[n]

-----------------------------------------------------------------------------
(* Evidence.                                                                   *)

(* KS-SET-5; with bit 49 KS-QUI-9                                              *)
EdgeResult(source, destination, x49) ==
  CASE source = "NOT_STARTED" /\ destination = "NOT_STARTED" -> "NOT_STARTED"
    [] source = "SOURCE_COMPLETE" /\ destination = "DESTINATION_COMPLETE" -> "COMPLETED"
    [] /\ x49
       /\ source \in {"NOT_STARTED", "SOURCE_COMPLETE", "QUIESCED"}
       /\ destination \in {"NOT_STARTED", "QUIESCED"} -> "QUIESCED"
    [] OTHER -> "UNKNOWN"

(* The disposition of a set of results. agree: every local rank took part and  *)
(* sees the same (KS-SET-4, KS-SET-5).                                         *)
Reduction(results, agree, x49) ==
  CASE ~agree -> "UNKNOWN"
    [] results = {} -> "UNKNOWN"
    [] "UNKNOWN" \in results -> "UNKNOWN"
    [] results = {"NOT_STARTED"} -> "NOT_STARTED"
    [] results = {"COMPLETED"} -> "COMPLETED"
    [] x49 -> "QUIESCED"
    [] OTHER -> "UNKNOWN"

(* How a rank writes the disposition of its edges into a round; complete is    *)
(* the word of its role for COMPLETED.                                         *)
AsEvidence(t, complete) == IF t = "COMPLETED" THEN complete ELSE t

FromEvidence(e) ==
  CASE e \in {"NOT_STARTED", "QUIESCED"} -> e
    [] e \in {"SOURCE_COMPLETE", "DESTINATION_COMPLETE"} -> "COMPLETED"
    [] OTHER -> "UNKNOWN"

(* The evidence of a source that proves its share of a slot quiet (KS-SET-6,   *)
(* KS-QUI-13).                                                                 *)
Proves(source, x49) ==
  \/ source = "NOT_STARTED"
  \/ x49 /\ source \in {"SOURCE_COMPLETE", "QUIESCED"}

(* A write that ended with an error counts as ended where the contract says    *)
(* so.                                                                         *)
PostsQuiet(posts, errorQuiet) ==
  posts.made <= posts.done + (IF errorQuiet THEN posts.failed ELSE 0)

(* What the source of a cancelled edge claims (KS-QUI-4). posts counts the     *)
(* edge's writes: chunks, made, done, failed.                                  *)
SourceClaim(posts, committed, sealed, quiescence, errorQuiet, deadline) ==
  CASE posts.chunks > 0 /\ posts.done >= posts.chunks -> "SOURCE_COMPLETE"
    [] ~committed -> "NOT_STARTED"
    [] sealed /\ quiescence /\ PostsQuiet(posts, errorQuiet) -> "QUIESCED"
    [] deadline -> "UNKNOWN"
    [] OTHER -> "none"

(* What the destination of a cancelled edge claims (KS-QUI-6). busy: local     *)
(* work can still touch the slot.                                              *)
DestinationClaim(busy, source) ==
  CASE busy -> "none"
    [] source = "NOT_STARTED" -> "NOT_STARTED"
    [] OTHER -> "QUIESCED"

(* KS-QUI-2                                                                    *)
MayQuiesce(contract) == {Visible, SuccessQuiet} \subseteq contract

-----------------------------------------------------------------------------
(* Why and how an attempt ends.                                                *)

(* Causes that are a wish to end and no doubt.                                 *)
Wish(cause) ==
  cause \in {"user", "shutdown", "peer", "sibling", "context-deadline", "admission-deadline", "request-deadline"}

(* How the request ends. cancelled: a cancel won before completion.            *)
Outcome(t, refused, cancelled) ==
  CASE t = "NOT_STARTED" /\ refused -> "rejected"
    [] t = "NOT_STARTED" -> "cancelled"
    [] t = "COMPLETED" /\ cancelled -> "cancelled"
    [] t = "COMPLETED" -> "completed"
    [] t = "QUIESCED" -> "cancelled"
    [] OTHER -> "failed"

(* A process with a lease that nothing proves has to restart (KS-SET-10).      *)
Restarts(t, x49) == t = "UNKNOWN" /\ ~x49

-----------------------------------------------------------------------------
(* Rounds.                                                                     *)

Silence == [intent |-> "none", evidence |-> "none", publication |-> "UNSET", genAttempt |-> 0]

NoVerdict ==
  [decision |-> "WAIT", row |-> "", topology |-> "UNKNOWN", genAttempt |-> 0,
   cancelled |-> FALSE, allReject |-> FALSE, allUnset |-> FALSE]

(* The verdict on ranks that did not reach the installation barrier.           *)
Missed ==
  [NoVerdict EXCEPT !.decision = "END_UNKNOWN",
                    !.row = "round-missing"]

(* Before the data phase no rank has committed anything.                       *)
Before(v) == v.phase \in {"Admission", "Ready"}

Speaking(v) == {r \in DOMAIN v.by : v.by[r].intent # "none"}

Saying(v, intent) == {r \in DOMAIN v.by : v.by[r].intent = intent}

Proposers(v) == {r \in Speaking(v) : v.by[r].genAttempt # 0}

LastProposal(v) == v.by[CHOOSE r \in Proposers(v) : \A q \in Proposers(v) : q <= r].genAttempt

TwoAttempts(v) == \E r \in Proposers(v) : v.by[r].genAttempt # LastProposal(v)

(* COMPLETE before any commit contradicts what all ranks decided together.     *)
Conflict(v) ==
  \/ Saying(v, "COMPLETE") # {} /\ Before(v)
  \/ TwoAttempts(v) /\ v.phase # "Admission"

(* A rank does not prove that it did not commit.                               *)
Unproven(v) ==
  \E r \in Speaking(v) :
    /\ v.by[r].evidence # "NOT_STARTED"
    /\ ~(v.by[r].evidence = "none" /\ v.by[r].intent = "ADMIT" /\ v.phase = "Admission")

(* What a verdict says besides its decision. KS-GEN-3: allUnset.               *)
Observed(v) ==
  [NoVerdict EXCEPT !.genAttempt = IF Proposers(v) = {} THEN 0 ELSE LastProposal(v),
                    !.cancelled = Saying(v, "CANCEL") # {},
                    !.allReject = /\ v.absent = {}
                                  /\ \A r \in DOMAIN v.by : v.by[r].intent = "REJECT"
                                  /\ \A r \in DOMAIN v.by : v.by[r].evidence = "NOT_STARTED",
                    !.allUnset = /\ v.absent = {}
                                 /\ \A r \in DOMAIN v.by : v.by[r].publication = "UNSET"]

Verdict(v, row, decision) ==
  [Observed(v) EXCEPT !.row = row,
                      !.decision = decision]

Reduced(v, t) ==
  [Observed(v) EXCEPT !.decision = "REDUCED",
                      !.topology = t]

(* The ranks reduce their evidence by the table of topologies.                 *)
ReduceRanks(v) ==
  CASE v.absent # {} -> Reduced(v, "UNKNOWN")
    [] Conflict(v) -> Reduced(v, "UNKNOWN")
    [] Saying(v, "none") # {} -> Observed(v)
    [] OTHER -> Reduced(v, Reduction({FromEvidence(v.by[r].evidence) : r \in DOMAIN v.by}, TRUE, v.x49))

(* With bit 49 what was committed is sealed and drained (KS-QUI-3).            *)
Doubt(v) == IF v.x49 THEN "END_DRAIN" ELSE "END_UNKNOWN"

(* KS-RND-9: a rank that has not heard of the end gets one more round to say   *)
(* what it can prove.                                                          *)
EndBefore(v) ==
  CASE Saying(v, "none") # {} /\ v.phase = "Ready" -> Verdict(v, "", "ADOPT")
    [] Unproven(v) /\ v.phase = "Ready" -> Verdict(v, "round-cancel-before-doubt", Doubt(v))
    [] Unproven(v) -> Verdict(v, "round-cancel-before-doubt", "END_UNKNOWN")
    [] OTHER -> Verdict(v, "round-cancel-before", "END_NOT_STARTED")

EarlyRefusal(v) == IF v.phase = "Admission" THEN "REFUSE" ELSE "END_UNKNOWN"

(* The table of round decisions (KS-RND-6). A view v has phase (Admission,     *)
(* Ready, Data or Settling), committed (completion was), x49, absent (ranks    *)
(* that did not enter), and by, the contribution of each rank.                 *)
Decide(v) ==
  LET ending == Saying(v, "CANCEL") \cup Saying(v, "REJECT") # {}
      complete == Saying(v, "COMPLETE")
  IN CASE v.phase = "Settling" -> ReduceRanks(v)
       [] v.absent # {} -> Verdict(v, "round-missing", EarlyRefusal(v))
       [] Conflict(v) -> Verdict(v, "round-conflict", EarlyRefusal(v))
       [] TwoAttempts(v) -> Verdict(v, "round-two-attempts", "REFUSE")
       [] ending /\ v.committed -> Verdict(v, "round-earlier-completion", "KEEP_EVIDENCE")
       [] ending /\ Before(v) -> EndBefore(v)
       [] ending /\ complete # {} -> Verdict(v, "round-cancel-complete", Doubt(v))
       [] ending -> Verdict(v, "round-cancel-after", Doubt(v))
       [] complete = DOMAIN v.by -> Verdict(v, "round-complete", "COMMIT")
       [] complete # {} /\ v.x49 -> Verdict(v, "round-uneven", "WAIT")
       [] complete # {} -> Verdict(v, "round-uneven", "END_UNKNOWN")
       [] Before(v) /\ Saying(v, "ADMIT") = DOMAIN v.by -> Verdict(v, "round-admit", "GO_ON")
       [] OTHER -> Observed(v)
=============================================================================
