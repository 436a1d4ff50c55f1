(** The two theorems, as stated in [Statement]. *)
From Crossbandit Require Import FiniteSums Selector Ftrl Programs Retention KnownLaw KnownRate Rate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** A law of contexts has a context, so a policy has an arm. *)
Lemma some_arm (C A : finType) (nu : C -> R) (pi : C -> A) : dist nu -> A.
Proof.
move=> [_ n1]; case: (pickP (fun _ : C => true)) => [c _|none]; first exact: (pi c).
by exfalso; move: n1; rewrite big_pred0 //; lra.
Qed.

Theorem proposition2 : Proposition2.
Proof.
move=> C A nu G T dn so s x s2 loss pi l01; have a0 := some_arm pi dn.
split; last exact: known_rate.
have x01 : 0 < x < 1.
  by split; [apply: Rinv_0_lt_compat; lra | rewrite -Rinv_1; apply: Rinv_lt_contravar; lra].
by apply: play_valid => // L c; exact: (@mixed_dist C A a0 x x).
Qed.

Theorem theorem1 : Theorem1.
Proof.
move=> C A nu G T dn so T0 K iota n gamma loss pi l01; have a0 := some_arm pi dn.
split; last exact: main_rate.
have [g0 g2] : 0 < gamma <= / 2 by apply: (@gamma_bd A a0 G T).
have r1 : 0 < gamma < 1 by lra.
by apply: play_valid => // *; [exact: policy2_dist | exact: learn2_valid].
Qed.
