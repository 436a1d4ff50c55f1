(** What is proved. A reader who trusts Coq needs to read this file and no other.

    Contexts and arms are finite sets, so a randomised interaction is a finite tree and an
    expectation is a finite sum. Numbers are the real numbers of Coq's standard library. *)
Set Warnings "-notation-overridden,-ambiguous-paths".
From Coq Require Export Reals.
From mathcomp Require Export ssreflect ssrfun ssrbool eqtype ssrnat seq choice fintype bigop finset.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Notation "\rsum_ ( i | P ) F" := (\big[Rplus/0%R]_(i | P) F%R)
  (at level 36, F at level 36, i at level 50, format "\rsum_ ( i  |  P )  F") : R_scope.
Notation "\rsum_ i F" := (\big[Rplus/0%R]_i F%R)
  (at level 36, F at level 36, i at level 0, right associativity, format "\rsum_ i  F") : R_scope.

(** * Randomised programs *)

(** A distribution on a finite set. *)
Definition dist (I : finType) (p : I -> R) := (forall i, 0 <= p i) /\ \rsum_i p i = 1.

(** Return a value, or draw [i] with probability [w i] and go on. *)
Inductive prog (X : Type) : Type :=
| Ret (x : X)
| Draw (I : finType) (w : I -> R) (k : I -> prog X).

Fixpoint bind X Y (m : prog X) (f : X -> prog Y) : prog Y :=
  match m with Ret x => f x | Draw _ w k => Draw w (fun i => bind (k i) f) end.

(** The expectation of [f] under the program [m]. *)
Fixpoint E X (m : prog X) (f : X -> R) : R :=
  match m with Ret x => f x | Draw _ w k => \rsum_i (w i * E (k i) f) end.

(** Every draw is from a distribution. *)
Fixpoint valid X (m : prog X) : Prop :=
  match m with Ret _ => True | Draw _ w k => dist w /\ forall i, valid (k i) end.

(** * The model (Section 2) *)
Section Model.
Variables (C A : finType).                (* contexts, arms *)
Variable nu : C -> R.                     (* the law of the contexts *)
Variable G : rel A.                       (* the graph: playing [v] reveals [a] iff [G v a] *)
Variable loss : nat -> C -> A -> R.       (* oblivious: fixed before the first round *)

(** Every arm has a self-loop or is revealed by every other arm. *)
Definition strongly_observable := forall a, G a a \/ forall v, v != a -> G v a.

(** The independence number: the size of the largest set without an edge between two members. *)
Definition indep (S : {set A}) := [forall i in S, forall j in S, (i != j) ==> ~~ G i j].
Definition alpha := \max_(S : {set A} | indep S) #|S|.

(** Whether all edges between arms with self-loops go both ways. *)
Definition mutual := [forall a, forall b, [&& G a a, G b b & G a b] ==> G b a].

(** What playing [v] in round [t] shows: the losses of its out-neighbours, in every context. *)
Definition see (t : nat) (v : A) (c : C) (a : A) : option R :=
  if G v a then Some (loss t c a) else None.

(** A learner sees contexts, its own arms and feedback. It never sees [loss]. *)
Record learner := Learner {
  state : Type;
  start : state;
  policy : state -> C -> A -> R;
  learn : state -> C -> A -> (C -> A -> option R) -> prog state }.

(** The interaction: [n] rounds from round [t] on. It returns what was drawn. *)
Fixpoint play (l : learner) (n t : nat) (s : state l) : prog (seq (C * A)) :=
  if n is n'.+1 then
    Draw nu (fun c => Draw (policy s c) (fun a =>
      bind (learn s c a (see t a)) (fun s' => bind (play n' t.+1 s') (fun h => Ret ((c, a) :: h)))))
  else Ret [::].

Fixpoint regret (pi : C -> A) (t : nat) (h : seq (C * A)) : R :=
  if h is (c, a) :: h' then loss t c a - loss t c (pi c) + regret pi t.+1 h' else 0.

(** The expected regret of [l] against the policy [pi] over [T] rounds. *)
Definition run (l : learner) (T : nat) := play T 0 (start l).
Definition Reg (l : learner) (T : nat) (pi : C -> A) : R := E (run l T) (regret pi 0).
End Model.

(** * The algorithms (Section 3) *)
Section Algorithms.
Variables (C A : finType) (nu : C -> R) (G : rel A) (eta gamma rho beta : R).
Definition table := C -> A -> R.
Definition feedback := C -> A -> option R.
Definition zero : table := fun _ _ => 0.

(** The FTRL iterate [p] for a cumulative input, and its mixture with uniform play. *)
Definition softmax (x : A -> R) (a : A) := exp (- eta * x a) / \rsum_i exp (- eta * x i).
Definition mix (p : A -> R) (a : A) := (1 - rho) * p a + rho / INR #|A|.

(** The special arm: the first arm without self-loop of the largest mass. [geb x y] says x >= y. *)
Definition geb (x y : R) : bool := if Rle_dec y x then true else false.
Definition better (m : A -> R) (best : option A) (a : A) : option A :=
  if G a a then best
  else if best is Some b then (if geb (m b) (m a) then best else Some a) else Some a.
Definition special_arm (m : A -> R) : option A := foldl (better m) None (enum A).

(** Algorithm 1: the law of the contexts is known. Its state is the cumulative input. *)
Definition r1 (L : table) c := mix (softmax (L c)).
Definition m1 L a := \rsum_c (nu c * r1 L c a).
Definition u1 L a := \rsum_c (nu c * \rsum_(v | G v a) r1 L c v) + gamma.
Definition update1 L (o : feedback) : table := fun c a =>
  L c a + ((if o c a is Some l then l / u1 L a else 0)
           + (if special_arm (m1 L) == Some a then beta / u1 L a else 0)).
Definition algorithm1 : learner C A := Learner zero r1 (fun L _ _ o => Ret (update1 L o)).

(** Algorithm 2: the law is not known. An epoch has [n] pairs of rounds: L = 2 n in the paper. *)
Variable n : nat.
Record memory := Memory {
  total : table;                     (* cumulative FTRL input *)
  snap : table; snap_next : table;   (* the inputs at which s_e and s_{e+1} were taken *)
  W : A -> R; special : option A;    (* W_e and j_e *)
  w_hat : A -> R; m_hat : A -> R;    (* running estimates for the next epoch *)
  epoch : nat; pairs : nat;          (* the number of the epoch, from 1; pairs finished in it *)
  half : option (C * A * feedback)   (* the first round of an open pair *) }.

Definition rp s c := mix (softmax (total s c)).              (* r^p_{t,c} *)
Definition re s c := mix (softmax (snap s c)).               (* r_{e,c} *)
Definition re_next s c := mix (softmax (snap_next s c)).     (* r_{e+1,c} *)
Definition q s c :=
  if (epoch s > 1)%N && [forall a, geb (2 * rp s c a) (re s c a)] then rp s c else re s c.
Definition policy2 s c := if (epoch s == 1)%N then softmax (snap s c) else q s c.

(** The end of a pair: [cf] is the frequency side's context, [cl] the loss side's. *)
Definition close s (cf cl : C) (total' : table) : memory :=
  let w' a := w_hat s a + \rsum_(v | G v a) re_next s cf v / INR (2 * n) in
  let m' a := m_hat s a + 2 * re_next s cl a / INR (2 * n) in
  if (pairs s).+1 == n then
    Memory total' (snap_next s) total' (fun a => w' a + 3 / 2 * gamma) (special_arm m')
           (fun=> 0) (fun=> 0) (epoch s).+1 0 None
  else Memory total' (snap s) (snap_next s) (W s) (special s) w' m' (epoch s) (pairs s).+1 None.

Definition estimate2 s (kept : bool) (o : feedback) c a :=
  if kept then (if o c a is Some l then 2 * l / W s a else 0) else 0.
Definition bonus2 s a := if special s == Some a then beta / W s a else 0.
Definition coin (x : R) (b : bool) := if b then x else 1 - x.

Definition learn2 (s : memory) (c : C) (a : A) (o : feedback) : prog memory :=
  if half s is Some (c1, a1, o1) then
    Draw (coin (/ 2)) (fun second : bool =>
      let cf := if second then c1 else c in
      let '(cl, al, ol) := if second then (c, a, o) else (c1, a1, o1) in
      if (epoch s == 1)%N then Ret (close s cf cl (total s))
      else Draw (coin (re s cl al / (2 * q s cl al))) (fun kept : bool =>
        Ret (close s cf cl (fun c' a' =>
          total s c' a' + (estimate2 s kept ol c' a' + bonus2 s a')))))
  else Ret (Memory (total s) (snap s) (snap_next s) (W s) (special s) (w_hat s) (m_hat s)
                   (epoch s) (pairs s) (Some (c, a, o))).

Definition algorithm2 : learner C A :=
  Learner (Memory zero zero zero (fun=> 1) None (fun=> 0) (fun=> 0) 1 0 None) policy2 learn2.
End Algorithms.

(** * The bounds, as functions of the graph's size and the parameters *)
Section Bounds.
Variables (K alpha : R) (mutual : bool) (eta gamma rho beta : R).

(** What the feedback graph costs: alpha if edges go both ways; if not, at most K, and at most alpha
    times a logarithm. *)
Definition graph_sum := if mutual then alpha else Rmin K (2 * alpha * (1 + ln (K / rho))).

(** Algorithm 1, [T] rounds. *)
Definition bound1 (T : nat) := ln K / eta + INR T * (rho
  + ((gamma + 2 * eta) * (graph_sum + 2) + beta + 2 * eta * (1 + 2 * beta + beta ^ 2 / gamma))
    / (1 - rho)).

(** Algorithm 2: [n] pairs in an epoch, [m] epochs after the first. [iota] is free: it is no
    parameter of the algorithm. An epoch fails with probability at most (2 K + 1) exp (- iota). *)
Definition kappa (n : nat) (iota : R) := eta * ((2 * iota + INR n * beta) / gamma).
Definition pair_cost (n : nat) (iota : R) := let k := kappa n iota in
  2 * rho + exp (4 * k) / (1 - rho) *
    ((3 * gamma + (8 * gamma + 2 / 3 * beta) * k + 32 * eta) * (2 * graph_sum + 6)
     + 2 * (beta + (8 / 3 * gamma + 10 / 3 * beta) * k
            + 2 * eta * (16 * (1 + beta) + 4 * beta ^ 2 / gamma))).
Definition bound2 (n m : nat) (iota : R) := INR (2 * n) + ln K / eta
  + INR (n * m) * (pair_cost n iota + INR (m + 3) * ((2 * K + 1) * exp (- iota))).
End Bounds.

(** * The theorems *)

(** Every draw of the run is from a distribution; no policy beats the learner by more than [B]. *)
Definition regret_at_most (C A : finType) (nu : C -> R) (G : rel A) (l : learner C A)
    (T : nat) (B : R) :=
  forall (loss : nat -> C -> A -> R) (pi : C -> A), (forall t c a, 0 <= loss t c a <= 1) ->
    valid (run nu G loss l T) /\ Reg nu G loss l T pi <= B.

Definition Proposition2_explicit : Prop :=
  forall (C A : finType) (nu : C -> R) (G : rel A) (T : nat) (eta gamma rho beta : R),
  dist nu -> strongly_observable G ->
  0 < eta -> 0 < gamma -> 0 < rho < 1 -> gamma <= beta -> eta * (1 + beta) <= 3 * gamma ->
  regret_at_most nu G (algorithm1 nu G eta gamma rho beta) T
    (bound1 (INR #|A|) (INR (alpha G)) (mutual G) eta gamma rho beta T).

Definition Proposition2 : Prop :=
  forall (C A : finType) (nu : C -> R) (G : rel A) (T : nat), dist nu -> strongly_observable G ->
  let s := Rmax 2 (sqrt (INR (alpha G) * INR T)) in let x := / s in
  regret_at_most nu G (algorithm1 nu G x x x x) T (s * (13 * ln (INR #|A| * s) + 37)).

Definition Theorem1_explicit : Prop :=
  forall (C A : finType) (nu : C -> R) (G : rel A) (T n m : nat) (eta gamma rho beta iota : R),
  dist nu -> strongly_observable G -> (0 < n)%N -> (T <= 2 * n * m.+1)%N ->
  0 < eta -> 0 < gamma -> 0 < rho < 1 -> 4 * gamma <= beta -> 1 <= iota ->
  iota <= 2 * (INR n * gamma) -> 2 <= INR n * gamma -> 36 * iota <= INR n ->
  kappa eta gamma beta n iota <= / 8 ->
  regret_at_most nu G (algorithm2 C G eta gamma rho beta n) T
    (bound2 (INR #|A|) (INR (alpha G)) (mutual G) eta gamma rho beta n m iota).

Definition Theorem1 : Prop :=
  forall (C A : finType) (nu : C -> R) (G : rel A) (T : nat),
  dist nu -> strongly_observable G -> (0 < T)%N ->
  let K := INR #|A| in let alpha := INR (alpha G) in
  let iota := ln (2 * K * INR T) in
  let n := Z.to_nat (up (3 / 8 * iota * sqrt (alpha * INR T / (1 + ln K)))) in
  let gamma := Rmin (/ 2) (iota / (2 * INR n)) in
  regret_at_most nu G (algorithm2 C G (/ (64 * INR n)) gamma gamma (4 * gamma) n) T
    (48 * (sqrt (alpha * INR T * (1 + ln K)) * ln (2 * K * INR T))).

(** Theorem 1 for the epoch length of the paper: L = C_L sqrt (alpha T iota), rounded up, where iota
    is ln (2 K T) or more, such as C log (M K T). *)
Definition Theorem1_paper : Prop :=
  forall (C A : finType) (nu : C -> R) (G : rel A) (T : nat) (CL iota : R),
  dist nu -> strongly_observable G -> (0 < T)%N -> 0 < CL -> ln (2 * INR #|A| * INR T) <= iota ->
  let scale := sqrt (INR (alpha G) * INR T * iota) in
  let n := Z.to_nat (up (CL / 2 * scale)) in
  let gamma := Rmin (/ 2) (iota / (2 * INR n)) in
  regret_at_most nu G (algorithm2 C G (/ (64 * INR n)) gamma gamma (4 * gamma) n) T
    (Rmax (64 * CL) (36 / CL) * (scale * iota)).
