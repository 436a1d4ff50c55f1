(** One pair of Algorithm 2 under the epoch's invariant, in expectation over the frequency block.

    This collects the special-arm odds (Lemma 7), the graph sum of Appendix E, Bias 1 (Lemma 10), the shifted
    FTRL step (Lemma 16) and the other biases. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Exponential Ftrl GraphInverse Programs KnownLaw Concentration RandomDenominators
  Stability Biases FrequencyBlock Retention PairReduction Epochs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma softmax_shift (A : finType) (a0 : A) eta (H y : A -> R) a :
  softmax eta (fun a => H a - y a) a =
  softmax eta H a * exp (eta * y a) / \rsum_i (softmax eta H i * exp (eta * y i)).
Proof.
have n0 := norm_gt0 a0 eta H; have n1 := norm_gt0 a0 eta (fun a => H a - y a).
have ew i : wexp eta (fun a => H a - y a) i = wexp eta H i * exp (eta * y i).
  by rewrite /wexp -exp_plus; congr exp; ring.
have -> : \rsum_i (softmax eta H i * exp (eta * y i)) = norm eta (fun a => H a - y a) / norm eta H.
  rewrite {1}/norm /Rdiv rsum_mulr; apply: rsum_eqr => i _; rewrite ew softmaxE /Rdiv; ring.
by rewrite !softmaxE ew; field; lra.
Qed.

Section OneStep.
Variables (C A : finType) (a0 : A) (nu : C -> R) (e : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable e.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis n0 : (0 < n)%N.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis gamma_n : 2 / INR n <= gamma.
Hypothesis rho1 : 0 < rho < 1.
Hypothesis beta4 : 4 * gamma <= beta.
(** [B0] bounds the ideal input of an epoch; the actual one is at most twice as large. *)
Variable B0 : R.
Hypothesis kappa8 : 0 <= eta * B0 <= / 8.
Hypothesis eta_shift : eta * (2 * ((2 + beta) / gamma)) <= 3.
Variables (F F0 : table C A) (j : option A).
Hypothesis inv1 : forall c a, 0 <= F c a - F0 c a <= 2 * B0.
Hypothesis inv2 : forall a, ~~ e a a -> j != Some a -> / 6 <= w nu e eta rho F0 a.
Hypothesis inv3 : forall b, j = Some b -> ~~ e b b.

Local Notation w := (w nu e eta rho F0).
Local Notation u := (u nu e eta gamma rho F0).
Local Notation rr := (rr eta rho).
Local Notation wl := (wl nu eta rho F0).
Local Notation yt := (yt nu e loss eta gamma rho beta F0 j).
Local Notation d := (d loss pi).
Let s c := softmax eta (F0 c).
Let kap := eta * B0.
Let ex4 := exp (4 * kap).

Lemma nR : 0 < INR n. Proof. by apply: lt_0_INR; apply/ltP. Qed.
Lemma u0 a : 0 < u a. Proof. exact: u_gt0. Qed.
Lemma w0 a : 0 <= w a. Proof. exact: w_ge0. Qed.

Definition Sx (x : A -> R) := regular j w gamma x.
Definition Aw (x : A -> R) := away j w gamma x.
Definition Gs := 2 * graph_sum e rho + 6.

Lemma ex4_bd : 1 <= ex4 <= 5 / 3.
Proof.
have k8 : 0 <= kap <= / 8 := kappa8; rewrite /ex4; split; first by have := exp_ineq1_le (4 * kap); lra.
by apply: Rle_trans exp_half; apply: exp_le; lra.
Qed.

Lemma wK a : KnownLaw.w nu e eta rho F0 a = 2 * w a.
Proof.
rewrite /KnownLaw.w /Epochs.w /mu /ip rsum_mull; apply: rsum_eqr => c _.
by rewrite /g; have -> (x y : R) : 2 * (x * (/ 2 * y)) = x * y by move=> *; field.
Qed.

Let m := KnownLaw.m nu eta rho F0.
Lemma graph_m : \rsum_(a | j != Some a) (m a / u a) <= Gs.
Proof.
have [m0 m1] : dist m by apply: m_dist.
have iu a : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have q0 a : 0 <= m a / u a by apply: Rmult_le_pos => //; exact: Rlt_le.
rewrite (rsum_ID (fun a => j != Some a) (fun a => e a a)) /Gs; apply: Rplus_le_compat.
  apply: (Rle_trans _ (\rsum_(a | e a a) (m a / u a))).
    by apply: rsum_sub_le => [a _|a /andP[]].
  have g2 : 0 < 2 * gamma by lra.
  have := graph_sum_self a0 e eta dnu g2 rho1 F0; rewrite -/m => h.
  have -> : \rsum_(a | e a a) (m a / u a) = 2 * \rsum_(a | e a a) (m a / KnownLaw.u nu e eta (2 * gamma) rho F0 a).
    rewrite rsum_mull; apply: rsum_eqr => a _; rewrite /KnownLaw.u wK; have := u0 a.
    by rewrite /Epochs.u => h0; field; lra.
  lra.
apply: (Rle_trans _ (\rsum_a (6 * m a))); last by rewrite -rsum_mull m1; lra.
apply: (Rle_trans _ (\rsum_(a | (j != Some a) && ~~ e a a) (6 * m a))); last first.
  by apply: rsum_sub_le => // a _; have := m0 a; lra.
apply: rsum_le => a /andP[ja na]; rewrite Rmult_comm; apply: Rmult_le_compat_l => //.
rewrite (_ : 6 = / / 6); last by field.
by apply: Rinv_le_contravar; [lra | have := inv2 na ja; rewrite /Epochs.u; lra].
Qed.

Let ir : 0 < / (1 - rho). Proof. by apply: Rinv_0_lt_compat; lra. Qed.

(** The graph sum of Appendix E, at the snapshot. *)
Lemma S_mean : \rsum_c (nu c * Sx (s c)) <= Gs / (1 - rho).
Proof.
have -> : \rsum_c (nu c * Sx (s c)) = \rsum_(a | j != Some a) (pbar nu eta F0 a / u a).
  rewrite (rsum_eqr (G := fun c => \rsum_(a | j != Some a) (nu c * s c a / u a))).
    rewrite rsum_exchange; apply: rsum_eqr => a _; rewrite /pbar /Rdiv rsum_mulr.
    by apply: rsum_eqr => c _.
  by move=> c _; rewrite /Sx /regular rsum_mull; apply: rsum_eqr => a _; rewrite /Rdiv /Epochs.u; ring.
apply: (Rle_trans _ (\rsum_(a | j != Some a) (m a / u a) / (1 - rho))); last first.
  by apply: Rmult_le_compat_r; [lra | exact: graph_m].
rewrite /Rdiv rsum_mulr; apply: rsum_le => a _.
have iu : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) (pbar_le a0 eta dnu rho1 F0 a).
by rewrite -/m /Rdiv; lra.
Qed.

(** Lemma 7 at the snapshot: the mass away from the special arm is at most 2 / (1 - rho) times [u]. *)
Lemma A_mean : \rsum_c (nu c * Aw (s c)) <= 2 / (1 - rho).
Proof.
have [nn n1] := dnu; rewrite /Aw /away; case jE: j => [b|]; last first.
  by rewrite (rsum_eqr (G := fun=> 0)); [rewrite rsum_const /Rdiv; lra | move=> c _; ring].
have ub := u0 b; rewrite -/(u b).
have -> : \rsum_c (nu c * ((1 - s c b) / u b)) = (1 - pbar nu eta F0 b) * / u b.
  rewrite /pbar -[in RHS]n1 -rsum_sub rsum_mulr; apply: rsum_eqr => c _.
  by rewrite /ftrl /s /Rdiv; ring.
have hw := w_noself a0 eta dnu so rho1 F0 (inv3 jE); rewrite wK -/m in hw.
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
Lemma snap c a : p c a <= ex4 * s c a /\ s c a <= ex4 * p c a.
Proof.
have [lo hi] := lemma8_snapshot a0 eta0 (HB c) a.
have eE : eta * (4 * B0) = 4 * kap by rewrite /kap; ring.
rewrite eE -/ex4 in lo hi *; split; first exact: hi.
have e0 : 0 < ex4 by exact: exp_pos.
have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ e0) lo; rewrite -Rmult_assoc Rmult_comm.
by rewrite [ex4 * _]Rmult_comm exp_opp Rmult_1_r.
Qed.

