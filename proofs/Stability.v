(** Stability of exponential weights: Lemmas 5, 8 and 9. *)
From Crossbandit Require Import FiniteSums Exponential Ftrl.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** ** Lemma 5: exponential weights move by a bounded factor

    [x k exp (z k) / N] is the distribution proportional to [x exp z]. *)
Section Exp3.
Variables (A : finType) (x z : A -> R).
Hypothesis dx : dist x.
Hypothesis hz : forall k, - / 2 <= z k <= / 2.
Let N := \rsum_i (x i * exp (z i)).
Let S := ip x (fun i => Rabs (z i)).

(** The normaliser is at most exp (2 <x, |z|>), and at least exp (- <x, |z|>). *)
Lemma N_ub : N <= exp (2 * S).
Proof.
have [x0 x1] := dx.
apply: (Rle_trans _ (1 + 2 * S)); last exact: exp_ineq1_le.
have -> : 1 + 2 * S = \rsum_i (x i * (1 + 2 * Rabs (z i))).
  rewrite (rsum_eqr (G := fun i => x i + 2 * (x i * Rabs (z i)))); last by move=> i _; ring.
  by rewrite rsum_split x1 -rsum_mull.
apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
have zi : 0 <= Rabs (z i) <= / 2 by split; [exact: Rabs_pos | apply: Rabs_le; have := hz i; lra].
by have := exp_lin zi; have := exp_le (Rle_abs (z i)); lra.
Qed.

(** The second half of this, by Jensen's inequality for exp. *)
Lemma N_lb : exp (- S) <= N.
Proof.
have [x0 x1] := dx; pose mu := ip x z.
have h1 : exp mu <= N.
  have -> : exp mu = \rsum_i (x i * (exp mu * (1 + z i - mu))).
    rewrite (rsum_eqr (G := fun i => x i * (exp mu * (1 - mu)) + exp mu * (x i * z i)));
      last by move=> i _; ring.
    by rewrite rsum_split -rsum_mulr x1 -rsum_mull -/(ip x z) -/mu; ring.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  have -> : exp (z i) = exp mu * exp (z i - mu) by rewrite -exp_plus; congr exp; ring.
  apply: Rmult_le_compat_l; first exact: Rlt_le (exp_pos _).
  by have := exp_ineq1_le (z i - mu); lra.
apply: Rle_trans h1.
have : - S <= mu.
  rewrite /S /mu /ip -rsum_opp; apply: rsum_le => i _.
  have := x0 i; have := Rle_abs (- z i); rewrite Rabs_Ropp; nra.
exact: exp_le.
Qed.

(** Lemma 5. *)
Theorem lemma5_exp3_update k : let xt := x k * exp (z k) / N in
  x k * exp (z k - 2 * S) <= xt /\ xt <= x k * exp (z k + S).
Proof.
have [x0 x1] := dx => /=.
have N0 : 0 < N by have := N_lb; have := exp_pos (- S); lra.
have iN := Rinv_0_lt_compat _ N0.
have xe : 0 <= x k * exp (z k) by apply: Rmult_le_pos => //; exact: Rlt_le (exp_pos _).
split.
  rewrite /Rminus exp_plus -Rmult_assoc /Rdiv; apply: Rmult_le_compat_l => //.
  by rewrite exp_Ropp; apply: Rinv_le_contravar => //; exact: N_ub.
rewrite exp_plus -Rmult_assoc /Rdiv; apply: Rmult_le_compat_l => //.
rewrite -[S]Ropp_involutive exp_Ropp; apply: Rinv_le_contravar; [exact: exp_pos | exact: N_lb].
Qed.
End Exp3.

(** ** Lemma 8: snapshot stability

    Inputs between 0 and B change a softmax by a factor between exp (- eta B) and exp (eta B). *)
Section Snapshot.
Variables (A : finType) (eta B : R) (G H : A -> R) (a1 : A).
Hypothesis eta_pos : 0 < eta.
Hypothesis HB : forall a, 0 <= H a - G a <= B.
(** Lemma 8. *)
Theorem lemma8_snapshot a : exp (- (eta * B)) * softmax eta G a <= softmax eta H a <= exp (eta * B)
  * softmax eta G a.
Proof.
have nG := norm_gt0 a1 eta G; have nH := norm_gt0 a1 eta H.
have wlo i : exp (- (eta * B)) * wexp eta G i <= wexp eta H i.
  by rewrite /wexp -exp_plus; apply: exp_le; have := HB i; nra.
have whi i : wexp eta H i <= wexp eta G i by apply: exp_le; have := HB i; nra.
have nlo : exp (- (eta * B)) * norm eta G <= norm eta H.
  by rewrite /norm rsum_mull; apply: rsum_le => i _; exact: wlo.
have nhi : norm eta H <= norm eta G by apply: rsum_le => i _; exact: whi.
have E0 := exp_pos (- (eta * B)); have ee : exp (- (eta * B)) * exp (eta * B) = 1.
  by rewrite -exp_plus -exp_0; congr exp; ring.
have g0 : 0 < wexp eta G a by exact: exp_pos.
rewrite !softmaxE /Rdiv -!Rmult_assoc; split.
  apply: Rmult_le_compat; [nra | apply: Rlt_le; exact: Rinv_0_lt_compat | exact: wlo |].
  by apply: Rinv_le_contravar.
have e1 : 0 < exp (eta * B) by exact: exp_pos.
apply: (Rle_trans _ (wexp eta G a * / norm eta H)).
  by apply: Rmult_le_compat_r; [apply: Rlt_le; exact: Rinv_0_lt_compat | exact: whi].
have h : / norm eta H <= exp (eta * B) * / norm eta G.
  have -> : exp (eta * B) * / norm eta G = / (exp (- (eta * B)) * norm eta G).
    rewrite Rinv_mult; congr Rmult; rewrite exp_Ropp; field; lra.
  by apply: Rinv_le_contravar => //; apply: Rmult_lt_0_compat.
by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ g0) h; lra.
Qed.
End Snapshot.

