(** Independent draws as iterated finite sums: moments, tail bounds, and Freedman's inequality
    (Lemma 3).

    [Ei w n f] is the expectation of [f] over [n] independent draws from [w]. *)
From Crossbandit Require Import FiniteSums Exponential.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Iid.
Variables (I : finType) (w : I -> R).
Hypothesis dw : dist w.

(** The expectation of [f] over [n] independent draws. *)
Fixpoint Ei (n : nat) (f : seq I -> R) : R :=
  if n is n'.+1 then \rsum_i (w i * Ei n' (fun s => f (i :: s))) else f [::].

(** The sum of [g] over a sample, and its mean for one draw. *)
Definition ssum (g : I -> R) (s : seq I) : R := foldr (fun i x => g i + x) 0 s.
Definition mu (g : I -> R) := ip w g.

(** Expectations of equal functions are equal. *)
Lemma Ei_ext n f g : (forall s, f s = g s) -> Ei n f = Ei n g.
Proof. by elim: n f g => [|n IH] f g h //=; apply: rsum_eqr => i _;
  rewrite (IH _ (fun s => g (i :: s))). Qed.

(** They are monotone, *)
Lemma Ei_le n f g : (forall s, f s <= g s) -> Ei n f <= Ei n g.
Proof.
elim: n f g => [|n IH] f g h //=; apply: rsum_le => i _.
by apply: Rmult_le_compat_l; [exact: (proj1 dw) | exact: IH].
Qed.

(** also if the functions are compared on samples of the right size only. *)
Lemma Ei_le_size n f g : (forall s, size s = n -> f s <= g s) -> Ei n f <= Ei n g.
Proof.
elim: n f g => [|n IH] f g h /=; first exact: h.
apply: rsum_le => i _; apply: Rmult_le_compat_l; first exact: (proj1 dw).
by apply: IH => s ss; apply: h; rewrite /= ss.
Qed.

(** A constant is its mean. *)
Lemma Ei_const n a : Ei n (fun=> a) = a.
Proof. by elim: n => //= n ->; rewrite -(dist_const a dw). Qed.

(** Expectations add up. *)
Lemma Ei_add n f g : Ei n (fun s => f s + g s) = Ei n f + Ei n g.
Proof.
elim: n f g => [|n IH] f g //=; rewrite -rsum_split; apply: rsum_eqr => i _.
by rewrite (IH (fun s => f (i :: s)) (fun s => g (i :: s))); ring.
Qed.

(** A factor moves out of an expectation. *)
Lemma Ei_scale n a f : Ei n (fun s => a * f s) = a * Ei n f.
Proof.
elim: n f => [|n IH] f //=; rewrite rsum_mull; apply: rsum_eqr => i _.
by rewrite (IH (fun s => f (i :: s))); ring.
Qed.

(** The mean of a sum. *)
Lemma Ei_sum n g : Ei n (ssum g) = INR n * mu g.
Proof.
elim: n => [|n IH]; first by rewrite /= /INR; ring.
have [_ w1] := dw.
rewrite S_INR /= (rsum_eqr (G := fun i => w i * g i + w i * (INR n * mu g))).
  by rewrite rsum_split -rsum_mulr w1 -/(ip w g) -/(mu g); ring.
move=> i _.
by rewrite (@Ei_add n (fun=> g i) (ssum g)) Ei_const IH; ring.
Qed.

(** The moment generating function of a sum. *)
Lemma Ei_exp n g : Ei n (fun s => exp (ssum g s)) = (\rsum_i (w i * exp (g i))) ^ n.
Proof.
elim: n => [|n IH]; first by rewrite /= exp_0 /pow.
rewrite -tech_pow_Rmult rsum_mulr /=; apply: rsum_eqr => i _.
rewrite (@Ei_ext n _ (fun s => exp (g i) * exp (ssum g s))); last by move=> s; rewrite /= exp_plus.
by rewrite Ei_scale IH; ring.
Qed.

(** The variance of a sum of independent draws. *)
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
   + (2 * (g i - mu g) * ssum g s + ((g i - mu g) ^ 2 - 2 * (g i - mu g) * (INR n * mu g)))));
     last first.
  by move=> s; rewrite /=; ring.
rewrite Ei_add IH (@Ei_add n (fun s => 2 * (g i - mu g) * ssum g s)) Ei_scale Ei_sum Ei_const.
by ring.
Qed.

(** The variance of a sum of draws that are at most 1/2. *)
Lemma Ei_var_le n g : (forall i, 0 <= g i <= / 2) ->
  Ei n (fun s => (ssum g s - INR n * mu g) ^ 2) <= INR n * (mu g / 2).
