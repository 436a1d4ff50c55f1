(** The learners of [Statement], extracted to OCaml. Real numbers become floating-point numbers:
    this file, the list of constants below and [driver.ml] are trusted, not proved. *)
From Crossbandit Require Import Statement.
Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
Extraction Language OCaml.
Extract Constant Rdefinitions.RbaseSymbolsImpl.R => "float".
Extract Constant Rdefinitions.RbaseSymbolsImpl.R0 => "0.0".
Extract Constant Rdefinitions.RbaseSymbolsImpl.R1 => "1.0".
Extract Constant Rdefinitions.RbaseSymbolsImpl.Rplus => "(+.)".
Extract Constant Rdefinitions.RbaseSymbolsImpl.Rmult => "( *. )".
Extract Constant Rdefinitions.RbaseSymbolsImpl.Ropp => "(fun x -> -. x)".
Extract Constant Rdefinitions.RinvImpl.Rinv => "(fun x -> 1.0 /. x)".
Extract Constant Rdefinitions.RbaseSymbolsImpl.Rabst => "(fun _ -> assert false)".
Extract Constant Rdefinitions.RbaseSymbolsImpl.Rrepr => "(fun _ -> assert false)".
Extract Constant ClassicalDedekindReals.sig_forall_dec => "(fun _ -> assert false)".
Extract Constant Rtrigo_def.exp => "Stdlib.exp".
Extract Constant Rpower.ln => "Stdlib.log".
Extract Constant Raxioms.INR => "Stdlib.float_of_int".
Extract Constant RIneq.Rle_dec => "(fun x y -> x <= y)".

(** Contexts are 0, ..., m - 1 and arms 0, ..., k - 1. *)
Definition learner1 (m k : nat) (nu : 'I_m -> R) (G : 'I_k -> 'I_k -> bool) (eta gamma rho beta : R)
  :=
  algorithm1 nu G eta gamma rho beta.
Definition learner2 (m k : nat) (G : 'I_k -> 'I_k -> bool) (eta gamma rho beta : R) (n : nat) :=
  @algorithm2 [finType of 'I_m] [finType of 'I_k] G eta gamma rho beta n.
Extraction Inline predT pred_of_argType.
Extraction "bandit.ml" learner1 learner2 bound1 bound2.
