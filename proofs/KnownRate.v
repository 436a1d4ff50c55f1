(** Proposition 2: the rate of Algorithm 1, with all four parameters 1 / sqrt(alpha T). *)
From Crossbandit Require Import FiniteSums Exponential Ftrl GraphInverse Programs KnownLaw.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Proposition 2, closed form. *)
Theorem known_rate (C A : finType) (a0 : A) (nu : C -> R) (G : rel A)
  (loss : nat -> C -> A -> R) (pi : C -> A) (T : nat) :
  dist nu -> strongly_observable G -> (forall t c a, 0 <= loss t c a <= 1) ->
  let s := Rmax 2 (sqrt (INR (alpha G) * INR T)) in
  let x := / s in
  Reg nu G loss (algorithm1 nu G x x x x) T pi <= s * (13 * ln (INR #|A| * s) + 37).
Proof.
move=> dn so l01 s x; have s2 : 2 <= s by exact: Rmax_l.
have al := @alpha_ge1 A a0 G.
have x0 : 0 < x by apply: Rinv_0_lt_compat; lra.
have x2 : x <= / 2 by apply: Rinv_le_contravar; lra.
have k1 : 1 <= INR #|A|.
  rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; by exists a0.
have T0 : 0 <= INR T by exact: pos_INR.
have aT0 : 0 <= INR (alpha G) * INR T by nra.
have lks : 0 <= ln (INR #|A| * s) by rewrite -ln_1; apply: ln_mono; nra.
case: (Rle_dec 2 (sqrt (INR (alpha G) * INR T))) => big; last first.
  have sE : s = 2 by rewrite /s Rmax_left //; lra.
  have T4 : INR T <= 4.
    have := sqrt_sqrt _ aT0; have := sqrt_pos (INR (alpha G) * INR T); nra.
  have : Reg nu G loss (algorithm1 nu G x x x x) T pi <= INR T.
    by apply: run_le => // L c; apply: (mixed_dist a0); lra.
  by rewrite sE in lks *; nra.
have {}big : s = sqrt (INR (alpha G) * INR T) by rewrite /s Rmax_right.
have gs_le := graph_sum_le (mutual G) (ltac:(lra) : 0 <= INR (alpha G))
  (ltac:(lra) : 0 < x <= INR #|A|).
have h := @known C A a0 nu G loss x x x x pi dn so l01 x0 x0.
apply: Rle_trans (h _ _ _ T) _; [lra | lra | nra |].
rewrite /B /Gsum /D /K.
set gs := graph_sum (INR #|A|) (INR (alpha G)) (mutual G) x in gs_le *;
  set a := INR (alpha G) in al gs_le big aT0 *; set k := INR #|A| in k1 lks gs_le *.
have xs : x * s = 1 by rewrite /x; field; lra.
have ss : s * s = a * INR T by rewrite big sqrt_sqrt.
have kx : k / x = k * s by rewrite /x; field; lra.
have -> : ln k / x = ln k * s by rewrite /x; field; lra.
have ls : 0 <= ln s by rewrite -ln_1; apply: ln_mono; lra.
have lk : 0 <= ln k by rewrite -ln_1; apply: ln_mono; lra.
have lnE : ln (k * s) = ln k + ln s by rewrite ln_mult; lra.
rewrite kx lnE in gs_le; rewrite lnE.
have Tx : INR T * x <= s.
  apply: (Rmult_le_reg_r s); first by lra.
  by rewrite Rmult_assoc xs ss; nra.
have aTx : a * (INR T * x) = s.
  apply: (Rmult_eq_reg_r s); last by lra.
  have -> : a * (INR T * x) * s = a * INR T * (x * s) by ring.
  by rewrite xs ss; ring.
set l := ln k + ln s in gs_le *; have l0 : 0 <= l by rewrite /l; lra.
have i0 : 0 < / (1 - x) <= 2.
  split; first by apply: Rinv_0_lt_compat; lra.
  by rewrite -[2]Rinv_inv; apply: Rinv_le_contravar; lra.
have -> : x ^ 2 / x = x by field; lra.
have hB : x + (x + 2 * x) * ((gs + 2) / (1 - x)) + (x + 2 * x * (1 + 2 * x + x)) / (1 - x)
   <= x * (12 * a * (1 + l) + 25).
  rewrite /Rdiv; set i := / (1 - x) in i0 *.
  have g0 : 0 <= 2 * a * (1 + l) + 2 by nra.
  have h1 : (x + 2 * x) * ((gs + 2) * i) <= x * (3 * ((2 * a * (1 + l) + 2) * 2)).
    have : (gs + 2) * i <= (2 * a * (1 + l) + 2) * 2.
      apply: (Rle_trans _ ((2 * a * (1 + l) + 2) * i)); first by apply: Rmult_le_compat_r; lra.
      by apply: Rmult_le_compat_l; lra.
    by nra.
  have h2 : (x + 2 * x * (1 + 2 * x + x)) * i <= x * 12.
    have : x + 2 * x * (1 + 2 * x + x) <= x * 6 by nra.
    by nra.
  by nra.
apply: (Rle_trans _ (ln k * s + INR T * (x * (12 * a * (1 + l) + 25)))).
  by apply: Rplus_le_compat_l; apply: Rmult_le_compat_l.
have -> : INR T * (x * (12 * a * (1 + l) + 25)) = 12 * (a * (INR T * x)) * (1 + l) + 25
  * (INR T * x) by ring.
rewrite aTx.
have : ln k * s <= l * s by apply: Rmult_le_compat_r; rewrite /l; lra.
by nra.
Qed.
