------------------------------ MODULE Registry ------------------------------
(* CTX's memory of tickets: an allow-list with room for one ticket, a terminal *)
(* cache with room for one answer, and a window of one message id for each     *)
(* ticket; GEN that asks, asks again and gives up (chapter 17). Messages come  *)
(* in any order, are lost, repeated, and arrive with other bytes.              *)
(*                                                                             *)
(* Time passes in control lifetimes, and only while no message is on its way   *)
(* and nobody waits for one (KS-REG-9).                                        *)
EXTENDS Naturals, Sequences, FiniteSets

(* A sequence of worlds, each an initial state: tickets (how many CTX          *)
(* publishes, one after the other), resends (how often GEN sends an unanswered *)
(* message again), keep (how many lifetimes an answer is retained; 0 without   *)
(* bit 48), and faults.                                                        *)
CONSTANT Cases

VARIABLES
  case,      \* index of the world
  given,     \* given[t]: none, published, or refused for want of room
  gen,       \* gen[t]: GEN's side, with the exchange of its OPEN or CANCEL
  book,      \* book[t]: what CTX's registry knows
  window,    \* window[t]: the messages that CTX knows to be repeats
  net,       \* messages with the number of copies
  bound,     \* bound[t]: how often an attempt was bound
  wrote,     \* wrote[t]: the data was written
  said,      \* said[t]: the answers that were sent
  ctxDown,
  genDown,
  restarts,  \* of CTX
  early,     \* an answer was evicted within its lifetime
  left       \* how often each fault may still strike

vars == <<case, given, gen, book, window, net, bound, wrote, said, ctxDown, genDown, restarts, early, left>>

Worlds == Cases
C == Worlds[case]
Tickets == 1..C.tickets

Larger(a, b) == IF a > b THEN a ELSE b

-----------------------------------------------------------------------------
(* The registry. An entry is a record: where (nowhere, active, cache, or       *)
(* waiting for room in the cache), bound (it has its attempt), evidence of one *)
(* that has ended, noPeer (it ended before it was bound), since (an active one *)
(* has reached its deadline) and idle (lifetimes since its last message).      *)

Nowhere == [where |-> "nowhere", bound |-> FALSE, evidence |-> "none", noPeer |-> FALSE, since |-> 0, idle |-> 0]

Live(b, t) == b[t].where = "active"

At(b, places) == {t \in Tickets : b[t].where \in places}

(* KS-REG-2: what waits for room counts as active.                             *)
HasRoom(b) == At(b, {"active", "waiting"}) = {}

Published(b, t) == [b EXCEPT ![t] = [Nowhere EXCEPT !.where = "active"]]

Bound(b, t) ==
  [b EXCEPT ![t].bound = TRUE,
            ![t].since = 0]

(* An answer may go after its lifetime, or after its retention with bit 48     *)
(* (KS-REG-6, KS-REG-8).                                                       *)
MayGo(e) ==
  IF e.noPeer
  THEN e.idle >= 1
  ELSE e.idle >= Larger(1, C.keep)

Crowded(b) == {t \in At(b, {"cache"}) : ~MayGo(b[t])}

(* t goes into the cache, if one that may go makes room; else it waits.        *)
Cached(b, t) ==
  IF Crowded(b) = {}
  THEN [k \in Tickets |->
          CASE k = t -> [b[k] EXCEPT !.where = "cache"]
            [] b[k].where = "cache" -> Nowhere
            [] OTHER -> b[k]]
  ELSE [b EXCEPT ![t].where = "waiting"]

Ended(b, t, noPeer, evidence) ==
  Cached([b EXCEPT ![t] = [Nowhere EXCEPT !.where = "waiting",
                                          !.bound = b[t].bound,
                                          !.evidence = evidence,
                                          !.noPeer = noPeer]], t)

(* Any message of a ticket keeps what is known of it (KS-REG-8).               *)
Touched(b, t) == [b EXCEPT ![t].idle = 0]

(* Two lifetimes after its last message an entry retires (KS-REG-8).           *)
Older(e) ==
  CASE e.where = "nowhere" -> e
    [] e.where = "active" -> [e EXCEPT !.since = 1]
    [] e.idle >= 1 -> Nowhere
    [] OTHER -> [e EXCEPT !.idle = @ + 1]

RECURSIVE Admitted(_, _)
Admitted(b, S) ==
  IF S = {}
  THEN b
  ELSE LET t == CHOOSE x \in S : TRUE
       IN Admitted(Cached(b, t), S \ {t})

Aged(b) ==
  LET older == [t \in Tickets |-> Older(b[t])]
  IN Admitted(older, At(older, {"waiting"}))

(* Answers that left to make room, although they had to be kept.               *)
Lost(b, c) == {t \in At(b, {"cache"}) : c[t].where = "nowhere" /\ ~MayGo(b[t])}

-----------------------------------------------------------------------------
(* The window of a ticket: known, floor (the highest id that was forgotten)    *)
(* and last (the one that is remembered, with its reply). other says that the  *)
(* bytes are not those that GEN sent.                                          *)

NoWindow == [known |-> FALSE, floor |-> 0, last |-> {}]

Same(w, id) == {x \in w.last : x.id = id}

(* KS-REG-10, KS-REG-11, KS-REG-18                                             *)
Judged(w, id, other) ==
  CASE \E x \in Same(w, id) : x.other # other -> "violation"
    [] Same(w, id) # {} -> "repeat"
    [] w.known /\ id <= w.floor -> "below"
    [] OTHER -> "first"

ReplyOf(w, id) == (CHOOSE x \in Same(w, id) : TRUE).reply

Recorded(w, id, other, reply) ==
  LET item == [id |-> id, other |-> other, reply |-> reply]
      old == {x.id : x \in w.last}
  IN CASE w.last = {} -> [known |-> TRUE, floor |-> w.floor, last |-> {item}]
       [] \E x \in old : x > id -> [w EXCEPT !.floor = Larger(@, id)]
       [] OTHER -> [w EXCEPT !.floor = CHOOSE x \in old : TRUE,
                             !.last = {item}]

-----------------------------------------------------------------------------
(* The network, and what CTX does with a message. b is the part of the world   *)
(* that it may change.                                                         *)

ToCtxKinds == {"OPEN", "CANCEL"}

Answers == {"READY", "NOT_READY NOT_STARTED", "NOT_READY UNKNOWN", "TERMINAL UNKNOWN", "TERMINAL SOURCE_COMPLETE"}

(* A message that is on its way stands for its repeat.                         *)
Put(n, kind, t) ==
  CASE kind \in ToCtxKinds /\ ctxDown -> n
    [] kind \notin ToCtxKinds /\ genDown -> n
    [] \E x \in n : x.kind = kind /\ x.ticket = t -> n
    [] OTHER -> n \cup {[kind |-> kind, ticket |-> t, n |-> 1]}

Taken(x) == (net \ {x}) \cup (IF x.n = 2 THEN {[x EXCEPT !.n = 1]} ELSE {})

Box(n) == [book |-> book, window |-> window, bound |-> bound, said |-> said, net |-> n, early |-> early]

(* The registry is c now. What has left it takes its window along (KS-TIME-18).*)
With(b, c) ==
  [b EXCEPT !.book = c,
            !.window = [t \in Tickets |-> IF b.book[t].where # "nowhere" /\ c[t].where = "nowhere" THEN NoWindow ELSE @[t]],
            !.early = @ \/ Lost(b.book, c) # {}]

Says(b, t, reply) ==
  [b EXCEPT !.said[t] = @ \cup {reply},
            !.net = Put(@, reply, t)]

(* What was fixed, or UNKNOWN (KS-REG-7, KS-REG-19).                           *)
Remembered(e) ==
  CASE e.where \notin {"cache", "waiting"} -> "NOT_READY UNKNOWN"
    [] e.evidence = "NOT_STARTED" -> "NOT_READY NOT_STARTED"
    [] e.evidence = "SOURCE_COMPLETE" -> "TERMINAL SOURCE_COMPLETE"
    [] OTHER -> "TERMINAL UNKNOWN"

EndsUnknown(b, t) == With(b, Ended(b.book, t, FALSE, "UNKNOWN"))

EndsNoPeer(b, t) == With(b, Ended(b.book, t, TRUE, "NOT_STARTED"))

EndsActive(b, t) ==
  IF b.book[t].bound
  THEN EndsUnknown(b, t)
  ELSE EndsNoPeer(b, t)

Replies(b, t, id, other, reply) ==
  Says([b EXCEPT !.window[t] = Recorded(@, id, other, reply)], t, reply)

(* A message that CTX sees for the first time (KS-REG-1).                      *)
CarriesOut(b, t, kind, id, other) ==
  LET e == b.book[t]
      binds == [With(b, Bound(b.book, t)) EXCEPT !.bound[t] = @ + 1]
  IN CASE e.where # "active" -> Replies(b, t, id, other, Remembered(e))
       [] kind = "OPEN" /\ ~e.bound -> Replies(binds, t, id, other, "READY")
       [] kind = "OPEN" -> Replies(b, t, id, other, "NOT_READY UNKNOWN")
       [] ~e.bound -> Replies(EndsNoPeer(b, t), t, id, other, "NOT_READY NOT_STARTED")
       [] OTHER -> Replies(EndsUnknown(b, t), t, id, other, "TERMINAL UNKNOWN")

(* No window for what nobody knows.                                            *)
CtxHears(b, t, kind, other) ==
  LET id == IF kind = "OPEN" THEN 1 ELSE 2
      c == With(b, Touched(b.book, t))
      e == c.book[t]
      verdict == Judged(c.window[t], id, other)
  IN CASE b.book[t].where = "nowhere" -> Says(b, t, "NOT_READY UNKNOWN")
       [] verdict = "violation" /\ e.where = "active" /\ e.bound -> EndsUnknown(c, t)
       [] verdict = "violation" -> c
       [] verdict = "repeat" -> Says(c, t, ReplyOf(c.window[t], id))
       [] verdict = "below" -> Says(c, t, Remembered(e))
       [] OTHER -> CarriesOut(c, t, kind, id, other)

Becomes(b) ==
  /\ book' = b.book
  /\ window' = b.window
  /\ bound' = b.bound
  /\ said' = b.said
  /\ net' = b.net
  /\ early' = b.early

-----------------------------------------------------------------------------
(* GEN. wire is the exchange of message 1, its OPEN, or 2, its CANCEL.         *)

NewGen == [state |-> "HELD", arrived |-> FALSE, wire |-> [state |-> "idle", resends |-> 0, id |-> 0]]

(* The last re-send is before the deadline (KS-REG-13, KS-REG-14).             *)
Ahead(n) == IF n < C.resends THEN "waiting" ELSE "last"

Start(id) == [state |-> Ahead(0), resends |-> 0, id |-> id]

Awaits(g) == g.wire.state \in {"waiting", "last"}

Answered(g, state) ==
  [g EXCEPT !.state = state,
            !.wire.state = IF Awaits(g) THEN "answered" ELSE @]

WithData(g) == IF g.arrived THEN "DONE" ELSE "IN_FLIGHT"

GenHears(g, kind) ==
  LET asks == g.state \in {"OPENING", "CANCELLING"}
  IN CASE kind = "sync" /\ g.state = "OPENING" -> [g EXCEPT !.arrived = TRUE]
       [] kind = "sync" /\ g.state = "IN_FLIGHT" ->
            [g EXCEPT !.arrived = TRUE,
                      !.state = "DONE"]
       [] kind \in {"READY", "TERMINAL SOURCE_COMPLETE"} /\ g.state = "OPENING" -> Answered(g, WithData(g))
       [] kind = "TERMINAL SOURCE_COMPLETE" /\ g.state = "CANCELLING" -> Answered(g, "UNKNOWN")
       [] kind = "NOT_READY NOT_STARTED" /\ asks -> Answered(g, "NOT_STARTED")
       [] kind \in {"NOT_READY UNKNOWN", "TERMINAL UNKNOWN"} /\ asks -> Answered(g, "UNKNOWN")
       [] kind = "TERMINAL UNKNOWN" /\ g.state = "IN_FLIGHT" -> [g EXCEPT !.state = "UNKNOWN"]
       [] OTHER -> g

Uses(what) ==
  /\ left[what] > 0
  /\ left' = [left EXCEPT ![what] = @ - 1]

ctxSide == <<book, window, bound, said, early>>

-----------------------------------------------------------------------------

(* Tickets are made in order. At the limit nothing is shown (KS-REG-2).        *)
MayPublish(t) ==
  /\ ~ctxDown
  /\ given[t] = "none"
  /\ \A q \in Tickets : q < t => given[q] # "none"

Publish ==
  \E t \in Tickets :
    /\ MayPublish(t)
    /\ HasRoom(book)
    /\ given' = [given EXCEPT ![t] = "published"]
    /\ book' = Published(book, t)
    /\ UNCHANGED <<case, gen, window, net, bound, wrote, said, ctxDown, genDown, restarts, early, left>>

PublishFull ==
  \E t \in Tickets :
    /\ MayPublish(t)
    /\ ~HasRoom(book)
    /\ given' = [given EXCEPT ![t] = "refused"]
    /\ UNCHANGED <<case, gen, net, wrote, ctxDown, genDown, restarts, left, ctxSide>>

GenOpens ==
  \E t \in Tickets :
    /\ ~genDown
    /\ gen[t].state = "HELD"
    /\ given[t] = "published"
    /\ gen' = [gen EXCEPT ![t].state = "OPENING",
                          ![t].wire = Start(1)]
    /\ net' = Put(net, "OPEN", t)
    /\ UNCHANGED <<case, given, wrote, ctxDown, genDown, restarts, left, ctxSide>>

KindOf(g) == IF g.wire.id = 1 THEN "OPEN" ELSE "CANCEL"

(* The same id and bytes (KS-CTL-22).                                          *)
GenResends ==
  \E t \in Tickets :
    /\ ~genDown
    /\ gen[t].wire.state = "waiting"
    /\ gen' = [gen EXCEPT ![t].wire.resends = @ + 1,
                          ![t].wire.state = Ahead(gen[t].wire.resends + 1)]
    /\ net' = Put(net, KindOf(gen[t]), t)
    /\ UNCHANGED <<case, given, wrote, ctxDown, genDown, restarts, left, ctxSide>>

(* KS-REG-14                                                                   *)
GenGivesUp ==
  \E t \in Tickets :
    /\ ~genDown
    /\ gen[t].wire.state = "last"
    /\ gen' = [gen EXCEPT ![t].wire.state = "exhausted",
                          ![t].state = "UNKNOWN"]
    /\ UNCHANGED <<case, given, net, wrote, ctxDown, genDown, restarts, left, ctxSide>>

