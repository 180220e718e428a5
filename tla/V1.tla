--------------------------------- MODULE V1 ---------------------------------
(* The legacy layer and v1: GEN ranks that fetch from CTX ranks by request,    *)
(* ready and sync, with their pools, tags and registries, a network that       *)
(* loses, repeats and reorders, users who cancel and processes that die        *)
(* (chapters 11 and 12).                                                       *)
(*                                                                             *)
(* Time has no length: a deadline may pass as soon as its wait has begun. All  *)
(* requests share one 12-bit tag. Every rank is counted from 1, edges from 0:  *)
(* the edge to rank k is k - 1.                                                *)
EXTENDS Pools, Tags, TLC

(* A sequence of worlds, each an initial state: the numbers of GEN ranks, CTX  *)
(* ranks and requests; enabled (a cancel before success decides); deathQuiet   *)
(* (a dead writer's write ends with it, and the adaptor says so); fit (what    *)
(* GEN's validation found out); slots and budget of each pool; faults.         *)
CONSTANT Cases

VARIABLES
  case,         \* index of the world
  gen,          \* gen[g][r]: an attempt (V1Gen)
  ctx,          \* ctx[k][r]: a context (V1Ctx)
  call,         \* call[g][r]: GEN's call that sends a request, with its edge
  genPool,      \* genPool[g], ctxPool[k]: pools (Pools)
  ctxPool,
  registry,     \* registry[k]: CTX's memory of ids (Tags)
  tags,         \* tags[g][k]: the tag of a rank pair (Tags)
  target,       \* target[g][r]: slot and generation that were advertised
  published,    \* published[k][r]: the context was visible once
  net,          \* set of messages with the number of copies, at most 2
  write,        \* write[k][g][r]: none, writing, written, ended, orphan
  stop,         \* stop[k][g][r]: CTX has told the write to stop
  said,         \* said[k][g][r]: what CTX has told GEN, see Yes, No, Done
  genOutcomes,  \* genOutcomes[g][r], ctxOutcomes[k][r]: reports to the user
  ctxOutcomes,
  early,        \* early[g][r]: GEN read the slot before its data was there
  cancelled,    \* cancelled[g][r]: a cancel was taken while it was open
  genDown,      \* genDown[g], ctxDown[k]: the process is gone
  ctxDown,
  genLost,      \* genLost[g][k]: GEN was told so of CTX; genQuiet: with proof
  genQuiet,
  ctxLost,      \* ctxLost[k][g]: CTX was told so of GEN
  aged,         \* aged[g]: the control lifetime of the first attempt is over
  refused,      \* a container refused what a machine told it to do
  left          \* how often each fault may still strike

world == <<case, cancelled, genDown, ctxDown, genLost, genQuiet, ctxLost, aged>>
genVars == <<gen, call, genPool, tags, target, early, genOutcomes>>
ctxVars == <<ctx, ctxPool, registry, published, write, stop, said, ctxOutcomes>>
vars == <<world, genVars, ctxVars, net, refused, left>>

G == INSTANCE V1Gen
K == INSTANCE V1Ctx

(* A configuration's replacement of a constant is evaluated at every use; this is    *)
(* not.                                                                        *)
Worlds == Cases
C == Worlds[case]
Gens == 1..C.gens
Ctxs == 1..C.ctxs
Reqs == 1..C.reqs
Const == [edges |-> C.ctxs, cancels |-> C.enabled, expects |-> C.fit = "MismatchCanReject"]
Id(r) == (r - 1) * 4096 + 1
CacheSize == 1

Yes == 0
No == 1
Done == 2

-----------------------------------------------------------------------------
(* The network: a bag of messages. A third copy changes nothing.               *)

Copies(n, kind, k, g, r) ==
  LET S == {x \in n : x.kind = kind /\ x.ctx = k /\ x.gen = g /\ x.req = r}
  IN IF S = {} THEN 0 ELSE (CHOOSE x \in S : TRUE).n

Message(kind, k, g, r, copies) == [kind |-> kind, ctx |-> k, gen |-> g, req |-> r, n |-> copies]

Other(n, kind, k, g, r) == {x \in n : ~(x.kind = kind /\ x.ctx = k /\ x.gen = g /\ x.req = r)}

Put(n, kind, k, g, r) ==
  Other(n, kind, k, g, r) \cup {Message(kind, k, g, r, IF Copies(n, kind, k, g, r) = 0 THEN 1 ELSE 2)}

Take(n, kind, k, g, r) ==
  Other(n, kind, k, g, r) \cup (IF Copies(n, kind, k, g, r) = 2 THEN {Message(kind, k, g, r, 1)} ELSE {})

-----------------------------------------------------------------------------
(* A rank carries out the effects of its machines in order. (TLCEval changes   *)
(* nothing: it makes TLC evaluate a value once.)                               *)

RECURSIVE GenDo(_, _, _, _)
GenDo(b, g, r, fx) ==
  IF fx = <<>> THEN b ELSE
  LET e == Head(fx)
      p == PoolDo(b.pool, C.budget, e)
      t == [k \in Ctxs |-> EndTag(b.tags[k], Id(r), aged[g])]
      next == CASE e.do \in PoolEffects -> [b EXCEPT !.pool = p.pool,
                                                     !.ok = @ /\ p.ok]
                [] e.do = "endTag" -> [b EXCEPT !.tags = [k \in Ctxs |-> t[k].tag],
                                                !.ok = @ /\ \A k \in Ctxs : t[k].ok]
                [] OTHER -> b
  IN GenDo(next, g, r, Tail(fx))

RECURSIVE GenDoAll(_, _, _, _)
GenDoAll(b, g, step, r) ==
  IF r \notin Reqs THEN b ELSE GenDoAll(GenDo(b, g, r, step[r].fx), g, step, r + 1)

Has(fx, what) == \E i \in DOMAIN fx : fx[i].do = what
Edges(fx, what) == {fx[i].edge : i \in {j \in DOMAIN fx : fx[j].do = what}}
LeaseOf(fx, what) == (CHOOSE e \in {fx[i] : i \in DOMAIN fx} : e.do = what).lease

NoCall == [state |-> "none", edge |-> 0]

(* b is GEN's pool and tags before the effects; calls the calls under way;     *)
(* steps[r] what the machine of request r does.                                 *)
GenRank(g, b, calls, steps) ==
  LET step == TLCEval(steps)
      after == TLCEval(GenDoAll(b, g, step, 1))
      Fx(r) == step[r].fx
  IN /\ gen' = [gen EXCEPT ![g] = [r \in Reqs |-> step[r].m]]
     /\ genPool' = [genPool EXCEPT ![g] = after.pool]
     /\ tags' = [tags EXCEPT ![g] = after.tags]
     /\ call' = [call EXCEPT ![g] = [r \in Reqs |->
                   IF Has(Fx(r), "sendRequest")
                   THEN [state |-> "calling", edge |-> CHOOSE e \in Edges(Fx(r), "sendRequest") : TRUE]
                   ELSE calls[r]]]
     /\ target' = [target EXCEPT ![g] = [r \in Reqs |->
                   IF Has(Fx(r), "advertise")
                   THEN [slot |-> LeaseOf(Fx(r), "advertise").slot, gen |-> LeaseOf(Fx(r), "advertise").gen]
                   ELSE @[r]]]
     /\ early' = [early EXCEPT ![g] = [r \in Reqs |->
                   @[r] \/ (Has(Fx(r), "scatter") /\ \E k \in Ctxs : write[k][g][r] # "written")]]
     /\ genOutcomes' = [genOutcomes EXCEPT ![g] = [r \in Reqs |-> IF Has(Fx(r), "settle") THEN @[r] + 1 ELSE @[r]]]
     /\ refused' = (refused \/ ~after.ok)

GenBox(g) == [pool |-> genPool[g], tags |-> tags[g], ok |-> TRUE]
GenOnly(g, r, x) == [q \in Reqs |-> IF q = r /\ G!Live(gen[g][q]) THEN x ELSE G!Stay(gen[g][q])]
GenStep(g, r, x) == GenRank(g, GenBox(g), call[g], GenOnly(g, r, x))

RECURSIVE CtxDo(_, _, _)
CtxDo(b, x, r) ==
  IF x.fx = <<>> THEN b ELSE
  LET e == Head(x.fx)
      p == PoolDo(b.pool, C.budget, e)
      q == CloseId(b.reg, Id(r), x.m.committed, CacheSize)
      next == CASE e.do \in PoolEffects -> [b EXCEPT !.pool = p.pool,
                                                     !.ok = @ /\ p.ok]
                [] e.do = "drop" -> [b EXCEPT !.reg = q.reg,
                                              !.ok = @ /\ q.ok]
                [] OTHER -> b
  IN CtxDo(next, [x EXCEPT !.fx = Tail(@)], r)

RECURSIVE CtxDoAll(_, _, _)
CtxDoAll(b, step, r) ==
  IF r \notin Reqs THEN b ELSE CtxDoAll(CtxDo(b, step[r], r), step, r + 1)

Spoken == {"sayYes", "sayNo", "sync"}
KindOf(what) == CASE what = "sayYes" -> "ready" [] what = "sayNo" -> "reject" [] what = "sync" -> "sync"

RECURSIVE Send(_, _, _, _)
Send(n, k, r, fx) ==
  IF fx = <<>> THEN n ELSE
  LET e == Head(fx)
      g == e.edge + 1
  IN Send(IF e.do \in Spoken /\ ~genDown[g] THEN Put(n, KindOf(e.do), k, g, r) ELSE n, k, r, Tail(fx))

RECURSIVE SendAll(_, _, _, _)
SendAll(n, k, step, r) ==
  IF r \notin Reqs THEN n ELSE SendAll(Send(n, k, r, step[r].fx), k, step, r + 1)

Words(fx, g) ==
  (IF g - 1 \in Edges(fx, "sayYes") THEN {Yes} ELSE {})
  \cup (IF g - 1 \in Edges(fx, "sayNo") THEN {No} ELSE {})
  \cup (IF g - 1 \in Edges(fx, "sync") THEN {Done} ELSE {})

(* b is CTX's pool and registry before the effects, n the network, writes the  *)
(* writes of this rank; steps[r] what the machine of request r does.            *)
CtxRank(k, b, n, writes, steps) ==
  LET step == TLCEval(steps)
      after == TLCEval(CtxDoAll(b, step, 1))
      Fx(r) == step[r].fx
  IN /\ ctx' = [ctx EXCEPT ![k] = [r \in Reqs |-> step[r].m]]
     /\ ctxPool' = [ctxPool EXCEPT ![k] = after.pool]
     /\ registry' = [registry EXCEPT ![k] = after.reg]
     /\ published' = [published EXCEPT ![k] = [r \in Reqs |-> @[r] \/ Has(Fx(r), "publish")]]
     /\ net' = SendAll(n, k, step, 1)
     /\ write' = [write EXCEPT ![k] = [g \in Gens |-> [r \in Reqs |->
                   IF g - 1 \in Edges(Fx(r), "write") THEN "writing" ELSE writes[g][r]]]]
     /\ stop' = [stop EXCEPT ![k] = [g \in Gens |-> [r \in Reqs |-> @[g][r] \/ g - 1 \in Edges(Fx(r), "stop")]]]
     /\ said' = [said EXCEPT ![k] = [g \in Gens |-> [r \in Reqs |-> @[g][r] \cup Words(Fx(r), g)]]]
     /\ ctxOutcomes' = [ctxOutcomes EXCEPT ![k] = [r \in Reqs |-> IF Has(Fx(r), "settle") THEN @[r] + 1 ELSE @[r]]]
     /\ refused' = (refused \/ ~after.ok)