(** ** Lemma 9: joint stability

    [x] is the ideal distribution and [p], proportional to [x exp z], the actual one. [z a] is at
    most [kappa |phi a|]. The special arm [j], if there is one, contributes through the mass away
    from it. *)
Section Joint.
Variables (A : finType) (x z phi : A -> R) (kappa : R) (j : option A).
Hypothesis dx : dist x.
Hypothesis kappa8 : 0 <= kappa <= / 8.
Hypothesis phi1 : forall a, Rabs (phi a) <= 1.
Hypothesis hz : forall a, Rabs (z a) <= kappa * Rabs (phi a).
Let N := \rsum_i (x i * exp (z i)).
Let p a := x a * exp (z a) / N.

Let reg a := j != Some a.
Let f a := Rabs (phi a).
Let F := if j is Some b then f b else 0.
Let h a := if reg a then f a + F else 0.
Let M := ip x h.
(** The quadratic errors of the regular arms, and of the special arm weighted by the mass away from
    it. *)
Definition Qreg := \rsum_(a | reg a) (x a * phi a ^ 2).
Definition Qaway := \rsum_(a | reg a) x a * F ^ 2.
Let m1 := \rsum_(a | reg a) (x a * f a).
Let s := \rsum_(a | reg a) x a.

(** The error of an arm is at most 1. *)
Lemma f01 a : 0 <= f a <= 1. Proof. by split; [exact: Rabs_pos | exact: phi1]. Qed.
(** So is that of the special arm, *)
Lemma F01 : 0 <= F <= 1. Proof. by rewrite /F; case: j => [b|]; [exact: f01 | lra]. Qed.
(** and their sum is at most 2. *)
Lemma h02 a : 0 <= h a <= 2. Proof. by rewrite /h; case: (reg a); have := f01 a; have := F01; lra.
  Qed.

(** Subtracting z j from every exponent leaves the distribution as it is. *)
Let zj := if j is Some b then z b else 0.
Let z' a := z a - zj.
(** Then exponents are small where both errors are. *)
Lemma z'_le a : Rabs (z' a) <= kappa * h a.
Proof.
rewrite /z' /zj /h /reg /F /f; case: j => [b|] /=; last by have := hz a;
  rewrite /Rminus Ropp_0 !Rplus_0_r.
