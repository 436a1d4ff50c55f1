(** The theorems, as stated in [Statement]. *)
From Crossbandit Require Import FiniteSums Exponential Programs Retention KnownLaw KnownRate Rate.
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

(** The runs are valid. *)
Lemma valid1 (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) loss (eta gamma rho beta : R) T :
  dist nu -> 0 < rho < 1 ->
  valid (run nu G loss (algorithm1 nu G eta gamma rho beta) T).
Proof. by move=> dn r1; apply: play_valid => // L c; exact: (mixed_dist a0 eta r1). Qed.

(** Runs of Algorithm 2 are valid. *)
Lemma valid2 (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) loss (eta gamma rho beta : R) n T :
  dist nu -> 0 < rho < 1 ->
  valid (run nu G loss (algorithm2 C G eta gamma rho beta n) T).
Proof. by move=> dn r1; apply: play_valid => // *; [exact: policy2_dist | exact: learn2_valid]. Qed.

(** Proposition 2 for all parameters that meet its conditions. *)
Theorem proposition2_explicit : Proposition2_explicit.
Proof.
move=> C A nu G T eta gamma rho beta dn so e0 g0 r1 bg es loss pi l01; have a0 := some_arm pi dn.
split; [exact: valid1 | exact: known_explicit].
Qed.

(** Proposition 2, closed form. *)
Theorem proposition2 : Proposition2.
Proof.
move=> C A nu G T dn so s x loss pi l01; have a0 := some_arm pi dn; split; last exact: known_rate.
have s2 : 2 <= s by exact: Rmax_l.
apply: valid1 => //; split; first by apply: Rinv_0_lt_compat; lra.
by rewrite -Rinv_1; apply: Rinv_lt_contravar; lra.
Qed.

(** Theorem 1 for all parameters that meet its conditions. *)
Theorem theorem1_explicit : Theorem1_explicit.
Proof.
move=> C A nu G T n m eta gamma rho beta iota dn so n0 Tm e0 g0 r1 b4 i1 ig ng inn k8 loss pi l01.
have a0 := some_arm pi dn; split; [exact: valid2 | exact: explicit_rate].
Qed.

(** Theorem 1, closed form. *)
Theorem theorem1 : Theorem1.
Proof.
move=> C A nu G T dn so T0 K al iota n gamma loss pi l01; have a0 := some_arm pi dn; split;
  last exact: main_rate.
have lk : 0 <= ln K by rewrite -ln_1; apply: ln_mono; [lra | exact: K1].
have at0 : 0 < al * INR T.
  by apply: Rmult_lt_0_compat; [have := al1 a0 G; rewrite -/al | have := T1 T0]; lra.
have i0 := iota_half a0 T0 (Rle_refl _); rewrite -/K -/iota in i0.
have x0 : 0 < 3 / 8 * iota * sqrt (al * INR T / (1 + ln K)).
  by apply: Rmult_lt_0_compat; [lra | apply: sqrt_lt_R0; apply: Rdiv_lt_0_compat; lra].
have g := share_bd (ltac:(lra) : 0 < iota) x0; rewrite -/n -/gamma in g.
by apply: valid2 => //; lra.
Qed.

(** Theorem 1, closed form, for the epoch length of the paper. *)
Theorem theorem1_paper : Theorem1_paper.
Proof.
move=> C A nu G T CL iota dn so T0 c0 iT scale n gamma loss pi l01; have a0 := some_arm pi dn.
split; last exact: paper_rate.
have i0 := iota_half a0 T0 iT; have a1 := al1 a0 G; have t1 := T1 T0.
have x0 : 0 < CL / 2 * scale.
  apply: Rmult_lt_0_compat; first by lra.
  by apply: sqrt_lt_R0; apply: Rmult_lt_0_compat; [apply: Rmult_lt_0_compat |]; lra.
have g := share_bd (ltac:(lra) : 0 < iota) x0; rewrite -/n -/gamma in g.
by apply: valid2 => //; lra.
Qed.