CtxBox(k) == [pool |-> ctxPool[k], reg |-> registry[k], ok |-> TRUE]
CtxOnly(k, r, x) == [q \in Reqs |-> IF q = r /\ K!Live(ctx[k][q]) THEN x ELSE K!Stay(ctx[k][q])]
CtxStep(k, r, x) == CtxRank(k, CtxBox(k), net, write[k], CtxOnly(k, r, x))

(* With the fault what used up once.                                           *)
Uses(what) ==
  /\ left[what] > 0
  /\ left' = [left EXCEPT ![what] = @ - 1]

LiveGens == {g \in Gens : ~genDown[g]}
LiveCtxs == {k \in Ctxs : ~ctxDown[k]}
GenOpen(g, r) == gen[g][r].state # "IMPORTED" /\ gen[g][r].result = "open"
CtxOpen(k, r) == ctx[k][r].state # "IMPORTED" /\ ctx[k][r].result = "open"

-----------------------------------------------------------------------------
(* CTX.                                                                        *)

CtxGrant ==
  \E k \in LiveCtxs, r \in Reqs :
    LET got == LeaseSlot(ctxPool[k], r)
        b == [CtxBox(k) EXCEPT !.pool = got.pool]
    IN /\ ctx[k][r].state = "WAITING"
       /\ MayLease(ctxPool[k])
       /\ CtxRank(k, b, net, write[k], CtxOnly(k, r, K!Granted(ctx[k][r], got.lease)))
       /\ UNCHANGED <<world, genVars, left>>