Lemma snap_q c : qq eta rho F0 H c = rr H c.
Proof.
rewrite /qq; case: ifP => // /negbT; rewrite negb_forall => /existsP[a].
rewrite /geb; case: Rle_dec => // h _; exfalso; apply: h.
have [_ h] := snap c a; rewrite /Epochs.rr /mix -/(s c a) -/(p c a).
have k0 := card_gt0 a0; have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have p0 : 0 < p c a by exact: softmax_gt0.
have := ex4_bd => hX; have : s c a <= 2 * p c a by nra.
by nra.
Qed.

Lemma snap_S c : Sx (p c) <= ex4 * Sx (s c).
Proof.
rewrite /Sx /regular rsum_mull; apply: rsum_le => a _; have [h _] := snap c a.
have iu : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) h; rewrite /Rdiv /Epochs.u; lra.
Qed.

Lemma snap_away c b : 1 - p c b <= ex4 * (1 - s c b).
Proof.
have e1 (x : A -> R) : dist x -> 1 - x b = \rsum_(a | xpredT a && (a != b)) x a.
  by move=> [_ <-]; rewrite (rsum_D1 (P := xpredT) x (i0 := b)) //; ring.
rewrite !e1; [|exact: softmax_dist|exact: softmax_dist].
by rewrite rsum_mull; apply: rsum_le => a _; have [] := snap c a.
Qed.

(** Lemma 7 within the epoch. *)
Lemma snap_A c : Aw (p c) <= ex4 * Aw (s c).
Proof.
rewrite /Aw /away; case: j => [b|]; last by lra.
have iu : 0 < / u b by apply: Rinv_0_lt_compat; exact: u0.
by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ iu) (snap_away c b); rewrite -/(u b) /Rdiv; lra.
Qed.
End Snap.

