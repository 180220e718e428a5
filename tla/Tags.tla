-------------------------------- MODULE Tags --------------------------------
(* One 12-bit tag of a rank pair, and CTX's memory of the request ids that it  *)
(* published (KS-TAG-3, KS-TAG-4, KS-V1-7).                                    *)
(*                                                                             *)
(* A tag is a record: owner is the id that holds or last held it, held says    *)
(* whether that attempt lives or is quarantined, free[1] and free[2] whether   *)
(* another may take it now, and once the control lifetime of an attempt that   *)
(* ends now has passed.                                                        *)
(*                                                                             *)
(* A registry is a record: active ids; ended maps an id that is remembered to  *)
(* whether it crossed its ready commit; order lists the ended, oldest first;   *)
(* maxGone and anyGone tell of those that were forgotten. The worlds count no  *)
(* time there: whatever has ended is past its control lifetime.                *)
EXTENDS Naturals, Sequences, FiniteSets

NewTag == [owner |-> 0, held |-> FALSE, free |-> <<TRUE, TRUE>>]

(* aged: the control lifetime of the first attempt that ended has passed.      *)
Now(aged) == IF aged THEN 2 ELSE 1

TagFree(t, aged) == t.free[Now(aged)]

HoldTag(t, id, aged) ==
  IF TagFree(t, aged)
  THEN [tag |-> [owner |-> id, held |-> TRUE, free |-> <<FALSE, FALSE>>], ok |-> TRUE]
  ELSE [tag |-> t, ok |-> FALSE]

EndTag(t, id, aged) ==
  IF t.held /\ t.owner = id
  THEN [tag |-> [owner |-> id, held |-> FALSE, free |-> <<FALSE, ~aged>>], ok |-> TRUE]
  ELSE [tag |-> t, ok |-> FALSE]

-----------------------------------------------------------------------------

NewRegistry == [active |-> {}, ended |-> <<>>, order |-> <<>>, maxGone |-> 0, anyGone |-> FALSE]

Opened(reg, id) == [reg EXCEPT !.active = @ \cup {id}]

Without(f, x) == [y \in (DOMAIN f) \ {x} |-> f[y]]
With(f, x, v) == [y \in (DOMAIN f) \cup {x} |-> IF y = x THEN v ELSE f[y]]

(* The terminal cache remembers size ids; the oldest makes room (KS-V1-7).     *)
CloseId(reg, id, committed, size) ==
  LET full == Len(reg.order) = size
      old == Head(reg.order)
      kept == IF full THEN Without(reg.ended, old) ELSE reg.ended
  IN IF id \notin reg.active
     THEN [reg |-> reg, ok |-> FALSE]
     ELSE [reg |-> [reg EXCEPT !.active = @ \ {id},
                               !.ended = With(kept, id, committed),
                               !.order = Append(IF full THEN Tail(@) ELSE @, id),
                               !.maxGone = IF full /\ old > @ THEN old ELSE @,
                               !.anyGone = @ \/ full],
           ok |-> TRUE]

(* What a request for an id that is not active deserves.                       *)
AnswerFor(reg, id) ==
  CASE id \in DOMAIN reg.ended /\ reg.ended[id] -> "silent"
    [] id \in DOMAIN reg.ended                  -> "reject"
    [] reg.anyGone /\ id <= reg.maxGone         -> "silent"
    [] OTHER                                    -> "reject"
=============================================================================
