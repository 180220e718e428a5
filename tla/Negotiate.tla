----------------------------- MODULE Negotiate ------------------------------
(* Negotiation in a rolling upgrade (chapters 04 and 05): one GEN, two CTX     *)
(* ranks, each any kind of agent, old or new; one request; and agents that are *)
(* replaced while it is under way. What was sent to the old one reaches nobody.*)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Kinds,   \* the kinds of agents that occur
  Faults   \* how often each fault may strike

Ctxs == 1..2

VARIABLES
  gen,      \* the kind of GEN
  ctx,      \* ctx[k]: the kind of CTX rank k
  phase,    \* of the request: new, asked, or how it ended
  action,   \* what GEN's own validation said
  edge,     \* edge[k]: what is on its way, or was heard
  twice,    \* twice[k]: a second copy of it is on its way
  asked,    \* asked[k]: the kind that the request came from
  payload,  \* payload[k]: CTX rank k accepted and moves data
  odd,      \* data moved between agents that do not fit
  left

vars == <<gen, ctx, phase, action, edge, twice, asked, payload, odd, left>>

(* The kinds: legacy has no descriptor, broken an unreadable one. The others   *)
(* have a descriptor of schema 1, or of schema 2 (second, recovery, foreign).  *)
SchemaTwo == {"second", "recovery", "foreign"}
Named == Kinds \ {"broken"}

Enabled(a) == a \notin {"legacy", "off"}
(* What an agent of schema 1 sees of a name (KS-DESC-21).                      *)
Missing(a) == a \in {"legacy"} \cup SchemaTwo
Readable(a) == ~Missing(a) /\ a # "broken"
Min(a) == IF a = "newer" THEN 2 ELSE 1
Max(a) == IF a = "newer" THEN 3 ELSE 1
CanReject(a) == a # "deaf"
Abi(a) == IF a = "foreign" THEN 2 ELSE 1

-----------------------------------------------------------------------------

(* Validation of schema 1 (KS-SEL-1): the mode is the same everywhere; in      *)
(* enabled mode every peer has a descriptor, a version is common, and every    *)
(* peer has both capabilities.                                                 *)
Compatible(me, peers) ==
  IF me = "legacy" THEN TRUE ELSE
  /\ \A p \in peers : p # "broken"
  /\ \A p \in peers : Readable(p) => Enabled(p) = Enabled(me)
  /\ Enabled(me) =>
       /\ CanReject(me)
       /\ \A p \in peers : ~Missing(p)
       /\ \A p \in peers : CanReject(p)
       /\ \A p, q \in peers \cup {me} : Min(p) <= Max(q)

(* Every peer can answer ready=false before any data.                          *)
AllCanReject(me, peers) ==
  /\ Enabled(me) => CanReject(me)
  /\ \A p \in peers : Readable(p)
  /\ \A p \in peers : CanReject(p)

(* Selection of schema 2 over the whole topology (KS-SEL-15, KS-SEL-26).       *)
Selects(agents) ==
  /\ \A a \in agents : a \in SchemaTwo
  /\ \A a, b \in agents : Abi(a) = Abi(b)

Both == {ctx[k] : k \in Ctxs}

(* KS-V1-42, KS-V1-43                                                          *)
Validation ==
  CASE gen \in SchemaTwo /\ Selects({gen} \cup Both) -> "proceed"
    [] gen \in SchemaTwo                             -> "refuse-locally"
    [] Compatible(gen, Both)                         -> "proceed"
    [] AllCanReject(gen, Both)                       -> "proceed-expect-reject"
    [] OTHER                                         -> "refuse-locally"

(* KS-V1-2                                                                     *)
Accepts(k) ==
  IF ctx[k] \in SchemaTwo
  THEN Selects({asked[k]} \cup Both)
  ELSE Compatible(ctx[k], {asked[k]})

(* Whether data may flow between two agents, said in another way.              *)
Fit(a, b) ==
  \/ ~Enabled(a) /\ ~Enabled(b)
  \/ a \in SchemaTwo /\ b \in SchemaTwo /\ Abi(a) = Abi(b)
  \/ ~(a \in SchemaTwo /\ b \in SchemaTwo) /\ Enabled(a) /\ a = b /\ CanReject(a)

Over == phase \notin {"new", "asked"}

Uses(what) ==
  /\ left[what] > 0
  /\ left' = [left EXCEPT ![what] = @ - 1]

-----------------------------------------------------------------------------

GenValidates ==
  /\ phase = "new"
  /\ action' = Validation
  /\ IF Validation = "refuse-locally"
     THEN /\ phase' = "refused"
          /\ UNCHANGED <<edge, asked>>
     ELSE /\ phase' = "asked"
          /\ edge' = [k \in Ctxs |-> "request"]
          /\ asked' = [k \in Ctxs |-> gen]
  /\ UNCHANGED <<gen, ctx, twice, payload, odd, left>>

(* KS-SEL-11                                                                   *)
CtxJudges ==
  \E k \in Ctxs :
    /\ ~Over
    /\ edge[k] = "request"
    /\ edge' = [edge EXCEPT ![k] = IF Accepts(k) THEN "yes" ELSE "no"]
    /\ payload' = [payload EXCEPT ![k] = @ \/ Accepts(k)]
    /\ odd' = (odd \/ (Accepts(k) /\ ~Fit(asked[k], ctx[k])))
    /\ UNCHANGED <<gen, ctx, phase, action, twice, asked, left>>

