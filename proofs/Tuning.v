(** Theorem 1 holds for the parameters of the library's tuning rule `theorem`, with its default
    constants. *)
From Crossbandit Require Import FiniteSums Exponential Main.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** L = 2 n is the epoch length. The rule sets iota = 2 ln (M K T) and n from alpha, T and iota; the
    theorem needs only that n is large enough. *)
Theorem theorem_tuning (C A : finType) (nu : C -> R) (G : rel A) (T n m : nat) (iota : R) :
  dist nu -> strongly_observable G -> (0 < n)%N -> (T <= 2 * n * m.+1)%N -> 1 <= iota ->
    36 * iota <= INR n ->
  let L := 2 * INR n in
  let gamma := 4 * iota / L in let rho := gamma in let beta := 4 * gamma in
  let eta := ln 2 / (8 * (L + iota / gamma + L * beta / gamma)) in
  regret_at_most nu G (algorithm2 C G eta gamma rho beta n) T
    (bound2 (INR #|A|) (INR (alpha G)) (mutual G) eta gamma rho beta n m iota).
Proof.
move=> dn so n0 Tm i1 ni L gamma rho beta eta.
have nR : 0 < INR n by lra.
have gE : gamma = 2 * iota / INR n by rewrite /gamma /L; field; lra.
have ng : INR n * gamma = 2 * iota by rewrite gE; field; lra.
have g0 : 0 < gamma by rewrite gE; apply: Rdiv_lt_0_compat; lra.
have g1 : gamma < 1.
  by apply: (Rmult_lt_reg_l (INR n)) => //; lra.
have l2 : 0 < ln 2 <= 1.
  split; first by rewrite -ln_1; apply: ln_increasing; lra.
  by rewrite -[X in _ <= X]ln_exp; apply: ln_mono; [lra | have := exp_ineq1_le 1; lra].
have etaE : eta = ln 2 / (84 * INR n).
  have -> : ln 2 / (84 * INR n) = ln 2 / (8 * (L + INR n / 2 + L * 4)) by rewrite /L; field; lra.
  rewrite /eta /beta; congr (_ / (8 * (_ + _ + _))); last by field; lra.
  by rewrite gE; field; lra.
apply: theorem1_explicit => //; rewrite ?ng /rho /beta; try lra.
  by rewrite etaE; apply: Rdiv_lt_0_compat; lra.
have -> : kappa eta gamma (4 * gamma) n iota = 5 / 84 * ln 2; last by lra.
by rewrite /kappa etaE gE; field; lra.
Qed.
