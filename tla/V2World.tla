------------------------------ MODULE V2World -------------------------------
(* The world of v2: CTX ranks that publish one ticket, GEN ranks that fetch    *)
(* it, an edge between every two of them, their writes and slots, the network, *)
(* and the rounds of the ranks of each service. Here is what a step of an      *)
(* endpoint does to the world; the events are in V2.                           *)
(*                                                                             *)
(* Time has no length. Ranks, and with them edges, count from 1, chunks from   *)
(* 0. A service that restarts is another incarnation, counted from 0.          *)
EXTENDS V2Common, TLC

(* A sequence of worlds, each an initial state: gens and ctxs (how many ranks),*)
(* caps (which of bits 48 and 49 are selected), contract of the backend (which *)
(* it keeps), deathQuiet (a dead writer's writes end with it, and the adaptor  *)
(* says so), chunks of each edge, perChunk (a notice for each), patient        *)
(* (deadlines pass only when nothing else can happen), calls (an OPEN may be   *)
(* seen before its send returns, and sends may fail), restarts (a service that *)
(* crashed comes back once), lockstep (the ranks of a service hear a verdict,  *)
(* pass the barrier and confirm a seal in one event), strict (what is known to *)
(* fail without enough re-sends is checked all the same), retires (metadata    *)
(* may retire), and faults.                                                    *)
CONSTANT Cases

VARIABLES
  case,   \* index of the world to begin with
  world   \* what there is, a record of all of the following

ctx == world.ctx                  \* ctx[k]: a CTX parent (V2CtxEdge)
gen == world.gen                  \* gen[g]: a GEN parent (V2GenEdge)
ctxWaits == world.ctxWaits        \* ctxWaits[k], genWaits[g]: the armed waits
genWaits == world.genWaits
ctxRound == world.ctxRound        \* each service's present round
genRound == world.genRound
call == world.call                \* call[g][k]: GEN's call that sends an OPEN
net == world.net                  \* the channels that are not empty
edge == world.edge                \* edge[k][g]: the truth about the writes of an edge
ctxPool == world.ctxPool          \* ctxPool[k], genPool[g]: pools (Pools)
genPool == world.genPool
published == world.published      \* published[k]: the ticket was visible
boundTo == world.boundTo          \* boundTo[k]: the incarnation of GEN that k is bound to, plus 1
imported == world.imported        \* imported[g]: GEN has the ticket
leaseAsked == world.leaseAsked    \* leaseAsked[g]: g waits for a slot
work == world.work                \* work[g]: local work on the slot goes on
ctxOutcomes == world.ctxOutcomes  \* reports to the user
genOutcomes == world.genOutcomes
ctxUnknown == world.ctxUnknown    \* ctxUnknown[k], genUnknown[g]: asked to restart
genUnknown == world.genUnknown
ctxDown == world.ctxDown          \* the service is gone
genDown == world.genDown
ctxInc == world.ctxInc            \* its incarnation
genInc == world.genInc
ctxTold == world.ctxTold          \* the GEN ranks that were told that CTX is another one
genTold == world.genTold          \* the CTX ranks that were told that GEN is another one
genQuiet == world.genQuiet        \* the GEN ranks that have proof that CTX's writes ended
ctxRetried == world.ctxRetried    \* re-sends of each rank
genRetried == world.genRetried
lied == world.lied                \* claims that the truth contradicts
refused == world.refused          \* a pool refused what a machine told it to do
overflow == world.overflow        \* a channel was full
crossed == world.crossed          \* a message with another key changed a parent
hasty == world.hasty              \* a re-send was armed without a longer pause
alone == world.alone              \* a parent got its outcome from something else than a round
harmed == world.harmed            \* more happened than cancels and lost messages
cancelled == world.cancelled      \* a user cancelled
left == world.left                \* how often each fault may still strike
retrying == world.retrying        \* set while a re-send is carried out, FALSE between events

vars == <<case, world>>

K == INSTANCE V2Ctx
G == INSTANCE V2Gen
P == INSTANCE Pools

(* (TLC evaluates a definition once, but a constant that the configuration     *)
(* replaces again and again.)                                                  *)
Worlds == Cases

C == Worlds[case]
Gens == 1..C.gens
Ctxs == 1..C.ctxs
Chunks == 0..(C.chunks - 1)
Incs == 0..1
Depth == 8
Budget == 1

ByGen(x) == [g \in Gens |-> x]
ByCtx(x) == [k \in Ctxs |-> x]

(* The next world is w.                                                        *)
Becomes(w) ==
  /\ world' = w
  /\ UNCHANGED case

-----------------------------------------------------------------------------
(* The network: one channel for each edge, direction and pair of incarnations, *)
(* in order.                                                                   *)

Message(type, says, chunk) == [type |-> type, says |-> says, chunk |-> chunk]

Same(x, to, k, g, gi, ci) ==
  /\ x.to = to
  /\ x.ctx = k
  /\ x.gen = g
  /\ x.genInc = gi
  /\ x.ctxInc = ci

Channel(n, to, k, g, gi, ci) ==
  LET S == {x \in n : Same(x, to, k, g, gi, ci)}
  IN IF S = {} THEN <<>> ELSE (CHOOSE x \in S : TRUE).msgs

WithChannel(n, to, k, g, gi, ci, msgs) ==
  {x \in n : ~Same(x, to, k, g, gi, ci)}
  \cup (IF msgs = <<>>
        THEN {}
        ELSE {[to |-> to, ctx |-> k, gen |-> g, genInc |-> gi, ctxInc |-> ci, msgs |-> msgs]})

(* A message with the same bytes as one that is there stands for its repeat.   *)
Put(w, to, k, g, gi, m) ==
  LET c == Channel(w.net, to, k, g, gi, w.ctxInc)
  IN CASE \E i \in DOMAIN c : c[i] = m -> w
       [] Len(c) = Depth -> [w EXCEPT !.overflow = TRUE]
       [] OTHER -> [w EXCEPT !.net = WithChannel(@, to, k, g, gi, w.ctxInc, Append(c, m))]

(* A message goes to the incarnation of GEN that asked, if it still lives.     *)
ToGen(w, k, g, m) ==
  LET inc == IF w.boundTo[k] > 0 THEN w.boundTo[k] - 1 ELSE w.genInc
  IN IF inc # w.genInc \/ w.genDown THEN w ELSE Put(w, "GEN", k, g, inc, m)

ToCtx(w, g, k, m) == IF w.ctxDown THEN w ELSE Put(w, "CTX", k, g, w.genInc, m)

-----------------------------------------------------------------------------
(* What CTX asks to be done.                                                   *)

(* A pool after an effect; one that refuses shows a mistake (KS-SLOT-3).       *)
InCtxPool(w, k, p) ==
  [w EXCEPT !.ctxPool[k] = p.pool,
            !.refused = @ \/ ~p.ok]

InGenPool(w, g, p) ==
  [w EXCEPT !.genPool[g] = p.pool,
            !.refused = @ \/ ~p.ok]

Lie(w, what, when) == IF when THEN [w EXCEPT !.lied = @ \cup {what}] ELSE w

(* The claims of CTX against the truth (I5, I6).                               *)
Witness(w, k, g, evidence) ==
  LET x == w.edge[k][g]
  IN CASE evidence = "NOT_STARTED" -> Lie(w, evidence, x.made > 0)
       [] evidence = "SOURCE_COMPLETE" -> Lie(w, evidence, x.landed # Chunks \/ x.active \cup x.loose # {})
       [] evidence = "QUIESCED" -> Lie(w, evidence, x.active \cup x.loose # {})
       [] OTHER -> w

Notice(w, k, g, m) ==
  LET about == IF m.type # "sync" /\ C.perChunk THEN {m.chunk} ELSE Chunks
  IN ToGen(Lie(w, "notice", ~(about \subseteq w.edge[k][g].landed)), k, g, m)

CtxSend(w, k, e) ==
  LET g == e.edge
      m == Message(e.msg, e.says, e.chunk)
      y == CASE e.msg = "NOT_READY" /\ e.says = "NOT_STARTED" -> Lie(w, "NOT_STARTED", w.edge[k][g].made > 0)
             [] e.msg = "TERMINAL" -> Witness(w, k, g, e.says)
             [] e.msg = "STATUS" /\ e.says = "SOURCE_COMPLETE" -> Witness(w, k, g, e.says)
             [] OTHER -> w
  IN IF e.msg = "DATA_COMPLETE" THEN Notice(w, k, g, m) ELSE ToGen(y, k, g, m)

(* The writes of an edge may be posted, and go where the attempt lives.        *)
CtxWrites(w, k, g) ==
  LET into == IF w.boundTo[k] > 0 THEN w.boundTo[k] ELSE w.genInc + 1
      y == [w EXCEPT !.edge[k][g].open = TRUE,
                     !.edge[k][g].into = into]
  IN IF w.ctxPool[k].slots[1].state = "LEASED" THEN InCtxPool(y, k, P!Begin(w.ctxPool[k], w.ctx[k].lease)) ELSE y

CtxDo(w, k, e) ==
  LET pool == w.ctxPool[k]
      lease == w.ctx[k].lease
  IN CASE e.kind = "Send" -> CtxSend(w, k, e)
       [] e.kind = "Arm" -> [w EXCEPT !.ctxWaits[k] = @ \cup {e.wait},
                                      !.hasty = @ \/ (w.retrying /\ e.wait = "retry-first" /\ e.step = 0)]
       [] e.kind = "Disarm" -> [w EXCEPT !.ctxWaits[k] = @ \ {e.wait}]
       [] e.kind = "Publish" -> [w EXCEPT !.published[k] = TRUE]
       [] e.kind = "Install" -> [w EXCEPT !.ctxRound.installed = @ \cup {k}]
       [] e.kind = "Sync" -> Notice(w, k, e.edge, Message("sync", "", 0))
       [] e.kind = "Write" -> CtxWrites(w, k, e.edge)
       [] e.kind = "Seal" -> [w EXCEPT !.edge[k][e.edge].open = FALSE,
                                       !.edge[k][e.edge].seal = TRUE]
       [] e.kind = "Free" -> InCtxPool(w, k, P!Release(pool, lease, e.proof))
       [] e.kind = "Quarantine" -> InCtxPool(w, k, P!Quarantine(pool, lease, Budget))
       [] e.kind = "Prove" -> InCtxPool(w, k, P!Prove(pool, lease, e.proof))
       [] e.kind = "Restart" -> [w EXCEPT !.ctxUnknown[k] = TRUE]
       [] e.kind = "Settle" -> [w EXCEPT !.ctxOutcomes[k] = @ + 1]
       [] OTHER -> w

(* Op on one number after the other, from 1 to n.                              *)
Through(n, w, Op(_, _)) ==
  LET upTo[i \in 0..n] == IF i = 0 THEN w ELSE Op(upTo[i - 1], i)
  IN upTo[n]

Step(ok, w) == [ok |-> ok, w |-> w]

CtxTakes(w, k, in) ==
  LET r == K!CtxStep(w.ctx[k], in)
      begun == [w EXCEPT !.ctx[k] = r.p,
                         !.alone = @ \/ (in.kind # "Round" /\ r.p.result # w.ctx[k].result)]
      Do(y, i) == CtxDo(y, k, r.eff[i])
  IN IF r.ok THEN Step(TRUE, Through(Len(r.eff), begun, Do)) ELSE Step(FALSE, w)

CtxIn(kind) == [K!NoCtxIn EXCEPT !.kind = kind]
CtxAt(kind, g) == [K!NoCtxIn EXCEPT !.kind = kind, !.edge = g]

(* Where ranks go in lockstep a seal holds at once.                            *)
CtxSteps(w, k, in) ==
  LET r == CtxTakes(w, k, in)
      Seal(y, g) ==
        IF y.edge[k][g].seal
        THEN CtxTakes([y EXCEPT !.edge[k][g].seal = FALSE], k, CtxAt("Sealed", g)).w
        ELSE y
      y == IF C.lockstep THEN Through(C.gens, r.w, Seal) ELSE r.w
  IN CASE ~r.ok -> r
       [] y.ctx[k].edges = 0 -> Step(TRUE, [y EXCEPT !.boundTo[k] = 0])
       [] OTHER -> Step(TRUE, y)

-----------------------------------------------------------------------------
(* What GEN asks to be done.                                                   *)

(* The claims of GEN against the truth (I6).                                   *)
GenWitness(w, g, k, evidence) ==
  CASE evidence = "DESTINATION_COMPLETE" -> Lie(w, evidence, w.edge[k][g].landed # Chunks \/ w.work[g])
    [] evidence \in {"QUIESCED", "NOT_STARTED"} -> Lie(w, "idle", w.work[g])
    [] OTHER -> w

GenSend(w, g, e) ==
  LET k == e.edge
      m == Message(e.msg, e.says, 0)
      y == IF e.msg = "TERMINAL" THEN GenWitness(w, g, k, e.says) ELSE w
      called == [w EXCEPT !.call[g][k] = IF C.calls THEN "calling" ELSE "visible"]
  IN CASE e.msg = "OPEN" /\ ~e.again /\ C.calls -> called
       [] e.msg = "OPEN" /\ ~e.again /\ ~C.calls -> ToCtx(called, g, k, m)
       [] OTHER -> ToCtx(y, g, k, m)

GenDo(w, g, e) ==
  LET pool == w.genPool[g]
      lease == w.gen[g].lease
  IN CASE e.kind = "Send" -> GenSend(w, g, e)
       [] e.kind = "Arm" -> [w EXCEPT !.genWaits[g] = @ \cup {e.wait},
                                      !.hasty = @ \/ (w.retrying /\ e.wait = "retry-first" /\ e.step = 0)]
       [] e.kind = "Disarm" -> [w EXCEPT !.genWaits[g] = @ \ {e.wait}]
       [] e.kind = "Lease" -> [w EXCEPT !.leaseAsked[g] = TRUE]
       [] e.kind = "Withdraw" -> [w EXCEPT !.leaseAsked[g] = FALSE]
       [] e.kind = "Advertise" -> InGenPool(w, g, P!Advertise(pool, lease))
       [] e.kind = "Begin" -> InGenPool(w, g, P!Begin(pool, lease))
       [] e.kind = "Install" -> [w EXCEPT !.genRound.installed = @ \cup {g}]
       [] e.kind = "Process" -> [w EXCEPT !.work[g] = TRUE]
       [] e.kind = "Free" -> InGenPool(w, g, P!Release(pool, lease, e.proof))
       [] e.kind = "Quarantine" -> InGenPool(w, g, P!Quarantine(pool, lease, Budget))
       [] e.kind = "Prove" -> InGenPool(w, g, P!Prove(pool, lease, e.proof))
       [] e.kind = "Abandon" -> InGenPool(w, g, P!Retire(pool, lease))
       [] e.kind = "Restart" -> [w EXCEPT !.genUnknown[g] = TRUE]
       [] e.kind = "Settle" -> [w EXCEPT !.genOutcomes[g] = @ + 1]
       [] OTHER -> w

GenTakes(w, g, in) ==
  LET r == G!GenStep(w.gen[g], in)
      begun == [w EXCEPT !.gen[g] = r.p,
                         !.alone = @ \/ (in.kind \notin {"Round", "Validate"} /\ r.p.result # w.gen[g].result)]
      Do(y, i) == GenDo(y, g, r.eff[i])
  IN IF r.ok THEN Step(TRUE, Through(Len(r.eff), begun, Do)) ELSE Step(FALSE, w)

GenIn(kind) == [G!NoGenIn EXCEPT !.kind = kind]
GenAt(kind, k) == [G!NoGenIn EXCEPT !.kind = kind, !.edge = k]

(* Without calls of their own, sends succeed at once.                          *)
GenSteps(w, g, in) ==
  LET r == GenTakes(w, g, in)
      Sent(y, k) ==
        IF y.call[g][k] = "visible"
        THEN GenTakes([y EXCEPT !.call[g][k] = "none"], g, GenAt("Sent", k)).w
        ELSE y
  IN IF ~r.ok \/ C.calls THEN r ELSE Step(TRUE, Through(C.ctxs, r.w, Sent))

-----------------------------------------------------------------------------
(* Messages arrive.                                                            *)

(* Every attempt here is one with the first incarnation of CTX.                *)
GenHears(w, ci, m, k, g) ==
  LET at == [GenAt("none", k) EXCEPT !.match = IF ci = 0 THEN Exact ELSE Exact \ {"epochs"}]
      in == CASE m.type = "READY" -> [at EXCEPT !.kind = "Ready", !.decision = "READY", !.contract = C.contract]
              [] m.type = "NOT_READY" -> [at EXCEPT !.kind = "Ready", !.decision = "NOT_READY", !.evidence = m.says]
              [] m.type = "sync" -> [at EXCEPT !.kind = "Sync"]
              [] m.type = "DATA_COMPLETE" -> [at EXCEPT !.kind = "Data", !.chunk = m.chunk, !.count = IF C.perChunk THEN C.chunks ELSE 1]
              [] m.type = "STATUS" -> [at EXCEPT !.kind = "Status", !.state = m.says]
              [] m.type = "TERMINAL" -> [at EXCEPT !.kind = "Terminal", !.evidence = m.says]
              [] m.type = "RECEIPT" -> [at EXCEPT !.kind = "Receipt", !.evidence = m.says]
  IN GenSteps(w, g, in).w

(* odd: the selection that CTX computes is another one. An answer to somebody  *)
(* who is not bound goes back to who asked.                                    *)
CtxHears(w, gi, m, k, g, odd) ==
  LET other == w.ctxInc # 0 \/ (w.boundTo[k] # 0 /\ w.boundTo[k] - 1 # gi)
      fits == IF other THEN Exact \ {"attempt", "epochs"} ELSE Exact
      at == [CtxAt("none", g) EXCEPT !.match = IF odd THEN fits \ {"selection"} ELSE fits]
      in == CASE m.type = "OPEN" -> [at EXCEPT !.kind = "Open", !.edges = C.gens, !.chunks = C.chunks,
                                               !.caps = C.caps, !.perChunk = C.perChunk]
              [] m.type = "CANCEL" -> [at EXCEPT !.kind = "CancelMessage"]
              [] m.type = "QUERY" -> [at EXCEPT !.kind = "Query"]
              [] m.type = "TERMINAL" -> [at EXCEPT !.kind = "Terminal", !.evidence = m.says]
              [] m.type = "RECEIPT" -> [at EXCEPT !.kind = "Receipt", !.evidence = m.says]
      asked == IF w.ctx[k].edges = 0 THEN [w EXCEPT !.boundTo[k] = gi + 1] ELSE w
      y == CtxSteps(asked, k, in).w
  IN IF y.ctx[k].edges = 0 THEN [y EXCEPT !.boundTo[k] = 0] ELSE y

-----------------------------------------------------------------------------
(* Rounds. One is one event in which every rank contributes, then one event    *)
(* for each rank that hears the verdict; how payloads travel is the subject of *)
(* Round. verdicts are the ranks that have not heard theirs (by), installed    *)
(* those in the installation barrier, passing those that have not heard that   *)
(* it was passed.                                                              *)

NoRound(n) == [busy |-> FALSE, verdicts |-> {}, installed |-> {}, passing |-> {}, by |-> [i \in 1..n |-> NoVerdict]]

NewRound(n, by) == [NoRound(n) EXCEPT !.busy = TRUE, !.verdicts = 1..n, !.by = by]

View(phase, committed, absent, by) ==
  [phase |-> phase, committed |-> committed, x49 |-> "x49" \in C.caps, absent |-> absent, by |-> by]

Contributions(eff) == {eff[i] : i \in {j \in DOMAIN eff : eff[j].kind = "Contribute"}}

CtxHoldsRound(w, absent) ==
  LET r == TLCEval([k \in Ctxs |-> K!CtxStep(w.ctx[k], CtxIn("Contribute"))])
      said == TLCEval([k \in Ctxs |->
                IF Contributions(r[k].eff) = {}
                THEN Silence
                ELSE LET e == CHOOSE x \in Contributions(r[k].eff) : TRUE
                     IN [Silence EXCEPT !.intent = e.intent, !.evidence = e.evidence]])
      by == [k \in Ctxs |-> Decide(View(K!Phase(r[k].p), K!Committed(r[k].p), absent, said))]
  IN [w EXCEPT !.ctx = [k \in Ctxs |-> r[k].p],
               !.ctxRound = NewRound(C.ctxs, by)]

(* The first GEN rank proposes the attempt (KS-GEN-3).                         *)
GenHoldsRound(w, absent) ==
  LET r == TLCEval([g \in Gens |-> G!GenStep(w.gen[g], GenIn("Contribute"))])
      said == TLCEval([g \in Gens |->
                IF Contributions(r[g].eff) = {}
                THEN Silence
                ELSE LET e == CHOOSE x \in Contributions(r[g].eff) : TRUE
                     IN [intent |-> e.intent, evidence |-> e.evidence, publication |-> e.publication,
                         genAttempt |-> IF g = 1 THEN w.genInc + 1 ELSE 0]])
      by == [g \in Gens |-> Decide(View(G!Phase(r[g].p), G!Committed(r[g].p), absent, said))]
  IN [w EXCEPT !.gen = [g \in Gens |-> r[g].p],
               !.genRound = NewRound(C.gens, by)]

(* Would a round change anything? Ranks that only wait for others do not show. *)
CtxRoundHelps ==
  LET held == CtxHoldsRound(world, {})
      Hear(w, k) == CtxSteps(w, k, [CtxIn("Round") EXCEPT !.verdict = held.ctxRound.by[k]]).w
  IN [Through(C.ctxs, held, Hear) EXCEPT !.ctxRound = ctxRound] # world

GenRoundHelps ==
  LET held == GenHoldsRound(world, {})
      Hear(w, g) == GenSteps(w, g, [GenIn("Round") EXCEPT !.verdict = held.genRound.by[g]]).w
  IN [Through(C.gens, held, Hear) EXCEPT !.genRound = genRound] # world

CtxPending == \E k \in Ctxs : K!Pending(ctx[k])
GenPending == \E g \in Gens : G!Pending(gen[g])

(* After the last verdict: the barrier, if all installed; the end, if none did.*)
VerdictsHeard(round, n) ==
  CASE round.verdicts # {} -> round
    [] round.installed = {} -> NoRound(n)
    [] round.installed = 1..n -> [round EXCEPT !.passing = 1..n]
    [] OTHER -> round

BarrierPassed(round, n) ==
  IF round.passing = {} /\ round.installed = {} /\ round.verdicts = {}
  THEN NoRound(n)
  ELSE round

(* Ranks hear the verdict one by one, in lockstep all of them.                 *)
Together(S) == IF C.lockstep THEN {S} ELSE {{i} : i \in S}

CtxHearVerdict(S) ==
  LET Hear(w, k) ==
        IF k \in S
        THEN [CtxSteps([w EXCEPT !.ctxRound.verdicts = @ \ {k}], k, [CtxIn("Round") EXCEPT !.verdict = ctxRound.by[k]]).w
                EXCEPT !.ctxRound.by[k] = NoVerdict]
        ELSE w
  IN [Through(C.ctxs, world, Hear) EXCEPT !.ctxRound = VerdictsHeard(@, C.ctxs)]

GenHearVerdict(S) ==
  LET Hear(w, g) ==
        IF g \in S
        THEN [GenSteps([w EXCEPT !.genRound.verdicts = @ \ {g}], g, [GenIn("Round") EXCEPT !.verdict = genRound.by[g]]).w
                EXCEPT !.genRound.by[g] = NoVerdict]
        ELSE w
  IN [Through(C.gens, world, Hear) EXCEPT !.genRound = VerdictsHeard(@, C.gens)]

CtxPassBarrier(S) ==
  LET Pass(w, k) ==
        IF k \in S
        THEN CtxSteps([w EXCEPT !.ctxRound.passing = @ \ {k}, !.ctxRound.installed = @ \ {k}], k, CtxIn("Barrier")).w
        ELSE w
  IN [Through(C.ctxs, world, Pass) EXCEPT !.ctxRound = BarrierPassed(@, C.ctxs)]

GenPassBarrier(S) ==
  LET Pass(w, g) ==
        IF g \in S
        THEN GenSteps([w EXCEPT !.genRound.passing = @ \ {g}, !.genRound.installed = @ \ {g}], g, GenIn("Barrier")).w
        ELSE w
  IN [Through(C.gens, world, Pass) EXCEPT !.genRound = BarrierPassed(@, C.gens)]
=============================================================================
