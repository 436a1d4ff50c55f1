(* Independent draws as iterated finite sums: moments and Chernoff bounds. *)
From Crossbandit Require Import FiniteSums Ftrl.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Iid.
Variables (I : finType) (w : I -> R).
Hypothesis dw : dist w.

Fixpoint Ei (n : nat) (f : seq I -> R) : R :=
  if n is n'.+1 then \rsum_i (w i * Ei n' (fun s => f (i :: s))) else f [::].

Definition ssum (g : I -> R) (s : seq I) : R := foldr (fun i x => g i + x) 0 s.
Definition mu (g : I -> R) := ip w g.

Lemma Ei_ext n f g : (forall s, f s = g s) -> Ei n f = Ei n g.
Proof. by elim: n f g => [|n IH] f g h //=; apply: rsum_eqr => i _; rewrite (IH _ (fun s => g (i :: s))). Qed.

Lemma Ei_le n f g : (forall s, f s <= g s) -> Ei n f <= Ei n g.
Proof.
elim: n f g => [|n IH] f g h //=; apply: rsum_le => i _.
by apply: Rmult_le_compat_l; [exact: (proj1 dw) | exact: IH].
Qed.

Lemma Ei_const n a : Ei n (fun=> a) = a.
Proof. by elim: n => //= n ->; rewrite -(dist_const a dw). Qed.

Lemma Ei_add n f g : Ei n (fun s => f s + g s) = Ei n f + Ei n g.
Proof.
elim: n f g => [|n IH] f g //=; rewrite -rsum_split; apply: rsum_eqr => i _.
by rewrite (IH (fun s => f (i :: s)) (fun s => g (i :: s))); ring.
Qed.

Lemma Ei_scale n a f : Ei n (fun s => a * f s) = a * Ei n f.
Proof.
elim: n f => [|n IH] f //=; rewrite rsum_mull; apply: rsum_eqr => i _.
by rewrite (IH (fun s => f (i :: s))); ring.
Qed.

Lemma Ei_sum n g : Ei n (ssum g) = INR n * mu g.
Proof.
elim: n => [|n IH]; first by rewrite /= /INR; ring.
have [_ w1] := dw.
rewrite S_INR /= (rsum_eqr (G := fun i => w i * g i + w i * (INR n * mu g))).
  by rewrite rsum_split -rsum_mulr w1 -/(ip w g) -/(mu g); ring.
move=> i _.
by rewrite (@Ei_add n (fun=> g i) (ssum g)) Ei_const IH; ring.
Qed.

Lemma Ei_exp n g : Ei n (fun s => exp (ssum g s)) = (\rsum_i (w i * exp (g i))) ^ n.
Proof.
elim: n => [|n IH]; first by rewrite /= exp_0 /pow.
rewrite -tech_pow_Rmult rsum_mulr /=; apply: rsum_eqr => i _.
rewrite (@Ei_ext n _ (fun s => exp (g i) * exp (ssum g s))); last by move=> s; rewrite /= exp_plus.
by rewrite Ei_scale IH; ring.
Qed.

(* variance of a sum of independent draws *)
Lemma Ei_var n g : Ei n (fun s => (ssum g s - INR n * mu g) ^ 2) =
  INR n * (mu (fun i => g i ^ 2) - mu g ^ 2).
Proof.
elim: n => [|n IH]; first by rewrite /= /INR; ring.
have [_ w1] := dw.
rewrite S_INR /=.
rewrite (rsum_eqr (G := fun i => w i * g i ^ 2 - (2 * mu g) * (w i * g i)
    + w i * (mu g ^ 2 + INR n * (mu (fun i => g i ^ 2) - mu g ^ 2)))).
  rewrite rsum_split rsum_sub -rsum_mull -rsum_mulr w1 -/(ip w g) -/(mu g).
  by rewrite -/(ip w (fun i => g i ^ 2)) -/(mu (fun i => g i ^ 2)); ring.
move=> i _.
rewrite (@Ei_ext n _ (fun s => (ssum g s - INR n * mu g) ^ 2
   + (2 * (g i - mu g) * ssum g s + ((g i - mu g) ^ 2 - 2 * (g i - mu g) * (INR n * mu g))))); last first.
  by move=> s; rewrite /=; ring.
rewrite Ei_add IH (@Ei_add n (fun s => 2 * (g i - mu g) * ssum g s)) Ei_scale Ei_sum Ei_const.
by ring.
Qed.

Lemma Ei_var_le n g : (forall i, 0 <= g i <= / 2) ->
  Ei n (fun s => (ssum g s - INR n * mu g) ^ 2) <= INR n * (mu g / 2).
