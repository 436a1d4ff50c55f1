(** Algorithm 1: the law of the contexts is known. Proposition 2 in explicit form. *)
From Crossbandit Require Import FiniteSums Exponential Selector Ftrl GraphInverse Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Algorithm1.
Variables (C A : finType) (nu : C -> R) (G : rel A).
Variables (eta gamma rho beta : R).

(** The quantities of Algorithm 1; [L] is the cumulative input. *)
Definition K := INR #|A|.
Definition cumul := C -> A -> R.                          (* L_{t-1,c}(a) *)
Implicit Type L : cumul.

Definition ftrl L c a := softmax eta (L c) a.                        (* p_{t,c} *)
Definition mixed L c a := (1 - rho) * ftrl L c a + rho / K.          (* r_{t,c} *)
Definition m L a := \rsum_c (nu c * mixed L c a).
Definition w L a := \rsum_c (nu c * \rsum_(v | G v a) mixed L c v).
Definition u L a := w L a + gamma.
Definition bonus L a := if special_arm G (m L) == Some a then beta / u L a else 0.
Definition estimate L (o : C -> A -> option R) c a :=
  if o c a is Some l then l / u L a else 0.
Definition update L (o : C -> A -> option R) : cumul :=
  fun c a => L c a + (estimate L o c a + bonus L a).

End Algorithm1.

Section Proof.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A).
Variable loss : nat -> C -> A -> R.
Variables (eta gamma rho beta : R).
Variable pi : C -> A.
Hypothesis nu_dist : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis rho01 : 0 < rho < 1.
Hypothesis beta_ge : gamma <= beta.
Hypothesis eta_small : eta * (1 + beta) <= 3 * gamma.

Local Notation K := (K A).
Local Notation ftrl := (ftrl eta).
Local Notation mixed := (mixed eta rho).
Local Notation m := (m nu eta rho).
Local Notation w := (w nu G eta rho).
Local Notation u := (u nu G eta gamma rho).
Local Notation bonus := (bonus nu G eta gamma rho beta).
Local Notation update := (update nu G eta gamma rho beta).
Local Notation estimate := (estimate nu G eta gamma rho).
Local Notation alg := (algorithm1 nu G eta gamma rho beta).
Implicit Type L : cumul C A.

(** There is an arm. *)
Lemma K0 : 0 < K. Proof. exact: card_gt0 a0. Qed.
(** Every arm is explored. *)
Lemma rK0 : 0 < rho / K. Proof. by apply: Rdiv_lt_0_compat; [lra | exact: K0]. Qed.

(** FTRL iterates are distributions. *)
Lemma ftrl_dist L c : dist (ftrl L c).
Proof. exact: softmax_dist. Qed.

(** Mixed policies are at least the share of exploration. *)
Lemma mixed_ge L c a : rho / K <= mixed L c a.
Proof.
have [p0 _] := ftrl_dist L c; have := p0 a; rewrite /KnownLaw.mixed => h.
have h2 : 0 <= (1 - rho) * ftrl L c a by apply: Rmult_le_pos; lra.
by lra.
Qed.

