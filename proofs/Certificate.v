(** A bound of the regret that a learner measures while it runs.

    Rounds have a policy that is known before them; losses are estimated with weights that are sums
    over other rounds; estimates may be added late, in parts. The learner measures in fresh contexts
    what this costs. The sum of what it has measured is at least its regret, in the mean. There is
    no condition on the rate but that it falls, and none on the graphs. *)
From Crossbandit Require Import FiniteSums Exponential Programs Ftrl Leaders Paths.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Notation "\rsum_ ( i < n | P ) F" := (\big[Rplus/0%R]_(i < n | P%B) F%R)
  (at level 36, F at level 36, i, n at level 50, format "\rsum_ ( i  <  n  |  P )  F") : R_scope.

Section Certificate.
Variables (C A V : finType) (act : V -> A).   (* [V]: an arm, and what else is drawn with it *)
Variables (d : C * V) (nu : C -> R).
Variable G : nat -> C -> rel A.              (* the graph of a round, in each context *)
Variables (loss : nat -> C -> A -> R) (pi : C -> A) (N : nat).
Variable top : nat -> R.                     (* the largest loss of a round *)
Variable learned : pred nat.                 (* the rounds that are learned from *)
Variable pol : path C V -> C -> V -> R.      (* what is drawn after a path *)
Variable q : nat -> path C V -> C -> A -> R. (* the leader of a round *)
Variable eta : nat -> path C V -> R.
(* What the losses of a round are measured against, and what is taken off it for all arms. *)
Variable m : nat -> path C V -> C -> A -> R.
Variable m0 : nat -> path C V -> C -> R.
Variable B : nat -> nat -> path C V -> A -> R.      (* what context [j] adds to [Z t] *)
Variable left : nat -> path C V -> A -> R.          (* what is counted in place of [rest t] *)
Variable y : nat -> nat -> path C V -> C -> A -> R. (* what round [t] adds after round [u] *)
(* How often costs are measured in a context: of an addition; of what an arm leaves out. *)
Variable kw : nat -> nat -> path C V -> R.
Variable cw : nat -> nat -> path C V -> A -> R.

Local Notation E := (EP nu pol N [::]).
Local Notation context := (context d).
Local Notation arm h t := (act (arm d h t)).
Local Notation free := (free_of N).
Local Notation "\lsum_ t F" := (\rsum_(t < N | learned t) F)
  (at level 36, F at level 36, t at level 0).

(** The probability of observing an arm in a round, in one context and on average. *)
Definition mass t h c a := \rsum_(v | G t c (act v) a) pol (take t h) c v.
Definition w t h a := \rsum_c (nu c * mass t h c a).

(** The weight of a round, which takes the place of 1 / w, and what is left out. *)
Definition Z t h a := \rsum_(j < N) B t j h a.
Definition rest t h a := 1 - \rsum_(j < N) (B t j h a * mass t h (context h j) a).

(** The estimate of the losses of a round. *)
Definition estimate t h c a :=
  m t h c a - m0 t h c
  + ((if G t (context h t) (arm h t) a then (loss t c a - m t h c a) * Z t h a else 0)
     - m t h c a * left t h a).

(** What is added after a round, and what this costs: a gap, and the price of delay. *)
Definition Y h c u a := \lsum_t y t u h c a.
Definition kappa u h c := mix_gap (eta u h) (q u h c) (Y h c u)
  + \lsum_t ip (fun a => q t h c a - q u h c a) (y t u h c).
Definition cut t h c a := q t h c a * left t h a.
Definition plays t h c a := \rsum_(v | act v == a) pol (take t h) c v.
Definition moved t h c := \rsum_a Rmax 0 (plays t h c a - q t h c a).