GenDeadline ==
  \E t \in Tickets :
    /\ ~genDown
    /\ gen[t].state = "IN_FLIGHT"
    /\ gen' = [gen EXCEPT ![t].state = "UNKNOWN"]
    /\ UNCHANGED <<case, given, net, wrote, ctxDown, genDown, restarts, left, ctxSide>>

(* Before its OPEN nobody was told. Afterwards CANCEL takes the place of an    *)
(* unanswered OPEN.                                                            *)
UserCancelGen ==
  \E t \in Tickets :
    /\ ~genDown
    /\ given[t] = "published"
    /\ gen[t].state \in {"HELD", "OPENING", "IN_FLIGHT"}
    /\ Uses("cancelGen")
    /\ gen' = IF gen[t].state = "HELD"
              THEN [gen EXCEPT ![t].state = "NOT_STARTED"]
              ELSE [gen EXCEPT ![t].state = "CANCELLING",
                               ![t].wire = Start(2)]
    /\ net' = IF gen[t].state = "HELD" THEN net ELSE Put(net, "CANCEL", t)
    /\ UNCHANGED <<case, given, wrote, ctxDown, genDown, restarts, ctxSide>>

-----------------------------------------------------------------------------

DeliverToCtx ==
  \E x \in net :
    /\ x.kind \in ToCtxKinds
    /\ Becomes(CtxHears(Box(Taken(x)), x.ticket, x.kind, FALSE))
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts, left>>