Proof.
move=> h; rewrite Ei_var; apply: Rmult_le_compat_l; first exact: pos_INR.
have : mu (fun i => g i ^ 2) <= mu g / 2; last by have := pow2_ge_0 (mu g); lra.
rewrite /mu /ip /Rdiv rsum_mulr; apply: rsum_le => i _.
have [g0 g1] := h i; have -> : w i * g i * / 2 = w i * (g i * / 2) by ring.
by apply: Rmult_le_compat_l; [exact: (proj1 dw) | nra].
Qed.

(** ** Tail bounds *)
Definition ind (b : bool) : R := if b then 1 else 0.
(** An indicator is not negative. *)
Lemma ind_ge0 b : 0 <= ind b. Proof. by case: b; rewrite /ind; lra. Qed.

(** The probability of an event. *)
Definition Pr n (b : seq I -> bool) := Ei n (fun s => ind (b s)).

(** A union bound over a finite set. *)
Lemma union_bound (A : finType) n (P : A -> seq I -> bool) x :
  (forall a, Pr n (P a) <= x) -> Pr n (fun s => [exists a, P a s]) <= INR #|A| * x.
Proof.
move=> h.
have sum (r : seq A) : Ei n (fun s => \big[Rplus/0]_(a <- r) ind (P a s)) <= INR (size r) * x.
  elim: r => [|a r IH].
    by rewrite (Ei_ext n (g := fun=> 0)) ?Ei_const /INR /= ?Rmult_0_l; [lra | move=> s;
      rewrite big_nil].
  rewrite (Ei_ext n (g := fun s => ind (P a s) + \big[Rplus/0]_(a <- r) ind (P a s)));
    last by move=> s; rewrite big_cons.
  by rewrite Ei_add [size _]/= S_INR; have := h a; rewrite /Pr; lra.
have := sum (enum A); rewrite -cardE; apply: Rle_trans; apply: Ei_le => s; rewrite big_enum.
case: (boolP [exists a, P a s]) => [/existsP[a Pa]|_]; last first.
  by rewrite {1}/ind; apply: rsum_ge0 => a _; exact: ind_ge0.
have -> : ind true = ind (P a s) by rewrite Pa.
by apply: (rsum_ge1 (F := fun a => ind (P a s))) => // b _; exact: ind_ge0.
Qed.

(** Markov's inequality for the exponential of a sum. *)
Lemma markov_exp n g k x (b : seq I -> bool) :
  (forall s, b s -> x <= ssum g s) -> \rsum_i (w i * exp (g i)) <= exp k ->
  Pr n b <= exp (INR n * k - x).
Proof.
move=> hb hk.
apply: (Rle_trans _ (Ei n (fun s => exp (- x) * exp (ssum g s)))).
  apply: Ei_le => s; rewrite /ind; case E: (b s); last first.
    by apply: Rmult_le_pos; apply: Rlt_le; exact: exp_pos.
  by rewrite -exp_plus -{1}exp_0; apply: exp_le; have := hb s E; lra.
rewrite Ei_scale Ei_exp /Rminus exp_plus -pow_exp Rmult_comm.
apply: Rmult_le_compat_r; first exact: Rlt_le (exp_pos _).
apply: pow_incr; split=> //; apply: rsum_ge0 => i _.
by apply: Rmult_le_pos; [exact: (proj1 dw) | apply: Rlt_le; exact: exp_pos].
Qed.

(** P(sum >= k n mu + x / l) <= exp (-x), for every l with exp l <= 1 + k l. *)
Lemma chernoff_up g l k n x : (forall i, 0 <= g i <= 1) -> 0 < l -> exp l <= 1 + k * l ->
  Pr n (fun s => geb (ssum g s) (k * (INR n * mu g) + x / l)) <= exp (- x).
Proof.
move=> g01 l0 hl; have [w0 w1] := dw.
have scale s : ssum (fun i => l * g i) s = l * ssum g s.
  by elim: s => [|i s IH] /=; [ring | rewrite IH; ring].
apply: Rle_trans (@markov_exp n (fun i => l * g i) (k * l * mu g) (l * (k * (INR n * mu g)) + x) _ _
  _) _.
- move=> s; rewrite scale /geb; case: Rle_dec => // h _.
  by have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ l0) h;
    rewrite Rmult_plus_distr_l (_ : l * (x / l) = x) //; field; lra.
- apply: Rle_trans (exp_ineq1_le _).
  have -> : 1 + k * l * mu g = \rsum_i (w i * (1 + k * l * g i)).
    rewrite (rsum_eqr (G := fun i => w i + k * l * (w i * g i))); last by move=> i _; ring.
    by rewrite rsum_split w1 -rsum_mull.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  by have := exp_chord l (g01 i); have := g01 i; nra.
