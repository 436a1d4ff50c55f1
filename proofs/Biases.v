(* The linear part of one pair in one context: biases 2 to 5 together, with the special arm's drift
   cancelled pointwise in the context. E0 is the expectation over the frequency block. *)
From Crossbandit Require Import FiniteSums Ftrl.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Core.
Variables (D : Type) (E0 : (D -> R) -> R).
Hypothesis E_add : forall f g, E0 (fun d => f d + g d) = E0 f + E0 g.
Hypothesis E_scale : forall a f, E0 (fun d => a * f d) = a * E0 f.
Hypothesis E_le : forall f g, (forall d, f d <= g d) -> E0 f <= E0 g.
Hypothesis E_const : forall a, E0 (fun=> a) = a.
Hypothesis E_ext : forall f g, (forall d, f d = g d) -> E0 f = E0 g.

Variables (A : finType) (j : option A) (pi : A).
Variables (p phi : D -> A -> R) (pt lam w : A -> R) (gamma beta kappa v : R).
Let u a := w a + gamma.
Let b a := if j == Some a then beta else 0.
Let g a := (w a * lam a + b a) / u a.
Let reg a := j != Some a.
Definition one (a : A) : R := if pi == a then 1 else 0.
Hypothesis gamma0 : 0 < gamma.
Hypothesis beta6 : 6 * gamma <= beta.
Hypothesis k0 : 0 <= kappa.
Hypothesis w0 : forall a, 0 <= w a.
Hypothesis lam02 : forall a, 0 <= lam a <= 2.
Hypothesis dp : forall d, dist (p d).
Hypothesis dpt : dist pt.
Hypothesis first : forall a, 0 <= E0 (fun d => phi d a) <= gamma / (2 * u a).
Hypothesis second : forall a, E0 (fun d => phi d a ^ 2) <= v / u a.
Let F2 d := if j is Some b then phi d b ^ 2 else 0.
Hypothesis joint : forall d, \rsum_a (Rabs (p d a - pt a) * Rabs (phi d a)) <=
  17 * kappa * \rsum_(a | reg a) (pt a * (phi d a ^ 2 + F2 d)).
Hypothesis crude : forall d, if j is Some b then Rabs (p d b - pt b) <= 8 * kappa * (1 - pt b) else True.

Definition lin d := \rsum_a ((p d a - one a) * (lam a - (1 - phi d a) * g a)).
Definition awayp (x : A -> R) := if j is Some b then (1 - x b) / u b else 0.

Lemma u0 a : 0 < u a. Proof. by rewrite /u; have := w0 a; lra. Qed.

Lemma E_sum (P : pred A) (f : D -> A -> R) :
  E0 (fun d => \rsum_(a | P a) f d a) = \rsum_(a | P a) E0 (fun d => f d a).
Proof.
pose h (r : seq A) := E0 (fun d => \big[Rplus/0]_(a <- r | P a) f d a) = \big[Rplus/0]_(a <- r | P a) E0 (fun d => f d a).
suff : h (index_enum A) by [].
elim: (index_enum A) => [|a r IH]; rewrite /h.
  by rewrite big_nil (E_ext (g := fun=> 0)) ?E_const // => d; rewrite big_nil.
rewrite big_cons; case: ifP => Pa.
  rewrite -[in RHS]IH -E_add; apply: E_ext => d; by rewrite big_cons Pa.
by rewrite -IH; apply: E_ext => d; rewrite big_cons Pa.
Qed.

Lemma g_bd a : 0 <= g a <= 2 + beta / gamma.
Proof.
have ua := u0 a; have [l0 l2] := lam02 a; have wa := w0 a; have iu := Rinv_0_lt_compat _ ua.
have b0 : 0 <= b a <= beta by rewrite /b; case: ifP => _; lra.
split; first by apply: Rmult_le_pos; [nra | lra].
have -> : 2 + beta / gamma = (2 * u a + beta / gamma * u a) / u a by field; lra.
apply: Rmult_le_compat_r; first by lra.
have h1 : w a * lam a <= 2 * u a by rewrite /u; nra.
have q0 : 0 <= beta / gamma by apply: Rmult_le_pos; [lra | apply: Rlt_le; exact: Rinv_0_lt_compat].
have h2 : beta = beta / gamma * gamma by field; lra.
have h3 : beta / gamma * gamma <= beta / gamma * u a by apply: Rmult_le_compat_l => //; rewrite /u; lra.
lra.
Qed.