(* The same message id with other bytes (KS-REG-11).                           *)
DeliverTampered ==
  \E x \in net :
    /\ x.kind \in ToCtxKinds
    /\ Uses("tampers")
    /\ Becomes(CtxHears(Box(Taken(x)), x.ticket, x.kind, TRUE))
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts>>

DeliverToGen ==
  \E x \in net :
    /\ x.kind \notin ToCtxKinds
    /\ gen' = [gen EXCEPT ![x.ticket] = GenHears(@, x.kind)]
    /\ net' = Taken(x)
    /\ UNCHANGED <<case, given, wrote, ctxDown, genDown, restarts, left, ctxSide>>

Drop ==
  \E x \in net :
    /\ Uses("drops")
    /\ net' = Taken(x)
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts, ctxSide>>

Duplicate ==
  \E x \in net :
    /\ x.n = 1
    /\ Uses("dups")
    /\ net' = (net \ {x}) \cup {[x EXCEPT !.n = 2]}
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts, ctxSide>>

-----------------------------------------------------------------------------

(* Only an exact hit of the allow-list authorises a write (KS-REG-1).          *)
Write ==
  \E t \in Tickets :
    /\ ~ctxDown
    /\ Live(book, t)
    /\ book[t].bound
    /\ ~wrote[t]
    /\ wrote' = [wrote EXCEPT ![t] = TRUE]
    /\ Becomes([With(Box(net), Ended(book, t, FALSE, "SOURCE_COMPLETE")) EXCEPT !.net = Put(@, "sync", t)])
    /\ UNCHANGED <<case, given, gen, ctxDown, genDown, restarts, left>>