Proof.
move=> h; rewrite Ei_var; apply: Rmult_le_compat_l; first exact: pos_INR.
have : mu (fun i => g i ^ 2) <= mu g / 2; last by have := pow2_ge_0 (mu g); lra.
rewrite /mu /ip /Rdiv rsum_mulr; apply: rsum_le => i _.
have [g0 g1] := h i; have -> : w i * g i * / 2 = w i * (g i * / 2) by ring.
by apply: Rmult_le_compat_l; [exact: (proj1 dw) | nra].
Qed.

(* probabilities *)
Definition Pr n (b : seq I -> bool) := Ei n (fun s => if b s then 1 else 0).

Lemma pow_exp x n : exp x ^ n = exp (INR n * x).
Proof.
elim: n => [|n IH]; first by rewrite /INR Rmult_0_l exp_0.
by rewrite -tech_pow_Rmult IH -exp_plus S_INR; congr exp; ring.
Qed.

Lemma markov_exp n g k x (b : seq I -> bool) :
  (forall s, b s -> x <= ssum g s) -> \rsum_i (w i * exp (g i)) <= exp k ->
  Pr n b <= exp (INR n * k - x).
Proof.
move=> hb hk.
apply: (Rle_trans _ (Ei n (fun s => exp (- x) * exp (ssum g s)))).
  apply: Ei_le => s; case E: (b s); last first.
    by apply: Rmult_le_pos; apply: Rlt_le; exact: exp_pos.
  rewrite -exp_plus -exp_0; have := hb s E => h.
  have : 0 <= - x + ssum g s by lra.
  by case=> [h'|<-]; [apply: Rlt_le; exact: exp_increasing | lra].
rewrite Ei_scale Ei_exp /Rminus exp_plus -pow_exp Rmult_comm.
apply: Rmult_le_compat_r; first exact: Rlt_le (exp_pos _).
apply: pow_incr; split=> //; apply: rsum_ge0 => i _.
by apply: Rmult_le_pos; [exact: (proj1 dw) | apply: Rlt_le; exact: exp_pos].
Qed.

Section Bounded.
Variable g : I -> R.
Hypothesis g01 : forall i, 0 <= g i <= 1.

(* P(sum >= 2 n mu + x) <= exp (-x) *)
Lemma chernoff_up n x : Pr n (fun s => geb (ssum g s) (2 * (INR n * mu g) + x)) <= exp (- x).
Proof.
have [w0 w1] := dw; have e1 := exp1_ub.
apply: Rle_trans (@markov_exp n g (2 * mu g) (2 * (INR n * mu g) + x) _ _ _) _.
- by move=> s; rewrite /geb; case: Rle_dec.
- apply: Rle_trans (exp_ineq1_le _).
  have -> : 1 + 2 * mu g = \rsum_i (w i * (1 + 2 * g i)).
    rewrite (rsum_eqr (G := fun i => w i + 2 * (w i * g i))); last by move=> i _; ring.
    by rewrite rsum_split w1 -rsum_mull.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  by have := exp_chord (g01 i); have := g01 i; nra.
- by apply: Req_le; congr exp; ring.
Qed.

(* P(sum <= n mu / 2 - x) <= exp (-x) *)
Lemma chernoff_lo n x : Pr n (fun s => geb (INR n * mu g / 2 - x) (ssum g s)) <= exp (- x).
Proof.
have [w0 w1] := dw.
have e2 : 2 <= exp 1 by have := exp_ineq1_le 1; lra.
have sopp s : ssum (fun i => - g i) s = - ssum g s by elim: s => [|i s IH] /=; [ring | rewrite IH; ring].
apply: Rle_trans (@markov_exp n (fun i => - g i) (- (mu g / 2)) (x - INR n * mu g / 2) _ _ _) _.
- by move=> s; rewrite sopp /geb; case: Rle_dec => // h _; lra.
- apply: Rle_trans (exp_ineq1_le _).
  have -> : 1 + - (mu g / 2) = \rsum_i (w i * (1 - g i / 2)).
    rewrite (rsum_eqr (G := fun i => w i + (- / 2) * (w i * g i))); last by move=> i _; field.
    by rewrite rsum_split w1 -rsum_mull -/(ip w g) -/(mu g); field.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  have [g0 g1] := g01 i.
  (* exp (-g) <= 1 - g / 2 on [0, 1], by the chord of exp at 1 - g *)
  have h := exp_ineq1_le (g i); have ep := exp_pos (- g i).
  have e1 : exp (- g i) * exp (g i) = 1 by rewrite -exp_plus -exp_0; congr exp; ring.
  have : exp (- g i) * (1 + g i) <= 1 by nra.
  by nra.
- by apply: Req_le; congr exp; field.
Qed.
End Bounded.
End Iid.