(** The certificate. All of it is known to the learner. *)
Definition certificate h := \rsum_(t < N | ~~ learned t) top t + ln (INR #|A|) / eta N h
  + \rsum_(j < N) \rsum_(u < N) (kw u j h * kappa u h (context h j))
  + \rsum_(j < N) \lsum_t \rsum_a (cw t j h a * cut t h (context h j) a)
  + \lsum_t moved t h (context h t).

(** Two paths between which a learner does not tell round [t]. *)
Definition same t h h' := [/\ forall c v, pol (take t h) c v = pol (take t h') c v,
  forall c a, q t h c a = q t h' c a, forall c a, m t h c a = m t h' c a
  & forall c, m0 t h c = m0 t h' c].

Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall h c, dist (pol h c).
Hypothesis loss_top : forall t c a, 0 <= loss t c a <= top t.
Hypothesis top1 : forall t, top t <= 1.
Hypothesis learned_lt : forall t, learned t -> (t < N)%N.
Hypothesis eta_gt0 : forall u h, 0 < eta u h.
Hypothesis eta_falls : forall u h, eta u.+1 h <= eta u h.
(** The leader minimises what was added so far. *)
Hypothesis leader : forall u h c a, (u < N)%N -> size h = N ->
  q u h c a = softmax (eta u h) (cum (Y h c) u) a.
(** Leader and baseline are known before the round. *)
Hypothesis known : forall t h h', learned t -> size h = N -> size h' = N -> agree t h h' ->
  same t h h'.
(** Chains look neither at what was drawn in their round, nor at arms, nor ahead. *)
Hypothesis B_round : forall t j a, learned t -> (j < N)%N -> free t (fun h => B t j h a).
Hypothesis B_step : forall t j a, learned t -> (j < N)%N -> free j (fun h => B t j h a).
(** A round whose chain uses the context of round [j] was settled before round [j]. *)
Hypothesis B_same : forall t j a h h', learned t -> (j < N)%N -> size h = N -> size h' = N ->
  agree j h h' -> B t j h a = 0 \/ same t h h'.
Hypothesis rest_ge0 : forall t h a, learned t -> size h = N -> 0 <= rest t h a.
(** What is counted as left out is right on average. *)
Hypothesis left_fair : forall t a (g : path C V -> R), learned t ->
  (forall h h', size h = N -> size h' = N -> same t h h' -> g h = g h') ->
  E (fun h => g h * left t h a) = E (fun h => g h * rest t h a).
(** All of an estimate is added in the end. *)
Hypothesis y_sums : forall t h c a, learned t -> size h = N ->
  \rsum_(u < N) y t u h c a = estimate t h c a.
(** Costs are measured in contexts that are drawn after they are known. *)
Hypothesis kw_sums : forall u h, (u < N)%N -> size h = N ->
  \rsum_(j < N) kw u j h = 1 \/ forall c, kappa u h c = 0.
Hypothesis kw_free : forall u j c, (u < N)%N -> (j < N)%N ->
  free j (fun h => kw u j h * kappa u h c).
Hypothesis cw_sums : forall t h a, learned t -> size h = N -> \rsum_(j < N) cw t j h a = 1.
Hypothesis cw_free : forall t j c a, learned t -> (j < N)%N ->
  free j (fun h => cw t j h a * cut t h c a).

Let a0 : A := act (snd d).

(** Losses are in [0, 1]. *)
Lemma loss01 t c a : 0 <= loss t c a <= 1.
Proof. by have := loss_top t c a; have := top1 t; lra. Qed.


(** Leaders are distributions. *)
Lemma q_dist t h c : (t < N)%N -> size h = N -> dist (q t h c).
Proof.
move=> tN sh; have [s0 s1] := softmax_dist a0 (eta t h) (cum (Y h c) t).
split=> [a|]; first by rewrite leader.
by rewrite -[RHS]s1; apply: rsum_eqr => a _; rewrite leader.
Qed.

(** Expectations depend on paths of full length only. *)
Lemma E_ext f g : (forall h, size h = N -> f h = g h) -> E f = E g.
Proof. by move=> fg; apply: EP_ext => e se; exact: fg. Qed.

(** Expectations are monotone. *)
Lemma E_le f g : (forall h, size h = N -> f h <= g h) -> E f <= E g.
Proof. by move=> fg; apply: EP_le => // e se; exact: fg. Qed.

