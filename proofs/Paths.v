(** Runs as sequences of contexts and arms, and what of them is drawn independently of a round. *)
From Crossbandit Require Import FiniteSums Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Paths.
Variables (C A : finType) (d : C * A) (nu : C -> R).
Definition path := seq (C * A).
Variable pol : path -> C -> A -> R.  (* what is played after a path *)
Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall h c, dist (pol h c).

(** The expectation of [f] over the next [n] rounds. *)
Fixpoint EP (n : nat) (h : path) (f : path -> R) : R :=
  if n is n'.+1 then \rsum_c (nu c * \rsum_a (pol h c a * EP n' (rcons h (c, a)) f)) else f h.

(** The same over contexts alone. *)
Fixpoint EC (n : nat) (g : seq C -> R) : R :=
  if n is n'.+1 then \rsum_c (nu c * EC n' (fun cs => g (c :: cs))) else g [::].

(** Expectations of functions that agree on all paths are equal. *)
Lemma EP_ext n h f g : (forall e, size e = n -> f (h ++ e) = g (h ++ e)) -> EP n h f = EP n h g.
Proof.
elim: n h => [|n IH] h fg /=; first by have := fg [::] erefl; rewrite cats0.
apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
by apply: IH => e se; rewrite cat_rcons; apply: fg; rewrite /= se.
Qed.

(** They are monotone. *)
Lemma EP_le n h f g : (forall e, size e = n -> f (h ++ e) <= g (h ++ e)) -> EP n h f <= EP n h g.
Proof.
elim: n h => [|n IH] h fg /=; first by have := fg [::] erefl; rewrite cats0.
apply: rsum_le => c _; apply: Rmult_le_compat_l; first exact: (proj1 nu_dist).
apply: rsum_le => a _; apply: Rmult_le_compat_l; first exact: (proj1 (pol_dist h c)).
by apply: IH => e se; rewrite cat_rcons; apply: fg; rewrite /= se.
Qed.

(** They add up. *)
Lemma EP_add n h f g : EP n h (fun x => f x + g x) = EP n h f + EP n h g.
Proof.
elim: n h => [|n IH] h //=; rewrite -rsum_split; apply: rsum_eqr => c _.
rewrite -Rmult_plus_distr_l -rsum_split; congr Rmult; apply: rsum_eqr => a _.
by rewrite IH; ring.
Qed.

(** A factor moves out. *)
Lemma EP_scale n h a f : EP n h (fun x => a * f x) = a * EP n h f.
Proof.
elim: n h => [|n IH] h //=; rewrite rsum_mull; apply: rsum_eqr => c _.
rewrite (_ : a * _ = nu c * (a * \rsum_a0 (pol h c a0 * EP n (rcons h (c, a0)) f))); last by ring.
by congr Rmult; rewrite rsum_mull; apply: rsum_eqr => b _; rewrite IH; ring.
Qed.

(** The expectation of a difference. *)
Lemma EP_sub n h f g : EP n h (fun x => f x - g x) = EP n h f - EP n h g.
Proof.
rewrite (@EP_ext n h _ (fun x => f x + (-1) * g x)); last by move=> e _; ring.
by rewrite EP_add EP_scale; ring.
Qed.

(** Sums move out of expectations. *)
Lemma EP_sum (I : finType) (P : pred I) n h (f : I -> path -> R) :
  EP n h (fun x => \rsum_(i | P i) f i x) = \rsum_(i | P i) EP n h (f i).
Proof.
elim: n h => [|n IH] h //=.
rewrite exchange_big /=; apply: rsum_eqr => c _; rewrite -rsum_mull; congr Rmult.
rewrite exchange_big /=; apply: rsum_eqr => a _; rewrite -rsum_mull; congr Rmult.
exact: IH.
Qed.

(** A constant is its mean. *)
Lemma EP_const n h a : EP n h (fun=> a) = a.
Proof.
elim: n h => [|n IH] h //=; rewrite [RHS](dist_const _ nu_dist); apply: rsum_eqr => c _.
by congr Rmult; rewrite [RHS](dist_const _ (pol_dist h c)); apply: rsum_eqr => b _; rewrite IH.
Qed.

