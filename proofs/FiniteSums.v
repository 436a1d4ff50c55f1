(** Sums over finite sets, at the real numbers of the standard library: [lra], [nra] and [field]
    work. *)
From Coq Require Export Lra Lia Psatz.
From Crossbandit Require Export Statement.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.
Global Arguments pow : simpl never.
Global Arguments INR : simpl never.

(** Addition is associative. With the next lemmas: what sums over finite sets need. *)
Lemma RplusA : associative Rplus. Proof. by move=> x y z; ring. Qed.
(** Addition commutes. *)
Lemma RplusC : commutative Rplus. Proof. by move=> x y; ring. Qed.
(** Zero is neutral on the left, *)
Lemma Rplus0l : left_id 0 Rplus. Proof. by move=> x; ring. Qed.
(** and on the right. *)
Lemma Rplus0r : right_id 0 Rplus. Proof. by move=> x; ring. Qed.
(** Multiplication is associative. *)
Lemma RmultA : associative Rmult. Proof. by move=> x y z; ring. Qed.
(** It commutes. *)
Lemma RmultC : commutative Rmult. Proof. by move=> x y; ring. Qed.
(** One is neutral on the left, *)
Lemma Rmult1l : left_id 1 Rmult. Proof. by move=> x; ring. Qed.
(** and on the right. *)
Lemma Rmult1r : right_id 1 Rmult. Proof. by move=> x; ring. Qed.
(** Zero absorbs on the left, *)
Lemma Rmult0l : left_zero 0 Rmult. Proof. by move=> x; ring. Qed.
(** and on the right. *)
Lemma Rmult0r : right_zero 0 Rmult. Proof. by move=> x; ring. Qed.
(** Multiplication distributes from the right, *)
Lemma RmultDl : left_distributive Rmult Rplus. Proof. by move=> x y z; ring. Qed.
(** and from the left. *)
Lemma RmultDr : right_distributive Rmult Rplus. Proof. by move=> x y z; ring. Qed.

Canonical Rplus_monoid := Monoid.Law RplusA Rplus0l Rplus0r.
Canonical Rplus_comoid := Monoid.ComLaw RplusC.
Canonical Rmult_monoid := Monoid.Law RmultA Rmult1l Rmult1r.
Canonical Rmult_comoid := Monoid.ComLaw RmultC.
Canonical Rmult_muloid := Monoid.MulLaw Rmult0l Rmult0r.
Canonical Rplus_addoid := Monoid.AddLaw RmultDl RmultDr.

Notation "\rsum_ ( i 'in' A ) F" := (\big[Rplus/0%R]_(i in A) F%R)
  (at level 36, F at level 36, i, A at level 50, format "\rsum_ ( i  'in'  A )  F") : R_scope.
Notation "\rsum_ ( i < n ) F" := (\big[Rplus/0%R]_(i < n) F%R)
  (at level 36, F at level 36, i, n at level 50, format "\rsum_ ( i  <  n )  F") : R_scope.
Notation "\rsum_ ( i : T ) F" := (\big[Rplus/0%R]_(i : T) F%R)
  (at level 36, F at level 36, i at level 50, only parsing) : R_scope.

Section Sums.
Variable I : finType.
Implicit Types (P : pred I) (F G : I -> R).

(** Sums are monotone. *)
Lemma rsum_le P F G : (forall i, P i -> F i <= G i) -> \rsum_(i | P i) F i <= \rsum_(i | P i) G i.
Proof. by move=> h; elim/big_ind2: _ => //; [lra | move=> *; lra]. Qed.

(** A sum of numbers that are not negative is not negative. *)
Lemma rsum_ge0 P F : (forall i, P i -> 0 <= F i) -> 0 <= \rsum_(i | P i) F i.
Proof. by move=> h; elim/big_ind: _ => //; [lra | move=> *; lra]. Qed.

(** One term is taken out of a sum. *)
Lemma rsum_D1 P F i0 : P i0 -> \rsum_(i | P i) F i = F i0 + \rsum_(i | P i && (i != i0)) F i.
Proof. exact: bigD1. Qed.
(** A sum is split by a condition. *)
Lemma rsum_ID P (Q : pred I) F :
  \rsum_(i | P i) F i = \rsum_(i | P i && Q i) F i + \rsum_(i | P i && ~~ Q i) F i.
Proof. exact: bigID. Qed.

(** A sum of positive numbers is positive if there is one. *)
Lemma rsum_gt0 P F i0 : P i0 -> (forall i, P i -> 0 < F i) -> 0 < \rsum_(i | P i) F i.
Proof.
move=> Pi0 h; rewrite (bigD1 i0) //=.
have := h _ Pi0.
have : 0 <= \rsum_(i | P i && (i != i0)) F i by apply: rsum_ge0 => i /andP[/h hi _]; lra.
lra.
Qed.

