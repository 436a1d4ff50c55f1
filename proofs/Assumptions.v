(** Asks Coq on which axioms the theorems rest. The script check-assumptions reads the answer. *)
From Crossbandit Require Import Statement Main.
Definition p2 : Proposition2 := proposition2.
Definition t1 : Theorem1 := theorem1.
Print Assumptions p2.
Print Assumptions t1.