CtxDeny ==
  \E k \in LiveCtxs, r \in Reqs :
    /\ ctx[k][r].state = "WAITING"
    /\ Uses("denials")
    /\ CtxStep(k, r, K!Denied(C.gens, ctx[k][r], "slot-too-small"))
    /\ UNCHANGED <<world, genVars>>

UserCancelCtx ==
  \E k \in LiveCtxs, r \in Reqs :
    /\ ctx[k][r].result = "open"
    /\ Uses("cancelCtx")
    /\ CtxStep(k, r, K!Cancel(C.gens, ctx[k][r]))
    /\ UNCHANGED <<world, genVars>>

CtxWaitEnds(k, r, wait) ==
  /\ ctx[k][r].wait = wait
  /\ CtxStep(k, r, K!Deadline(C.gens, ctx[k][r]))
  /\ UNCHANGED <<world, genVars, left>>

CtxAdmissionDeadline == \E k \in LiveCtxs, r \in Reqs : CtxWaitEnds(k, r, "admission")
CtxContextDeadline == \E k \in LiveCtxs, r \in Reqs : CtxWaitEnds(k, r, "context")
CtxRequestDeadline == \E k \in LiveCtxs, r \in Reqs : CtxWaitEnds(k, r, "request")
CtxControlDeadline == \E k \in LiveCtxs, r \in Reqs : CtxWaitEnds(k, r, "control")

CtxPeerLost ==
  \E k \in LiveCtxs, g \in Gens :
    /\ genDown[g]
    /\ ~ctxLost[k][g]
    /\ ctxLost' = [ctxLost EXCEPT ![k][g] = TRUE]
    /\ CtxRank(k, CtxBox(k), net, write[k], [r \in Reqs |->
         IF K!Live(ctx[k][r]) THEN K!Lost(C.gens, ctx[k][r], {g - 1}, "peer-lost") ELSE K!Stay(ctx[k][r])])
    /\ UNCHANGED <<case, cancelled, genDown, ctxDown, genLost, genQuiet, aged, genVars, left>>

(* Over its quarantine budget a process first ends what is open, then exits    *)
(* (KS-SLOT-5).                                                                *)
CtxAbort ==
  \E k \in LiveCtxs :
    /\ ctxPool[k].unhealthy
    /\ \E r \in Reqs : CtxOpen(k, r)
    /\ CtxRank(k, CtxBox(k), net, write[k], [r \in Reqs |->
         IF K!Live(ctx[k][r]) THEN K!Abort(C.gens, ctx[k][r], "pool-unhealthy") ELSE K!Stay(ctx[k][r])])
    /\ UNCHANGED <<world, genVars, left>>

