------------------------------- MODULE Round --------------------------------
(* Decision rounds among the local ranks of one service, and the barrier after *)
(* which they may show READY (chapter 15). Messages between ranks come in any  *)
(* order, are lost and repeated.                                               *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  N,       \* how many ranks
  Rounds,  \* how many rounds they hold
  Faults   \* how often each fault may strike

Ranks == 1..N
Ids == 1..Rounds
MaxFailures == 3

VARIABLES
  rank,     \* rank[r]: round id, stage, the ranks entered, installed, early
  wants,    \* wants[r]: this rank wants the end
  heard,    \* heard[r][i][q]: 1 admit, 2 cancel, 0 nothing yet
  said,     \* said[r][i]: what r contributed, in the same numbers
  net,      \* messages with the number of copies
  decided,  \* decided[r][i]: none, go, end or missing
  passed,   \* passed[r][i]: r has passed the barrier
  down,
  left

vars == <<rank, wants, heard, said, net, decided, passed, down, left>>

NewRank == [id |-> 0, stage |-> "idle", entered |-> {}, installed |-> {}, early |-> {}, failures |-> 0, ranks |-> 0]

Busy(m) == m.stage \in {"gathering", "barrier"}

Message(kind, from, to, i, n) == [kind |-> kind, from |-> from, to |-> to, round |-> i, n |-> n]

Tell(n, kind, r, i) == n \cup {Message(kind, r, q, i, 1) : q \in {p \in Ranks \ {r} : ~down[p]}}

Taken(x) == (net \ {x}) \cup (IF x.n = 2 THEN {[x EXCEPT !.n = 1]} ELSE {})

-----------------------------------------------------------------------------
(* What one rank does; b is its part of the state and the network.             *)

Box(r) == [m |-> rank[r], said |-> said[r], heard |-> heard[r], net |-> net, decided |-> decided[r], passed |-> passed[r]]

(* After the last rank has installed this one may pass (KS-RND-11).            *)
Passes(b) ==
  IF b.m.stage = "barrier" /\ b.m.installed = Ranks
  THEN [b EXCEPT !.m.stage = "idle",
                 !.passed[b.m.id] = TRUE]
  ELSE b

HearsInstalled(b, q, i) ==
  IF i = b.m.id /\ b.m.id # 0 /\ q \notin b.m.installed
  THEN Passes([b EXCEPT !.m.installed = @ \cup {q}])
  ELSE b

(* KS-RND-10                                                                   *)
Installs(b, r) ==
  HearsInstalled([b EXCEPT !.m.stage = "barrier",
                           !.net = Tell(@, "installed", r, b.m.id)], r, b.m.id)

(* Every contribution is here. All admit: go on. Any cancel ends it (KS-RND-6, *)
(* KS-RND-7).                                                                  *)
Judges(b, r) ==
  IF \A q \in Ranks : b.heard[b.m.id][q] = 1
  THEN Installs([b EXCEPT !.decided[b.m.id] = "go"], r)
  ELSE [b EXCEPT !.decided[b.m.id] = "end"]

Enters(b, r, q, i) ==
  LET c == [b EXCEPT !.m.entered = @ \cup {q}]
  IN CASE i = b.m.id + 1 -> [b EXCEPT !.m.early = @ \cup {q}]
       [] i = b.m.id /\ b.m.stage = "gathering" /\ c.m.entered = Ranks ->
            Judges([c EXCEPT !.m.stage = "idle",
                             !.m.failures = 0], r)
       [] i = b.m.id /\ b.m.stage = "gathering" -> c
       [] OTHER -> b

(* Every rank enters every round, also with nothing to say (KS-RND-1).         *)
Begins(b, r) ==
  LET i == b.m.id + 1
      kind == IF wants[r] THEN "cancel" ELSE "admit"
      code == IF wants[r] THEN 2 ELSE 1
  IN Enters([b EXCEPT !.m.id = i,
                      !.m.ranks = N,
                      !.m.stage = "gathering",
                      !.m.entered = b.m.early,
                      !.m.early = {},
                      !.m.installed = {},
                      !.said[i] = code,
                      !.heard[i][r] = code,
                      !.net = Tell(@, kind, r, i)], r, r, i)

(* A rank that never enters ends the round for the others (KS-RND-12).         *)
TimesOut(b) ==
  [b EXCEPT !.decided[b.m.id] = IF b.m.stage = "gathering" THEN "missing" ELSE @,
            !.m.failures = IF @ < MaxFailures THEN @ + 1 ELSE @,
            !.m.stage = "failed"]

Becomes(r, b) ==
  /\ rank' = [rank EXCEPT ![r] = b.m]
  /\ said' = [said EXCEPT ![r] = b.said]
  /\ heard' = [heard EXCEPT ![r] = b.heard]
  /\ net' = b.net
  /\ decided' = [decided EXCEPT ![r] = b.decided]
  /\ passed' = [passed EXCEPT ![r] = b.passed]

Uses(what) ==
  /\ left[what] > 0
  /\ left' = [left EXCEPT ![what] = @ - 1]

-----------------------------------------------------------------------------

BeginRound ==
  \E r \in Ranks :
    /\ ~down[r]
    /\ ~Busy(rank[r])
    /\ rank[r].id < Rounds
    /\ Becomes(r, Begins(Box(r), r))
    /\ UNCHANGED <<wants, down, left>>

RoundDeadline ==
  \E r \in Ranks :
    /\ ~down[r]
    /\ Busy(rank[r])
    /\ Becomes(r, TimesOut(Box(r)))
    /\ UNCHANGED <<wants, down, left>>

UserCancel ==
  \E r \in Ranks :
    /\ ~down[r]
    /\ Uses("cancels")
    /\ wants' = [wants EXCEPT ![r] = TRUE]
    /\ UNCHANGED <<rank, heard, said, net, decided, passed, down>>

Crash ==
  \E r \in Ranks :
    /\ ~down[r]
    /\ Uses("crashes")
    /\ down' = [down EXCEPT ![r] = TRUE]
    /\ rank' = [rank EXCEPT ![r] = NewRank]
    /\ net' = {x \in net : x.to # r}
    /\ UNCHANGED <<wants, heard, said, decided, passed>>

DeliverPayload ==
  \E x \in net :
    LET code == IF x.kind = "cancel" THEN 2 ELSE 1
        b == [Box(x.to) EXCEPT !.net = Taken(x),
                               !.heard[x.round][x.from] = IF @ = 0 THEN code ELSE @]
    IN /\ x.kind \in {"admit", "cancel"}
       /\ Becomes(x.to, Enters(b, x.to, x.from, x.round))
       /\ UNCHANGED <<wants, down, left>>

DeliverInstalled ==
  \E x \in net :
    /\ x.kind = "installed"
    /\ Becomes(x.to, HearsInstalled([Box(x.to) EXCEPT !.net = Taken(x)], x.from, x.round))
    /\ UNCHANGED <<wants, down, left>>

Drop ==
  \E x \in net :
    /\ Uses("drops")
    /\ net' = Taken(x)
    /\ UNCHANGED <<rank, wants, heard, said, decided, passed, down>>

Duplicate ==
  \E x \in net :
    /\ x.n = 1
    /\ Uses("dups")
    /\ net' = (net \ {x}) \cup {[x EXCEPT !.n = 2]}
    /\ UNCHANGED <<rank, wants, heard, said, decided, passed, down>>

-----------------------------------------------------------------------------

Init ==
  /\ rank = [r \in Ranks |-> NewRank]
  /\ wants = [r \in Ranks |-> FALSE]
  /\ heard = [r \in Ranks |-> [i \in Ids |-> [q \in Ranks |-> 0]]]
  /\ said = [r \in Ranks |-> [i \in Ids |-> 0]]
  /\ net = {}
  /\ decided = [r \in Ranks |-> [i \in Ids |-> "none"]]
  /\ passed = [r \in Ranks |-> [i \in Ids |-> FALSE]]
  /\ down = [r \in Ranks |-> FALSE]
  /\ left = Faults

Next ==
  \/ BeginRound
  \/ RoundDeadline
  \/ UserCancel
  \/ Crash
  \/ DeliverPayload
  \/ DeliverInstalled
  \/ Drop
  \/ Duplicate

Due ==
  \/ BeginRound
  \/ RoundDeadline
  \/ DeliverPayload
  \/ DeliverInstalled

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(Due)

OneEach == [drops |-> 1, dups |-> 1, cancels |-> 1, crashes |-> 1]

-----------------------------------------------------------------------------

Pairs(P(_, _, _)) == \A a, b \in Ranks, i \in Ids : a # b => P(a, b, i)

(* I11: ranks that heard everybody decided the same. KS-RND-6                  *)
SameDecision ==
  LET Same(a, b, i) == \/ decided[a][i] = decided[b][i]
                       \/ decided[a][i] \in {"none", "missing"}
                       \/ decided[b][i] \in {"none", "missing"}
  IN Pairs(Same)

(* Who passes knows that every rank has installed. KS-RND-10, KS-RND-11        *)
BarrierMeansAll ==
  LET All(a, b, i) == passed[a][i] => decided[b][i] = "go"
  IN Pairs(All)

(* KS-RND-12                                                                   *)
MissingNeverPasses ==
  LET Here(a, b, i) == passed[a][i] => said[b][i] # 0 /\ decided[b][i] # "missing"
  IN Pairs(Here)

(* I5: KS-RND-7                                                                *)
CancelNeverPasses ==
  LET Heeded(a, b, i) == passed[a][i] => said[b][i] # 2
  IN Pairs(Heeded)

Settled == \A r \in Ranks : down[r] \/ (~Busy(rank[r]) /\ rank[r].id = Rounds)

(* B1: KS-RND-12, KS-TIME-15                                                   *)
Settles == []<>Settled
=============================================================================
