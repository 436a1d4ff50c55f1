(** Appendix L: the epochs are put together. This is Theorem 1 in its explicit form, for a horizon
    of whole epochs. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Selector Ftrl GraphInverse Programs KnownLaw
  Concentration RandomDenominators
  FrequencyBlock Retention PairReduction Epochs Snapshots LocalNorms OnePair GoodEvents.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Main.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A) (iota : R).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis n0 : (0 < n)%N.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis rho1 : 0 < rho < 1.
Hypothesis beta4 : 4 * gamma <= beta.
Hypothesis iota1 : 1 <= iota.
Hypothesis iota_gamma : iota <= 2 * (INR n * gamma).
Hypothesis n_gamma : 2 <= INR n * gamma.
Hypothesis iota_n : 36 * iota <= INR n.
Hypothesis kappa_le : kappa eta gamma beta n iota <= / 8.

Let nR : 0 < INR n. Proof. by apply: lt_0_INR; apply/ltP. Qed.
Local Notation B0 := (B0 gamma beta n iota).
Local Notation pair_bound := (pair_bound G eta gamma rho beta B0).
Local Notation Phi := (Phi nu eta pi).
Local Notation epoch_value := (epoch_value nu G loss eta gamma rho beta n pi).
Local Notation value := (value nu G loss eta gamma rho beta n pi).
Local Notation inv := (inv nu G eta gamma rho beta n iota).
Local Notation fail := (fail A iota).

(** The cost of a failure is not negative. *)
Lemma fail_ge0 : 0 <= fail.
Proof. by apply: Rmult_le_pos; [have := pos_INR #|A|; lra | exact: Rlt_le (exp_pos _)]. Qed.

(** Induction over the epochs. If an epoch fails, all rounds that are left may be lost. *)
Lemma epochs k ep t F F0 j : (1 < ep)%N -> inv F F0 j ->
  epoch_value k ep t F F0 j <= Phi F + INR n * INR k * (pair_bound + (INR k + 3) * fail).
Proof.
have f0 := fail_ge0.
have b0 : 0 <= pair_bound by apply: pair_bound_ge0.
elim: k ep t F F0 j => [|k IH] ep t F F0 j hep hi.
  rewrite /Epochs.epoch_value muln0 (Ei_ext nu n (g := fun=> 0)) // Ei_const // (_ : INR 0 =
    0) // Rmult_0_r Rmult_0_l.
  by have := Phi_ge0 pi dnu eta0 F; lra.
have k0 := pos_INR k.
have r0 : 0 <= INR n * INR k * (pair_bound + (INR k + 3) * fail).
  apply: Rmult_le_pos; first by apply: Rmult_le_pos; lra.
  by apply: Rplus_le_le_0_compat => //; apply: Rmult_le_pos; lra.
have h : epoch_value k.+1 ep t F F0 j <= Phi F + INR n * pair_bound + INR n * INR k
  * (pair_bound + (INR k + 3) * fail) + INR (4 * n + 2 * n * k) * fail.
  by apply: epoch_ineq => // t' F' j' hi'; apply: IH => //; exact: ltnW.
apply: Rle_trans h _; apply: Req_le; rewrite S_INR plus_INR !mult_INR.
have -> : INR 4 = 4 by rewrite /INR; lra.
have -> : INR 2 = 2 by rewrite /INR; lra.
by ring.
Qed.

(** ** The warm-up epoch: uniform play, no dependence on the contexts *)
Let z : table C A := fun _ _ => 0.
Let r0 : A -> R := mix rho (softmax eta (fun=> 0)).
Let addw (x : A -> R) (a : A) := x a + \rsum_(v | G v a) r0 v / INR (2 * n).
Let addm (x : A -> R) (a : A) := x a + 2 * r0 a / INR (2 * n).

(** The first epoch costs at most one per round. *)
Lemma avg_le t s (f : C -> A -> R) X : (forall c a, f c a <= X) ->
  \rsum_c (nu c * \rsum_a (policy2 eta rho s c a * (d loss pi t c a + f c a))) <= 1 + X.