(* The process of CTX rank k ends with all that it had. Whether its writes end *)
(* with it is the contract's to say (KS-BACK-4).                               *)
CtxGone(k) ==
  /\ ctxDown' = [ctxDown EXCEPT ![k] = TRUE]
  /\ ctx' = [ctx EXCEPT ![k] = [r \in Reqs |-> K!New]]
  /\ ctxPool' = [ctxPool EXCEPT ![k] = NewPool(C.slots)]
  /\ registry' = [registry EXCEPT ![k] = NewRegistry]
  /\ ctxLost' = [ctxLost EXCEPT ![k] = [g \in Gens |-> FALSE]]
  /\ stop' = [stop EXCEPT ![k] = [g \in Gens |-> [r \in Reqs |-> FALSE]]]
  /\ write' = [write EXCEPT ![k] = [g \in Gens |-> [r \in Reqs |->
                CASE @[g][r] = "writing" /\ C.deathQuiet -> "ended"
                  [] @[g][r] = "writing" -> "orphan"
                  [] OTHER -> @[g][r]]]]
  /\ net' = {x \in net : ~(x.kind = "request" /\ x.ctx = k)}
  /\ UNCHANGED <<case, cancelled, genDown, genLost, genQuiet, aged, genVars, published, said, ctxOutcomes, refused>>

CtxExit ==
  \E k \in LiveCtxs :
    /\ ctxPool[k].unhealthy
    /\ \A r \in Reqs : ~CtxOpen(k, r)
    /\ CtxGone(k)
    /\ UNCHANGED left

CrashCtx ==
  \E k \in LiveCtxs :
    /\ Uses("crashes")
    /\ CtxGone(k)

-----------------------------------------------------------------------------
(* GEN.                                                                        *)

(* The router shows a context to GEN once every CTX rank has published it. GEN *)
(* validates before it reserves anything (KS-V1-1, KS-V1-43).                  *)
GenImport ==
  \E g \in LiveGens, r \in Reqs :
    LET x == G!Start(gen[g][r])
        y == IF C.fit = "MismatchSilent" THEN G!EndWaiting(x.m, "rejected", "peer-legacy") ELSE x
    IN /\ gen[g][r].state = "IMPORTED"
       /\ \A k \in Ctxs : published[k][r]
       /\ GenRank(g, GenBox(g), call[g], [q \in Reqs |-> IF q = r THEN y ELSE G!Stay(gen[g][q])])
       /\ UNCHANGED <<world, ctxVars, net, left>>

(* Tag, peer and slot are there (KS-TAG-3).                                    *)
GenMayAdmit(g) ==
  /\ MayLease(genPool[g])
  /\ \A k \in Ctxs : ~genLost[g][k]
  /\ \A k \in Ctxs : ~genQuiet[g][k]
  /\ \A k \in Ctxs : TagFree(tags[g][k], aged[g])

GenGrant ==
  \E g \in LiveGens, r \in Reqs :
    LET got == LeaseSlot(genPool[g], r)
        b == [GenBox(g) EXCEPT !.pool = got.pool,
                               !.tags = [k \in Ctxs |-> HoldTag(@[k], Id(r), aged[g]).tag]]
    IN /\ gen[g][r].state = "WAITING"
       /\ GenMayAdmit(g)
       /\ GenRank(g, b, call[g], GenOnly(g, r, G!Granted(gen[g][r], got.lease)))
       /\ UNCHANGED <<world, ctxVars, net, left>>

GenNothing ==
  \E g \in LiveGens, r \in Reqs :
    /\ gen[g][r].state = "WAITING"
    /\ Uses("hits")
    /\ GenStep(g, r, G!EndWaiting(gen[g][r], "completed", ""))
    /\ UNCHANGED <<world, ctxVars, net>>

GenDeny ==
  \E g \in LiveGens, r \in Reqs :
    /\ gen[g][r].state = "WAITING"
    /\ Uses("denials")
    /\ GenStep(g, r, G!EndWaiting(gen[g][r], "failed", "slot-too-small"))
    /\ UNCHANGED <<world, ctxVars, net>>

(* The call that sends a request: the message may be visible before it         *)
(* returns, and the call may end in an error or in doubt.                      *)
RequestVisible ==
  \E g \in LiveGens, r \in Reqs :
    LET k == call[g][r].edge + 1
    IN /\ call[g][r].state = "calling"
       /\ call' = [call EXCEPT ![g][r].state = "visible"]
       /\ net' = IF ctxDown[k] THEN net ELSE Put(net, "request", k, g, r)
       /\ UNCHANGED <<world, gen, genPool, tags, target, early, genOutcomes, ctxVars, refused, left>>

CallEnds(g, r, how) ==
  /\ GenRank(g, GenBox(g), [call[g] EXCEPT ![r] = NoCall], GenOnly(g, r, G!Sent(Const, gen[g][r], how, call[g][r].edge)))
  /\ UNCHANGED <<world, ctxVars, net>>

RequestSent ==
  \E g \in LiveGens, r \in Reqs :
    /\ call[g][r].state = "visible"
    /\ CallEnds(g, r, "sent")
    /\ UNCHANGED left