(* ---- moments of the loss side of one pair ---- *)
Lemma obs_mean a (f : bool -> R) :
  \rsum_l (wl l * (if kept l && e (arm l) a then f (side l) else 0)) = w a * ((f true + f false) / 2).
Proof.
rewrite wl_sum /Epochs.w /mu /ip rsum_mulr; apply: rsum_eqr => c _.
rewrite Rmult_assoc; congr Rmult; rewrite /g rsum_mull rsum_mulr (rsum_mkcondr xpredT (fun v => e v a)).
apply: rsum_eqr => v _; rewrite /kept /arm /side /=.
by case: (e v a); field.
Qed.

Lemma wl1 : \rsum_l wl l = 1.
Proof. by have [_] := wl_dist a0 eta dnu rho1 F0. Qed.
Lemma wlge l : 0 <= wl l.
Proof. by have [h _] := wl_dist a0 eta dnu rho1 F0; exact: h. Qed.

Section Ctx.
Variables (t : nat) (c : C).
Definition lam a := loss t c a + loss t.+1 c a.
Let b a := if j == Some a then beta else 0.
Definition gm a := (w a * lam a + b a) / u a.

Lemma yt_mean a : \rsum_l (wl l * yt t l c a) = gm a.
Proof.
rewrite (rsum_eqr (G := fun l => / u a * (wl l * (if kept l && e (arm l) a
   then (fun sd => 2 * loss (if sd then t.+1 else t) c a) (side l) else 0)) + wl l * (b a / u a))); last first.
  by move=> l _; rewrite /Epochs.yt /tm -/(b a) /Rdiv; ring.
rewrite rsum_split -rsum_mull (obs_mean a (fun sd => 2 * loss (if sd then t.+1 else t) c a)) -rsum_mulr wl1 /gm /lam /=.
by have := u0 a => h; field; lra.
Qed.

Section Theta.
Variables (th : A -> R) (p : A -> R).
Hypothesis th2 : forall a, 0 <= th a <= 2.
Hypothesis dp : dist p.
Let y l a := th a * yt t l c a.
Let z l := if j is Some b then y l b else 0.

Lemma b_bd a : 0 <= b a <= beta.
Proof. by rewrite /b; case: ifP => _; lra. Qed.

Lemma yt_bd l a : 0 <= yt t l c a <= (2 + beta) / gamma.
Proof.
have ua := u0 a; have iu := Rinv_0_lt_compat _ ua; have ba := b_bd a.
have iug : / u a <= / gamma by apply: Rinv_le_contravar => //; rewrite /Epochs.u; have := w0 a; lra.
rewrite /Epochs.yt -/(b a) /Rdiv; have := loss01 (tm l t) c a.
set x := (if _ then _ else 0) + b a => lb.
have x0 : 0 <= x <= 2 + beta by rewrite /x; case: ifP => _; lra.
split; first by apply: Rmult_le_pos; lra.
by apply: Rmult_le_compat; lra.
Qed.