UserCancelCtx ==
  \E t \in Tickets :
    /\ ~ctxDown
    /\ Live(book, t)
    /\ Uses("cancelCtx")
    /\ Becomes(EndsActive(Box(net), t))
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts>>

(* KS-REG-4, KS-REG-5                                                          *)
CtxDeadline ==
  \E t \in Tickets :
    /\ ~ctxDown
    /\ Live(book, t)
    /\ book[t].since = 1
    /\ Becomes(EndsActive(Box(net), t))
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts, left>>

(* KS-REG-16                                                                   *)
EpochChanged ==
  \E t \in Tickets :
    /\ ~ctxDown
    /\ genDown
    /\ Live(book, t)
    /\ book[t].bound
    /\ Becomes(EndsUnknown(Box(net), t))
    /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts, left>>

Age ==
  /\ ~ctxDown
  /\ net = {}
  /\ \A t \in Tickets : ~Awaits(gen[t])
  /\ Uses("ages")
  /\ Becomes([With(Box(net), Aged(book)) EXCEPT !.early = early])
  /\ UNCHANGED <<case, given, gen, wrote, ctxDown, genDown, restarts>>

CrashGen ==
  /\ ~genDown
  /\ Uses("crashes")
  /\ genDown' = TRUE
  /\ gen' = [t \in Tickets |-> NewGen]
  /\ net' = {x \in net : x.kind \in ToCtxKinds}
  /\ UNCHANGED <<case, given, wrote, ctxDown, restarts, ctxSide>>