RequestDoubtful ==
  \E g \in LiveGens, r \in Reqs :
    /\ call[g][r].state # "none"
    /\ Uses("sendFails")
    /\ CallEnds(g, r, "doubt")

RequestFailed ==
  \E g \in LiveGens, r \in Reqs :
    /\ call[g][r].state = "calling"
    /\ Uses("sendFails")
    /\ CallEnds(g, r, "error")

ScatterDone ==
  \E g \in LiveGens, r \in Reqs :
    /\ gen[g][r].state = "SCATTERING"
    /\ GenStep(g, r, G!Scattered(Const, gen[g][r], ~early[g][r]))
    /\ UNCHANGED <<world, ctxVars, net, left>>

VerifyFails ==
  \E g \in LiveGens, r \in Reqs :
    /\ gen[g][r].state = "SCATTERING"
    /\ Uses("verifyFails")
    /\ GenStep(g, r, G!Scattered(Const, gen[g][r], FALSE))
    /\ UNCHANGED <<world, ctxVars, net>>

UserCancelGen ==
  \E g \in LiveGens, r \in Reqs :
    /\ gen[g][r].state # "IMPORTED"
    /\ gen[g][r].result = "open"
    /\ Uses("cancelGen")
    /\ cancelled' = [cancelled EXCEPT ![g][r] = TRUE]
    /\ GenStep(g, r, G!Cancel(Const, gen[g][r]))
    /\ UNCHANGED <<case, genDown, ctxDown, genLost, genQuiet, ctxLost, aged, ctxVars, net>>

GenWaitEnds(g, r, wait) ==
  /\ gen[g][r].wait = wait
  /\ GenStep(g, r, G!Deadline(gen[g][r]))
  /\ UNCHANGED <<world, ctxVars, net, left>>

GenAdmissionDeadline == \E g \in LiveGens, r \in Reqs : GenWaitEnds(g, r, "admission")
GenRequestDeadline == \E g \in LiveGens, r \in Reqs : GenWaitEnds(g, r, "request")
GenControlDeadline == \E g \in LiveGens, r \in Reqs : GenWaitEnds(g, r, "control")

GenHearsOfPeer(g, k, quiet) ==
  /\ GenRank(g, GenBox(g), call[g], [r \in Reqs |->
       IF G!Live(gen[g][r]) THEN G!PeerGone(Const, gen[g][r], k - 1, quiet) ELSE G!Stay(gen[g][r])])
  /\ UNCHANGED <<case, cancelled, genDown, ctxDown, ctxLost, aged, ctxVars, net, left>>

GenPeerLost ==
  \E g \in LiveGens, k \in Ctxs :
    /\ ctxDown[k]
    /\ ~genLost[g][k]
    /\ genLost' = [genLost EXCEPT ![g][k] = TRUE]
    /\ UNCHANGED genQuiet
    /\ GenHearsOfPeer(g, k, FALSE)

(* Only an adaptor whose contract says so can prove by a death that a writer   *)
(* is quiet (KS-BACK-4, KS-BACK-9).                                            *)
GenPeerQuiet ==
  \E g \in LiveGens, k \in Ctxs :
    /\ ctxDown[k]
    /\ C.deathQuiet
    /\ ~genQuiet[g][k]
    /\ genQuiet' = [genQuiet EXCEPT ![g][k] = TRUE]
    /\ UNCHANGED genLost
    /\ GenHearsOfPeer(g, k, TRUE)

(* The control lifetime of the first ended attempt is over when none of its    *)
(* messages is left (KS-TAG-3). Shown only where somebody waits for it.        *)
TagAges ==
  \E g \in LiveGens :
    /\ ~aged[g]
    /\ C.reqs > 1
    /\ \A x \in net : x.gen # g
    /\ \E k \in Ctxs : tags[g][k].owner # 0 /\ ~tags[g][k].held
    /\ aged' = [aged EXCEPT ![g] = TRUE]
    /\ UNCHANGED <<case, cancelled, genDown, ctxDown, genLost, genQuiet, ctxLost, genVars, ctxVars, net, refused, left>>

GenAbort ==
  \E g \in LiveGens :
    /\ genPool[g].unhealthy
    /\ \E r \in Reqs : GenOpen(g, r)
    /\ GenRank(g, GenBox(g), call[g], [r \in Reqs |->
         IF G!Live(gen[g][r]) THEN G!Abort(gen[g][r], "pool-unhealthy") ELSE G!Stay(gen[g][r])])
    /\ UNCHANGED <<world, ctxVars, net, left>>

GenGone(g) ==
  /\ genDown' = [genDown EXCEPT ![g] = TRUE]
  /\ gen' = [gen EXCEPT ![g] = [r \in Reqs |-> G!New]]
  /\ call' = [call EXCEPT ![g] = [r \in Reqs |-> NoCall]]
  /\ genPool' = [genPool EXCEPT ![g] = NewPool(C.slots)]
  /\ tags' = [tags EXCEPT ![g] = [k \in Ctxs |-> NewTag]]
  /\ genLost' = [genLost EXCEPT ![g] = [k \in Ctxs |-> FALSE]]
  /\ genQuiet' = [genQuiet EXCEPT ![g] = [k \in Ctxs |-> FALSE]]
  /\ aged' = [aged EXCEPT ![g] = FALSE]
  /\ net' = {x \in net : ~(x.kind # "request" /\ x.gen = g)}
  /\ UNCHANGED <<case, cancelled, ctxDown, ctxLost, target, early, genOutcomes, ctxVars, refused>>

