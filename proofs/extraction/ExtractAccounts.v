(** The account of a budget, a fleet, and the memory of decisions, extracted to OCaml. Whole numbers
    become integers of 63 bits: this file, Coq's list for them and [accounts.ml] are trusted, not
    proved. *)
From Crossbandit Require Budgets ExactlyOnce.
Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt.
Extraction Language OCaml.
Extraction "models.ml" Budgets.step Budgets.start Budgets.free Budgets.do Budgets.fleet_start
  Budgets.left
  ExactlyOnce.step ExactlyOnce.empty.
