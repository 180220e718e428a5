---------------------------- MODULE V2Invariants ----------------------------
(* What holds in every reachable state of V2, by the names of the Go world's   *)
(* invariants, and when nothing is owed any more.                              *)
EXTENDS V2

EveryEdge(Holds(_, _)) == \A k \in Ctxs, g \in Gens : Holds(k, g)

(* Both services live in the incarnations that made the attempt.               *)
SameLives ==
  /\ ~ctxDown
  /\ ~genDown
  /\ ctxInc = 0
  /\ genInc = 0

(* A write of the edge can still reach GEN's memory.                           *)
MayWrite(k, g) ==
  LET x == edge[k][g]
  IN \/ x.active \cup x.loose # {}
     \/ ~ctxDown /\ x.open /\ x.made < C.chunks

-----------------------------------------------------------------------------
(* Slots.                                                                      *)

(* I8, I10: as long as a write may land, the slot that was advertised for      *)
(* it is nobody else's. A restarted GEN has other memory. KS-SLOT-4,           *)
(* KS-SLOT-19, KS-SET-7                                                        *)
NoWriteIntoFreeSlot ==
  LET Kept(k, g) == \/ ~MayWrite(k, g)
                    \/ edge[k][g].into # genInc + 1
                    \/ genPool[g].slots[1].state \in {"ADVERTISED", "IN_FLIGHT", "QUARANTINED", "RETIRED"}
  IN genDown \/ EveryEdge(Kept)

(* I8: KS-SLOT-4, KS-CTX-8                                                     *)
NoWriteFromFreeSlot ==
  LET Kept(k, g) == edge[k][g].active = {} \/ ctxPool[k].slots[1].state # "FREE"
  IN ctxDown \/ EveryEdge(Kept)

(* I14: a lease ends once, by its token. KS-SLOT-3                             *)
CleanupOnce == ~refused

(* What the machines believe of their leases is what the pools say.            *)
(* KS-SLOT-27                                                                  *)
Believes(p, pool) ==
  /\ ("leased" \in p.flags) = (pool.slots[1].state \in {"LEASED", "ADVERTISED", "IN_FLIGHT"})
  /\ ("isolated" \in p.flags) = (pool.slots[1].state = "QUARANTINED")

LeasesAddUp ==
  /\ \A g \in LiveGens : gen[g].state = "RETIRED" \/ Believes(gen[g], genPool[g])
  /\ \A k \in LiveCtxs : ctx[k].state \in {"RETIRED", "ABSENT"} \/ Believes(ctx[k], ctxPool[k])

(* I7, I10: in plain v2 an attempt that ended UNKNOWN with an unproven         *)
(* lease has asked for the restart. KS-SET-7, KS-SET-10                        *)
Asked(p, asked) ==
  \/ p.state # "TERMINAL_UNKNOWN"
  \/ "isolated" \notin p.flags
  \/ asked

UnknownRestarts ==
  \/ "x49" \in C.caps
  \/ /\ \A g \in LiveGens : Asked(gen[g], genUnknown[g])
     /\ \A k \in LiveCtxs : Asked(ctx[k], ctxUnknown[k])

-----------------------------------------------------------------------------
(* Outcomes.                                                                   *)

(* I6, I16: KS-SET-3                                                           *)
CompletedHasData ==
  LET Here(k, g) == /\ edge[k][g].landed = Chunks
                    /\ edge[k][g].into = genInc + 1
                    /\ ~work[g]
  IN \A g \in LiveGens : gen[g].result # "completed" \/ \A k \in Ctxs : Here(k, g)

(* KS-V1-12                                                                    *)
OneOutcome ==
  /\ \A g \in Gens : genOutcomes[g] <= 1
  /\ \A k \in Ctxs : ctxOutcomes[k] <= 1
  /\ \A g \in LiveGens : (gen[g].result # "open") = (genOutcomes[g] = 1)
  /\ \A k \in LiveCtxs : (ctx[k].result # "open") = (ctxOutcomes[k] = 1)

(* I11: ranks whose attempt was ended by reduction ended it alike. KS-RND-6,   *)
(* KS-SET-5                                                                    *)
RanksAgree ==
  /\ \A a, b \in LiveCtxs : {ctx[a].state, ctx[b].state} \subseteq K!Ended => ctx[a].state = ctx[b].state
  /\ \A a, b \in LiveGens : G!Terminal(gen[a]) /\ G!Terminal(gen[b]) => gen[a].state = gen[b].state

(* I5, I6: a side that says NOT_STARTED leaves no room for one that says       *)
(* COMPLETED, and neither for success. KS-SET-5                                *)
SidesAgree ==
  LET Agree(k, g) ==
        /\ ctx[k].state = "TERMINAL_NOT_STARTED" => gen[g].state \notin {"TERMINAL_COMPLETED", "SUCCESS_COMPLETE"}
        /\ gen[g].state = "TERMINAL_NOT_STARTED" => ctx[k].state \notin {"TERMINAL_COMPLETED", "SUCCESS_COMPLETE"}
  IN SameLives => EveryEdge(Agree)

(* No rank shows READY before every rank has installed it. KS-RND-10,          *)
(* KS-RND-11                                                                   *)
BarrierHolds ==
  LET Held(k, g) == /\ ctx[k].edge[g].state = "IN_FLIGHT"
                    /\ \E other \in Ctxs \ {k} :
                         /\ ctx[other].state = "BOUND"
                         /\ ctx[other].edge[g].state \in {"BOUND", "READY_PREPARED", "CANCEL_PENDING"}
      Holds(k, g) == ~Held(k, g)
  IN ctxDown \/ EveryEdge(Holds)

(* I11, I15: a deadline, a message or a call alone ends no attempt.            *)
(* KS-TIME-14, KS-TIME-15, KS-RND-8                                            *)
OnlyRoundsDecide == ~alone

-----------------------------------------------------------------------------
(* What is said is true.                                                       *)

(* I5: KS-SET-2                                                                *)
NotStartedIsTrue ==
  LET Never(k, g) == ctx[k].edge[g].state = "EVIDENCE_NOT_STARTED" => edge[k][g].made = 0
  IN /\ "NOT_STARTED" \notin lied
     /\ ctxDown \/ EveryEdge(Never)

(* I6: KS-SET-3, KS-REC-13                                                     *)
SourceCompleteIsTrue == "SOURCE_COMPLETE" \notin lied

(* I8: KS-QUI-4, KS-QUI-5                                                      *)
QuiescedIsTrue ==
  LET Still(k, g) == ctx[k].edge[g].state = "EVIDENCE_QUIESCED" => edge[k][g].active \cup edge[k][g].loose = {}
  IN /\ "QUIESCED" \notin lied
     /\ ctxDown \/ EveryEdge(Still)

(* I6: KS-V1-11                                                                *)
NoticeAfterData == "notice" \notin lied

(* I6: KS-SET-3                                                                *)
DestinationCompleteIsTrue == "DESTINATION_COMPLETE" \notin lied

(* I8: KS-QUI-6                                                                *)
DestinationIdle == "idle" \notin lied

(* I13: what a side has recorded as the other's evidence is what the other     *)
(* claims. KS-SET-9, KS-SET-11                                                 *)
OfCtx(k, g) ==
  \/ gen[g].edge[k].peer = "none"
  \/ gen[g].edge[k].peer = K!Evidence(ctx[k], g)
  \/ gen[g].edge[k].peer = "NOT_STARTED" /\ ctx[k].edge[g].state = "ABSENT"

OfGen(k, g) == ctx[k].edge[g].peer \in {"none", G!Evidence(gen[g], k)}

EvidenceIsTheirs ==
  LET Theirs(k, g) == \/ ctx[k].state = "RETIRED"
                      \/ gen[g].state = "RETIRED"
                      \/ OfCtx(k, g) /\ OfGen(k, g)
  IN SameLives => EveryEdge(Theirs)

(* I1, I2, I12: KS-ID-17, KS-REG-16, KS-ID-8                                   *)
OtherKeysChangeNothing == ~crossed

(* KS-REG-13                                                                   *)
PausesGrow == ~hasty

(* The bound of the network's channels hides nothing.                          *)
ChannelsSuffice == ~overflow

-----------------------------------------------------------------------------
(* What patience and the extensions buy.                                       *)

(* Deadlines wait for everything else, and a rank may re-send more often than  *)
(* messages are lost.                                                          *)
Enough ==
  /\ C.patient
  /\ C.faults.retries > C.faults.drops \/ C.strict

(* With bit 49 cancels and lost messages alone end no attempt UNKNOWN.         *)
(* KS-QUI-12                                                                   *)
CancelNeverUnknown ==
  Enough /\ "x49" \in C.caps /\ ~harmed =>
    /\ \A g \in Gens : gen[g].state \notin {"TERMINAL_UNKNOWN", "UNINSTALLED_UNKNOWN"}
    /\ \A k \in Ctxs : ctx[k].state # "TERMINAL_UNKNOWN"

(* With bit 48 an attempt that lost nothing but messages, and that nobody      *)
(* cancelled, ends completed. KS-REC-11                                        *)
LostNoticeCompletes ==
  Enough /\ "x48" \in C.caps /\ ~harmed /\ ~cancelled =>
    \A g \in LiveGens : gen[g].result \in {"open", "completed"}

(* So does one that nothing happened to. In plain v2 with several ranks it     *)
(* does not: ranks that complete in different rounds end UNKNOWN by the table  *)
(* of rounds. KS-SET-3, KS-RND-8                                               *)
FaultFreeCompletes ==
  /\ C.patient
  /\ left = C.faults
  /\ C.gens + C.ctxs <= 2 \/ "x49" \in C.caps \/ C.strict
  => /\ ~genDown
     /\ ~ctxDown
     /\ \A g \in Gens : gen[g].result \in {"open", "completed"}
     /\ \A k \in Ctxs : ctx[k].result \in {"open", "completed"}

-----------------------------------------------------------------------------
(* Ends.                                                                       *)

GenRankSettled(g) ==
  IF ~imported[g] /\ gen[g].result = "open"
  THEN ~Shown
  ELSE /\ gen[g].result # "open"
       /\ ~work[g]
       /\ ~leaseAsked[g]
       /\ gen[g].state \in {"SUCCESS_COMPLETE", "RETIRED"} \/ G!Terminal(gen[g])
       /\ ~G!Pending(gen[g]) \/ ~GenRoundHelps

GenSettled ==
  /\ ~genRound.busy
  /\ ~GenMustExit
  /\ \A g \in Gens : GenRankSettled(g)

(* A new incarnation owes nothing for the old one.                             *)
CtxRankSettled(k) ==
  \/ ctx[k].state = "ABSENT" /\ ctxInc > 0
  \/ /\ ctx[k].result # "open"
     /\ ctx[k].state \in {"SUCCESS_COMPLETE", "RETIRED"} \cup K!Ended
     /\ ~K!Pending(ctx[k]) \/ ~CtxRoundHelps

CtxSettled ==
  /\ ~ctxRound.busy
  /\ ~CtxMustExit
  /\ \A k \in Ctxs : CtxRankSettled(k)

Settled ==
  /\ genDown \/ GenSettled
  /\ ctxDown \/ CtxSettled

Armed(waits) == waits \ {"retry-first", "retention"} # {}

SomethingDue ==
  \/ net # {}
  \/ genDown /\ C.restarts /\ genInc = 0
  \/ ctxDown /\ C.restarts /\ ctxInc = 0
  \/ ~genDown /\ genRound.busy
  \/ ~ctxDown /\ ctxRound.busy
  \/ \E g \in LiveGens :
       \/ GenBusy(g)
       \/ genUnknown[g]
       \/ Armed(genWaits[g])
       \/ GenMayRetry(g)
  \/ \E k \in LiveCtxs :
       \/ CtxBusy(k)
       \/ ctxUnknown[k]
       \/ Armed(ctxWaits[k])
       \/ CtxMayRetry(k)
  \/ ~genDown /\ GenPending /\ GenRoundHelps
  \/ ~ctxDown /\ CtxPending /\ CtxRoundHelps

(* B1: a wait without an end is seen at once (KS-TIME-13).                     *)
NeverStuck == SomethingDue \/ Settled

(* B1, B2: KS-TIME-13, KS-V1-12. Only the configuration live checks it. The    *)
(* search for hangs of kvmodel explore does so on the same graph in every      *)
(* configuration.                                                              *)
Settles == []<>Settled
=============================================================================