GenExit ==
  \E g \in LiveGens :
    /\ genPool[g].unhealthy
    /\ \A r \in Reqs : ~GenOpen(g, r)
    /\ GenGone(g)
    /\ UNCHANGED left

CrashGen ==
  \E g \in LiveGens :
    /\ Uses("crashes")
    /\ GenGone(g)

-----------------------------------------------------------------------------
(* The writes, in the hands of the adaptor.                                    *)

WriteOver(k, g, r, to, x) ==
  /\ CtxRank(k, CtxBox(k), net, [write[k] EXCEPT ![g][r] = to], CtxOnly(k, r, x))
  /\ UNCHANGED <<world, genVars>>

WriteEnds ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ write[k][g][r] = "writing"
    /\ WriteOver(k, g, r, "written", K!Written(C.gens, ctx[k][r], g - 1))
    /\ UNCHANGED left

WriteStopped ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ write[k][g][r] = "writing"
    /\ stop[k][g][r]
    /\ WriteOver(k, g, r, "ended", K!Ended(C.gens, ctx[k][r], g - 1, "peer-lost"))
    /\ UNCHANGED left

WriteFails ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ write[k][g][r] = "writing"
    /\ Uses("writeFails")
    /\ WriteOver(k, g, r, "ended", K!Ended(C.gens, ctx[k][r], g - 1, "write-failed"))

OrphanLands ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ write[k][g][r] = "orphan"
    /\ write' = [write EXCEPT ![k][g][r] = "written"]
    /\ UNCHANGED <<world, genVars, ctx, ctxPool, registry, published, stop, said, ctxOutcomes, net, refused, left>>

-----------------------------------------------------------------------------
(* The network delivers in any order, loses and repeats.                       *)

(* A request for an id that is not active is answered from memory (KS-V1-7,    *)
(* KS-V1-32); only an exact hit reaches a machine (KS-V1-3).                   *)
CtxHears(k, g, r, good) ==
  LET n == Take(net, "request", k, g, r)
      hit == Id(r) \in registry[k].active
      no == AnswerFor(registry[k], Id(r)) = "reject"
      answer == [q \in Reqs |-> IF q = r /\ ~hit /\ no
                                THEN [K!Stay(ctx[k][q]) EXCEPT !.fx = <<K!Effect("sayNo", ctx[k][q], "None", g - 1)>>]
                                ELSE K!Stay(ctx[k][q])]
  IN /\ IF hit
        THEN CtxRank(k, CtxBox(k), n, write[k], CtxOnly(k, r, K!Request(C.gens, ctx[k][r], g - 1, good)))
        ELSE CtxRank(k, CtxBox(k), n, write[k], answer)
     /\ UNCHANGED <<world, genVars>>

DeliverRequest ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ Copies(net, "request", k, g, r) > 0
    /\ C.fit = "Compatible"
    /\ CtxHears(k, g, r, TRUE)
    /\ UNCHANGED left

(* A mismatch is refused before data (KS-V1-2); a request can also be bad in   *)
(* itself (KS-V1-14).                                                          *)
RejectRequest ==
  \E k \in Ctxs, g \in Gens, r \in Reqs :
    /\ Copies(net, "request", k, g, r) > 0
    /\ IF C.fit = "Compatible"
       THEN Uses("rejects")
       ELSE UNCHANGED left
    /\ CtxHears(k, g, r, FALSE)

(* A ready or sync says only the tag; it goes to the attempt that holds it     *)
(* (KS-TAG-4).                                                                 *)
GenHears(kind, k, g, r) ==
  LET t == tags[g][k]
      o == CHOOSE q \in Reqs : Id(q) = t.owner
  IN /\ Copies(net, kind, k, g, r) > 0
     /\ net' = Take(net, kind, k, g, r)
     /\ IF t.held
        THEN GenStep(g, o, G!Hears(Const, gen[g][o], kind, k - 1))
        ELSE UNCHANGED <<genVars, refused>>
     /\ UNCHANGED <<world, ctxVars, left>>

DeliverReady == \E k \in Ctxs, g \in Gens, r \in Reqs : GenHears("ready", k, g, r)
DeliverReject == \E k \in Ctxs, g \in Gens, r \in Reqs : GenHears("reject", k, g, r)
DeliverSync == \E k \in Ctxs, g \in Gens, r \in Reqs : GenHears("sync", k, g, r)

Kinds == {"request", "ready", "reject", "sync"}

Drop ==
  \E kind \in Kinds, k \in Ctxs, g \in Gens, r \in Reqs :
    /\ Copies(net, kind, k, g, r) > 0
    /\ Uses("drops")
    /\ net' = Take(net, kind, k, g, r)
    /\ UNCHANGED <<world, genVars, ctxVars, refused>>

Duplicate ==
  \E kind \in Kinds, k \in Ctxs, g \in Gens, r \in Reqs :
    /\ Copies(net, kind, k, g, r) = 1
    /\ Uses("dups")
    /\ net' = Put(net, kind, k, g, r)
    /\ UNCHANGED <<world, genVars, ctxVars, refused>>