(* The request ends when every edge was heard (KS-V1-4, KS-V1-5, KS-V1-6).     *)
Judged(heard) ==
  CASE \E k \in Ctxs : heard[k] \notin {"heardYes", "heardNo"}                -> "asked"
    [] \A k \in Ctxs : heard[k] = "heardNo"                                   -> "rejected"
    [] (\A k \in Ctxs : heard[k] = "heardYes") /\ action = "proceed"          -> "completed"
    [] OTHER                                                                  -> "failed"

GenHears ==
  \E k \in Ctxs :
    /\ ~Over
    /\ edge[k] \in {"yes", "no"}
    /\ edge' = [edge EXCEPT ![k] = IF @ = "yes" THEN "heardYes" ELSE "heardNo"]
    /\ twice' = [twice EXCEPT ![k] = FALSE]
    /\ phase' = Judged(edge')
    /\ UNCHANGED <<gen, ctx, action, asked, payload, odd, left>>

OnItsWay(k) ==
  /\ ~Over
  /\ edge[k] \in {"request", "yes", "no"}

Drop ==
  \E k \in Ctxs :
    /\ OnItsWay(k)
    /\ Uses("drops")
    /\ edge' = [edge EXCEPT ![k] = IF twice[k] THEN @ ELSE "lost"]
    /\ twice' = [twice EXCEPT ![k] = FALSE]
    /\ UNCHANGED <<gen, ctx, phase, action, asked, payload, odd>>

Duplicate ==
  \E k \in Ctxs :
    /\ OnItsWay(k)
    /\ ~twice[k]
    /\ Uses("dups")
    /\ twice' = [twice EXCEPT ![k] = TRUE]
    /\ UNCHANGED <<gen, ctx, phase, action, edge, asked, payload, odd>>

UserCancelGen ==
  /\ ~Over
  /\ Uses("cancels")
  /\ phase' = "cancelled"
  /\ UNCHANGED <<gen, ctx, action, edge, twice, asked, payload, odd>>

GenRequestDeadline ==
  /\ phase = "asked"
  /\ phase' = "failed"
  /\ UNCHANGED <<gen, ctx, action, edge, twice, asked, payload, odd, left>>

(* A replaced agent is a new process: its request is gone with it.             *)
UpgradeGen ==
  \E kind \in Named :
    /\ ~Over
    /\ kind # gen
    /\ Uses("upgrades")
    /\ gen' = kind
    /\ phase' = IF phase = "asked" THEN "failed" ELSE phase
    /\ UNCHANGED <<ctx, action, edge, twice, asked, payload, odd>>

UpgradeCtx ==
  \E k \in Ctxs, kind \in Kinds :
    /\ ~Over
    /\ kind # ctx[k]
    /\ Uses("upgrades")
    /\ ctx' = [ctx EXCEPT ![k] = kind]
    /\ edge' = [edge EXCEPT ![k] = IF @ = "request" THEN "lost" ELSE @]
    /\ twice' = [twice EXCEPT ![k] = IF edge[k] = "request" THEN FALSE ELSE @]
    /\ UNCHANGED <<gen, phase, action, asked, payload, odd>>

-----------------------------------------------------------------------------

Init ==
  /\ gen \in Named
  /\ ctx \in [Ctxs -> Kinds]
  /\ phase = "new"
  /\ action = "none"
  /\ edge = [k \in Ctxs |-> "idle"]
  /\ twice = [k \in Ctxs |-> FALSE]
  /\ asked = [k \in Ctxs |-> "legacy"]
  /\ payload = [k \in Ctxs |-> FALSE]
  /\ odd = FALSE
  /\ left = Faults

Next ==
  \/ GenValidates
  \/ CtxJudges
  \/ GenHears
  \/ Drop
  \/ Duplicate
  \/ UserCancelGen
  \/ GenRequestDeadline
  \/ UpgradeGen
  \/ UpgradeCtx

Due ==
  \/ GenValidates
  \/ CtxJudges
  \/ GenHears
  \/ GenRequestDeadline

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(Due)

OneEach == [upgrades |-> 1, drops |-> 1, dups |-> 1, cancels |-> 1]

-----------------------------------------------------------------------------

(* KS-SEL-11, KS-SEL-26                                                        *)
NoPayloadInRefusedCell == ~odd

(* KS-V1-43                                                                    *)
RefusalIsSilent == action = "refuse-locally" => \A k \in Ctxs : edge[k] = "idle"

(* KS-V1-42                                                                    *)
RejectExpected ==
  action = "proceed-expect-reject" =>
    /\ phase # "completed"
    /\ ctx[1] = ctx[2] /\ left.upgrades = Faults.upgrades => \A k \in Ctxs : ~payload[k]

(* KS-SEL-15, KS-SEL-18                                                        *)
SelectionAgrees ==
  gen \in SchemaTwo /\ Both \subseteq SchemaTwo => (Selects({gen} \cup Both) <=> Selects(Both \cup {gen}))

Settled == Over

(* B1: KS-V1-12                                                                *)
Settles == []<>Settled
=============================================================================