Lemma g_reg a : reg a -> g a <= 2.
Proof.
rewrite /reg /g /b => /negbTE ->; have ua := u0 a; have [l0 l2] := lam02 a; have wa := w0 a.
have -> : 2 = (2 * u a) / u a by field; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; exact: Rinv_0_lt_compat.
by rewrite /u; nra.
Qed.

Theorem core : E0 lin <=
  2 * gamma * \rsum_(a | reg a) (E0 (fun d => p d a) / u a) + gamma * \rsum_(a | reg a) (pt a / u a)
  + beta * awayp (fun a => E0 (fun d => p d a)) + 4 * kappa * (2 * gamma + beta) * awayp pt
  + 17 * kappa * (2 + beta / gamma) * v * (\rsum_(a | reg a) (pt a / u a) + awayp pt).
Proof.
have [t0 t1] := dpt.
pose Ep a := E0 (fun d => p d a); pose Ef a := E0 (fun d => phi d a).
pose Gm := 2 + beta / gamma.
have G0 : 0 <= Gm by rewrite /Gm; have : 0 <= beta / gamma; [apply: Rmult_le_pos; [lra | apply: Rlt_le; exact: Rinv_0_lt_compat] | lra].
have Ep0 a : 0 <= Ep a by rewrite -(E_const 0); apply: E_le => d; exact: (proj1 (dp d)).
have Ep1 a : Ep a <= 1.
  rewrite -[1](E_const 1); apply: E_le => d; rewrite -(proj2 (dp d)).
  by apply: (rsum_ge1 (P := xpredT)) => // i _; exact: (proj1 (dp d)).
pose Q d := \rsum_(a | reg a) (pt a * (phi d a ^ 2 + F2 d)).
(* pathwise: replace p by pt in front of phi *)
have s1 d : lin d <= \rsum_a ((p d a - one a) * (lam a - g a)) + \rsum_a ((pt a - one a) * g a * phi d a)
     + Gm * (17 * kappa) * Q d.
  have -> : lin d = \rsum_a ((p d a - one a) * (lam a - g a)) + \rsum_a ((pt a - one a) * g a * phi d a)
     + \rsum_a ((p d a - pt a) * phi d a * g a).
    by rewrite -!rsum_split; apply: rsum_eqr => a _; ring.
  apply: Rplus_le_compat_l; rewrite Rmult_assoc.
  apply: (Rle_trans _ (Gm * \rsum_a (Rabs (p d a - pt a) * Rabs (phi d a)))).
    rewrite rsum_mull; apply: rsum_le => a _; rewrite -Rabs_mult Rmult_comm.
    have [gg0 gg1] := g_bd a; have := Rle_abs ((p d a - pt a) * phi d a); have := Rabs_pos ((p d a - pt a) * phi d a).
    by rewrite /Gm; nra.
  by apply: Rmult_le_compat_l => //; exact: joint.
have s2 : E0 lin <= \rsum_a ((Ep a - one a) * (lam a - g a)) + \rsum_a ((pt a - one a) * g a * Ef a)
    + Gm * (17 * kappa) * E0 Q.
  apply: Rle_trans (E_le s1) _; rewrite !E_add E_scale !E_sum; apply: Req_le; congr (_ + _ + _).
    apply: rsum_eqr => a _.
    rewrite (E_ext (g := fun d => (lam a - g a) * p d a + - one a * (lam a - g a))); last by move=> d; ring.
    by rewrite E_add E_scale E_const -/(Ep a); ring.
  by apply: rsum_eqr => a _; rewrite E_scale.
