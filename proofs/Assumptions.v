(** Asks Coq on which axioms the theorems rest. The script check-assumptions reads the answer. *)
From Crossbandit Require Import Statement Main Tuning Missing Late Example Corrections.
Definition checked1 : Proposition2_explicit := proposition2_explicit.
Definition checked2 : Proposition2 := proposition2.
Definition checked3 : Theorem1_explicit := theorem1_explicit.
Definition checked4 : Theorem1 := theorem1.
Print Assumptions checked1.
Print Assumptions checked2.
Print Assumptions checked3.
Print Assumptions checked4.
Print Assumptions theorem_tuning.
Print Assumptions missing1.
Print Assumptions missing2.
Print Assumptions late1.
Print Assumptions late2.
Print Assumptions two_arms.
