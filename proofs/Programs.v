(** Facts about randomised programs and about runs of a learner. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** The expectation of one program after another is an iterated one. *)
Lemma E_bind X Y (m : prog X) (f : X -> prog Y) g : E (bind m f) g = E m (fun x => E (f x) g).
Proof. by elim: m => //= I w k IH; apply: eq_bigr => i _; rewrite IH. Qed.

(** Expectations are linear and monotone. *)
Lemma E_ext X (m : prog X) f g : (forall x, f x = g x) -> E m f = E m g.
Proof. by move=> h; elim: m => //= I w k IH; apply: eq_bigr => i _; rewrite IH. Qed.

(** A constant is its mean. *)
Lemma E_const X (m : prog X) a : valid m -> E m (fun=> a) = a.
Proof.
elim: m => //= I w k IH [dw vk]; rewrite (eq_bigr (fun i => w i * a)); last by move=> i _;
  rewrite IH.
exact: (dist_ip_const a dw).
Qed.

(** Expectations add up. *)
Lemma E_add X (m : prog X) f g : E m (fun x => f x + g x) = E m f + E m g.
Proof.
elim: m => //= I w k IH; rewrite -rsum_split; apply: eq_bigr => i _.
by rewrite IH; ring.
Qed.

(** A factor moves out, *)
Lemma E_scale X (m : prog X) a f : E m (fun x => a * f x) = a * E m f.
Proof. by elim: m => //= I w k IH; rewrite rsum_mull; apply: rsum_eqr => i _; rewrite IH; ring. Qed.

(** and so does a constant. *)
Lemma E_addc X (m : prog X) a f : valid m -> E m (fun x => a + f x) = a + E m f.
Proof. by move=> vm; rewrite E_add E_const. Qed.

(** Expectations are monotone. *)
Lemma E_le X (m : prog X) f g : valid m -> (forall x, f x <= g x) -> E m f <= E m g.
Proof.
move=> vm h; elim: m vm => //= I w k IH [[w0 _] vk]; apply: rsum_le => i _.
by apply: Rmult_le_compat_l => //; exact: IH.
Qed.

(** One valid program after another is valid. *)
Lemma bind_valid X Y (m : prog X) (f : X -> prog Y) :
  valid m -> (forall x, valid (f x)) -> valid (bind m f).
Proof. by move=> vm vf; elim: m vm => //= I w k IH [dw vk]; split=> // i; exact: IH. Qed.

(** If one round costs at most [B] beyond the fall of a non-negative potential, [n] rounds cost at
    most the initial potential plus [n B]. *)
Section Potential.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (Lr : learner C A).
Variable pi : C -> A.
Variable Phi : state Lr -> R.
Variable B : R.
Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall s c, dist (policy (l := Lr) s c).
Hypothesis learn_valid : forall s c a o, valid (learn (l := Lr) s c a o).
Hypothesis Phi0 : forall s, 0 <= Phi s.
Hypothesis step : forall t s,
  \rsum_c (nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see G loss t a)) Phi))) <= Phi s + B.

(** A learner whose policies and updates are valid has valid runs. *)
Lemma play_valid n t s : valid (play nu G loss (l := Lr) n t s).
Proof.
elim: n t s => //= n IH t s; split=> // c; split=> // a.
apply: bind_valid => // s'; exact: bind_valid.
Qed.

(** One round of a run. *)
Lemma play_S n t s : E (play nu G loss (l := Lr) n.+1 t s) (regret loss pi t) =
  \rsum_c (nu c * \rsum_a (policy s c a * (loss t c a - loss t c (pi c)
    + E (learn s c a (see G loss t a)) (fun s' => E (play nu G loss (l := Lr) n t.+1 s')
      (regret loss pi t.+1))))).
Proof.
rewrite /=; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
rewrite E_bind -E_addc //; apply: E_ext => s'; rewrite E_bind /= E_addc //; exact: play_valid.
Qed.

(** The potential argument. *)
Lemma run_potential n t s :
  E (play nu G loss (l := Lr) n t s) (regret loss pi t) <= Phi s + INR n * B.
