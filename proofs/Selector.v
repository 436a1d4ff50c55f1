(** The special arm: what the tie-breaking rule guarantees, and Lemma 6. *)
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Argmax.
Variables (A : finType) (G : rel A).
(** [sel m] is an arm without self-loop of largest mass, if there is an arm without self-loop. *)
Definition selects (sel : (A -> R) -> option A) := forall m, match sel m with
  | Some j => ~~ G j j /\ forall a, ~~ G a a -> m a <= m j
  | None => forall a, G a a
  end.

(** The special arm of Algorithm 2 is the one with the largest mass. *)
Lemma special_arm_ok : selects (special_arm G).
Proof.
move=> m; rewrite /special_arm.
pose ok (l : seq A) (best : option A) := match best with
  | Some j => ~~ G j j /\ forall a, a \in l -> ~~ G a a -> m a <= m j
  | None => forall a, a \in l -> G a a end.
suff h l : ok l (foldl (better G m) None l).
  have := h (enum A); rewrite /ok; case: (foldl _ _ _) => [j [nj hj]|hj]; first split=> //.
    by move=> a; apply: hj; rewrite mem_enum.
  by move=> a; apply: hj; rewrite mem_enum.
elim/last_ind: l => [|l x]; first by move=> a; rewrite in_nil.
rewrite foldl_rcons; case: (foldl (better G m) None l) => [j [nj hj]|hj]; rewrite /better /=.
  case ex: (G x x).
    by split=> // a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj//]; rewrite ex.
  rewrite /geb; case: Rle_dec => h; split=> //; rewrite ?ex //.
    by move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj].
  move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|al na]; first by lra.
  by have := hj a al na; lra.
case ex: (G x x).
  by move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj].
split=> [|a]; first by rewrite ex.
by rewrite mem_rcons in_cons => /orP[/eqP-> _|/hj ->] //; lra.
Qed.
End Argmax.

(** Lemma 6: if every empirical mass is within [eps] of the population mass, then every arm without
    self-loop except the selected one is observed with a probability near 1/4 at least. *)
Section Selector.
Variables (C A : finType) (nu : C -> R) (G : rel A) (r : C -> A -> R) (mh : A -> R) (eps : R)
  (j : A).
Hypothesis dnu : dist nu.
Hypothesis dr : forall c, dist (r c).
Hypothesis so : strongly_observable G.
Let m a := \rsum_c (nu c * r c a).
Let w a := / 2 * \rsum_c (nu c * \rsum_(v | G v a) r c v).
Hypothesis conc : forall a, Rabs (mh a - m a) <= eps.
Hypothesis jmax : forall a, ~~ G a a -> mh a <= mh j.

(** Lemma 6: other arms without self-loop are observed often. *)
Theorem lemma6_selector a : ~~ G a a -> a != j -> m a <= / 2 + eps /\ / 4 - eps / 2 <= w a.
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
