(** Algorithm 2: every draw is from a distribution, in every state, and the law of the retained
    output (Equation 3). *)
From Crossbandit Require Import FiniteSums Ftrl Programs Concentration.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Algorithm2.
Variables (C A : finType) (G : rel A).
Variables (eta gamma rho beta : R) (n : nat).      (* n = L / 2 pairs per epoch *)

Local Notation q := (@q C A eta rho).
Local Notation re := (@re C A eta rho).
Local Notation rp := (@rp C A eta rho).
Local Notation policy2 := (@policy2 C A eta rho).
Local Notation learn2 := (@learn2 C A G eta gamma rho beta n).
Local Notation mix := (@mix A rho).

Hypothesis rho01 : 0 < rho < 1.
Variable a0 : A.

(** Uniform mixing bounds every probability from below. *)
Lemma mix_ge p a : dist p -> rho / INR #|A| <= mix p a.
Proof. by move=> [p0 _]; rewrite /Statement.mix; have := Rmult_le_pos (1 - rho) (p a) _ (p0 a); lra.
  Qed.

(** Mixing keeps distributions. *)
Lemma mix_dist p : dist p -> dist (mix p).
Proof.
move=> dp; have k0 := card_gt0 a0; split=> [a|].
  have h := mix_ge a dp; have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
  by lra.
rewrite /Statement.mix rsum_split -rsum_mull (proj2 dp) rsum_const.
by rewrite (_ : #|[pred i | _]| = #|A|); [field; lra | exact: eq_card].
Qed.

(** The played distribution is a distribution. *)
Lemma q_dist s c : dist (q s c).
Proof. by rewrite /Statement.q; case: ifP => _; apply: mix_dist; exact: softmax_dist. Qed.

(** The policies of Algorithm 2 are distributions. *)
Lemma policy2_dist s c : dist (policy2 s c).
Proof. by rewrite /Statement.policy2; case: ifP => _; [exact: softmax_dist | exact: q_dist]. Qed.

(** So is a coin. *)
Lemma coin_dist x : 0 <= x <= 1 -> dist (coin x).
Proof.
move=> h; split=> [[]|]; rewrite /coin; [lra | lra |].
have -> : \rsum_(b : bool) (if b then x else 1 - x) = x + (1 - x) by exact: big_bool.
by ring.
Qed.

(** The probability of retention is a probability: this is what the fallback is for. *)
Lemma keep_prob s c a : 0 <= re s c a / (2 * q s c a) <= 1.
Proof.
have k0 := card_gt0 a0; have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have r0 : 0 < re s c a.
  by have := mix_ge a (softmax_dist a0 eta (snap s c)); rewrite /Statement.re; lra.
have q0 : 0 < q s c a by rewrite /Statement.q; case: ifP => _ //;
  have := mix_ge a (softmax_dist a0 eta (total s c)); rewrite /Statement.rp; lra.
have rq : re s c a <= 2 * q s c a.
  rewrite /Statement.q; case: ifP => [/andP[_ /forallP /(_ a)]|_]; last by lra.
  by rewrite /geb; case: Rle_dec.
split; first by apply: Rmult_le_pos; [lra | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
apply: (Rmult_le_reg_r (2 * q s c a)); first by lra.
by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
Qed.

(** Every draw of the update is from a distribution. *)
Lemma learn2_valid s c a o : valid (learn2 s c a o).
Proof.
rewrite /Statement.learn2; case: (half s) => [[[c1 a1] o1]|] //=; split; first by apply: coin_dist;
  lra.
by case=> /=; case: ifP => _ //=; split=> //; apply: coin_dist; exact: keep_prob.
Qed.

(** Equation 3: given the loss-side context, the retained output has law r_e / 2, whatever q is. *)
Lemma equation3_retained s c (f : option A -> R) :
  \rsum_a (q s c a * (\rsum_(b : bool) (coin (re s c a / (2 * q s c a)) b * f (if b then Some a else
    None))))
  = \rsum_a (re s c a / 2 * f (Some a)) + / 2 * f None.
Proof.
have k0 := card_gt0 a0; have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have q0 a : 0 < q s c a.
  by rewrite /Statement.q; case: ifP => _; [have := mix_ge a (softmax_dist a0 eta (total s c))
     | have := mix_ge a (softmax_dist a0 eta (snap s c))]; rewrite /Statement.rp /Statement.re; lra.
rewrite (rsum_eqr (G := fun a => re s c a / 2 * f (Some a) + (q s c a - re s c a / 2) * f None)).
  rewrite rsum_split -rsum_mulr rsum_sub /Rdiv -rsum_mulr (proj2 (q_dist s c)).
  by rewrite (proj2 (mix_dist (softmax_dist a0 eta (snap s c)))); field.
move=> a _; have -> (g : bool -> R) : \rsum_(b : bool) g b = g true + g false by exact: big_bool.
by rewrite /coin; field; have := q0 a; lra.
Qed.
End Algorithm2.
