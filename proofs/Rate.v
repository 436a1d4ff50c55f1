(** Theorem 1 for every horizon: in explicit form, and in closed form for epochs of two lengths. *)
From mathcomp Require Import div.
From Crossbandit Require Import FiniteSums Exponential GraphInverse Programs KnownLaw Retention
  Epochs GoodEvents Assembly.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** The last epoch may be cut short: fill it up with rounds of zero loss. *)
Theorem explicit_rate (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A ->
  R) (pi : C -> A)
    (T n m : nat) (eta gamma rho beta iota : R) :
  dist nu -> strongly_observable G -> (forall t c a, 0 <= loss t c a <= 1) -> (0 < n)%N ->
    (T <= 2 * n * m.+1)%N ->
  0 < eta -> 0 < gamma -> 0 < rho < 1 -> 4 * gamma <= beta -> 1 <= iota ->
  iota <= 2 * (INR n * gamma) -> 2 <= INR n * gamma -> 36 * iota <= INR n -> kappa eta gamma beta n
    iota <= / 8 ->
  Reg nu G loss (algorithm2 C G eta gamma rho beta n) T pi <=
    bound2 (INR #|A|) (INR (alpha G)) (mutual G) eta gamma rho beta n m iota.
Proof.
move=> dn so l01 n0 Tm eta0 gamma0 rho1 beta4 iota1 ig ng inn k8.
rewrite (Reg_pad _ _ _ _ dn _ _ (2 * n * m.+1 - T)) ?subnKC //; last first.
- by move=> *; exact: learn2_valid.
- by move=> *; exact: policy2_dist.
apply: algorithm2_regret => // t c a.
by rewrite /padded; case: ifP => _; [exact: l01 | lra].
Qed.

(** Rounding up adds at most 1. *)
Lemma up_bd x : 0 < x -> x < INR (Z.to_nat (up x)) <= x + 1.
Proof.
move=> x0; have [h1 h2] := archimed x; have up0 : (0 <= up x)%Z by apply: le_IZR; lra.
by rewrite INR_IZR_INZ Z2Nat.id //; lra.
Qed.
(** The share of exploration is positive, and at most 1/2. *)
Lemma share_bd iota x : 0 < iota -> 0 < x ->
  0 < Rmin (/ 2) (iota / (2 * INR (Z.to_nat (up x)))) <= / 2.
Proof.
move=> i0 x0; split; last exact: Rmin_l.
by apply: Rmin_glb_lt; [lra | apply: Rdiv_lt_0_compat; have := up_bd x0; lra].
Qed.

Section Rate.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (pi : C ->
  A) (T : nat).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis T0 : (0 < T)%N.

Let K := INR #|A|.
Let al := INR (alpha G).
Let TT := INR T.
(** The scale [y] of an epoch and the factor [q] of the bound depend on [k]. *)
Variables (iota k q y : R).
Hypothesis iotaT : ln (2 * K * TT) <= iota.
Hypothesis k0 : 0 < k.
Hypothesis kq : k <= q.
Hypothesis Kq : 1 + ln K <= q.
Hypothesis y_gt0 : 0 < y.
Hypothesis y_sq : y * y * k = al * TT.
Let x := 3 / 8 * iota * y.
Let n := Z.to_nat (up x).
Let gamma := Rmin (/ 2) (iota / (2 * INR n)).
Let eta := / (64 * INR n).
Let alg := algorithm2 C G eta gamma gamma (4 * gamma) n.

(** Facts about the parameters. *)
Lemma K1 : 1 <= K.
Proof. by rewrite /K (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; exists a0. Qed.
(** alpha is at least 1. *)
Lemma al1 : 1 <= al. Proof. exact: alpha_ge1. Qed.
(** There is a round. *)
Lemma T1 : 1 <= TT. Proof. by rewrite /TT (_ : 1 = INR 1) //; apply: le_INR; apply/leP. Qed.
(** The factor of the bound is at least 1. *)
Lemma q1 : 1 <= q.
Proof. by have : 0 <= ln K; [rewrite -ln_1; apply: ln_mono; [lra | exact: K1] | lra]. Qed.

(** exp r <= (11/4)^r bounds iota from below. *)
Lemma iota_ge (r : nat) : (11 / 4) ^ r <= 2 * K * TT -> INR r <= iota.
Proof.
move=> h; apply: Rle_trans iotaT; rewrite -[INR r]ln_exp; apply: ln_mono; first exact: exp_pos.
apply: Rle_trans h; rewrite -[INR r]Rmult_1_r -pow_exp; apply: pow_incr.
by split; [exact: Rlt_le (exp_pos _) | exact: exp1_ub].
Qed.
(** iota is at least 1/2. *)
Lemma iota_half : / 2 <= iota.
Proof.
have h : / 2 <= ln 2 by rewrite -[/ 2]ln_exp; apply: ln_mono; [exact: exp_pos | have := exp_half;
  lra].
apply: Rle_trans h _; apply: Rle_trans iotaT; apply: ln_mono; first by lra.
by have := K1; have := T1; nra.
Qed.
(** The epoch length before rounding is positive. *)
Lemma x_gt0 : 0 < x. Proof. by have := y_gt0; have := iota_half; rewrite /x => h1 h2; nra. Qed.
(** An epoch is longer than the rule's value by at most one pair. *)
Lemma n_bd : x < INR n <= x + 1. Proof. exact: up_bd x_gt0. Qed.
(** An epoch has a pair. *)
Lemma n_gt0 : (0 < n)%N.
Proof. by apply/ltP; apply: INR_lt; have := n_bd; have := x_gt0; rewrite (_ : INR 0 = 0) //; lra.
  Qed.
(** gamma is positive, and at most 1/2. *)
Lemma gamma_bd : 0 < gamma <= / 2.
Proof. by apply: share_bd; [have := iota_half; lra | exact: x_gt0]. Qed.
(** The trivial bound. *)
Lemma trivial : Reg nu G loss alg T pi <= TT.
Proof. by apply: value_le => //; have := gamma_bd; lra. Qed.

(** The regime in which the bound says something. *)
Section Main.
Hypothesis long : 48 * (y * q * iota) < TT.

(** The horizon is long. *)
Lemma T_large : 2304 * iota ^ 2 * al * q < TT.
Proof.
have y0 := y_gt0; have i0 := iota_half; have q0 := q1; have t1 := T1.
have p0 : 0 < y * q * iota by apply: Rmult_lt_0_compat; [nra | lra].
have sq : (48 * (y * q * iota)) * (48 * (y * q * iota)) < TT * TT.
  by apply: Rmult_gt_0_lt_compat; lra.
have c0 : 0 <= 2304 * iota ^ 2 * (y * y) * q by apply: Rmult_le_pos; nra.
have := Rmult_le_compat_l _ _ _ c0 kq.
rewrite (_ : 2304 * iota ^ 2 * (y * y) * q * k = 2304 * iota ^ 2 * (y * y * k) * q); last by ring.
rewrite y_sq (_ : 2304 * iota ^ 2 * (al * TT) * q = 2304 * iota ^ 2 * al * q * TT); last by ring.
by move=> le; apply: (Rmult_lt_reg_r TT); lra.
Qed.
(** alpha times the factor of the bound is at least 1. *)
Lemma aq1 : 1 <= al * q. Proof. by have := al1; have := q1; nra. Qed.
(** So the horizon is long for every lower bound of iota. *)
Lemma T_iota r : 0 <= r -> r <= iota -> 2304 * r ^ 2 <= TT.
Proof.
move=> r0 ri; have h := T_large; have aq := aq1; have r2 : r ^ 2 <= iota ^ 2 by apply: pow_incr.
have : iota ^ 2 * 1 <= iota ^ 2 * (al * q) by apply: Rmult_le_compat_l => //; exact: pow2_ge_0.
by lra.
Qed.
(** So its logarithm is at least 11. *)
Lemma iota11 : 11 <= iota.
Proof.
have KT : TT <= K * TT by have := K1; have := T1; nra.
have i6 : 6 <= iota.
  have t := T_iota (Rlt_le _ _ (Rinv_0_lt_compat 2 ltac:(lra))) iota_half.
  have := @iota_ge 6; rewrite (_ : INR 6 = 6); last by rewrite /INR; lra.
  by apply; lra.
have t := T_iota (ltac:(lra) : 0 <= 6) i6.
have := @iota_ge 11; rewrite (_ : INR 11 = 11); last by rewrite /INR; lra.
by apply; lra.
Qed.
(** And the epochs are long. *)
Lemma y_large : 48 * (iota * al) < y.
Proof.
have y0 := y_gt0; have i0 := iota_half; have q0 := q1; have a1 := al1; have tl := T_large.
apply: Rnot_le_lt => le.
have p0 : 0 <= 48 * (iota * al) by nra.
have yy : y * y <= (48 * (iota * al)) * (48 * (iota * al)) by apply: Rmult_le_compat; lra.
have s0 := pow2_ge_0 (48 * (iota * al)).
have h : y * y * k <= (48 * (iota * al)) * (48 * (iota * al)) * q by apply: Rmult_le_compat; nra.
have e : (48 * (iota * al)) * (48 * (iota * al)) * q = al * (2304 * iota ^ 2 * al * q) by ring.
move: h; rewrite y_sq e.
by move=> h'; have := Rmult_le_reg_l _ _ _ (ltac:(lra) : 0 < al) h'; lra.
Qed.
(** Then epochs are long, *)
Lemma x_large : 198 * iota <= x.
Proof.
have yl := y_large; have i11 := iota11; have a1 := al1.
have : 48 * 11 <= y by nra.
by rewrite /x; nra.
Qed.
(** but shorter than the run. *)
Lemma n_T : 2 * INR n <= TT.
Proof.
have xl := x_large; have nb := n_bd; have i11 := iota11; have q0 := q1; have y0 := y_gt0;
  have l := long.
have : y * iota * 1 <= y * iota * q by apply: Rmult_le_compat_l; nra.
by rewrite /x in nb xl; nra.
Qed.
(** Then gamma is not cut off, *)
Lemma gammaE : gamma = iota / (2 * INR n).
Proof.
have xl := x_large; have nb := n_bd; have i11 := iota11.
rewrite /gamma Rmin_right //; apply: (Rmult_le_reg_r (2 * INR n)); first by lra.
by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
(** which gives its product with the epoch length, *)
Lemma n_gamma : INR n * gamma = iota / 2.
Proof. by rewrite gammaE; field; have := x_large; have := n_bd; have := iota11; lra. Qed.
(** and it is small. *)
Lemma gamma_small : gamma <= / 396.
Proof.
have xl := x_large; have nb := n_bd; have i11 := iota11.
rewrite gammaE; apply: (Rmult_le_reg_r (2 * INR n)); first by lra.
by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.
(** The parameter kappa is 1/8. *)
Lemma kappaE : kappa eta gamma (4 * gamma) n iota = / 8.
Proof.
have xl := x_large; have nb := n_bd; have i11 := iota11; have g0 := gamma_bd.
have -> : iota = 2 * (INR n * gamma) by rewrite n_gamma; field.
by rewrite /kappa /eta; field; lra.
Qed.

(** The graph sum. *)
Lemma graph_le : 2 * graph_sum (INR #|A|) (INR (alpha G)) (mutual G) gamma + 6 <=
  4 * (al * iota) + 2.
Proof.
have a1 := al1; have i11 := iota11; have g0 := gamma_bd; have kk := K1; have t1 := T1;
  have nt := n_T.
have nb := n_bd; have x0 := x_gt0.
have gK : 0 < gamma <= INR #|A| by move: kk; rewrite /K; lra.
have := graph_sum_le (mutual G) (pos_INR (alpha G)) gK; rewrite -/al -/K.
suff : ln (K / gamma) <= iota - 2 by nra.
have e2 : exp 2 <= 2 * iota.
  by have := exp_double exp1_ub; rewrite Rmult_1_r; lra.
have p0 : 0 < 2 * K * TT by nra.
apply: (Rle_trans _ (ln (2 * K * TT * exp (- 2)))); last first.
  by rewrite ln_mult ?ln_exp //; [have := iotaT; lra | exact: exp_pos].
apply: ln_mono; first by apply: Rdiv_lt_0_compat; lra.
have -> : K / gamma = 2 * K * INR n * / iota by rewrite gammaE; field; lra.
have : / iota <= 2 * exp (- 2).
  apply: (Rmult_le_reg_l iota); first by lra.
  rewrite Rinv_r; last by lra.
  by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ (exp_pos (- 2))) e2; rewrite exp_opp; lra.
move=> h; have ii : 0 < / iota by apply: Rinv_0_lt_compat; lra.
have kn : 0 <= 2 * K * INR n <= K * TT by nra.
have := Rmult_le_compat _ _ _ _ (proj1 kn) (Rlt_le _ _ ii) (proj2 kn) h; lra.
Qed.

(** The cost of a pair. *)
Lemma pair_le :
  pair_cost (INR #|A|) (INR (alpha G)) (mutual G) eta gamma gamma (4 * gamma) n iota <=
  35 * (gamma * (al * iota)).
Proof.
have a1 := al1; have i11 := iota11; have g0 := gamma_bd; have gs := gamma_small;
  have gl := graph_le.
have nb := n_bd; have xl := x_large.
rewrite /pair_cost kappaE /=.
have etaE : eta = gamma / (32 * iota) by rewrite /eta gammaE; field; lra.
have eta_le : 32 * eta <= gamma / 11.
  rewrite etaE (_ : 32 * (gamma / (32 * iota)) = gamma * / iota); last by field; lra.
  by apply: Rmult_le_compat_l; [lra | apply: Rinv_le_contravar; lra].
have eta0 : 0 < eta by apply: Rinv_0_lt_compat; lra.
set gsum := graph_sum (INR #|A|) (INR (alpha G)) (mutual G) gamma in gl *.
have s1 : (3 * gamma + (8 * gamma + 2 / 3 * (4 * gamma)) * / 8 + 32 * eta) * (2 * gsum + 6)
   <= 31 / 7 * gamma * (4 * (al * iota) + 2).
  apply: (Rle_trans _ ((3 * gamma + (8 * gamma + 2 / 3 * (4 * gamma)) * / 8 + 32 * eta) *
    (4 * (al * iota) + 2))).
    by apply: Rmult_le_compat_l; lra.
  by apply: Rmult_le_compat_r; nra.
have s2 : 2 * (4 * gamma + (8 / 3 * gamma + 10 / 3 * (4 * gamma)) * / 8
     + 2 * eta * (16 * (1 + 4 * gamma) + 4 * (4 * gamma) ^ 2 / gamma)) <= 13 * gamma.
  have -> : 4 * (4 * gamma) ^ 2 / gamma = 64 * gamma by field; lra.
  by nra.
have ai : 11 <= al * iota by nra.
set v := _ * (2 * gsum + 6) + _.
have ga : gamma * 11 <= gamma * (al * iota) by apply: Rmult_le_compat_l; lra.
have v_le : v <= 99 / 5 * (gamma * (al * iota)) by rewrite /v; lra.
have gs0 : 0 <= gsum by apply: (graph_sum_ge0 a0 G); lra.
have v0 : 0 <= v.
  have d0 : 0 <= 4 * (4 * gamma) ^ 2 / gamma.
    by apply: Rmult_le_pos; [have := pow2_ge_0 (4 * gamma) | apply: Rlt_le;
      apply: Rinv_0_lt_compat]; lra.
  have ed : 0 <= eta * (16 * (1 + 4 * gamma) + 4 * (4 * gamma) ^ 2 / gamma) by apply: Rmult_le_pos;
    lra.
  by apply: Rplus_le_le_0_compat; [apply: Rmult_le_pos | ]; lra.
have f_le : exp (4 * / 8) / (1 - gamma) <= 5 / 3 * (396 / 395).
  apply: Rmult_le_compat; [exact: Rlt_le (exp_pos _) | apply: Rlt_le; apply: Rinv_0_lt_compat;
    lra | |].
    by rewrite (_ : 4 * / 8 = / 2); [exact: exp_half | field].
  rewrite (_ : 396 / 395 = / (395 / 396)); last by field.
  by apply: Rinv_le_contravar; lra.
have f0 : 0 <= exp (4 * / 8) / (1 - gamma).
  by apply: Rmult_le_pos; [exact: Rlt_le (exp_pos _) | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
have := Rmult_le_compat _ _ _ _ f0 v0 f_le v_le.
by lra.
Qed.

Let m := (T %/ (2 * n))%N.
(** The epochs after the first take at most the whole horizon. *)
Lemma mT : 2 * (INR n * INR m) <= TT.
Proof.
have := le_INR _ _ (elimT leP (leq_trunc_div T (2 * n))); rewrite !mult_INR -/m (_ : INR 2 = 2);
  last by rewrite /INR; lra.
by rewrite -/TT; lra.
Qed.

(** Failed epochs cost little. *)
Lemma failures_le :
  INR n * INR m * ((INR m + 3) * ((2 * K + 1) * exp (- iota))) <= / 10 * (y * q).
Proof.
have i11 := iota11; have q0 := q1; have nb := n_bd; have xl := x_large; have y0 := y_gt0.
have yl := y_large; have a1 := al1; have K1' := K1; have t1 := T1; have m0 := pos_INR m.
have nm := mT.
have p0 : 0 < 2 * K * TT by nra.
have ex : exp (- iota) <= / (2 * K * TT).
  by rewrite -(exp_ln _ p0) -exp_Ropp; apply: exp_le; have := iotaT; lra.
have fl : (2 * K + 1) * exp (- iota) <= 3 / 2 * / TT.
  rewrite (_ : 3 / 2 * / TT = (3 * K) * / (2 * K * TT)); last by field; lra.
  by apply: Rmult_le_compat => //; [lra | exact: Rlt_le (exp_pos _) | lra].
have m_le : INR m * (y * iota) <= 4 / 3 * (y * y * k).
  have : INR m * x <= INR m * INR n by apply: Rmult_le_compat_l; lra.
  have : TT <= y * y * k by rewrite y_sq; nra.
  by rewrite /x; nra.
have yq : y * k <= y * q by apply: Rmult_le_compat_l; lra.
have m_le' : INR m * 11 <= 4 / 3 * (y * q).
  have : INR m * iota <= 4 / 3 * (y * k) by apply: (Rmult_le_reg_l y) => //; lra.
  by nra.
have ia : 11 <= iota * al by nra.
have yq528 : 528 * q <= y * q by apply: Rmult_le_compat_r; lra.
have it : 0 < / TT by apply: Rinv_0_lt_compat; lra.
have nm0 : 0 <= INR n * INR m by apply: Rmult_le_pos; lra.
have f0 : 0 <= (2 * K + 1) * exp (- iota).
  by apply: Rmult_le_pos; [lra | exact: Rlt_le (exp_pos _)].
apply: (Rle_trans _ (TT / 2 * ((INR m + 3) * (3 / 2 * / TT)))).
  apply: Rmult_le_compat => //; [by apply: Rmult_le_pos; lra | lra |].
  by apply: Rmult_le_compat_l; lra.
have -> : TT / 2 * ((INR m + 3) * (3 / 2 * / TT)) = 3 / 4 * (INR m + 3) by field; lra.
by nra.
Qed.

(** The pairs cost about half of the bound. *)
Lemma pairs_le : INR n * INR m *
  pair_cost (INR #|A|) (INR (alpha G)) (mutual G) eta gamma gamma (4 * gamma) n iota <=
  70 / 3 * (y * q * iota).
Proof.
have i11 := iota11; have nb := n_bd; have xl := x_large; have ng := n_gamma; have g0 := gamma_bd.
have y0 := y_gt0; have a1 := al1; have m0 := pos_INR m; have nm := mT; have kq' := kq.
have pc := pair_le; set pair := pair_cost _ _ _ _ _ _ _ _ _ in pc *.
have gai : 0 <= gamma * (al * iota) by apply: Rmult_le_pos; [lra | nra].
apply: (Rle_trans _ (TT / 2 * (35 * (gamma * (al * iota))))).
  apply: (Rle_trans _ (INR n * INR m * (35 * (gamma * (al * iota))))).
    by apply: Rmult_le_compat_l => //; apply: Rmult_le_pos; lra.
  by apply: Rmult_le_compat_r; lra.
have gx : gamma * x <= iota / 2 by rewrite -ng Rmult_comm; apply: Rmult_le_compat_r; lra.
have gy : gamma * y <= 4 / 3.
  apply: (Rmult_le_reg_r (3 / 8 * iota)); first by lra.
  by move: gx; rewrite /x; lra.
have -> : TT / 2 * (35 * (gamma * (al * iota))) = 35 / 2 * iota * (gamma * (al * TT)) by field.
rewrite -y_sq; have yk : y * k <= y * q by apply: Rmult_le_compat_l; lra.
have yk0 : 0 < y * k by apply: Rmult_lt_0_compat.
have : gamma * (y * y * k) <= 4 / 3 * (y * k).
  have -> : gamma * (y * y * k) = gamma * y * (y * k) by ring.
  by apply: Rmult_le_compat_r; lra.
by nra.
Qed.

(** The first epoch and the regulariser cost the other half. *)
Lemma starts_le : 2 * INR n + ln K / eta <= 24 * (y * q * iota) + 64 * q.
Proof.
have nb := n_bd; have xl := x_large; have i11 := iota11; have q0 := q1.
have -> : ln K / eta = 64 * INR n * ln K by rewrite /eta; field; lra.
have lk : INR n * ln K <= INR n * (q - 1) by apply: Rmult_le_compat_l; have := Kq; lra.
have : 64 * (INR n * q) <= 64 * ((x + 1) * q) by apply: Rmult_le_compat_l;
  [lra | apply: Rmult_le_compat_r; lra].
by rewrite /x; nra.
Qed.

(** The terms of the explicit bound, together. *)
Lemma main_regime : Reg nu G loss alg T pi <= 48 * (y * q * iota).
Proof.
have i11 := iota11; have g0 := gamma_bd; have q0 := q1; have nb := n_bd; have xl := x_large.
have y0 := y_gt0; have yl := y_large; have a1 := al1; have ng := n_gamma; have kE := kappaE.
have Tm : (T <= 2 * n * m.+1)%N.
  by rewrite mulnC; apply: ltnW; apply: ltn_ceil; rewrite muln_gt0 n_gt0.
have eta0 : 0 < eta by apply: Rinv_0_lt_compat; lra.
apply: Rle_trans (@explicit_rate C A a0 nu G loss pi T n m eta gamma gamma (4 * gamma) iota
  dnu so loss01 n_gt0 Tm eta0 _ _ _ _ _ _ _ _) _; rewrite ?ng ?kE; try lra.
rewrite /bound2 (plus_INR m 3) (mult_INR 2 n) (mult_INR n m) (_ : INR 2 = 2); last by rewrite /INR;
  lra.
rewrite (_ : INR 3 = 3); last by rewrite /INR; lra.
rewrite -/K Rmult_plus_distr_l; have ia : 11 <= iota * al by nra.
have yq528 : 528 * q <= y * q by apply: Rmult_le_compat_r; lra.
have yqi : y * q * 11 <= y * q * iota by apply: Rmult_le_compat_l; lra.
by have := failures_le; have := pairs_le; have := starts_le; rewrite -/K; lra.
Qed.
End Main.

(** Theorem 1 for every such scale. *)
Theorem scaled_rate : Reg nu G loss alg T pi <= 48 * (y * q * iota).
Proof.
case: (Rlt_le_dec (48 * (y * q * iota)) TT) => h; first exact: main_regime.
by have := trivial; lra.
Qed.
End Rate.

Section Closed.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (pi : C ->
  A) (T : nat).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis T0 : (0 < T)%N.
Let K := INR #|A|.
Let al := INR (alpha G).
Let TT := INR T.
Let K1' : 1 <= K. Proof. exact: K1. Qed.
Let al1' : 1 <= al. Proof. exact: al1. Qed.
Let T1' : 1 <= TT. Proof. exact: T1. Qed.
(** Algorithm 2 with the parameters that follow from [iota] and the number [n] of pairs. *)
Definition tuned (iota : R) (n : nat) := let gamma := Rmin (/ 2) (iota / (2 * INR n)) in
  algorithm2 C G (/ (64 * INR n)) gamma gamma (4 * gamma) n.

(** Theorem 1, closed form. *)
Theorem main_rate : let iota := ln (2 * K * TT) in
  Reg nu G loss (tuned iota (Z.to_nat (up (3 / 8 * iota * sqrt (al * TT / (1 + ln K)))))) T pi <=
  48 * (sqrt (al * TT * (1 + ln K)) * iota).
Proof.
move=> iota; have lk : 0 <= ln K by rewrite -ln_1; apply: ln_mono; lra.
have yk : 0 < al * TT / (1 + ln K) by apply: Rdiv_lt_0_compat; [apply: Rmult_lt_0_compat |]; lra.
have ys : sqrt (al * TT / (1 + ln K)) * sqrt (al * TT / (1 + ln K)) * (1 + ln K) = al * TT.
  by rewrite sqrt_sqrt; [field; lra | lra].
have y0 := sqrt_lt_R0 _ yk; set y := sqrt (al * TT / (1 + ln K)) in ys y0 *.
have -> : sqrt (al * TT * (1 + ln K)) = y * (1 + ln K).
  have e : y * y * (1 + ln K) * (1 + ln K) = Rsqr (y * (1 + ln K)) by rewrite /Rsqr; ring.
  rewrite -ys e.
  by apply: sqrt_Rsqr; nra.
have k0 : 0 < 1 + ln K by lra.
exact: (scaled_rate a0 pi dnu so loss01 T0 (Rle_refl _) k0 (Rle_refl _) (Rle_refl _) y0 ys).
Qed.

(** Theorem 1 for the epoch length of the paper, with any constant. *)
Theorem paper_rate (CL iota : R) : 0 < CL -> ln (2 * K * TT) <= iota ->
  Reg nu G loss (tuned iota (Z.to_nat (up (CL / 2 * sqrt (al * TT * iota))))) T pi <=
  Rmax (64 * CL) (36 / CL) * (sqrt (al * TT * iota) * iota).
Proof.
move=> c0 iT; have ih := iota_half a0 T0 iT; have at1 : 1 <= al * TT by nra.
have lk : 0 <= ln K by rewrite -ln_1; apply: ln_mono; lra.
set S := sqrt (al * TT * iota).
have S_sq : S * S = al * TT * iota by apply: sqrt_sqrt; nra.
have S0 : 0 < S by apply: sqrt_lt_R0; nra.
have m1 := Rmax_l (64 * CL) (36 / CL); have m2 := Rmax_r (64 * CL) (36 / CL).
have ci : CL * / CL = 1 by field; lra.
have c0' := Rinv_0_lt_compat _ c0.
case: (leqP T 1) => [T_le|T_gt].
  have T1E : TT = 1 by rewrite /TT; have -> : T = 1%N by apply/eqP; rewrite eqn_leq T_le.
  have Sh : / 2 <= S by apply: Rnot_lt_le => Sl; have := S_sq; nra.
  have m48 : 48 <= Rmax (64 * CL) (36 / CL).
    by case: (Rle_lt_dec (3 / 4) CL) => h; [lra | rewrite /Rdiv in m2; nra].
  have : Reg nu G loss (tuned iota (Z.to_nat (up (CL / 2 * S)))) T pi <= TT.
    have i0 : 0 < iota by lra.
    have x0 : 0 < CL / 2 * S by nra.
    by apply: value_le => //; have := share_bd i0 x0; lra.
  have : 48 * (/ 2 * / 2) <= Rmax (64 * CL) (36 / CL) * (S * iota).
    by apply: Rmult_le_compat; [lra | lra | lra | apply: Rmult_le_compat; lra].
  by lra.
have T2 : 2 <= TT by rewrite /TT (_ : 2 = INR 2) //; apply: le_INR; apply/leP.
have Ki : 1 + ln K <= iota.
  apply: Rle_trans iT; rewrite -[X in X + _](ln_exp 1) -ln_mult; [|exact: exp_pos | lra].
  apply: ln_mono; first by apply: Rmult_lt_0_compat; [exact: exp_pos | lra].
  by have := exp1_ub; nra.
pose k := 9 / 16 * iota * (/ CL * / CL); pose q := Rmax k iota; pose y := 4 / 3 * CL * S / iota.
have k0 : 0 < k by apply: Rmult_lt_0_compat; nra.
have y0 : 0 < y by apply: Rdiv_lt_0_compat; nra.
have ys : y * y * k = al * TT.
  rewrite (_ : y * y * k = S * S / iota); first by rewrite S_sq; field; lra.
  by rewrite /y /k; field; lra.
have := scaled_rate a0 pi dnu so loss01 T0 iT k0 (Rmax_l k iota) _ y0 ys.
rewrite (_ : 3 / 8 * iota * y = CL / 2 * S); last by rewrite /y; field; lra.
move=> h; apply: Rle_trans (h _) _; first exact: Rle_trans Ki (Rmax_r k iota).
have si : 0 < S * iota by nra.
rewrite -/q (_ : 48 * (y * q * iota) = 64 * CL * (S * q)); last by rewrite /y; field; lra.
have [->|->] : q = k \/ q = iota by rewrite /q /Rmax; case: Rle_dec => _; [right | left].
  rewrite (_ : 64 * CL * (S * k) = 36 / CL * (S * iota)); last by rewrite /k; field; lra.
  by apply: Rmult_le_compat_r; lra.
by apply: Rmult_le_compat_r; lra.
Qed.
End Closed.
