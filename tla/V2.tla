--------------------------------- MODULE V2 ---------------------------------
(* What can happen in the world of v2 (V2World): chapters 13 to 17, 25 and 26. *)
(* Ready, Settle, V2 with one rank and with two, Restart, Recovery and         *)
(* Quiescence are this module with other worlds to begin with (V2Cases).       *)
EXTENDS V2World

LiveGens == IF genDown THEN {} ELSE Gens
LiveCtxs == IF ctxDown THEN {} ELSE Ctxs

(* A budget of faults, spent once.                                             *)
Spend(w, what) == [w EXCEPT !.left[what] = @ - 1]
Harm(w, what) == [Spend(w, what) EXCEPT !.harmed = TRUE]

(* The parent takes the input, and w was the world when it came.               *)
CtxTook(w, k, in) ==
  LET r == TLCEval(CtxSteps(w, k, in))
  IN /\ r.ok
     /\ Becomes([r.w EXCEPT !.retrying = FALSE])

GenTook(w, g, in) ==
  LET r == TLCEval(GenSteps(w, g, in))
  IN /\ r.ok
     /\ Becomes([r.w EXCEPT !.retrying = FALSE])

-----------------------------------------------------------------------------
(* GEN.                                                                        *)

Shown == \A k \in Ctxs : published[k]

(* The router shows a ticket once every CTX rank has published it.             *)
GenImport ==
  \E g \in LiveGens :
    /\ ~imported[g]
    /\ Shown
    /\ GenTook([world EXCEPT !.imported[g] = TRUE, !.genWaits[g] = @ \cup {"admission-deadline"}], g,
               [GenIn("Validate") EXCEPT !.value = TRUE, !.edges = C.ctxs, !.parts = 1, !.caps = C.caps])

GenRefuse ==
  /\ left.refusals > 0
  /\ \E g \in LiveGens :
      /\ ~imported[g]
      /\ Shown
      /\ GenTook([Harm(world, "refusals") EXCEPT !.imported[g] = TRUE], g, [GenIn("Validate") EXCEPT !.cause = "incompatible"])

(* An attempt that has ended withdrew from the queue.                          *)
GenGrant ==
  \E g \in LiveGens :
    LET got == P!LeaseSlot(genPool[g], 1)
        asked == InGenPool([world EXCEPT !.leaseAsked[g] = FALSE], g, got)
        r == GenSteps(asked, g, [GenIn("Granted") EXCEPT !.binding = got.lease])
    IN /\ leaseAsked[g]
       /\ Becomes([r.w EXCEPT !.refused = @ \/ ~r.ok])

GenDeny ==
  /\ left.denials > 0
  /\ \E g \in LiveGens :
      /\ leaseAsked[g]
      /\ GenTook([Harm(world, "denials") EXCEPT !.leaseAsked[g] = FALSE], g, [GenIn("Denied") EXCEPT !.cause = "slot"])

GenPublish ==
  \E g \in LiveGens :
    /\ imported[g]
    /\ G!MayPublish(gen[g])
    /\ GenTook(world, g, GenIn("Publish"))

Processed ==
  \E g \in LiveGens :
    /\ work[g]
    /\ GenTook([world EXCEPT !.work[g] = FALSE], g, [GenIn("Processed") EXCEPT !.value = TRUE])

VerifyFails ==
  /\ left.verifyFails > 0
  /\ \E g \in LiveGens :
      /\ work[g]
      /\ GenTook([Harm(world, "verifyFails") EXCEPT !.work[g] = FALSE], g, GenIn("Processed"))

UserCancelGen ==
  /\ left.cancelGen > 0
  /\ \E g \in LiveGens :
      /\ imported[g]
      /\ gen[g].result = "open"
      /\ GenTook([Spend(world, "cancelGen") EXCEPT !.cancelled = TRUE], g, [GenIn("Cancel") EXCEPT !.cause = "user"])

DoubtGen ==
  /\ left.doubts > 0
  /\ \E g \in LiveGens :
      /\ imported[g]
      /\ gen[g].result = "open"
      /\ GenTook(Harm(world, "doubts"), g, [GenIn("Doubt") EXCEPT !.cause = "protocol"])