Lemma y_bd l a : 0 <= y l a <= 2 * ((2 + beta) / gamma).
Proof. by rewrite /y; have := th2 a; have := yt_bd l a; nra. Qed.
Lemma z_bd l : 0 <= z l <= 2 * ((2 + beta) / gamma).
Proof. by rewrite /z; case: j => [b'|]; [exact: y_bd | have := y_bd l a0; lra]. Qed.

Lemma quad l : ip p (fun a => (y l a - z l) ^ 2) <=
  \rsum_(a | j != Some a) (p a * y l a ^ 2) + (if j is Some b then (1 - p b) * z l ^ 2 else 0).
Proof.
have [p0 p1] := dp; have [z0 _] := z_bd l.
rewrite /ip; rewrite /z in z0 *; case jE: j z0 => [b'|] z0 /=.
  have e1 (f : A -> R) : \rsum_(a | xpredT a && (a != b')) f a = \rsum_(a | Some b' != Some a) f a.
    by apply: rsum_eql => a /=; rewrite eq_sym.
  have -> : 1 - p b' = \rsum_(a | Some b' != Some a) p a.
    by rewrite -p1 (rsum_D1 (P := xpredT) p (i0 := b')) // e1; ring.
  rewrite (rsum_D1 (P := xpredT) _ (i0 := b')) // e1.
  have -> : p b' * (y l b' - y l b') ^ 2 = 0 by ring.
  rewrite Rplus_0_l rsum_mulr -rsum_split.
  apply: rsum_le => a _; rewrite -Rmult_plus_distr_l.
  apply: Rmult_le_compat_l; first exact: p0.
  have [x0 _] := y_bd l a; have h : 0 <= y l a * y l b' by apply: Rmult_le_pos.
  by nra.
rewrite Rplus_0_r; apply: Req_le; apply: eq_bigr => a _; ring.
Qed.

Definition D := 16 * (1 + beta) + 4 * beta ^ 2 / gamma.
Lemma quad_mean : \rsum_l (wl l * ip p (fun a => (y l a - z l) ^ 2)) <= 16 * Sx p + D * Aw p.
Proof.
have [p0 p1] := dp.
apply: (Rle_trans _ (\rsum_l (wl l * (\rsum_(a | j != Some a) (p a * y l a ^ 2)
   + (if j is Some b then (1 - p b) * z l ^ 2 else 0))))).
  by apply: rsum_le => l _; apply: Rmult_le_compat_l; [exact: wlge | exact: quad].
rewrite (eq_bigr (fun l => (\rsum_(a | j != Some a) (p a * (wl l * y l a ^ 2)))
   + (if j is Some b then (1 - p b) * (wl l * z l ^ 2) else 0))); last first.
  move=> l _; rewrite Rmult_plus_distr_l rsum_mull; congr Rplus.
    by apply: eq_bigr => a _; ring.
  by case: j => [b'|]; ring.
rewrite rsum_split rsum_exchange; apply: Rplus_le_compat.
  rewrite /Sx /regular rsum_mull; apply: rsum_le => a ja; rewrite -rsum_mull -/(u a).
  have ua := u0 a; have iu := Rinv_0_lt_compat _ ua; have wa := w0 a.
  have -> : 16 * (p a / u a) = p a * (16 * / u a) by rewrite /Rdiv; ring.
  apply: Rmult_le_compat_l; first exact: p0.
  apply: (Rle_trans _ (\rsum_l (wl l * (if kept l && e (arm l) a then (fun=> 16 * (/ u a) ^ 2) (side l) else 0)))).
    apply: rsum_le => l _; apply: Rmult_le_compat_l; first exact: wlge.
    rewrite /y /Epochs.yt (negbTE ja) Rplus_0_r /Rdiv.
    have [t0 t2] := th2 a; have [l0 l1] := loss01 (tm l t) c a.
    case: ifP => _; last by apply: Req_le; ring.
    have -> : (th a * (2 * loss (tm l t) c a * / u a)) ^ 2 = (th a * (2 * loss (tm l t) c a)) ^ 2 * (/ u a) ^ 2 by ring.
    apply: Rmult_le_compat_r; first exact: pow2_ge_0.
    have x4 : 0 <= th a * (2 * loss (tm l t) c a) <= 4 by split; [apply: Rmult_le_pos; lra | nra].
    by nra.
  rewrite (obs_mean a (fun=> 16 * (/ u a) ^ 2)).
  have -> : 16 * / u a = u a * (16 * (/ u a) ^ 2) by field; lra.
  have -> : (16 * (/ u a) ^ 2 + 16 * (/ u a) ^ 2) / 2 = 16 * (/ u a) ^ 2 by field; lra.
  apply: Rmult_le_compat_r; last by rewrite /Epochs.u; lra.
  by have := pow2_ge_0 (/ u a); lra.
rewrite /Aw /away /z; case jE: j => [b'|]; last by rewrite rsum_const; lra.
have ua := u0 b'; have iu := Rinv_0_lt_compat _ ua; have wa := w0 b'.
have pj1 : p b' <= 1 by rewrite -p1; apply: (rsum_ge1 (P := xpredT)).
rewrite -rsum_mull -/(u b').
have -> : D * ((1 - p b') / u b') = (1 - p b') * (D * / u b') by rewrite /Rdiv; ring.
apply: Rmult_le_compat_l; first by lra.
apply: (Rle_trans _ (\rsum_l (wl l * (if kept l && e (arm l) b' then (fun=> 4 * (4 + 4 * beta) * (/ u b') ^ 2) (side l) else 0)
    + wl l * (4 * beta ^ 2 * (/ u b') ^ 2)))).
  apply: rsum_le => l _; rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l; first exact: wlge.
  rewrite /y /Epochs.yt jE eqxx /Rdiv.
  have [t0 t2] := th2 b'; have [l0 l1] := loss01 (tm l t) c b'; have q0 := pow2_ge_0 (/ u b').
  set x := (if _ then _ else 0) + beta.
  have -> : (th b' * (x * / u b')) ^ 2 = (th b' * x) ^ 2 * (/ u b') ^ 2 by ring.
  set v := (if _ then _ else 0); rewrite /x /v; case: ifP => _.
    rewrite -Rmult_plus_distr_r; apply: Rmult_le_compat_r => //.
    have x4 : 0 <= th b' * (2 * loss (tm l t) c b' + beta) <= 2 * (2 + beta) by split; [apply: Rmult_le_pos; lra | nra].
    by nra.
  rewrite !Rplus_0_l; apply: Rmult_le_compat_r => //.
  have x4 : 0 <= th b' * beta <= 2 * beta by split; [apply: Rmult_le_pos; lra | nra].
  by nra.
rewrite rsum_split (obs_mean b' (fun=> 4 * (4 + 4 * beta) * (/ u b') ^ 2)) -rsum_mulr wl1.
have -> : D * / u b' = (D * u b') * (/ u b') ^ 2 by field; lra.
have -> : w b' * ((4 * (4 + 4 * beta) * (/ u b') ^ 2 + 4 * (4 + 4 * beta) * (/ u b') ^ 2) / 2)
   + 1 * (4 * beta ^ 2 * (/ u b') ^ 2) = (4 * (4 + 4 * beta) * w b' + 4 * beta ^ 2) * (/ u b') ^ 2 by field; lra.
apply: Rmult_le_compat_r; first exact: pow2_ge_0.
have q0 : 0 <= 4 * beta ^ 2 / gamma * w b'.
  apply: Rmult_le_pos => //; apply: Rmult_le_pos; [have := pow2_ge_0 beta; lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
have -> : D * u b' = 16 * (1 + beta) * w b' + 16 * (1 + beta) * gamma + (4 * beta ^ 2 / gamma * w b' + 4 * beta ^ 2).
  by rewrite /D /Epochs.u; field; lra.
by nra.
Qed.
End Theta.
Section Step.
Variables (th : A -> R) (Hc : A -> R).
Hypothesis th2 : forall a, 0 <= th a <= 2.
Let p := softmax eta Hc.
Let y l a := th a * yt t l c a.
Let z l := if j is Some b then y l b else 0.

Lemma eta_z l a : -3 <= eta * (y l a - z l).
Proof.
have [y0 _] := y_bd th2 l a; have [z0 z1] := z_bd th2 l; rewrite -/(y l a) in y0; rewrite -/(z l) in z0 z1.
suff : eta * z l <= 3 by have := Rmult_le_pos _ _ (Rlt_le _ _ eta0) y0; lra.
by apply: Rle_trans eta_shift; apply: Rmult_le_compat_l; lra.
Qed.

Lemma one_sum (x : A -> R) b' : \rsum_a (one b' a * x a) = x b'.
Proof.
rewrite (rsum_D1 (P := xpredT) _ (i0 := b')) // (rsum_eqr (G := fun=> 0)).
  by rewrite rsum_const /one eqxx; ring.
by move=> a /andP[_ ab]; rewrite /one eq_sym (negbTE ab); ring.
Qed.

Lemma ftrl_step : \rsum_l (wl l * Phi1 eta pi c (fun a => Hc a + y l a)) <=
  Phi1 eta pi c Hc - \rsum_a ((p a - one (pi c) a) * (th a * gm a)) + 2 * eta * (16 * Sx p + D * Aw p).
Proof.
have [p0 p1] := softmax_dist a0 eta Hc; have ie := Rinv_0_lt_compat _ eta0.
have h1 l : Phi1 eta pi c (fun a => Hc a + y l a) <= Phi1 eta pi c Hc - ip p (y l) + y l (pi c)
     + 2 * eta * ip p (fun a => (y l a - z l) ^ 2).
  have h := norm_step (y := y l) (z := z l) a0 Hc (eta_z l).
  rewrite /Phi1; have := Rmult_le_compat_r (/ eta) _ _ (Rlt_le _ _ ie) h; rewrite -/p.
  set N1 := ln (norm eta (fun a => Hc a + y l a)); set N0 := ln (norm eta Hc).
  set Xl := ip p (y l); set Q := ip p _.
  have -> : (N0 - eta * Xl + 2 * eta ^ 2 * Q) * / eta = N0 / eta - Xl + 2 * eta * Q by field; lra.
  by rewrite /Rdiv; lra.
apply: (Rle_trans _ (\rsum_l (wl l * (Phi1 eta pi c Hc - ip p (y l) + y l (pi c)
     + 2 * eta * ip p (fun a => (y l a - z l) ^ 2))))).
  by apply: rsum_le => l _; apply: Rmult_le_compat_l; [exact: wlge | exact: h1].
rewrite (eq_bigr (fun l => wl l * Phi1 eta pi c Hc - wl l * ip p (y l) + wl l * y l (pi c)
     + 2 * eta * (wl l * ip p (fun a => (y l a - z l) ^ 2)))); last by move=> l _; ring.
rewrite !rsum_split rsum_opp -rsum_mulr wl1 -rsum_mull.
have hq := quad_mean th2 (softmax_dist a0 eta Hc); rewrite -/p in hq.
have ym a : \rsum_l (wl l * y l a) = th a * gm a.
  by rewrite -yt_mean rsum_mull; apply: rsum_eqr => l _; rewrite /y; ring.
have -> : \rsum_l (wl l * ip p (y l)) = \rsum_a (p a * (th a * gm a)).
  rewrite /ip (eq_bigr (fun l => \rsum_a (p a * (wl l * y l a)))); last first.
    by move=> l _; rewrite rsum_mull; apply: eq_bigr => a _; ring.
  by rewrite rsum_exchange; apply: eq_bigr => a _; rewrite -rsum_mull ym.
rewrite ym.
have -> : \rsum_a ((p a - one (pi c) a) * (th a * gm a))
   = \rsum_a (p a * (th a * gm a)) - th (pi c) * gm (pi c).
  rewrite -(one_sum (fun a => th a * gm a)) -rsum_sub; apply: rsum_eqr => a _; ring.
set Q := \rsum_l _ in hq *.
have : 2 * eta * Q <= 2 * eta * (16 * Sx p + D * Aw p) by apply: Rmult_le_compat_l; [lra | exact: hq].
lra.
Qed.
End Step.

Lemma cost_c (H : table C A) : (forall c a, 0 <= H c a - F0 c a <= 4 * B0) ->
  \rsum_a (qq eta rho F0 H c a * (d t c a + d t.+1 c a)) <=
  \rsum_a ((softmax eta (H c) a - one (pi c) a) * lam a) + 2 * rho.
Proof.
move=> HB; rewrite (snap_q HB).
have [r0 r1] := rr_dist a0 eta rho1 H c; have [p0 p1] := softmax_dist a0 eta (H c).
have -> : \rsum_a (rr H c a * (d t c a + d t.+1 c a)) = \rsum_a (rr H c a * lam a) - lam (pi c).
  rewrite -[lam (pi c) in RHS]Rmult_1_l -r1 rsum_mulr -rsum_sub.
  by apply: rsum_eqr => a _; rewrite /PairReduction.d /lam; ring.
have -> : \rsum_a ((softmax eta (H c) a - one (pi c) a) * lam a)
  = \rsum_a (softmax eta (H c) a * lam a) - lam (pi c).
  rewrite -(one_sum (lam)) -rsum_sub; apply: rsum_eqr => a _; ring.
suff : \rsum_a (rr H c a * lam a) <= \rsum_a (softmax eta (H c) a * lam a) + 2 * rho by lra.
have k0 := card_gt0 a0.
have rE : 2 * rho = \rsum_(a : A) (2 * (rho / INR #|A|)).
  rewrite rsum_const (_ : #|[pred i | _]| = #|A|); last exact: eq_card.
  by field; lra.
rewrite rE -rsum_split; apply: rsum_le => a _; rewrite /Epochs.rr /mix.
have l2 : 0 <= lam a <= 2 by rewrite /lam; have := loss01 t c a; have := loss01 t.+1 c a; lra.
have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have h1 : 0 <= rho * (softmax eta (H c) a * lam a).
  by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos; [exact: p0 | lra]].
have h2 : rho / INR #|A| * lam a <= rho / INR #|A| * 2 by apply: Rmult_le_compat_l; lra.
by lra.
Qed.
End Ctx.

(* ---- the clipped proxy ---- *)
Definition thc (sq : seq C) a := clip (ratio nu e eta gamma rho n F0 sq a).
Lemma thc2 sq a : 0 <= thc sq a <= 2.
Proof.
split; last exact: clip_le.
by apply: Rlt_le; apply: clip_gt0; apply: Rdiv_lt_0_compat; [exact: u0 | exact: Wof_gt0].
Qed.

Section Proxy.
Variables (G : table C A).
Hypothesis GB : forall c a, 0 <= G c a <= B0.
Definition Hs sq := scaled F (thc sq) G.
Lemma Hs_bd sq c a : 0 <= Hs sq c a - F0 c a <= 4 * B0.
Proof.
rewrite /Hs /scaled; have h1 := inv1 c a; have h2 := thc2 sq a; have h3 := GB c a.
have : 0 <= thc sq a * G c a by apply: Rmult_le_pos; lra.
have : thc sq a * G c a <= 2 * B0 by apply: Rmult_le_compat; lra.
lra.
Qed.
Let Ht : table C A := fun c a => F c a + G c a.
Lemma Ht_bd c a : 0 <= Ht c a - F0 c a <= 4 * B0.
Proof. by rewrite /Ht; have h1 := inv1 c a; have h3 := GB c a; lra. Qed.

Let phi sq a := RandomDenominators.phi nu (g e eta rho F0 a) gamma n sq.
Lemma phi_th sq a : phi sq a = 1 - thc sq a. Proof. by []. Qed.
Lemma phi1 sq a : Rabs (phi sq a) <= 1.
Proof. by apply: Rabs_le; rewrite phi_th; have := thc2 sq a; lra. Qed.

Variables (t : nat) (c : C).
Let p sq := softmax eta (Hs sq c).
Let pt := softmax eta (Ht c).

Lemma p_shift sq : p sq = fun a => pt a * exp (eta * (phi sq a * G c a)) / \rsum_i (pt i * exp (eta * (phi sq i * G c i))).
Proof.
apply: functional_extensionality => a; rewrite /pt -(softmax_shift a0 eta (Ht c) (fun a => phi sq a * G c a)).
congr (softmax eta _ a); apply: functional_extensionality => a'.
by rewrite /Hs /scaled /Ht phi_th; ring.
Qed.

Lemma z_small sq a : Rabs (eta * (phi sq a * G c a)) <= kap * Rabs (phi sq a).
Proof.
have [G0 G1] := GB c a; rewrite !Rabs_mult (Rabs_pos_eq eta); last by lra.
rewrite (Rabs_pos_eq (G c a)) // /kap Rmult_assoc; apply: Rmult_le_compat_l; first by lra.
by rewrite Rmult_comm; apply: Rmult_le_compat_r => //; exact: Rabs_pos.
Qed.

Let kS := 3 * gamma + (8 * gamma + 2 / 3 * beta) * kap.
Let kA := beta + (8 / 3 * gamma + 10 / 3 * beta) * kap.
Lemma lin_mean : Ei nu n (lin j (pi c) p phi (lam t c) w gamma beta) <= ex4 * (kS * Sx (s c) + kA * Aw (s c)).
Proof.
have k8 : 0 <= kap <= / 8 := kappa8; have hX := ex4_bd; have dt := softmax_dist a0 eta (Ht c).
have l2 a : 0 <= lam t c a <= 2 by rewrite /lam; have := loss01 t c a; have := loss01 t.+1 c a; lra.
have jr sq : \rsum_(a | j != Some a) (Rabs (p sq a - pt a) * Rabs (phi sq a)) <=
    4 / 3 * kap * (3 * Qreg pt (phi sq) j + Qaway pt (phi sq) j).
  by rewrite p_shift; exact: (lemma9_regular j dt k8 (phi1 sq) (z_small sq)).
have js sq i : j = Some i -> Rabs (p sq i - pt i) * Rabs (phi sq i) <=
    4 / 3 * kap * (Qreg pt (phi sq) j / 2 + 3 / 2 * Qaway pt (phi sq) j).
  by move=> ji; rewrite p_shift; exact: (lemma9_special dt k8 (phi1 sq) (z_small sq) ji).
have jc sq i : j = Some i -> Rabs (p sq i - pt i) <= 8 / 3 * kap * (1 - pt i).
  by move=> ji; rewrite p_shift; exact: (lemma9_crude dt k8 (phi1 sq) (z_small sq) ji).
have h := @biases (seq C) (Ei nu n) (@Ei_add _ nu n) (fun a f => Ei_scale nu n a f) (fun f g h => Ei_le dnu n h)
  (Ei_const dnu n) (@Ei_ext _ nu n) A j (pi c) p phi pt (lam t c) w gamma beta kap
  gamma0 beta4 (proj1 k8) w0 l2 (fun sq => softmax_dist a0 eta _) dt
  (fun a => ratio_first dnu (g_half a0 e eta rho1 F0 a) n0 gamma_n)
  (fun a => ratio_second_le dnu (g_half a0 e eta rho1 F0 a) n0 gamma_n) jr js jc.
apply: Rle_trans h _.
have iu a : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have X1 : regular j w gamma (fun a => Ei nu n (p^~ a)) <= ex4 * Sx (s c).
  rewrite /Sx /regular rsum_mull; apply: rsum_le => a _; rewrite -/(u a).
  have : Ei nu n (p^~ a) <= ex4 * s c a.
    by rewrite -(Ei_const dnu n (ex4 * s c a)); apply: Ei_le => // sq; have [] := snap (Hs_bd sq) c a.
  by move=> le; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ (iu a)) le; rewrite /Rdiv; lra.
have X2 : regular j w gamma pt <= ex4 * Sx (s c) by exact: (snap_S Ht_bd).
have X3 : away j w gamma (fun a => Ei nu n (p^~ a)) <= ex4 * Aw (s c).
  rewrite /Aw /away; case: j => [b'|]; last by lra.
  have : 1 - ex4 * (1 - s c b') <= Ei nu n (p^~ b').
    rewrite -(Ei_const dnu n (1 - ex4 * (1 - s c b'))); apply: Ei_le => // sq.
    by have := snap_away (Hs_bd sq) c b'; rewrite /p; lra.
  move=> le; have {}le : 1 - Ei nu n (p^~ b') <= ex4 * (1 - s c b') by lra.
  by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ (iu b')) le; rewrite -/(u b') /Rdiv; lra.
have X4 : away j w gamma pt <= ex4 * Aw (s c) by exact: (snap_A Ht_bd).
have c1 : 0 <= gamma + (8 * gamma + 2 / 3 * beta) * kap by nra.
have c2 : 0 <= (8 / 3 * gamma + 10 / 3 * beta) * kap by nra.
have g2 : 0 <= 2 * gamma by lra. have b0 : 0 <= beta by lra.
have y1 := Rmult_le_compat_l _ _ _ g2 X1; have y2 := Rmult_le_compat_l _ _ _ c1 X2.
have y3 := Rmult_le_compat_l _ _ _ b0 X3; have y4 := Rmult_le_compat_l _ _ _ c2 X4.
by rewrite /kS /kA; lra.
Qed.

Lemma one_ctx : Ei nu n (fun sq => \rsum_a (qq eta rho F0 (Hs sq) c a * (d t c a + d t.+1 c a))
    + \rsum_l (wl l * Phi1 eta pi c (fun a => Hs sq c a + thc sq a * yt t l c a))) <=
  Ei nu n (fun sq => Phi1 eta pi c (Hs sq c))
    + (2 * rho + ex4 * ((kS + 32 * eta) * Sx (s c) + (kA + 2 * eta * D) * Aw (s c))).
Proof.
have hX := ex4_bd.
apply: (Rle_trans _ (Ei nu n (fun sq => Phi1 eta pi c (Hs sq c)
    + (lin j (pi c) p phi (lam t c) w gamma beta sq + (2 * rho + ex4 * (2 * eta * (16 * Sx (s c) + D * Aw (s c)))))))).
  apply: Ei_le => // sq.
  have h1 := cost_c t c (Hs_bd sq); have h2 := ftrl_step t c (Hs sq c) (thc2 sq).
  have h3 := snap_S (Hs_bd sq) c; have h4 := snap_A (Hs_bd sq) c.
  rewrite -/(p sq) in h1 h2 h3 h4.
  have -> : lin j (pi c) p phi (lam t c) w gamma beta sq =
    \rsum_a ((p sq a - one (pi c) a) * lam t c a) - \rsum_a ((p sq a - one (pi c) a) * (thc sq a * gm t c a)).
    rewrite /lin -rsum_sub; apply: rsum_eqr => a _; rewrite phi_th /gm /Epochs.u; ring.
  have D0 : 0 <= D.
    have : 0 <= 4 * beta ^ 2 / gamma; last by rewrite /D; lra.
    by apply: Rmult_le_pos; [have := pow2_ge_0 beta; lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
  have h5 : 2 * eta * (16 * Sx (p sq) + D * Aw (p sq)) <= 2 * eta * (ex4 * (16 * Sx (s c) + D * Aw (s c))).
    by apply: Rmult_le_compat_l; [lra | have := Rmult_le_compat_l _ _ _ D0 h4; lra].
  lra.
rewrite Ei_add (Ei_add nu n (lin _ _ _ _ _ _ _ _)) Ei_const //.
by have := lin_mean; lra.
Qed.
End Proxy.

Let kS := 3 * gamma + (8 * gamma + 2 / 3 * beta) * kap.
Let kA := beta + (8 / 3 * gamma + 10 / 3 * beta) * kap.
Definition Bp := 2 * rho + ex4 / (1 - rho) * ((kS + 32 * eta) * Gs + 2 * (kA + 2 * eta * D)).

Theorem one_step t G : (forall c a, 0 <= G c a <= B0) ->
  Ei nu n (fun sq => pcost nu loss eta rho pi F0 t (scaled F (thc sq) G)
     + \rsum_l (wl l * Phi nu eta pi (scaled F (thc sq) (fun c a => G c a + yt t l c a)))) <=
  Ei nu n (fun sq => Phi nu eta pi (scaled F (thc sq) G)) + Bp.
Proof.
move=> GB; have [nn n1] := dnu; have hX := ex4_bd.
pose V c sq := \rsum_a (qq eta rho F0 (Hs G sq) c a * (d t c a + d t.+1 c a))
    + \rsum_l (wl l * Phi1 eta pi c (fun a => Hs G sq c a + thc sq a * yt t l c a)).
rewrite (Ei_ext nu n (g := fun sq => \rsum_c (nu c * V c sq))); last first.
  move=> sq; rewrite (rsum_eqr (G := fun c => nu c * \rsum_a (qq eta rho F0 (Hs G sq) c a * (d t c a + d t.+1 c a))
    + \rsum_l (wl l * (nu c * Phi1 eta pi c (fun a => Hs G sq c a + thc sq a * yt t l c a))))); last first.
    move=> c _; rewrite /V Rmult_plus_distr_l; congr Rplus; rewrite rsum_mull; apply: rsum_eqr => l _; ring.
  rewrite rsum_split; congr Rplus; rewrite rsum_exchange; apply: rsum_eqr => l _.
  rewrite -rsum_mull; congr Rmult; apply: rsum_eqr => c _; congr (_ * Phi1 eta pi c _).
  by apply: functional_extensionality => a; rewrite /Hs /scaled; ring.
rewrite (Ei_rsum nu nu n V).
rewrite (Ei_ext nu n (g := fun sq => \rsum_c (nu c * Phi1 eta pi c (Hs G sq c)))
   (f := fun sq => Phi nu eta pi (scaled F (thc sq) G))); last by [].
rewrite (Ei_rsum nu nu n (fun c sq => Phi1 eta pi c (Hs G sq c))).
pose kS' := ex4 * (kS + 32 * eta); pose kA' := ex4 * (kA + 2 * eta * D).
apply: (Rle_trans _ (\rsum_c (nu c * (Ei nu n (fun sq => Phi1 eta pi c (Hs G sq c))
    + (2 * rho + ex4 * ((kS + 32 * eta) * Sx (s c) + (kA + 2 * eta * D) * Aw (s c))))))).
  by apply: rsum_le => c _; apply: Rmult_le_compat_l => //; exact: one_ctx.
rewrite (rsum_eqr (G := fun c => nu c * Ei nu n (fun sq => Phi1 eta pi c (Hs G sq c)) + (nu c * (2 * rho)
  + (kS' * (nu c * Sx (s c)) + kA' * (nu c * Aw (s c)))))); last by move=> c _; rewrite /kS' /kA'; ring.
rewrite !rsum_split -!rsum_mull -rsum_mulr n1.
have D0 : 0 <= D.
  have : 0 <= 4 * beta ^ 2 / gamma; last by rewrite /D; lra.
  by apply: Rmult_le_pos; [have := pow2_ge_0 beta; lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
have k0 : 0 <= kap := proj1 kappa8.
have p1 : 0 <= kS' by apply: Rmult_le_pos; [lra | rewrite /kS; nra].
have p2 : 0 <= kA' by apply: Rmult_le_pos; [lra | have := Rmult_le_pos _ _ (Rlt_le _ _ eta0) D0; rewrite /kA; nra].
have h1 := Rmult_le_compat_l _ _ _ p1 S_mean; have h2 := Rmult_le_compat_l _ _ _ p2 A_mean.
have -> : Bp = 2 * rho + (kS' * (Gs / (1 - rho)) + kA' * (2 / (1 - rho))) by rewrite /Bp /kS' /kA'; field; lra.
lra.
Qed.
End OneStep.
