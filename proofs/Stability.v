(* Joint stability (lem:joint-stability), in one inequality that covers the regular arms
   and the special arm: sum_a |p - x| |phi| <= 17 kappa (sum_{a<>j} x phi^2 + (1 - x_j) phi_j^2). *)
From Crossbandit Require Import FiniteSums Ftrl GraphInverse Programs Lemmas.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Lemma exp_sub1 t : -1 <= t <= 1 -> Rabs (exp t - 1) <= 2 * Rabs t.
Proof.
move=> ht; have e1 := exp1_ub; have h := exp_ineq1_le t.
case: (Rle_dec 0 t) => t0.
  rewrite !Rabs_pos_eq; [|lra|lra].
  have hh : exp t <= 1 + t * (exp 1 - 1) by apply: exp_chord; lra.
  by nra.
rewrite (Rabs_left t); last by lra.
have : exp t <= 1 by rewrite -exp_0; apply: Rlt_le; apply: exp_increasing; lra.
by move=> h1; rewrite Rabs_left1; lra.
Qed.

Section Joint.
Variables (A : finType) (x z phi : A -> R) (kappa : R) (j : option A).
Hypothesis dx : dist x.
Hypothesis k0 : 0 <= kappa <= / 8.
Hypothesis phi1 : forall a, Rabs (phi a) <= 1.
Hypothesis hz : forall a, Rabs (z a) <= kappa * Rabs (phi a).
Let N := \rsum_i (x i * exp (z i)).
Let p a := x a * exp (z a) / N.

Let reg a := j != Some a.
Let F := if j is Some b then Rabs (phi b) else 0.
Let zj := if j is Some b then z b else 0.
Let z' a := z a - zj.
Let f a := Rabs (phi a).
Let M := \rsum_(a | reg a) (x a * (f a + F)).
Let Q := \rsum_(a | reg a) (x a * (f a ^ 2 + F ^ 2)).

Lemma F01 : 0 <= F <= 1.
Proof. by rewrite /F; case: j => [b|]; [split; [exact: Rabs_pos | exact: phi1] | lra]. Qed.
Lemma f01 a : 0 <= f a <= 1. Proof. by split; [exact: Rabs_pos | exact: phi1]. Qed.

Lemma z'_reg a : Rabs (z' a) <= kappa * (f a + F).
Proof.
rewrite /z' /zj /F /f; apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_Ropp.
have := hz a; case: j => [b|]; first by have := hz b; lra.
by rewrite Rabs_R0; lra.
Qed.
Lemma z'_sp a : ~~ reg a -> z' a = 0.
Proof. by rewrite /reg negbK /z' /zj => /eqP ->; ring. Qed.