-----------------------------------------------------------------------------

(* At first every context was asked for at every CTX rank.                     *)
Init ==
  \E i \in DOMAIN Cases :
    LET c == Cases[i]
        gs == 1..c.gens
        ks == 1..c.ctxs
        rs == 1..c.reqs
        PerGen(v) == [g \in gs |-> [r \in rs |-> v]]
        PerCtx(v) == [k \in ks |-> [r \in rs |-> v]]
        PerEdge(v) == [k \in ks |-> [g \in gs |-> [r \in rs |-> v]]]
    IN /\ case = i
       /\ gen = PerGen(G!New)
       /\ ctx = PerCtx(K!Start(K!New).m)
       /\ call = PerGen(NoCall)
       /\ genPool = [g \in gs |-> NewPool(c.slots)]
       /\ ctxPool = [k \in ks |-> NewPool(c.slots)]
       /\ registry = [k \in ks |-> [NewRegistry EXCEPT !.active = {Id(r) : r \in rs}]]
       /\ tags = [g \in gs |-> [k \in ks |-> NewTag]]
       /\ target = PerGen([slot |-> 0, gen |-> 0])
       /\ published = PerCtx(FALSE)
       /\ net = {}
       /\ write = PerEdge("none")
       /\ stop = PerEdge(FALSE)
       /\ said = PerEdge({})
       /\ genOutcomes = PerGen(0)
       /\ ctxOutcomes = PerCtx(0)
       /\ early = PerGen(FALSE)
       /\ cancelled = PerGen(FALSE)
       /\ genDown = [g \in gs |-> FALSE]
       /\ ctxDown = [k \in ks |-> FALSE]
       /\ genLost = [g \in gs |-> [k \in ks |-> FALSE]]
       /\ genQuiet = [g \in gs |-> [k \in ks |-> FALSE]]
       /\ ctxLost = [k \in ks |-> [g \in gs |-> FALSE]]
       /\ aged = [g \in gs |-> FALSE]
       /\ refused = FALSE
       /\ left = c.faults

Next ==
  \/ CtxGrant
  \/ CtxDeny
  \/ UserCancelCtx
  \/ CtxAdmissionDeadline
  \/ CtxContextDeadline
  \/ CtxRequestDeadline
  \/ CtxControlDeadline
  \/ CtxPeerLost
  \/ CtxAbort
  \/ CtxExit
  \/ CrashCtx
  \/ GenImport
  \/ GenGrant
  \/ GenNothing
  \/ GenDeny
  \/ RequestVisible
  \/ RequestSent
  \/ RequestDoubtful
  \/ RequestFailed
  \/ ScatterDone
  \/ VerifyFails
  \/ UserCancelGen
  \/ GenAdmissionDeadline
  \/ GenRequestDeadline
  \/ GenControlDeadline
  \/ GenPeerLost
  \/ GenPeerQuiet
  \/ TagAges
  \/ GenAbort
  \/ GenExit
  \/ CrashGen
  \/ WriteEnds
  \/ WriteStopped
  \/ WriteFails
  \/ OrphanLands
  \/ DeliverRequest
  \/ RejectRequest
  \/ DeliverReady
  \/ DeliverReject
  \/ DeliverSync
  \/ Drop
  \/ Duplicate