Proof.
move=> hf; have [nn n1] := dnu.
rewrite [1 + X](dist_const _ dnu); apply: rsum_le => c _; apply: Rmult_le_compat_l => //.
have dp := policy2_dist eta rho1 a0 s c; rewrite [1 + X](dist_const _ dp); apply: rsum_le => a _.
apply: Rmult_le_compat_l; first exact: (proj1 dp).
by rewrite /d; have := loss01 t c a; have := loss01 t c (pi c); have := hf c a; lra.
Qed.

(** The memory after a pair of the first epoch. *)
Definition warmed W j wh mh i : memory C A :=
  if i.+1 == n then mem z z z (fun a => addw wh a + 3 / 2 * gamma) (special_arm G (addm mh)) (fun=>
    0) (fun=> 0) 2 0
  else mem z z z W j (addw wh) (addm mh) 1 i.+1.

(** What the last pair of the warm-up leaves. *)
Lemma close_warm W j wh mh i h cf cl :
  close G eta gamma rho n (Memory z z z W j wh mh 1 i h) cf cl z = warmed W j wh mh i.
Proof. by []. Qed.

(** One pair of the first epoch. *)
Lemma warm_pair N t W j wh mh i : value N.+2 t (mem z z z W j wh mh 1 i) <=
  2 + value N t.+2 (warmed W j wh mh i).
Proof.
rewrite value_S //.
have -> : 2 + value N t.+2 (warmed W j wh mh i) = 1 + (1 + value N t.+2 (warmed W j wh mh i))
  by ring.
apply: avg_le => c1 a1; rewrite /learn2 /= value_S //; apply: avg_le => c2 a2.
rewrite /learn2 /= rsum_bool /= !close_warm /coin; lra.
Qed.

(** The whole first epoch. All policies are uniform, so the contexts do not matter. *)
Lemma warm_epoch N m i t W j wh mh : (i + m.+1 = n)%N ->
  value (2 * m.+1 + N) t (mem z z z W j wh mh 1 i) <= INR (2 * m.+1) +
  value N (t + 2 * m.+1) (mem z z z (fun a => iter m.+1 addw wh a + 3 / 2 * gamma) (special_arm G
    (iter m.+1 addm mh)) (fun=> 0) (fun=> 0) 2 0).
Proof.
elim: m i t wh mh => [|m IH] i t wh mh im.
  rewrite (_ : (2 * 1 + N)%N = N.+2) //; apply: Rle_trans (warm_pair _ _ _ _ _ _ _) _.
  rewrite /warmed (_ : i.+1 == n); last by apply/eqP; rewrite -im addn1.
  rewrite (_ : (t + 2 * 1)%N = t.+2); last by rewrite muln1 addn2.
  by rewrite (_ : INR (2 * 1) = 2); [exact: Rle_refl | rewrite muln1 /INR; lra].
rewrite (_ : (2 * m.+2 + N)%N = (2 * m.+1 + N).+2); last by rewrite !mul2n !doubleS.
apply: Rle_trans (warm_pair _ _ _ _ _ _ _) _.
rewrite /warmed (_ : (i.+1 == n) = false); last by apply/negbTE;
  rewrite -im -addSnnS -{1}[i.+1]addn0 eqn_add2l.
have := IH i.+1 t.+2 (addw wh) (addm mh); rewrite addSnnS => /(_ im) h.
rewrite -!iterSr in h.
rewrite (_ : (t + 2 * m.+2)%N = (t.+2 + 2 * m.+1)%N); last by rewrite [in LHS]mulnS addnA addn2.
have -> : INR (2 * m.+2) = 2 + INR (2 * m.+1).
  by rewrite mulnS plus_INR (_ : INR 2 = 2) // /INR; lra.
lra.
Qed.

(** Uniform play adds the same mass for each pair, *)
Lemma iter_addm k x a : iter k addm x a = x a + INR k * (2 * r0 a / INR (2 * n)).
Proof.
elim: k => [|k IH]; first by rewrite /= /INR; ring.
by rewrite iterS {1}/addm IH S_INR; ring.
Qed.

