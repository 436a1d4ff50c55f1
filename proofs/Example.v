(** The hypotheses of the theorems can be met: two contexts, and two arms neither of which reveals
    itself. *)
From Crossbandit Require Import FiniteSums Main.
Open Scope R_scope.

Definition other : rel bool := fun v a => v != a.

(** No two arms of the example are independent. *)
Lemma alpha_other : alpha other = 1%N.
Proof.
apply/eqP; rewrite eqn_leq; apply/andP; split.
  apply/bigmax_leqP => S /forall_inP indS; apply/card_le1_eqP => a b aS bS; apply/eqP;
    apply: contraT => ab.
  by have /forall_inP/(_ a aS)/implyP/(_ ab) := indS b bS; rewrite /other ab.
rewrite -(cards1 true); apply: (@leq_bigmax_cond _ (fun S : {set bool} => indep other S) (fun S =>
  #|S|) [set true]).
by apply/forall_inP => a /set1P ->; apply/forall_inP => b /set1P ->.
Qed.

(** Theorem 1 for this example, with its numbers. *)
Example two_arms (T : nat) : (0 < T)%N ->
  let iota := ln (4 * INR T) in
  let n := Z.to_nat (up (3 / 8 * iota * sqrt (INR T / (1 + ln 2)))) in
  let gamma := Rmin (/ 2) (iota / (2 * INR n)) in
  regret_at_most (fun _ : bool => / 2) other (algorithm2 bool_finType other (/ (64 * INR n)) gamma
    gamma (4 * gamma) n) T
    (48 * (sqrt (INR T * (1 + ln 2)) * ln (4 * INR T))).
Proof.
move=> T0.
have dn : dist (fun _ : bool => / 2) by split; [move=> _; lra | rewrite big_bool /=; lra].
have so : strongly_observable other by move=> a; right.
have := @theorem1 _ _ _ other T dn so T0.
cbv zeta; rewrite alpha_other card_bool.
have -> : INR 1 = 1 by [].
have -> : INR 2 = 2 by rewrite /INR; lra.
have -> : 2 * 2 = 4 by lra.
by rewrite !Rmult_1_l.
Qed.