Lemma shiftN : \rsum_i (x i * exp (z' i)) = N * exp (- zj).
Proof. by rewrite /N rsum_mulr; apply: rsum_eqr => i _; rewrite /z' /Rminus exp_plus; ring. Qed.
Lemma N0 : 0 < N.
Proof.
have [x0 x1] := dx; case: (Rle_lt_or_eq_dec 0 N) => // [|N_0].
  by apply: rsum_ge0 => i _; apply: Rmult_le_pos => //; exact: Rlt_le (exp_pos _).
have : 0 < \rsum_i x i by lra.
have h : \rsum_i (exp (- / 8) * x i) <= N.
  apply: rsum_le => i _; rewrite Rmult_comm; apply: Rmult_le_compat_l => //.
  have : - / 8 <= z i.
    have := hz i; have := phi1 i; have := Rabs_pos (phi i); have := Rle_abs (- z i).
    by rewrite Rabs_Ropp; nra.
  by case=> [h|->]; [apply: Rlt_le; exact: exp_increasing | lra].
by rewrite -rsum_mull x1 -N_0 in h; have := exp_pos (- / 8); lra.
Qed.

Lemma S_le : ip x (fun a => Rabs (z' a)) <= kappa * M.
Proof.
have [x0 x1] := dx.
rewrite /ip (rsum_ID xpredT reg) /M rsum_mull.
rewrite [X in _ + X <= _](rsum_eqr (G := fun=> 0)); last first.
  by move=> a /= /z'_sp ->; rewrite Rabs_R0; ring.
rewrite rsum_const Rmult_0_r Rplus_0_r; apply: rsum_le => a _.
have := z'_reg a; have := x0 a; have := Rabs_pos (z' a); nra.
Qed.

Lemma M_bd : 0 <= M <= 2.
Proof.
have [x0 x1] := dx; split.
  by apply: rsum_ge0 => a _; apply: Rmult_le_pos => //; have := f01 a; have := F01; lra.
apply: (Rle_trans _ (\rsum_a (x a * 2))); last by rewrite -rsum_mulr x1; lra.
apply: (Rle_trans _ (\rsum_(a | reg a) (x a * 2))).
  by apply: rsum_le => a _; apply: Rmult_le_compat_l => //; have := f01 a; have := F01; lra.
by apply: rsum_sub_le => // a _; have := x0 a; lra.
Qed.

Lemma move_le a : Rabs (p a - x a) <= 2 * kappa * (x a * ((if reg a then f a + F else 0) + 2 * M)).
Proof.
have [x0 x1] := dx; have n0 := N0; have hS := S_le; have hM := M_bd; have f1 := f01 a; have F1 := F01.
have zz : Rabs (z' a) <= kappa * (if reg a then f a + F else 0).
  by case r: (reg a); [exact: z'_reg | rewrite z'_sp ?r // Rabs_R0; lra].
set S := ip x (fun a => Rabs (z' a)) in hS.
have S0 : 0 <= S by apply: rsum_ge0 => i _; apply: Rmult_le_pos => //; exact: Rabs_pos.
have half i : - / 2 <= z' i <= / 2.
  have := z'_reg i; have := f01 i; have := Rle_abs (z' i); have := Rle_abs (- z' i).
  by rewrite Rabs_Ropp; nra.
have [] := exp3_update dx half a; rewrite -/S shiftN.
have -> : x a * exp (z' a) / (N * exp (- zj)) = p a.
  have ez := exp_pos (- zj); rewrite /p /z' /Rminus exp_plus; field; split; lra.
move=> lo hi.
set ze := if reg a then f a + F else 0 in zz *.
have ze2 : 0 <= ze <= 2 by rewrite /ze; case: (reg a); lra.
have zb : - (kappa * ze) <= z' a <= kappa * ze.
  by have := Rle_abs (z' a); have := Rle_abs (- z' a); rewrite Rabs_Ropp; lra.
have kz : 0 <= kappa * ze <= / 4 by nra.
have kM : 0 <= kappa * M <= / 4 by nra.
pose b := kappa * ze + 2 * (kappa * M).
have b1 t : - b <= t <= b -> - (2 * b) <= exp t - 1 <= 2 * b.
  move=> tb; have t1 : -1 <= t <= 1 by rewrite /b in tb; lra.
  have := exp_sub1 t1; have := Rle_abs (exp t - 1); have := Rle_abs (- (exp t - 1)).
  have : Rabs t <= b by apply: Rabs_le.
  by rewrite Rabs_Ropp; lra.
have u1 : - (2 * b) <= exp (z' a - 2 * S) - 1 <= 2 * b by apply: b1; rewrite /b; lra.
have u2 : - (2 * b) <= exp (z' a + S) - 1 <= 2 * b by apply: b1; rewrite /b; lra.
have xa := x0 a.
have -> : 2 * kappa * (x a * (ze + 2 * M)) = x a * (2 * b) by rewrite /b; ring.
by apply: Rabs_le; split; nra.
Qed.

(* the crude bound on the special arm *)
Theorem joint_crude b : j = Some b -> Rabs (p b - x b) <= 8 * kappa * (1 - x b).
Proof.
move=> jb; have [x0 x1] := dx; have h := move_le b.
have rb : reg b = false by rewrite /reg jb eqxx.
rewrite rb Rplus_0_l in h.
have xb : x b <= 1 by rewrite -x1; apply: (rsum_ge1 (P := xpredT)).
have M2 : M <= 2 * (1 - x b).
  have e1 (g : A -> R) : \rsum_(a | xpredT a && (a != b)) g a = \rsum_(a | reg a) g a.
    by apply: rsum_eql => a /=; rewrite /reg jb eq_sym.
  have -> : 1 - x b = \rsum_(a | reg a) x a by rewrite -x1 (rsum_D1 (P := xpredT) x (i0 := b)) // e1; ring.
  rewrite rsum_mull /M; apply: rsum_le => a _.
  by have := x0 a; have := f01 a; have := F01; nra.
apply: Rle_trans h _; have xb0 := x0 b; have M0 := M_bd.
have : x b * (2 * M) <= 4 * (1 - x b) by nra.
by nra.
Qed.

(* snapshot stability (lem:s_smaller_p_smaller_2s): a bounded input moves softmax by a bounded factor *)
Section Snapshot.
Variables (eta B : R) (G H : A -> R) (a1 : A).
Hypothesis eta_pos : 0 < eta.
Hypothesis HB : forall a, 0 <= H a - G a <= B.
Theorem snapshot a : exp (- (eta * B)) * softmax eta G a <= softmax eta H a <= exp (eta * B) * softmax eta G a.
Proof.
have nG := norm_gt0 a1 eta G; have nH := norm_gt0 a1 eta H.
have ex (s t : R) : s <= t -> exp s <= exp t.
  by case=> [h|->]; [apply: Rlt_le; exact: exp_increasing | lra].
have wlo i : exp (- (eta * B)) * wexp eta G i <= wexp eta H i.
  by rewrite /wexp -exp_plus; apply: ex; have := HB i; nra.
have whi i : wexp eta H i <= wexp eta G i by apply: ex; have := HB i; nra.
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

Lemma M_sq : M ^ 2 <= 2 * Q.
Proof.
have [x0 x1] := dx.
pose h a := if reg a then f a + F else 0.
have hM : M = ip x h.
  rewrite /ip /M (rsum_mkcondr xpredT reg).
  by apply: rsum_eqr => a _; rewrite /h; case: (reg a); ring.
have hQ : ip x (fun a => h a ^ 2) = \rsum_(a | reg a) (x a * (f a + F) ^ 2).
  rewrite /ip (rsum_mkcondr xpredT reg).
  by apply: rsum_eqr => a _; rewrite /h; case: (reg a); ring.
rewrite hM; apply: Rle_trans (dist_jensen2 _ dx) _; rewrite hQ /Q rsum_mull.
apply: rsum_le => a _; have xa := x0 a.
have q : (f a + F) ^ 2 <= 2 * (f a ^ 2 + F ^ 2) by have := pow2_ge_0 (f a - F); nra.
by have := Rmult_le_compat_l _ _ _ xa q; lra.
Qed.

Theorem joint : \rsum_a (Rabs (p a - x a) * Rabs (phi a)) <= 17 * kappa * Q.
Proof.
have [x0 x1] := dx; have hM := M_bd; have F1 := F01.
apply: (Rle_trans _ (\rsum_a (2 * kappa * ((if reg a then x a * (f a + F + 2 * M) * f a else 0)
     + (if reg a then 0 else x a * (2 * M) * F))))).
  apply: rsum_le => a _; have h := move_le a; have f1 := f01 a; rewrite -/(f a).
  apply: (Rle_trans _ (2 * kappa * (x a * ((if reg a then f a + F else 0) + 2 * M)) * f a)).
    by apply: Rmult_le_compat_r; lra.
  apply: Req_le; case r: (reg a); first by ring.
  have -> : f a = F by rewrite /F; move: r; rewrite /reg => /negbFE /eqP ->.
  by ring.
rewrite -rsum_mull rsum_split.
have t1 : \rsum_a (if reg a then x a * (f a + F + 2 * M) * f a else 0) <= 3 / 2 * Q + 2 * M ^ 2.
  rewrite -(rsum_mkcondr xpredT reg) /=.
  apply: (Rle_trans _ (\rsum_(a | reg a) (3 / 2 * (x a * (f a ^ 2 + F ^ 2)) + 2 * M * (x a * (f a + F))))).
    apply: rsum_le => a _; have := x0 a; have := f01 a => f1 xa.
    have q : (f a + F + 2 * M) * f a <= 3 / 2 * (f a ^ 2 + F ^ 2) + 2 * M * (f a + F).
      have s1 := pow2_ge_0 (f a - F); have s2 : 0 <= M * F by apply: Rmult_le_pos; lra.
      by have s3 := pow2_ge_0 F; lra.
    by have := Rmult_le_compat_l _ _ _ xa q; lra.
  by rewrite rsum_split -!rsum_mull -/Q -/M; lra.
have t2 : \rsum_a (if reg a then 0 else x a * (2 * M) * F) <= 3 * Q.
  have c : \rsum_a (if reg a then 0 else x a * (2 * M) * F) <= 2 * M * F.
    apply: (Rle_trans _ (\rsum_a (x a * (2 * M * F)))); last by rewrite -rsum_mulr x1; lra.
    have mf : 0 <= 2 * M * F by nra.
    by apply: rsum_le => a _; have := x0 a; case: (reg a); nra.
  apply: Rle_trans c _.
  have -> : 2 * M * F = \rsum_(a | reg a) (2 * (x a * (f a + F)) * F) by rewrite /M rsum_mull rsum_mulr.
  rewrite /Q rsum_mull; apply: rsum_le => a _; have := x0 a; have := f01 a => f1 xa.
  have q : 2 * (f a + F) * F <= 3 * (f a ^ 2 + F ^ 2).
    by have s1 := pow2_ge_0 (f a - F); have s2 := pow2_ge_0 (f a); lra.
  by have := Rmult_le_compat_l _ _ _ xa q; lra.
have m2 := M_sq.
have Q0 : 0 <= Q by apply: rsum_ge0 => a _; have := x0 a; nra.
set t := (X in 2 * kappa * X).
have tq : t <= 17 / 2 * Q by rewrite /t; lra.
by have := Rmult_le_compat_l _ _ _ (proj1 k0) tq; lra.
Qed.
End Joint.
