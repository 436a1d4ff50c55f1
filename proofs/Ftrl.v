(** Lemma 16: negative-entropy FTRL with shifted inputs, on every path, for any finite set of arms.
    *)
From Crossbandit Require Import FiniteSums Exponential.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Ftrl.
Variable A : finType.
Variable a0 : A.
Variable eta : R.
Hypothesis eta0 : 0 < eta.

(** The weights of a softmax and their sum. *)
Definition wexp (c : A -> R) (a : A) := exp (- eta * c a).
Definition norm (c : A -> R) := \rsum_a wexp c a.
Local Notation softmax := (@softmax A eta).
(** The softmax is a weight over the sum of weights. *)
Lemma softmaxE (c : A -> R) a : softmax c a = wexp c a / norm c. Proof. by []. Qed.

(** The sum of weights is positive. *)
Lemma norm_gt0 c : 0 < norm c.
Proof. by apply: (rsum_gt0 (i0 := a0)) => // i _; exact: exp_pos. Qed.

(** Every arm has a positive probability. *)
Lemma softmax_gt0 c a : 0 < softmax c a.
Proof. by apply: Rdiv_lt_0_compat; [exact: exp_pos | exact: norm_gt0]. Qed.

(** The softmax is a distribution. *)
Lemma softmax_dist c : dist (softmax c).
Proof.
split=> [a|]; first exact: Rlt_le (softmax_gt0 c a).
rewrite /Statement.softmax /Rdiv -rsum_mulr -/(norm c).
by field; have := norm_gt0 c; lra.
Qed.

(** One round: the inequality for the exponential potential. *)
Lemma norm_step c y z : (forall a, -3 <= eta * (y a - z)) ->
  ln (norm (fun a => c a + y a)) <=
  ln (norm c) - eta * ip (softmax c) y + 2 * eta ^ 2 * ip (softmax c) (fun a => (y a - z) ^ 2).
Proof.
move=> hz; have Z0 := norm_gt0 c.
have [s0 s1] := softmax_dist c.
pose S := \rsum_a (softmax c a * exp (- (eta * (y a - z)))).
have S0 : 0 < S.
  by apply: (rsum_gt0 (i0 := a0)) => // a _; apply: Rmult_lt_0_compat;
    [exact: softmax_gt0 | exact: exp_pos].
have -> : norm (fun a => c a + y a) = norm c * (exp (- (eta * z)) * S).
  rewrite /S !rsum_mull {1}/norm; apply: eq_bigr => a _.
  rewrite softmaxE /wexp.
  have -> : - eta * (c a + y a) = - eta * c a + (- (eta * z) + - (eta * (y a - z))) by ring.
  by rewrite !exp_plus; field; lra.
rewrite ln_mult //; last by apply: Rmult_lt_0_compat => //; exact: exp_pos.
rewrite ln_mult ?ln_exp //; last exact: exp_pos.
have hS : S <= 1 - eta * ip (softmax c) y + eta * z
              + 2 * eta ^ 2 * ip (softmax c) (fun a => (y a - z) ^ 2).
  apply: (Rle_trans _ (\rsum_a (softmax c a * (1 - (eta * (y a - z)) + 2 * (eta * (y a - z)) ^
    2)))).
    apply: rsum_le => a _; apply: Rmult_le_compat_l; first exact: s0.
    exact: exp_quad.
  apply: Req_le.
  rewrite (eq_bigr (fun a => (softmax c a * (1 + eta * z) - eta * (softmax c a * y a))
      + 2 * eta ^ 2 * (softmax c a * (y a - z) ^ 2))); last by move=> a _; ring.
  rewrite rsum_split rsum_sub -!rsum_mull -rsum_mulr s1.
  by rewrite -/(ip (softmax c) y) -/(ip (softmax c) (fun a => (y a - z) ^ 2)); ring.
by have := ln_le_sub1 S0; lra.
Qed.

(** Gibbs' variational principle: softmax is the minimiser of Equation 2, and the minimum is - ln
    norm. *)
Definition negent (v : A -> R) := \rsum_a (v a * ln (v a)).

(** The lower bound for every comparator. *)
Lemma gibbs v c : dist v -> - ln (norm c) <= eta * ip v c + negent v.
Proof.
move=> [v0 v1]; have Z0 := norm_gt0 c.
have h a : v a - softmax c a <= v a * ln (v a) + eta * (v a * c a) + v a * ln (norm c).
  case: (Req_dec (v a) 0) => [->|va]; first by have := softmax_gt0 c a; lra.
  have {}va : 0 < v a by have := v0 a; lra.
  have s0 := softmax_gt0 c a.
  have e : ln (softmax c a / v a) = - eta * c a - ln (norm c) - ln (v a).
    rewrite {1}/Rdiv ln_mult; [|by exact: softmax_gt0|exact: Rinv_0_lt_compat].
    rewrite softmaxE /Rdiv ln_mult; [|exact: exp_pos|exact: Rinv_0_lt_compat].
    by rewrite !ln_Rinv // /wexp ln_exp; ring.
  have := ln_le_sub1 (Rdiv_lt_0_compat _ _ s0 va); rewrite e => h.
  have : v a * (- eta * c a - ln (norm c) - ln (v a)) <= v a * (softmax c a / v a - 1).
    by apply: Rmult_le_compat_l => //; lra.
  have -> : v a * (softmax c a / v a - 1) = softmax c a - v a by field; lra.
  by lra.
have := rsum_le (P := xpredT) (fun a _ => h a).
rewrite rsum_sub v1 (proj2 (softmax_dist c)) !rsum_split -rsum_mull -rsum_mulr v1.
by rewrite -/(ip v c) -/(negent v); lra.
Qed.

