(** Missing feedback: in each round the feedback is lost with probability [delta], whatever else
    happens.

    Both algorithms learn from such a round as from one that reveals nothing, and their regret grows
    by a factor of 1 / (1 - delta) at most. The reason: an arm that is not shown is treated like an
    arm that is shown with loss 0, so the learner behaves as if a random part of the losses were 0.
    *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Programs Retention KnownLaw Main.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * What is stated *)
Section Model.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (delta : R).

(** The interaction of Statement, with one more draw in each round: is the feedback lost? *)
Fixpoint play_missing (l : learner C A) (n t : nat) (s : state l) : prog (seq (C * A)) :=
  if n is n'.+1 then
    Draw nu (fun c => Draw (policy s c) (fun a => Draw (coin delta) (fun lost : bool =>
      bind (learn s c a (if lost then fun _ _ => None else see G loss t a)) (fun s' =>
        bind (play_missing n' t.+1 s') (fun h => Ret ((c, a) :: h))))))
  else Ret [::].
Definition Reg_missing (l : learner C A) (T : nat) (pi : C -> A) : R :=
  E (play_missing T 0 (start l)) (regret loss pi 0).
End Model.

(** Every draw is from a distribution, and regret is at most [B / (1 - delta)]. *)
Definition missing_at_most (C A : finType) (nu : C -> R) (G : rel A) (l : learner C A) (T : nat)
  (B : R) :=
  forall (loss : nat -> C -> A -> R) (pi : C -> A) (delta : R), (forall t c a, 0 <= loss t c a <=
    1) -> 0 <= delta < 1 ->
    valid (play_missing nu G loss delta T 0 (start l)) /\ Reg_missing nu G loss delta l T pi <=
      B / (1 - delta).

(** * The proof *)

