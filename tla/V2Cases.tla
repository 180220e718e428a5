------------------------------ MODULE V2Cases -------------------------------
(* The configurations of the models of v2: small for every test run, medium    *)
(* for CI. A medium one has the worlds of the small one and more.              *)
EXTENDS V2Invariants

None ==
  [drops |-> 0, dups |-> 0, reorders |-> 0, dropNotices |-> 0, cancelGen |-> 0, cancelCtx |-> 0, crashes |-> 0,
   retries |-> 0, sendFails |-> 0, writeFails |-> 0, releases |-> 0, verifyFails |-> 0, rejects |-> 0,
   mismatches |-> 0, refusals |-> 0, denials |-> 0, roundFails |-> 0, doubts |-> 0, strays |-> 0]

(* One rank on each side, plain v2, one write, patience, a backend like shm;   *)
(* f says what may go wrong, and how often.                                    *)
Base(f) ==
  [gens |-> 1, ctxs |-> 1, caps |-> {}, contract |-> {Visible, NoticeFollows, SuccessQuiet}, deathQuiet |-> TRUE,
   chunks |-> 1, perChunk |-> FALSE, patient |-> TRUE, calls |-> FALSE, restarts |-> FALSE, lockstep |-> TRUE,
   strict |-> FALSE, retires |-> FALSE, faults |-> f @@ None]

(* Changes of a world.                                                         *)
Ranks(c, ctxs, gens) == [c EXCEPT !.ctxs = ctxs, !.gens = gens]
Bits(c, caps) == [c EXCEPT !.caps = caps]
Writes(c, n, each) == [c EXCEPT !.chunks = n, !.perChunk = each]
Eager(c) == [c EXCEPT !.patient = FALSE]
Skewed(c) == [c EXCEPT !.lockstep = FALSE]
Calls(c) == [c EXCEPT !.calls = TRUE]
Restarting(c) == [c EXCEPT !.restarts = TRUE]
Retiring(c) == [c EXCEPT !.retires = TRUE]
Far(c) == [c EXCEPT !.deathQuiet = FALSE]
ErrorsQuiet(c) == [c EXCEPT !.contract = @ \cup {ErrorQuiet}]

Bit48 == {"x48"}
Bit49 == {"x49"}
Both == {"x48", "x49"}

(* One of each fault that is neither the network's nor a user's.               *)
Odd(n) ==
  [writeFails |-> 1, verifyFails |-> 1, rejects |-> 1, mismatches |-> 1, refusals |-> 1, denials |-> 1,
   doubts |-> 1, retries |-> n]

ReadySmall ==
  <<Base([roundFails |-> 1, cancelGen |-> 1, retries |-> 1]),
    Calls(Base([sendFails |-> 1, cancelGen |-> 1]))>>

ReadyMedium ==
  ReadySmall
  \o <<Bits(Base([dups |-> 1, reorders |-> 1, cancelCtx |-> 1, crashes |-> 1]), Bit49),
       Bits(Base([drops |-> 1, rejects |-> 1, retries |-> 1]), Bit49),
       Bits(Ranks(Base([rejects |-> 1]), 2, 1), Bit49),
       Base([roundFails |-> 1, cancelCtx |-> 1])>>

SettleSmall ==
  <<Retiring(Base([drops |-> 1, cancelGen |-> 1, retries |-> 2])),
    Bits(Base([dups |-> 1, reorders |-> 1, cancelCtx |-> 1, retries |-> 1]), Bit49)>>

SettleMedium ==
  SettleSmall
  \o <<Bits(Base([cancelGen |-> 1, reorders |-> 1, crashes |-> 1, retries |-> 1]), Bit49),
       Retiring(Base([drops |-> 2, cancelCtx |-> 1, retries |-> 3])),
       Retiring(Base(Odd(1))),
       Retiring(Eager(Base(None)))>>

OneSmall ==
  <<Base([writeFails |-> 1, verifyFails |-> 1, doubts |-> 1]),
    Base([rejects |-> 1, mismatches |-> 1, refusals |-> 1, denials |-> 1]),
    Base([drops |-> 1, cancelCtx |-> 1])>>

