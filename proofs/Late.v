(** Late feedback: the feedback of a round is known only after [D] more rounds have been played.

    Take [D + 1] copies of a learner in turn. A copy then knows the feedback of its last round
    before it plays again, and the regret is at most [D + 1] times the regret of one copy over its
    share of the rounds. *)
From Coq Require Import FunctionalExtensionality.
From mathcomp Require Import div.
From Crossbandit Require Import FiniteSums Programs Retention KnownLaw Main.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** * What is stated *)
Section Model.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (l : learner C A).

(** The copies wait in line, each with the update that it has still to make. The first one makes it,
    plays, and goes to the end of the line with the feedback of this round: it is used when the copy
    plays again. *)
Fixpoint play_late (n t : nat) (line : seq (prog (state l))) : prog (seq (C * A)) :=
  match n, line with
  | n'.+1, update :: line' =>
      bind update (fun s => Draw nu (fun c => Draw (policy s c) (fun a =>
        bind (play_late n' t.+1 (rcons line' (learn s c a (see G loss t a)))) (fun h =>
          Ret ((c, a) :: h)))))
  | _, _ => Ret [::]
  end.
Definition Reg_late (D T : nat) (pi : C -> A) : R :=
  E (play_late T 0 (nseq D.+1 (Ret (start l)))) (regret loss pi 0).
End Model.

(** * The proof *)
Section Proof.
Variables (C A : finType) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R) (l : learner C A)
  (pi : C -> A) (D : nat).
Hypothesis dnu : dist nu.
Hypothesis dp : forall s c, dist (policy (l := l) s c).
Hypothesis vl : forall s c a o, valid (learn (l := l) s c a o).

(** The losses that a copy meets which plays in round [t], and how many rounds the copy in place [i]
    gets out of [n]. *)
Definition own (t r : nat) := loss (t + r * D.+1).
Definition share (i n : nat) := ((n + D - i) %/ D.+1)%N.

(** The regret of a copy over its next [k] rounds, and of all copies in line. *)
Let V ls k t s := E (play nu G ls (l := l) k t s) (regret ls pi t).
Definition copy (k t : nat) (update : prog (state l)) := E update (V (own t) k 0).
Fixpoint copies (n t i : nat) (line : seq (prog (state l))) : R :=
  if line is update :: line' then copy (share i n) t update + copies n t.+1 i.+1 line' else 0.

(** No copy has a round when none is left. *)
Lemma share0 i : (i <= D)%N -> share i 0 = 0%N.
Proof. by move=> iD; rewrite /share add0n divn_small // ltnS leq_subr. Qed.
(** The next copy has the share that is left, *)
Lemma shareS i n : share i.+1 n.+1 = share i n. Proof. by rewrite /share addSn subSS. Qed.
(** and the first one has one round more. *)
Lemma share_first n : share 0 n.+1 = (share D n).+1.
Proof. by rewrite /share subn0 addnK addSnnS divnDr ?dvdnn // divnn addn1. Qed.

(** A run that starts one round later meets the losses of one round later. *)
Lemma play_shift ls k t s : play nu G ls (l := l) k t.+1 s = play nu G (fun r => ls r.+1) (l :=
  l) k t s.
Proof.
elim: k t s => //= k IH t s; congr Draw; apply: functional_extensionality => c; congr Draw.
apply: functional_extensionality => a; congr bind; apply: functional_extensionality => s';
  by rewrite IH.
Qed.
(** Regret from the next round on is that of shifted losses. *)
Lemma regret_shift ls t h : regret ls pi t.+1 h = regret (fun r => ls r.+1) pi t h.
Proof. by elim: h t => [|[c a] h IH] t //=; rewrite IH. Qed.
(** From its second round on, a copy is one that starts D + 1 rounds later. *)
Lemma V_shift t k s : V (own t) k 1 s = V (own (t + D.+1)) k 0 s.
Proof.
have e : (fun r => own t r.+1) = own (t + D.+1).
  by apply: functional_extensionality => r; rewrite /own mulSn addnA.
