(** Appendix K: one shifted FTRL step on the retained feedback of one pair, in one context.

    [th] scales the ideal input [y_ideal] to the actual one. The shift is the input of the special
    arm. *)
From Crossbandit Require Import FiniteSums Exponential Ftrl Programs KnownLaw Concentration Biases
  Retention PairReduction Epochs Snapshots.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section LocalNorms.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis rho1 : 0 < rho < 1.
Hypothesis beta4 : 4 * gamma <= beta.
Hypothesis eta_shift : eta * (2 * ((2 + beta) / gamma)) <= 3.
Variables (F0 : table C A) (j : option A).
Local Notation w := (w nu G eta rho F0).
Local Notation u := (u nu G eta gamma rho F0).
Local Notation pair_law := (pair_law nu eta rho F0).
Local Notation y_ideal := (y_ideal nu G loss eta gamma rho beta F0 j).
Local Notation regular_sum := (regular_sum nu G eta gamma rho F0 j).
Local Notation away_sum := (away_sum nu G eta gamma rho F0 j).
Let u0 a : 0 < u a. Proof. exact: u_gt0. Qed.
Let w0 a : 0 <= w a. Proof. exact: w_ge0. Qed.

(** The mean of what is retained. *)
Lemma obs_mean a (f : bool -> R) :
  \rsum_l (pair_law l * (if kept l && G (arm l) a then f (side l) else 0)) =
    w a * ((f true + f false) / 2).
Proof.
rewrite pair_law_sum /Epochs.w /mu /ip rsum_mulr; apply: rsum_eqr => c _.
rewrite Rmult_assoc; congr Rmult; rewrite /g rsum_mull rsum_mulr (rsum_mkcondr xpredT (fun v =>
  G v a)).
apply: rsum_eqr => v _; rewrite /kept /arm /side /=.
by case: (G v a); field.
Qed.

(** The draws of a pair have a law. *)
Lemma pair_law1 : \rsum_l pair_law l = 1.
Proof. by have [_] := pair_law_dist a0 eta dnu rho1 F0. Qed.
(** Probabilities of pairs are not negative. *)
Lemma pair_law_ge0 l : 0 <= pair_law l.
Proof. by have [h _] := pair_law_dist a0 eta dnu rho1 F0; exact: h. Qed.

Section Ctx.
Variables (t : nat) (c : C).
(** The losses of the two rounds of the pair, added. *)
Definition lam a := loss t c a + loss t.+1 c a.
Let b a := if j == Some a then beta else 0.
(** The mean of the ideal input. *)
Definition gm a := (w a * lam a + b a) / u a.

(** The mean of the ideal input. *)
Lemma y_ideal_mean a : \rsum_l (pair_law l * y_ideal t l c a) = gm a.
Proof.
rewrite (rsum_eqr (G := fun l => / u a * (pair_law l * (if kept l && G (arm l) a
   then (fun sd => 2 * loss (if sd then t.+1 else t) c a) (side l) else 0)) + pair_law l * (b a / u
     a))); last first.
  by move=> l _; rewrite /Epochs.y_ideal /round_of -/(b a) /Rdiv; ring.
rewrite rsum_split -rsum_mull (obs_mean a (fun sd => 2 * loss (if sd then t.+1 else t) c a))
  -rsum_mulr pair_law1 /gm /lam /=.
by have := u0 a => h; field; lra.
Qed.

Section Theta.
Variables (th : A -> R) (p : A -> R).
Hypothesis th2 : forall a, 0 <= th a <= 2.
Hypothesis dp : dist p.
Let y l a := th a * y_ideal t l c a.
Let z l := if j is Some b then y l b else 0.

(** The correction lies between 0 and beta, *)
Lemma b_bd a : 0 <= b a <= beta.
Proof. by rewrite /b; case: ifP => _; lra. Qed.

(** Inputs and shifts are in range. *)
Lemma y_ideal_bd l a : 0 <= y_ideal t l c a <= (2 + beta) / gamma.
Proof.
have ua := u0 a; have iu := Rinv_0_lt_compat _ ua; have ba := b_bd a.
have iug : / u a <= / gamma by apply: Rinv_le_contravar => //; rewrite /Epochs.u; have := w0 a; lra.
rewrite /Epochs.y_ideal -/(b a) /Rdiv; have := loss01 (round_of l t) c a.
set x := (if _ then _ else 0) + b a => lb.
have x0 : 0 <= x <= 2 + beta by rewrite /x; case: ifP => _; lra.
split; first by apply: Rmult_le_pos; lra.
by apply: Rmult_le_compat; lra.
Qed.

