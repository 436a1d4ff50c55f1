(** The learners of [Statement], extracted to OCaml. Real numbers become floating-point numbers:
    this file, the list of constants below and [driver.ml] are trusted, not proved. *)
From Crossbandit Require Import Statement Learner.
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
Extract Constant R_sqrt.sqrt => "Stdlib.sqrt".
Extract Constant Rpower.Rpower => "( ** )".
Extract Constant Learner.floor => "Stdlib.int_of_float".
Extract Constant Learner.memo => "(fun _ f -> let kept = Stdlib.Hashtbl.create 8 in fun x ->
  match Stdlib.Hashtbl.find_opt kept x with Some y -> y
  | None -> let y = f x in Stdlib.Hashtbl.add kept x y; y)".

(** Contexts are 0, ..., m - 1 and arms 0, ..., k - 1. *)
Definition learner1 (m k : nat) (nu : 'I_m -> R) (G : 'I_k -> 'I_k -> bool) (eta gamma rho beta : R)
  :=
  algorithm1 nu G eta gamma rho beta.
Definition learner2 (m k : nat) (G : 'I_k -> 'I_k -> bool) (eta gamma rho beta : R) (n : nat) :=
  @algorithm2 [finType of 'I_m] [finType of 'I_k] G eta gamma rho beta n.

(** The certified learner. Its feedback begins with round 0 and has no end: no horizon is near. *)
Section Certified.
Variables (m k : nat) (c0 : 'I_m) (a0 : 'I_k) (G : nat -> 'I_m -> 'I_k -> 'I_k -> bool).
Variables (horizon : nat) (alpha coins : R) (slots longest usual : nat) (by_round : bool).
Variables (loops : 'I_k -> bool) (dominating : seq 'I_k).
Let decide := library c0 a0 G (4 * usual) horizon alpha coins slots longest usual by_round loops
  dominating.
Definition learner3 := certified c0 a0 G (4 * usual) horizon decide.
Definition certificate3 := @certificate [finType of 'I_m] [finType of 'I_k] c0 a0.
End Certified.
Extraction Inline predT pred_of_argType.
Extraction "bandit.ml" learner1 learner2 learner3 certificate3 bound1 bound2.