by rewrite /V play_shift -e; apply: E_ext => h; rewrite regret_shift.
Qed.

(** A new update joins the line. *)
Lemma copies_rcons n t i line update :
  copies n t i (rcons line update) = copies n t i line + copy (share (i + size line) n)
    (t + size line) update.
Proof.
elim: line t i => [|u line IH] t i /=; first by rewrite !addn0; ring.
by rewrite IH !addnS !addSn; ring.
Qed.
(** After a round, the copies move up. *)
Lemma copiesS n t i line : copies n.+1 t i.+1 line = copies n t i line.
Proof. by elim: line t i => //= u line IH t i; rewrite shareS IH. Qed.
(** Nothing is left when no round is. *)
Lemma copies0 t i line : (i + size line <= D.+1)%N -> copies 0 t i line = 0.
Proof.
elim: line t i => //= u line IH t i; rewrite addnS -addSn => h; rewrite IH // share0; last first.
  by rewrite -ltnS; apply: leq_trans h; rewrite leq_addr.
by rewrite /copy /V /= (E_ext _ (g := fun x => 0 * 0)) ?E_scale; [ring | move=> s; ring].
Qed.

(** Runs with late feedback are valid. *)
Lemma late_valid n t line : (forall i, (i < size line)%N -> valid (nth (Ret (start l)) line i)) ->
  valid (play_late nu G loss n t line).
Proof.
elim: n t line => [|n IH] t [|u line] h //=; apply: bind_valid => [|s]; first exact: (h 0%N).
split=> // c; split=> // a; apply: bind_valid => //; apply: IH => i;
  rewrite size_rcons ltnS nth_rcons => le.
by case: ltngtP le => // lt _; exact: (h i.+1).
Qed.

(** A run with late feedback is one run for each copy. *)
Theorem late_split n t line : size line = D.+1 -> (forall i, (i < size line)%N ->
  valid (nth (Ret (start l)) line i)) ->
  E (play_late nu G loss n t line) (regret loss pi t) = copies n t 0 line.
Proof.
elim: n t line => [|n IH] t line sz hv; first by rewrite copies0 ?sz.
case: line sz hv => // u line [sz] hv; rewrite [play_late _ _ _ _ _ _]/= [copies _ _ _ _]/= copiesS
  share_first E_bind.
have rest s c a : E (play_late nu G loss n t.+1 (rcons line (learn s c a (see G loss t a))))
  (regret loss pi t.+1)
   = copies n t.+1 0 line + E (learn s c a (see G loss t a)) (V (own t) (share D n) 1).
  rewrite IH ?size_rcons ?sz // ?copies_rcons ?sz; last first.
    move=> i; rewrite ltnS nth_rcons sz => le.
    by case: ltngtP le => // lt _; apply: (hv i.+1); rewrite /= ltnS sz.
  by rewrite /copy addSnnS; congr Rplus; apply: E_ext => s'; rewrite V_shift.
have o0 : own t 0 = loss t by rewrite /own mul0n addn0.
have see0 a : see G (own t) 0 a = see G loss t a.
  by apply: functional_extensionality => c; apply: functional_extensionality => a'; rewrite /see o0.
rewrite Rplus_comm -E_addc; last exact: (hv 0%N isT).
apply: E_ext => s; rewrite /V (play_S _ _ _ dnu dp vl) /=.
rewrite [copies _ _ _ _ in RHS](dist_const _ dnu) -rsum_split; apply: rsum_eqr => c _;
  rewrite -Rmult_plus_distr_l; congr Rmult.
rewrite [copies _ _ _ _ in RHS](dist_const _ (dp s c)) -rsum_split; apply: rsum_eqr => a _;
  rewrite -Rmult_plus_distr_l; congr Rmult.
rewrite E_bind /= E_addc; first by rewrite rest o0 see0; rewrite /V; ring.
apply: late_valid => i; rewrite size_rcons ltnS nth_rcons sz => le.
by case: ltngtP le => // lt _; apply: (hv i.+1); rewrite /= ltnS sz.
Qed.
End Proof.