(* The call that sends an OPEN (KS-GEN-2).                                     *)
OpenVisible ==
  \E g \in LiveGens, k \in Ctxs :
    /\ call[g][k] = "calling"
    /\ Becomes(ToCtx([world EXCEPT !.call[g][k] = "visible"], g, k, Message("OPEN", "", 0)))

OpenSent ==
  \E g \in LiveGens, k \in Ctxs :
    /\ call[g][k] = "visible"
    /\ GenTook([world EXCEPT !.call[g][k] = "none"], g, GenAt("Sent", k))

OpenDoubtful ==
  /\ left.sendFails > 0
  /\ \E g \in LiveGens, k \in Ctxs :
      /\ call[g][k] # "none"
      /\ GenTook([Harm(world, "sendFails") EXCEPT !.call[g][k] = "none"], g, GenAt("SendFailed", k))

OpenFailed ==
  /\ left.sendFails > 0
  /\ \E g \in LiveGens, k \in Ctxs :
      /\ call[g][k] = "calling"
      /\ GenTook([Harm(world, "sendFails") EXCEPT !.call[g][k] = "none"], g, [GenAt("SendFailed", k) EXCEPT !.value = TRUE])

-----------------------------------------------------------------------------
(* CTX.                                                                        *)

Lease == P!LeaseSlot(P!NewPool(1), 1)

CtxPublish ==
  \E k \in LiveCtxs :
    /\ ctx[k].state = "ABSENT"
    /\ ctxInc = 0
    /\ CtxTook(world, k, [CtxIn("Publish") EXCEPT !.room = TRUE, !.contract = C.contract, !.binding = Lease.lease])

CtxPublishFull ==
  \E k \in LiveCtxs :
    /\ ctx[k].state = "ABSENT"
    /\ ctxInc = 0
    /\ CtxTook(world, k, [CtxIn("Publish") EXCEPT !.contract = C.contract, !.binding = Lease.lease])

CtxPrepare ==
  \E k \in LiveCtxs :
    LET r == CtxSteps(world, k, CtxIn("Prepare"))
    IN /\ ctx[k].state = "BOUND"
       /\ r.ok
       /\ r.w.ctx[k] # ctx[k]
       /\ Becomes(r.w)

CtxReject ==
  /\ left.rejects > 0
  /\ \E k \in LiveCtxs :
      /\ ctx[k].state = "BOUND"
      /\ CtxTook(Harm(world, "rejects"), k, [CtxIn("Reject") EXCEPT !.cause = "incompatible"])

UserCancelCtx ==
  /\ left.cancelCtx > 0
  /\ \E k \in LiveCtxs :
      /\ ctx[k].state # "ABSENT"
      /\ ctx[k].result = "open" \/ ctx[k].state = "SUCCESS_COMPLETE"
      /\ CtxTook([Spend(world, "cancelCtx") EXCEPT !.cancelled = TRUE], k, [CtxIn("Cancel") EXCEPT !.cause = "user"])

DoubtCtx ==
  /\ left.doubts > 0
  /\ \E k \in LiveCtxs :
      /\ ctx[k].state # "ABSENT"
      /\ ctx[k].result = "open"
      /\ CtxTook(Harm(world, "doubts"), k, [CtxIn("Doubt") EXCEPT !.cause = "protocol"])

-----------------------------------------------------------------------------
(* The writes, in the hands of the backend.                                    *)

Post ==
  \E k \in LiveCtxs, g \in Gens :
    LET x == edge[k][g]
    IN /\ x.open
       /\ x.made < C.chunks
       /\ CtxTook([world EXCEPT !.edge[k][g].made = @ + 1, !.edge[k][g].active = @ \cup {x.made}], k,
                  [CtxAt("Posted", g) EXCEPT !.count = 1])

Sealed ==
  \E k \in Ctxs, g \in Gens :
    /\ edge[k][g].seal
    /\ CtxTook([world EXCEPT !.edge[k][g].seal = FALSE], k, CtxAt("Sealed", g))

