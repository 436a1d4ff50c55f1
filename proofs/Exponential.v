(** Elementary inequalities for exp and ln. *)
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** exp is monotone. *)
Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. by case=> [h|->]; [apply: Rlt_le; exact: exp_increasing | lra]. Qed.

(** exp (- x) is the inverse of exp x. *)
Lemma exp_opp x : exp (- x) * exp x = 1.
Proof. by rewrite -exp_plus -exp_0; congr exp; ring. Qed.

(** ln is monotone. *)
Lemma ln_mono x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. by move=> x0 [h|->]; [apply: Rlt_le; exact: ln_increasing | lra]. Qed.

(** The graph sum is at most alpha times a logarithm. *)
Lemma graph_sum_le K al (both : bool) rho : 0 <= al -> 0 < rho <= K ->
  graph_sum K al both rho <= 2 * al * (1 + ln (K / rho)).
Proof.
move=> al0 [r0 rK]; have l0 : 0 <= ln (K / rho).
  rewrite -ln_1; apply: ln_mono; first by lra.
  by apply: (Rmult_le_reg_r rho) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
by rewrite /graph_sum; case: both; [nra | exact: Rmin_r].
Qed.

(** The logarithm of a ratio is a difference. *)
Lemma ln_div x y : 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof. by move=> x0 y0; rewrite /Rdiv ln_mult // ?ln_Rinv //; exact: Rinv_0_lt_compat. Qed.

(** ln lies below its tangent at 1. *)
Lemma ln_le_sub1 x : 0 < x -> ln x <= x - 1.
Proof. by move=> x0; have := exp_ineq1_le (ln x); rewrite exp_ln //; lra. Qed.

(** The chord of exp over [0, y] lies above it. *)
Lemma exp_chord y d : 0 <= d <= 1 -> exp (y * d) <= 1 + d * (exp y - 1).
Proof.
move=> hd; have e0 := exp_pos (y * d).
have h0 : exp (y * d) * (1 - y * d) <= 1.
  by have := exp_ineq1_le (- (y * d)); have := exp_opp (y * d); nra.
have h1 : exp (y * d) * (1 + (y - y * d)) <= exp y.
  have -> : exp y = exp (y * d) * exp (y - y * d) by rewrite -exp_plus; congr exp; ring.
  by apply: Rmult_le_compat_l; [lra | exact: exp_ineq1_le].
by nra.
Qed.

(** A power of exp x is exp of a multiple of x. *)
Lemma pow_exp x n : exp x ^ n = exp (INR n * x).
Proof.
elim: n => [|n IH]; first by rewrite /INR Rmult_0_l exp_0.
by rewrite -tech_pow_Rmult IH -exp_plus S_INR; congr exp; ring.
Qed.

(** A bound of exp x gives one of exp (2 x). *)
Lemma exp_double x b : exp x <= b -> exp (2 * x) <= b * b.
Proof. by move=> h; have := exp_pos x; rewrite (_ : 2 * x = x + x); [rewrite exp_plus; nra | ring].
  Qed.

(** exp (1/64) is at most 64/63. *)
Lemma exp_64th : exp (/ 64) <= 64 / 63.
Proof. by have := exp_ineq1_le (- / 64); have := exp_pos (/ 64); have := exp_opp (/ 64); nra. Qed.

(** exp (1/2), which is exp (4 kappa) for kappa = 1/8, is at most 5/3. *)
Lemma exp_half : exp (/ 2) <= 5 / 3.
Proof.
have h := exp_64th; do 5 move/exp_double: h => h.
by rewrite (_ : / 2 = 2 * (2 * (2 * (2 * (2 * / 64))))); lra.
Qed.

(** e is at most 11/4. *)
Lemma exp1_ub : exp 1 <= 11 / 4.
Proof.
have h := exp_64th; do 6 move/exp_double: h => h.
by rewrite (_ : 1 = 2 * (2 * (2 * (2 * (2 * (2 * / 64)))))); lra.
Qed.