Proof.
elim: n t s => [|n IH] t s; first by rewrite /= /INR; have := Phi0 s; lra.
have [nu0 nu1] := nu_dist.
apply: (Rle_trans _ (\rsum_c (nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see G loss t a)) Phi + INR n * B))))).
  rewrite /=; apply: rsum_le => c _; apply: Rmult_le_compat_l => //.
  apply: rsum_le => a _; apply: Rmult_le_compat_l; first exact: (proj1 (pol_dist s c)).
  rewrite E_bind.
  apply: (Rle_trans _ (E (learn s c a (see G loss t a))
      (fun s' => (loss t c a - loss t c (pi c) + INR n * B) + Phi s'))).
    apply: E_le => // s'; rewrite E_bind /= E_addc; last exact: play_valid.
    by have := IH t.+1 s'; lra.
  by rewrite E_addc //; lra.
have hs := step t s.
rewrite S_INR (eq_bigr (fun c => nu c * \rsum_a (policy s c a *
     (loss t c a - loss t c (pi c) + E (learn s c a (see G loss t a)) Phi)) + nu c * (INR n * B))).
  by rewrite rsum_split -rsum_mulr nu1; lra.
move=> c _; rewrite -Rmult_plus_distr_l; congr Rmult.
have [_ p1] := pol_dist s c.
rewrite -[INR n * B in RHS]Rmult_1_l -p1 rsum_mulr -rsum_split; apply: eq_bigr => a _.
by ring.
Qed.
End Potential.

(** Regret is at most one in each round. *)
Lemma run_le (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (l : learner C A)
  (pi : C -> A) n t s :
  dist nu -> (forall s c, dist (policy (l := l) s c)) -> (forall s c a o,
    valid (learn (l := l) s c a o)) ->
  (forall t c a, 0 <= loss t c a <= 1) ->
  E (play nu G loss (l := l) n t s) (regret loss pi t) <= INR n.
Proof.
move=> dn dp vl l01; have h := @run_potential C A nu G loss l pi (fun=> 0) 1 dn dp vl _ _ n t s.
apply: Rle_trans (h _ _) _ => [s'|t' s'|]; [lra | | lra].
rewrite Rplus_0_l [X in _ <= X](dist_const _ dn); apply: rsum_le => c _; apply: Rmult_le_compat_l;
  first exact: (proj1 dn).
rewrite [X in _ <= X](dist_const _ (dp s' c)); apply: rsum_le => a _; apply: Rmult_le_compat_l;
  first exact: (proj1 (dp s' c)).
by rewrite E_const //; have := l01 t' c a; have := l01 t' c (pi c); lra.
Qed.

(** Rounds with zero loss cost nothing: a run of [T] rounds is a run of [T + m] rounds with padded
    losses. *)
Section Pad.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (Lr : learner C A).
Variables (pi : C -> A) (T : nat).
Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall s c, dist (policy (l := Lr) s c).
Hypothesis learn_valid : forall s c a o, valid (learn (l := Lr) s c a o).
Definition padded t c a := if (t < T)%N then loss t c a else 0.

(** Padded rounds cost nothing. *)
Lemma regret_zero t h : (T <= t)%N -> regret padded pi t h = 0.
Proof.
elim: h t => [|[c a] h IH] t Tt //=; rewrite IH; last exact: leqW.
by rewrite /padded ltnNge Tt /=; ring.
Qed.

(** Before the padding, feedback is the same. *)
Lemma see_pad t a : (t < T)%N -> see G padded t a = see G loss t a.
Proof.
move=> h; apply: functional_extensionality => c; apply: functional_extensionality => a'.
by rewrite /see /padded h.
Qed.

(** So a run has the regret of the padded run. *)
Lemma pad_run m N t s : (N + t = T)%N ->
  E (play nu G loss (l := Lr) N t s) (regret loss pi t) =
  E (play nu G padded (l := Lr) (N + m) t s) (regret padded pi t).
Proof.
elim: N t s => [|N IH] t s NT.
  rewrite /= (@E_ext _ _ (regret padded pi t) (fun=> 0)); last by move=> h; apply: regret_zero;
    rewrite -NT.
  by rewrite E_const //; exact: play_valid.
have tT : (t < T)%N by rewrite -NT -{1}[t]add0n ltn_add2r.
rewrite /=; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
rewrite see_pad // !E_bind; apply: E_ext => s'; rewrite !E_bind /= !E_addc;
  [|exact: play_valid|exact: play_valid].
rewrite IH; last by rewrite addnS -addSn.
by congr (_ + _); rewrite /padded tT.
Qed.

(** The regret is the same. *)
Lemma Reg_pad m : Reg nu G loss Lr T pi = Reg nu G padded Lr (T + m) pi.
Proof. by rewrite /Reg; apply: pad_run; rewrite addn0. Qed.
End Pad.