case: (eqVneq b a) => [->|ba]; first by rewrite eqxx /= Rminus_eq_0 Rabs_R0; lra.
rewrite (_ : Some b != Some a); last by apply: contra ba => /eqP[->].
by have := hz a; have := hz b; have := Rabs_triang (z a) (- z b); rewrite Rabs_Ropp -/(Rminus _ _);
  lra.
Qed.

(** Shifting all scores changes the normaliser by a factor. *)
Lemma N_shift : \rsum_i (x i * exp (z' i)) = N * exp (- zj).
Proof. by rewrite /N rsum_mulr; apply: rsum_eqr => i _; rewrite /z' /Rminus exp_plus; ring. Qed.

(** The mean of these sums is at most 2, too. *)
Lemma M_bd : 0 <= M <= 2.
Proof.
have [x0 _] := dx; split; first by apply: rsum_ge0 => a _; apply: Rmult_le_pos => //; have := h02 a;
  lra.
rewrite -(dist_ip_const 2 dx); apply: rsum_le => a _.
by apply: Rmult_le_compat_l => //; have := h02 a; lra.
Qed.

(** It is the mean error of the regular arms, plus that of the special arm times the mass away from
    it. *)
Lemma ME : M = m1 + s * F.
Proof.
rewrite /m1 /s rsum_mulr -rsum_split /M /ip [RHS](rsum_mkcondr xpredT reg).
by apply: rsum_eqr => a _; rewrite /h; case: (reg a); ring.
Qed.

(** The first-order bound: |p - x| <= 4/3 kappa x (h + M). *)
Lemma move_le a : Rabs (p a - x a) <= 4 / 3 * kappa * (x a * (h a + M)).
Proof.
have [x0 x1] := dx; have hM := M_bd; have ha := h02 a.
set S := ip x (fun a => Rabs (z' a)).
have S_le : S <= kappa * M.
  rewrite /M /ip rsum_mull; apply: rsum_le => i _.
  by have := Rmult_le_compat_l _ _ _ (x0 i) (z'_le i); lra.
have quarter i : 0 <= Rabs (z' i) <= / 4.
  by split; [exact: Rabs_pos | have := z'_le i; have := h02 i; nra].
set N' := \rsum_i (x i * exp (z' i)).
have N_lo : exp (- S) <= N' by exact: N_lb.
have N_hi : N' <= 1 + 4 / 3 * (kappa * M).
  apply: (Rle_trans _ (1 + 4 / 3 * S)); last by lra.
  have -> : 1 + 4 / 3 * S = \rsum_i (x i * (1 + 4 / 3 * Rabs (z' i))).
    rewrite (rsum_eqr (G := fun i => x i + 4 / 3 * (x i * Rabs (z' i)))); last by move=> i _; ring.
    by rewrite rsum_split x1 -rsum_mull.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  have q : 0 <= Rabs (z' i) <= / 2 by have := quarter i; lra.
  by have := exp_lin q; have := exp_le (Rle_abs (z' i)); lra.
have N0 : 0 < N' by have := exp_pos (- S); lra.
have pE : p a = x a * (exp (z' a) / N').
  have e0 := exp_pos (- zj); have := N0; rewrite /N' N_shift => n0.
  have nz : 0 < N by nra.
  by rewrite /p /z' /Rminus exp_plus; field; split; lra.
have za : - (kappa * h a) <= z' a <= kappa * h a.
  by have := z'_le a; have := Rle_abs (z' a); have := Rle_abs (- z' a); rewrite Rabs_Ropp; lra.
have kM : 0 <= kappa * M <= / 4 by nra.
have kh : 0 <= kappa * h a <= / 4 by nra.
have xa := x0 a; have iN := Rinv_0_lt_compat _ N0; have nn : N' * / N' = 1 by field; lra.
have up : exp (z' a) / N' <= 1 + 4 / 3 * (kappa * h a + kappa * M).
  apply: (Rle_trans _ (exp (kappa * h a + kappa * M))); last by apply: exp_lin; lra.
  have -> : exp (kappa * h a + kappa * M) = exp (kappa * h a) * / exp (- (kappa * M)).
    by rewrite exp_plus exp_Ropp Rinv_inv.
  apply: Rmult_le_compat; [exact: Rlt_le (exp_pos _) | lra | apply: exp_le; lra |].
  apply: Rinv_le_contravar; first exact: exp_pos.
  by apply: Rle_trans N_lo; apply: exp_le; lra.
have lo : 1 - (kappa * h a + 4 / 3 * (kappa * M)) <= exp (z' a) / N'.
  have e1 : 1 - kappa * h a <= exp (z' a) by have := exp_ineq1_le (z' a); lra.
  apply: (Rle_trans _ ((1 - kappa * h a) * / N')); last by apply: Rmult_le_compat_r; lra.
  have i1 : 1 - 4 / 3 * (kappa * M) <= / N' by nra.
  by nra.
rewrite pE; apply: Rabs_le; split; nra.
Qed.

(** The mass away from the special arm is a probability. *)
Lemma s01 : 0 <= s <= 1.
Proof.
have [x0 x1] := dx; split; first by apply: rsum_ge0.
by rewrite -x1; apply: rsum_sub_le.
Qed.
(** The mean error of the regular arms, and its square. *)
Lemma m1_bd : 0 <= m1 /\ m1 ^ 2 <= Qreg.
Proof.
have [x0 x1] := dx; split; first by apply: rsum_ge0 => a _; apply: Rmult_le_pos => //;
  have := f01 a; lra.
pose g a := if reg a then f a else 0.
have -> : m1 = ip x g.
  by rewrite /ip /m1 [LHS](rsum_mkcondr xpredT reg); apply: rsum_eqr => a _; rewrite /g;
    case: (reg a); ring.
apply: Rle_trans (dist_jensen2 _ dx) _; apply: Req_le;
  rewrite /ip /Qreg [RHS](rsum_mkcondr xpredT reg).
by apply: rsum_eqr => a _; rewrite /g /f; case: (reg a); rewrite ?pow2_abs //; ring.
Qed.
(** The mixed term is at most the mean of both quadratic errors. *)
Lemma cross_le : m1 * F <= (Qreg + Qaway) / 2.
Proof.
have [x0 _] := dx.
rewrite /m1 /Qreg /Qaway !rsum_mulr -rsum_split /Rdiv rsum_mulr; apply: rsum_le => a _.
have : f a * F <= (phi a ^ 2 + F ^ 2) / 2 by have := pow2_ge_0 (f a - F);
  rewrite -(pow2_abs (phi a)) -/(f a); lra.
by move=> le; have := Rmult_le_compat_l _ _ _ (x0 a) le; lra.
Qed.
(** The square of the special arm's part is at most its quadratic error. *)
Lemma away_sq : (s * F) ^ 2 <= Qaway.
Proof.
have hs := s01; rewrite /Qaway -/s (_ : (s * F) ^ 2 = s * (s * F ^ 2)); last by ring.
by have := Rmult_le_pos _ _ (proj1 hs) (pow2_ge_0 F); nra.
Qed.

(** The regular arms. *)
Theorem lemma9_regular : \rsum_(a | reg a) (Rabs (p a - x a) * Rabs (phi a)) <= 4 / 3 * kappa
  * (3 * Qreg + Qaway).
Proof.
have [x0 _] := dx; have [m0 m2] := m1_bd; have hM := M_bd.
apply: (Rle_trans _ (4 / 3 * kappa * \rsum_(a | reg a) (x a * phi a ^ 2 + (x a * f a * F + x a * f a
  * M)))).
  rewrite rsum_mull; apply: rsum_le => a ra.
  have := Rmult_le_compat_r (f a) _ _ (proj1 (f01 a)) (move_le a);
    rewrite /h ra -(pow2_abs (phi a)) -/(f a); lra.
apply: Rmult_le_compat_l; first by lra.
rewrite !rsum_split -/Qreg -!rsum_mulr -/m1 ME.
have := cross_le; have := away_sq; have := pow2_ge_0 (m1 - s * F); lra.
Qed.

(** The special arm. *)
Theorem lemma9_special b : j = Some b ->
  Rabs (p b - x b) * Rabs (phi b) <= 4 / 3 * kappa * (Qreg / 2 + 3 / 2 * Qaway).
Proof.
move=> jb; have [x0 x1] := dx; have hM := M_bd; have F1 := F01.
have Fb : Rabs (phi b) = F by rewrite /F jb.
have xb : x b <= 1 by rewrite -x1; apply: (rsum_ge1 (P := xpredT)).
have := Rmult_le_compat_r F _ _ (proj1 F01) (move_le b).
have -> : h b = 0 by rewrite /h /reg jb eqxx.
rewrite Fb Rplus_0_l; have : x b * M * F <= M * F by have := x0 b; have := Rmult_le_pos M F; nra.
have : M * F <= Qreg / 2 + 3 / 2 * Qaway.
  by rewrite ME; have := cross_le; rewrite /Qaway -/s; lra.
by nra.
Qed.

(** The printed bound on the special arm's move (the first display after Equation 8), and its crude
    form. *)
Theorem lemma9_special_first b : j = Some b ->
  Rabs (p b - x b) <= 4 / 3 * kappa * ((1 - x b) * Rabs (phi b) + \rsum_(a | a != b)
    (x a * Rabs (phi a))).
Proof.
move=> jb; have [x0 x1] := dx; have hM := M_bd.
have regE a : reg a = (a != b) by rewrite /reg jb eq_sym.
have sE : s = 1 - x b.
  by rewrite -x1 (rsum_D1 (P := xpredT) x (i0 := b)) // /s (rsum_eql (Q := fun a =>
    xpredT a && (a != b))) //; ring.
have -> : (1 - x b) * Rabs (phi b) + \rsum_(a | a != b) (x a * Rabs (phi a)) = M.
  by rewrite ME sE /F jb /m1 (rsum_eql (P := reg) (Q := fun a => a != b) _ regE) Rplus_comm.
apply: Rle_trans (move_le b) _; rewrite /h /reg jb eqxx /= Rplus_0_l.
have xb : x b <= 1 by rewrite -x1; apply: (rsum_ge1 (P := xpredT)).
by apply: Rmult_le_compat_l; [lra | have := x0 b; nra].
Qed.

(** The crude bound: the special arm moves by at most a share of the mass away from it. *)
Theorem lemma9_crude b : j = Some b -> Rabs (p b - x b) <= 8 / 3 * kappa * (1 - x b).
Proof.
move=> jb; have [x0 x1] := dx; apply: Rle_trans (lemma9_special_first jb) _.
have e : 1 - x b = \rsum_(a | a != b) x a by rewrite -x1 (rsum_D1 (P := xpredT) x (i0 := b)) //=;
  ring.
have le : \rsum_(a | a != b) (x a * Rabs (phi a)) <= 1 - x b.
  by rewrite e; apply: rsum_le => a _; have := Rmult_le_compat_l _ _ _ (x0 a) (phi1 a); lra.
have s0 : 0 <= 1 - x b by rewrite e; apply: rsum_ge0.
have : (1 - x b) * Rabs (phi b) <= 1 - x b by have := Rmult_le_compat_l _ _ _ s0 (phi1 b); lra.
by nra.
Qed.
End Joint.

(** Equation 8 as printed: without a special arm, the sum over all arms. *)
Corollary lemma9_product (A : finType) (x z phi : A -> R) kappa : dist x -> 0 <= kappa <= / 8 ->
  (forall a, Rabs (phi a) <= 1) -> (forall a, Rabs (z a) <= kappa * Rabs (phi a)) ->
  let p a := x a * exp (z a) / \rsum_i (x i * exp (z i)) in
  \rsum_a (Rabs (p a - x a) * Rabs (phi a)) <= 4 * kappa * \rsum_a (x a * phi a ^ 2).
Proof.
move=> dx k8 phi1 hz /=; have := lemma9_regular None dx k8 phi1 hz.
by rewrite /Qreg /Qaway /= (_ : 0 ^ 2 = 0); [lra | ring].
Qed.
