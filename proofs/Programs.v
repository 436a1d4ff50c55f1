(* The bandit model. All randomness is finite, so a random process is a tree and an
   expectation is a finite sum: no measure theory. *)
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(* ---- facts about programs ---- *)
Lemma E_bind X Y (m : prog X) (f : X -> prog Y) g : E (bind m f) g = E m (fun x => E (f x) g).
Proof. by elim: m => //= I w k IH; apply: eq_bigr => i _; rewrite IH. Qed.

Lemma E_ext X (m : prog X) f g : (forall x, f x = g x) -> E m f = E m g.
Proof. by move=> h; elim: m => //= I w k IH; apply: eq_bigr => i _; rewrite IH. Qed.

Lemma E_const X (m : prog X) a : valid m -> E m (fun=> a) = a.
Proof.
elim: m => //= I w k IH [dw vk]; rewrite (eq_bigr (fun i => w i * a)); last by move=> i _; rewrite IH.
exact: (dist_ip_const a dw).
Qed.

Lemma E_add X (m : prog X) f g : E m (fun x => f x + g x) = E m f + E m g.
Proof.
elim: m => //= I w k IH; rewrite -rsum_split; apply: eq_bigr => i _.
by rewrite IH; ring.
Qed.

Lemma E_addc X (m : prog X) a f : valid m -> E m (fun x => a + f x) = a + E m f.
Proof. by move=> vm; rewrite E_add E_const. Qed.

Lemma E_le X (m : prog X) f g : valid m -> (forall x, f x <= g x) -> E m f <= E m g.
Proof.
move=> vm h; elim: m vm => //= I w k IH [[w0 _] vk]; apply: rsum_le => i _.
by apply: Rmult_le_compat_l => //; exact: IH.
Qed.

Lemma bind_valid X Y (m : prog X) (f : X -> prog Y) :
  valid m -> (forall x, valid (f x)) -> valid (bind m f).
Proof. by move=> vm vf; elim: m vm => //= I w k IH [dw vk]; split=> // i; exact: IH. Qed.

(* Potential argument for a whole run: if one round costs at most B beyond the fall of a
   non-negative potential, n rounds cost at most the initial potential plus n B. *)
Section Potential.
Variables (C A : finType) (nu : C -> R) (e : rel A) (loss : nat -> C -> A -> R) (Lr : learner C A).
Variable pi : C -> A.
Variable Phi : state Lr -> R.
Variable B : R.
Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall s c, dist (policy (l := Lr) s c).
Hypothesis learn_valid : forall s c a o, valid (learn (l := Lr) s c a o).
Hypothesis Phi0 : forall s, 0 <= Phi s.
Hypothesis step : forall t s,
  \rsum_c (nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see e loss t a)) Phi))) <= Phi s + B.

Lemma play_valid n t s : valid (play nu e loss (l := Lr) n t s).
Proof.
elim: n t s => //= n IH t s; split=> // c; split=> // a.
apply: bind_valid => // s'; exact: bind_valid.
Qed.

Lemma run_potential n t s :
  E (play nu e loss (l := Lr) n t s) (regret loss pi t) <= Phi s + INR n * B.
Proof.
elim: n t s => [|n IH] t s; first by rewrite /= /INR; have := Phi0 s; lra.
have [nu0 nu1] := nu_dist.
apply: (Rle_trans _ (\rsum_c (nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see e loss t a)) Phi + INR n * B))))).
  rewrite /=; apply: rsum_le => c _; apply: Rmult_le_compat_l => //.
  apply: rsum_le => a _; apply: Rmult_le_compat_l; first exact: (proj1 (pol_dist s c)).
  rewrite E_bind.
  apply: (Rle_trans _ (E (learn s c a (see e loss t a))
      (fun s' => (loss t c a - loss t c (pi c) + INR n * B) + Phi s'))).
    apply: E_le => // s'; rewrite E_bind /= E_addc; last exact: play_valid.
    by have := IH t.+1 s'; lra.
  by rewrite E_addc //; lra.
have hs := step t s.
rewrite S_INR (eq_bigr (fun c => nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see e loss t a)) Phi)) + nu c * (INR n * B))).
  by rewrite rsum_split -rsum_mulr nu1; lra.
move=> c _; rewrite -Rmult_plus_distr_l; congr Rmult.
have [_ p1] := pol_dist s c.
rewrite -[INR n * B in RHS]Rmult_1_l -p1 rsum_mulr -rsum_split; apply: eq_bigr => a _.
by ring.
Qed.
End Potential.