(** In the mean, the weight of a round is 1 / w, less what is left out. *)
Lemma weight_mean t a g : learned t ->
  (forall h h', size h = N -> size h' = N -> same t h h' -> g h = g h') ->
  E (fun h => g h * (w t h a * Z t h a)) = E (fun h => g h * (1 - rest t h a)).
Proof.
move=> lt gs.
rewrite (@E_ext _ (fun h => \rsum_(j < N) (g h * B t j h a * w t h a))); last first.
  by move=> h _; rewrite /Z !rsum_mull; apply: rsum_eqr => j _; ring.
rewrite (@E_ext (fun h => g h * (1 - rest t h a))
  (fun h => \rsum_(j < N) (g h * B t j h a * mass t h (context h j) a))); last first.
  move=> h _; rewrite /rest (_ : 1 - (1 - _) =
    \rsum_(j < N) (B t j h a * mass t h (context h j) a));
    last by ring.
  by rewrite rsum_mull; apply: rsum_eqr => j _; ring.
rewrite !EP_sum; apply: rsum_eqr => j _; have jN := ltn_ord j.
rewrite (swap_context d nu_dist pol_dist (F := fun h c => g h * B t j h a * mass t h c a)) //.
  apply: E_ext => h _; rewrite /w rsum_mull; apply: rsum_eqr => c _; ring.