Running(k, g) == edge[k][g].active \ edge[k][g].handed

WriteAt(kind, g, c) == [CtxAt(kind, g) EXCEPT !.chunk = c]

WriteEnds ==
  \E k \in Ctxs, g \in Gens, c \in Chunks :
    /\ c \in Running(k, g)
    /\ CtxTook([world EXCEPT !.edge[k][g].active = @ \ {c}, !.edge[k][g].landed = @ \cup {c}], k, WriteAt("Written", g, c))

(* Without bit 3 of the contract a failed write may still land (KS-BACK-1).    *)
WriteFails ==
  /\ left.writeFails > 0
  /\ \E k \in Ctxs, g \in Gens, c \in Chunks :
      /\ c \in Running(k, g)
      /\ CtxTook([Harm(world, "writeFails") EXCEPT !.edge[k][g].active = @ \ {c},
                                                   !.edge[k][g].loose = IF ErrorQuiet \in C.contract THEN @ ELSE @ \cup {c}],
                 k, WriteAt("WriteFailed", g, c))

Release ==
  /\ left.releases > 0
  /\ \E k \in Ctxs, g \in Gens, c \in Chunks :
      /\ c \in Running(k, g)
      /\ CtxTook([Harm(world, "releases") EXCEPT !.edge[k][g].handed = @ \cup {c}], k, WriteAt("Released", g, c))

ReleasedEnds ==
  \E k \in Ctxs, g \in Gens, c \in Chunks :
    /\ c \in edge[k][g].active
    /\ c \in edge[k][g].handed
    /\ CtxTook([world EXCEPT !.edge[k][g].active = @ \ {c},
                             !.edge[k][g].handed = @ \ {c},
                             !.edge[k][g].landed = @ \cup {c}],
               k, [WriteAt("Written", g, c) EXCEPT !.again = TRUE])

LooseLands ==
  \E k \in Ctxs, g \in Gens, c \in Chunks :
    /\ c \in edge[k][g].loose
    /\ c \notin edge[k][g].active
    /\ Becomes([world EXCEPT !.edge[k][g].loose = @ \ {c}, !.edge[k][g].landed = @ \cup {c}])

-----------------------------------------------------------------------------
(* The network delivers the oldest message of a channel; it also loses,        *)
(* doubles and overtakes.                                                      *)

With(x, msgs) == [world EXCEPT !.net = WithChannel(@, x.to, x.ctx, x.gen, x.genInc, x.ctxInc, msgs)]

Taken(x) == With(x, Tail(x.msgs))

Oldest(x, to, type) ==
  /\ x.to = to
  /\ Head(x.msgs).type = type

ToCtxParent(x) == Becomes(CtxHears(Taken(x), x.genInc, Head(x.msgs), x.ctx, x.gen, FALSE))
ToGenParent(x) == Becomes(GenHears(Taken(x), x.ctxInc, Head(x.msgs), x.ctx, x.gen))

DeliverOpen == \E x \in net : /\ Oldest(x, "CTX", "OPEN")
                              /\ ToCtxParent(x)
DeliverCancel == \E x \in net : /\ Oldest(x, "CTX", "CANCEL")
                                /\ ToCtxParent(x)
DeliverQuery == \E x \in net : /\ Oldest(x, "CTX", "QUERY")
                               /\ ToCtxParent(x)
DeliverGenTerminal == \E x \in net : /\ Oldest(x, "CTX", "TERMINAL")
                                     /\ ToCtxParent(x)
DeliverGenReceipt == \E x \in net : /\ Oldest(x, "CTX", "RECEIPT")
                                    /\ ToCtxParent(x)
DeliverReady == \E x \in net : /\ Oldest(x, "GEN", "READY")
                               /\ ToGenParent(x)
DeliverNotReady == \E x \in net : /\ Oldest(x, "GEN", "NOT_READY")
                                  /\ ToGenParent(x)
DeliverSync == \E x \in net : /\ Oldest(x, "GEN", "sync")
                              /\ ToGenParent(x)
DeliverData == \E x \in net : /\ Oldest(x, "GEN", "DATA_COMPLETE")
                              /\ ToGenParent(x)