have v0 a : 0 <= v / u a by apply: Rle_trans (second a); rewrite -(E_const 0); apply: E_le => d; exact: pow2_ge_0.
have s3 : E0 Q <= v * (\rsum_(a | reg a) (pt a / u a) + awayp pt).
  rewrite /Q E_sum.
  have hF : E0 F2 <= if j is Some b then v / u b else 0.
    by rewrite /F2; case: j => [b'|]; [exact: second | rewrite E_const; lra].
  apply: (Rle_trans _ (\rsum_(a | reg a) (pt a * (v / u a) + pt a * (if j is Some b then v / u b else 0)))).
    apply: rsum_le => a _; rewrite E_scale E_add -Rmult_plus_distr_l; apply: Rmult_le_compat_l => //.
    by have := second a; rewrite -/(F2); lra.
  rewrite rsum_split -rsum_mulr Rmult_plus_distr_l; apply: Req_le; congr Rplus.
    by rewrite rsum_mull; apply: rsum_eqr => a _; rewrite /Rdiv; ring.
  rewrite /awayp /reg; case: j => [b'|]; last by ring.
  have e1 (f : A -> R) : \rsum_(a | xpredT a && (a != b')) f a = \rsum_(a | Some b' != Some a) f a.
    by apply: rsum_eql => a /=; rewrite eq_sym.
  set S := \rsum_(a | Some b' != Some a) pt a.
  have e2 : 1 - pt b' = S by rewrite -t1 (rsum_D1 (P := xpredT) pt (i0 := b')) // e1 -/S; ring.
  by rewrite e2 /Rdiv; ring.
have lg a : lam a - g a = (gamma * lam a - b a) / u a.
  by rewrite /g; have := u0 a => ua; rewrite /u in ua *; field; lra.
have Ef0 a : 0 <= Ef a <= gamma / (2 * u a) by exact: first.
pose cf a := (Ep a - one a) * (lam a - g a) + (pt a - one a) * g a * Ef a.
have s4 : \rsum_a ((Ep a - one a) * (lam a - g a)) + \rsum_a ((pt a - one a) * g a * Ef a) = \rsum_a cf a.
  by rewrite -rsum_split.
have o01 a : 0 <= one a <= 1 by rewrite /one; case: ifP => _; lra.
have creg a : reg a -> cf a <= 2 * gamma * (Ep a / u a) + gamma * (pt a / u a).
  move=> ra; rewrite /cf lg; have br : b a = 0 by rewrite /b; move: ra; rewrite /reg => /negbTE ->.
  rewrite br; have ua := u0 a; have iu := Rinv_0_lt_compat _ ua; have [l0 l2] := lam02 a.
  have [gg0 _] := g_bd a; have gg2 := g_reg ra; have [f0 f1] := Ef0 a; have [o0 o1] := o01 a.
  have h1 : (Ep a - one a) * ((gamma * lam a - 0) / u a) <= 2 * gamma * (Ep a / u a).
    have x0 : 0 <= (gamma * lam a - 0) / u a by apply: Rmult_le_pos; [nra | lra].
    have x2 : (gamma * lam a - 0) / u a <= 2 * gamma / u a by apply: Rmult_le_compat_r; [lra | nra].
    have := Ep0 a => e0.
    have : (Ep a - one a) * ((gamma * lam a - 0) / u a) <= Ep a * ((gamma * lam a - 0) / u a) by nra.
    have : Ep a * ((gamma * lam a - 0) / u a) <= Ep a * (2 * gamma / u a) by apply: Rmult_le_compat_l.
    by rewrite /Rdiv; lra.
  have h2 : (pt a - one a) * g a * Ef a <= gamma * (pt a / u a).
    have gf0 : 0 <= g a * Ef a by apply: Rmult_le_pos.
    have gf1 : g a * Ef a <= 2 * (gamma / (2 * u a)) by apply: Rmult_le_compat.
    have e1 : 2 * (gamma / (2 * u a)) = gamma * / u a by field; lra.
    have pa := t0 a.
    have : (pt a - one a) * (g a * Ef a) <= pt a * (g a * Ef a) by nra.
    have : pt a * (g a * Ef a) <= pt a * (gamma * / u a) by apply: Rmult_le_compat_l => //; lra.
    by rewrite /Rdiv; lra.
  lra.
have s5 : \rsum_(a | reg a) cf a <= 2 * gamma * \rsum_(a | reg a) (Ep a / u a) + gamma * \rsum_(a | reg a) (pt a / u a).
  by rewrite !rsum_mull -rsum_split; apply: rsum_le => a /creg.
have s6 : \rsum_a cf a <= \rsum_(a | reg a) cf a + beta * awayp Ep + 4 * kappa * (2 * gamma + beta) * awayp pt.
  rewrite /awayp; move: crude; case jE: j => [j'|] cr; last first.
    rewrite (rsum_eql (P := xpredT) (Q := reg)); first by lra.
    by move=> a; rewrite /reg jE.
  rewrite (rsum_D1 (P := xpredT) cf (i0 := j')) //.
  have -> : \rsum_(a | xpredT a && (a != j')) cf a = \rsum_(a | reg a) cf a.
    by apply: rsum_eql => a /=; rewrite /reg jE eq_sym.
  suff : cf j' <= beta * ((1 - Ep j') / u j') + 4 * kappa * (2 * gamma + beta) * ((1 - pt j') / u j') by lra.
  have ua := u0 j'; have iu := Rinv_0_lt_compat _ ua; have [l0 l2] := lam02 j'.
  have bj : b j' = beta by rewrite /b jE eqxx.
  have [gg0 gg1] := g_bd j'; have [f0 f1] := Ef0 j'.
  have pj1 : pt j' <= 1 by rewrite -t1; apply: (rsum_ge1 (P := xpredT)).
  have gf0 : 0 <= g j' * Ef j' by apply: Rmult_le_pos.
  have gf1 : g j' * Ef j' <= (gamma + beta / 2) * / u j'.
    have -> : (gamma + beta / 2) * / u j' = (2 + beta / gamma) * (gamma / (2 * u j')) by field; lra.
    by apply: Rmult_le_compat.
  have dj : Rabs (Ep j' - pt j') <= 8 * kappa * (1 - pt j').
    have cr1 d : - (8 * kappa * (1 - pt j')) <= p d j' - pt j' <= 8 * kappa * (1 - pt j').
      have := cr d; have := Rle_abs (p d j' - pt j'); have := Rle_abs (- (p d j' - pt j')).
      by rewrite Rabs_Ropp; lra.
    have up : Ep j' <= pt j' + 8 * kappa * (1 - pt j').
      by rewrite -(E_const (_ + _)); apply: E_le => d; have := cr1 d; lra.
    have lo : pt j' - 8 * kappa * (1 - pt j') <= Ep j'.
      by rewrite -(E_const (_ - _)); apply: E_le => d; have := cr1 d; lra.
    by apply: Rabs_le; lra.
  pose k := (gamma * lam j' - beta) * / u j' + g j' * Ef j'.
  have kk : - (beta * / u j') <= k <= 0.
    have : (gamma * lam j' - beta) * / u j' + (gamma + beta / 2) * / u j' <= 0.
      have -> : (gamma * lam j' - beta) * / u j' + (gamma + beta / 2) * / u j'
         = (gamma * lam j' + gamma - beta / 2) * / u j' by field; lra.
      have : gamma * lam j' + gamma - beta / 2 <= 0 by nra.
      by nra.
    have gl : 0 <= gamma * lam j' * / u j' by apply: Rmult_le_pos; [nra | lra].
    have : - (beta * / u j') <= (gamma * lam j' - beta) * / u j' by lra.
    by rewrite /k; lra.
  have -> : cf j' = (Ep j' - one j') * k + (pt j' - Ep j') * (g j' * Ef j') by rewrite /cf lg bj /k /Rdiv; ring.
  have h1 : (Ep j' - one j') * k <= beta * ((1 - Ep j') / u j').
    have e0 := Ep0 j'; have e1 := Ep1 j'.
    have -> : beta * ((1 - Ep j') / u j') = (1 - Ep j') * (beta * / u j') by rewrite /Rdiv; ring.
    rewrite /one; case: ifP => _; nra.
  have h2 : (pt j' - Ep j') * (g j' * Ef j') <= 4 * kappa * (2 * gamma + beta) * ((1 - pt j') / u j').
    have x1 : pt j' - Ep j' <= 8 * kappa * (1 - pt j').
      by have := Rle_abs (- (Ep j' - pt j')); rewrite Rabs_Ropp; lra.
    have x0 : 0 <= 8 * kappa * (1 - pt j') by apply: Rmult_le_pos; lra.
    have -> : 4 * kappa * (2 * gamma + beta) * ((1 - pt j') / u j')
      = 8 * kappa * (1 - pt j') * ((gamma + beta / 2) * / u j') by rewrite /Rdiv; field; lra.
    apply: (Rle_trans _ (8 * kappa * (1 - pt j') * (g j' * Ef j'))).
      by apply: Rmult_le_compat_r.
    by apply: Rmult_le_compat_l.
  lra.
have gk : 0 <= Gm * (17 * kappa) by apply: Rmult_le_pos; lra.
have s7 := Rmult_le_compat_l _ _ _ gk s3.
rewrite s4 in s2.
have h : E0 lin <= 2 * gamma * \rsum_(a | reg a) (Ep a / u a) + gamma * \rsum_(a | reg a) (pt a / u a)
  + beta * awayp Ep + 4 * kappa * (2 * gamma + beta) * awayp pt
  + Gm * (17 * kappa) * (v * (\rsum_(a | reg a) (pt a / u a) + awayp pt)) by lra.
apply: Rle_trans h _; apply: Req_le; congr (_ + _).
by rewrite /Gm; ring.
Qed.
End Core.
