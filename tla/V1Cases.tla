------------------------------ MODULE V1Cases -------------------------------
(* The configurations of V1: small for every test run, medium for CI. A larger *)
(* one has the cases of the smaller one with more faults, and worlds with more *)
(* ranks or requests.                                                          *)
EXTENDS V1

None ==
  [drops |-> 0, dups |-> 0, cancelGen |-> 0, cancelCtx |-> 0, crashes |-> 0, sendFails |-> 0,
   writeFails |-> 0, verifyFails |-> 0, rejects |-> 0, denials |-> 0, hits |-> 0]

(* The faults named in S may strike once each.                                 *)
Once(S) == [f \in DOMAIN None |-> IF f \in S THEN 1 ELSE 0]

One(S) ==
  [gens |-> 1, ctxs |-> 1, reqs |-> 1, enabled |-> TRUE, deathQuiet |-> TRUE, fit |-> "Compatible",
   slots |-> 1, budget |-> 0, faults |-> Once(S)]

Base(S) == [One(S) EXCEPT !.enabled = FALSE]
Far(S) == [One(S) EXCEPT !.deathQuiet = FALSE]
Mismatch(S) == [One(S) EXCEPT !.fit = "MismatchCanReject"]
Silent(S) == [One(S) EXCEPT !.fit = "MismatchSilent"]
Mixed(S) == [One(S) EXCEPT !.ctxs = 2, !.deathQuiet = FALSE]
Pair(S) == [One(S) EXCEPT !.gens = 2]
Reuse(S) == [One(S) EXCEPT !.reqs = 2, !.slots = 2, !.budget = 1, !.deathQuiet = FALSE]
Over(S) == [One(S) EXCEPT !.reqs = 2, !.slots = 2, !.enabled = FALSE, !.deathQuiet = FALSE]

SmallCases ==
  <<One({"drops", "dups", "cancelGen"}),
    One({"cancelCtx", "crashes"}),
    One({"sendFails", "writeFails", "rejects", "denials", "verifyFails", "hits", "cancelGen"}),
    Base({"drops", "cancelGen"}),
    Far({"drops", "crashes"}),
    Mismatch({"drops", "cancelGen"}),
    Silent({"cancelGen"})>>

(* Small enough for TLC's check of temporal properties.                        *)
LiveCases == <<One({}), Base({"cancelGen"})>>

MediumCases ==
  <<One({"drops", "dups", "cancelGen", "cancelCtx", "crashes"}),
    One({"drops", "cancelGen", "cancelCtx", "sendFails", "writeFails", "rejects", "denials", "verifyFails", "hits"}),
    Base({"drops", "dups", "cancelGen", "crashes"}),
    Far({"drops", "dups", "cancelGen", "crashes"}),
    Mismatch({"drops", "dups", "cancelGen", "crashes"}),
    Silent({"cancelGen", "cancelCtx", "crashes"}),
    Mixed({"rejects", "drops"}),
    Pair({}),
    Reuse({"dups"}),
    Over({"drops"})>>
=============================================================================