(** A factor on the left moves into a sum, *)
Lemma rsum_mull P F (a : R) : a * \rsum_(i | P i) F i = \rsum_(i | P i) (a * F i).
Proof. exact: big_distrr. Qed.
(** and one on the right. *)
Lemma rsum_mulr P F (a : R) : (\rsum_(i | P i) F i) * a = \rsum_(i | P i) (F i * a).
Proof. exact: big_distrl. Qed.
(** A sum of sums is two sums. *)
Lemma rsum_split P F G : \rsum_(i | P i) (F i + G i) = \rsum_(i | P i) F i + \rsum_(i | P i) G i.
Proof. exact: big_split. Qed.
(** A minus sign moves out of a sum. *)
Lemma rsum_opp P F : \rsum_(i | P i) (- F i) = - \rsum_(i | P i) F i.
Proof.
rewrite (eq_bigr (fun i => (-1) * F i)); last by move=> i _; ring.
by rewrite -rsum_mull; ring.
Qed.
(** A sum of differences is a difference of sums. *)
Lemma rsum_sub P F G : \rsum_(i | P i) (F i - G i) = \rsum_(i | P i) F i - \rsum_(i | P i) G i.
Proof. by rewrite rsum_split rsum_opp. Qed.

(** A sum of non-negative terms over a subset. *)
Lemma rsum_sub_le P (Q : pred I) F : (forall i, Q i -> 0 <= F i) -> (forall i, P i -> Q i) ->
  \rsum_(i | P i) F i <= \rsum_(i | Q i) F i.
Proof.
move=> F0 PQ; rewrite [X in _ <= X](bigID P) /=.
rewrite (eq_bigl P); last by move=> i /=; case h: (P i); rewrite ?andbT ?andbF //; exact: PQ.
have : 0 <= \rsum_(i | Q i && ~~ P i) F i by apply: rsum_ge0 => i /andP[/F0].
lra.
Qed.

(** Equal index sets give equal sums, *)
Lemma rsum_eql P (Q : pred I) F : (forall i, P i = Q i) -> \rsum_(i | P i) F i =
  \rsum_(i | Q i) F i.
Proof. by move=> h; exact: eq_bigl. Qed.
(** and so do equal terms. *)
Lemma rsum_eqr P F G : (forall i, P i -> F i = G i) -> \rsum_(i | P i) F i = \rsum_(i | P i) G i.
Proof. exact: eq_bigr. Qed.

(** A condition moves into the terms. *)
Lemma rsum_mkcondr P (Q : pred I) F :
  \rsum_(i | P i && Q i) F i = \rsum_(i | P i) (if Q i then F i else 0).
Proof. exact: big_mkcondr. Qed.

(** One term of a sum of non-negative terms. *)
Lemma rsum_ge1 P F i0 : P i0 -> (forall i, P i -> 0 <= F i) -> F i0 <= \rsum_(i | P i) F i.
Proof.
move=> Pi0 h; rewrite (bigD1 i0) //=.
have : 0 <= \rsum_(i | P i && (i != i0)) F i by apply: rsum_ge0 => i /andP[/h hi _]; lra.
lra.
Qed.

(** A sum of a constant counts its indices. *)
Lemma rsum_const P (a : R) : \rsum_(i | P i) a = INR #|[pred i | P i]| * a.
Proof.
rewrite big_const; elim: #|_| => [|n IH]; first by rewrite /= /INR; lra.
by rewrite iterS IH S_INR; lra.
Qed.
End Sums.

(** The order of two sums does not matter. *)
Lemma rsum_exchange (I J : finType) (P : pred I) (Q : pred J) (F : I -> J -> R) :
  \rsum_(i | P i) \rsum_(j | Q j) F i j = \rsum_(j | Q j) \rsum_(i | P i) F i j.
Proof. exact: exchange_big. Qed.

(** A sum over the Booleans has two terms. *)
Lemma rsum_bool (g : bool -> R) : \rsum_(b : bool) g b = g true + g false.
Proof. exact: big_bool. Qed.
(** The last term is taken out of a sum. *)
Lemma rsum_recr n (F : nat -> R) : \rsum_(i < n.+1) F i = \rsum_(i < n) F i + F n.
Proof. exact: big_ord_recr. Qed.

(** Finite distributions. *)
Section Dist.
Variable I : finType.
(** The inner product. *)
Definition ip (p x : I -> R) := \rsum_i (p i * x i).

(** A constant is its mean. *)
Lemma dist_ip_const (p : I -> R) a : dist p -> ip p (fun=> a) = a.
Proof. by case=> _ h; rewrite /ip -rsum_mulr h; lra. Qed.

(** The mean of a constant. *)
Lemma dist_const (p : I -> R) (a : R) : dist p -> a = \rsum_i (p i * a).
Proof. by move=> h; rewrite -/(ip p (fun=> a)) dist_ip_const. Qed.

(** Jensen's inequality for squares. *)
Lemma dist_jensen2 (p x : I -> R) : dist p -> ip p x ^ 2 <= ip p (fun i => x i ^ 2).
Proof.
move=> [p0 p1]; set m := ip p x.
have : 0 <= \rsum_i (p i * (x i - m) ^ 2).
  by apply: rsum_ge0 => i _; apply: Rmult_le_pos => //; exact: pow2_ge_0.
rewrite (eq_bigr (fun i => (p i * x i ^ 2 - (2 * m) * (p i * x i)) + m ^ 2 * p i)); last first.
  by move=> i _; ring.
rewrite rsum_split rsum_sub -!rsum_mull p1 -/(ip p x) -/m -/(ip p (fun i => x i ^ 2)).
by lra.
Qed.
End Dist.