(** Every draw is from a distribution, and regret is at most [D + 1] times the bound for a share of
    the rounds, rounded up. *)
Theorem late (C A : finType) (nu : C -> R) (G : rel A) (l : learner C A) (D T : nat) (B : R) :
  dist nu -> (forall s c, dist (policy (l := l) s c)) -> (forall s c a o,
    valid (learn (l := l) s c a o)) ->
  regret_at_most nu G l ((T + D) %/ D.+1) B ->
  forall (loss : nat -> C -> A -> R) (pi : C -> A), (forall t c a, 0 <= loss t c a <= 1) ->
    valid (play_late nu G loss T 0 (nseq D.+1 (Ret (start l)))) /\ Reg_late nu G loss l D T pi <=
      INR D.+1 * B.
Proof.
move=> dn dp vl h loss pi l01.
have hv i : (i < size (nseq D.+1 (Ret (start l))))%N ->
  valid (nth (Ret (start l)) (nseq D.+1 (Ret (start l))) i).
  by rewrite size_nseq => iD; rewrite nth_nseq iD.
split; first exact: late_valid.
rewrite /Reg_late (@late_split C A nu G loss l pi D dn dp vl T 0 _ (size_nseq _ _) hv).
have one i t : copy nu G loss pi D (share D i T) t (Ret (start l)) <= B.
  have le : (share D i T <= (T + D) %/ D.+1)%N by apply: leq_div2r; exact: leq_subr.
  rewrite /copy /= -/(run nu G (own loss D t) l (share D i T)) -/(Reg nu G (own loss D t) l
    (share D i T) pi).
  rewrite (Reg_pad _ _ _ _ dn dp vl ((T + D) %/ D.+1 - share D i T)) subnKC //.
  have [] := h (padded (own loss D t) (share D i T)) pi => // r c a.
  by rewrite /padded; case: ifP => _; [exact: l01 | lra].
suff all k t i : copies nu G loss pi D T t i (nseq k (Ret (start l))) <= INR k * B by exact: all.
elim: k t i => [|k IH] t i; first by rewrite /= /INR; lra.
rewrite [copies _ _ _ _ _ _ _ _ _]/= S_INR; have := one i t; have := IH t.+1 i.+1; lra.
Qed.

(** Both algorithms with late feedback. *)
Corollary late1 (C A : finType) (nu : C -> R) (G : rel A) (eta gamma rho beta : R) (D T : nat)
  (B : R) :
  dist nu -> 0 < rho < 1 -> regret_at_most nu G (algorithm1 nu G eta gamma rho beta)
    ((T + D) %/ D.+1) B ->
  forall (loss : nat -> C -> A -> R) (pi : C -> A), (forall t c a, 0 <= loss t c a <= 1) ->
    Reg_late nu G loss (algorithm1 nu G eta gamma rho beta) D T pi <= INR D.+1 * B.
Proof.
move=> dn r1 h loss pi l01; have a0 := some_arm pi dn.
have [] := @late C A nu G (algorithm1 nu G eta gamma rho beta) D T B dn _ _ h loss pi l01 => // L c.
exact: (mixed_dist a0 eta r1).
Qed.

(** The theorem for Algorithm 2. *)
Corollary late2 (C A : finType) (nu : C -> R) (G : rel A) (eta gamma rho beta : R) (n D T : nat)
  (B : R) :
  dist nu -> 0 < rho < 1 -> regret_at_most nu G (algorithm2 C G eta gamma rho beta n)
    ((T + D) %/ D.+1) B ->
  forall (loss : nat -> C -> A -> R) (pi : C -> A), (forall t c a, 0 <= loss t c a <= 1) ->
    Reg_late nu G loss (algorithm2 C G eta gamma rho beta n) D T pi <= INR D.+1 * B.
Proof.
move=> dn r1 h loss pi l01; have a0 := some_arm pi dn.
by have [] := @late C A nu G (algorithm2 C G eta gamma rho beta n) D T B dn (policy2_dist eta r1 a0)
  (learn2_valid G eta gamma beta n r1 a0) h loss pi l01.
Qed.