(** inputs are bounded, *)
Lemma y_bd l a : 0 <= y l a <= 2 * ((2 + beta) / gamma).
Proof. by rewrite /y; have := th2 a; have := y_ideal_bd l a; nra. Qed.
(** and so are their shifts. *)
Lemma z_bd l : 0 <= z l <= 2 * ((2 + beta) / gamma).
Proof. by rewrite /z; case: j => [b'|]; [exact: y_bd | have := y_bd l a0; lra]. Qed.

(** The local norm after the shift: the special arm drops out. *)
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

(** The cost of the shift. *)
Definition D := 16 * (1 + beta) + 4 * beta ^ 2 / gamma.

(** The local norm in expectation: the special arm contributes nothing, the others pay for the shift
    through the mass away from it. *)
Lemma quad_mean : \rsum_l (pair_law l * ip p (fun a => (y l a - z l) ^ 2)) <= 16 * regular_sum p + D
  * away_sum p.
Proof.
have [p0 p1] := dp.
apply: (Rle_trans _ (\rsum_l (pair_law l * (\rsum_(a | j != Some a) (p a * y l a ^ 2)
   + (if j is Some b then (1 - p b) * z l ^ 2 else 0))))).
  by apply: rsum_le => l _; apply: Rmult_le_compat_l; [exact: pair_law_ge0 | exact: quad].
rewrite (eq_bigr (fun l => (\rsum_(a | j != Some a) (p a * (pair_law l * y l a ^ 2)))
   + (if j is Some b then (1 - p b) * (pair_law l * z l ^ 2) else 0))); last first.
  move=> l _; rewrite Rmult_plus_distr_l rsum_mull; congr Rplus.
    by apply: eq_bigr => a _; ring.
  by case: j => [b'|]; ring.
rewrite rsum_split rsum_exchange; apply: Rplus_le_compat.
  rewrite /Snapshots.regular_sum /regular rsum_mull; apply: rsum_le => a ja;
    rewrite -rsum_mull -/(u a).
  have ua := u0 a; have iu := Rinv_0_lt_compat _ ua; have wa := w0 a.
  have -> : 16 * (p a / u a) = p a * (16 * / u a) by rewrite /Rdiv; ring.
  apply: Rmult_le_compat_l; first exact: p0.
  apply: (Rle_trans _ (\rsum_l (pair_law l * (if kept l && G (arm l) a then (fun=> 16 * (/ u a) ^ 2)
    (side l) else 0)))).
    apply: rsum_le => l _; apply: Rmult_le_compat_l; first exact: pair_law_ge0.
    rewrite /y /Epochs.y_ideal (negbTE ja) Rplus_0_r /Rdiv.
    have [t0 t2] := th2 a; have [l0 l1] := loss01 (round_of l t) c a.
    case: ifP => _; last by apply: Req_le; ring.
    have -> : (th a * (2 * loss (round_of l t) c a * / u a)) ^ 2 =
      (th a * (2 * loss (round_of l t) c a)) ^ 2 * (/ u a) ^ 2 by ring.
    apply: Rmult_le_compat_r; first exact: pow2_ge_0.
    have x4 : 0 <= th a * (2 * loss (round_of l t) c a) <= 4 by split; [apply: Rmult_le_pos;
      lra | nra].
    by nra.
  rewrite (obs_mean a (fun=> 16 * (/ u a) ^ 2)).
  have -> : 16 * / u a = u a * (16 * (/ u a) ^ 2) by field; lra.
  have -> : (16 * (/ u a) ^ 2 + 16 * (/ u a) ^ 2) / 2 = 16 * (/ u a) ^ 2 by field; lra.
  apply: Rmult_le_compat_r; last by rewrite /Epochs.u; lra.
  by have := pow2_ge_0 (/ u a); lra.
rewrite /Snapshots.away_sum /away /z; case jE: j => [b'|]; last by rewrite rsum_const; lra.
have ua := u0 b'; have iu := Rinv_0_lt_compat _ ua; have wa := w0 b'.
have pj1 : p b' <= 1 by rewrite -p1; apply: (rsum_ge1 (P := xpredT)).
rewrite -rsum_mull -/(u b').
have -> : D * ((1 - p b') / u b') = (1 - p b') * (D * / u b') by rewrite /Rdiv; ring.
apply: Rmult_le_compat_l; first by lra.
apply: (Rle_trans _ (\rsum_l (pair_law l * (if kept l && G (arm l) b' then (fun=>
  4 * (4 + 4 * beta) * (/ u b') ^ 2) (side l) else 0)
    + pair_law l * (4 * beta ^ 2 * (/ u b') ^ 2)))).
  apply: rsum_le => l _; rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l;
    first exact: pair_law_ge0.
  rewrite /y /Epochs.y_ideal jE eqxx /Rdiv.
  have [t0 t2] := th2 b'; have [l0 l1] := loss01 (round_of l t) c b'; have q0 := pow2_ge_0 (/ u b').
  set x := (if _ then _ else 0) + beta.
  have -> : (th b' * (x * / u b')) ^ 2 = (th b' * x) ^ 2 * (/ u b') ^ 2 by ring.
  set v := (if _ then _ else 0); rewrite /x /v; case: ifP => _.
    rewrite -Rmult_plus_distr_r; apply: Rmult_le_compat_r => //.
    have x4 : 0 <= th b' * (2 * loss (round_of l t) c b' + beta) <= 2 * (2 + beta) by split;
      [apply: Rmult_le_pos; lra | nra].
    by nra.
  rewrite !Rplus_0_l; apply: Rmult_le_compat_r => //.
  have x4 : 0 <= th b' * beta <= 2 * beta by split; [apply: Rmult_le_pos; lra | nra].
  by nra.
rewrite rsum_split (obs_mean b' (fun=> 4 * (4 + 4 * beta) * (/ u b') ^ 2)) -rsum_mulr pair_law1.
have -> : D * / u b' = (D * u b') * (/ u b') ^ 2 by field; lra.
have -> : w b' * ((4 * (4 + 4 * beta) * (/ u b') ^ 2 + 4 * (4 + 4 * beta) * (/ u b') ^ 2) / 2)
   + 1 * (4 * beta ^ 2 * (/ u b') ^ 2) = (4 * (4 + 4 * beta) * w b' + 4 * beta ^ 2) * (/ u b') ^ 2
     by field; lra.
apply: Rmult_le_compat_r; first exact: pow2_ge_0.
have q0 : 0 <= 4 * beta ^ 2 / gamma * w b'.
  apply: Rmult_le_pos => //; apply: Rmult_le_pos; [have := pow2_ge_0 beta;
    lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
have -> : D * u b' = 16 * (1 + beta) * w b' + 16 * (1 + beta) * gamma + (4 * beta ^ 2 / gamma * w b'
  + 4 * beta ^ 2).
  by rewrite /D /Epochs.u; field; lra.
by nra.
Qed.
End Theta.
Section Step.
Variables (th : A -> R) (Hc : A -> R).
Hypothesis th2 : forall a, 0 <= th a <= 2.
Let p := softmax eta Hc.
Let y l a := th a * y_ideal t l c a.
Let z l := if j is Some b then y l b else 0.

(** The shift satisfies the condition of Lemma 16. *)
Lemma eta_z l a : -3 <= eta * (y l a - z l).
Proof.
have [y0 _] := y_bd th2 l a; have [z0 z1] := z_bd th2 l; rewrite -/(y l a) in y0;
  rewrite -/(z l) in z0 z1.
suff : eta * z l <= 3 by have := Rmult_le_pos _ _ (Rlt_le _ _ eta0) y0; lra.
by apply: Rle_trans eta_shift; apply: Rmult_le_compat_l; lra.
Qed.

(** The comparator picks its arm. *)
Lemma one_sum (x : A -> R) b' : \rsum_a (one b' a * x a) = x b'.
Proof.
rewrite (rsum_D1 (P := xpredT) _ (i0 := b')) // (rsum_eqr (G := fun=> 0)).
  by rewrite rsum_const /one eqxx; ring.
by move=> a /andP[_ ab]; rewrite /one eq_sym (negbTE ab); ring.
Qed.

(** The potential falls by the linear part, up to the local norm: Lemma 16 for one pair. *)
Lemma ftrl_step : \rsum_l (pair_law l * Phi1 eta pi c (fun a => Hc a + y l a)) <=
  Phi1 eta pi c Hc - \rsum_a ((p a - one (pi c) a) * (th a * gm a)) + 2 * eta
    * (16 * regular_sum p + D * away_sum p).
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
apply: (Rle_trans _ (\rsum_l (pair_law l * (Phi1 eta pi c Hc - ip p (y l) + y l (pi c)
     + 2 * eta * ip p (fun a => (y l a - z l) ^ 2))))).
  by apply: rsum_le => l _; apply: Rmult_le_compat_l; [exact: pair_law_ge0 | exact: h1].
rewrite (eq_bigr (fun l => pair_law l * Phi1 eta pi c Hc - pair_law l * ip p (y l) + pair_law l * y
  l (pi c)
     + 2 * eta * (pair_law l * ip p (fun a => (y l a - z l) ^ 2)))); last by move=> l _; ring.
rewrite !rsum_split rsum_opp -rsum_mulr pair_law1 -rsum_mull.
have hq := quad_mean th2 (softmax_dist a0 eta Hc); rewrite -/p in hq.
have ym a : \rsum_l (pair_law l * y l a) = th a * gm a.
  by rewrite -y_ideal_mean rsum_mull; apply: rsum_eqr => l _; rewrite /y; ring.
have -> : \rsum_l (pair_law l * ip p (y l)) = \rsum_a (p a * (th a * gm a)).
  rewrite /ip (eq_bigr (fun l => \rsum_a (p a * (pair_law l * y l a)))); last first.
    by move=> l _; rewrite rsum_mull; apply: eq_bigr => a _; ring.
  by rewrite rsum_exchange; apply: eq_bigr => a _; rewrite -rsum_mull ym.
rewrite ym.
have -> : \rsum_a ((p a - one (pi c) a) * (th a * gm a))
   = \rsum_a (p a * (th a * gm a)) - th (pi c) * gm (pi c).
  rewrite -(one_sum (fun a => th a * gm a)) -rsum_sub; apply: rsum_eqr => a _; ring.
set Q := \rsum_l _ in hq *.
have : 2 * eta * Q <= 2 * eta * (16 * regular_sum p + D * away_sum p) by apply: Rmult_le_compat_l;
  [lra | exact: hq].
lra.
Qed.
End Step.
End Ctx.
End LocalNorms.