- by apply: Req_le; congr exp; ring.
Qed.

(** P(sum <= n mu / 2 - x / 2) <= exp (-x), for draws that are at most 1/2. *)
Lemma chernoff_lo g n x : (forall i, 0 <= g i <= / 2) ->
  Pr n (fun s => geb (INR n * mu g / 2 - x / 2) (ssum g s)) <= exp (- x).
Proof.
move=> g12; have [w0 w1] := dw.
have scale s : ssum (fun i => - (2 * g i)) s = - (2 * ssum g s).
  by elim: s => [|i s IH] /=; [ring | rewrite IH; ring].
apply: Rle_trans (@markov_exp n (fun i => - (2 * g i)) (- mu g) (x - INR n * mu g) _ _ _) _.
- by move=> s; rewrite scale /geb; case: Rle_dec => // h _; lra.
- apply: Rle_trans (exp_ineq1_le _).
  have -> : 1 + - mu g = \rsum_i (w i * (1 - g i)).
    rewrite (rsum_eqr (G := fun i => w i + (- 1) * (w i * g i))); last by move=> i _; ring.
    by rewrite rsum_split w1 -rsum_mull -/(ip w g) -/(mu g); ring.
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //.
  (* exp (-y) (1 + y) <= 1 gives exp (-y) <= 1 - y / 2 on [0, 1] *)
  have := g12 i; have := exp_ineq1_le (2 * g i); have := exp_pos (- (2 * g i));
    have := exp_opp (2 * g i).
  move=> e1 ep h hi; have : exp (- (2 * g i)) * (1 + 2 * g i) <= 1 by nra.
  by nra.
- by apply: Req_le; congr exp; ring.
Qed.
End Iid.

(** ** Lemma 3: Freedman's inequality

    [law h] is the conditional law of the next draw, given the history [h] of all draws before;
    [X h i] is the increment. The probability that the bound is ever exceeded is at most delta. *)
Section Freedman.
Variables (I : finType) (law X : seq I -> I -> R) (lam delta : R).
Hypothesis dlaw : forall h, dist (law h).
Hypothesis lam0 : 0 < lam.
Hypothesis delta01 : 0 < delta < 1.
Hypothesis small : forall h i, lam * X h i <= 1.
Let mean h := \rsum_i (law h i * X h i).
Let second h := \rsum_i (law h i * X h i ^ 2).

(** The sum of [X - mean] minus [lam] times the sum of second moments; the history grows at its
    head. *)
Fixpoint excess (h : seq I) : R :=
  if h is i :: h' then excess h' + (X h' i - mean h') - lam * second h' else 0.

(** The bound is exceeded. *)
Definition exceeds h : bool := geb (excess h) (ln (/ delta) / lam).

(** The probability that the bound is exceeded now or within the next [n] draws. *)
Fixpoint ever (n : nat) (h : seq I) : R :=
  if exceeds h then 1 else if n is n'.+1 then \rsum_i (law h i * ever n' (i :: h)) else 0.

(** The inequality behind it. *)
Lemma exp_sq x : x <= 1 -> exp x <= 1 + x + x ^ 2.
Proof.
move=> x1; case: (Rle_dec x 0) => x0.
  have := exp_ineq1_le (- x); have := exp_pos x; have := exp_opp x => e1 ep h.
  apply: (Rmult_le_reg_r (1 - x)); first by lra.
  have x3 : 0 <= (- x) ^ 3 by apply: pow_le; lra.
  by have : exp x * (1 - x) <= 1; [nra | lra].
case: (Rle_dec x (3 / 4)) => x34; last first.
  have hx : 0 <= x <= 1 by lra.
  by have := exp_chord 1 hx; have := exp1_ub; rewrite Rmult_1_l; nra.
have hy : exp (x / 4) * (1 - x / 4) <= 1.
  by have := exp_ineq1_le (- (x / 4)); have := exp_pos (x / 4); have := exp_opp (x / 4); nra.
have y0 : 0 <= exp (x / 4) * (1 - x / 4) by apply: Rmult_le_pos; [exact: Rlt_le (exp_pos _) | lra].
have h4 : exp x * (1 - x / 4) ^ 4 <= 1.
  have -> : exp x * (1 - x / 4) ^ 4 = (exp (x / 4) * (1 - x / 4)) ^ 4.
    rewrite Rpow_mult_distr; congr Rmult; rewrite (_ : exp x = exp (INR 4 * (x / 4))).
      by rewrite -pow_exp.
    by congr exp; rewrite /INR; field.
  by rewrite -[X in _ <= X](pow1 4); apply: pow_incr; split.
