(** Lemma 4: the graph-inverse inequality, weighted, for directed graphs.

    The bound 2 alpha (1 + ln (mass / eps)) is stronger than the printed one: no K, and the constant
    2. *)
From Crossbandit Require Import FiniteSums Exponential.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Graph.
Variable A : finType.
Variable G : rel A.            (* G i j : an edge from i to j *)

Local Notation indep := (indep G).
Local Notation alpha := (alpha G).

(** No independent set has more than alpha arms. *)
Lemma indep_le S : indep S -> (#|S| <= alpha)%N.
Proof. by move=> h; exact: (@leq_bigmax_cond _ (fun S : {set A} => indep S) (fun S => #|S|) S h).
  Qed.

(** The Boolean test says that no edge is between two members. *)
Lemma indepP (S : {set A}) : reflect (forall i j, i \in S -> j \in S -> i != j -> ~~ G i j)
  (indep S).
Proof.
apply: (iffP forall_inP) => [h i j iS jS ij|h i iS].
  by move/forall_inP: (h i iS) => /(_ j jS) /implyP /(_ ij).
by apply/forall_inP => j jS; apply/implyP => ij; exact: h.
Qed.

Variable w : A -> R.
Hypothesis w0 : forall i, 0 < w i.

(** The weight of a set, and the weights of the in- and out-neighbours of an arm within it. *)
Definition mass (V : {set A}) := \rsum_(i in V) w i.
Definition inw (V : {set A}) i := \rsum_(j | (j \in V) && ((j != i) && G j i)) w j.
Definition outw (V : {set A}) i := \rsum_(j | (j \in V) && ((j != i) && G i j)) w j.

(** Double counting of the edges. *)
Lemma inout (V : {set A}) : \rsum_(i in V) (w i * outw V i) = \rsum_(i in V) (w i * inw V i).
Proof.
have h (f : A -> A -> bool) : \rsum_(i in V) (w i * \rsum_(j | (j \in V) && f i j) w j)
    = \rsum_(i in V) \rsum_(j in V) (if f i j then w i * w j else 0).
  apply: eq_bigr => i _; rewrite rsum_mull big_mkcondr.
  by apply: eq_bigr => j _.
rewrite (h (fun i j => (j != i) && G i j)) (h (fun i j => (j != i) && G j i)).
rewrite rsum_exchange; apply: eq_bigr => i _; apply: eq_bigr => j _.
by rewrite eq_sym; case: ifP => _; ring.
Qed.

(** A greedy independent set: a weighted Turan bound for directed graphs. *)
Lemma greedy q (V : {set A}) : 0 <= q -> (forall i, i \in V -> w i + inw V i <= q) ->
  exists S : {set A}, [/\ S \subset V, indep S & mass V <= 2 * q * INR #|S|].
Proof.
move=> q0; have [n] := ubnP #|V|; elim: n V => // n IH V Vn hV.
case: (set_0Vmem V) => [->|[k kV]].
  exists set0; split; first exact: sub0set.
    by apply/indepP => i j; rewrite inE.
  by rewrite /mass big_set0 cards0; rewrite /INR; lra.
have [i [iV hi]] : exists i, i \in V /\ w i + inw V i + outw V i <= 2 * q.
  case: (pickP (fun i => (i \in V) && (Rle_dec (w i + inw V i + outw V i) (2 * q) : bool))) =>
    [i|none].
    by case/andP=> iV; case: Rle_dec => // h _; exists i.
  exfalso; have big i : i \in V -> 2 * q < w i + inw V i + outw V i.
    by move=> iV; move: (none i); rewrite iV /=; case: Rle_dec => //= h _; lra.
  have lt : 0 < \rsum_(i in V) (w i * (w i + inw V i + outw V i - 2 * q)).
    apply: (rsum_gt0 kV) => i iV; apply: Rmult_lt_0_compat => //; have := big i iV; lra.
  have le : 0 <= \rsum_(i in V) (w i * (2 * q - w i - 2 * inw V i)).
    apply: rsum_ge0 => i iV; apply: Rmult_le_pos; first by have := w0 i; lra.
    by have := hV i iV; have := w0 i; lra.
  move: lt; rewrite (eq_bigr (fun i => - (w i * (2 * q - w i - 2 * inw V i))
      + (w i * outw V i - w i * inw V i))); last by move=> i _; ring.
  by rewrite rsum_split rsum_opp rsum_sub inout; lra.
pose V' := [set j in V | [&& j != i, ~~ G j i & ~~ G i j]].
have V'V : V' \subset V by apply/subsetP => j; rewrite inE => /andP[].
have iV' : i \notin V' by rewrite inE eqxx andbF.
have V'n : (#|V'| < n)%N.
  rewrite -ltnS; apply: leq_trans Vn; rewrite ltnS.
  by apply: proper_card; apply/properP; split=> //; exists i.
have [j jV'|S [SV' iS mS]] := IH V' V'n.
  apply: Rle_trans (hV j (subsetP V'V _ jV')); apply: Rplus_le_compat_l.
  apply: rsum_sub_le => [k' _|k' /andP[k'V' ->]]; first by have := w0 k'; lra.
  by rewrite (subsetP V'V).
have iSn : i \notin S by apply: contra iV'; exact: (subsetP SV').
exists (i |: S); split.
- by apply/subsetP => j; rewrite in_setU1 => /orP[/eqP->//|/(subsetP SV')/(subsetP V'V)].
- apply/indepP => a b; rewrite !in_setU1 => /orP[/eqP->|aS] /orP[/eqP->|bS] ab.
  + by rewrite eqxx in ab.
  + by have := subsetP SV' _ bS; rewrite inE => /and4P[].
  + by have := subsetP SV' _ aS; rewrite inE => /and4P[].
  + exact: (indepP _ iS).
rewrite cardsU1 iSn /= add1n S_INR.
suff : mass V <= mass V' + 2 * q by lra.
have -> : mass V = mass V' + \rsum_(j | (j \in V) && (j \notin V')) w j.
  rewrite /mass (rsum_ID (fun j => j \in V) (fun j => j \in V')); congr Rplus.
  by apply: eq_bigl => j; case jV': (j \in V'); rewrite ?andbF ?andbT // (subsetP V'V).
apply: Rplus_le_compat_l; apply: Rle_trans hi.
have -> : w i = \rsum_(j | (j \in V) && (j == i)) w j.
  rewrite (eq_bigl (pred1 i)); first by rewrite big_pred1_eq.
  by move=> j /=; case: (eqVneq j i) => [->|_]; rewrite ?iV ?andbF.
rewrite /inw /outw !(rsum_mkcondr (fun j => j \in V)) -!rsum_split.
apply: rsum_le => j jV; rewrite inE jV /=.
have := w0 j; case: (j == i) => //=; case: (G j i) => //=; case: (G i j) => //=; lra.
Qed.

(** If no closed in-neighbourhood weighs more than [q], the whole weighs at most 2 alpha q. *)
Lemma mass_le q (V : {set A}) : 0 <= q -> (forall i, i \in V -> w i + inw V i <= q) ->
  mass V <= 2 * INR alpha * q.
Proof.
move=> q0 h; have [S [_ /indep_le/leP/le_INR iS hm]] := greedy q0 h.
by nra.
Qed.

Variable eps : R.
Hypothesis eps0 : 0 < eps.
Hypothesis w_eps : forall i, eps <= w i.

(** A real function on a non-empty finite set has a maximum. *)
Lemma maxR (V : {set A}) (q : A -> R) k : k \in V ->
  exists i, i \in V /\ forall j, j \in V -> q j <= q i.
Proof.
have [n] := ubnP #|V|; elim: n V k => // n IH V k Vn kV.
case: (set_0Vmem (V :\ k)) => [V0|[k' k'V]].
  exists k; split=> // j jV; case: (eqVneq j k) => [->|jk]; first by lra.
  have : j \in V :\ k by rewrite in_setD1 jk.
  by rewrite V0 inE.
have [|i [iV hi]] := IH (V :\ k) k' _ k'V.
  by move: Vn; rewrite (cardsD1 k V) kV.
move: iV; rewrite in_setD1 => /andP[ik iV].
case: (Rle_dec (q k) (q i)) => h.
  exists i; split=> // j jV; case: (eqVneq j k) => [->|jk] //.
  by apply: hi; rewrite in_setD1 jk.
exists k; split=> // j jV; case: (eqVneq j k) => [->|jk]; first by lra.
have : q j <= q i by apply: hi; rewrite in_setD1 jk.
by lra.
Qed.

(** If edges go both ways, arms of an independent set pay for all: the arm with the smallest [u] for
    its neighbours, and so on. *)
Lemma mutual_greedy (u : A -> R) (V : {set A}) : (forall i, i \in V -> w i + inw V i <= u i) ->
  (forall i j, i \in V -> j \in V -> G i j -> G j i) ->
  exists S : {set A}, [/\ S \subset V, indep S & \rsum_(i in V) (w i / u i) <= INR #|S|].
Proof.
have [n] := ubnP #|V|; elim: n V => // n IH V Vn hV both.
case: (set_0Vmem V) => [->|[k kV]].
  exists set0; split; first exact: sub0set.
    by apply/indepP => i j; rewrite inE.
  by rewrite big_set0 cards0; rewrite /INR; lra.
have [i [iV hi]] := maxR (fun a => - u a) kV.
pose V' := [set j in V | (j != i) && ~~ G j i].
have V'V : V' \subset V by apply/subsetP => j; rewrite inE => /andP[].
have iV' : i \notin V' by rewrite inE eqxx andbF.
have V'n : (#|V'| < n)%N.
  rewrite -ltnS; apply: leq_trans Vn; rewrite ltnS.
  by apply: proper_card; apply/properP; split=> //; exists i.
have [j jV'|j j' /(subsetP V'V) jV /(subsetP V'V)|S [SV' iS mS]] := IH V' V'n; last first.
- have iSn : i \notin S by apply: contra iV'; exact: (subsetP SV').
  exists (i |: S); split.
  + by apply/subsetP => j; rewrite in_setU1 => /orP[/eqP->//|/(subsetP SV')/(subsetP V'V)].
  + apply/indepP => a b; rewrite !in_setU1 => /orP[/eqP->|aS] /orP[/eqP->|bS] ab.
    * by rewrite eqxx in ab.
    * have := subsetP SV' _ bS; rewrite inE => /and3P[bV _]; apply: contra; exact: both.
    * by have := subsetP SV' _ aS; rewrite inE => /and3P[].
    * exact: (indepP _ iS).
  rewrite cardsU1 iSn /= add1n S_INR.
  have -> : \rsum_(j in V) (w j / u j) = \rsum_(j in V') (w j / u j)
      + \rsum_(j | (j \in V) && (j \notin V')) (w j / u j).
    rewrite (rsum_ID (fun j => j \in V) (fun j => j \in V')); congr Rplus.
    by apply: eq_bigl => j; case jV': (j \in V'); rewrite ?andbF ?andbT // (subsetP V'V).
  apply: Rplus_le_compat => //.
  have inw0 : 0 <= inw V i by apply: rsum_ge0 => j _; exact: Rlt_le.
  have ui := hV i iV; have u0 : 0 < u i by have := w0 i; lra.
  apply: (Rle_trans _ (\rsum_(j | (j \in V) && (j \notin V')) (w j * / u i))).
    apply: rsum_le => j /andP[jV _]; apply: Rmult_le_compat_l; first exact: Rlt_le.
    by apply: Rinv_le_contravar => //; have := hi j jV; lra.
  rewrite -rsum_mulr; apply: (Rmult_le_reg_r (u i)) => //; rewrite Rmult_assoc Rinv_l; last by lra.
  rewrite Rmult_1_r Rmult_1_l; apply: Rle_trans ui.
  have -> : w i = \rsum_(j | (j \in V) && (j == i)) w j.
    rewrite (eq_bigl (pred1 i)); first by rewrite big_pred1_eq.
    by move=> j /=; case: (eqVneq j i) => [->|_]; rewrite ?iV ?andbF.
  rewrite /inw !(rsum_mkcondr (fun j => j \in V)) -rsum_split; apply: rsum_le => j jV.
  by rewrite inE jV /=; have := w0 j; case: (j == i) => //=; case: (G j i) => //=; lra.
- by move=> j'V; exact: both.
apply: Rle_trans (hV j (subsetP V'V _ jV')); apply: Rplus_le_compat_l.
apply: rsum_sub_le => [k' _|k' /andP[k'V' ->]]; first by have := w0 k'; lra.
by rewrite (subsetP V'V).
Qed.

(** So the graph sum is at most alpha. *)
Lemma mutual_sum (u : A -> R) (V : {set A}) : (forall i, i \in V -> w i + inw V i <= u i) ->
  (forall i j, i \in V -> j \in V -> G i j -> G j i) -> \rsum_(i in V) (w i / u i) <= INR alpha.
Proof.
move=> hV both; have [S [_ /indep_le/leP/le_INR iS h]] := mutual_greedy hV both.
exact: Rle_trans h iS.
Qed.

(** Lemma 4. [q] is any upper bound of the mass of the closed in-neighbourhood. *)
Theorem lemma4_graph_inverse (q : A -> R) (V : {set A}) :
  (forall i, i \in V -> w i + inw V i <= q i) -> V != set0 ->
  \rsum_(i in V) (w i / q i) <= 2 * INR alpha * (1 + ln (mass V / eps)).
Proof.
have [n] := ubnP #|V|; elim: n V => // n IH V Vn hq /set0Pn[k kV].
have [i [iV hi]] := maxR q kV.
have inw0 i' : 0 <= inw V i' by apply: rsum_ge0 => j _; have := w0 j; lra.
have qi0 : 0 < q i by have := hq i iV; have := w0 i; have := inw0 i; lra.
have mV : mass V <= 2 * INR alpha * q i.
  by apply: mass_le => [|j jV]; [lra | apply: Rle_trans (hq j jV) (hi j jV)].
have al1 : 1 <= INR alpha.
  rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; rewrite -(cards1 k).
  by apply: indep_le; apply/indepP => a b; rewrite !inE => /eqP-> /eqP->; rewrite eqxx.
have split1 (f : A -> R) : \rsum_(j in V) f j = f i + \rsum_(j in V :\ i) f j.
  rewrite (rsum_D1 f iV); congr Rplus; apply: eq_bigl => j.
  by rewrite in_setD1 andbC.
have wi := w0 i.
have wq : w i / q i <= 1.
  have := hq i iV; have := inw0 i; move=> h1 h2.
  by apply: (Rmult_le_reg_r (q i)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
rewrite split1; case: (set_0Vmem (V :\ i)) => [V0|[k' k'V]].
  rewrite V0 big_set0 Rplus_0_r.
  have -> : mass V = w i by rewrite /mass split1 V0 big_set0; ring.
  have : 0 <= ln (w i / eps).
    have h : 1 <= w i / eps.
      apply: (Rmult_le_reg_r eps) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last by lra.
      by have := w_eps i; lra.
    by rewrite -ln_1; case: h => [h|<-]; [apply: Rlt_le; apply: ln_increasing => //; lra | lra].
  by nra.
have mV' : 0 < mass (V :\ i) by apply: (rsum_gt0 k'V) => j _.
have mE : mass V = w i + mass (V :\ i) by rewrite /mass split1.
have : \rsum_(j in V :\ i) (w j / q j) <= 2 * INR alpha * (1 + ln (mass (V :\ i) / eps)).
  apply: IH; last by apply/set0Pn; exists k'.
    by move: Vn; rewrite (cardsD1 i V) iV.
  move=> j; rewrite in_setD1 => /andP[_ jV]; apply: Rle_trans (hq j jV); apply: Rplus_le_compat_l.
  apply: rsum_sub_le => [k2 _|k2 /andP[]]; first by have := w0 k2; lra.
  by rewrite in_setD1 => /andP[_ ->].
have lnm x : 0 < x -> ln (x / eps) = ln x - ln eps.
    move=> x0; rewrite /Rdiv ln_mult // ?ln_Rinv //; exact: Rinv_0_lt_compat.
  have m0 : 0 < mass V by lra.
  rewrite !lnm //.
  have h : ln (mass (V :\ i) / mass V) <= mass (V :\ i) / mass V - 1.
    by apply: ln_le_sub1; apply: Rdiv_lt_0_compat.
  have e1 : ln (mass (V :\ i) / mass V) = ln (mass (V :\ i)) - ln (mass V).
    by rewrite /Rdiv ln_mult // ?ln_Rinv //; exact: Rinv_0_lt_compat.
  have e2 : mass (V :\ i) / mass V - 1 = - (w i / mass V) by rewrite mE; field; lra.
  rewrite e1 e2 in h.
  have h2 : w i / q i <= 2 * INR alpha * (w i / mass V).
    apply: (Rmult_le_reg_r (q i)) => //; rewrite {1}/Rdiv Rmult_assoc Rinv_l; last by lra.
    apply: (Rmult_le_reg_r (mass V)) => //.
    have -> : 2 * INR alpha * (w i / mass V) * q i * mass V = w i * (2 * INR alpha * q i) by field;
      lra.
    by rewrite Rmult_1_r; apply: Rmult_le_compat_l => //; lra.
  have h3 : 2 * INR alpha * (w i / mass V) <= 2 * INR alpha * (ln (mass V) - ln (mass (V :\ i))).
    by apply: Rmult_le_compat_l; lra.
  by lra.
Qed.
End Graph.

(** Lemma 4 as printed. *)
Theorem lemma4_printed (A : finType) (a0 : A) (G : rel A) (w : A -> R) (eps : R) :
  0 < eps < / 2 -> (forall i, eps <= w i) -> \rsum_i w i <= 1 ->
  \rsum_i (w i / (w i + \rsum_(j | G j i) w j)) <=
  4 * INR (alpha G) * ln (4 * INR #|A| / (INR (alpha G) * eps)).
Proof.
move=> [e0 e2] we w1; have w0 i : 0 < w i by have := we i; lra.
have sT (f : A -> R) : \rsum_i f i = \rsum_(i in [set: A]) f i by apply: rsum_eql => i; rewrite inE.
have al1 : 1 <= INR (alpha G).
  rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; rewrite -(cards1 a0).
  by apply: indep_le; apply/indepP => a b; rewrite !inE => /eqP-> /eqP->; rewrite eqxx.
have alK : INR (alpha G) <= INR #|A|.
  apply: le_INR; apply/leP; apply/bigmax_leqP => S _; exact: max_card.
have m1 : mass w [set: A] <= 1 by rewrite /mass -sT.
have m0 : 0 < mass w [set: A] by apply: (rsum_gt0 (i0 := a0)) => //; rewrite inE.
rewrite sT; apply: Rle_trans.
  apply: (@lemma4_graph_inverse A G w w0 eps e0 we) => [i _|]; last by apply/set0Pn; exists a0;
    rewrite inE.
  apply: Rplus_le_compat_l; apply: rsum_sub_le => [j _|j /andP[_ /andP[]]] //; exact: Rlt_le.
rewrite !ln_div //; try nra.
rewrite (ln_mult 4); [|lra|lra]; rewrite (ln_mult (INR (alpha G))); [|lra|lra].
have le : ln eps <= 0 by rewrite -ln_1; apply: ln_mono; lra.
have lmm : ln (mass w [set: A]) <= 0 by rewrite -ln_1; apply: ln_mono; lra.
have lk : ln (INR (alpha G)) <= ln (INR #|A|) by apply: ln_mono; lra.
have l4 : 1 <= ln 4.
  rewrite -[1]ln_exp; apply: ln_mono; first exact: exp_pos.
  by have := exp1_ub; lra.
have h : 1 + (ln (mass w [set: A]) - ln eps) <=
    2 * (ln 4 + ln (INR #|A|) - (ln (INR (alpha G)) + ln eps)) by lra.
have a2 : 0 <= 2 * INR (alpha G) by lra.
by have := Rmult_le_compat_l _ _ _ a2 h; lra.
Qed.
