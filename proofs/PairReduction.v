(** The pair reduction of Section 4, and Appendix A: one pair of rounds costs the regret of q in
    both rounds, and moves the memory by a law that does not depend on q: a fair side, two
    independent contexts, and a retained output of law r_e / 2. *)
From Crossbandit Require Import FiniteSums Ftrl Programs Concentration Retention.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Pair.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis rho01 : 0 < rho < 1.
Local Notation learn2 := (@learn2 C A G eta gamma rho beta n).
Local Notation policy2 := (@policy2 C A eta rho).
Local Notation q := (@q C A eta rho).
Local Notation re := (@re C A eta rho).
Local Notation close := (@close C A G eta gamma rho n).

(** Regret of one round. *)
Definition d t c a := loss t c a - loss t c (pi c).

Section OnePair.
Variables (t : nat) (s : memory C A) (Y : memory C A -> R).
Hypothesis open : half s = None.
Hypothesis late : (epoch s == 1)%N = false.

(** The memory after the pair, if round [t'] is the loss side and [ob] is retained. *)
Definition after t' (cf cl : C) (ob : option A) : memory C A :=
  close s cf cl (fun c' a' => total s c' a' +
    ((if ob is Some b then estimate2 s true (see G loss t' b) c' a' else 0) + bonus2 beta s a')).
(** The law of the retained output. *)
Definition law (cl : C) (f : option A -> R) := \rsum_a (re s cl a / 2 * f (Some a)) + / 2 * f None.
(** Retention as the algorithm draws it. *)
Definition keep cl al (f : option A -> R) :=
  \rsum_(b : bool) (coin (re s cl al / (2 * q s cl al)) b * f (if b then Some al else None)).

(** The memory between the two rounds. *)
Definition opened c1 a1 : memory C A := Memory (total s) (snap s) (snap_next s) (W s) (special s)
  (w_hat s) (m_hat s)
  (epoch s) (pairs s) (Some (c1, a1, see G loss t a1)).

(** The first round of a pair is only remembered. *)
Lemma learn_first c1 a1 : learn2 s c1 a1 (see G loss t a1) = Ret (opened c1 a1).
Proof. by rewrite /Statement.learn2 open. Qed.

(** The second round splits the pair. *)
Lemma learn_second c1 a1 c2 a2 :
  E (learn2 (opened c1 a1) c2 a2 (see G loss t.+1 a2)) Y =
  / 2 * keep c2 a2 (fun ob => Y (after t.+1 c1 c2 ob)) + / 2 * keep c1 a1 (fun ob =>
    Y (after t c2 c1 ob)).
Proof.
have b2 (g : bool -> R) : \rsum_(b : bool) g b = g true + g false by exact: big_bool.
rewrite /Statement.learn2 /=  b2 /= late /= /keep !b2 /=.
by rewrite /coin; have -> : 1 - / 2 = / 2 by field.
Qed.

(** Retention after an arm drawn from q has the law above. *)
Lemma keep_law cl f : \rsum_a (q s cl a * keep cl a f) = law cl f.
Proof. exact: equation3_retained. Qed.

(** The mean of a constant over the arms of a policy is that constant. *)
Lemma q1 c (x : R) : \rsum_a (q s c a * x) = x.
Proof. by rewrite -rsum_mulr (proj2 (q_dist eta rho01 a0 s c)); ring. Qed.

(** The pair reduction. *)
Theorem pair_step :
  \rsum_c1 (nu c1 * \rsum_a1 (policy2 s c1 a1 * (d t c1 a1 + E (learn2 s c1 a1 (see G loss t a1))
    (fun s1 =>
    \rsum_c2 (nu c2 * \rsum_a2 (policy2 s1 c2 a2 * (d t.+1 c2 a2 + E (learn2 s1 c2 a2
      (see G loss t.+1 a2)) Y)))))))
  = \rsum_c (nu c * \rsum_a (q s c a * (d t c a + d t.+1 c a)))
    + / 2 * \rsum_cf (nu cf * \rsum_cl (nu cl *
        (law cl (fun ob => Y (after t cf cl ob)) + law cl (fun ob => Y (after t.+1 cf cl ob))))).
Proof.
have [_ n1] := dnu.
pose X2 c1 := \rsum_c2 (nu c2 * law c2 (fun ob => Y (after t.+1 c1 c2 ob))).
pose D2 := \rsum_c (nu c * \rsum_a (q s c a * d t.+1 c a)).
have inner c1 a1 : \rsum_c2 (nu c2 * \rsum_a2 (policy2 (opened c1 a1) c2 a2 *
      (d t.+1 c2 a2 + E (learn2 (opened c1 a1) c2 a2 (see G loss t.+1 a2)) Y)))
   = (D2 + / 2 * X2 c1) + / 2 * \rsum_c2 (nu c2 * keep c1 a1 (fun ob => Y (after t c2 c1 ob))).
  rewrite /D2 /X2 !rsum_mull -!rsum_split; apply: rsum_eqr => c2 _.
  rewrite (rsum_eqr (G := fun a2 => (q s c2 a2 * d t.+1 c2 a2
     + / 2 * (q s c2 a2 * keep c2 a2 (fun ob => Y (after t.+1 c1 c2 ob))))
     + q s c2 a2 * (/ 2 * keep c1 a1 (fun ob => Y (after t c2 c1 ob))))); last first.
    by move=> a2 _; rewrite learn_second /Statement.policy2 /= late (_ : q (opened c1 a1) c2 a2 =
      q s c2 a2) //; ring.
  by rewrite !rsum_split q1 -rsum_mull keep_law; ring.
have outer c1 : \rsum_a1 (policy2 s c1 a1 * (d t c1 a1 + E (learn2 s c1 a1 (see G loss t a1))
  (fun s1 =>
    \rsum_c2 (nu c2 * \rsum_a2 (policy2 s1 c2 a2 * (d t.+1 c2 a2 + E (learn2 s1 c2 a2
      (see G loss t.+1 a2)) Y))))))
  = \rsum_a (q s c1 a * d t c1 a) + D2 + / 2 * X2 c1
    + / 2 * \rsum_c2 (nu c2 * law c1 (fun ob => Y (after t c2 c1 ob))).
  rewrite (rsum_eqr (G := fun a1 => (q s c1 a1 * d t c1 a1 + q s c1 a1 * (D2 + / 2 * X2 c1))
    + / 2 * \rsum_c2 (nu c2 * (q s c1 a1 * keep c1 a1 (fun ob => Y (after t c2 c1 ob))))));
      last first.
    move=> a1 _; rewrite learn_first /= inner {1}/Statement.policy2 late.
    have -> : \rsum_c2 (nu c2 * (q s c1 a1 * keep c1 a1 (fun ob => Y (after t c2 c1 ob))))
      = q s c1 a1 * \rsum_c2 (nu c2 * keep c1 a1 (fun ob => Y (after t c2 c1 ob))).
      by rewrite rsum_mull; apply: rsum_eqr => c2 _; ring.
    by ring.
  rewrite !rsum_split q1 -rsum_mull rsum_exchange.
  rewrite [X in _ + / 2 * X](rsum_eqr (G := fun c2 => nu c2 * law c1 (fun ob =>
    Y (after t c2 c1 ob)))).
    by ring.
  by move=> c2 _; rewrite -rsum_mull keep_law.
rewrite (rsum_eqr (G := fun c1 => (nu c1 * \rsum_a (q s c1 a * d t c1 a) + nu c1 * D2)
   + (/ 2 * (nu c1 * X2 c1) + / 2 * (nu c1 * \rsum_c2 (nu c2 * law c1 (fun ob =>
     Y (after t c2 c1 ob))))))); last first.
  by move=> c1 _; rewrite outer; ring.
rewrite !rsum_split -rsum_mulr n1 -!rsum_mull -Rmult_plus_distr_l; congr Rplus.
  rewrite Rmult_1_l /D2 -rsum_split; apply: rsum_eqr => c _.
  by rewrite -Rmult_plus_distr_l -rsum_split; congr Rmult; apply: rsum_eqr => a _; ring.
congr Rmult.
have -> : \rsum_c1 (nu c1 * \rsum_c2 (nu c2 * law c1 (fun ob => Y (after t c2 c1 ob))))
  = \rsum_cf (nu cf * \rsum_cl (nu cl * law cl (fun ob => Y (after t cf cl ob)))).
  rewrite (rsum_eqr (G := fun c1 => \rsum_c2 (nu c1 * (nu c2 * law c1 (fun ob =>
    Y (after t c2 c1 ob)))))).
    rewrite rsum_exchange; apply: rsum_eqr => c2 _; rewrite rsum_mull; apply: rsum_eqr => c1 _;
      ring.
  by move=> c1 _; rewrite rsum_mull.
rewrite -rsum_split; apply: rsum_eqr => cf _; rewrite /X2 -Rmult_plus_distr_l -rsum_split.
by congr Rmult; apply: rsum_eqr => cl _; ring.
Qed.
End OnePair.
End Pair.