have p1 : 1 <= (1 + x + x ^ 2) * (1 - x / 4) ^ 4.
  have -> : (1 + x + x ^ 2) * (1 - x / 4) ^ 4 = 1 + x ^ 2 * (3 / 8 - 11 / 16 * x + 81 / 256 * x ^ 2
    - 15 / 256 * x ^ 3 + x ^ 4 / 256) by field.
  have : 0 <= x ^ 2 * (3 / 8 - 11 / 16 * x + 81 / 256 * x ^ 2 - 15 / 256 * x ^ 3 + x ^ 4 / 256);
    last by lra.
  apply: Rmult_le_pos; first exact: pow2_ge_0.
  have x3 : x ^ 3 <= 3 / 4 * x ^ 2 by nra.
  have x4 : 0 <= x ^ 4 by nra.
  by nra.
have p4 : 0 < (1 - x / 4) ^ 4 by apply: pow_lt; lra.
by nra.
Qed.

(** One draw: the exponential of the excess is a supermartingale. *)
Lemma excess_step h : \rsum_i (law h i * exp (lam * excess (i :: h))) <= exp (lam * excess h).
Proof.
have [l0 l1] := dlaw h.
pose k := exp (lam * excess h) * exp (- (lam * mean h) - lam ^ 2 * second h).
have split i : exp (lam * excess (i :: h)) = k * exp (lam * X h i).
  by rewrite /k -!exp_plus; congr exp; rewrite /=; ring.
have k0 : 0 <= k by apply: Rmult_le_pos; apply: Rlt_le; exact: exp_pos.
apply: (Rle_trans _ (\rsum_i (law h i * (k * (1 + lam * X h i + (lam * X h i) ^ 2))))).
  apply: rsum_le => i _; apply: Rmult_le_compat_l => //; rewrite split.
  by apply: Rmult_le_compat_l => //; exact: exp_sq.
rewrite (rsum_eqr (G := fun i => k * law h i + (k * lam * (law h i * X h i) + k * lam ^ 2 *
  (law h i * X h i ^ 2)))); last first.
  by move=> i _; ring.
rewrite !rsum_split -!rsum_mull l1 -/(mean h) -/(second h).
have -> : k * 1 + (k * lam * mean h + k * lam ^ 2 * second h) =
  k * (1 + (lam * mean h + lam ^ 2 * second h)) by ring.
rewrite /k Rmult_assoc -[X in _ <= X]Rmult_1_r; apply: Rmult_le_compat_l;
  first exact: Rlt_le (exp_pos _).
rewrite (_ : - (lam * mean h) - lam ^ 2 * second h = - (lam * mean h + lam ^ 2 * second h));
  last by ring.
set y := lam * mean h + _; have := exp_ineq1_le y; have := exp_pos (- y); have := exp_opp y; nra.
Qed.

(** Markov's step: where the sum exceeds its bound, the exponential is at least 1. *)
Lemma exceeds_le h : exceeds h -> 1 <= delta * exp (lam * excess h).
Proof.
rewrite /exceeds /geb; case: Rle_dec => // le _; have d0 : 0 < delta by lra.
have : exp (ln (/ delta)) <= exp (lam * excess h).
  apply: exp_le; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ lam0) le.
  by rewrite (_ : lam * (ln (/ delta) / lam) = ln (/ delta)) //; field; lra.
rewrite exp_ln; last exact: Rinv_0_lt_compat.
by move=> le'; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ d0) le'; rewrite Rinv_r; lra.
Qed.

(** Ville's inequality, by induction over the draws that are left. *)
Lemma ever_le n h : ever n h <= delta * exp (lam * excess h).
Proof.
have d0 : 0 < delta by lra.
elim: n h => [|n IH] h; rewrite [ever _ _]/=; case E: (exceeds h); try by apply: exceeds_le.
  by apply: Rmult_le_pos; [lra | exact: Rlt_le (exp_pos _)].
have [l0 _] := dlaw h.
apply: (Rle_trans _ (delta * \rsum_i (law h i * exp (lam * excess (i :: h))))); last first.
  by apply: Rmult_le_compat_l; [lra | exact: excess_step].
rewrite rsum_mull; apply: rsum_le => i _.
by have := Rmult_le_compat_l _ _ _ (l0 i) (IH (i :: h)); lra.
Qed.

(** Lemma 3. *)
Theorem lemma3_freedman n : ever n [::] <= delta.
Proof. by have := ever_le n [::]; rewrite /= Rmult_0_r exp_0; lra. Qed.
End Freedman.