(** First some rounds, then the others. *)
Lemma EP_split m n h f : EP (m + n) h f = EP m h (fun h' => EP n h' f).
Proof.
elim: m h => [|m IH] h //=.
by apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; rewrite IH.
Qed.

(** What depends on the contexts alone does not depend on what is played. *)
Lemma EP_contexts n h f g : (forall e, size e = n -> f (h ++ e) = g (map fst e)) ->
  EP n h f = EC n g.
Proof.
elim: n h g => [|n IH] h g fg /=; first by have := fg [::] erefl; rewrite cats0.
apply: rsum_eqr => c _; congr Rmult.
rewrite [RHS](dist_const _ (pol_dist h c)); apply: rsum_eqr => a _; congr Rmult.
by apply: IH => e se; rewrite cat_rcons fg //= se.
Qed.

Definition context (h : path) (t : nat) : C := fst (nth d h t).
Definition arm (h : path) (t : nat) : A := snd (nth d h t).

(** Two paths agree but for round [t] and the arms after it. *)
Definition agree (t : nat) (h h' : path) :=
  take t h = take t h' /\ map fst (drop t.+1 h) = map fst (drop t.+1 h').

(** What is free of round [t] and of the arms after it. *)
Definition free_of (N t : nat) X (f : path -> X) :=
  forall h h', size h = N -> size h' = N -> agree t h h' -> f h = f h'.

(** A weighted sum moves out of a mean over contexts. *)
Lemma EC_sum (I : finType) (w : I -> R) n (g : I -> seq C -> R) :
  EC n (fun cs => \rsum_i (w i * g i cs)) = \rsum_i (w i * EC n (g i)).
Proof.
elim: n g => [|n IH] g //=; rewrite (eq_bigr (fun c => \rsum_i (nu c * (w i * EC n (fun cs => g i
  (c :: cs)))))); last by move=> c _; rewrite IH rsum_mull.
rewrite exchange_big /=; apply: rsum_eqr => i _; rewrite rsum_mull; apply: rsum_eqr => c _; ring.
Qed.

(** The context and the arm of a round are drawn independently of what is free of it. *)
Lemma swap N t (F : path -> C -> A -> R) : (t < N)%N ->
  (forall c a, free_of N t (fun h => F h c a)) ->
  EP N [::] (fun h => F h (context h t) (arm h t))
  = EP N [::] (fun h => \rsum_c (nu c * \rsum_a (pol (take t h) c a * F h c a))).
Proof.
move=> tN; have [m ->] : exists m, N = (t + m.+1)%N by exists (N - t.+1)%N;
  rewrite addnS -addSn subnKC.
move=> Ff; rewrite !EP_split; apply: EP_ext => h st; rewrite cat0s.
pose pad cs := h ++ d :: [seq (c, snd d) | c <- cs].
have fst_pad cs : map fst [seq (c, snd d) | c <- cs] = cs.
  by rewrite -map_comp (eq_map (f2 := id)) ?map_id.
have at_h x e : take t (h ++ x :: e) = h by rewrite take_size_cat.
have after x e : drop t.+1 (h ++ x :: e) = e by rewrite -cat_rcons drop_size_cat // size_rcons st.
have nth_h x e : nth d (h ++ x :: e) t = x by rewrite nth_cat st ltnn subnn.
have Fp x e c a : size e = m -> F (h ++ x :: e) c a = F (pad (map fst e)) c a.
  move=> se; apply: Ff; rewrite /pad ?size_cat /= ?size_map ?st ?se //.
  by split; rewrite ?at_h ?after ?fst_pad.
transitivity (EC m (fun cs => \rsum_c (nu c * \rsum_a (pol h c a * F (pad cs) c a)))).
  rewrite EC_sum /=; apply: rsum_eqr => c _; congr Rmult.
  rewrite EC_sum; apply: rsum_eqr => a _; congr Rmult.
  apply: EP_contexts => e se; rewrite cat_rcons /context /arm nth_h /=; exact: Fp.