(** On [0, 1/2], exp is below 1 + 4/3 x. *)
Lemma exp_lin x : 0 <= x <= / 2 -> exp x <= 1 + 4 / 3 * x.
Proof.
move=> hx; have -> : x = / 2 * (2 * x) by field.
by have h : exp (/ 2 * (2 * x)) <= 1 + 2 * x * (exp (/ 2) - 1); [apply: exp_chord;
  lra | have := exp_half; nra].
Qed.

(** The inequality behind Lemma 16. *)
Lemma exp_quad x : -3 <= x -> exp (- x) <= 1 - x + 2 * x ^ 2.
Proof.
move=> hx; case: (Rle_dec 0 x) => x0.
  have h := exp_ineq1_le x; have e0 := exp_pos (- x).
  have e1 : exp (- x) * exp x = 1 by rewrite -exp_plus -(exp_0); congr exp; ring.
  suff : exp (- x) * (1 + x) <= (1 - x + 2 * x ^ 2) * (1 + x) by nra.
  have : exp (- x) * (1 + x) <= 1 by nra.
  by nra.
pose w := - x; rewrite -/w (_ : x = - w); last by rewrite /w; ring.
have w0 : 0 <= w by rewrite /w; lra.
have w3 : w <= 3 by rewrite /w; lra.
case: (Rle_dec w 1) => w1; last first.
  have e1 := exp1_ub; have e0 := exp_pos 1; have {}w1 : 1 <= w by lra.
  clearbody w; clear -w1 w3 e1 e0.
  have chord d : 0 <= d <= 1 -> exp d <= 1 + 7 / 4 * d by move=> hd; have := exp_chord 1 hd;
    rewrite Rmult_1_l; nra.
  case: (Rle_dec w 2) => w2.
    have h : exp (w - 1) <= 1 + 7 / 4 * (w - 1) by apply: chord; lra.
    have p0 := exp_pos (w - 1).
    have -> : exp w = exp 1 * exp (w - 1) by rewrite -!exp_plus; congr exp; ring.
    by nra.
  have h : exp (w - 2) <= 1 + 7 / 4 * (w - 2) by apply: chord; lra.
  have p0 := exp_pos (w - 2).
  have -> : exp w = exp 1 * (exp 1 * exp (w - 2)) by rewrite -!exp_plus; congr exp; ring.
  have h2 : exp 1 * exp 1 <= 121 / 16 by nra.
  have h3 : exp 1 * exp 1 * exp (w - 2) <= 121 / 16 * (1 + 7 / 4 * (w - 2)).
    by apply: Rmult_le_compat => //; nra.
  by nra.
clearbody w; clear -w0 w1.
have h := exp_ineq1_le (- (w / 2)); have e0 := exp_pos (w / 2).
have e1 : exp (w / 2) * exp (- (w / 2)) = 1 by rewrite -exp_plus -exp_0; congr exp; ring.
have e2 : exp w = exp (w / 2) * exp (w / 2) by rewrite -exp_plus; congr exp; field.
have h2 : exp (w / 2) * (1 - w / 2) <= 1 by nra.
have h3 : exp w * (1 - w / 2) ^ 2 <= 1.
  have q0 : 0 <= exp (w / 2) * (1 - w / 2) by apply: Rmult_le_pos; lra.
  have -> : exp w * (1 - w / 2) ^ 2 = (exp (w / 2) * (1 - w / 2)) ^ 2 by rewrite e2; ring.
  by nra.
have h4 : 1 <= (1 + w + 2 * w ^ 2) * (1 - w / 2) ^ 2.
  have r0 : 0 <= 2 * w ^ 2 - 7 * w + 5 by nra.
  have := Rmult_le_pos _ _ (pow2_ge_0 w) r0.
  by lra.
have h5 : 0 < (1 - w / 2) ^ 2 by nra.
by nra.
Qed.