(** The played distributions are distributions. *)
Lemma mixed_dist L c : dist (mixed L c).
Proof.
split=> [a|]; first by have := mixed_ge L c a; have := rK0; lra.
have [_ p1] := ftrl_dist L c; have := K0 => k0.
rewrite /KnownLaw.mixed rsum_split -rsum_mull p1 rsum_const.
by rewrite /KnownLaw.K in k0 *; rewrite (_ : #|[pred i | _]| = #|A|); [field; lra | exact: eq_card].
Qed.

(** The population average of the iterates. *)
Definition pbar L a := \rsum_c (nu c * ftrl L c a).

(** The mean of mixed policies is the mixed mean. *)
Lemma m_pbar L a : m L a = (1 - rho) * pbar L a + rho / K.
Proof.
rewrite /KnownLaw.m /pbar rsum_mull [rho / K in RHS](dist_const _ nu_dist) -rsum_split.
by apply: eq_bigr => c _; rewrite /KnownLaw.mixed; ring.
Qed.

(** It is a distribution, *)
Lemma m_dist L : dist (m L).
Proof.
have [n0 n1] := nu_dist; split=> [a|].
  by apply: rsum_ge0 => c _; apply: Rmult_le_pos => //; exact: (proj1 (mixed_dist L c)).
rewrite /KnownLaw.m rsum_exchange -n1; apply: eq_bigr => c _.
by rewrite -rsum_mull (proj2 (mixed_dist L c)); ring.
Qed.

(** and every arm has its share of exploration. *)
Lemma m_ge L a : rho / K <= m L a.
Proof.
have [n0 n1] := nu_dist; rewrite -[rho / K]Rmult_1_l -n1 rsum_mulr.
by apply: rsum_le => c _; apply: Rmult_le_compat_l => //; exact: mixed_ge.
Qed.

(** The mean iterate is at most the mean of mixed policies, enlarged. *)
Lemma pbar_le L a : pbar L a <= m L a / (1 - rho).
Proof.
have := m_pbar L a; have := rK0 => k0 h.
apply: (Rmult_le_reg_l (1 - rho)); first by lra.
have -> : (1 - rho) * (m L a / (1 - rho)) = m L a by field; lra.
by lra.
Qed.

(** Observation probabilities are those of the mean policy. *)
Lemma w_m L a : w L a = \rsum_(v | G v a) m L v.
Proof.
rewrite /KnownLaw.m rsum_exchange /KnownLaw.w; apply: eq_bigr => c _.
by rewrite rsum_mull.
Qed.

(** They are not negative. *)
Lemma w_ge0 L a : 0 <= w L a.
Proof. by rewrite w_m; apply: rsum_ge0 => v _; exact: (proj1 (m_dist L)). Qed.

(** With gamma added they are positive. *)
Lemma u_gt0 L a : 0 < u L a.
Proof. by rewrite /KnownLaw.u; have := w_ge0 L a; lra. Qed.

(** An arm without self-loop is observed unless it is played. *)
Lemma w_noself L a : ~~ G a a -> w L a = 1 - m L a.
Proof.
move=> na; case: (so a) => [ea|ea]; first by rewrite ea in na.
have [_ m1] := m_dist L; rewrite w_m -m1 (rsum_D1 (P := xpredT) (m L) (i0 := a)) //.
rewrite [X in X = _](rsum_eql (Q := fun v => xpredT v && (v != a))); first by ring.
by move=> v /=; case: (eqVneq v a) => [->|/ea ->//]; apply/negbTE.
Qed.

(** The estimate has mean loss w / u. *)
Lemma estimate_mean t L c a :
  \rsum_v (m L v * estimate L (see G loss t v) c a) = loss t c a * (w L a / u L a).
Proof.
have u0 := u_gt0 L a.
rewrite (eq_bigr (fun v => (if G v a then m L v else 0) * (loss t c a / u L a))).
  rewrite -rsum_mulr -(rsum_mkcondr xpredT (fun v => G v a)) -w_m; field; lra.
by move=> v _; rewrite /KnownLaw.estimate /see; case: (G v a); field; lra.
Qed.

(** The second moment of the estimate. *)
Lemma estimate_sq t L c a :
  \rsum_v (m L v * (estimate L (see G loss t v) c a) ^ 2) <= / u L a.
Proof.
have u0 := u_gt0 L a; have w0 := w_ge0 L a; have [l0 l1] := loss01 t c a.
rewrite (eq_bigr (fun v => (if G v a then m L v else 0) * (loss t c a / u L a) ^ 2)).
  rewrite -rsum_mulr -(rsum_mkcondr xpredT (fun v => G v a)) -w_m.
  have -> : / u L a = u L a * (1 / u L a) ^ 2 by field; lra.
  apply: Rmult_le_compat => //; [exact: pow2_ge_0 | by rewrite /KnownLaw.u; lra |].
  apply: pow_incr; split; first by apply: Rmult_le_pos => //; apply: Rlt_le;
    exact: Rinv_0_lt_compat.
  by apply: Rmult_le_compat_r => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
by move=> v _; rewrite /KnownLaw.estimate /see; case: (G v a); ring.
Qed.

(** The regular arms. *)
Definition reg L a := special_arm G (m L) != Some a.

(** ** The graph sum *)
Definition Gsum := graph_sum (INR #|A|) (INR (alpha G)) (mutual G) rho + 2.

(** One arm is an independent set. *)
Lemma alpha_ge1 : 1 <= INR (alpha G).
Proof.
rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; rewrite -(cards1 a0).
by apply: indep_le; apply/indepP => a b; rewrite !inE => /eqP-> /eqP->; rewrite eqxx.
Qed.

(** The share of exploration is at most 1. *)
Lemma rK1 : rho / K <= 1.
Proof.
have [_ m1] := m_dist (fun _ _ => 0); rewrite -m1.
apply: Rle_trans (m_ge (fun _ _ => 0) a0) _.
by apply: (rsum_ge1 (P := xpredT)) => // a _; exact: (proj1 (m_dist _)).
Qed.

Let V := [set a | G a a].
(** An arm with a self-loop is observed at least as often as its neighbourhood among them is played.
    *)
Lemma closed_le L i : i \in V -> m L i + inw G (m L) V i <= u L i.
Proof.
rewrite inE => ei; apply: (Rle_trans _ (w L i)); last by rewrite /KnownLaw.u; lra.
rewrite w_m (rsum_D1 (P := fun v => G v i) (m L) ei); apply: Rplus_le_compat_l.
by apply: rsum_sub_le => [v _|v /andP[_ /andP[-> ->]]] //; have := m_ge L v; have := rK0; lra.
Qed.

(** Lemma 4 for the arms with a self-loop. *)
Lemma graph_sum_alpha L :
  \rsum_(a | G a a) (m L a / u L a) <= 2 * INR (alpha G) * (1 + ln (K / rho)).
Proof.
have m0 a : 0 < m L a by have := m_ge L a; have := rK0; lra.
have al := alpha_ge1; have rk0 := rK0; have k0 := K0.
have lnK : 0 <= ln (K / rho).
  rewrite -ln_1; apply: ln_mono; first by lra.
  have -> : K / rho = / (rho / K) by field; lra.
  by rewrite -Rinv_1; apply: Rinv_le_contravar => //; exact: rK1.
case: (set_0Vmem V) => [V0|[k kV]].
  rewrite big_pred0; first by nra.
  move=> a; have h : a \notin V by rewrite V0 inE.
  by move: h; rewrite inE => /negbTE.
have mV : mass (m L) V <= 1.
  have [mm m1] := m_dist L; rewrite -m1; apply: rsum_sub_le => // i _; exact: mm.
have mV0 : 0 < mass (m L) V by apply: (rsum_gt0 kV) => i _.
have h := @lemma4_graph_inverse A G (m L) m0 (rho / K) rk0 (m_ge L) (u L) V.
apply: (Rle_trans _ (2 * INR (alpha G) * (1 + ln (mass (m L) V / (rho / K))))).
  rewrite (eq_bigl (fun a => a \in V)); last by move=> a; rewrite inE.
  by apply: h; [exact: closed_le | apply/set0Pn; exists k].
apply: Rmult_le_compat_l; first by lra.
apply: Rplus_le_compat_l; apply: ln_mono; first exact: Rdiv_lt_0_compat.
have -> : K / rho = 1 / (rho / K) by field; lra.
by apply: Rmult_le_compat_r => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
Qed.

(** Each of them contributes at most 1, too; and if edges go both ways, all at most alpha. *)
Lemma graph_sum_self L : \rsum_(a | G a a) (m L a / u L a) <= graph_sum (INR #|A|) (INR (alpha G))
  (mutual G) rho.
Proof.
rewrite /graph_sum; case both: (mutual G).
  rewrite (eq_bigl (fun a => a \in V)); last by move=> a; rewrite inE.
  apply: mutual_sum => [a|a|a b]; [by have := m_ge L a; have := rK0; lra | exact: closed_le |].
  rewrite !inE => aa bb ab; have /forallP/(_ a)/forallP/(_ b)/implyP := both.
  by apply; rewrite aa bb ab.
apply: Rmin_glb; last exact: graph_sum_alpha.
have [mm _] := m_dist L.
apply: (Rle_trans _ (\rsum_(a : A) 1)); last first.
  by rewrite rsum_const Rmult_1_r; apply: Req_le; congr INR; exact: eq_card.
apply: (Rle_trans _ (\rsum_(a | G a a) 1)); last by apply: rsum_sub_le => // a _; lra.
apply: rsum_le => a ea; have u0 := u_gt0 L a.
apply: (Rmult_le_reg_r (u L a)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last by lra.
have : m L a <= w L a by rewrite w_m; exact: rsum_ge1.
by rewrite /KnownLaw.u; lra.
Qed.

(** Lemma 6 with exact masses. *)
Lemma noself_half L a : ~~ G a a -> reg L a -> / 2 <= w L a.
Proof.
move=> na ra; rewrite w_noself //.
have := special_arm_ok G (m L); rewrite /reg in ra; case sj: (special_arm G (m L)) ra => [j|] ra;
  last first.
  by move/(_ a) => ea; rewrite ea in na.
move=> [nj /(_ a na) hj].
have ja : j != a by apply: contra ra => /eqP ->.
have [mm m1] := m_dist L.
have : m L j + m L a <= 1.
  rewrite -m1 (rsum_D1 (P := xpredT) (m L) (i0 := j)) //=; apply: Rplus_le_compat_l.
  by apply: rsum_ge1 => //; rewrite eq_sym.
by lra.
Qed.

(** The graph sum over all regular arms. *)
Lemma graph_sum_regular L : \rsum_(a | reg L a) (m L a / u L a) <= Gsum.
Proof.
have [mm m1] := m_dist L.
have q0 a : 0 <= m L a / u L a.
  by apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rinv_0_lt_compat; exact: u_gt0.
rewrite (rsum_ID (reg L) (fun a => G a a)) /Gsum; apply: Rplus_le_compat.
  apply: Rle_trans (graph_sum_self L); apply: rsum_sub_le => [a _|a /andP[]] //.
apply: (Rle_trans _ (\rsum_a (2 * m L a))); last by rewrite -rsum_mull m1; lra.
apply: (Rle_trans _ (\rsum_(a | reg L a && ~~ G a a) (2 * m L a))); last first.
  by apply: rsum_sub_le => // a _; have := mm a; lra.
apply: rsum_le => a /andP[ra na]; rewrite Rmult_comm; apply: Rmult_le_compat_l => //.
have h := noself_half na ra; rewrite (_ : 2 = / / 2); last by field.
by apply: Rinv_le_contravar; [lra | rewrite /KnownLaw.u; lra].
Qed.

(** ** One context, one round *)
Definition D := 1 + 2 * beta + beta ^ 2 / gamma.
(** The mass away from the special arm, over its denominator. *)
Definition away L c := if special_arm G (m L) is Some j then (1 - ftrl L c j) / u L j else 0.

Section OneContext.
Variables (t : nat) (L : cumul C A) (c : C).
Let p := ftrl L c.
Let l := loss t c.
Let y v a := estimate L (see G loss t v) c a + bonus L a.
Let z v := if special_arm G (m L) is Some j then y v j else 0.

(** The correction is not negative. *)
Lemma bonus_ge0 a : 0 <= bonus L a.
Proof.
rewrite /KnownLaw.bonus; case: ifP => _; last by lra.
by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; exact: u_gt0].
Qed.

(** An estimate is at most the inverse of its denominator. *)
Lemma est_bd v a : 0 <= estimate L (see G loss t v) c a <= / u L a.
Proof.
have u0 := u_gt0 L a; have i0 := Rinv_0_lt_compat _ u0; have [l0 l1] := loss01 t c a.
rewrite /KnownLaw.estimate /see; case: (G v a); last by lra.
by rewrite /Rdiv; nra.
Qed.

(** Inputs are not negative. *)
Lemma y_ge0 v a : 0 <= y v a.
Proof. by rewrite /y; have := bonus_ge0 a; have := est_bd v a; lra. Qed.

(** The shift of an input is bounded. *)
Lemma z_bd v : 0 <= z v <= (1 + beta) / gamma.
Proof.
have ig := Rinv_0_lt_compat _ gamma0.
rewrite /z; case sj: (special_arm G (m L)) => [j|]; last by split; [lra | apply: Rmult_le_pos; lra].
split; first exact: y_ge0.
have := est_bd v j; have u0 := u_gt0 L j; have iu : / u L j <= / gamma.
  by apply: Rinv_le_contravar => //; rewrite /KnownLaw.u; have := w_ge0 L j; lra.
rewrite /y /KnownLaw.bonus sj eqxx /Rdiv.
have : beta * / u L j <= beta * / gamma by apply: Rmult_le_compat_l; lra.
lra.
Qed.

(** The local norm after the shift: the special arm drops out. *)
Lemma quad v : ip p (fun a => (y v a - z v) ^ 2) <=
  \rsum_(a | reg L a) (p a * estimate L (see G loss t v) c a ^ 2)
  + (if special_arm G (m L) is Some j then (1 - p j) * z v ^ 2 else 0).
Proof.
have [p0 p1] := ftrl_dist L c; have [z0 _] := z_bd v.
rewrite /ip /reg /z in z0 *; rewrite /y /KnownLaw.bonus in z0 *;
  case sj: (special_arm G (m L)) z0 => [j|] z0 /=.
  have e1 (f : A -> R) : \rsum_(a | xpredT a && (a != j)) f a = \rsum_(a | Some j != Some a) f a.
    by apply: rsum_eql => a /=; rewrite eq_sym.
  have -> : 1 - p j = \rsum_(a | Some j != Some a) p a.
    by rewrite -p1 (rsum_D1 (P := xpredT) p (i0 := j)) // e1; ring.
  rewrite (rsum_D1 (P := xpredT) _ (i0 := j)) // e1; rewrite eqxx in z0 *.
  set zz := _ + beta / u L j in z0 *.
  have -> : p j * (zz - zz) ^ 2 = 0 by ring.
  rewrite Rplus_0_l rsum_mulr -rsum_split.
  apply: rsum_le => a /negbTE ->; rewrite Rplus_0_r -Rmult_plus_distr_l.
  apply: Rmult_le_compat_l; first exact: p0.
  have [x0 _] := est_bd v a; set x := estimate _ _ _ _ in x0 *.
  have h : 0 <= x * zz by apply: Rmult_le_pos.
  by nra.
rewrite Rplus_0_r; apply: Req_le; apply: eq_bigr => a _; ring.
Qed.

(** The local norm in expectation. *)
Lemma quad_mean : \rsum_v (m L v * ip p (fun a => (y v a - z v) ^ 2)) <=
  \rsum_(a | reg L a) (p a / u L a) + D * away L c.
Proof.
have [p0 p1] := ftrl_dist L c; have [m0 m1] := m_dist L.
apply: (Rle_trans _ (\rsum_v (m L v * (\rsum_(a | reg L a) (p a * estimate L (see G loss t v) c a ^
  2)
  + (if special_arm G (m L) is Some j then (1 - p j) * z v ^ 2 else 0))))).
  by apply: rsum_le => v _; apply: Rmult_le_compat_l => //; exact: quad.
rewrite (eq_bigr (fun v => (\rsum_(a | reg L a) (p a * (m L v * estimate L (see G loss t v) c a ^
  2)))
   + (if special_arm G (m L) is Some j then (1 - p j) * (m L v * z v ^ 2) else 0))); last first.
  move=> v _; rewrite Rmult_plus_distr_l rsum_mull; congr Rplus.
    by apply: eq_bigr => a _; ring.
  by case: (special_arm G _) => [j|]; ring.
rewrite rsum_split rsum_exchange; apply: Rplus_le_compat.
  apply: rsum_le => a _; rewrite -rsum_mull /Rdiv; apply: Rmult_le_compat_l; first exact: p0.
  exact: estimate_sq.
rewrite /away /z; case sj: (special_arm G (m L)) => [j|]; last by rewrite rsum_const; lra.
have u0 := u_gt0 L j; have iu := Rinv_0_lt_compat _ u0; have w0 := w_ge0 L j.
have pj1 : p j <= 1 by rewrite -p1; apply: (rsum_ge1 (P := xpredT)).
rewrite -rsum_mull /Rdiv.
have -> : D * ((1 - ftrl L c j) * / u L j) = (1 - p j) * (D * / u L j) by rewrite /p; ring.
apply: Rmult_le_compat_l; first by lra.
have hy v : y v j ^ 2 <= ((if G v j then 1 else 0) * (1 + 2 * beta) + beta ^ 2) * (/ u L j) ^ 2.
  have [l0 l1] := loss01 t c j.
  rewrite /y /KnownLaw.bonus sj eqxx /KnownLaw.estimate /see /Rdiv.
  have q0 : 0 <= (/ u L j) ^ 2 by exact: pow2_ge_0.
  case: (G v j); last by apply: Req_le; ring.
  have -> : (loss t c j * / u L j + beta * / u L j) ^ 2 = (loss t c j + beta) ^ 2 * (/ u L j) ^ 2
    by ring.
  by apply: Rmult_le_compat_r => //; nra.
apply: (Rle_trans _ (\rsum_v (m L v * (((if G v j then 1 else 0) * (1 + 2 * beta) + beta ^ 2) *
  (/ u L j) ^ 2)))).
  by apply: rsum_le => v _; apply: Rmult_le_compat_l.
rewrite (eq_bigr (fun v => (if G v j then m L v else 0) * ((1 + 2 * beta) * (/ u L j) ^ 2)
   + m L v * (beta ^ 2 * (/ u L j) ^ 2))); last by move=> v _; case: (G v j); ring.
rewrite rsum_split -!rsum_mulr m1 -(rsum_mkcondr xpredT (fun v => G v j)) -w_m.
have -> : D * / u L j = (D * u L j) * (/ u L j) ^ 2 by field; lra.
have -> : w L j * ((1 + 2 * beta) * (/ u L j) ^ 2) + 1 * (beta ^ 2 * (/ u L j) ^ 2)
  = (w L j * (1 + 2 * beta) + beta ^ 2) * (/ u L j) ^ 2 by ring.
apply: Rmult_le_compat_r; first exact: pow2_ge_0.
rewrite /D.
have h1 : w L j * (1 + 2 * beta) <= u L j * (1 + 2 * beta).
  by apply: Rmult_le_compat_r; [lra | rewrite /KnownLaw.u; lra].
have h2 : beta ^ 2 <= beta ^ 2 / gamma * u L j.
  have q0 : 0 <= beta ^ 2 / gamma.
    by apply: Rmult_le_pos; [exact: pow2_ge_0 | apply: Rlt_le; exact: Rinv_0_lt_compat].
  have q1 : beta ^ 2 = beta ^ 2 / gamma * gamma by field; lra.
  have : beta ^ 2 / gamma * gamma <= beta ^ 2 / gamma * u L j.
    by apply: Rmult_le_compat_l => //; rewrite /KnownLaw.u; lra.
  by lra.
lra.
Qed.

(** The potential of one context: the log-normaliser and the comparator's cumulative input. *)
Definition Phi1 (x : A -> R) := ln (norm eta x) / eta + x (pi c).

(** One round in one context: fall of the potential plus regret. *)
Lemma step_c : \rsum_v (m L v * Phi1 (fun a => L c a + y v a)) + (ip p l - l (pi c)) <=
  Phi1 (L c) + (gamma + 2 * eta) * \rsum_(a | reg L a) (p a / u L a) + (beta + 2 * eta * D) * away L
    c.
Proof.
have [p0 p1] := ftrl_dist L c; have [m0 m1] := m_dist L.
have ie := Rinv_0_lt_compat _ eta0.
have h1 v : Phi1 (fun a => L c a + y v a) <= Phi1 (L c) - ip p (y v) + y v (pi c)
     + 2 * eta * ip p (fun a => (y v a - z v) ^ 2).
  have hz a : -3 <= eta * (y v a - z v).
    have := y_ge0 v a; have [z0 z1] := z_bd v.
    have : eta * z v <= 3; last by nra.
    have : eta * z v <= eta * ((1 + beta) / gamma) by apply: Rmult_le_compat_l; lra.
    have : eta * ((1 + beta) / gamma) <= 3.
      have -> : eta * ((1 + beta) / gamma) = (eta * (1 + beta)) / gamma by field; lra.
      have -> : 3 = (3 * gamma) / gamma by field; lra.
      by apply: Rmult_le_compat_r => //; apply: Rlt_le; exact: Rinv_0_lt_compat.
    lra.
  have h := norm_step (y := y v) (z := z v) a0 (L c) hz.
  rewrite /Phi1; have := Rmult_le_compat_r (/ eta) _ _ (Rlt_le _ _ ie) h.
  set N1 := ln (norm eta (fun a => L c a + y v a)); set N0 := ln (norm eta (L c)).
  rewrite -/(softmax eta (L c)).
  set X := ip (softmax eta (L c)) (y v); set Q := ip (softmax eta (L c)) (fun a =>
    (y v a - z v) ^ 2).
  have -> : (N0 - eta * X + 2 * eta ^ 2 * Q) * / eta = N0 / eta - X + 2 * eta * Q by field; lra.
  by rewrite /Rdiv; lra.
apply: (Rle_trans _ (\rsum_v (m L v * (Phi1 (L c) - ip p (y v) + y v (pi c)
     + 2 * eta * ip p (fun a => (y v a - z v) ^ 2))) + (ip p l - l (pi c)))).
  by apply: Rplus_le_compat_r; apply: rsum_le => v _; apply: Rmult_le_compat_l.
rewrite (eq_bigr (fun v => m L v * Phi1 (L c) - m L v * ip p (y v) + m L v * y v (pi c)
     + 2 * eta * (m L v * ip p (fun a => (y v a - z v) ^ 2)))); last by move=> v _; ring.
rewrite !rsum_split rsum_opp -rsum_mulr m1 -rsum_mull.
have hq := quad_mean.
pose ym a := l a * (w L a / u L a) + bonus L a.
have ymE a : \rsum_v (m L v * y v a) = ym a.
  rewrite /y (eq_bigr (fun v => m L v * estimate L (see G loss t v) c a + m L v * bonus L a));
    last first.
    by move=> v _; ring.
  by rewrite rsum_split -rsum_mulr m1 estimate_mean /ym /l; ring.
have -> : \rsum_v (m L v * ip p (y v)) = ip p ym.
  rewrite /ip (eq_bigr (fun v => \rsum_a (p a * (m L v * y v a)))); last first.
    by move=> v _; rewrite rsum_mull; apply: eq_bigr => a _; ring.
  by rewrite rsum_exchange; apply: eq_bigr => a _; rewrite -rsum_mull ymE.
rewrite ymE.
pose g a := l a * (gamma / u L a) - bonus L a.
have gE a : l a - ym a = g a.
  have := u_gt0 L a; rewrite /g /ym {1 2}/KnownLaw.u => u0.
  have -> : l a * (w L a / (w L a + gamma)) = l a - l a * (gamma / (w L a + gamma)) by field; lra.
  by rewrite /KnownLaw.u; ring.
have lin : ip p g - g (pi c) <= gamma * \rsum_(a | reg L a) (p a / u L a) + beta * away L c.
  have greg a : reg L a -> 0 <= g a <= gamma / u L a.
    rewrite /reg /g /KnownLaw.bonus => /negbTE ->.
    have [l0 l1] := loss01 t c a.
    have : 0 < gamma / u L a by apply: Rdiv_lt_0_compat => //; exact: u_gt0.
    by rewrite -/l in l0 l1 *; nra.
  have sumreg : \rsum_(a | reg L a) (p a * g a) <= gamma * \rsum_(a | reg L a) (p a / u L a).
    rewrite rsum_mull; apply: rsum_le => a ra.
    have -> : gamma * (p a / u L a) = p a * (gamma / u L a) by rewrite /Rdiv; ring.
    by apply: Rmult_le_compat_l; [exact: p0 | have := greg a ra; lra].
  rewrite /ip; rewrite /away; case sj: (special_arm G (m L)) => [j|]; last first.
    have ra a : reg L a by rewrite /reg sj.
    rewrite (rsum_eql (P := xpredT) (Q := reg L)); last by move=> a; rewrite ra.
    by have := greg (pi c) (ra _); lra.
  have u0 := u_gt0 L j; have iu := Rinv_0_lt_compat _ u0; have [l0 l1] := loss01 t c j.
  have gj : - (beta * / u L j) <= g j <= 0.
    rewrite /g /KnownLaw.bonus sj eqxx /Rdiv.
    have : 0 <= l j * gamma <= beta by rewrite /l; nra.
    by nra.
  have pj1 : p j <= 1 by rewrite -p1; apply: (rsum_ge1 (P := xpredT)).
  have pj0 := p0 j.
  have e1 (f : A -> R) : \rsum_(a | xpredT a && (a != j)) f a = \rsum_(a | reg L a) f a.
    by apply: rsum_eql => a /=; rewrite /reg sj eq_sym.
  rewrite (rsum_D1 (P := xpredT) _ (i0 := j)) // e1.
  have aw : beta * ((1 - ftrl L c j) / u L j) = (1 - p j) * (beta * / u L j) by rewrite /p /Rdiv;
    ring.
  rewrite aw; case: (eqVneq (pi c) j) => [->|pj].
    rewrite -/p in pj0 *; nra.
  have rp : reg L (pi c) by rewrite /reg sj; apply: contra pj => /eqP[->].
  have := greg _ rp; rewrite -/p in pj0 *.
  have : 0 <= (1 - p j) * (beta * / u L j) by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos; lra].
  nra.
have -> : ip p l = ip p ym + ip p g.
  by rewrite /ip -rsum_split; apply: eq_bigr => a _; rewrite -gE; ring.
have := gE (pi c).
by nra.
Qed.
End OneContext.

(** The potential, and the cost of one round. *)
Definition Phi (L : cumul C A) := \rsum_c (nu c * Phi1 c (L c)).
Definition B := rho + (gamma + 2 * eta) * (Gsum / (1 - rho)) + (beta + 2 * eta * D) / (1 - rho).

(** The potential is never negative. *)
Lemma Phi1_ge0 c x : 0 <= Phi1 c x.
Proof.
have h : - eta * x (pi c) <= ln (norm eta x).
  rewrite -{1}[- eta * x (pi c)]ln_exp; apply: ln_mono; first exact: exp_pos.
  by apply: (rsum_ge1 (P := xpredT) (F := wexp eta x)) => // a _; apply: Rlt_le; exact: exp_pos.
have ie := Rinv_0_lt_compat _ eta0.
have := Rmult_le_compat_r (/ eta) _ _ (Rlt_le _ _ ie) h; rewrite /Phi1 /Rdiv.
have -> : - eta * x (pi c) * / eta = - x (pi c) by field; lra.
by lra.
Qed.

(** The special-arm odds: the mass away from the special arm is at most u / (1 - rho). *)
Lemma away_mean L : \rsum_c (nu c * away L c) <= / (1 - rho).
Proof.
have [n0 n1] := nu_dist; have ir : 0 < / (1 - rho) by apply: Rinv_0_lt_compat; lra.
rewrite /away; case sj: (special_arm G (m L)) => [j|]; last first.
  by rewrite (eq_bigr (fun=> 0)); [rewrite rsum_const; lra | move=> c _; ring].
have := special_arm_ok G (m L); rewrite sj => -[nj _].
have u0 := u_gt0 L j; have iu := Rinv_0_lt_compat _ u0.
rewrite (eq_bigr (fun c => (nu c - nu c * ftrl L c j) * / u L j)); last by move=> c _;
  rewrite /Rdiv; ring.
rewrite -rsum_mulr rsum_sub n1 -/(pbar L j).
apply: (Rmult_le_reg_r (u L j)) => //; rewrite Rmult_assoc Rinv_l; last by lra.
apply: (Rmult_le_reg_l (1 - rho)); first by lra.
have -> : (1 - rho) * (/ (1 - rho) * u L j) = u L j by field; lra.
have := w_noself L nj; have := m_pbar L j; rewrite /KnownLaw.u.
have kk := rK1; have rr : rho / K <= rho.
  have : 1 <= K.
    rewrite /KnownLaw.K (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; by exists a0.
  move=> K1; rewrite -{2}[rho]Rmult_1_r; apply: Rmult_le_compat_l; first by lra.
  by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
nra.
Qed.

(** One round of Algorithm 1. *)
Lemma one_round t L : \rsum_c (nu c * \rsum_a (mixed L c a *
     (loss t c a - loss t c (pi c) + Phi (update L (see G loss t a))))) <= Phi L + B.
Proof.
have [n0 n1] := nu_dist.
have -> : \rsum_c (nu c * \rsum_a (mixed L c a *
     (loss t c a - loss t c (pi c) + Phi (update L (see G loss t a)))))
  = \rsum_c (nu c * (ip (mixed L c) (loss t c) - loss t c (pi c)))
    + \rsum_a (m L a * Phi (update L (see G loss t a))).
  have -> : \rsum_a (m L a * Phi (update L (see G loss t a))) =
     \rsum_c (nu c * \rsum_a (mixed L c a * Phi (update L (see G loss t a)))).
    rewrite (eq_bigr (fun a => \rsum_c (nu c * (mixed L c a * Phi (update L (see G loss t a)))))).
      by rewrite rsum_exchange; apply: eq_bigr => c _; rewrite rsum_mull.
    by move=> a _; rewrite /KnownLaw.m rsum_mulr; apply: eq_bigr => c _; ring.
  rewrite -rsum_split; apply: eq_bigr => c _; rewrite -Rmult_plus_distr_l; congr Rmult.
  have [_ r1] := mixed_dist L c.
  rewrite -[loss t c (pi c) in RHS]Rmult_1_l -r1 rsum_mulr /ip -rsum_sub -rsum_split.
  by apply: eq_bigr => a _; ring.
have -> : \rsum_a (m L a * Phi (update L (see G loss t a))) =
   \rsum_c (nu c * \rsum_a (m L a * Phi1 c (update L (see G loss t a) c))).
  rewrite (eq_bigr (fun a => \rsum_c (nu c * (m L a * Phi1 c (update L (see G loss t a) c))))).
    by rewrite rsum_exchange; apply: eq_bigr => c _; rewrite rsum_mull.
  by move=> a _; rewrite /Phi rsum_mull; apply: eq_bigr => c _; ring.
rewrite -rsum_split.
apply: (Rle_trans _ (\rsum_c (nu c * (rho + Phi1 c (L c)
   + (gamma + 2 * eta) * \rsum_(a | reg L a) (ftrl L c a / u L a) + (beta + 2 * eta * D) * away L
     c)))).
  apply: rsum_le => c _; rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l => //.
  have h := step_c t L c.
  have hr : ip (mixed L c) (loss t c) <= ip (ftrl L c) (loss t c) + rho.
    have [p0 p1] := ftrl_dist L c; have k0 := K0.
    have rE : rho = \rsum_(a : A) (rho / K).
      rewrite rsum_const (_ : #|[pred i | _]| = #|A|); last exact: eq_card.
      by rewrite -/(KnownLaw.K A); field; lra.
    rewrite [X in _ <= _ + X]rE /ip -rsum_split; apply: rsum_le => a _; rewrite /KnownLaw.mixed.
    have [l0 l1] := loss01 t c a; have pa := p0 a; have k1 := rK0.
    have h1 : 0 <= rho * (ftrl L c a * loss t c a).
      by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos].
    have h2 : rho / K * loss t c a <= rho / K * 1 by apply: Rmult_le_compat_l; lra.
    by lra.
  rewrite /KnownLaw.update in h *; lra.
rewrite (eq_bigr (fun c => nu c * rho + nu c * Phi1 c (L c)
   + (gamma + 2 * eta) * \rsum_(a | reg L a) (nu c * ftrl L c a * / u L a)
   + (beta + 2 * eta * D) * (nu c * away L c))); last first.
  move=> c _; rewrite (_ : \rsum_(a | reg L a) (nu c * ftrl L c a * / u L a)
    = nu c * \rsum_(a | reg L a) (ftrl L c a / u L a)); first by ring.
  by rewrite rsum_mull; apply: eq_bigr => a _; rewrite /Rdiv; ring.
rewrite !rsum_split -rsum_mulr n1 -!rsum_mull -/(Phi L) rsum_exchange.
have hG : \rsum_(a | reg L a) \rsum_c (nu c * ftrl L c a * / u L a) <= Gsum / (1 - rho).
  apply: (Rle_trans _ (\rsum_(a | reg L a) (m L a / u L a) / (1 - rho))); last first.
    by apply: Rmult_le_compat_r; [apply: Rlt_le; apply: Rinv_0_lt_compat;
      lra | exact: graph_sum_regular].
  rewrite /Rdiv rsum_mulr; apply: rsum_le => a _; rewrite -rsum_mulr -/(pbar L a).
  have := pbar_le L a; have iu := Rinv_0_lt_compat _ (u_gt0 L a).
  by rewrite /Rdiv => h; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) h; lra.
have ha := away_mean L.
have D0 : 0 <= D.
  rewrite /D; have : 0 <= beta ^ 2 / gamma; last by lra.
  by apply: Rmult_le_pos; [exact: pow2_ge_0 | apply: Rlt_le; exact: Rinv_0_lt_compat].
have h1 : (gamma + 2 * eta) * \rsum_(a | reg L a) \rsum_c (nu c * ftrl L c a * / u L a)
   <= (gamma + 2 * eta) * (Gsum / (1 - rho)) by apply: Rmult_le_compat_l; lra.
have h2 : (beta + 2 * eta * D) * \rsum_c (nu c * away L c) <= (beta + 2 * eta * D) * / (1 - rho).
  by apply: Rmult_le_compat_l => //; nra.
rewrite /B {2}/Rdiv; lra.
Qed.

(** Proposition 2 in explicit form, for every horizon and comparator. *)
Theorem known T : Reg nu G loss alg T pi <= ln K / eta + INR T * B.
Proof.
have h := @run_potential C A nu G loss alg pi Phi B nu_dist mixed_dist (fun _ _ _ _ =>
  I) _ one_round T 0%N (fun _ _ => 0).
apply: Rle_trans (h _) _ => [L|].
  by apply: rsum_ge0 => c _; apply: Rmult_le_pos; [exact: (proj1 nu_dist) | exact: Phi1_ge0].
have -> : Phi (fun _ _ => 0) = ln K / eta; last by lra.
have [n0 n1] := nu_dist.
rewrite /Phi (eq_bigr (fun c => nu c * (ln K / eta))); first by rewrite -rsum_mulr n1; ring.
move=> c _; congr Rmult; rewrite /Phi1 Rplus_0_r; congr (ln _ / _).
rewrite /norm (eq_bigr (fun=> 1)); last by move=> a _; rewrite /wexp Rmult_0_r exp_0.
by rewrite rsum_const Rmult_1_r /KnownLaw.K; congr INR; exact: eq_card.
Qed.

(** The same, as the function of the parameters that Statement defines. *)
Corollary known_explicit T : Reg nu G loss alg T pi <= bound1 (INR #|A|) (INR (alpha G)) (mutual G)
  eta gamma rho beta T.
Proof.
apply: Rle_trans (known T) _; apply: Req_le; rewrite /bound1 /B /Gsum /D -/K /KnownLaw.K;
  congr (_ + _ * _).
by field; lra.
Qed.
End Proof.