DeliverStatus == \E x \in net : /\ Oldest(x, "GEN", "STATUS")
                                /\ ToGenParent(x)
DeliverCtxTerminal == \E x \in net : /\ Oldest(x, "GEN", "TERMINAL")
                                     /\ ToGenParent(x)
DeliverCtxReceipt == \E x \in net : /\ Oldest(x, "GEN", "RECEIPT")
                                    /\ ToGenParent(x)

(* CTX computes another selection than the OPEN says (KS-SEL-25).              *)
DeliverOddOpen ==
  /\ left.mismatches > 0
  /\ \E x \in net :
      /\ Oldest(x, "CTX", "OPEN")
      /\ Becomes(CtxHears(Harm(Taken(x), "mismatches"), x.genInc, Head(x.msgs), x.ctx, x.gen, TRUE))

Drop ==
  /\ left.drops > 0
  /\ \E x \in net :
      /\ Becomes(Spend(Taken(x), "drops"))

DropNotice ==
  /\ left.dropNotices > 0
  /\ \E x \in net :
      /\ Head(x.msgs).type \in {"sync", "DATA_COMPLETE"}
      /\ Becomes(Spend(Taken(x), "dropNotices"))

Duplicate ==
  /\ left.dups > 0
  /\ \E x \in net :
      /\ Len(x.msgs) < Depth
      /\ Becomes(Spend(With(x, Append(x.msgs, Head(x.msgs))), "dups"))

Reorder ==
  /\ left.reorders > 0
  /\ \E x \in net :
      /\ Len(x.msgs) > 1
      /\ Becomes(Spend(With(x, Append(Tail(x.msgs), Head(x.msgs))), "reorders"))

-----------------------------------------------------------------------------
(* Messages of another attempt, ticket or epoch reach the parent of this one   *)
(* and must change nothing (KS-ID-17, KS-REG-16).                              *)

Elsewhere == {Exact \ {"attempt"}, Exact \ {"ticket"}, Exact \ {"epochs"}, {"request"}}

Crosses(changed) == Becomes([Spend(world, "strays") EXCEPT !.crossed = @ \/ changed])

StraysToCtx(g) ==
  LET open == [CtxAt("Open", g) EXCEPT !.edges = C.gens, !.chunks = C.chunks, !.caps = C.caps, !.perChunk = C.perChunk]
  IN {open, CtxAt("CancelMessage", g),
      [CtxAt("Terminal", g) EXCEPT !.evidence = "NOT_STARTED"],
      [CtxAt("Terminal", g) EXCEPT !.evidence = "UNKNOWN"],
      [CtxAt("Receipt", g) EXCEPT !.evidence = "SOURCE_COMPLETE"]}

StraysToGen(k) ==
  {[GenAt("Ready", k) EXCEPT !.decision = "READY", !.contract = C.contract],
   [GenAt("Ready", k) EXCEPT !.decision = "NOT_READY", !.evidence = "NOT_STARTED"],
   GenAt("Sync", k),
   [GenAt("Data", k) EXCEPT !.count = 1],
   [GenAt("Status", k) EXCEPT !.state = "SOURCE_COMPLETE"],
   [GenAt("Terminal", k) EXCEPT !.evidence = "NOT_STARTED"],
   [GenAt("Terminal", k) EXCEPT !.evidence = "SOURCE_COMPLETE"],
   [GenAt("Terminal", k) EXCEPT !.evidence = "QUIESCED"]}

