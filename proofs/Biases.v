(** Biases 2 to 5 of one pair in one context (Lemmas 11 to 15).

    [E0] is the expectation over the frequency block, which determines the random denominators and
    so [phi] and the actual distribution [p]. The ideal distribution [pt] does not depend on it.
    [lam] is the sum of the pair's two losses, [w] the observation probability, [u = w + gamma]. *)
From Crossbandit Require Import FiniteSums Stability.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Biases.
Variables (D : Type) (E0 : (D -> R) -> R).
Hypothesis E_add : forall f g, E0 (fun d => f d + g d) = E0 f + E0 g.
Hypothesis E_scale : forall a f, E0 (fun d => a * f d) = a * E0 f.
Hypothesis E_le : forall f g, (forall d, f d <= g d) -> E0 f <= E0 g.
Hypothesis E_const : forall a, E0 (fun=> a) = a.
Hypothesis E_ext : forall f g, (forall d, f d = g d) -> E0 f = E0 g.

Variables (A : finType) (j : option A) (pi : A).
Variables (p phi : D -> A -> R) (pt lam w : A -> R) (gamma beta kappa : R).
Let u a := w a + gamma.
Let b a := if j == Some a then beta else 0.
(** The mean of the ideal input. *)
Let g a := (w a * lam a + b a) / u a.
Let reg a := j != Some a.
(** The comparator, as a distribution. *)
Definition one (a : A) : R := if pi == a then 1 else 0.
Hypothesis gamma0 : 0 < gamma.
Hypothesis beta4 : 4 * gamma <= beta.
Hypothesis k0 : 0 <= kappa.
Hypothesis w0 : forall a, 0 <= w a.
Hypothesis lam02 : forall a, 0 <= lam a <= 2.
Hypothesis dp : forall d, dist (p d).
Hypothesis dpt : dist pt.
Hypothesis first : forall a, 0 <= E0 (fun d => phi d a) <= gamma / (2 * u a).
Hypothesis second : forall a, E0 (fun d => phi d a ^ 2) <= gamma / u a.
Hypothesis joint_reg : forall d, \rsum_(a | reg a) (Rabs (p d a - pt a) * Rabs (phi d a)) <=
  4 / 3 * kappa * (3 * Qreg pt (phi d) j + Qaway pt (phi d) j).
Hypothesis joint_special : forall d i, j = Some i -> Rabs (p d i - pt i) * Rabs (phi d i) <=
  4 / 3 * kappa * (Qreg pt (phi d) j / 2 + 3 / 2 * Qaway pt (phi d) j).
Hypothesis crude : forall d i, j = Some i -> Rabs (p d i - pt i) <= 8 / 3 * kappa * (1 - pt i).

(** The linear part of the pair's regret: [p - pi] against loss minus mean input. *)
Definition lin d := \rsum_a ((p d a - one a) * (lam a - (1 - phi d a) * g a)).
(** The regular arms' sum, and the mass away from the special arm, over their denominators. *)
Definition regular (x : A -> R) := \rsum_(a | reg a) (x a / u a).
Definition away (x : A -> R) := if j is Some i then (1 - x i) / u i else 0.
Let Ep a := E0 (fun d => p d a).
Let Ef a := E0 (fun d => phi d a).

(** Population denominators are positive, *)
Lemma u0 a : 0 < u a. Proof. by rewrite /u; have := w0 a; lra. Qed.
(** and so are their inverses. *)
Lemma iu a : 0 < / u a. Proof. by apply: Rinv_0_lt_compat; exact: u0. Qed.

(** The expectation of a sum. *)
Lemma E_sum (P : pred A) (f : D -> A -> R) :
  E0 (fun d => \rsum_(a | P a) f d a) = \rsum_(a | P a) E0 (fun d => f d a).
Proof.
pose h (r : seq A) := E0 (fun d => \big[Rplus/0]_(a <- r | P a) f d a) =
  \big[Rplus/0]_(a <- r | P a) E0 (fun d => f d a).
suff : h (index_enum A) by [].
elim: (index_enum A) => [|a r IH]; rewrite /h.
  by rewrite big_nil (E_ext (g := fun=> 0)) ?E_const // => d; rewrite big_nil.
rewrite big_cons; case: ifP => Pa.
  by rewrite -[in RHS]IH -E_add; apply: E_ext => d; rewrite big_cons Pa.
by rewrite -IH; apply: E_ext => d; rewrite big_cons Pa.
Qed.

(** The mean probability of an arm lies between 0 *)
Lemma Ep0 a : 0 <= Ep a.
Proof. by rewrite -(E_const 0); apply: E_le => d; exact: (proj1 (dp d)). Qed.
(** and 1. *)
Lemma Ep1 a : Ep a <= 1.
Proof.
rewrite -[1](E_const 1); apply: E_le => d; rewrite -(proj2 (dp d)).
by apply: (rsum_ge1 (P := xpredT)) => // i _; exact: (proj1 (dp d)).
Qed.
(** An indicator is 0 or 1. *)
Lemma one01 a : 0 <= one a <= 1. Proof. by rewrite /one; case: ifP => _; lra. Qed.

(** The mean input of a regular arm is at most 2, that of the special arm at most beta / gamma. *)
Lemma g_reg a : reg a -> 0 <= g a <= 2.
Proof.
rewrite /reg /g /b => /negbTE ->; have ia := iu a; have [l0 l2] := lam02 a; have wa := w0 a.
have n0 : 0 <= w a * lam a + 0 <= 2 * u a by rewrite /u; nra.
split; first by apply: Rmult_le_pos; lra.
apply: (Rle_trans _ (2 * u a * / u a)); first by apply: Rmult_le_compat_r; lra.
by apply: Req_le; field; have := u0 a; lra.
Qed.

(** That of the special arm lies between 0 and beta / gamma. *)
Lemma g_special i : j = Some i -> 0 <= g i <= beta / gamma.
Proof.
move=> ji; rewrite /g /b ji eqxx; have ii := iu i; have [l0 l2] := lam02 i; have wi := w0 i.
split; first by apply: Rmult_le_pos; [nra | lra].
have -> : beta / gamma = (beta / gamma * u i) / u i by field; have := u0 i; lra.
apply: Rmult_le_compat_r; first by lra.
have b4 : 4 <= beta / gamma by apply: (Rmult_le_reg_r gamma) => //;
  rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have -> : beta / gamma * u i = beta / gamma * w i + beta by rewrite /u; field; lra.
by nra.
Qed.

(** The drift of the loss minus its mean input. *)
Lemma drift a : lam a - g a = (gamma * lam a - b a) / u a.
Proof. by rewrite /g; have := u0 a; rewrite /u => ua; field; lra. Qed.

(** Lemma 11: the population drift of the regular arms. *)
Lemma lemma11_bias2_regular : \rsum_(a | reg a) ((Ep a - one a) * (lam a - g a)) <=
  2 * gamma * regular Ep.
Proof.
rewrite /regular rsum_mull; apply: rsum_le => a ra; rewrite drift.
have -> : b a = 0 by rewrite /b; move: ra; rewrite /reg => /negbTE ->.
have ia := iu a; have [l0 l2] := lam02 a; have [o0 _] := one01 a; have e0 := Ep0 a.
have x0 : 0 <= (gamma * lam a - 0) / u a by apply: Rmult_le_pos; [nra | lra].
have x2 : (gamma * lam a - 0) / u a <= 2 * gamma / u a by apply: Rmult_le_compat_r; [lra | nra].
by have := Rmult_le_compat_l _ _ _ e0 x2; rewrite /Rdiv; nra.
Qed.

(** Lemma 12: the empirical denominators of the regular arms, on the ideal trajectory. *)
Lemma lemma12_bias3_regular : \rsum_(a | reg a) ((pt a - one a) * g a * Ef a) <= gamma * regular pt.
Proof.
rewrite /regular rsum_mull; apply: rsum_le => a ra.
have [g0 g2] := g_reg ra; have [f0 f1] := first a; have [o0 _] := one01 a; have pa := proj1 dpt a;
  have ia := iu a.
rewrite -/(Ef a) in f0 f1.
have gf0 : 0 <= g a * Ef a by apply: Rmult_le_pos.
have gf1 : g a * Ef a <= gamma * / u a.
  have -> : gamma * / u a = 2 * (gamma / (2 * u a)) by field; have := u0 a; lra.
  by apply: Rmult_le_compat.
by have := Rmult_le_compat_l _ _ _ pa gf1; rewrite /Rdiv; nra.
Qed.

(** Equation 5, summed over the arms. *)
Lemma E_Qreg : E0 (fun d => Qreg pt (phi d) j) <= gamma * regular pt.
Proof.
rewrite /Qreg E_sum /regular rsum_mull; apply: rsum_le => a _; rewrite E_scale.
by have := Rmult_le_compat_l _ _ _ (proj1 dpt a) (second a); rewrite /Rdiv; lra.
Qed.

(** The mass away from the special arm. *)
Lemma away_mass i (x : A -> R) : dist x -> j = Some i -> 1 - x i = \rsum_(a | reg a) x a.
Proof.
move=> [_ x1] ji; rewrite -x1 (rsum_D1 (P := xpredT) x (i0 := i)) //=.
rewrite (rsum_eql (P := fun a => a != i) (Q := reg)); first by ring.
by move=> a; rewrite /reg ji eq_sym.
Qed.

(** The mean of [Qaway] is at most gamma times the mass away from the special arm over its
    denominator. *)
Lemma E_Qaway : E0 (fun d => Qaway pt (phi d) j) <= gamma * away pt.
Proof.
rewrite /Qaway /away; case ji: j => [i|]; last first.
  by rewrite (E_ext (g := fun=> 0)) ?E_const; [lra | move=> d; ring].
rewrite E_scale -ji -(away_mass dpt ji) (E_ext (g := fun d => phi d i ^ 2)); last by move=> d;
  rewrite pow2_abs.
have pi1 : 0 <= 1 - pt i by rewrite (away_mass dpt ji); apply: rsum_ge0 => a _; exact: (proj1 dpt).
by have := Rmult_le_compat_l _ _ _ pi1 (second i); rewrite /Rdiv; lra.
Qed.

(** Lemma 13, corrected: the regular arms also pay for the special arm's denominator, through the
    mass away from it. *)
Lemma lemma13_bias4_regular :
  E0 (fun d => \rsum_(a | reg a) ((p d a - pt a) * phi d a * g a)) <=
  kappa * gamma * (8 * regular pt + 8 / 3 * away pt).
Proof.
apply: (Rle_trans _ (E0 (fun d => 8 / 3 * kappa * (3 * Qreg pt (phi d) j + Qaway pt (phi d) j)))).
  apply: E_le => d; have := joint_reg d => h.
  apply: (Rle_trans _ (2 * \rsum_(a | reg a) (Rabs (p d a - pt a) * Rabs (phi d a)))); last by lra.
  rewrite rsum_mull; apply: rsum_le => a /g_reg [g0 g2]; rewrite -Rabs_mult.
  by have := Rle_abs ((p d a - pt a) * phi d a); have := Rabs_pos ((p d a - pt a) * phi d a); nra.
rewrite E_scale E_add E_scale; have := E_Qreg; have := E_Qaway => h1 h2.
have : 8 / 3 * kappa * (3 * E0 (fun d => Qreg pt (phi d) j) + E0 (fun d => Qaway pt (phi d) j)) <=
  8 / 3 * kappa * (3 * (gamma * regular pt) + gamma * away pt); last by lra.
by apply: Rmult_le_compat_l; lra.
Qed.

(** Lemma 14: the same for the special arm. *)
Lemma lemma14_bias4_special i : j = Some i ->
  E0 (fun d => (p d i - pt i) * phi d i * g i) <= kappa * beta * (2 / 3 * regular pt + 2 * away pt).
Proof.
move=> ji; have [g0 g1] := g_special ji.
apply: (Rle_trans _ (E0 (fun d => beta / gamma * (4 / 3 * kappa) * (/ 2 * Qreg pt (phi d) j + 3 / 2
  * Qaway pt (phi d) j)))).
  apply: E_le => d; have h := joint_special d ji.
  apply: (Rle_trans _ (beta / gamma * (Rabs (p d i - pt i) * Rabs (phi d i)))).
    rewrite -Rabs_mult.
    by have := Rle_abs ((p d i - pt i) * phi d i); have := Rabs_pos ((p d i - pt i) * phi d i); nra.
  by have := Rmult_le_compat_l (beta / gamma) _ _ (Rle_trans _ _ _ g0 g1) h; lra.
rewrite E_scale E_add (E_scale (/ 2)) (E_scale (3 / 2)); have := E_Qreg; have := E_Qaway => h1 h2.
have bk : 0 <= beta / gamma * (4 / 3 * kappa) by apply: Rmult_le_pos; lra.
apply: (Rle_trans _ (beta / gamma * (4 / 3 * kappa) * (/ 2 * (gamma * regular pt) + 3 / 2 *
  (gamma * away pt)))).
  by apply: Rmult_le_compat_l; lra.
by apply: Req_le; field; lra.
Qed.

(** Lemma 15, pointwise in the context: for beta >= 4 gamma the bias that is fed to the special arm
    cancels the drift of its loss and of its denominator. *)
Lemma lemma15_cancellation i : j = Some i ->
  (Ep i - one i) * (lam i - g i) + (pt i - one i) * g i * Ef i <=
  beta * away Ep + 4 / 3 * kappa * beta * away pt.
Proof.
move=> ji; rewrite /away ji; have ui := u0 i; have ii := iu i; have [l0 l2] := lam02 i;
  have wi := w0 i.
have [g0 g1] := g_special ji; have [f0 f1] := first i; rewrite -/(Ef i) in f0 f1.
have [t0 t1] := dpt; have pi1 : pt i <= 1 by rewrite -t1; apply: (rsum_ge1 (P := xpredT)).
have bi : b i = beta by rewrite /b ji eqxx.
have gf0 : 0 <= g i * Ef i by apply: Rmult_le_pos.
have gf1 : g i * Ef i <= beta / 2 * / u i.
  have -> : beta / 2 * / u i = beta / gamma * (gamma / (2 * u i)) by field; lra.
  by apply: Rmult_le_compat.
have moved : pt i - Ep i <= 8 / 3 * kappa * (1 - pt i).
  have : pt i - 8 / 3 * kappa * (1 - pt i) <= Ep i; last by lra.
  rewrite -(E_const (_ - _)); apply: E_le => d; have := crude d ji;
    have := Rle_abs (- (p d i - pt i)).
  by rewrite Rabs_Ropp; lra.
pose k := (gamma * lam i - beta) * / u i + g i * Ef i.
have k_le : k <= 0.
  have gf2 : g i * Ef i <= (w i * lam i + beta) * / u i * (gamma / (2 * u i)).
    by rewrite {1}/g bi; apply: Rmult_le_compat_l => //; apply: Rmult_le_pos; [nra | lra].
  have e : (gamma * lam i - beta) * / u i + (w i * lam i + beta) * / u i * (gamma / (2 * u i))
    = (2 * u i * (gamma * lam i - beta) + (w i * lam i + beta) * gamma) * (/ (2 * u i) * / u i)
      by field; lra.
  have s0 : 2 * u i * (gamma * lam i - beta) + (w i * lam i + beta) * gamma <= 0.
    rewrite /u; have gl : gamma * lam i <= 2 * gamma by nra.
    have wg : 0 <= w i * gamma by apply: Rmult_le_pos; lra.
    have wgl : w i * gamma * lam i <= w i * gamma * 2 by apply: Rmult_le_compat_l.
    have ggl : gamma * (gamma * lam i) <= gamma * (2 * gamma) by apply: Rmult_le_compat_l; lra.
    have wb : w i * (4 * gamma) <= w i * beta by apply: Rmult_le_compat_l.
    have gb : gamma * (4 * gamma) <= gamma * beta by apply: Rmult_le_compat_l; lra.
    by lra.
  have i2 : 0 < / (2 * u i) * / u i by apply: Rmult_lt_0_compat => //; apply: Rinv_0_lt_compat; lra.
  by rewrite /k; nra.
have k_ge : - (beta * / u i) <= k.
  have : 0 <= gamma * lam i * / u i by apply: Rmult_le_pos; [nra | lra].
  by rewrite /k; lra.
have -> : (Ep i - one i) * (lam i - g i) + (pt i - one i) * g i * Ef i
  = (Ep i - one i) * k + (pt i - Ep i) * (g i * Ef i) by rewrite drift bi /k /Rdiv; ring.
apply: Rplus_le_compat.
  have e0 := Ep0 i; have e1 := Ep1 i.
  have -> : beta * ((1 - Ep i) / u i) = (1 - Ep i) * (beta * / u i) by rewrite /Rdiv; ring.
  by rewrite /one; case: ifP => _; nra.
have x0 : 0 <= 8 / 3 * kappa * (1 - pt i) by apply: Rmult_le_pos; lra.
have -> : 4 / 3 * kappa * beta * ((1 - pt i) / u i) = 8 / 3 * kappa * (1 - pt i)
  * (beta / 2 * / u i) by field; lra.
apply: (Rle_trans _ (8 / 3 * kappa * (1 - pt i) * (g i * Ef i))); first exact: Rmult_le_compat_r.
exact: Rmult_le_compat_l.
Qed.

(** All of them together. *)
Theorem biases : E0 lin <=
  2 * gamma * regular Ep + (gamma + (8 * gamma + 2 / 3 * beta) * kappa) * regular pt
  + beta * away Ep + (8 / 3 * gamma + 10 / 3 * beta) * kappa * away pt.
Proof.
pose S P := \rsum_(a | P a) ((Ep a - one a) * (lam a - g a) + (pt a - one a) * g a * Ef a)
  + E0 (fun d => \rsum_(a | P a) ((p d a - pt a) * phi d a * g a)).
have linE : E0 lin = S xpredT.
  rewrite /S rsum_split.
  rewrite (E_ext (g := fun d => \rsum_a ((p d a - one a) * (lam a - g a)) + \rsum_a ((pt a - one a)
    * g a * phi d a)
     + \rsum_a ((p d a - pt a) * phi d a * g a))); last first.
    by move=> d; rewrite /lin -!rsum_split; apply: rsum_eqr => a _; ring.
  rewrite !E_add !E_sum; congr (_ + _ + _); apply: rsum_eqr => a _; last by rewrite E_scale.
  rewrite (E_ext (g := fun d => (lam a - g a) * p d a + - one a * (lam a - g a))); last by move=> d;
    ring.
  by rewrite E_add E_scale E_const -/(Ep a); ring.
have regS : S reg <= 2 * gamma * regular Ep + gamma * regular pt + kappa * gamma
  * (8 * regular pt + 8 / 3 * away pt).
  rewrite /S rsum_split; have := lemma11_bias2_regular; have := lemma12_bias3_regular;
    have := lemma13_bias4_regular; lra.
have r0 : 0 <= regular pt.
  by apply: rsum_ge0 => a _; apply: Rmult_le_pos; [exact: (proj1 dpt) | exact: Rlt_le (iu a)].
have kb : 0 <= beta * kappa by apply: Rmult_le_pos; lra.
case ji: j => [i|]; last first.
  have -> : E0 lin = S reg.
    rewrite linE /S; congr Rplus; first by apply: rsum_eql => a; rewrite /reg ji.
    by apply: E_ext => d; apply: rsum_eql => a; rewrite /reg ji.
  by move: regS; rewrite /away ji; have := Rmult_le_pos _ _ kb r0; lra.
have -> : E0 lin = S reg + (((Ep i - one i) * (lam i - g i) + (pt i - one i) * g i * Ef i)
   + E0 (fun d => (p d i - pt i) * phi d i * g i)).
  have out (f : A -> R) : \rsum_a f a = f i + \rsum_(a | reg a) f a.
    rewrite (rsum_D1 (P := xpredT) f (i0 := i)) //; congr Rplus.
    by apply: rsum_eql => a /=; rewrite /reg ji eq_sym.
  rewrite linE /S out (E_ext (g := fun d => (p d i - pt i) * phi d i * g i
     + \rsum_(a | reg a) ((p d a - pt a) * phi d a * g a))); last by move=> d; rewrite out.
  by rewrite E_add; ring.
by have := lemma14_bias4_special ji; have := lemma15_cancellation ji; lra.
Qed.
End Biases.
