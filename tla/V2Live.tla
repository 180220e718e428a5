------------------------------- MODULE V2Live -------------------------------
(* Worlds of V2 that are small enough for TLC's check of temporal properties.  *)
EXTENDS V2Cases

LiveCases ==
  <<Base([cancelGen |-> 1]),
    Bits(Base([dropNotices |-> 1, retries |-> 1]), Bit48)>>

(* Spec with SomethingDue in the place of ENABLED Due, which TLC evaluates far *)
(* too slowly here. So this finds the runs that go on and never settle. Those  *)
(* that stop are found by NeverStuck and, on the same graph, by the search for *)
(* hangs of kvmodel explore.                                                   *)
LiveSpec ==
  /\ Init
  /\ [][Next]_vars
  /\ []<><<Due>>_vars \/ []<>~SomethingDue
=============================================================================
