(* The deterministic lemmas of the appendix, as stated in the paper. *)
From Crossbandit Require Import FiniteSums Ftrl GraphInverse Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(* lem:exp3-update *)
Section Exp3.
Variables (A : finType) (x z : A -> R).
Hypothesis dx : dist x.
Hypothesis hz : forall k, - / 2 <= z k <= / 2.
Let N := \rsum_i (x i * exp (z i)).
Let S := ip x (fun i => Rabs (z i)).

Lemma N_ub : N <= exp (2 * S).
Proof.
have [x0 x1] := dx; have e1 := exp1_ub.
apply: (Rle_trans _ (1 + 2 * S)); last exact: exp_ineq1_le.
have -> : 1 + 2 * S = \rsum_i (x i * (1 + 2 * Rabs (z i))).
  rewrite (rsum_eqr (G := fun i => x i + 2 * (x i * Rabs (z i)))); last by move=> i _; ring.
  by rewrite rsum_split x1 -rsum_mull.
apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
have hb : exp (Rabs (z i)) <= 1 + Rabs (z i) * (exp 1 - 1).
  by apply: exp_chord; split; [exact: Rabs_pos | have := hz i; move=> [? ?]; apply: Rabs_le; lra].
have : exp (z i) <= exp (Rabs (z i)).
  have := Rle_abs (z i); case=> [h|<-]; [by apply: Rlt_le; exact: exp_increasing | lra].
by have := Rabs_pos (z i); nra.
Qed.

Lemma N_lb : exp (- S) <= N.
Proof.
have [x0 x1] := dx; pose mu := ip x z.
have h1 : exp mu <= N.
  have -> : exp mu = \rsum_i (x i * (exp mu * (1 + z i - mu))).
    rewrite (rsum_eqr (G := fun i => x i * (exp mu * (1 - mu)) + exp mu * (x i * z i))); last by move=> i _; ring.
    by rewrite rsum_split -rsum_mulr x1 -rsum_mull -/(ip x z) -/mu; ring.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  have -> : exp (z i) = exp mu * exp (z i - mu) by rewrite -exp_plus; congr exp; ring.
  apply: Rmult_le_compat_l; first exact: Rlt_le (exp_pos _).
  by have := exp_ineq1_le (z i - mu); lra.
apply: Rle_trans h1.
have : - S <= mu.
  rewrite /S /mu /ip -rsum_opp; apply: rsum_le => i _.
  have := x0 i; have := Rle_abs (- z i); rewrite Rabs_Ropp; nra.
by case=> [h|->]; [apply: Rlt_le; exact: exp_increasing | lra].
Qed.

Theorem exp3_update k : let xt := x k * exp (z k) / N in
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

(* lem:selector *)
Section Selector.
Variables (C A : finType) (nu : C -> R) (e : rel A) (r : C -> A -> R) (mh : A -> R) (eps : R) (j : A).
Hypothesis dnu : dist nu.
Hypothesis dr : forall c, dist (r c).
Hypothesis so : strongly_observable e.
Let m a := \rsum_c (nu c * r c a).
Let w a := / 2 * \rsum_c (nu c * \rsum_(v | e v a) r c v).
Hypothesis conc : forall a, Rabs (mh a - m a) <= eps.
Hypothesis jmax : forall a, ~~ e a a -> mh a <= mh j.

Theorem selector a : ~~ e a a -> a != j -> m a <= / 2 + eps /\ / 4 - eps / 2 <= w a.
Proof.
move=> na aj; have [n0 n1] := dnu.
have ab b : - eps <= mh b - m b <= eps.
  have := conc b; have := Rle_abs (mh b - m b); have := Rle_abs (- (mh b - m b)).
  by rewrite Rabs_Ropp; lra.
have h1 : m a <= m j + 2 * eps by have := ab a; have := ab j; have := jmax na; lra.
have h2 : m a + m j <= 1.
  rewrite /m -rsum_split -n1; apply: rsum_le => c _.
  have [r0 r1] := dr c.
  have : r c a + r c j <= 1.
    rewrite -r1 (rsum_D1 (P := xpredT) (r c) (i0 := a)) //; apply: Rplus_le_compat_l.
    by apply: (rsum_ge1 (P := fun i => xpredT i && (i != a)) (F := r c)) => //=; rewrite eq_sym.
  by have := n0 c; nra.