move=> c h h' sh sh' ag; have e := B_step a lt jN sh sh' ag; rewrite -e.
have [z|sm] := B_same a lt jN sh sh' ag; first by rewrite z; ring.
rewrite (gs _ _ sh sh' sm); congr Rmult; apply: rsum_eqr => v _; by case: sm.
Qed.

(** The leader less the comparator. *)
Definition ahead t h c a := q t h c a - (if a == pi c then 1 else 0).

(** The comparator's loss is subtracted. *)
Lemma ahead_sum t h c (x : A -> R) : \rsum_a (ahead t h c a * x a) = ip (q t h c) x - x (pi c).
Proof.
rewrite (eq_bigr (fun a => q t h c a * x a - (if a == pi c then x a else 0))); last first.
  by move=> a _; rewrite /ahead; case: eqP => [->|_]; ring.
by rewrite rsum_sub -big_mkcond big_pred1_eq.
Qed.

(** The mean of an estimate, for one context and arm. *)
Lemma estimate_mean t c a : learned t ->
  E (fun h => ahead t h c a * estimate t h c a)
  = E (fun h => ahead t h c a * (loss t c a - m0 t h c))
    - E (fun h => ahead t h c a * loss t c a * rest t h a).
Proof.
move=> lt; have tN := learned_lt lt.
pose g h := ahead t h c a * (loss t c a - m t h c a); pose g' h := ahead t h c a * m t h c a.
pose b h := ahead t h c a * (m t h c a - m0 t h c).
have ahd h h' : same t h h' -> ahead t h c a = ahead t h' c a by case=> _ qs _ _; rewrite /ahead qs.
have gs h h' : size h = N -> size h' = N -> same t h h' -> g h = g h'.
  by move=> _ _ sm; rewrite /g (ahd _ _ sm); case: sm => _ _ -> _.
have gs' h h' : size h = N -> size h' = N -> same t h h' -> g' h = g' h'.
  by move=> _ _ sm; rewrite /g' (ahd _ _ sm); case: sm => _ _ -> _.
rewrite (@E_ext _ (fun h => (if G t (context h t) (arm h t) a then g h * Z t h a else 0)
  - g' h * left t h a + b h)); last first.
  by move=> h _; rewrite /estimate /g /g' /b; case: (G _ _ _ _); ring.
rewrite EP_add EP_sub left_fair //.
rewrite (swap d nu_dist pol_dist
  (F := fun h c' v => if G t c' (act v) a then g h * Z t h a else 0)) //; last first.
  move=> c' v h h' sh sh' ag; case: (G t c' _ a) => //.
  rewrite (gs _ _ sh sh' (known lt sh sh' ag)).
  by congr Rmult; apply: rsum_eqr => j _; exact: B_round.
rewrite (@E_ext _ (fun h => g h * (w t h a * Z t h a))); last first.
  move=> h _; rewrite [RHS](_ : _ = w t h a * (g h * Z t h a)); last by ring.
  rewrite /w rsum_mulr; apply: rsum_eqr => c' _; rewrite Rmult_assoc; congr Rmult.
  rewrite /mass rsum_mulr [in RHS]big_mkcond /=; apply: rsum_eqr => v _. case: (G _ _ _ _); ring.
rewrite weight_mean // -!EP_sub -EP_add; apply: E_ext => h _; rewrite /g /g' /b; ring.
Qed.

(** One round: the mean of the estimates is at least the regret of the leader, but for the cut. *)
Lemma round_regret t : learned t ->
  E (fun h => \rsum_c (nu c * (ip (q t h c) (loss t c) - loss t c (pi c))))
  <= E (fun h => \rsum_c (nu c * \rsum_a (ahead t h c a * estimate t h c a)))
     + E (fun h => \rsum_c (nu c * \rsum_a cut t h c a)).
Proof.
move=> lt; have tN := learned_lt lt.
have -> : E (fun h => \rsum_c (nu c * \rsum_a cut t h c a)) =
  E (fun h => \rsum_c (nu c * ip (q t h c) (rest t h))).
  have step (f : nat -> path C V -> A -> R) : E (fun h => \rsum_c (nu c * ip (q t h c) (f t h)))
      = \rsum_c \rsum_a (nu c * E (fun h => q t h c a * f t h a)).
    rewrite EP_sum; apply: rsum_eqr => c _; rewrite EP_scale EP_sum rsum_mull //.
  rewrite (step left) (step rest); apply: rsum_eqr => c _; apply: rsum_eqr => a _; congr Rmult.
  by apply: left_fair => // h h' _ _ [_ qs _ _]; exact: qs.
have -> : E (fun h => \rsum_c (nu c * \rsum_a (ahead t h c a * estimate t h c a)))
    = E (fun h => \rsum_c (nu c * \rsum_a (ahead t h c a * (loss t c a - m0 t h c)
                                           - ahead t h c a * loss t c a * rest t h a))).
  rewrite !EP_sum; apply: rsum_eqr => c _; rewrite !EP_scale !EP_sum; congr Rmult.
  by apply: rsum_eqr => a _; rewrite estimate_mean // EP_sub.
rewrite -EP_add; apply: E_le => h sh; rewrite -rsum_split; apply: rsum_le => c _.
rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l; first exact: (proj1 nu_dist).
have [q0 q1] := q_dist c tN sh.
rewrite rsum_sub (ahead_sum t h c (fun a => loss t c a - m0 t h c)).
have -> : ip (q t h c) (fun a => loss t c a - m0 t h c) = ip (q t h c) (loss t c) - m0 t h c.
  rewrite /ip (eq_bigr (fun a => q t h c a * loss t c a - q t h c a * m0 t h c)).
    by rewrite rsum_sub -rsum_mulr q1; ring.
  by move=> a _; ring.
set S := (X in _ - X + _).
suff : S <= ip (q t h c) (rest t h) by rewrite -/(ip (q t h c) (rest t h)); lra.
apply: rsum_le => a _; have r0 := rest_ge0 a lt sh; have [l0 l1] := loss01 t c a; have q0' := q0 a.
have lr : 0 <= loss t c a * rest t h a by exact: Rmult_le_pos.
have lr1 : loss t c a * rest t h a <= rest t h a by nra.
have := Rmult_le_compat_l _ _ _ q0' lr1; rewrite /ahead; case: (a == pi c); lra.
Qed.

(** On every path, the estimates are followed at the price of what is measured. *)
Lemma path_regret h c : size h = N ->
  \lsum_t \rsum_a (ahead t h c a * estimate t h c a)
  <= ln (INR #|A|) / eta N h + \rsum_(u < N) kappa u h c.
Proof.
move=> sh.
have -> : \lsum_t \rsum_a (ahead t h c a * estimate t h c a)
    = \rsum_(u < N) (ip (q u h c) (Y h c u) - Y h c u (pi c)
        + \lsum_t ip (fun a => q t h c a - q u h c a) (y t u h c)).
  rewrite (eq_bigr (fun t : 'I_N => \rsum_(u < N) \rsum_a (ahead t h c a * y t u h c a)));
    last first.
    move=> t lt; rewrite exchange_big /=; apply: rsum_eqr => a _.
    by rewrite -rsum_mull y_sums.
  rewrite exchange_big /=; apply: rsum_eqr => u _; rewrite -ahead_sum /Y.
  rewrite (eq_bigr (fun a => \lsum_t (ahead u h c a * y t u h c a))); last by move=> a _;
    rewrite rsum_mull.
  rewrite [X in _ = X + _]exchange_big /= -rsum_split; apply: rsum_eqr => t _.
  rewrite /ip -rsum_split; apply: rsum_eqr => a _; by rewrite -Rmult_plus_distr_r /ahead;
    congr Rmult; ring.
rewrite rsum_split /kappa (rsum_split _ (fun u : 'I_N => mix_gap _ _ _)).
have l := @leaders A a0 (eta^~ h) (Y h c) (eta_gt0^~ h) (eta_falls^~ h) N (pi c).
have e (u : 'I_N) a : softmax (eta u h) (cum (Y h c) u) a = q u h c a by rewrite leader.
have e1 (u : 'I_N) x : ip (softmax (eta u h) (cum (Y h c) u)) x = ip (q u h c) x.
  by apply: rsum_eqr => a _; rewrite e.
have el : \rsum_(u < N) (ip (softmax (eta u h) (cum (Y h c) u)) (Y h c u) - Y h c u (pi c))
    = \rsum_(u < N) (ip (q u h c) (Y h c u) - Y h c u (pi c)).
  by apply: rsum_eqr => u _; rewrite e1.
have er : \rsum_(u < N) mix_gap (eta u h) (softmax (eta u h) (cum (Y h c) u)) (Y h c u)
    = \rsum_(u < N) mix_gap (eta u h) (q u h c) (Y h c u).
  by apply: rsum_eqr => u _; rewrite /mix_gap !e1.
rewrite el er in l; apply: (Rle_trans _ _ _ (Rplus_le_compat_r _ _ _ l)).
rewrite Rplus_assoc; exact: Rle_refl.
Qed.

(** What is measured in fresh contexts is right on average. *)
Lemma measured (cost : path C V -> C -> R) (k : nat -> path C V -> R) :
  (forall h, size h = N -> \rsum_(j < N) k j h = 1 \/ forall c, cost h c = 0) ->
  (forall j c, (j < N)%N -> free j (fun h => k j h * cost h c)) ->
  E (fun h => \rsum_(j < N) (k j h * cost h (context h j))) =
    E (fun h => \rsum_c (nu c * cost h c)).
Proof.
move=> sums fr.
transitivity (\rsum_(j < N) E (fun h => \rsum_c (nu c * (k j h * cost h c)))).
  rewrite (EP_sum nu pol xpredT N [::] (fun (j : 'I_N) h => k j h * cost h (context h j))).
  apply: rsum_eqr => j _.
  apply: (swap_context d nu_dist pol_dist (F := fun h c => k j h * cost h c)) => // c.
  exact: fr.
rewrite -EP_sum; apply: E_ext => h sh; rewrite exchange_big /=; apply: rsum_eqr => c _.
rewrite -rsum_mull -rsum_mulr; congr Rmult.
by case: (sums h sh) => [->|->]; ring.
Qed.

(** The regret of a path. *)
Definition arms (h : path C V) : path C A := [seq (x.1, act x.2) | x <- h].
(** Regret is a sum over rounds. *)
Lemma regret_path h t : regret loss pi t (arms h) =
  \rsum_(i < size h) (loss (t + i) (context h i) (arm h i)
    - loss (t + i) (context h i) (pi (context h i))).
Proof.
elim: h t => [|[c a] h IH] t; first by rewrite big_ord0.
rewrite big_ord_recl /= IH addn0 /context /Paths.arm /=; congr (_ + _).
by apply: rsum_eqr => i _; rewrite /bump /= addnA addn1 addSn.
Qed.

(** The regret is at most the certificate, in the mean. *)
Theorem regret_le_certificate : E (fun h => regret loss pi 0 (arms h)) <= E certificate.
Proof.
have [nu0 nu1] := nu_dist.
pose x t h c := \rsum_v (pol (take t h) c v * loss t c (act v)) - loss t c (pi c).
have -> : E (fun h => regret loss pi 0 (arms h)) =
    \rsum_(t < N) E (fun h => \rsum_c (nu c * x t h c)).
  rewrite -EP_sum (@E_ext _ (fun h => \rsum_(t < N) (loss t (context h t) (arm h t)
      - loss t (context h t) (pi (context h t))))); last by move=> h sh; rewrite regret_path sh.
  rewrite !EP_sum; apply: rsum_eqr => t _.
  rewrite (swap d nu_dist pol_dist (F := fun _ c v => loss t c (act v) - loss t c (pi c))) //.
  apply: E_ext => h _; apply: rsum_eqr => c _; congr Rmult.
  rewrite (eq_bigr (fun v => pol (take t h) c v * loss t c (act v)
                             - pol (take t h) c v * loss t c (pi c))); last by move=> v _; ring.
  by rewrite rsum_sub -rsum_mulr (proj2 (pol_dist _ _)) /x; ring.
have x1 t h c : x t h c <= top t.
  have [p0 p1] := pol_dist (take t h) c.
  have : \rsum_v (pol (take t h) c v * loss t c (act v)) <= top t.
    rewrite [X in _ <= X](dist_const _ (pol_dist (take t h) c)); apply: rsum_le => v _.
    by apply: Rmult_le_compat_l; [exact: p0 | case: (loss_top t c (act v))].
  by have := loss_top t c (pi c); rewrite /x; lra.
have unlearned t : E (fun h => \rsum_c (nu c * x t h c)) <= top t.
  rewrite -[X in _ <= X](EP_const nu_dist pol_dist N [::]); apply: E_le => h _.
  by rewrite [X in _ <= X](dist_const _ nu_dist); apply: rsum_le => c _; exact: Rmult_le_compat_l.
pose follow t := E (fun h => \rsum_c (nu c * \rsum_a (ahead t h c a * estimate t h c a))).
pose cuts t := E (fun h => \rsum_c (nu c * \rsum_a cut t h c a)).
pose moves t := E (fun h => moved t h (context h t)).
pose costs u := E (fun h => \rsum_c (nu c * kappa u h c)).
(* A round that is learned from. *)
have one t : learned t -> E (fun h => \rsum_c (nu c * x t h c)) <= follow t + cuts t + moves t.
  move=> lt; have -> : moves t = E (fun h => \rsum_c (nu c * moved t h c)).
    apply: (swap_context d nu_dist pol_dist); first exact: learned_lt.
    move=> c h h' sh sh' ag; have [ps qs _ _] := known lt sh sh' ag; apply: rsum_eqr => a _.
    by rewrite qs; congr (Rmax 0 (_ - _)); apply: rsum_eqr.
  have := round_regret lt; rewrite -/(follow t) -/(cuts t) => r.
  suff : E (fun h => \rsum_c (nu c * x t h c))
      <= E (fun h => \rsum_c (nu c * (ip (q t h c) (loss t c) - loss t c (pi c))))
         + E (fun h => \rsum_c (nu c * moved t h c)) by lra.
  rewrite -EP_add; apply: E_le => h _; rewrite -rsum_split; apply: rsum_le => c _.
  rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l; first exact: nu0.
  have -> : x t h c = ip (plays t h c) (loss t c) - loss t c (pi c).
    rewrite /x (partition_big act xpredT) //=; congr (_ - _); apply: rsum_eqr => a _.
    by rewrite /plays rsum_mulr; apply: rsum_eqr => v /eqP ->.
  suff : ip (plays t h c) (loss t c) <= ip (q t h c) (loss t c) + moved t h c by lra.
  rewrite /ip /moved -rsum_split; apply: rsum_le => a _; have [l0 l1] := loss01 t c a.
  have := Rmax_l 0 (plays t h c a - q t h c a); have := Rmax_r 0 (plays t h c a - q t h c a).
  by nra.
(* The certificate in the mean. *)
have -> : E certificate = \rsum_(t < N | ~~ learned t) top t + E (fun h => ln (INR #|A|) / eta N h)
    + \rsum_(u < N) costs u + \lsum_t cuts t + \lsum_t moves t.
  rewrite /certificate !EP_add (EP_const nu_dist pol_dist); congr (_ + _ + _ + _ + _).
  - rewrite (@E_ext _ (fun h => \rsum_(u < N) \rsum_(j < N) (kw u j h * kappa u h (context h j)))).
      rewrite (EP_sum nu pol xpredT N [::] (fun (u : 'I_N) h => \rsum_(j < N) _)).
      apply: rsum_eqr => u _; apply: (measured (cost := kappa u) (k := kw u)).
        by move=> h; exact: kw_sums.
      by move=> j c; exact: kw_free.
    by move=> h _; rewrite exchange_big.
  - rewrite (@E_ext _ (fun h => \lsum_t \rsum_a \rsum_(j < N)
        (cw t j h a * cut t h (context h j) a))).
      rewrite (EP_sum nu pol _ N [::] (fun (t : 'I_N) h => \rsum_a _)).
      apply: rsum_eqr => t lt; rewrite EP_sum /cuts.
      rewrite (@E_ext _ (fun h => \rsum_a \rsum_c (nu c * cut t h c a))); last first.
        by move=> h _; rewrite exchange_big; apply: rsum_eqr => c _; rewrite rsum_mull.
      rewrite EP_sum; apply: rsum_eqr => a _.
      apply: (measured (cost := fun h c => cut t h c a) (k := fun j h => cw t j h a)).
        by move=> h sh; left; exact: cw_sums.
      by move=> j c; exact: cw_free.
    move=> h _; rewrite exchange_big; apply: rsum_eqr => t _; exact: exchange_big.
  - by rewrite (EP_sum nu pol _ N [::] (fun (t : 'I_N) h => moved t h (context h t))).
(* The estimates are followed. *)
have all : \lsum_t follow t <= E (fun h => ln (INR #|A|) / eta N h) + \rsum_(u < N) costs u.
  rewrite /follow -(EP_sum nu pol _ N [::] (fun (t : 'I_N) h => \rsum_c _)).
  rewrite /costs -(EP_sum nu pol _ N [::] (fun (u : 'I_N) h => \rsum_c _)) -EP_add.
  apply: E_le => h sh; rewrite exchange_big [X in _ <= _ + X]exchange_big /=.
  rewrite [X in _ <= X + _](dist_const _ nu_dist) -rsum_split; apply: rsum_le => c _.
  rewrite -!rsum_mull -Rmult_plus_distr_l; apply: Rmult_le_compat_l; first exact: nu0.
  exact: path_regret.
rewrite (rsum_ID xpredT (fun t : 'I_N => learned t)) /=.
have h1 : \lsum_t E (fun h => \rsum_c (nu c * x t h c)) <=
  \lsum_t follow t + \lsum_t cuts t + \lsum_t moves t.
  by rewrite -!rsum_split; apply: rsum_le => t; exact: one.
have h2 : \rsum_(t < N | ~~ learned t) E (fun h => \rsum_c (nu c * x t h c)) <=
  \rsum_(t < N | ~~ learned t) top t.
  by apply: rsum_le => t _.
apply: (Rle_trans _ _ _ (Rplus_le_compat _ _ _ _ h1 h2)).
move: all; set F := \lsum_t follow t; set X := \lsum_t cuts t; set M := \lsum_t moves t.
set K := \rsum_(u < N) costs u; set U := \rsum_(t < N | ~~ learned t) top t; set e := E _.
by move=> all; clear -all; lra.
Qed.
End Certificate.
