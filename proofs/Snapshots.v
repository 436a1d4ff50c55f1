(** Appendices C and E: the graph sum, the special-arm odds (Lemma 7) and snapshot stability (Lemma
    8), for the snapshot [F0] of an epoch and for every later input [H] of the same epoch.

    [w], [u] and [m] are the epoch's observation probabilities, denominators and masses. *)
From Crossbandit Require Import FiniteSums Exponential Ftrl GraphInverse Programs KnownLaw
  Concentration Stability Biases
  Retention PairReduction Epochs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Snapshots.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (eta gamma rho : R).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis rho1 : 0 < rho < 1.
(** [B0] bounds the ideal input of an epoch; the actual one is at most twice as large. *)
Variable B0 : R.
Hypothesis kappa8 : 0 <= eta * B0 <= / 8.
Variables (F0 : table C A) (j : option A).
Hypothesis inv2 : forall a, ~~ G a a -> j != Some a -> / 6 <= w nu G eta rho F0 a.
Hypothesis inv3 : forall b, j = Some b -> ~~ G b b.

Local Notation w := (w nu G eta rho F0).
Local Notation u := (u nu G eta gamma rho F0).
Local Notation r_of := (r_of eta rho).
Let s c := softmax eta (F0 c).
Let kap := eta * B0.
Let ex4 := exp (4 * kap).

Let u0 a : 0 < u a. Proof. exact: u_gt0. Qed.

(** The sum over the regular arms, and the mass away from the special arm, over their denominators.
    *)
Definition regular_sum (x : A -> R) := regular j w gamma x.
Definition away_sum (x : A -> R) := away j w gamma x.
Definition graph_bound := 2 * graph_sum (INR #|A|) (INR (alpha G)) (mutual G) rho + 6.

(** The factor exp (4 kappa) by which a policy can change. *)
Lemma ex4_bd : 1 <= ex4 <= 5 / 3.
Proof.
have k8 : 0 <= kap <= / 8 := kappa8; rewrite /ex4; split; first by have := exp_ineq1_le (4 * kap);
  lra.
by apply: Rle_trans exp_half; apply: exp_le; lra.
Qed.

(** The observation probability is half of that of Algorithm 1. *)
Lemma w_known a : KnownLaw.w nu G eta rho F0 a = 2 * w a.
Proof.
rewrite /KnownLaw.w /Epochs.w /mu /ip rsum_mull; apply: rsum_eqr => c _.
by rewrite /g; have -> (x y : R) : 2 * (x * (/ 2 * y)) = x * y by move=> *; field.
Qed.

Let m := KnownLaw.m nu eta rho F0.
(** The graph sum for the masses: Lemma 4 for arms with a self-loop, the selector for the others. *)
Lemma graph_m : \rsum_(a | j != Some a) (m a / u a) <= graph_bound.
Proof.
have [m0 m1] : dist m by apply: m_dist.
have iu a : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have q0 a : 0 <= m a / u a by apply: Rmult_le_pos => //; exact: Rlt_le.
rewrite (rsum_ID (fun a => j != Some a) (fun a => G a a)) /graph_bound; apply: Rplus_le_compat.
  apply: (Rle_trans _ (\rsum_(a | G a a) (m a / u a))).
    by apply: rsum_sub_le => [a _|a /andP[]].
  have g2 : 0 < 2 * gamma by lra.
  have := graph_sum_self a0 G eta dnu g2 rho1 F0; rewrite -/m => h.
  have -> : \rsum_(a | G a a) (m a / u a) = 2 * \rsum_(a | G a a) (m a / KnownLaw.u nu G eta
    (2 * gamma) rho F0 a).
    rewrite rsum_mull; apply: rsum_eqr => a _; rewrite /KnownLaw.u w_known; have := u0 a.
    by rewrite /Epochs.u => h0; field; lra.
  lra.
apply: (Rle_trans _ (\rsum_a (6 * m a))); last by rewrite -rsum_mull m1; lra.
apply: (Rle_trans _ (\rsum_(a | (j != Some a) && ~~ G a a) (6 * m a))); last first.
  by apply: rsum_sub_le => // a _; have := m0 a; lra.
apply: rsum_le => a /andP[ja na]; rewrite Rmult_comm; apply: Rmult_le_compat_l => //.
rewrite (_ : 6 = / / 6); last by field.
by apply: Rinv_le_contravar; [lra | have := inv2 na ja; rewrite /Epochs.u; lra].
Qed.

Let ir : 0 < / (1 - rho). Proof. by apply: Rinv_0_lt_compat; lra. Qed.

(** The graph sum of Appendix E, at the snapshot. *)
Lemma graph_sum_snapshot : \rsum_c (nu c * regular_sum (s c)) <= graph_bound / (1 - rho).
Proof.
have -> : \rsum_c (nu c * regular_sum (s c)) = \rsum_(a | j != Some a) (pbar nu eta F0 a / u a).
  rewrite (rsum_eqr (G := fun c => \rsum_(a | j != Some a) (nu c * s c a / u a))).
    rewrite rsum_exchange; apply: rsum_eqr => a _; rewrite /pbar /Rdiv rsum_mulr.
    by apply: rsum_eqr => c _.
  by move=> c _; rewrite /regular_sum /regular rsum_mull; apply: rsum_eqr => a _;
    rewrite /Rdiv /Epochs.u; ring.
apply: (Rle_trans _ (\rsum_(a | j != Some a) (m a / u a) / (1 - rho))); last first.
  by apply: Rmult_le_compat_r; [lra | exact: graph_m].
rewrite /Rdiv rsum_mulr; apply: rsum_le => a _.
have iu : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) (pbar_le a0 eta dnu rho1 F0 a).
by rewrite -/m /Rdiv; lra.
Qed.

(** Lemma 7 at the snapshot: the mass away from the special arm is at most 2 / (1 - rho) times [u].
    *)
Lemma lemma7_snapshot : \rsum_c (nu c * away_sum (s c)) <= 2 / (1 - rho).
Proof.
have [nn n1] := dnu; rewrite /away_sum /away; case jE: j => [b|]; last first.
  by rewrite (rsum_eqr (G := fun=> 0)); [rewrite rsum_const /Rdiv; lra | move=> c _; ring].
have ub := u0 b; rewrite -/(u b).
have -> : \rsum_c (nu c * ((1 - s c b) / u b)) = (1 - pbar nu eta F0 b) * / u b.
  rewrite /pbar -[in RHS]n1 -rsum_sub rsum_mulr; apply: rsum_eqr => c _.
  by rewrite /ftrl /s /Rdiv; ring.
have hw := w_noself a0 eta dnu so rho1 F0 (inv3 jE); rewrite w_known -/m in hw.
have hm := m_pbar eta rho dnu F0 b; rewrite -/m in hm.
have rr1 : rho / KnownLaw.K A <= rho.
  have K1 : 1 <= KnownLaw.K A.
    by rewrite /KnownLaw.K (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; exists a0.
  rewrite -{2}[rho]Rmult_1_r; apply: Rmult_le_compat_l; first by lra.
  by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
apply: (Rmult_le_reg_r (u b)) => //; rewrite Rmult_assoc Rinv_l; last by lra.
apply: (Rmult_le_reg_l (1 - rho)); first by lra.
have -> : (1 - rho) * (2 / (1 - rho) * u b) = 2 * u b by field; lra.
by rewrite /Epochs.u; lra.
Qed.

(** Lemma 8 for the inputs of this epoch and the one before. *)
Section Snap.
Variable H : table C A.
Hypothesis HB : forall c a, 0 <= H c a - F0 c a <= 4 * B0.
Let p c := softmax eta (H c).
(** Lemma 8. *)
Lemma lemma8_factor c a : p c a <= ex4 * s c a /\ s c a <= ex4 * p c a.
Proof.
have [lo hi] := lemma8_snapshot a0 eta0 (HB c) a.
have eE : eta * (4 * B0) = 4 * kap by rewrite /kap; ring.
rewrite eE -/ex4 in lo hi *; split; first exact: hi.
have e0 : 0 < ex4 by exact: exp_pos.
have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) lo; rewrite -Rmult_assoc Rmult_comm.
by rewrite [ex4 * _]Rmult_comm exp_opp Rmult_1_r.
Qed.

(** Lemma 8, last claim: the test succeeds, and q is the mixture of the current iterate. *)
Lemma lemma8_no_fallback c : q_of eta rho F0 H c = r_of H c.
Proof.
rewrite /q_of; case: ifP => // /negbT; rewrite negb_forall => /existsP[a].
rewrite /geb; case: Rle_dec => // h _; exfalso; apply: h.
have [_ h] := lemma8_factor c a; rewrite /Epochs.r_of /mix -/(s c a) -/(p c a).
have k0 := card_gt0 a0; have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have p0 : 0 < p c a by exact: softmax_gt0.
have := ex4_bd => hX; have : s c a <= 2 * p c a by nra.
by nra.
Qed.

(** So the sums over denominators change by at most that factor. *)
Lemma regular_sum_le c : regular_sum (p c) <= ex4 * regular_sum (s c).
Proof.
rewrite /regular_sum /regular rsum_mull; apply: rsum_le => a _; have [h _] := lemma8_factor c a.
have iu : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) h; rewrite /Rdiv /Epochs.u; lra.
Qed.