(** Feedback that means the same: an arm that is not shown counts as loss 0. *)
Definition same (C A : finType) (o o' : C -> A -> option R) := forall c a, odflt 0 (o c a) =
  odflt 0 (o' c a).

Section Proof.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (delta : R)
  (l : learner C A) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis delta01 : 0 <= delta < 1.
Hypothesis dp : forall s c, dist (policy (l := l) s c).
Hypothesis vl : forall s c a o, valid (learn (l := l) s c a o).
(** States between which the learner does not distinguish. *)
Variable alike : state l -> state l -> Prop.
Hypothesis alike_refl : forall s, alike s s.
Hypothesis alike_policy : forall s s', alike s s' -> policy s = policy s'.
Hypothesis alike_learn : forall s s' c a o o' (f f' : state l -> R), alike s s' -> same o o' ->
  (forall x x', alike x x' -> f x = f' x') -> E (learn s c a o) f = E (learn s' c a o') f'.

Definition mask (xi : nat -> bool) t c a := if xi t then 0 else loss t c a.
Let d (ls : nat -> C -> A -> R) t c a := ls t c a - ls t c (pi c).
Let V xi n t s := E (play nu G (mask xi) (l := l) n t s) (regret (mask xi) pi t).
Let VM n t s := E (play_missing nu G loss delta (l := l) n t s) (regret loss pi t).

(** Whether feedback is lost is drawn from a distribution. *)
Lemma coin_valid : dist (coin delta). Proof. by apply: coin_dist; lra. Qed.

(** One round of a run with masked losses. *)
Lemma V_S xi n t s : V xi n.+1 t s = \rsum_c (nu c * \rsum_a (policy s c a *
  (d (mask xi) t c a + E (learn s c a (see G (mask xi) t a)) (V xi n t.+1)))).
Proof. exact: play_S. Qed.

(** Runs with missing feedback are valid. *)
Lemma VM_valid n t s : valid (play_missing nu G loss delta (l := l) n t s).
Proof.
elim: n t s => //= n IH t s; split=> // c; split=> // a; split=> [|b]; first exact: coin_valid.
by apply: bind_valid => // s'; exact: bind_valid.
Qed.

(** One round of such a run. *)
Lemma VM_S n t s : VM n.+1 t s = \rsum_c (nu c * \rsum_a (policy s c a * (d loss t c a +
  \rsum_b (coin delta b * E (learn s c a (if b then fun _ _ => None else see G loss t a))
    (VM n t.+1))))).
Proof.
rewrite /VM /=; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
rewrite [d _ _ _ _ in RHS](dist_const _ coin_valid) -rsum_split; apply: rsum_eqr => b _.
rewrite -Rmult_plus_distr_l; congr Rmult; rewrite E_bind -E_addc //; apply: E_ext => s'.
by rewrite E_bind /= E_addc //; exact: VM_valid.
Qed.

(** The average over the rounds [t], ..., [t + n - 1] in which feedback is lost. *)
Fixpoint Exi (n t : nat) (xi : nat -> bool) (f : (nat -> bool) -> R) : R :=
  if n is n'.+1 then \rsum_b (coin delta b * Exi n' t.+1 (fun r => if r == t then b else xi r) f)
    else f xi.

(** The mean over masks is at most a bound of all of them. *)
Lemma Exi_le n t xi f B : (forall xi, f xi <= B) -> Exi n t xi f <= B.
Proof.
move=> h; elim: n t xi => [|n IH] t xi //=; rewrite [X in _ <= X](dist_const _ coin_valid).
by apply: rsum_le => b _; apply: Rmult_le_compat_l => //; exact: (proj1 coin_valid).
Qed.

(** Rounds before [t] are as in [xi]. *)
Lemma Exi_ext n t xi f g : (forall xi', (forall r, (r < t)%N -> xi' r = xi r) -> f xi' = g xi') ->
  Exi n t xi f = Exi n t xi g.
Proof.
elim: n t xi => [|n IH] t xi h /=; first exact: h.
apply: rsum_eqr => b _; congr Rmult; apply: IH => xi' hx; apply: h => r rt.
by rewrite hx ?(ltn_eqF rt) //; exact: ltnW.
Qed.

(** A constant is its mean. *)
Lemma Exi_const n t xi a : Exi n t xi (fun=> a) = a.
Proof. by elim: n t xi => //= n IH t xi; rewrite [RHS](dist_const _ coin_valid);
  apply: rsum_eqr => b _; rewrite IH. Qed.

(** The mean over masks moves into sums. *)
Lemma Exi_sum (I : finType) (w : I -> R) n t xi (f : I -> (nat -> bool) -> R) :
  Exi n t xi (fun x => \rsum_i (w i * f i x)) = \rsum_i (w i * Exi n t xi (f i)).
Proof.
elim: n t xi => //= n IH t xi.
rewrite (rsum_eqr (G := fun b => \rsum_i (w i * (coin delta b * Exi n t.+1 (fun r =>
  if r == t then b else xi r) (f i))))).
  by rewrite rsum_exchange; apply: rsum_eqr => i _; rewrite -rsum_mull.
by move=> b _; rewrite IH rsum_mull; apply: rsum_eqr => i _;
  rewrite -!Rmult_assoc [coin _ _ * _]Rmult_comm.
Qed.

(** It is linear. *)
Lemma Exi_add n t xi f g : Exi n t xi (fun x => f x + g x) = Exi n t xi f + Exi n t xi g.
Proof.
elim: n t xi => //= n IH t xi; rewrite -rsum_split; apply: rsum_eqr => b _.
by rewrite IH; ring.
Qed.

(** It moves into expectations of programs. *)
Lemma Exi_E X (m : prog X) n t xi (f : (nat -> bool) -> X -> R) :
  Exi n t xi (fun x => E m (f x)) = E m (fun y => Exi n t xi (fun x => f x y)).
Proof. by elim: m => //= I w k IH; rewrite Exi_sum; apply: rsum_eqr => i _; rewrite IH. Qed.

(** On average over what is lost, the regret on the remaining losses is 1 - delta times the regret
    on all losses. *)
Lemma average n t xi s s' : alike s s' -> Exi n t xi (fun xi => V xi n t s) = (1 - delta) * VM n t
  s'.
Proof.
elim: n t xi s s' => [|n IH] t xi s s' ss; first by rewrite /V /VM /=; ring.
rewrite VM_S [Exi _ _ _ _]/=.
have step b : Exi n t.+1 (fun r => if r == t then b else xi r) (fun xi => V xi n.+1 t s) =
  \rsum_c (nu c * \rsum_a (policy s' c a * ((if b then 0 else d loss t c a)
     + (1 - delta) * E (learn s' c a (if b then fun _ _ => None else see G loss t a))
       (VM n t.+1)))).
  set xb := fun r => _.
  rewrite (@Exi_ext n t.+1 xb _ (fun xi' => \rsum_c (nu c * \rsum_a (policy s c a *
    ((if b then 0 else d loss t c a)
     + E (learn s c a (fun c a' => if G a a' then Some (if b then 0 else loss t c a') else None))
       (V xi' n t.+1)))))); last first.
    move=> xi' hx; have xt : xi' t = b by rewrite hx ?ltnSn // /xb eqxx.
    rewrite V_S; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _;
      congr (_ * (_ + E (learn s c a _) _)).
      by rewrite /d /mask xt; case: b {xb hx xt}; ring.
    by apply: functional_extensionality => c'; apply: functional_extensionality => a';
      rewrite /see /mask xt.
  rewrite Exi_sum; apply: rsum_eqr => c _; congr Rmult; rewrite Exi_sum -(alike_policy ss).
  apply: rsum_eqr => a _; rewrite Exi_add Exi_const Exi_E; congr (_ * (_ + _)).
  rewrite -E_scale; apply: alike_learn => // [c' a'|x x' xx]; last exact: IH.
  by case: b {xb}; rewrite /see; case: (G a a').
rewrite rsum_bool (step true) (step false) /coin !rsum_mull -rsum_split; apply: rsum_eqr => c _.
have -> (x y z u v : R) : x * (y * z) + u * (y * v) = y * (x * z + u * v) by ring.
have -> (x y z : R) : x * (y * z) = y * (x * z) by ring.
congr Rmult; rewrite !rsum_mull -rsum_split; apply: rsum_eqr => a _.
by rewrite rsum_bool; ring.
Qed.

(** The bound for masked losses gives one for missing feedback. *)
Theorem missing_le T B : (forall xi, Reg nu G (mask xi) l T pi <= B) ->
  valid (play_missing nu G loss delta T 0 (start l)) /\ Reg_missing nu G loss delta l T pi <=
    B / (1 - delta).
Proof.
move=> h; split; first exact: VM_valid.
apply: (Rmult_le_reg_l (1 - delta)); first by lra.
have -> : (1 - delta) * (B / (1 - delta)) = B by field; lra.
by rewrite -/(VM T 0 (start l)) -(average T 0 (fun=> false) (alike_refl (start l))); exact: Exi_le.
Qed.
End Proof.

(** What reveals nothing counts as a loss of 0. *)
Lemma shown (f : R -> R) (o o' : option R) : f 0 = 0 -> odflt 0 o = odflt 0 o' ->
  (if o is Some x then f x else 0) = (if o' is Some x then f x else 0).
Proof. by move=> f0; case: o => [x|]; case: o' => [x'|] //=; [move=> -> | move=> -> | move=> <-].
  Qed.

(** Masked losses are in [0, 1]. *)
Lemma mask01 (C A : finType) (loss : nat -> C -> A -> R) xi :
  (forall t c a, 0 <= loss t c a <= 1) -> forall t c a, 0 <= mask loss xi t c a <= 1.
Proof. by move=> l01 t c a; rewrite /mask; case: ifP => _; [lra | exact: l01]. Qed.

(** Algorithm 1 under missing feedback. *)
Theorem missing1 (C A : finType) (nu : C -> R) (G : rel A) (eta gamma rho beta : R) (T : nat)
  (B : R) :
  dist nu -> 0 < rho < 1 -> regret_at_most nu G (algorithm1 nu G eta gamma rho beta) T B ->
  missing_at_most nu G (algorithm1 nu G eta gamma rho beta) T B.
Proof.
move=> dn r1 h loss pi delta l01 d01; have a0 := some_arm pi dn.
apply: (@missing_le _ _ _ _ _ _ (algorithm1 nu G eta gamma rho beta) _ dn d01 _ _ eq) => //.
- by move=> s c; exact: (mixed_dist a0 eta r1).
- by move=> s s' ->.
- move=> s _ c a o o' f f' <- so ff; rewrite /= (ff _ (update1 nu G eta gamma rho beta s o')) //.
  apply: functional_extensionality => c'; apply: functional_extensionality => a'; rewrite /update1;
    congr (_ + (_ + _)).
  by apply: (@shown (fun x => x / u1 nu G eta gamma rho s a')) (so c' a'); rewrite /Rdiv; ring.
- by move=> xi; have [] := h (mask loss xi) pi (mask01 xi l01).
Qed.

(** Algorithm 2 under missing feedback. *)
Section Missing2.
Variables (C A : finType) (G : rel A) (eta gamma rho beta : R) (n : nat).
(** Two states are alike if they differ at most in feedback that means the same, in the first round
    of an open pair. *)
Definition alike_half (h h' : option (C * A * feedback C A)) := match h, h' with
  | Some (c, a, o), Some (c', a', o') => [/\ c = c', a = a' & same o o']
  | None, None => True
  | _, _ => False
  end.
Definition alike2 (s s' : memory C A) := alike_half (half s) (half s') /\
  s' = Memory (total s) (snap s) (snap_next s) (W s) (special s) (w_hat s) (m_hat s) (epoch s)
    (pairs s) (half s').

(** A state is like itself. *)
Lemma alike2_refl s : alike2 s s.
Proof. by split; [case: (half s) => [[[c a] o]|] | case: s]. Qed.

(** Estimates do not tell feedback that is missing from losses of 0. *)
Lemma estimate_same (s : memory C A) kept o o' : same o o' -> estimate2 s kept o =
  estimate2 s kept o'.
Proof.
move=> so; apply: functional_extensionality => c; apply: functional_extensionality => a;
  rewrite /estimate2.
case: kept => //; apply: (@shown (fun x => 2 * x / W s a)) (so c a); rewrite /Rdiv; ring.
Qed.

Local Arguments estimate2 : simpl never.
(** Neither does the learner. *)
Lemma learn2_alike s s' c a o o' (f f' : memory C A -> R) : alike2 s s' -> same o o' ->
  (forall x x', alike2 x x' -> f x = f' x') ->
  E (learn2 G eta gamma rho beta n s c a o) f = E (learn2 G eta gamma rho beta n s' c a o') f'.
Proof.
move=> [hh ->] so ff; have fE x : f x = f' x by apply: ff; exact: alike2_refl.
case: s hh => F F0 F1 W0 j wh mh ep i [[[c1 a1] o1]|] /=; case: (half s') => [[[c2 a2] o2]|] //=;
  last first.
  by move=> _; apply: ff; split.
move=> [-> -> so1].
rewrite /learn2 /= !rsum_bool /=; case: ifP => _ /=; first by rewrite !fE.
by rewrite !rsum_bool /= !fE !(estimate_same _ _ so) !(estimate_same _ _ so1).
Qed.
End Missing2.

(** The theorem for Algorithm 2. *)
Theorem missing2 (C A : finType) (nu : C -> R) (G : rel A) (eta gamma rho beta : R) (n T : nat)
  (B : R) :
  dist nu -> 0 < rho < 1 -> regret_at_most nu G (algorithm2 C G eta gamma rho beta n) T B ->
  missing_at_most nu G (algorithm2 C G eta gamma rho beta n) T B.
Proof.
move=> dn r1 h loss pi delta l01 d01; have a0 := some_arm pi dn.
apply: (@missing_le _ _ _ _ _ _ (algorithm2 C G eta gamma rho beta n) _ dn d01 _ _ (@alike2 C A)) =>
  //.
- by move=> s c; exact: policy2_dist.
- by move=> s c a o; exact: learn2_valid.
- exact: alike2_refl.
- by move=> s s' [_ ->].
- by move=> s s' c a o o' f f'; exact: learn2_alike.
- by move=> xi; have [] := h (mask loss xi) pi (mask01 xi l01).
Qed.