(** and the same frequency. *)
Lemma fold_addw s x : foldl (add_frequency G eta rho n z) x s = iter (size s) addw x.
Proof. by elim: s x => [|c s IH] x //=; rewrite IH -iterSr. Qed.

Let j0 := special_arm G (iter n addm (fun=> 0)).

(** The invariant holds at the start of the second epoch. *)
Lemma inv0 : inv z z j0.
Proof.
have [_ B0p] := B0_ge gamma0 rho1 beta4 iota1 iota_n.
have dr : dist r0 by apply: mix_dist => //; exact: softmax_dist.
have [rr0 rr1] := dr.
have h := special_arm_ok G (iter n addm (fun=> 0)); rewrite -/j0 in h.
split; first by move=> c a; rewrite /z; lra.
split; last by move=> b jb; move: h; rewrite jb; case.
move=> a na ja; rewrite (w_m a0 eta dnu so rho1 z na).
have -> : m nu eta rho z a = r0 a by rewrite [RHS](dist_const _ dnu).
move: h ja; case: (j0) => [b|]; last by move=> /(_ a); rewrite (negbTE na).
move=> [nb /(_ a na)]; rewrite !iter_addm => h ja.
have ab : b != a by apply: contra ja => /eqP ->.
have rab : r0 a <= r0 b.
  have n2 : 0 < INR (2 * n) by rewrite mult_INR (_ : INR 2 = 2); [lra | rewrite /INR; lra].
  apply: (Rmult_le_reg_l (INR n * (2 / INR (2 * n)))).
    by apply: Rmult_lt_0_compat => //; apply: Rdiv_lt_0_compat; lra.
  by move: h; rewrite /Rdiv; lra.
have : r0 a + r0 b <= 1.
  rewrite -rr1 (rsum_D1 (P := xpredT) r0 (i0 := a)) //; apply: Rplus_le_compat_l.
  by apply: (rsum_ge1 (P := fun i => xpredT i && (i != a)) (F := r0)).
lra.
Qed.

(** The potential at the start is ln K / eta. *)
Lemma Phi0 : Phi z = ln (INR #|A|) / eta.
Proof.
have [_ n1] := dnu; rewrite /KnownLaw.Phi (eq_bigr (fun c => nu c * (ln (INR #|A|) / eta))).
  by rewrite -rsum_mulr n1; ring.
move=> c _; congr Rmult; rewrite /Phi1 /z Rplus_0_r; congr (ln _ / _).
rewrite /norm (eq_bigr (fun=> 1)); last by move=> a _; rewrite /wexp Rmult_0_r exp_0.
by rewrite rsum_const Rmult_1_r; congr INR; exact: eq_card.
Qed.

(** Theorem 1 in explicit form, for whole epochs. *)
Theorem algorithm2_regret (m : nat) :
  Reg nu G loss (algorithm2 C G eta gamma rho beta n) (2 * n * m.+1) pi <=
    bound2 (INR #|A|) (INR (alpha G)) (mutual G) eta gamma rho beta n m iota.
Proof.
have -> : Reg nu G loss (algorithm2 C G eta gamma rho beta n) (2 * n * m.+1) pi
  = value (2 * n.-1.+1 + 2 * n * m) 0 (mem z z z (fun=> 1) None (fun=> 0) (fun=> 0) 1 0).
  by rewrite (prednK n0) -mulnS.
apply: Rle_trans (@warm_epoch (2 * n * m) n.-1 0 0 (fun=> 1) None (fun=> 0) (fun=> 0) _) _.
  by rewrite add0n (prednK n0).
rewrite (prednK n0) add0n -/j0 /bound2 Rplus_assoc; apply: Rplus_le_compat_l.
apply: Rle_trans (_ : epoch_value m 2 (2 * n) z z j0 <= _); last first.
  rewrite -Phi0 mult_INR plus_INR (_ : INR 3 = 3); last by rewrite /INR; lra.
  by apply: epochs => //; exact: inv0.
rewrite -[X in X <= _](Ei_const dnu n); apply: Ei_le_size => // s sz.
by rewrite -(add_frequency_W G eta gamma rho n0 z s) fold_addw sz; lra.
Qed.
End Main.
