(** The certified learner as a program. It groups rounds into blocks, weighs what a block has seen by
    chains of contexts, plays a softmax with a measured rate, and computes its own certificate.

    The definition is literal: what it adds, and what this costs, is computed from all rounds so far.
    Everything that is known when a block begins may be chosen freely: [decide] is a parameter. The
    library's choice stands at the end. *)
From mathcomp Require Import div.
From Crossbandit Require Import Statement.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Notation "\rsum_ ( i < n ) F" := (\big[Rplus/0%R]_(i < n) F%R)
  (at level 36, F at level 36, i, n at level 50, format "\rsum_ ( i  <  n )  F") : R_scope.
Notation "\rsum_ ( i < n | P ) F" := (\big[Rplus/0%R]_(i < n | P%B) F%R)
  (at level 36, F at level 36, i, n at level 50, format "\rsum_ ( i  <  n  |  P )  F") : R_scope.

(** The extracted program keeps the values of a function that it has computed. *)
Definition memo (I : finType) (T : Type) (f : I -> T) : I -> T := f.
Definition floor (x : R) : nat := Z.to_nat (Int_part x).

(** What a round costs beyond its exponential mean. *)
Definition mix_gap (A : finType) (eta : R) (q y : A -> R) :=
  \rsum_a (q a * y a) + ln (\rsum_a (q a * exp (- eta * y a))) / eta.

(** The weights 1, f1, f1 f2, ... of a chain, added up; and the last product. *)
Fixpoint chain (f : nat -> R) (js : seq nat) : R * R :=
  if js is j :: js' then let: (z, p) := chain f js' in (1 + f j * z, f j * p) else (0, 1).

(** The rounds of a block of [n] rounds that weigh its round [i]: those of the seven other eighths
    among the first [kept], those after it first. *)
Definition part (n i : nat) : nat := (i * minn 8 n) %/ n.
Definition others (n kept i : nat) : seq nat :=
  [seq j <- iota 0 (minn n kept) | part n i < part n j]%N
  ++ [seq j <- iota 0 (minn n kept) | part n j < part n i]%N.

Section Learner.
Variables (C A : finType) (c0 : C) (a0 : A).
Variable G : nat -> C -> rel A.      (* the graph of a round, in each context *)
Variable kept : nat.
Variable horizon : nat.              (* later rounds are not learned from *)

(** What is chosen when a block begins. *)
Record plan := Plan {
  len : nat;                         (* how many rounds it has *)
  base : C -> A -> R;                (* what its losses are measured against, *)
  common : C -> R;                   (* and what is taken off this for all arms *)
  followed : bool;                   (* whether its chains go on after it *)
  every : R;                         (* the blocks whose ends it stands for, if it is drawn *)
  cap : A -> R;                      (* the longest chain, *)
  least : R;                         (* and the least product *)
  explore : C -> (A -> R) -> A -> R; (* what is played in place of the leader *)
  range : R                          (* the largest difference of losses *) }.

Record block := Block {
  first : nat; prev : nat;           (* its first round, and that of the block before *)
  how : plan;
  table : C -> A -> R;               (* what was added before it *)
  rate : R; spread : R;              (* the rate, 0 before two losses differ *)
  leader : C -> A -> R; play : C -> A -> R;
  cost : R; most : R;                (* what additions have cost, and the largest value so far *)
  kappa : C -> R;                    (* what the last addition costs, *)
  cuts : C -> R                      (* and what the chains that ended with it leave out *) }.
Definition stop (b : block) : nat := (first b + len (how b))%N.

(** A round: its block, what was drawn, and what was revealed. *)
Record round := Round {
  home : block; ctx : C; arm : A; lot : bool; seen : C -> A -> option R }.

Definition pos (x : R) : bool := ~~ geb 0 x.
Definition mass (b : block) (t : nat) (c : C) (a : A) := \rsum_(v | G t c v a) play b c v.

(** The chain of round [t] of block [b] for an arm; [x] tells the contexts of all rounds. First the
    contexts of the block itself, then [n] later ones: the sum of weights, their product, and whether
    the chain goes on. *)
Section Chains.
Variables (b : block) (t : nat) (x : nat -> C) (a : A).
Definition miss (j : nat) := 1 - mass b t (x j) a.
Definition own := chain miss [seq first b + j | j <- others (len (how b)) kept (t - first b)]%N.
Fixpoint tail (n : nat) : R * R * bool :=
  if n is n'.+1 then
    let: (z, p, go) := tail n' in
    if go then
      let p' := p * miss (stop b + n') in
      let go' := geb p' (least (how b)) && ~~ geb (INR (n' + len (how b))) (cap (how b) a) in
      (if go' then z + p' else z, p', go')
    else (z, p, false)
  else let go := followed (how b) && geb (snd own) (least (how b)) in
    (if go then 1 else 0, 1, go).

(** After [n] rounds: the weight so far, what is left out, and whether the chain goes on. *)
Definition weighed (n : nat) : R * R * bool :=
  let: (z, p, go) := tail (n - stop b) in (fst own + snd own * z, snd own * p, go).
End Chains.

(** A block that is not drawn leaves out nothing; one that is drawn stands for others. *)
Definition stands_for (b : block) (drawn : bool) : R :=
  if followed (how b) then (if drawn then every (how b) else 0) else 1.
Definition learned (t : nat) : bool := (0 < t < horizon)%N.

(** What round [t] leaves out and has added, if [n] rounds are over: [x] and [drawn] tell contexts
    and lots. *)
Section Round.
Variables (x : nat -> C) (drawn : nat -> bool) (b : block) (t n : nat).
Definition counts : bool := learned t && (stop b <= n)%N.
Definition left_out (a : A) : R :=
  let: (_, rest, go) := weighed b t x a n in
  if counts && ~~ go then stands_for b (drawn (first b)) * rest else 0.
Definition added (shown : C -> A -> option R) (c : C) (a : A) : R :=
  if counts then
    base (how b) c a - common (how b) c
    + ((if shown c a is Some l then (l - base (how b) c a) * fst (fst (weighed b t x a n)) else 0)
       - base (how b) c a * left_out a)
  else 0.
End Round.

(** Costs are measured in every second round of a block. *)
Definition measures (b : block) (j : nat) : R :=
  if odd (j - first b) then 0 else / INR (uphalf (len (how b))).

(** A block that begins with round [n]. *)
Definition begin (n k : nat) (h : plan) (table : C -> A -> R) (rate spread cost most : R)
    (kappa cuts : C -> R) : block :=
  let table' := memo (fun c => memo (table c)) in
  let leader := memo (fun c => memo (softmax rate (table' c))) in
  let play := memo (fun c => memo (explore h c (leader c))) in
  Block n k h table' rate spread leader play cost most (memo kappa) (memo cuts).
Definition empty_block (h : plan) : block := begin 0 0 h (@zero C A) 0 0 0 0 (fun=> 0) (fun=> 0).
(** A round that no list has; needed for total functions only. *)
Definition nowhere : round := Round
  (empty_block (Plan 1 (@zero C A) (fun=> 0) false 1 (fun=> 0) 0 (fun _ p => p) 0))
  c0 a0 false (fun _ _ => None).

Variable decide : seq round -> plan.

(** The block after [cur], which is over. *)
Definition next (past : seq round) (cur : block) : block :=
  let n := size past in
  let h := decide past in
  let r := nth nowhere past in
  let x j := ctx (r j) in
  let drawn j := lot (r j) in
  let have k t := added x drawn (home (r t)) t k (seen (r t)) in
  let left k t := left_out x drawn (home (r t)) t k in
  let cost' := cost cur + \rsum_(j < n | (first cur <= j)%N) (measures cur j * kappa cur (x j)) in
  let most' := Rmax (most cur) cost' in
  let spread' := Rmax (spread cur) (if (horizon <= n)%N then 1 else range h) in
  let rate' := if pos spread' then ln (INR #|A|) / (spread' + most') else 0 in
  let paid t c a := have n t c a - (if pos (rate cur) then have (first cur) t c a else 0) in
  let kappa' c := if pos rate' then
    mix_gap (if pos (rate cur) then rate cur else rate') (leader cur c)
      (fun a => \rsum_(t < n) paid t c a)
    + \rsum_(t < n) \rsum_a ((leader (home (r t)) c a - leader cur c a) * paid t c a) else 0 in
  let cuts' c := \rsum_(t < n) \rsum_a
    (leader (home (r t)) c a * (left n t a - left (first cur) t a)) in
  begin n (first cur) h (fun c a => \rsum_(t < n) have n t c a) rate' spread'
    cost' most' kappa' cuts'.

(** The learner: the rounds so far, and the open block. *)
Record ledger := Ledger { past : seq round; cur : block }.
Definition step (s : ledger) (c : C) (a : A) (drawn : bool) (o : C -> A -> option R) : ledger :=
  let past' := rcons (past s) (Round (cur s) c a drawn o) in
  Ledger past' (if stop (cur s) == size past' then next past' (cur s) else cur s).
Definition certified : learner C A := Learner (Ledger [::] (empty_block (decide [::]))) (fun s => play (cur s))
  (fun s c a o => Draw (coin (/ every (how (cur s)))) (fun drawn => Ret (step s c a drawn o))).

(** What it has measured: at least its regret, in the mean. *)
Definition certificate (s : ledger) : R := 2 + most (cur s) + cost (cur s)
  + \rsum_(j < size (past s)) (let r := nth nowhere (past s) j in
      measures (home r) j * cuts (home r) (ctx r)
      + \rsum_a Rmax 0 (play (home r) (ctx r) a - leader (home r) (ctx r) a)).

(** * The library's choice of a block *)
Variables (alpha coins : R) (slots longest usual : nat) (by_round : bool).
Variable loops : pred A.             (* the arms with a self-loop in every graph *)
Variable dominating : seq A.         (* what is explored if some arm is weakly observable *)

(** Losses that were seen in their own context: their range, and a mean of those of played arms. *)
Definition losses (r : round) : seq R := pmap (seen r (ctx r)) (enum A).
Definition difference (rs : seq round) : R :=
  if flatten [seq losses r | r <- rs] is l :: ls then foldl Rmax l ls - foldl Rmin l ls else 0.
Definition note (mk : R * nat) (r : round) : R * nat :=
  let: (m, k) := mk in
  if k is 0%N then
    if losses r is l :: ls then (foldl Rplus l ls / INR (size (losses r)), 1%N) else mk
  else if seen r (ctx r) (arm r) is Some l then (m + (l - m) / (1 + INR k / 16), k.+1) else mk.

(** How long chains may be, and how often dominating arms are explored. *)
Definition cap_at (n : nat) : R := Rmax 8 (sqrt (alpha * INR n.+1)).
Definition members : R := INR (size dominating).
Definition explored_at (n : nat) : R :=
  Rmin (/ 2) (Rpower (members * ln (INR #|A|) / INR n.+1) (/ 3)).
Definition weak : bool := (0 < size dominating)%N.
Definition far_at (n : nat) : R :=
  (if weak then Rmax (cap_at n) (members / explored_at n) else cap_at n) * ln (INR (n + 8)).

Definition mixed (rho : R) (p : A -> R) (a : A) : R :=
  (1 - rho) * p a + (if a \in dominating then rho / members else 0).
Definition limited (rho : R) (p : A -> R) (a : A) : R :=
  if [seq b <- enum A | ~~ loops b && pos (p b - (1 - rho))] is b :: _ then
    if a == b then 1 - rho else p a + (p b - (1 - rho)) / (INR #|A| - 1)
  else p a.

Definition library (rs : seq round) : plan :=
  let n := size rs in
  let r := nth nowhere rs in
  let x j := ctx (r j) in
  let drawn j := lot (r j) in
  let last_first := first (home (r n.-1)) in
  let rounds b := iota (first b) (len (how b)) in
  let shown a s := if seen (r s) (ctx (r s)) a is Some _ then true else false in
  let alive b k := has (fun s => has (fun a =>
    (pos (stands_for b (drawn (first b))) || has (shown a) (if by_round then [:: s] else rounds b))
    && snd (weighed b s x a k)) (enum A)) (rounds b) in
  let busy := count (fun t => let b := home (r t) in
    (first b == t) && ((stop b == n) || alive b last_first)) (iota 0 n) in
  let hidden := \rsum_(t < n) \rsum_(a | ~~ loops a) left_out x drawn (home (r t)) t n a in
  let any_loopless := has (fun a => ~~ loops a) (enum A) in
  let length := if weak then far_at n else cap_at n in
  let wanted := minn (maxn usual (floor (length / (2 * INR slots)))) longest in
  let short := minn wanted (1 + n.+1 %/ 32)%N in
  let len := if (slots <= 2 * busy)%N && ~~ by_round then
    (short * (if 4 * busy < 3 * slots then 2 else 4))%N else short in
  let rho := if weak then
      (let z := explored_at n in if pos (hidden - / 10 * INR n.+1 * z) then z else 0)
    else if any_loopless && pos (hidden - / 10 * sqrt (alpha * INR n.+1))
    then Rmin (/ 2) (/ cap_at n) else 0 in
  let m := fst (foldl note (0, 0%N) rs) in
  Plan len (fun _ _ => m) (fun=> m) ((busy + 2 < slots) && (0 < n))%N
    (Rmax 1 ((if any_loopless then far_at n else cap_at n) / (coins * INR len)))
    (fun a => if loops a then cap_at n else far_at n) (/ (cap_at n * cap_at n))
    (fun _ p => if pos rho then (if weak then mixed rho p else limited rho p) else p)
    (difference rs).
End Learner.