(** Softmax attains it. *)
Lemma gibbs_eq c : - ln (norm c) = eta * ip (softmax c) c + negent (softmax c).
Proof.
have Z0 := norm_gt0 c; have [_ s1] := softmax_dist c.
rewrite /ip rsum_mull /negent -rsum_split.
rewrite (eq_bigr (fun a => softmax c a * (- ln (norm c)))); first by rewrite -rsum_mulr s1; ring.
move=> a _; rewrite {3}softmaxE /Rdiv ln_mult; [|exact: exp_pos|exact: Rinv_0_lt_compat].
by rewrite ln_Rinv // /wexp ln_exp; ring.
Qed.

(** Equation 2: the softmax of the cumulative input is the FTRL iterate. *)
Corollary equation2_softmax_argmin v c : dist v ->
  ip (softmax c) c + negent (softmax c) / eta <= ip v c + negent v / eta.
Proof.
move=> dv; have := gibbs c dv; rewrite gibbs_eq => h.
have e u : ip u c + negent u / eta = / eta * (eta * ip u c + negent u) by field; lra.
by rewrite !e; apply: Rmult_le_compat_l => //; apply: Rlt_le; apply: Rinv_0_lt_compat.
Qed.

Section Path.
Variable y : nat -> A -> R.
Variable z : nat -> R.
(** Cumulative inputs and the iterates. *)
Definition cum (t : nat) (a : A) := \rsum_(s < t) y s a.
Definition p (t : nat) := softmax (cum t).

(** Before the first input, all weights are 1. *)
Lemma norm0 : norm (cum 0) = INR #|A|.
Proof.
rewrite /norm (eq_bigr (fun=> 1)); last by move=> a _; rewrite /wexp /cum big_ord0 Rmult_0_r exp_0.
by rewrite rsum_const Rmult_1_r.
Qed.

(** One more input is added. *)
Lemma cumS t a : cum t.+1 a = cum t a + y t a.
Proof. by rewrite /cum big_ord_recr. Qed.

(** The Kullback-Leibler divergence from the uniform distribution. *)
Definition klu (v : A -> R) := \rsum_a (v a * ln (v a * INR #|A|)).

(** There is an arm. *)
Lemma card_gt0 : 0 < INR #|A|.
Proof. by apply: lt_0_INR; apply/ltP; apply/card_gt0P; exists a0. Qed.

(** The divergence from the uniform distribution, by the entropy. *)
Lemma klu_negent v : dist v -> klu v = negent v + ln (INR #|A|).
Proof.
move=> [v0 v1]; have K0 := card_gt0.
rewrite -[ln _ in RHS]Rmult_1_l -v1 rsum_mulr -rsum_split; apply: eq_bigr => a _.
case: (Req_dec (v a) 0) => [->|va]; first by ring.
by rewrite ln_mult; [ring | have := v0 a; lra | lra].
Qed.

(** It is at most ln K. *)
Lemma klu_le v : dist v -> klu v <= ln (INR #|A|).
Proof.
move=> dv; rewrite klu_negent //.
suff : negent v <= 0 by lra.
case: dv => v0 v1.
have h a : v a * ln (v a) <= 0.
  case: (Req_dec (v a) 0) => [->|va]; first by lra.
  have va1 : v a <= 1 by rewrite -v1; apply: (rsum_ge1 (P := xpredT)).
  have := @ln_le_sub1 (v a); have := v0 a; nra.
have := rsum_le (P := xpredT) (fun a _ => h a); rewrite rsum_const; rewrite -/(negent v); lra.
Qed.

(** Lemma 16. *)
Theorem lemma16_ftrl_shift T v : dist v ->
  (forall t a, (t < T)%N -> -3 <= eta * (y t a - z t)) ->
  \rsum_(t < T) (ip (p t) (y t) - ip v (y t)) <=
  klu v / eta + 2 * eta * \rsum_(t < T) ip (p t) (fun a => (y t a - z t) ^ 2).
Proof.
move=> dv hz.
have up : ln (norm (cum T)) <= ln (INR #|A|) - eta * \rsum_(t < T) ip (p t) (y t)
    + 2 * eta ^ 2 * \rsum_(t < T) ip (p t) (fun a => (y t a - z t) ^ 2).
  elim: T hz => [|T IH] hz; first by rewrite norm0 !big_ord0; lra.
  rewrite (rsum_recr T (fun t => ip (p t) (y t))) (rsum_recr T (fun t => ip (p t) (fun a =>
    (y t a - z t) ^ 2))).
  have -> : norm (cum T.+1) = norm (fun a => cum T a + y T a).
    by apply: eq_bigr => a _; rewrite /wexp cumS.
  have := @norm_step (cum T) (y T) (z T) (fun a => hz T a (ltnSn T)).
  have := IH (fun t a h => hz t a (ltn_trans h (ltnSn T))).
  by rewrite /p; lra.
have lo := gibbs (cum T) dv.
have e : ip v (cum T) = \rsum_(t < T) ip v (y t).
  rewrite /ip exchange_big; apply: eq_bigr => a _ /=.
  by rewrite /cum rsum_mull.
rewrite rsum_sub -e klu_negent //.
set X := \rsum_(t < T) ip (p t) (y t) in up *.
set Y := \rsum_(t < T) ip (p t) (fun a => (y t a - z t) ^ 2) in up *.
suff : eta * (X - ip v (cum T)) <= eta * ((negent v + ln (INR #|A|)) / eta + 2 * eta * Y).
  by move/(Rmult_le_reg_l _ _ _ eta0).
have -> : eta * ((negent v + ln (INR #|A|)) / eta + 2 * eta * Y)
  = negent v + ln (INR #|A|) + 2 * eta ^ 2 * Y by field; lra.
lra.
Qed.
End Path.
End Ftrl.