StrayToCtx ==
  /\ left.strays > 0
  /\ \E k \in LiveCtxs, g \in Gens :
      /\ ctx[k].edges > 0
      /\ \E in \in StraysToCtx(g), match \in Elsewhere :
           Crosses(K!CtxStep(ctx[k], [in EXCEPT !.match = match]).p # ctx[k])

StrayToGen ==
  /\ left.strays > 0
  /\ \E g \in LiveGens, k \in Ctxs :
      /\ imported[g]
      /\ \E in \in StraysToGen(k), match \in Elsewhere :
           Crosses(G!GenStep(gen[g], [in EXCEPT !.match = match]).p # gen[g])

-----------------------------------------------------------------------------
(* Rounds of either service (KS-RND-1). A rank can miss one, or the barrier    *)
(* (KS-RND-12).                                                                *)

CtxRound ==
  /\ ~ctxDown
  /\ ~ctxRound.busy
  /\ CtxPending
  /\ CtxRoundHelps
  /\ Becomes(CtxHoldsRound(world, {}))

CtxRoundMissing ==
  /\ left.roundFails > 0
  /\ \E k \in LiveCtxs :
      /\ ~ctxRound.busy
      /\ CtxPending
      /\ Becomes(CtxHoldsRound(Harm(world, "roundFails"), {k}))

CtxVerdict ==
  /\ ctxRound.verdicts # {}
  /\ \E S \in Together(ctxRound.verdicts) :
       Becomes(CtxHearVerdict(S))

CtxBarrier ==
  /\ ctxRound.passing # {}
  /\ \E S \in Together(ctxRound.passing) :
       Becomes(CtxPassBarrier(S))

GenRound ==
  /\ ~genDown
  /\ ~genRound.busy
  /\ GenPending
  /\ GenRoundHelps
  /\ Becomes(GenHoldsRound(world, {}))

GenRoundMissing ==
  /\ left.roundFails > 0
  /\ \E g \in LiveGens :
      /\ ~genRound.busy
      /\ GenPending
      /\ Becomes(GenHoldsRound(Harm(world, "roundFails"), {g}))

GenVerdict ==
  /\ genRound.verdicts # {}
  /\ \E S \in Together(genRound.verdicts) :
       Becomes(GenHearVerdict(S))

GenBarrier ==
  /\ genRound.passing # {}
  /\ \E S \in Together(genRound.passing) :
       Becomes(GenPassBarrier(S))

BarrierBroken ==
  \E side \in {"CTX", "GEN"} :
    LET MissCtx(w, k) == CtxSteps(w, k, [CtxIn("Round") EXCEPT !.verdict = Missed]).w
        MissGen(w, g) == GenSteps(w, g, [GenIn("Round") EXCEPT !.verdict = Missed]).w
        begun == Harm(world, "roundFails")
    IN /\ left.roundFails > 0
       /\ IF side = "CTX"
          THEN /\ ~ctxDown
               /\ ctxRound.passing = Ctxs
               /\ Becomes(Through(C.ctxs, [begun EXCEPT !.ctxRound = NoRound(C.ctxs)], MissCtx))
          ELSE /\ ~genDown
               /\ genRound.passing = Gens
               /\ Becomes(Through(C.gens, [begun EXCEPT !.genRound = NoRound(C.gens)], MissGen))

-----------------------------------------------------------------------------
(* Whole services.                                                             *)

GenMustExit == \E g \in Gens : genUnknown[g]
CtxMustExit == \E k \in Ctxs : ctxUnknown[k]

(* Nothing can land in memory that is gone.                                    *)
GenGone(w) ==
  [w EXCEPT !.genDown = TRUE,
            !.gen = ByGen(G!NewGen(C.ctxs)),
            !.genWaits = ByGen({}),
            !.genRound = NoRound(C.gens),
            !.genPool = ByGen(P!NewPool(1)),
            !.call = ByGen(ByCtx("none")),
            !.imported = ByGen(FALSE),
            !.leaseAsked = ByGen(FALSE),
            !.work = ByGen(FALSE),
            !.genUnknown = ByGen(FALSE),
            !.genOutcomes = ByGen(0),
            !.ctxTold = {},
            !.genQuiet = {},
            !.genRetried = ByGen(0),
            !.net = {x \in @ : x.to # "GEN"},
            !.edge = [k \in Ctxs |-> [g \in Gens |-> [@[k][g] EXCEPT !.loose = {}]]]]

(* Whether its writes end with CTX is the contract's to say (KS-BACK-4).       *)
CtxGone(w) ==
  [w EXCEPT !.ctxDown = TRUE,
            !.ctx = ByCtx(K!NewCtx(C.gens)),
            !.ctxWaits = ByCtx({}),
            !.ctxRound = NoRound(C.ctxs),
            !.ctxPool = ByCtx(P!NewPool(1)),
            !.ctxUnknown = ByCtx(FALSE),
            !.ctxOutcomes = ByCtx(0),
            !.boundTo = ByCtx(0),
            !.genTold = {},
            !.ctxRetried = ByCtx(0),
            !.net = {x \in @ : x.to # "CTX"},
            !.edge = [k \in Ctxs |-> [g \in Gens |-> [@[k][g] EXCEPT
                       !.loose = IF C.deathQuiet THEN {} ELSE @ \cup w.edge[k][g].active,
                       !.active = {},
                       !.handed = {},
                       !.open = FALSE,
                       !.seal = FALSE]]]]

CrashGen ==
  /\ ~genDown
  /\ left.crashes > 0
  /\ Becomes(GenGone(Harm(world, "crashes")))

CrashCtx ==
  /\ ~ctxDown
  /\ left.crashes > 0
  /\ Becomes(CtxGone(Harm(world, "crashes")))

(* KS-SET-10                                                                   *)
ExitGen ==
  /\ ~genDown
  /\ GenMustExit
  /\ Becomes(GenGone(world))

ExitCtx ==
  /\ ~ctxDown
  /\ CtxMustExit
  /\ Becomes(CtxGone(world))

RestartGen ==
  /\ genDown
  /\ C.restarts
  /\ genInc = 0
  /\ Becomes([world EXCEPT !.genDown = FALSE, !.genInc = 1])

RestartCtx ==
  /\ ctxDown
  /\ C.restarts
  /\ ctxInc = 0
  /\ Becomes([world EXCEPT !.ctxDown = FALSE, !.ctxInc = 1])

CtxIsAnother == ctxDown \/ ctxInc > 0
GenIsAnother == genDown \/ genInc > 0

GenEpochChanged ==
  \E g \in LiveGens :
    /\ CtxIsAnother
    /\ g \notin ctxTold
    /\ imported[g]
    /\ GenTook([world EXCEPT !.ctxTold = @ \cup {g}], g, GenIn("EpochChanged"))

(* Only an adaptor whose contract says so proves by a death that a writer is   *)
(* quiet (KS-BACK-4).                                                          *)
GenPeerQuiet ==
  \E g \in LiveGens :
    LET Quiet(r, k) ==
          LET q == GenSteps(r.w, g, GenAt("PeerQuiet", k))
          IN Step(r.ok \/ q.ok, q.w)
        r == Through(C.ctxs, Step(FALSE, [world EXCEPT !.genQuiet = @ \cup {g}]), Quiet)
    IN /\ CtxIsAnother
       /\ g \notin genQuiet
       /\ imported[g]
       /\ C.deathQuiet
       /\ r.ok
       /\ Becomes(r.w)

CtxEpochChanged ==
  \E k \in LiveCtxs :
    /\ GenIsAnother
    /\ k \notin genTold
    /\ CtxTook([world EXCEPT !.genTold = @ \cup {k}], k, CtxIn("EpochChanged"))

-----------------------------------------------------------------------------
(* Waits end. In a patient world re-sends and the soft deadline wait until     *)
(* nothing is under way, and the hard deadlines wait for those.                *)

GenMayRetry(g) ==
  /\ "retry-first" \in genWaits[g]
  /\ genRetried[g] < left.retries

CtxMayRetry(k) ==
  /\ "retry-first" \in ctxWaits[k]
  /\ ctxRetried[k] < left.retries

GenBusy(g) ==
  \/ work[g]
  \/ leaseAsked[g]
  \/ ~imported[g] /\ gen[g].result = "open" /\ Shown
  \/ G!MayPublish(gen[g])
  \/ \E k \in Ctxs : call[g][k] # "none"

CtxBusy(k) ==
  \/ ctx[k].state = "ABSENT" /\ ctxInc = 0
  \/ \E g \in Gens :
       LET x == edge[k][g]
       IN \/ x.active # {}
          \/ x.seal
          \/ x.open /\ x.made < C.chunks
          \/ ctx[k].state = "BOUND" /\ ctx[k].edge[g].state = "BOUND"

(* Only time can change this world.                                            *)
Calm ==
  /\ net = {}
  /\ ~ctxRound.busy
  /\ ~genRound.busy
  /\ \A g \in LiveGens : ~GenBusy(g)
  /\ \A k \in LiveCtxs : ~CtxBusy(k)
  /\ genDown \/ ~GenPending \/ ~GenRoundHelps
  /\ ctxDown \/ ~CtxPending \/ ~CtxRoundHelps

Soft == ~C.patient \/ Calm

Hard ==
  \/ ~C.patient
  \/ /\ \A g \in LiveGens : "soft-deadline" \notin genWaits[g] /\ ~GenMayRetry(g)
     /\ \A k \in LiveCtxs : ~CtxMayRetry(k)
     /\ Calm

GenWaitOver(g, wait) ==
  /\ Hard
  /\ GenTook([world EXCEPT !.genWaits[g] = @ \ {wait}], g, [GenIn("Wait") EXCEPT !.wait = wait])

CtxWaitOver(k, wait) ==
  /\ Hard
  /\ CtxTook([world EXCEPT !.ctxWaits[k] = @ \ {wait}], k, [CtxIn("Wait") EXCEPT !.wait = wait])

GenAdmissionDeadline ==
  \E g \in LiveGens :
    /\ "admission-deadline" \in genWaits[g]
    /\ GenWaitOver(g, "admission-deadline")

GenRequestDeadline ==
  \E g \in LiveGens :
    /\ "request-deadline" \in genWaits[g]
    /\ GenWaitOver(g, "request-deadline")

GenControlDeadline ==
  \E g \in LiveGens :
    /\ "control-deadline" \in genWaits[g]
    /\ GenWaitOver(g, "control-deadline")

CtxContextDeadline ==
  \E k \in LiveCtxs :
    /\ "context-deadline" \in ctxWaits[k]
    /\ CtxWaitOver(k, "context-deadline")

CtxRequestDeadline ==
  \E k \in LiveCtxs :
    /\ "request-deadline" \in ctxWaits[k]
    /\ CtxWaitOver(k, "request-deadline")

CtxControlDeadline ==
  \E k \in LiveCtxs :
    /\ "control-deadline" \in ctxWaits[k]
    /\ CtxWaitOver(k, "control-deadline")


GenSoftDeadline ==
  \E g \in LiveGens :
    /\ "soft-deadline" \in genWaits[g]
    /\ Soft
    /\ GenTook([world EXCEPT !.genWaits[g] = @ \ {"soft-deadline"}], g, [GenIn("Wait") EXCEPT !.wait = "soft-deadline"])

GenRetire ==
  /\ C.retires
  /\ \E g \in LiveGens :
      /\ "retention" \in genWaits[g]
      /\ GenWaitOver(g, "retention")

CtxRetire ==
  /\ C.retires
  /\ \E k \in LiveCtxs :
      /\ "retention" \in ctxWaits[k]
      /\ CtxWaitOver(k, "retention")

GenRetry ==
  \E g \in LiveGens :
    /\ GenMayRetry(g)
    /\ Soft
    /\ GenTook([world EXCEPT !.genWaits[g] = @ \ {"retry-first"}, !.genRetried[g] = @ + 1, !.retrying = TRUE], g,
               [GenIn("Wait") EXCEPT !.wait = "retry-first"])

CtxRetry ==
  \E k \in LiveCtxs :
    /\ CtxMayRetry(k)
    /\ Soft
    /\ CtxTook([world EXCEPT !.ctxWaits[k] = @ \ {"retry-first"}, !.ctxRetried[k] = @ + 1, !.retrying = TRUE], k,
               [CtxIn("Wait") EXCEPT !.wait = "retry-first"])

-----------------------------------------------------------------------------

NewEdge == [open |-> FALSE, seal |-> FALSE, into |-> 0, made |-> 0, active |-> {}, loose |-> {}, landed |-> {}, handed |-> {}]

(* CTX has leased its source slots and is about to publish on every rank.      *)
Begins ==
  [ctx |-> ByCtx(K!NewCtx(C.gens)),
   gen |-> ByGen(G!NewGen(C.ctxs)),
   ctxWaits |-> ByCtx({}),
   genWaits |-> ByGen({}),
   ctxRound |-> NoRound(C.ctxs),
   genRound |-> NoRound(C.gens),
   call |-> ByGen(ByCtx("none")),
   net |-> {},
   edge |-> ByCtx(ByGen(NewEdge)),
   ctxPool |-> ByCtx(Lease.pool),
   genPool |-> ByGen(P!NewPool(1)),
   published |-> ByCtx(FALSE),
   boundTo |-> ByCtx(0),
   imported |-> ByGen(FALSE),
   leaseAsked |-> ByGen(FALSE),
   work |-> ByGen(FALSE),
   ctxOutcomes |-> ByCtx(0),
   genOutcomes |-> ByGen(0),
   ctxUnknown |-> ByCtx(FALSE),
   genUnknown |-> ByGen(FALSE),
   ctxDown |-> FALSE,
   genDown |-> FALSE,
   ctxInc |-> 0,
   genInc |-> 0,
   ctxTold |-> {},
   genTold |-> {},
   genQuiet |-> {},
   ctxRetried |-> ByCtx(0),
   genRetried |-> ByGen(0),
   lied |-> {},
   refused |-> FALSE,
   overflow |-> FALSE,
   crossed |-> FALSE,
   hasty |-> FALSE,
   alone |-> FALSE,
   harmed |-> FALSE,
   cancelled |-> FALSE,
   left |-> C.faults,
   retrying |-> FALSE]

Init ==
  /\ case \in DOMAIN Cases
  /\ world = Begins

(* What happens by itself if it stays possible.                                *)
Due ==
  \/ CtxPublish
  \/ GenImport
  \/ GenGrant
  \/ GenPublish
  \/ OpenVisible
  \/ OpenSent
  \/ DeliverOpen
  \/ DeliverCancel
  \/ DeliverQuery
  \/ DeliverGenTerminal
  \/ DeliverGenReceipt
  \/ DeliverReady
  \/ DeliverNotReady
  \/ DeliverSync
  \/ DeliverData
  \/ DeliverStatus
  \/ DeliverCtxTerminal
  \/ DeliverCtxReceipt
  \/ CtxPrepare
  \/ CtxRound
  \/ CtxVerdict
  \/ CtxBarrier
  \/ GenRound
  \/ GenVerdict
  \/ GenBarrier
  \/ Post
  \/ WriteEnds
  \/ ReleasedEnds
  \/ Sealed
  \/ Processed
  \/ CtxContextDeadline
  \/ CtxRequestDeadline
  \/ CtxControlDeadline
  \/ CtxRetry
  \/ GenAdmissionDeadline
  \/ GenRequestDeadline
  \/ GenSoftDeadline
  \/ GenControlDeadline
  \/ GenRetry
  \/ ExitGen
  \/ ExitCtx
  \/ RestartGen
  \/ RestartCtx

(* Faults, users, and what need not be heard.                                  *)
Chance ==
  \/ CtxPublishFull
  \/ GenRefuse
  \/ GenDeny
  \/ OpenFailed
  \/ OpenDoubtful
  \/ DeliverOddOpen
  \/ Drop
  \/ DropNotice
  \/ Duplicate
  \/ Reorder
  \/ StrayToCtx
  \/ StrayToGen
  \/ CtxReject
  \/ CtxRoundMissing
  \/ GenRoundMissing
  \/ BarrierBroken
  \/ WriteFails
  \/ Release
  \/ LooseLands
  \/ VerifyFails
  \/ UserCancelGen
  \/ UserCancelCtx
  \/ DoubtGen
  \/ DoubtCtx
  \/ CtxRetire
  \/ GenRetire
  \/ CrashGen
  \/ CrashCtx
  \/ GenEpochChanged
  \/ GenPeerQuiet
  \/ CtxEpochChanged

Next ==
  \/ Due
  \/ Chance

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(Due)
=============================================================================