have h3 : m a <= / 2 + eps by lra.
split=> //.
have -> : w a = / 2 * (1 - m a); last by lra.
congr Rmult; rewrite /m -n1 -rsum_sub; apply: eq_bigr => c _.
have [r0 r1] := dr c; case: (so a) => [ea|ea]; first by rewrite ea in na.
rewrite -[X in X - _]Rmult_1_r -Rmult_minus_distr_l; congr Rmult.
rewrite -r1 (rsum_D1 (P := xpredT) (r c) (i0 := a)) //.
rewrite [X in X = _](rsum_eql (Q := fun v => xpredT v && (v != a))); first by ring.
by move=> v /=; case: (eqVneq v a) => [->|/ea ->//]; apply/negbTE.
Qed.
End Selector.

(* lem:graph-inverse exactly as in the paper (Lemma 5 of Alon et al.) *)
Theorem graph_inverse_paper (A : finType) (a0 : A) (e : rel A) (w : A -> R) (eps : R) :
  0 < eps < / 2 -> (forall i, eps <= w i) -> \rsum_i w i <= 1 ->
  \rsum_i (w i / (w i + \rsum_(j | e j i) w j)) <=
  4 * INR (alpha e) * ln (4 * INR #|A| / (INR (alpha e) * eps)).
Proof.
move=> [e0 e2] we w1; have w0 i : 0 < w i by have := we i; lra.
have sT (f : A -> R) : \rsum_i f i = \rsum_(i in [set: A]) f i by apply: rsum_eql => i; rewrite inE.
have al1 : 1 <= INR (alpha e).
  rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; rewrite -(cards1 a0).
  by apply: indep_le; apply/indepP => a b; rewrite !inE => /eqP-> /eqP->; rewrite eqxx.
have alK : INR (alpha e) <= INR #|A|.
  apply: le_INR; apply/leP; apply/bigmax_leqP => S _; exact: max_card.
have m1 : mass w [set: A] <= 1 by rewrite /mass -sT.
have m0 : 0 < mass w [set: A] by apply: (rsum_gt0 (i0 := a0)) => //; rewrite inE.
rewrite sT; apply: Rle_trans.
  apply: (@graph_inverse A e w w0 eps e0 we) => [i _|]; last by apply/set0Pn; exists a0; rewrite inE.
  apply: Rplus_le_compat_l; apply: rsum_sub_le => [j _|j /andP[_ /andP[]]] //; exact: Rlt_le.
have ln2 x y : 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
  by move=> x0 y0; rewrite /Rdiv ln_mult // ?ln_Rinv //; exact: Rinv_0_lt_compat.
have lm x y : 0 < x -> x <= y -> ln x <= ln y.
  by move=> x0 [h|->]; [apply: Rlt_le; exact: ln_increasing | lra].
rewrite !ln2 //; try nra.
rewrite (ln_mult 4); [|lra|lra]; rewrite (ln_mult (INR (alpha e))); [|lra|lra].
have le : ln eps <= 0 by rewrite -ln_1; apply: lm; lra.
have lmm : ln (mass w [set: A]) <= 0 by rewrite -ln_1; apply: lm; lra.
have lk : ln (INR (alpha e)) <= ln (INR #|A|) by apply: lm; lra.
have l4 : 1 <= ln 4.
  rewrite -[1]ln_exp; apply: lm; first exact: exp_pos.
  by have := exp1_ub; lra.
have h : 1 + (ln (mass w [set: A]) - ln eps) <=
    2 * (ln 4 + ln (INR #|A|) - (ln (INR (alpha e)) + ln eps)) by lra.
have a2 : 0 <= 2 * INR (alpha e) by lra.
by have := Rmult_le_compat_l _ _ _ a2 h; lra.
Qed.