rewrite /= [LHS](dist_const _ nu_dist); apply: rsum_eqr => c _; congr Rmult.
rewrite [LHS](dist_const _ (pol_dist h c)); apply: rsum_eqr => a _; congr Rmult.
symmetry; apply: EP_contexts => e se; rewrite cat_rcons at_h.
by apply: rsum_eqr => c' _; congr Rmult; apply: rsum_eqr => a' _; rewrite Fp.
Qed.

(** The arm of a round is drawn by its policy, given the contexts of all rounds. *)
Lemma swap_arm N t (F : path -> A -> R) : (t < N)%N ->
  (forall a h h', size h = N -> size h' = N -> take t h = take t h' ->
    map fst (drop t h) = map fst (drop t h') -> F h a = F h' a) ->
  EP N [::] (fun h => F h (arm h t))
  = EP N [::] (fun h => \rsum_a (pol (take t h) (context h t) a * F h a)).
Proof.
move=> tN; have [m ->] : exists m, N = (t + m.+1)%N by exists (N - t.+1)%N;
  rewrite addnS -addSn subnKC.
move=> Ff; rewrite !EP_split; apply: EP_ext => h st; rewrite cat0s.
pose pad c cs := h ++ (c, snd d) :: [seq (c', snd d) | c' <- cs].
have nth_h x e : nth d (h ++ x :: e) t = x by rewrite nth_cat st ltnn subnn.
have Fp c a e b : size e = m -> F (h ++ (c, a) :: e) b = F (pad c (map fst e)) b.
  move=> se; apply: Ff; rewrite /pad ?size_cat /= ?size_map ?st ?se // ?take_size_cat //.
  rewrite !drop_size_cat //=; congr cons.
  by rewrite -[RHS]map_comp (eq_map (f2 := id)) ?map_id.
apply: rsum_eqr => c _; congr Rmult.
transitivity (EC m (fun cs => \rsum_a (pol h c a * F (pad c cs) a))).
  rewrite EC_sum; apply: rsum_eqr => a _; congr Rmult.
  by apply: EP_contexts => e se; rewrite cat_rcons /arm nth_h /=; exact: Fp.
rewrite [LHS](dist_const _ (pol_dist h c)); apply: rsum_eqr => a _; congr Rmult.
symmetry; apply: EP_contexts => e se; rewrite cat_rcons take_size_cat // /context nth_h /=.
by apply: rsum_eqr => b _; rewrite Fp.
Qed.

(** The same for what needs the context alone. *)
Lemma swap_context N t (F : path -> C -> R) : (t < N)%N -> (forall c,
  free_of N t (fun h => F h c)) ->
  EP N [::] (fun h => F h (context h t)) = EP N [::] (fun h => \rsum_c (nu c * F h c)).
Proof.
move=> tN Ff; rewrite (swap (F := fun h c _ => F h c)) //; apply: EP_ext => h _.
apply: rsum_eqr => c _; congr Rmult; rewrite [RHS](dist_const _ (pol_dist (take t h) c)) //.
Qed.
End Paths.

(** A learner that plays by what has happened so far. *)
Definition by_history (C A : finType) (pol : path C A -> C -> A -> R) : learner C A :=
  Learner [::] pol (fun h c a _ => Ret (rcons h (c, a))).

(** Its regret, in the sense of [Statement]. *)
Lemma Reg_by_history (C A : finType) (nu : C -> R) (G : rel A) loss (pi : C -> A) pol N :
  Reg nu G loss (by_history pol) N pi = EP nu pol N [::] (regret loss pi 0).
Proof.
have all n t (h : path C A) f : E (play nu G loss (l := by_history pol) n t h) f
    = EP nu pol n h (fun x => f (drop (size h) x)).
  elim: n t h f => [|n IH] t h f; first by rewrite /= drop_size.
  rewrite /=; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
  rewrite E_bind IH; apply: EP_ext => e _ /=.
  by rewrite drop_size_cat // cat_rcons drop_size_cat.
by rewrite /Reg /run all; apply: EP_ext => e _; rewrite drop0.
Qed.