(** The mass away from an arm grows at most by this factor. *)
Lemma away_le c b : 1 - p c b <= ex4 * (1 - s c b).
Proof.
have e1 (x : A -> R) : dist x -> 1 - x b = \rsum_(a | xpredT a && (a != b)) x a.
  by move=> [_ <-]; rewrite (rsum_D1 (P := xpredT) x (i0 := b)) //; ring.
rewrite !e1; [|exact: softmax_dist|exact: softmax_dist].
by rewrite rsum_mull; apply: rsum_le => a _; have [] := lemma8_factor c a.
Qed.

(** Lemma 7 within the epoch. *)
Lemma away_sum_le c : away_sum (p c) <= ex4 * away_sum (s c).
Proof.
rewrite /away_sum /away; case: j => [b|]; last by lra.
have iu : 0 < / u b by apply: Rinv_0_lt_compat; exact: u0.
by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) (away_le c b); rewrite -/(u b) /Rdiv; lra.
Qed.

(** The graph sum of Appendix E, for the current iterate. *)
Theorem appendixE_graph_sum : \rsum_c (nu c * regular_sum (p c)) <= ex4 * (graph_bound / (1 - rho)).
Proof.
apply: (Rle_trans _ (\rsum_c (nu c * (ex4 * regular_sum (s c))))).
  by apply: rsum_le => c _; apply: Rmult_le_compat_l; [exact: (proj1 dnu) | exact: regular_sum_le].
rewrite (rsum_eqr (G := fun c => ex4 * (nu c * regular_sum (s c)))) -?rsum_mull; last by move=> c _;
  ring.
by apply: Rmult_le_compat_l graph_sum_snapshot; have := ex4_bd; lra.
Qed.

(** Lemma 7 for the current iterate. It needs p <= 2 s; the paper cites p >= s / 2. *)
Theorem lemma7_special_odds : \rsum_c (nu c * away_sum (p c)) <= ex4 * (2 / (1 - rho)).
Proof.
apply: (Rle_trans _ (\rsum_c (nu c * (ex4 * away_sum (s c))))).
  by apply: rsum_le => c _; apply: Rmult_le_compat_l; [exact: (proj1 dnu) | exact: away_sum_le].
rewrite (rsum_eqr (G := fun c => ex4 * (nu c * away_sum (s c)))) -?rsum_mull; last by move=> c _;
  ring.
by apply: Rmult_le_compat_l lemma7_snapshot; have := ex4_bd; lra.
Qed.
End Snap.
End Snapshots.