(* A new process begins with empty registries (KS-REG-17).                     *)
CrashCtx ==
  /\ ~ctxDown
  /\ Uses("crashes")
  /\ ctxDown' = TRUE
  /\ book' = [t \in Tickets |-> Nowhere]
  /\ window' = [t \in Tickets |-> NoWindow]
  /\ net' = {x \in net : x.kind \notin ToCtxKinds}
  /\ UNCHANGED <<case, given, gen, bound, wrote, said, genDown, restarts, early>>

RestartCtx ==
  /\ ctxDown
  /\ restarts = 0
  /\ ctxDown' = FALSE
  /\ restarts' = 1
  /\ UNCHANGED <<case, given, gen, net, wrote, genDown, left, ctxSide>>

-----------------------------------------------------------------------------

Init ==
  /\ case \in DOMAIN Worlds
  /\ given = [t \in Tickets |-> "none"]
  /\ gen = [t \in Tickets |-> NewGen]
  /\ book = [t \in Tickets |-> Nowhere]
  /\ window = [t \in Tickets |-> NoWindow]
  /\ net = {}
  /\ bound = [t \in Tickets |-> 0]
  /\ wrote = [t \in Tickets |-> FALSE]
  /\ said = [t \in Tickets |-> {}]
  /\ ctxDown = FALSE
  /\ genDown = FALSE
  /\ restarts = 0
  /\ early = FALSE
  /\ left = C.faults

Due ==
  \/ Publish
  \/ PublishFull
  \/ GenOpens
  \/ GenResends
  \/ GenGivesUp
  \/ GenDeadline
  \/ DeliverToCtx
  \/ DeliverToGen
  \/ Write
  \/ CtxDeadline
  \/ RestartCtx
  \/ EpochChanged

Next ==
  \/ Due
  \/ DeliverTampered
  \/ Drop
  \/ Duplicate
  \/ UserCancelGen
  \/ UserCancelCtx
  \/ Age
  \/ CrashGen
  \/ CrashCtx

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(Due)

-----------------------------------------------------------------------------

(* I3: READY and writes follow from an exact hit only. KS-REG-1                *)
AllowList == \A t \in Tickets : wrote[t] \/ "READY" \in said[t] => bound[t] > 0

(* KS-REG-12, KS-REG-20                                                        *)
BoundOnce == \A t \in Tickets : bound[t] <= 1

(* I5: KS-REG-19, KS-REG-7                                                     *)
NotStartedIsTrue ==
  \A t \in Tickets :
    wrote[t] => /\ "NOT_READY NOT_STARTED" \notin said[t]
                /\ gen[t].state # "NOT_STARTED"