(* What is due happens if something due stays possible: deadlines, local work,  *)
(* delivery and the rules of the processes themselves. Faults, users and the   *)
(* adaptor's writes need not happen: a write may take for ever, and the        *)
(* deadlines must do. Nothing says which of several due things comes first.    *)
Due ==
  \/ GenImport
  \/ RequestSent
  \/ DeliverRequest
  \/ DeliverReady
  \/ DeliverReject
  \/ DeliverSync
  \/ ScatterDone
  \/ GenAdmissionDeadline
  \/ GenRequestDeadline
  \/ GenControlDeadline
  \/ CtxAdmissionDeadline
  \/ CtxContextDeadline
  \/ CtxRequestDeadline
  \/ CtxControlDeadline
  \/ TagAges
  \/ GenAbort
  \/ GenExit
  \/ CtxAbort
  \/ CtxExit

Fairness == WF_vars(Due)

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ Fairness

-----------------------------------------------------------------------------
(* What holds in every reachable state.                                        *)

Running == {"writing", "orphan"}

(* I8, I14: a write that may still land has its slot to itself. KS-SLOT-4,     *)
(* KS-SLOT-19, KS-V1-9                                                         *)
NoWriteIntoFreeSlot ==
  \A k \in Ctxs, g \in LiveGens, r \in Reqs :
    write[k][g][r] \in Running =>
      LET s == genPool[g].slots[target[g][r].slot + 1]
      IN /\ s.gen = target[g][r].gen
         /\ s.state \in {"ADVERTISED", "IN_FLIGHT", "QUARANTINED"}

(* KS-SLOT-4, KS-V1-31                                                         *)
NoWriteFromFreeSlot ==
  \A k \in Ctxs :
    Cardinality({r \in Reqs : \E g \in Gens : write[k][g][r] = "writing"}) <= C.slots - FreeCount(ctxPool[k])

(* I6, I12: KS-V1-21, KS-TAG-3                                                 *)
CompletedHasData ==
  \A k \in Ctxs, g \in Gens, r \in Reqs :
    /\ ~early[g][r]
    /\ gen[g][r].result = "completed" /\ gen[g][r].asked # {} => write[k][g][r] = "written"

(* B1: KS-V1-12                                                                *)
OneOutcome ==
  /\ \A g \in Gens, r \in Reqs : genOutcomes[g][r] <= 1
  /\ \A k \in Ctxs, r \in Reqs : ctxOutcomes[k][r] <= 1
  /\ \A g \in LiveGens, r \in Reqs : (gen[g][r].result # "open") <=> (genOutcomes[g][r] = 1)
  /\ \A k \in LiveCtxs, r \in Reqs : (ctx[k][r].result # "open") <=> (ctxOutcomes[k][r] = 1)

(* I14: KS-SLOT-3                                                              *)
CleanupOnce == ~refused

(* KS-SLOT-27                                                                  *)
SlotsAddUp ==
  /\ \A g \in Gens :
       /\ FreeCount(genPool[g]) + LeasedCount(genPool[g]) + IsolatedCount(genPool[g]) = C.slots
       /\ C.slots - FreeCount(genPool[g]) = Cardinality({r \in Reqs : gen[g][r].state \notin {"IMPORTED", "WAITING", "RETIRED"}})
  /\ \A k \in Ctxs :
       /\ FreeCount(ctxPool[k]) + LeasedCount(ctxPool[k]) + IsolatedCount(ctxPool[k]) = C.slots
       /\ C.slots - FreeCount(ctxPool[k]) = Cardinality({r \in Reqs : ctx[k][r].state \notin {"IMPORTED", "WAITING", "RETIRED"}})

(* I3, I5: KS-V1-2, KS-V1-5, KS-V1-7                                           *)
RejectIsTrue ==
  \A k \in Ctxs, g \in Gens, r \in Reqs :
    No \in said[k][g][r] =>
      /\ said[k][g][r] \cap {Yes, Done} = {}
      /\ write[k][g][r] = "none"

(* I6: KS-V1-11                                                                *)
SyncAfterSuccess ==
  \A k \in Ctxs, g \in Gens, r \in Reqs :
    Done \in said[k][g][r] => write[k][g][r] = "written"

(* I11: KS-V1-28                                                               *)
AllAskedBeforeReady ==
  \A k \in Ctxs, g \in Gens, r \in Reqs :
    Yes \in said[k][g][r] => \A h \in Gens : target[h][r] # [slot |-> 0, gen |-> 0]

(* KS-V1-4, KS-V1-5                                                            *)
OutcomesAgree ==
  \A k \in Ctxs, g \in Gens, r \in Reqs :
    IF gen[g][r].result = "rejected" /\ gen[g][r].asked # {}
    THEN /\ Yes \notin said[k][g][r]
         /\ ctx[k][r].result # "completed"
    ELSE ctx[k][r].result = "completed" => write[k][g][r] = "written"

(* B2: KS-SLOT-5                                                               *)
BudgetStopsAdmission ==
  /\ \A g \in Gens : IsolatedCount(genPool[g]) > C.budget => genPool[g].unhealthy
  /\ \A k \in Ctxs : IsolatedCount(ctxPool[k]) > C.budget => ctxPool[k].unhealthy

(* I4: KS-V1-17                                                                *)
CancelDecides ==
  \A g \in Gens, r \in Reqs :
    C.enabled /\ cancelled[g][r] => gen[g][r].result # "completed"

(* Nothing is owed: every process that lives has reported every request, no    *)
(* local work is left, and a process over its budget has gone.                 *)
Settled ==
  /\ \A k \in LiveCtxs : ~ctxPool[k].unhealthy
  /\ \A k \in LiveCtxs, r \in Reqs : ~CtxOpen(k, r)
  /\ \A g \in LiveGens : ~genPool[g].unhealthy
  /\ \A g \in LiveGens, r \in Reqs :
       /\ ~GenOpen(g, r)
       /\ gen[g][r].state # "SCATTERING"
       /\ gen[g][r].state = "IMPORTED" => \E k \in Ctxs : ~published[k][r]

(* Something that happens by itself is possible; see Due.                      *)
SomethingDue ==
  \/ net # {}
  \/ \E k \in LiveCtxs : ctxPool[k].unhealthy
  \/ \E k \in LiveCtxs, r \in Reqs : ctx[k][r].wait # "none"
  \/ \E g \in LiveGens : genPool[g].unhealthy
  \/ \E g \in LiveGens, r \in Reqs :
       \/ gen[g][r].wait # "none"
       \/ gen[g][r].state = "SCATTERING"
       \/ gen[g][r].state = "IMPORTED" /\ \A k \in Ctxs : published[k][r]
       \/ call[g][r].state = "visible"

(* B1, B2: a wait without an end is seen at once: KS-TIME-13                   *)
NeverStuck == Settled \/ SomethingDue

(* B1, B2: KS-TIME-13, KS-V1-12, KS-SLOT-5. TLC needs long for it: only the    *)
(* configuration live checks it. The search for hangs of kvmodel explore does  *)
(* so on the same graph in every configuration.                                *)
Settles == []<>Settled
=============================================================================