OneMedium ==
  OneSmall
  \o <<Base([drops |-> 1, cancelGen |-> 1]),
       Base([dups |-> 1, reorders |-> 1, crashes |-> 1]),
       Writes(Far(Base([releases |-> 1, writeFails |-> 1, cancelCtx |-> 1])), 2, FALSE)>>

TwoSmall ==
  <<Ranks(Base(None), 2, 1),
    Bits(Ranks(Base(None), 1, 2), Bit49)>>

TwoMedium ==
  TwoSmall
  \o <<Bits(Ranks(Base([cancelCtx |-> 1, retries |-> 1]), 2, 1), Bit49),
       Bits(Base([dups |-> 1, reorders |-> 1, crashes |-> 1]), Both),
       Bits(Base([cancelGen |-> 1, retries |-> 1]), Both),
       Bits(Ranks(Base([cancelCtx |-> 1]), 1, 2), Bit49),
       Bits(Ranks(Base([writeFails |-> 1]), 2, 1), Bit49),
       Bits(Ranks(Base([drops |-> 1, retries |-> 2]), 1, 2), Both)>>

RestartSmall ==
  <<Restarting(Base([crashes |-> 1])),
    Bits(Base([strays |-> 1, retries |-> 1]), Both)>>

RestartMedium ==
  RestartSmall
  \o <<Restarting(Base([crashes |-> 1, drops |-> 1])),
       Far(Restarting(Base([crashes |-> 1, dups |-> 1]))),
       Far(Restarting(Base([crashes |-> 1, reorders |-> 1]))),
       Restarting(Bits(Base([crashes |-> 1, cancelGen |-> 1]), Both)),
       Restarting(Bits(Base([crashes |-> 1, cancelCtx |-> 1]), Bit49))>>

RecoverySmall ==
  <<Writes(Bits(Base([drops |-> 1, dropNotices |-> 1, retries |-> 2]), Bit48), 2, TRUE),
    Bits(Base([dropNotices |-> 1, cancelCtx |-> 1, retries |-> 1]), Bit48),
    Writes(Bits(Base([drops |-> 1, dups |-> 1, reorders |-> 1, dropNotices |-> 1, retries |-> 2]), Bit48), 2, TRUE)>>

RecoveryMedium ==
  RecoverySmall
  \o <<Writes(Bits(Base([drops |-> 2, dups |-> 1, reorders |-> 1, dropNotices |-> 2, retries |-> 3]), Bit48), 2, TRUE),
       Far(Bits(Base([dropNotices |-> 1, reorders |-> 1, crashes |-> 1, retries |-> 1]), Both)),
       Retiring(Bits(Base([dropNotices |-> 1, cancelGen |-> 1, retries |-> 1]), Bit48)),
       Ranks(Writes(Bits(Base([drops |-> 1, dropNotices |-> 1, retries |-> 2]), Both), 2, TRUE), 2, 1)>>

QuiescenceSmall ==
  <<Writes(Bits(Base([cancelGen |-> 1, writeFails |-> 1]), Both), 2, TRUE),
    Writes(Bits(Base([cancelCtx |-> 1, releases |-> 1, retries |-> 1]), Both), 2, TRUE),
    Bits(Base([cancelGen |-> 1, cancelCtx |-> 1, retries |-> 1]), Bit49),
    Skewed(Bits(Base([cancelCtx |-> 1, retries |-> 1]), Bit49))>>

QuiescenceMedium ==
  QuiescenceSmall
  \o <<Writes(Bits(Base([cancelGen |-> 1, writeFails |-> 1, releases |-> 1, retries |-> 1]), Both), 2, TRUE),
       Writes(Bits(Base([cancelGen |-> 1, cancelCtx |-> 1, retries |-> 1]), Bit49), 2, FALSE),
       Writes(Bits(Base([drops |-> 1, cancelGen |-> 1, retries |-> 2]), Both), 2, TRUE),
       Bits(Base([dups |-> 1, cancelGen |-> 1]), Bit49),
       Bits(Base([reorders |-> 1, cancelCtx |-> 1]), Bit49),
       ErrorsQuiet(Writes(Bits(Base([writeFails |-> 1, cancelGen |-> 1, retries |-> 1]), Bit49), 2, FALSE)),
       Far(Bits(Base([writeFails |-> 1, releases |-> 1, cancelCtx |-> 1, crashes |-> 1, retries |-> 1]), Bit49))>>
=============================================================================