(* KS-REG-12, KS-REG-19                                                        *)
OneAnswer == \A t \in Tickets : ~({"READY", "NOT_READY NOT_STARTED"} \subseteq said[t])

(* I6: KS-SET-3                                                                *)
CompletedHasData == \A t \in Tickets : gen[t].state = "DONE" => wrote[t]

(* KS-REG-2, KS-REG-6                                                          *)
Bounded ==
  /\ Cardinality(At(book, {"active", "waiting"})) <= 1
  /\ Cardinality(At(book, {"cache"})) <= 1

(* KS-REG-6                                                                    *)
AnswersKept == ~early

(* A refused ticket is known to nobody; a published one is in the registry as  *)
(* long as nothing ended it. KS-REG-2                                          *)
Untouched ==
  /\ restarts = 0
  /\ ~ctxDown
  /\ left = C.faults
  /\ \A t \in Tickets : book[t].since = 0 /\ book[t].idle = 0

FullExposesNothing ==
  \A t \in Tickets :
    /\ given[t] = "refused" => gen[t].state = "HELD" /\ said[t] = {}
    /\ given[t] = "published" /\ Untouched /\ bound[t] = 0 => book[t].where # "nowhere"

(* KS-REG-8, KS-TIME-18                                                        *)
WindowsEnd == \A t \in Tickets : window[t].known => book[t].where # "nowhere"

(* KS-REG-17                                                                   *)
FreshStart == ctxDown => At(book, {"active", "cache", "waiting"}) = {}

TicketSettled(t) ==
  /\ ctxDown \/ given[t] # "none"
  /\ ctxDown \/ ~Live(book, t) \/ ~book[t].bound
  /\ \/ gen[t].state \in {"DONE", "NOT_STARTED", "UNKNOWN"}
     \/ gen[t].state = "HELD" /\ (genDown \/ given[t] # "published")

Settled ==
  /\ net = {}
  /\ ~ctxDown \/ restarts > 0
  /\ \A t \in Tickets : TicketSettled(t)

SomethingDue ==
  \/ net # {}
  \/ ctxDown /\ restarts = 0
  \/ \E t \in Tickets :
       \/ ~ctxDown /\ given[t] = "none"
       \/ ~ctxDown /\ Live(book, t) /\ book[t].bound
       \/ ~genDown /\ Awaits(gen[t])
       \/ ~genDown /\ gen[t].state = "IN_FLIGHT"
       \/ ~genDown /\ gen[t].state = "HELD" /\ given[t] = "published"

(* B1: KS-TIME-13                                                              *)
NeverStuck == Settled \/ SomethingDue

(* B1: KS-REG-14, KS-TIME-13                                                   *)
Settles == []<>Settled

-----------------------------------------------------------------------------

NoFaults == [drops |-> 0, dups |-> 0, tampers |-> 0, cancelGen |-> 0, cancelCtx |-> 0, crashes |-> 0, ages |-> 0]

World(tickets, resends, keep, faults) ==
  [tickets |-> tickets, resends |-> resends, keep |-> keep,
   faults |-> [f \in DOMAIN NoFaults |-> IF f \in DOMAIN faults THEN faults[f] ELSE 0]]

SmallCases ==
  <<World(1, 1, 0, [dups |-> 1, cancelGen |-> 1, cancelCtx |-> 1, ages |-> 1]),
    World(1, 1, 0, [drops |-> 1, tampers |-> 1, crashes |-> 1, ages |-> 1]),
    World(2, 0, 0, [cancelCtx |-> 1, ages |-> 1]),
    World(2, 0, 2, [cancelCtx |-> 2, ages |-> 2])>>

(* Small enough for TLC's check of temporal properties.                        *)
LiveCases ==
  <<World(1, 1, 0, [drops |-> 1, cancelGen |-> 1]),
    World(2, 0, 0, [cancelCtx |-> 1, ages |-> 1])>>

MediumCases ==
  SmallCases \o
  <<World(1, 1, 0, [drops |-> 1, dups |-> 1, tampers |-> 1, cancelGen |-> 1, cancelCtx |-> 1, crashes |-> 1, ages |-> 1]),
    World(2, 0, 0, [cancelGen |-> 1, cancelCtx |-> 1, ages |-> 1]),
    World(3, 0, 0, [cancelCtx |-> 2, ages |-> 2])>>
=============================================================================
