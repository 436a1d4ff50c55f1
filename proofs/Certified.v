(** The certified learner of [Learner] has the form of [Certificate]: what it measures is at least
    its regret, in the mean. *)
From mathcomp Require Import div.
From Crossbandit Require Import FiniteSums Exponential Programs Ftrl Paths Leaders Learner.
From Crossbandit Require Certificate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** The Boolean test for positive numbers. *)
Lemma posP x : reflect (0 < x) (pos x).
Proof. by rewrite /pos /geb; case: Rle_dec => h; constructor; lra. Qed.

(** A sum over [n] is one over the first [m], and one over the others. *)
Lemma rsum_cut m n (F : nat -> R) : (m <= n)%N ->
  \rsum_(j < n) F j = \rsum_(j < m) F j + \rsum_(k < n - m) F (m + k)%N.
Proof. by move=> mn; move: (subnKC mn); move: (n - m)%N => k <-; rewrite big_split_ord. Qed.

(** * Chains *)

(** The weight of context [j] in a chain. *)
Fixpoint wt (f : nat -> R) (js : seq nat) (j : nat) : R :=
  if js is i :: js' then if i == j then 1 else f i * wt f js' j else 0.

(** A context that is not in a chain has no weight. *)
Lemma wt_out f js j : j \notin js -> wt f js j = 0.
Proof.
by elim: js => //= i js IH; rewrite inE negb_or eq_sym => /andP[/negbTE -> /IH ->]; ring.
Qed.

(** One step of a chain. *)
Lemma wt_sum f i js n (g : nat -> R) : (i < n)%N -> i \notin js ->
  \rsum_(j < n) (wt f (i :: js) j * g j) = g i + f i * \rsum_(j < n) (wt f js j * g j).
Proof.
move=> lt ni; rewrite (rsum_D1 _ (i0 := Ordinal lt)) //= eqxx Rmult_1_l; congr (_ + _).
rewrite [in RHS](rsum_D1 _ (i0 := Ordinal lt)) //= wt_out // Rmult_0_l Rplus_0_l rsum_mull.
apply: rsum_eqr => j ne; have -> : (i == j :> nat) = false.
  by apply/negbTE; move: ne; rewrite -(inj_eq val_inj) eq_sym.
by rewrite Rmult_assoc.
Qed.

(** The weights of a chain, and what it leaves out. *)
Lemma chain_wt f js n : uniq js -> {in js, forall j, (j < n)%N} ->
  \rsum_(j < n) wt f js j = fst (chain f js)
  /\ \rsum_(j < n) (wt f js j * (1 - f j)) = 1 - snd (chain f js).
Proof.
elim: js => [|i js IH] /=.
  by split; rewrite big1 //=; try (by move=> j _; ring); ring.
case: (chain f js) IH => z p IH /andP[ni u] lt.
have /= [IH1 IH2] := IH u (fun j jl => lt j (@mem_behead _ (i :: js) _ jl)).
have il := lt i (mem_head _ _).
rewrite (wt_sum f (fun j => 1 - f j) il ni) IH2; split; last by ring.
rewrite (eq_bigr (fun j : 'I_n => wt f (i :: js) j * 1)); last by move=> j _; rewrite /=; ring.
rewrite (wt_sum f (fun=> 1) il ni); congr (_ + _ * _).
by rewrite -IH1; apply: rsum_eqr => j _; ring.
Qed.

(** A chain depends on what its own contexts give. *)
Lemma chain_ext f g js : {in js, f =1 g} -> chain f js = chain g js.
Proof.
elim: js => //= i js IH fg; rewrite IH => [|j jl]; last by apply: fg; rewrite inE jl orbT.
by rewrite fg ?mem_head.
Qed.

(** A weight depends on the other contexts of the chain only. *)
Lemma wt_ext f g js j : {in js, forall i, i != j -> f i = g i} -> wt f js j = wt g js j.
Proof.
elim: js => //= i js IH fg; case: eqP => // ne; rewrite fg ?mem_head //; last exact/eqP.
by rewrite IH // => k kl; apply: fg; rewrite inE kl orbT.
Qed.

(** The rounds that weigh a round are others of the same block. *)
Lemma others_uniq n kept i : uniq (others n kept i).
Proof.
rewrite cat_uniq !filter_uniq ?iota_uniq //= andbT; apply/hasPn => j.
rewrite mem_filter => /andP[lt _]; apply/negP => /=; rewrite mem_filter => /andP[lt' _].
by have := ltn_trans lt lt'; rewrite ltnn.
Qed.

(** They are in the block, and are not the round itself. *)
Lemma others_lt n kept i : {in others n kept i, forall j, (j < n)%N /\ j != i}.
Proof.
move=> j; rewrite mem_cat !mem_filter mem_iota /= add0n leq_min.
by case/orP=> /and3P[h jn _]; split=> //; apply/eqP => e; rewrite e ltnn in h.
Qed.

Section Chains.
Variables (C A : finType) (G : nat -> C -> rel A) (kept : nat).
Implicit Types (b : block C A) (x : nat -> C).
Local Notation own := (own G kept).
Local Notation tail := (tail G kept).
Local Notation weighed := (weighed G kept).
Local Notation miss := (miss G).
Definition spots b t := [seq (first b + j)%N | j <- others (len (how b)) kept (t - first b)].

(** No context is used twice. *)
Lemma spots_uniq b t : uniq (spots b t).
Proof. by rewrite map_inj_uniq ?others_uniq //; exact: addnI. Qed.

(** The contexts of the block that a chain uses, by their numbers in the run. *)
Lemma spots_lt b t : {in spots b t, forall j, [/\ (first b <= j)%N, (j < stop b)%N
  & (first b <= t)%N -> j != t]}.
Proof.
move=> j /mapP[i il ->]; have [lt ne] := others_lt il.
split; [exact: leq_addr | by rewrite ltn_add2l |].
by move=> ft; apply: contraNneq ne => <-; rewrite addKn.
Qed.

(** A chain does not look at its own round. *)
Lemma own_ext b t x x' a : (forall j, (first b <= j < stop b)%N ->
    ((first b <= t)%N -> j != t) -> x j = x' j) -> own b t x a = own b t x' a.
Proof.
by move=> e; apply: chain_ext => j /spots_lt[l u ne]; rewrite /Learner.miss e // l.
Qed.

(** The later part of a chain looks at contexts only up to where it is. *)
Lemma tail_ext b t x x' a n : (forall j, (first b <= j < stop b + n)%N ->
    ((first b <= t < stop b)%N -> j != t) -> x j = x' j) -> tail b t x a n = tail b t x' a n.
Proof.
elim: n => [|n IH] e /=.
  rewrite (@own_ext b t x x' a) // => j js ne; apply: e; first by rewrite addn0.
  by move=> /andP[/ne].
rewrite IH => [|j /andP[js jn] ne]; last by apply: e => //; rewrite js addnS ltnS ltnW.
rewrite /Learner.miss e //; first by rewrite addnS leqnn andbT /stop -addnA leq_addr.
by move=> /andP[_ ts]; rewrite neq_ltn; apply/orP; right; exact: leq_trans ts (leq_addr _ _).
Qed.

(** So does the state of a chain after [n] rounds. *)
Lemma weighed_ext b t x x' a n : (stop b <= n)%N ->
  (forall j, (j < n)%N -> x j = x' j) -> weighed b t x a n = weighed b t x' a n.
Proof.
move=> sn e; rewrite /Learner.weighed (@tail_ext b t x x' a) ?(@own_ext b t x x' a) //.
  by move=> j /andP[_ js] _; apply: e; exact: leq_trans js sn.
by move=> j /andP[_ js] _; apply: e; rewrite subnKC in js.
Qed.

(** Once a chain has ended, nothing changes. *)
Lemma tail_stable b t x a n k : snd (tail b t x a n) = false ->
  tail b t x a (n + k) = tail b t x a n.
Proof.
move=> e; elim: k => [|k IH]; first by rewrite addn0.
by rewrite addnS /= IH; case: (tail b t x a n) e => [[z p] g] /= ->.
Qed.

(** The weights of later contexts. *)
Definition after b t x a n : R := let: (_, p, go) := tail b t x a n in if go then p else 0.

(** The weights of later contexts, and what they leave out. *)
Lemma tail_sum b t x a n : \rsum_(k < n.+1) after b t x a k = fst (fst (tail b t x a n))
  /\ \rsum_(k < n) (after b t x a k * (1 - miss b t x a (stop b + k)))
     = 1 - snd (fst (tail b t x a n)).
Proof.
elim: n => [|n [IH1 IH2]].
  rewrite (rsum_recr 0 (after b t x a)) !big_ord0 /after /=.
  by case: (_ && _); split; rewrite /=; ring.
rewrite (rsum_recr n.+1 (after b t x a)) IH1.
rewrite (rsum_recr n (fun k => after b t x a k * (1 - miss b t x a (stop b + k)))) IH2.
rewrite /after /=; case: (tail b t x a n) => [[z p] go] /=.
by case: go => /=; last (split; ring); case: (_ && _); split; rewrite /=; ring.
Qed.
End Chains.

(** * Runs *)
Section Run.
Variables (C A : finType) (c0 : C) (a0 : A) (nu : C -> R) (G : nat -> C -> rel A).
Variables (loss : nat -> C -> A -> R) (pi : C -> A) (kept horizon : nat).
Variable decide : seq (round C A) -> plan C A.
Notation V := (prod_finType A bool_finType).
Implicit Types (h : path C V) (b : block C A).
Definition d : C * V := (c0, (a0, false)).
Local Notation context h t := (Paths.context d h t).
Local Notation arm h t := (Paths.arm d h t).1.
Local Notation drawn h t := (Paths.arm d h t).2.
Local Notation nowhere := (nowhere c0 a0).
Local Notation next := (next c0 a0 G kept horizon decide).
Local Notation learned := (learned horizon).

(** The state of the learner after a path, and the block of a round. *)
Definition shown t c a (c' : C) (a' : A) := if G t c a a' then Some (loss t c' a') else None.
Definition go (s : ledger C A) (x : C * V) :=
  step c0 a0 G kept horizon decide s x.1 x.2.1 x.2.2 (shown (size (past s)) x.1 x.2.1).
Definition st h := foldl go (Ledger [::] (empty_block (decide [::]))) h.
Definition blk h t := cur (st (take t h)).
Definition pol h c (v : V) :=
  play (cur (st h)) c v.1 * coin (/ every (how (cur (st h)))) v.2.
Definition rnd h t :=
  Round (blk h t) (context h t) (arm h t) (drawn h t) (shown t (context h t) (arm h t)).

(** One more round is one more step. *)
Lemma st_rcons h x : st (rcons h x) = go (st h) x.
Proof. by rewrite /st foldl_rcons. Qed.

(** The block of a round depends on earlier rounds only. *)
Lemma blk_take h n t : (t <= n)%N -> blk (take n h) t = blk h t.
Proof. by move=> tn; rewrite /blk take_take. Qed.

(** The learner keeps all rounds. *)
Lemma past_st h : past (st h) = [seq rnd h t | t <- iota 0 (size h)].
Proof.
elim/last_ind: h => // h x IH; rewrite st_rcons {1}/go /= size_rcons.
rewrite -addn1 iotaD map_cat /= add0n cats1; congr rcons.
  rewrite IH; apply/eq_in_map => t; rewrite mem_iota /= add0n => tl.
  by rewrite /rnd /blk /Paths.context /Paths.arm nth_rcons tl -cats1 takel_cat // ltnW.
by rewrite IH size_map size_iota /rnd /blk /Paths.context /Paths.arm nth_rcons ltnn eqxx -cats1
  take_size_cat; case: x => c [a z].
Qed.

(** As many rounds are kept as were played. *)
Lemma size_past h : size (past (st h)) = size h.
Proof. by rewrite past_st size_map size_iota. Qed.

(** The [t]-th round that is kept is round [t]. *)
Lemma nth_past h t : (t < size h)%N -> nth nowhere (past (st h)) t = rnd h t.
Proof. by move=> tl; rewrite past_st (nth_map 0%N) ?size_iota // nth_iota. Qed.

(** A round depends on earlier rounds and itself. *)
Lemma rnd_take h n t : (t < n)%N -> rnd (take n h) t = rnd h t.
Proof.
by move=> tn; rewrite /rnd blk_take 1?ltnW // /Paths.context /Paths.arm nth_take.
Qed.

(** After each round, the block goes on or the next one begins. *)
Lemma blk_S h t : (t < size h)%N -> blk h t.+1 =
  if stop (blk h t) == t.+1 then next (past (st (take t.+1 h))) (blk h t) else blk h t.
Proof.
move=> tl; rewrite /blk (take_nth d) // st_rcons /go /step /= size_rcons size_past size_take.
by rewrite tl.
Qed.

(** After the last round, nothing changes. *)
Lemma blk_end h t : (size h <= t)%N -> blk h t = blk h (size h).
Proof. by move=> lt; rewrite /blk take_oversize // take_size. Qed.

Hypothesis len_gt0 : forall rs, (0 < len (decide rs))%N.

(** A round is in its block. *)
Lemma blk_in h t : (t <= size h)%N -> (first (blk h t) <= t < stop (blk h t))%N.
Proof.
elim: t => [|t IH] tl; first by rewrite /blk take0 /= /stop /= add0n len_gt0.
have /andP[lo hi] := IH (ltnW tl); rewrite blk_S //; case: eqP => [e|/eqP ne].
  rewrite /stop /= size_past size_takel // leqnn /=.
  by rewrite -[X in (X < _)%N]addn0 ltn_add2l len_gt0.
by rewrite leqW //= ltn_neqAle eq_sym ne.
Qed.

(** Until it is over, the block is the same. *)
Lemma blk_same h t u : (t <= u)%N -> (u <= size h)%N -> (u < stop (blk h t))%N ->
  blk h u = blk h t.
Proof.
move=> tu; rewrite -(subnKC tu); elim: (u - t)%N => [|n IH]; first by rewrite addn0.
rewrite addnS => ul us; rewrite blk_S // IH // ?(ltnW ul) ?(ltnW us) //.
by case: eqP => // e; rewrite e ltnn in us.
Qed.

(** The block of a round was the same at its beginning, and before that there was another. *)
Lemma opened h t : (t <= size h)%N -> let b := blk h t in blk h (first b) = b /\
  ((0 < first b)%N -> [/\ stop (blk h (first b).-1) = first b
    & b = next (past (st (take (first b) h))) (blk h (first b).-1)]).
Proof.
elim: t => [|t IH] tl /=; first by rewrite {2 3}/blk take0 /=; split=> //; rewrite /blk take0.
have [IH1 IH2] := IH (ltnW tl); case e: (stop (blk h t) == t.+1); last first.
  by rewrite blk_S // e.
have f : first (blk h t.+1) = t.+1 by rewrite blk_S // e /= size_past size_takel.
rewrite f; split=> // _; rewrite (eqP e); split=> //; by rewrite blk_S // e.
Qed.

(** All rounds from the first one of a block on have this block. *)
Lemma blk_first h t j : (t <= size h)%N -> (first (blk h t) <= j <= t)%N -> blk h j = blk h t.
Proof.
move=> tl /andP[fj jt]; have [e _] := opened tl; have /andP[_ ts] := blk_in tl.
rewrite -[RHS]e; apply: blk_same => //; first exact: leq_trans jt tl.
by rewrite e; exact: leq_ltn_trans jt ts.
Qed.

(** The blocks of later rounds begin later. *)
Lemma first_mono h t u : (t <= u)%N -> (u <= size h)%N -> (first (blk h t) <= first (blk h u))%N.
Proof.
move=> tu us; case: (leqP (first (blk h u)) t) => [ft|tf].
  by rewrite (@blk_first h u t us) // ft.
apply: leq_trans (ltnW tf); by have /andP[] := blk_in (leq_trans tu us).
Qed.

(** Blocks that a path shares with another. *)
Lemma blk_agree h h' j t : take j h = take j h' -> (t <= j)%N -> blk h t = blk h' t.
Proof. by move=> e tj; rewrite -(blk_take h tj) e blk_take. Qed.

(** Two paths that agree before round [j] have the same block in round [t], or it begins later. *)
Lemma blk_later N h h' j t : size h = N -> size h' = N -> take j h = take j h' -> (t < N)%N ->
  (j < N)%N -> blk h t = blk h' t \/ (j < first (blk h t))%N /\ (j < first (blk h' t))%N.
Proof.
move=> sh sh' e tN jN; case: (leqP t j) => [tj|jt]; first by left; exact: blk_agree e tj.
have ej := blk_agree e (leqnn j).
case: (ltnP t (stop (blk h j))) => ts.
  left; rewrite (@blk_same h j t (ltnW jt)) ?sh ?(ltnW tN) //.
  by rewrite (@blk_same h' j t (ltnW jt)) ?sh' ?(ltnW tN) -?ej.
have no h2 : size h2 = N -> blk h2 j = blk h j -> (j < first (blk h2 t))%N.
  move=> s2 e2; rewrite ltnNge; apply/negP => fj.
  have := @blk_first h2 t j; have := @blk_in h2 t; rewrite s2 (ltnW tN) fj (ltnW jt).
  by move=> /(_ isT) /andP[_ lt] /(_ isT isT) E; move: lt; rewrite -E e2 ltnNge ts.
by right; split; apply: no.
Qed.

(** What round [t] has added after [n] rounds of a path, and what it has left out. *)
Definition have_ h n t := added G kept horizon (fun j => context h j) (fun j => drawn h j) (blk h t)
  t n (shown t (context h t) (arm h t)).
Definition lf h n t := left_out G kept horizon (fun j => context h j) (fun j => drawn h j) (blk h t)
  t n.

(** What was added depends on the rounds that are over. *)
Lemma counts_ext x x' (dr dr' : nat -> bool) b t n o c a : (first b < stop b)%N ->
  (forall j, (j < n)%N -> x j = x' j /\ dr j = dr' j) ->
  added G kept horizon x dr b t n o c a = added G kept horizon x' dr' b t n o c a
  /\ left_out G kept horizon x dr b t n a = left_out G kept horizon x' dr' b t n a.
Proof.
move=> fs e; case k: (counts horizon b t n); last first.
  by rewrite /added /left_out k; do 2 case: (weighed _ _ _ _ _ _ _) => [[? ?] ?].
have /andP[_ sn] := k.
have W : weighed G kept b t x a n = weighed G kept b t x' a n.
  by apply: weighed_ext => // j jn; case: (e j jn).
have [_ D] := e _ (leq_trans fs sn).
by rewrite /added /left_out W D.
Qed.

(** A block has a round. *)
Lemma shown_in h t : (t <= size h)%N -> (first (blk h t) < stop (blk h t))%N.
Proof. by move/blk_in=> /andP[]; exact: leq_ltn_trans. Qed.

(** Before its block is over, a round has added nothing. *)
Lemma late_have h n t c a : (t <= size h)%N -> (n <= t)%N -> have_ h n t c a = 0 /\ lf h n t a = 0.
Proof.
move=> ts nt; have /andP[_ lt] := blk_in ts.
have -> : have_ h n t c a = 0.
  by rewrite /have_ /added /counts leqNgt (leq_ltn_trans nt lt) andbF.
rewrite /lf /left_out; case: (weighed _ _ _ _ _ _ _) => [[? ?] ?].
by rewrite /counts leqNgt (leq_ltn_trans nt lt) andbF.
Qed.

(** A round that is not learned from adds nothing. *)
Lemma unlearned_have h n t c a : ~~ learned t -> have_ h n t c a = 0 /\ lf h n t a = 0.
Proof.
move=> /negbTE nl; rewrite /have_ /lf /added /left_out /counts nl.
by case: (weighed _ _ _ _ _ _ _) => [[? ?] ?].
Qed.

(** The past determines what was added. *)
Lemma have_agree N h h' j n t c a : size h = N -> size h' = N -> take j h = take j h' ->
  (n <= j)%N -> (j < N)%N -> (t < N)%N ->
  have_ h n t c a = have_ h' n t c a /\ lf h n t a = lf h' n t a.
Proof.
move=> sh sh' e nj jN tN.
have E i : (i < j)%N -> nth d h i = nth d h' i by move=> ij; rewrite -(nth_take _ ij) e nth_take.
case: (leqP n t) => [nt|tn].
  have ts : (t <= size h)%N by rewrite sh ltnW.
  have ts' : (t <= size h')%N by rewrite sh' ltnW.
  have [-> ->] := late_have c a ts nt; by have [-> ->] := late_have c a ts' nt.
have tj := leq_trans tn nj; rewrite /have_ /lf (blk_agree e (ltnW tj)).
rewrite /Paths.context /Paths.arm (E _ tj); apply: counts_ext.
  by rewrite shown_in // sh' ltnW.
by move=> i lt; rewrite E //; exact: leq_trans lt nj.
Qed.

(** What the learner computes is what its past has. *)
Lemma next_have h f s k c a : (s < f)%N -> (f <= size h)%N -> (k <= f)%N ->
  let r := nth nowhere (past (st (take f h))) in
  added G kept horizon (fun j => ctx (r j)) (fun j => lot (r j)) (home (r s)) s k (seen (r s)) c a
    = have_ h k s c a
  /\ left_out G kept horizon (fun j => ctx (r j)) (fun j => lot (r j)) (home (r s)) s k a
    = lf h k s a.
Proof.
move=> sf fs kf r; have E i : (i < f)%N -> r i = rnd h i.
  by move=> lt; rewrite /r nth_past ?size_takel // rnd_take.
rewrite E //; apply: counts_ext; first by rewrite shown_in // ltnW // (leq_trans sf fs).
by move=> i lt; rewrite E //; exact: leq_trans lt kf.
Qed.

(** The first block is the empty one. *)
Lemma blk0 h t : (t <= size h)%N -> first (blk h t) = 0%N -> blk h t = empty_block (decide [::]).
Proof. by move=> ts f0; have [<- _] := opened ts; rewrite f0 /blk take0. Qed.

(** The table of a block holds what was added before it. *)
Lemma table_blk h t c a : (t <= size h)%N -> table (blk h t) c a =
  \rsum_(s < first (blk h t)) have_ h (first (blk h t)) s c a.
Proof.
move=> ts; case: (posnP (first (blk h t))) => [f0|f1].
  by rewrite f0 big_ord0 (blk0 ts f0).
have [_ /(_ f1)[_ e]] := opened ts; have /andP[ft _] := blk_in ts.
rewrite {1}e /next /= /memo size_past size_takel; last exact: leq_trans ft ts.
by apply: rsum_eqr => s _; have [->] := next_have c a (ltn_ord s) (leq_trans ft ts) (leqnn _).
Qed.

(** Leaders are softmax; exploration is what was decided. *)
Lemma blk_play h t c a : leader (blk h t) c a = softmax (rate (blk h t)) (table (blk h t) c) a
  /\ play (blk h t) c a = explore (how (blk h t)) c (leader (blk h t) c) a.
Proof.
rewrite /blk; elim/last_ind: (take t h) => // s x IH.
by rewrite st_rcons /go /step /=; case: eqP.
Qed.

(** What a block does was decided from the rounds before it. *)
Lemma blk_how h t : exists2 rs, how (blk h t) = decide rs & size rs = first (blk h t).
Proof.
rewrite /blk; elim/last_ind: (take t h) => [|s x IH]; first by exists [::].
by rewrite st_rcons /go /step /=; case: eqP => // _; eexists.
Qed.

(** ** The rate *)
Hypothesis two : (1 < #|A|)%N.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Definition fair (rs : seq (round C A)) := forall t c a l, (t < size rs)%N ->
  seen (nth nowhere rs t) c a = Some l -> 0 <= l <= 1.
Hypothesis range_le1 : forall rs, fair rs -> range (decide rs) <= 1.

(** There are at least two arms. *)
Lemma lnK : 0 < ln (INR #|A|).
Proof. by rewrite -ln_1; apply: ln_increasing; [lra | apply: lt_1_INR; apply/ltP]. Qed.

(** What the learner has seen are losses. *)
Lemma fair_st h : fair (past (st h)).
Proof.
move=> t c a l; rewrite size_past => lt; rewrite nth_past //= /shown; case: (G _ _ _ _) => // -[<-].
exact: loss01.
Qed.

Definition sane b := [/\ 0 <= spread b <= 1, cost b <= most b, 0 <= most b
  & rate b = if pos (spread b) then ln (INR #|A|) / (spread b + most b) else 0].

(** The numbers from which the rate is computed are in their ranges. *)
Lemma blk_sane h t : sane (blk h t).
Proof.
rewrite /blk; elim/last_ind: (take t h) => [|s x IH].
  rewrite /sane /= /pos /geb; case: Rle_dec => h0 /=; split; lra.
have f : fair (past (st (rcons s x))) by exact: fair_st.
move: f; rewrite st_rcons /go /step /=; case: eqP => // _ f; case: IH => s01 cm m0 _.
split=> //=; [split | exact: Rmax_r |].
- by apply: Rle_trans (proj1 s01) _; exact: Rmax_l.
- apply: Rmax_lub; first by case: s01.
  case: ifP => _; [exact: Rle_refl | exact: range_le1].
- by apply: Rle_trans m0 _; exact: Rmax_l.
Qed.

(** There is a rate once two losses have differed. *)
Lemma rate_pos h t : pos (rate (blk h t)) = pos (spread (blk h t)).
Proof.
have [s01 cm m0 ->] := blk_sane h t; case: (posP (spread _)) => p; last by case: posP => //; lra.
by apply/posP; apply: Rdiv_lt_0_compat; [exact: lnK | lra].
Qed.

(** The rate never rises, once it is positive. *)
Lemma rate_falls h t : pos (rate (blk h t)) ->
  pos (rate (blk h t.+1)) /\ rate (blk h t.+1) <= rate (blk h t).
Proof.
move=> p; case: (ltnP t (size h)) => ts; last first.
  by rewrite (@blk_end h t.+1) 1?leqW // -(blk_end ts); split=> //; exact: Rle_refl.
rewrite !rate_pos in p *; have [[s0 s1] _ m0 e] := blk_sane h t.
have [[s0' s1'] _ m0' e'] := blk_sane h t.+1.
have [sp mo] : spread (blk h t) <= spread (blk h t.+1) /\ most (blk h t) <= most (blk h t.+1).
  by rewrite blk_S //; case: eqP => _; split; rewrite /=; (exact: Rmax_l || exact: Rle_refl).
have p' : pos (spread (blk h t.+1)) by apply/posP; move/posP: p; lra.
split=> //; rewrite e e' p p'; move/posP: p => p; apply: Rmult_le_compat_l; first exact: Rlt_le lnK.
by apply: Rinv_le_contravar; lra.
Qed.

Variable N : nat.
Fixpoint later_rate h k u : R :=
  if pos (rate (blk h u)) then rate (blk h u) else if k is k'.+1 then later_rate h k' u.+1 else 1.
Definition eta u h := later_rate h (N - u) (minn u N).

(** The rate of the analysis is positive: before there is a rate, it is the first one to come. *)
Lemma eta_gt0 u h : 0 < eta u h.
Proof.
rewrite /eta; elim: (N - u)%N (minn u N) => [|k IH] v /=; case: posP => //; lra.
Qed.

(** It is the rate of the learner, if there is one. *)
Lemma eta_rate u h : (u <= N)%N -> pos (rate (blk h u)) -> eta u h = rate (blk h u).
Proof. by move=> uN p; rewrite /eta (minn_idPl uN); case: (N - u)%N => /= [|k]; rewrite p. Qed.

(** Before that, it does not change. *)
Lemma eta_wait u h : (u < N)%N -> ~~ pos (rate (blk h u)) -> eta u h = eta u.+1 h.
Proof.
move=> uN /negbTE p; rewrite /eta (minn_idPl uN) (minn_idPl (ltnW uN)).
by rewrite -[(N - u)%N]prednK ?subn_gt0 //= p -subnS.
Qed.

(** So it never rises. *)
Lemma eta_falls u h : eta u.+1 h <= eta u h.
Proof.
case: (ltnP u N) => uN; last first.
  rewrite /eta (minn_idPr uN) (minn_idPr (leqW uN)).
  have -> : (N - u.+1 = 0)%N by apply/eqP; exact: leqW.
  by have /eqP -> : (N - u == 0)%N := uN; exact: Rle_refl.
case p: (pos (rate (blk h u))); last by rewrite -eta_wait ?p //; exact: Rle_refl.
have [p' le] := rate_falls p; by rewrite !eta_rate // ltnW.
Qed.

(** ** Weights *)
Definition q t h c a := leader (blk h t) c a.
Definition m t h c a := base (how (blk h t)) c a.
Definition m0 t h c := common (how (blk h t)) c.
Definition B t j h a := let b := blk h t in
  if (j < stop b)%N then wt (miss G b t (fun j => context h j) a) (spots kept b t) j
  else snd (own G kept b t (fun j => context h j) a)
       * after G kept b t (fun j => context h j) a (j - stop b).
Definition rest h t a := let b := blk h t in snd (own G kept b t (fun j => context h j) a)
  * snd (fst (tail G kept b t (fun j => context h j) a (N - stop b))).
Definition left t h a := stands_for (blk h t) (drawn h (first (blk h t))) * rest h t a.
Local Notation same := (Certificate.same pol q m m0).
Local Notation free := (free_of N).

(** A sum over an arm and a lot. *)
Lemma pair_sum (P : pred A) (F : A -> R) (W : bool -> R) :
  \rsum_(v | P (v : V).1) (F v.1 * W v.2) = \rsum_(a | P a) (F a * (W true + W false)).
Proof.
transitivity (\rsum_(a | P a) \rsum_(z : bool) (F a * W z)).
  by rewrite pair_big_dep /=; apply: eq_bigl => v; rewrite andbT.
by apply: rsum_eqr => a _; rewrite rsum_bool /=; ring.
Qed.

(** A lot is drawn or is not. *)
Lemma coin_sum x : coin x true + coin x false = 1. Proof. by rewrite /=; ring. Qed.

(** The probability of observing an arm is the one that the learner computes. *)
Lemma mass_eq t h c a : Certificate.mass (fun v : V => v.1) G pol t h c a = mass G (blk h t) t c a.
Proof.
rewrite /Certificate.mass (pair_sum (fun v => G t c v a) (play (blk h t) c)).
by apply: rsum_eqr => v _; rewrite coin_sum Rmult_1_r.
Qed.

(** Two paths on which a round has the same block do not differ in what the round knows. *)
Lemma same_blk t h h' : blk h t = blk h' t -> same t h h'.
Proof.
by move=> e; split=> *; rewrite /pol /q /m /m0 -/(blk h t) -/(blk h' t) e.
Qed.

(** The block of a round is known before the round. *)
Lemma known t h h' : learned t -> size h = N -> size h' = N -> agree t h h' -> same t h h'.
Proof. by move=> _ _ _ [e _]; apply: same_blk; exact: blk_agree e (leqnn _). Qed.

(** Paths that agree but for a round have all other contexts in common. *)
Lemma context_agree h h' t i : agree t h h' -> i != t -> context h i = context h' i.
Proof.
have E k n : fst (nth d k n) = nth (fst d) (map fst k) n.
  case: (ltnP n (size k)) => nk; first by rewrite (nth_map d).
  by rewrite !nth_default ?size_map.
case=> e e'; rewrite neq_ltn /Paths.context => /orP[it|ti].
  by rewrite -(nth_take _ it) e nth_take.
by rewrite -(subnKC ti) -!nth_drop !E e'.
Qed.

Hypothesis horizonN : (horizon <= N)%N.
(** Rounds that are learned from are in the run. *)
Lemma learned_lt t : learned t -> (t < N)%N.
Proof. by case/andP=> _ th; exact: leq_trans th horizonN. Qed.

(** A chain does not look at its own round. *)
Lemma B_round t j a : learned t -> (j < N)%N -> free t (fun h => B t j h a).
Proof.
move=> /learned_lt tN jN h h' sh sh' ag; have e := blk_agree (proj1 ag) (leqnn t); rewrite /B e.
have /andP[ft ts] : (first (blk h' t) <= t < stop (blk h' t))%N by apply: blk_in; rewrite sh' ltnW.
case: ifP => _.
  apply: wt_ext => i /spots_lt[_ _ /(_ ft) ne] _; by rewrite /Learner.miss (context_agree ag).
rewrite (@own_ext _ _ G kept _ t _ (fun j => context h' j)) => [|i _ /(_ ft) ne]; last first.
  exact: context_agree ag ne.
rewrite /after (@tail_ext _ _ G kept _ t _ (fun j => context h' j)) // => i _.
by rewrite ft ts => /(_ isT) ne; exact: context_agree ag ne.
Qed.

(** A weight does not look at the context that it is for. *)
Lemma B_step t j a : learned t -> (j < N)%N -> free j (fun h => B t j h a).
Proof.
move=> /learned_lt tN jN h h' sh sh' ag; rewrite /B.
have [e|[f f']] := blk_later sh sh' (proj1 ag) tN jN; last first.
  have inb k (sk : size k = N) : (first (blk k t) < stop (blk k t))%N.
    by apply: shown_in; rewrite sk ltnW.
  rewrite (ltn_trans f (inb h sh)) (ltn_trans f' (inb h' sh')) !wt_out //.
    by apply/negP => /spots_lt[]; rewrite leqNgt f'.
  by apply/negP => /spots_lt[]; rewrite leqNgt f.
rewrite e; case: ltnP => js.
  by apply: wt_ext => i _ ne; rewrite /Learner.miss (context_agree ag).
have ne i : (i < j)%N -> context h i = context h' i.
  by move=> ij; apply: context_agree ag _; rewrite ltn_eqF.
rewrite (@own_ext _ _ G kept _ t _ (fun j => context h' j)) => [|i /andP[_ il] _]; last first.
  by apply: ne; exact: leq_trans il js.
rewrite /after (@tail_ext _ _ G kept _ t _ (fun j => context h' j)) // => i /andP[_ il] _.
by apply: ne; rewrite subnKC in il.
Qed.

(** A context has a weight only if the block of the round was known before it. *)
Lemma B_same t j a h h' : learned t -> (j < N)%N -> size h = N -> size h' = N -> agree j h h' ->
  B t j h a = 0 \/ same t h h'.
Proof.
move=> /learned_lt tN jN sh sh' ag; have [e|[f _]] := blk_later sh sh' (proj1 ag) tN jN.
  by right; exact: same_blk.
left; rewrite /B (ltn_trans f) ?wt_out //; last by apply: shown_in; rewrite sh ltnW.
by apply/negP => /spots_lt[]; rewrite leqNgt f.
Qed.

(** The weights of a round, and what they leave out. *)
Lemma B_sums t h a : (t <= size h)%N -> (stop (blk h t) <= N)%N ->
  let b := blk h t in let x j := context h j in
  \rsum_(j < N) B t j h a = fst (own G kept b t x a)
    + snd (own G kept b t x a) * \rsum_(k < N - stop b) after G kept b t x a k
  /\ 1 - \rsum_(j < N) (B t j h a * mass G b t (x j) a) = rest h t a.
Proof.
move=> ts sN b x; pose f := miss G b t x a.
have lt : {in spots kept b t, forall j, (j < stop b)%N} by move=> j /spots_lt[].
have [w1 w2] := chain_wt f (spots_uniq kept b t) lt.
have [_ a2] := tail_sum G kept b t x a (N - stop b).
have split F := rsum_cut F sN.
have Bo j : (j < stop b)%N -> B t j h a = wt f (spots kept b t) j by rewrite /B -/b => ->.
have Ba k : B t (stop b + k) h a = snd (own G kept b t x a) * after G kept b t x a k.
  by rewrite /B -/b ltnNge leq_addr /= addKn.
split.
  rewrite (split (fun j => B t j h a)) rsum_mull -w1; congr (_ + _); apply: rsum_eqr => j _.
    by rewrite Bo.
  exact: Ba.
rewrite (split (fun j => B t j h a * mass G b t (x j) a)).
have -> : \rsum_(j < stop b) (B t j h a * mass G b t (x j) a) = 1 - snd (own G kept b t x a).
  by rewrite -w2; apply: rsum_eqr => j _; rewrite Bo // /f /miss; ring.
rewrite (eq_bigr (fun k : 'I_(N - stop b) => snd (own G kept b t x a)
  * (after G kept b t x a k * (1 - miss G b t x a (stop b + k))))); last first.
  by move=> k _; rewrite -/b Ba /miss; ring.
by rewrite -rsum_mull a2 /rest -/b -/x; ring.
Qed.

(** ** Draws *)
Hypothesis nu_dist : dist nu.
Hypothesis every_ge1 : forall rs, 1 <= every (decide rs).
Hypothesis explore_dist : forall rs c p, dist p -> dist (explore (decide rs) c p).
Local Notation E := (EP nu pol N [::]).

(** The probability of a lot. *)
Lemma every_inv h t : 0 < / every (how (blk h t)) <= 1 /\ 1 <= every (how (blk h t)).
Proof.
have [rs -> _] := blk_how h t; have e := every_ge1 rs; split=> //.
split; first by apply: Rinv_0_lt_compat; lra.
by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
Qed.

(** Leaders are distributions. *)
Lemma q_dist t h c : dist (q t h c).
Proof.
have [s0 s1] := softmax_dist a0 (rate (blk h t)) (table (blk h t) c).
split=> [a|]; first by rewrite /q (proj1 (blk_play h t c a)).
by rewrite -[RHS]s1; apply: rsum_eqr => a _; rewrite /q (proj1 (blk_play h t c a)).
Qed.

(** So is what is played, *)
Lemma play_dist t h c : dist (play (blk h t) c).
Proof.
have [rs e _] := blk_how h t; have [x0 x1] := explore_dist rs c (q_dist t h c).
split=> [a|]; first by rewrite (proj2 (blk_play h t c a)) e.
by rewrite -[RHS]x1; apply: rsum_eqr => a _; rewrite (proj2 (blk_play h t c a)) e.
Qed.

(** and what is drawn: an arm and a lot. *)
Lemma pol_dist h c : dist (pol h c).
Proof.
have e : blk h (size h) = cur (st h) by rewrite /blk take_size.
have [p0 p1] := play_dist (size h) h c; have [[i0 i1] _] := every_inv h (size h).
rewrite e in p0 p1 i0 i1; split=> [v|].
  by apply: Rmult_le_pos => //; rewrite /coin; case: ifP => _; lra.
rewrite /pol (pair_sum xpredT (play (cur (st h)) c)) -[RHS]p1.
by apply: rsum_eqr => a _; rewrite coin_sum Rmult_1_r.
Qed.

(** When the horizon of the analysis comes, all chains had ended before the block before. *)
Definition over h := prev (blk h N).
Hypothesis horizon_gt0 : (0 < horizon)%N.
Hypothesis settled : forall h, size h = N -> (horizon <= over h)%N /\
  forall t a, learned t -> (stop (blk h t) <= over h)%N
    /\ snd (weighed G kept (blk h t) t (fun j => context h j) a (over h)) = false.

(** In the end, there was more than one block. *)
Lemma first_gt0 h : size h = N -> (0 < first (blk h N))%N.
Proof.
move=> sh; have [hz _] := settled sh; rewrite lt0n; apply/eqP => f0.
by have := blk0 _ f0; rewrite sh leqnn => /(_ isT) e; move: hz; rewrite /over e leqNgt horizon_gt0.
Qed.

(** The block before began before. *)
Lemma prev_le h t : (t <= size h)%N -> (prev (blk h t) <= first (blk h t))%N.
Proof.
move=> ts; case: (posnP (first (blk h t))) => f; first by rewrite (blk0 ts f).
have [_ /(_ f)[_ e]] := opened ts; rewrite {1}e /=.
have /andP[ft _] := blk_in ts; have := @blk_in h (first (blk h t)).-1.
rewrite (leq_trans (leq_pred _) (leq_trans ft ts)) => /(_ isT) /andP[le _].
exact: leq_trans le (leq_pred _).
Qed.

(** The last chain ended within the run. *)
Lemma over_le h : size h = N -> (over h <= N)%N.
Proof.
move=> sh; apply: leq_trans (prev_le _) _; first by rewrite sh.
by have /andP[] := @blk_in h N (eq_leq (esym sh)).
Qed.

(** A block that is learned from ends within the run. *)
Lemma stop_le h t : learned t -> size h = N -> (stop (blk h t) <= N)%N.
Proof.
by move=> lt sh; have [_ /(_ _ a0 lt)[le _]] := settled sh; exact: leq_trans le (over_le sh).
Qed.

(** What the weights leave out is the last product of the chain, *)
Lemma rest_eq t h a : learned t -> size h = N ->
  Certificate.rest (fun v : V => v.1) d G N pol B t h a = rest h t a.
Proof.
move=> lt sh; have ts : (t <= size h)%N by rewrite sh ltnW // learned_lt.
have [_ <-] := B_sums a ts (stop_le lt sh); congr (1 - _); apply: rsum_eqr => j _.
by rewrite mass_eq.
Qed.

(** which is not negative. *)
Lemma rest_ge0 t h a : learned t -> size h = N ->
  0 <= Certificate.rest (fun v : V => v.1) d G N pol B t h a.
Proof.
move=> lt sh; rewrite rest_eq //.
have miss0 j : 0 <= miss G (blk h t) t (fun j => context h j) a j.
  have [p0 p1] := play_dist t h (context h j); rewrite /miss /mass.
  by have := rsum_sub_le (P := fun v => G t (context h j) v a) (fun v _ => p0 v) (fun _ _ => isT);
    rewrite p1; lra.
apply: Rmult_le_pos.
  rewrite /own; elim: [seq _ | _ <- _] => [|i js IH] /=; first by lra.
  by case: (chain _ js) IH => z p /= p0; exact: Rmult_le_pos.
elim: (N - _)%N => [|k IH] /=; first by lra.
by case: (tail _ _ _ _ _ _ k) IH => [[z p] [|]] //= p0; exact: Rmult_le_pos.
Qed.

(** What is left out is right on average: a block that is drawn stands for others. *)
Lemma left_fair t a (g : path C V -> R) : learned t ->
  (forall h h', size h = N -> size h' = N -> same t h h' -> g h = g h') ->
  E (fun h => g h * left t h a)
  = E (fun h => g h * Certificate.rest (fun v : V => v.1) d G N pol B t h a).
Proof.
move=> lt gs; have tN := learned_lt lt.
pose F (k : nat) h (v : V) :=
  if first (blk h t) == k then g h * (stands_for (blk h t) v.2 * rest h t a) else 0.
have fN h : size h = N -> (first (blk h t) < N)%N.
  move=> sh; have /andP[ft _] : (first (blk h t) <= t < stop (blk h t))%N.
    by apply: blk_in; rewrite sh ltnW.
  exact: leq_ltn_trans ft tN.
have one h (x : nat -> R) (sh : size h = N) :
    \rsum_(k < N) (if first (blk h t) == k then x k else 0) = x (first (blk h t)).
  rewrite (rsum_D1 _ (i0 := Ordinal (fN h sh))) //= eqxx big1 ?Rplus_0_r // => k ne.
  by rewrite eq_sym -[_ == _ :> nat]/(k == Ordinal (fN h sh)) (negbTE ne).
transitivity (E (fun h => \rsum_(k < N) F k h (Paths.arm d h k))).
  apply: EP_ext => h sh; rewrite /= (one h (fun k => g h * (stands_for (blk h t) (drawn h k)
    * rest h t a))) //.
rewrite EP_sum; transitivity (\rsum_(k < N) E (fun h => \rsum_v
    (pol (take k h) (context h k) v * F k h v))).
  apply: rsum_eqr => k _; rewrite (swap_arm d nu pol_dist (F := F k)) // => v h h' sh sh' e e'.
  have ctx i : context h i = context h' i.
    case: (ltnP i k) => ik; rewrite /Paths.context; first by rewrite -(nth_take _ ik) e nth_take.
    have En s n : fst (nth d s n) = nth (fst d) (map fst s) n.
      by case: (ltnP n (size s)) => ns; [rewrite (nth_map d) | rewrite !nth_default ?size_map].
    by rewrite -(subnKC ik) -!nth_drop !En e'.
  rewrite /F; case: (blk_later sh sh' e tN (ltn_ord k)) => [eb|[f f']]; last first.
    by rewrite !gtn_eqF.
  rewrite eb; case: eqP => // _; rewrite (gs h h') //; last exact: same_blk.
  rewrite /rest eb (@own_ext _ _ G kept _ t _ (fun j => context h' j)) //.
  by rewrite (@tail_ext _ _ G kept _ t _ (fun j => context h' j)).
rewrite -EP_sum; apply: EP_ext => h sh; rewrite /= rest_eq //.
rewrite (eq_bigr (fun k : 'I_N => if first (blk h t) == k then g h * rest h t a else 0)).
  exact: (one h (fun=> g h * rest h t a)).
move=> k _; rewrite /F; case: eqP => [fk|_]; last by rewrite big1 // => v _; ring.
have eb : blk h k = blk h t by rewrite -fk; apply: (proj1 (opened _)); rewrite sh ltnW.
have [[i0 i1] e1] := every_inv h t.
rewrite (eq_bigr (fun v : V => play (blk h t) (context h k) v.1
  * (coin (/ every (how (blk h t))) v.2
  * (g h * (stands_for (blk h t) v.2 * rest h t a))))); last first.
  by move=> v _; rewrite /pol -/(blk h k) eb; ring.
rewrite (pair_sum xpredT _ (fun z => coin _ z * (g h * (stands_for _ z * rest h t a)))).
rewrite -rsum_mulr (proj2 (play_dist t h _)) /stands_for; case: (followed _); rewrite /=.
  by field; lra.
by ring.
Qed.

(** ** What is added *)
Definition y t u h c a := if (stop (blk h u) == u.+1) && pos (rate (blk h u.+1)) then
  have_ h u.+1 t c a - (if pos (rate (blk h u)) then have_ h (first (blk h u)) t c a else 0) else 0.
Local Notation Y := (Certificate.Y N learned y).
Local Notation "\lsum_ t F" := (\rsum_(t < N | learned t) F)
  (at level 36, F at level 36, t at level 0).

(** A sum over rounds that are learned from, of what earlier ones have. *)
Lemma restrict n (F : nat -> R) : (n <= N)%N ->
  (forall t, (t < N)%N -> ~~ learned t || (n <= t)%N -> F t = 0) ->
  \lsum_t F t = \rsum_(t < n) F t.
Proof.
move=> nN F0; rewrite (big_ord_widen N F nN) [LHS]big_mkcond [RHS]big_mkcond /=.
apply: rsum_eqr => t _; case l: (learned t); case: ltnP => tn //.
  by rewrite F0 // tn orbT.
by rewrite F0 // l.
Qed.

(** Rounds that have added something are over. *)
Lemma have_sum h n c a : size h = N -> (n <= N)%N ->
  \lsum_t have_ h n t c a = \rsum_(t < n) have_ h n t c a.
Proof.
move=> sh nN; apply: (restrict (F := fun t => have_ h n t c a)) => // t tN /orP[nl|nt].
  exact: (proj1 (unlearned_have h n c a nl)).
by apply: (proj1 (late_have c a _ nt)); rewrite sh ltnW.
Qed.

(** The table of a block, as a sum over all rounds that are learned from. *)
Lemma table_sum h t c a : size h = N -> (t <= N)%N ->
  table (blk h t) c a = \lsum_s have_ h (first (blk h t)) s c a.
Proof.
move=> sh tN; rewrite table_blk ?sh // have_sum //.
have /andP[ft _] : (first (blk h t) <= t < stop (blk h t))%N by apply: blk_in; rewrite sh.
exact: leq_trans ft tN.
Qed.

(** The block after one that is over. *)
Lemma boundary h u : size h = N -> (u < N)%N -> stop (blk h u) = u.+1 ->
  blk h u.+1 = next (past (st (take u.+1 h))) (blk h u) /\ first (blk h u.+1) = u.+1
  /\ prev (blk h u.+1) = first (blk h u).
Proof.
move=> sh uN e; rewrite blk_S ?sh // e eqxx; split=> //.
by rewrite /= size_past size_takel ?sh.
Qed.

(** What is added after a round, as a difference of what was added before and after it. *)
Lemma Y_eq h c u a : Y h c u a = if (stop (blk h u) == u.+1) && pos (rate (blk h u.+1)) then
  \lsum_t have_ h u.+1 t c a - (if pos (rate (blk h u)) then
    \lsum_t have_ h (first (blk h u)) t c a else 0) else 0.
Proof.
rewrite /Certificate.Y /y; case: ifP => _; last by rewrite big1.
case: ifP => _; rewrite rsum_sub //; congr (_ - _); exact: big1.
Qed.

(** What was added so far is the table of the block, once there is a rate. *)
Lemma cum_table h c u a : size h = N -> (u <= N)%N ->
  cum (Y h c) u a = if pos (rate (blk h u)) then table (blk h u) c a else 0.
Proof.
move=> sh; elim: u => [|u IH] uN.
  by rewrite /cum big_ord0 /blk take0 /= /pos /geb; case: Rle_dec => // n; case: n; lra.
rewrite cumS IH 1?ltnW // Y_eq; case: eqP => [e|/eqP ne] /=; last first.
  by rewrite blk_S ?sh // (negbTE ne); ring.
have [_ [f _]] := boundary sh uN e.
case p': (pos (rate (blk h u.+1))); last first.
  by case p: (pos (rate (blk h u))); [have [] := rate_falls p; rewrite p' | ring].
rewrite (table_sum c a sh uN) f; case p: (pos (rate (blk h u))); last first.
  by rewrite Rplus_0_l Rminus_0_r.
rewrite table_sum // 1?ltnW //; set X := \big[_/_]_(_ < _ | _) _; set Z := \big[_/_]_(_ < _ | _) _.
by rewrite -[RHS]/Z; ring.
Qed.

(** The leader is the softmax of what was added so far. *)
Lemma leader_eq u h c a : (u < N)%N -> size h = N ->
  q u h c a = softmax (eta u h) (cum (Y h c) u) a.
Proof.
move=> uN sh; rewrite /q (proj1 (blk_play h u c a)) /Statement.softmax.
have e a' : - rate (blk h u) * table (blk h u) c a' = - eta u h * cum (Y h c) u a'.
  rewrite cum_table // 1?ltnW //; case p: (pos (rate (blk h u))); first by rewrite eta_rate // ltnW.
  have [_ _ _ r] := blk_sane h u; rewrite rate_pos in p; rewrite r p; ring.
by rewrite e; congr (_ / _); apply: rsum_eqr => a' _; rewrite e.
Qed.

(** After the last chains have ended, nothing is added. *)
Lemma weighed_over h t a n : size h = N -> learned t -> (over h <= n)%N ->
  weighed G kept (blk h t) t (fun j => context h j) a n
  = weighed G kept (blk h t) t (fun j => context h j) a (over h).
Proof.
move=> sh lt on; have [_ /(_ t a lt)[sn g]] := settled sh; move: g; rewrite /weighed.
rewrite -(subnKC on) -addnBAC //; set k := (over h - _)%N => g.
by rewrite tail_stable //; case: (tail _ _ _ _ _ _ k) g => [[z p] g'].
Qed.

(** After the last chain has ended, what was added does not change. *)
Lemma have_over h t n c a : size h = N -> learned t -> (over h <= n)%N ->
  have_ h n t c a = have_ h (over h) t c a /\ lf h n t a = lf h (over h) t a.
Proof.
move=> sh lt on; have [_ /(_ t a lt)[sn _]] := settled sh.
rewrite /have_ /lf /added /left_out /counts lt sn (leq_trans sn on).
by rewrite !(weighed_over a sh lt on).
Qed.

(** In the end, all of an estimate is added. *)
Lemma have_estimate h t c a : size h = N -> learned t ->
  have_ h (over h) t c a
  = Certificate.estimate (fun v : V => v.1) d G loss N m m0 B left t h c a
  /\ lf h (over h) t a = left t h a.
Proof.
move=> sh lt; have [_ /(_ t a lt)[sn g]] := settled sh.
have ts : (t <= size h)%N by rewrite sh ltnW // learned_lt.
have [Z _] := B_sums a ts (stop_le lt sh).
have [T _] := tail_sum G kept (blk h t) t (fun j => context h j) a (N - stop (blk h t)).
have w := weighed_over a sh lt (over_le sh).
rewrite /have_ /lf /added /left_out /counts lt sn /= /Certificate.estimate /Certificate.Z Z.
move: g T; rewrite -w /weighed /left /rest.
rewrite (rsum_recr _ (after G kept (blk h t) t (fun j => context h j) a)).
set S := \big[_/_]_(_ < _) _; rewrite /after.
case: (tail _ _ _ _ _ _ _) => [[z p] g'] /= gf; rewrite gf Rplus_0_r => -> /=.
by split=> //; rewrite /shown /m /m0; case: (G _ _ _ _).
Qed.

(** So nothing is added then. *)
Lemma y_over h t u c a : size h = N -> learned t -> (u < N)%N -> (over h <= u)%N -> y t u h c a = 0.
Proof.
move=> sh lt uN ou; rewrite /y; case: ifP => // /andP[/eqP e _].
have [hz _] := settled sh.
have us : (u <= size h)%N by rewrite sh ltnW.
have of' : (over h <= first (blk h u))%N.
  have f0 := first_gt0 sh; have [_ /(_ f0)[_ eN]] := opened (eq_leq (esym sh)).
  have pe : over h = first (blk h (first (blk h N)).-1) by rewrite /over {1}eN.
  rewrite leqNgt; apply/negP => lt'.
  have := @blk_first h u (over h) us; rewrite ltnW //= ou => /(_ isT) E.
  have ol : ((first (blk h N)).-1 <= size h)%N.
    rewrite sh; apply: leq_trans (leq_pred _) _.
    by have /andP[] := @blk_in h N (eq_leq (esym sh)).
  by have [E2 _] := opened ol; rewrite -pe in E2; rewrite -E E2 -pe ltnn in lt'.
have p : pos (rate (blk h u)).
  rewrite rate_pos; have [[s0 s1] _ _ _] := blk_sane h u.
  have fu : (0 < first (blk h u))%N by apply: leq_trans of'; apply: leq_trans hz.
  have [_ /(_ fu)[_ eu]] := opened us; have /andP[fu' _] := blk_in us.
  apply/posP; rewrite eu /= size_past size_takel ?(leq_trans fu' us) //.
  by rewrite (leq_trans hz of'); apply: (Rlt_le_trans _ 1); [lra | exact: Rmax_r].
rewrite p; have [-> _] := have_over c a sh lt of'.
by have [-> _] := have_over c a sh lt (leqW ou); ring.
Qed.

(** ** What is measured *)
Local Notation kappa' := (Certificate.kappa N learned q eta y).

(** An addition of nothing costs nothing. *)
Lemma kappa0 u h c : (forall t a, (t < N)%N -> learned t -> y t u h c a = 0) -> kappa' u h c = 0.
Proof.
move=> y0; have Y0 a : Y h c u a = 0 by apply: big1 => t lt; exact: y0.
have [_ q1] := q_dist u h c.
rewrite /Certificate.kappa /Leaders.mix_gap /ip (eq_bigr (fun=> 0)); last first.
  by move=> a _; rewrite Y0; ring.
rewrite [X in ln X](eq_bigr (q u h c)); last first.
  by move=> a _; rewrite Y0 Rmult_0_r exp_0; ring.
rewrite q1 ln_1 !big1 //; first by rewrite /Rdiv; ring.
by move=> t lt; apply: big1 => a _; rewrite y0 //; ring.
Qed.

(** The cost of an addition is the one that the learner computes. *)
Lemma kappa_field u h c : (u < N)%N -> size h = N ->
  kappa' u h c = if stop (blk h u) == u.+1 then kappa (blk h u.+1) c else 0.
Proof.
move=> uN sh; case: eqP => [e|/eqP ne]; last first.
  by apply: kappa0 => t a _ _; rewrite /y (negbTE ne).
have [eb _] := boundary sh uN e; have us : (u.+1 <= size h)%N by rewrite sh.
have /andP[fu _] : (first (blk h u) <= u < stop (blk h u))%N by apply: blk_in; rewrite sh ltnW.
case p: (pos (rate (blk h u.+1))); last first.
  rewrite kappa0; last by move=> t a _ _; rewrite /y p andbF.
  by rewrite eb in p *; move: p; rewrite /next /= => ->.
have y_eq t a : y t u h c a = have_ h u.+1 t c a
    - (if pos (rate (blk h u)) then have_ h (first (blk h u)) t c a else 0).
  by rewrite /y e eqxx p.
have y0 t a : (t < N)%N -> ~~ learned t || (u.+1 <= t)%N -> y t u h c a = 0.
  move=> tN /orP[nl|ut]; rewrite y_eq.
    have [-> _] := unlearned_have h u.+1 c a nl.
    by have [-> _] := unlearned_have h (first (blk h u)) c a nl; case: ifP => _; ring.
  have ts : (t <= size h)%N by rewrite sh ltnW.
  have [-> _] := late_have c a ts ut.
  have [-> _] := late_have c a ts (leq_trans fu (ltnW ut)).
  by case: ifP => _; ring.
have et : eta u h = if pos (rate (blk h u)) then rate (blk h u) else rate (blk h u.+1).
  case r: (pos (rate (blk h u))); first by rewrite eta_rate // ltnW.
  by rewrite eta_wait ?r // eta_rate.
have r_eq t : (t < u.+1)%N -> nth nowhere (past (st (take u.+1 h))) t = rnd h t.
  by move=> tu; rewrite nth_past ?size_takel // rnd_take.
have p' := p; rewrite eb /= in p'; rewrite eb /next /= size_past size_takel // in p' *.
rewrite /memo p' /Certificate.kappa /Leaders.mix_gap /mix_gap -/(blk h u).
have Xe a : Y h c u a = \rsum_(t < u.+1) y t u h c a.
  by apply: (restrict (F := fun t => y t u h c a)) => // t tN; exact: y0.
have -> : eta u h = if pos (rate (blk h u)) then rate (blk h u) else
    rate (next (past (st (take u.+1 h))) (blk h u)) by rewrite et eb.
rewrite /next /= size_past size_takel //.
congr (_ + _ / _ + _).
- apply: rsum_eqr => a _; rewrite Xe; congr (_ * _); apply: rsum_eqr => t _; rewrite y_eq.
  have [-> _] := next_have c a (ltn_ord t) us (leqnn _).
  by have [-> _] := next_have c a (ltn_ord t) us (leq_trans fu (leqnSn _)).
- congr (ln _); apply: rsum_eqr => a _; rewrite Xe; congr (_ * exp (_ * _)).
  apply: rsum_eqr => t _; rewrite y_eq.
  have [-> _] := next_have c a (ltn_ord t) us (leqnn _).
  by have [-> _] := next_have c a (ltn_ord t) us (leq_trans fu (leqnSn _)).
rewrite (@restrict u.+1 (fun t => ip (fun a => q t h c a - q u h c a) (y t u h c))) //; last first.
  by move=> t tN h0; apply: big1 => a _; rewrite y0 //; ring.
apply: rsum_eqr => t _; apply: rsum_eqr => a _; rewrite y_eq.
have [-> _] := next_have c a (ltn_ord t) us (leqnn _).
have [-> _] := next_have c a (ltn_ord t) us (leq_trans fu (leqnSn _)).
by rewrite r_eq.
Qed.

(** What changes with a block is measured once, in every second round of it. *)
Lemma measured_once h (f : nat -> R) n : (n <= size h)%N ->
  \rsum_(j < n) (measures (blk h j) j * (f (first (blk h j)) - f (prev (blk h j))))
  = f (prev (blk h n)) - f 0%N + INR (uphalf (n - first (blk h n)))
      / INR (uphalf (len (how (blk h n)))) * (f (first (blk h n)) - f (prev (blk h n))).
Proof.
elim: n => [|n IH] ns; first by rewrite big_ord0 /blk take0 /=; ring.
rewrite (rsum_recr n (fun j => measures (blk h j) j
  * (f (first (blk h j)) - f (prev (blk h j))))) IH 1?ltnW //; set b := blk h n.
have /andP[fn ls] := blk_in (ltnW ns); rewrite -/b in fn ls.
have H0 : INR (uphalf (len (how b))) <> 0.
  have [rs e _] := blk_how h n; apply: not_0_INR; rewrite /b e.
  by have := len_gt0 rs; case: (len _).
have half : measures b n = (INR (uphalf (n - first b).+1) - INR (uphalf (n - first b)))
    / INR (uphalf (len (how b))).
  rewrite /measures; move: H0; set H := INR (uphalf (len _)) => H0; rewrite /= uphalf_half.
  by case: (odd _); rewrite /= ?add1n ?add0n ?S_INR; field.
rewrite half blk_S // -/b; case: eqP => [e|_]; last by rewrite (subSn fn); field.
have -> : (n - first b).+1 = len (how b) by rewrite -(subSn fn) -e /stop addKn.
rewrite /= size_past size_takel // subnn -[INR (uphalf 0)]/R0.
by rewrite [R0 / _]/Rdiv [R0 * _]Rmult_0_l; field.
Qed.

Definition ind (z : bool) : R := if z then 1 else 0.
Definition kw u j h := measures (blk h j) j
  * (ind (u < first (blk h j))%N - ind (u < prev (blk h j))%N).
Definition closed h t a n := counts horizon (blk h t) t n
  && ~~ snd (weighed G kept (blk h t) t (fun j => context h j) a n).
Definition cw t j h a := measures (blk h j) j
  * (ind (closed h t a (first (blk h j))) - ind (closed h t a (prev (blk h j)))).

(** The last block but one began before the last. *)
Lemma over_first h : size h = N -> (over h < first (blk h N))%N.
Proof.
move=> sh; have f0 := first_gt0 sh; have [_ /(_ f0)[_ e]] := opened (eq_leq (esym sh)).
have /andP[fN _] := @blk_in h N (eq_leq (esym sh)).
have ps : ((first (blk h N)).-1 <= size h)%N by rewrite sh (leq_trans (leq_pred _)).
have /andP[le _] := blk_in ps.
by rewrite /over {1}e /= (leq_ltn_trans le) // prednK.
Qed.

(** Each cost is measured once, or is 0. *)
Lemma kw_sums u h : (u < N)%N -> size h = N ->
  \rsum_(j < N) kw u j h = 1 \/ forall c, kappa' u h c = 0.
Proof.
move=> uN sh; case: (ltnP u (over h)) => uo; last first.
  by right=> c; apply: kappa0 => t a tN lt; exact: y_over.
left; have := measured_once (fun n => ind (u < n)%N) (eq_leq (esym sh)).
rewrite -/(over h) uo (ltn_trans uo (over_first sh)) ltn0 /ind => e.
by rewrite /kw /ind e; ring.
Qed.

(** A round measures the cost of the addition before its block. *)
Lemma kw_kappa u j h c : (u < N)%N -> (j < N)%N -> size h = N -> kw u j h * kappa' u h c
  = if u.+1 == first (blk h j) then measures (blk h j) j * kappa (blk h j) c else 0.
Proof.
move=> uN jN sh; have js : (j <= size h)%N by rewrite sh ltnW.
have [ef open] := opened js; have pl := prev_le js; rewrite /kw /ind.
case fu: (first (blk h j) <= u)%N.
  by rewrite !ltnNge fu (leq_trans pl fu) /= gtn_eqF //; ring.
have uf : (u < first (blk h j))%N by rewrite ltnNge fu.
have f0 : (0 < first (blk h j))%N by exact: leq_ltn_trans uf.
have [se e] := open f0; rewrite uf.
have pe : prev (blk h j) = first (blk h (first (blk h j)).-1) by rewrite {1}e.
have ps : ((first (blk h j)).-1 <= size h)%N.
  have /andP[fj _] := blk_in js; exact: leq_trans (leq_pred _) (leq_trans fj js).
case: eqP => [eu|/eqP ne].
  have uE : u = (first (blk h j)).-1 by rewrite -eu.
  have su : stop (blk h u) = u.+1 by rewrite uE se prednK.
  have pv : (u < prev (blk h j))%N = false.
    by rewrite pe ltnNge; have /andP[le _] := blk_in ps; rewrite -uE in le *; rewrite le.
  by rewrite kappa_field // su eqxx pv eu ef; ring.
have lt : (u <= (first (blk h j)).-1)%N by rewrite -ltnS prednK.
case: (ltnP u (prev (blk h j))) => up; first by ring.
have -> : kappa' u h c = 0.
  rewrite kappa_field //; have <- : blk h (first (blk h j)).-1 = blk h u.
    by symmetry; apply: blk_first => //; rewrite -pe up.
  by rewrite se eq_sym (negbTE ne).
by ring.
Qed.

(** It is measured in a context that is drawn after it is known. *)
Lemma kw_free u j c : (u < N)%N -> (j < N)%N -> free j (fun h => kw u j h * kappa' u h c).
Proof.
by move=> uN jN h h' sh sh' [e _]; rewrite !kw_kappa // (blk_agree e (leqnn j)).
Qed.

(** A chain that has ended leaves out its last product. *)
Lemma lf_closed h t n a : size h = N -> learned t -> (n <= N)%N ->
  lf h n t a = ind (closed h t a n) * left t h a.
Proof.
move=> sh lt nN; rewrite /lf /left_out /closed; case k: (counts _ _ _ _); last first.
  by case: (weighed _ _ _ _ _ _ _) => [[? ?] ?]; rewrite /ind /=; ring.
have /andP[_ sn] := k.
rewrite /weighed /left /rest; case eg: (tail _ _ _ _ _ _ _) => [[z p] g] /=.
case: g eg => eg; rewrite /ind /=; first by ring.
have -> : (N - stop (blk h t) = (n - stop (blk h t)) + (N - n))%N.
  by rewrite addnC addnBA // subnK.
by rewrite tail_stable eg //=; ring.
Qed.

(** What a chain leaves out is measured once. *)
Lemma cw_sums t h a : learned t -> size h = N -> \rsum_(j < N) cw t j h a = 1.
Proof.
move=> lt sh; have [_ /(_ t a lt)[sn g]] := settled sh.
have cl n : (over h <= n)%N -> closed h t a n.
  by move=> on; rewrite /closed (weighed_over a sh lt on) g andbT /counts lt (leq_trans sn on).
have := measured_once (fun n => ind (closed h t a n)) (eq_leq (esym sh)).
rewrite -/(over h) (cl _ (leqnn _)) (cl _ (ltnW (over_first sh))).
have -> : closed h t a 0 = false.
  rewrite /closed /counts lt leqn0 /=; have ts : (t <= size h)%N by rewrite sh ltnW // learned_lt.
  by have /andP[_] := blk_in ts; case: (stop _).
by rewrite /cw /ind => ->; ring.
Qed.

(** A round measures what the chains leave out that ended with the block before. *)
Lemma cw_cut t j h c a : learned t -> (j < N)%N -> size h = N ->
  cw t j h a * Certificate.cut q left t h c a
  = measures (blk h j) j * (q t h c a * (lf h (first (blk h j)) t a - lf h (prev (blk h j)) t a)).
Proof.
move=> lt jN sh; have js : (j <= size h)%N by rewrite sh ltnW.
have /andP[fj _] := blk_in js; have fN := leq_trans fj (ltnW jN).
by rewrite !lf_closed // ?(leq_trans (prev_le js) fN) // /cw /Certificate.cut; ring.
Qed.

(** It is measured in a context that is drawn after it is known. *)
Lemma cw_free t j c a : learned t -> (j < N)%N ->
  free j (fun h => cw t j h a * Certificate.cut q left t h c a).
Proof.
move=> lt jN h h' sh sh' [e _]; rewrite !cw_cut // (blk_agree e (leqnn j)).
have tN := learned_lt lt; have js : (j <= size h')%N by rewrite sh' ltnW.
have /andP[fj _] := blk_in js; have pj := leq_trans (prev_le js) fj.
have [_ ->] := have_agree c a sh sh' e fj jN tN; have [_ ->] := have_agree c a sh sh' e pj jN tN.
case: (blk_later sh sh' e tN jN) => [eb|[_ f]]; first by rewrite /q eb.
have ts : (t <= size h')%N by rewrite sh' ltnW.
have jt : (j <= t)%N by have /andP[ft _] := blk_in ts; exact: leq_trans (ltnW f) ft.
have [_ ->] := late_have c a ts (leq_trans fj jt).
by have [_ ->] := late_have c a ts (leq_trans pj jt); ring.
Qed.

(** ** The certificate *)
Lemma cuts_field h j c : (j < N)%N -> size h = N -> cuts (blk h j) c
  = \lsum_t \rsum_a (q t h c a * (lf h (first (blk h j)) t a - lf h (prev (blk h j)) t a)).
Proof.
move=> jN sh; have js : (j <= size h)%N by rewrite sh ltnW.
have [_ open] := opened js; have /andP[fj _] := blk_in js; have pl := prev_le js.
pose F t := \rsum_a (q t h c a * (lf h (first (blk h j)) t a - lf h (prev (blk h j)) t a)).
have F0 t : (t < N)%N -> ~~ learned t || (first (blk h j) <= t)%N -> F t = 0.
  move=> tN /orP h0; apply: big1 => a _; case: h0 => [nl|ft].
    have [_ ->] := unlearned_have h (first (blk h j)) c a nl.
    by have [_ ->] := unlearned_have h (prev (blk h j)) c a nl; ring.
  have ts : (t <= size h)%N by rewrite sh ltnW.
  have [_ ->] := late_have c a ts ft.
  by have [_ ->] := late_have c a ts (leq_trans pl ft); ring.
rewrite (@restrict (first (blk h j)) F) ?(leq_trans fj (ltnW jN)) //.
case: (posnP (first (blk h j))) => f0; first by rewrite f0 big_ord0 (blk0 js f0).
have [_ e] := open f0; have fs := leq_trans fj js.
have pe : prev (blk h j) = first (blk h (first (blk h j)).-1) by rewrite {1}e.
rewrite [in LHS]e /next /= /memo size_past size_takel //.
apply: rsum_eqr => t _; apply: rsum_eqr => a _; rewrite -pe.
have [_ ->] := next_have c a (ltn_ord t) fs (leqnn _).
have [_ ->] := next_have c a (ltn_ord t) fs pl.
by rewrite nth_past ?size_takel // rnd_take.
Qed.

(** The costs of closed blocks are what was measured. *)
Lemma cost_sum h n : (n <= size h)%N ->
  \rsum_(j < n) (measures (blk h j) j * kappa (blk h j) (context h j)) = cost (blk h n)
  + \rsum_(j < n | (first (blk h n) <= j)%N)
      (measures (blk h n) j * kappa (blk h n) (context h j)).
Proof.
elim: n => [|n IH] ns; first by rewrite !big_ord0 /blk take0 /=; ring.
rewrite (rsum_recr n (fun j => measures (blk h j) j * kappa (blk h j) (context h j))).
rewrite IH 1?ltnW //; have /andP[fn _] := blk_in (ltnW ns).
have last : \rsum_(j < n.+1 | (first (blk h n) <= j)%N)
      (measures (blk h n) j * kappa (blk h n) (context h j))
    = \rsum_(j < n | (first (blk h n) <= j)%N)
      (measures (blk h n) j * kappa (blk h n) (context h j))
      + measures (blk h n) n * kappa (blk h n) (context h n).
  rewrite big_mkcond [in RHS]big_mkcond /=.
  by rewrite (rsum_recr n (fun j => if (first (blk h n) <= j)%N
    then measures (blk h n) j * kappa (blk h n) (context h j) else 0)) fn.
rewrite Rplus_assoc -last blk_S //; case: eqP => // _.
rewrite [X in _ = _ + X]big_pred0; last first.
  by move=> j /=; rewrite size_past size_takel // leqNgt ltn_ord.
rewrite /next /= size_past size_takel // Rplus_0_r; congr (_ + _); apply: rsum_eqr => j _.
by rewrite nth_past ?size_takel // rnd_take.
Qed.

Definition top (t : nat) : R := if (t < horizon)%N then 1 else 0.
Hypothesis silent : forall t c a, (horizon <= t)%N -> loss t c a = 0.

Local Notation certificate' :=
  (Certificate.certificate (fun v : V => v.1) d N top learned pol q eta left y kw cw).

(** The certificate of the analysis is at most the one that the learner computes. *)
Lemma certificate_le h : size h = N -> certificate' h <= certificate c0 a0 (st h).
Proof.
move=> sh; have eN : cur (st h) = blk h N by rewrite /blk -sh take_size.
have of0 := over_first sh; have [hz _] := settled sh.
have /andP[fN _] := @blk_in h N (eq_leq (esym sh)).
have N0 : (0 < N)%N by apply: leq_trans horizonN.
rewrite /Certificate.certificate /certificate eN size_past sh.
have U : \rsum_(t < N | ~~ learned t) top t <= 1.
  rewrite (rsum_D1 _ (i0 := Ordinal N0)) //= {1}/top horizon_gt0 big1; first by lra.
  move=> t /andP[nl t0]; rewrite /top; case: ltnP => // th; move: nl.
  by rewrite /Learner.learned th lt0n -[_ == _]/(t == Ordinal N0) t0.
have r : ln (INR #|A|) / eta N h <= 1 + most (blk h N).
  have [[s0 s1] _ m1 e] := blk_sane h N.
  have p : pos (spread (blk h N)).
    have [_ /(_ (first_gt0 sh))[_ eb]] := opened (eq_leq (esym sh)).
    apply/posP; rewrite {1}eb /= size_past size_takel ?sh //.
    by rewrite (leq_trans hz (ltnW of0)); apply: (Rlt_le_trans _ 1); [lra | exact: Rmax_r].
  rewrite eta_rate // ?rate_pos // e p; move/posP: p => p; have l := lnK.
  rewrite (_ : ln (INR #|A|) / _ = spread (blk h N) + most (blk h N)); first by lra.
  by field; lra.
have K : \rsum_(j < N) \rsum_(u < N) (kw u j h * kappa' u h (context h j)) = cost (blk h N).
  transitivity (\rsum_(j < N) (measures (blk h j) j * kappa (blk h j) (context h j))).
    apply: rsum_eqr => j _.
    rewrite (eq_bigr (fun u : 'I_N => if u.+1 == first (blk h j) then
        measures (blk h j) j * kappa (blk h j) (context h j) else 0)); last first.
      by move=> u _; exact: kw_kappa.
    have js : (j <= size h)%N by rewrite sh ltnW.
    have /andP[fj _] := blk_in js.
    case: (posnP (first (blk h j))) => f0.
      by rewrite big1 => [|u _]; [rewrite (blk0 js f0) /= /memo Rmult_0_r | rewrite f0].
    have lt : ((first (blk h j)).-1 < N)%N by rewrite prednK // (leq_trans fj) // ltnW.
    rewrite (rsum_D1 _ (i0 := Ordinal lt)) //= prednK // eqxx big1 ?Rplus_0_r // => u ne.
    case: eqP => // eu; case/eqP: ne; apply: val_inj; by rewrite /= -eu.
  rewrite cost_sum ?sh // big1 ?Rplus_0_r // => j _.
  have f0 := first_gt0 sh; have lt : ((first (blk h N)).-1 < N)%N by rewrite prednK.
  have [ef /(_ f0)[se _]] := opened (eq_leq (esym sh)).
  have := kappa_field (context h j) lt sh; rewrite se prednK // eqxx ef => <-.
  rewrite kappa0; first by ring.
  by move=> t a tN lt'; apply: y_over => //; rewrite -ltnS prednK.
have D : \rsum_(j < N) \lsum_t \rsum_a (cw t j h a * Certificate.cut q left t h (context h j) a)
    = \rsum_(j < N) (measures (blk h j) j * cuts (blk h j) (context h j)).
  apply: rsum_eqr => j _; rewrite cuts_field // rsum_mull; apply: rsum_eqr => t lt.
  by rewrite rsum_mull; apply: rsum_eqr => a _; exact: cw_cut.
pose mv t := \rsum_a Rmax 0 (play (blk h t) (context h t) a - leader (blk h t) (context h t) a).
have M : \lsum_t Certificate.moved (fun v : V => v.1) pol q t h (context h t) <= \rsum_(t < N) mv t.
  apply: (Rle_trans _ (\lsum_t mv t)).
    apply: Req_le; apply: rsum_eqr => t _; apply: rsum_eqr => a _; congr (Rmax 0 (_ - _)).
    rewrite /Certificate.plays (pair_sum (pred1 a) (play (blk h t) (context h t))).
    by rewrite big_pred1_eq coin_sum Rmult_1_r.
  by apply: rsum_sub_le => // t _; apply: rsum_ge0 => a _; exact: Rmax_l.
have S : \rsum_(j < N) (let r := nth nowhere (past (st h)) j in
      measures (home r) j * cuts (home r) (ctx r)
      + \rsum_a Rmax 0 (play (home r) (ctx r) a - leader (home r) (ctx r) a))
    = \rsum_(j < N) (measures (blk h j) j * cuts (blk h j) (context h j)) + \rsum_(t < N) mv t.
  by rewrite -rsum_split; apply: rsum_eqr => j _ /=; rewrite nth_past ?sh.
by rewrite S K D; lra.
Qed.

(** The regret is at most what the learner has measured, in the mean. *)
Theorem regret_le_certified :
  E (fun h => regret loss pi 0 (Certificate.arms (fun v : V => v.1) h))
  <= E (fun h => certificate c0 a0 (st h)).
Proof.
apply: (Rle_trans _ (E certificate')); last first.
  by apply: EP_le => // [h c|h sh]; [exact: pol_dist | exact: certificate_le].
apply: (@Certificate.regret_le_certificate C A V (fun v => v.1) d nu G loss pi N top learned pol q
  eta m m0 B left y kw cw) => //.
- exact: pol_dist.
- move=> t c a; rewrite /top; case: ltnP => th; [exact: loss01 | rewrite silent //; lra].
- by move=> t; rewrite /top; case: ifP => _; lra.
- exact: learned_lt.
- exact: eta_gt0.
- exact: eta_falls.
- by move=> u h c a; exact: leader_eq.
- exact: known.
- exact: B_round.
- exact: B_step.
- exact: B_same.
- by move=> t h a; exact: rest_ge0.
- exact: left_fair.
- move=> t h c a lt sh; have [<- _] := have_estimate c a sh lt.
  have p : pos (rate (blk h N)).
    have [[s0 s1] _ _ _] := blk_sane h N; have [hz _] := settled sh.
    have [_ /(_ (first_gt0 sh))[_ eb]] := opened (eq_leq (esym sh)).
    have /andP[fN _] := @blk_in h N (eq_leq (esym sh)).
    rewrite rate_pos; apply/posP; rewrite {1}eb /= size_past size_takel ?sh //.
    rewrite (leq_trans hz (ltnW (over_first sh))).
    by apply: (Rlt_le_trans _ 1); [lra | exact: Rmax_r].
  have sums n : (n <= N)%N -> \rsum_(u < n) y t u h c a
      = if pos (rate (blk h n)) then have_ h (first (blk h n)) t c a else 0.
    elim: n => [|n IH] nN.
      by rewrite big_ord0 /blk take0 /= /pos /geb; case: Rle_dec => // n; case: n; lra.
    rewrite (rsum_recr n (fun u => y t u h c a)) IH 1?ltnW // /y.
    case: eqP => [e|/eqP ne] /=; last by rewrite blk_S ?sh // (negbTE ne) Rplus_0_r.
    have [_ [f _]] := boundary sh nN e; rewrite f.
    case p': (pos (rate (blk h n.+1))); last first.
      by case r: (pos (rate (blk h n))); [have [] := rate_falls r; rewrite p' | ring].
    by case: (pos (rate (blk h n))); ring.
  rewrite sums // p; have [-> //] := have_over c a sh lt (ltnW (over_first sh)).
- by move=> u h; exact: kw_sums.
- by move=> u j c; exact: kw_free.
- by move=> t h a; exact: cw_sums.
- by move=> t j c a; exact: cw_free.
Qed.
End Run.

(** ** When all chains have ended *)
Ltac by_lia := repeat match goal with H : is_true (leq _ _) |- _ =>
  let K := fresh in move/leP: H => K; rewrite -?plusE -?multE in K end;
  apply/leP; rewrite -?plusE -?multE; lia.

Section Settled.
Variables (C A : finType) (c0 : C) (a0 : A) (G : nat -> C -> rel A) (loss : nat -> C -> A -> R).
Variables (kept horizon : nat) (decide : seq (round C A) -> plan C A) (D S N : nat).
Hypothesis len01 : forall rs, (0 < len (decide rs) <= D)%N.
Hypothesis caps : forall rs a, (size rs < horizon)%N -> cap (decide rs) a <= INR S.
Local Notation blk := (blk c0 a0 G loss kept horizon decide).

(** Chains of bounded length end. *)
Lemma settles h : (horizon + S + 3 * D <= N)%N -> size h = N ->
  (horizon <= prev (blk h N))%N /\ forall t a, learned horizon t ->
  (stop (blk h t) <= prev (blk h N))%N
  /\ snd (weighed G kept (blk h t) t (fun j => context (d c0 a0) h j) a (prev (blk h N))) = false.
Proof.
move=> long sh; have len_gt0 rs : (0 < len (decide rs))%N by case/andP: (len01 rs).
have Ns : (N <= size h)%N by rewrite sh.
have stop_le t : (stop (blk h t) <= first (blk h t) + D)%N.
  by have [rs e _] := blk_how c0 a0 G loss kept horizon decide h t;
    rewrite /stop e leq_add2l; case/andP: (len01 rs).
have /andP[fN Ns'] := @blk_in C A c0 a0 G loss kept horizon decide len_gt0 h N Ns.
have nN := leq_trans Ns' (stop_le N).
have f0 : (0 < first (blk h N))%N.
  by_lia.
have [_ /(_ f0)[se e]] := @opened C A c0 a0 G loss kept horizon decide h N Ns.
have pe : prev (blk h N) = first (blk h (first (blk h N)).-1) by rewrite {1}e.
have := stop_le (first (blk h N)).-1; rewrite se -pe => le.
have room : (horizon + S + D < prev (blk h N))%N.
  by_lia.
split=> [|t a /andP[t0 th]]; first by_lia.
have ts : (t <= size h)%N by rewrite sh; by_lia.
have /andP[ft _] := @blk_in C A c0 a0 G loss kept horizon decide len_gt0 h t ts.
have sl := stop_le t.
have st : (stop (blk h t) + S < prev (blk h N))%N.
  by_lia.
split; first by_lia.
rewrite /weighed; have -> : (prev (blk h N) - stop (blk h t)
    = S.+1 + (prev (blk h N) - stop (blk h t) - S.+1))%N.
  by rewrite subnKC // ltn_subRL.
have [rs eh es] := blk_how c0 a0 G loss kept horizon decide h t.
have over : snd (tail G kept (blk h t) t (fun j => context (d c0 a0) h j) a S.+1) = false.
  rewrite /=; case: (tail _ _ _ _ _ _ S) => [[z p] [|]] //=.
  apply/negbTE; rewrite negb_and negbK; apply/orP; right; rewrite /geb; case: Rle_dec => // -[].
  apply: (Rle_trans _ (INR S)); last by apply: le_INR; apply/leP; exact: leq_addr.
  by rewrite eh; apply: caps; rewrite es; exact: leq_ltn_trans ft th.
by rewrite tail_stable // ; case: (tail _ _ _ _ _ _ S.+1) over => [[z p] g] /= ->.
Qed.
End Settled.

(** ** The learner of [Statement] *)
Section Statement.
Variables (C A : finType) (c0 : C) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (pi : C -> A) (kept horizon : nat) (decide : seq (round C A) -> plan C A).
Let graph (_ : nat) (_ : C) := G.
Let lrn := certified c0 a0 graph kept horizon decide.
Let pol := pol c0 a0 graph loss kept horizon decide.
Let state h := st c0 a0 graph loss kept horizon decide h.

(** On a fixed graph, a run of the learner is a path of contexts, arms and lots. *)
Lemma Reg_certified n : Reg nu G loss lrn n pi
  = EP nu pol n [::] (fun h => regret loss pi 0 (Certificate.arms (fun v => v.1) h)).
Proof.
have all m h f : Statement.E (Statement.play nu G loss (l := lrn) m (size h) (state h)) f
    = EP nu pol m h (fun x => f (Certificate.arms (fun v => v.1) (drop (size h) x))).
  elim: m h f => [|m IH] h f; first by rewrite /= drop_size.
  rewrite /=; apply: rsum_eqr => c _; congr Rmult.
  rewrite (eq_bigr (fun a => \rsum_(z : bool) (play (cur (state h)) c a
    * coin (/ every (how (cur (state h)))) z * EP nu pol m (rcons h (c, (a, z)))
      (fun x => f (Certificate.arms (fun v => v.1) (drop (size h) x)))))).
    by rewrite pair_big /=; apply: rsum_eqr => -[a z].
  move=> a _; rewrite rsum_mull; apply: rsum_eqr => z _; rewrite -Rmult_assoc; congr Rmult.
  have -> : step c0 a0 graph kept horizon decide (state h) c a z (see G loss (size h) a)
      = state (rcons h (c, (a, z))).
    by rewrite /state st_rcons /go /= size_past.
  have := IH (rcons h (c, (a, z))); rewrite size_rcons E_bind => ->.
  apply: EP_ext => e _ /=; rewrite -{1}(size_rcons h (c, (a, z))) drop_size_cat //.
  by rewrite cat_rcons drop_size_cat.
transitivity (EP nu pol n [::] (fun x => regret loss pi 0
  (Certificate.arms (fun v => v.1) (drop 0 x)))).
  exact: (all n [::] (regret loss pi 0)).
by apply: EP_ext => e _; rewrite drop0.
Qed.

(** A run over the rounds that count, and as many more as chains need, in which all losses are 0:
    the expected regret of the learner is at most the certificate that it has computed, in the mean.
    Everything but the law of contexts, the losses and the comparator is known to it. *)
Theorem certified_regret (D S : nat) :
  dist nu -> (1 < #|A|)%N -> (0 < horizon)%N ->
  (forall t c a, 0 <= loss t c a <= 1) -> (forall t c a, (horizon <= t)%N -> loss t c a = 0) ->
  (forall rs, (0 < len (decide rs) <= D)%N) ->
  (forall rs a, (size rs < horizon)%N -> cap (decide rs) a <= INR S) ->
  (forall rs, 1 <= every (decide rs)) ->
  (forall rs c p, dist p -> dist (explore (decide rs) c p)) ->
  (forall rs, fair c0 a0 rs -> range (decide rs) <= 1) ->
  let N := (horizon + S + 3 * D)%N in
  Reg nu G loss lrn N pi <= EP nu pol N [::] (fun h => certificate c0 a0 (state h)).
Proof.
move=> dn two h0 l01 l0 len01 caps ev ex ra N; rewrite Reg_certified.
have len_gt0 rs : (0 < len (decide rs))%N by case/andP: (len01 rs).
apply: (regret_le_certified (c0 := c0) (a0 := a0)) => //; first by rewrite /N -addnA leq_addr.
by move=> h; exact: (settles c0 a0 graph loss kept len01 caps (leqnn N)).
Qed.
End Statement.

(** ** The library's choice of a block is one of those of the theorem *)
Section Library.
Variables (C A : finType) (c0 : C) (a0 : A) (H : rel A) (kept horizon : nat).
Variables (alpha coins : R) (slots longest usual : nat) (by_round : bool).
Variables (loops : pred A) (dominating : seq A).
Hypotheses (two : (1 < #|A|)%N) (one : (0 < usual)%N) (some : (0 < longest)%N).
Hypothesis different : uniq dominating.
Let G (_ : nat) (_ : C) := H.
Let decide := library c0 a0 G kept horizon alpha coins slots longest usual by_round loops
  dominating.

(** Blocks have a bounded length. *)
Lemma library_len rs : (0 < len (decide rs) <= 4 * longest)%N.
Proof.
rewrite /decide /library /=; set w := minn (minn _ _) _.
have w0 : (0 < w)%N by rewrite !leq_min some (leq_trans one (leq_maxl _ _)).
have wl : (w <= longest)%N by rewrite /w geq_min geq_minr.
case: ifP => _; last by rewrite w0 (leq_trans wl) // leq_pmull.
case: ifP => _; rewrite muln_gt0 w0 /= mulnC leq_mul //.
Qed.

(** A block that is drawn stands for itself at least. *)
Lemma library_every rs : 1 <= every (decide rs). Proof. exact: Rmax_l. Qed.

(** Exploring the dominating arms gives a distribution. *)
Lemma mixed_dist rho p : 0 < rho <= 1 -> weak dominating -> dist p -> dist (mixed dominating rho p).
Proof.
move=> r w [p0 p1]; have m0 : 0 < members dominating by apply: lt_0_INR; apply/ltP.
have q0 : 0 <= rho / members dominating by apply: Rlt_le; apply: Rdiv_lt_0_compat; lra.
split=> [a|]; first by have := p0 a; rewrite /mixed; case: ifP => _; nra.
rewrite /mixed rsum_split -rsum_mull p1 -big_mkcond /= rsum_const.
have -> : #|[pred i | i \in dominating]| = size dominating by rewrite -(card_uniqP different).
by rewrite -/(members dominating); field; lra.
Qed.

(** So does limiting an arm without self-loop. *)
Lemma limited_dist rho p : 0 < rho <= 1 -> dist p -> dist (limited loops rho p).
Proof.
move=> r [p0 p1]; rewrite /limited; case e: [seq _ <- _ | _] => [|b bs]; first by [].
have : b \in b :: bs by exact: mem_head.
rewrite -e mem_filter => /andP[/andP[_ /posP mv] _].
have K : 0 < INR #|A| - 1 by have := lt_1_INR _ (ltP two); lra.
have x0 : 0 < (p b - (1 - rho)) / (INR #|A| - 1) by apply: Rdiv_lt_0_compat.
split=> [a|]; first by have := p0 a; case: ifP => _; lra.
rewrite (rsum_D1 _ (i0 := b)) //= eqxx.
rewrite (eq_bigr (fun a => p a + (p b - (1 - rho)) / (INR #|A| - 1))); last by move=> a /negbTE ->.
rewrite rsum_split rsum_const.
have -> : \rsum_(i | i != b) p i = 1 - p b.
  by have := @rsum_D1 A xpredT p b isT; rewrite p1 /= => ->; ring.
have -> : INR #|[pred i | i != b]| = INR #|A| - 1.
  have -> : #|[pred i | i != b]| = #|A|.-1 by rewrite -(cardC1 b).
  by rewrite -[in RHS](prednK (ltnW two)) S_INR; ring.
by field; lra.
Qed.

(** So what is played is a distribution. *)
Lemma library_explore rs c p : dist p -> dist (explore (decide rs) c p).
Proof.
move=> dp; rewrite /decide /library /=; case: posP => // r0.
have half x : Rmin (/ 2) x <= 1 by have := Rmin_l (/ 2) x; lra.
move: r0; case: ifP => w.
  by case: ifP => _ r0; apply: mixed_dist => //; [split=> //; exact: half | lra].
case: ifP => _ r0; last by exfalso; lra.
by apply: limited_dist => //; split=> //; exact: half.
Qed.

(** Losses in [0, 1] differ by at most 1. *)
Lemma fair_losses rs : fair c0 a0 rs -> forall l, List.In l (flatten [seq losses r | r <- rs]) ->
  0 <= l <= 1.
Proof.
have cat_in (x : R) s1 s2 : List.In x (s1 ++ s2) -> List.In x s1 \/ List.In x s2.
  elim: s1 => [|z s1 IH] /=; first by right.
  by case=> [->|/IH []]; auto.
elim: rs => //= r rs IH f l /cat_in[|]; last first.
  by apply: IH => t c a x lt e; exact: (f t.+1 c a x).
rewrite /losses; elim: (enum A) => //= a s IHs; case e: (seen r (ctx r) a) => [x|] //=.
by case=> [<-|//]; exact: (f 0%N (ctx r) a x).
Qed.

(** The range of losses that were seen is at most 1. *)
Lemma library_range rs : fair c0 a0 rs -> range (decide rs) <= 1.
Proof.
move=> /fair_losses; rewrite /decide /library /= /difference.
case: (flatten _) => [|l ls] h; first by lra.
have [l0 l1] := h l (or_introl erefl).
have {}h z : List.In z ls -> 0 <= z <= 1 by move=> zl; apply: h; right.
have hi x : x <= 1 -> foldl Rmax x ls <= 1.
  elim: ls x h => //= z ls IH x h x1; apply: IH => [v vl|]; first by apply: h; right.
  by apply: Rmax_lub => //; case: (h z (or_introl erefl)).
have lo x : 0 <= x -> 0 <= foldl Rmin x ls.
  elim: ls x h {hi} => //= z ls IH x h x1; apply: IH => [v vl|]; first by apply: h; right.
  by apply: Rmin_glb => //; case: (h z (or_introl erefl)).
by have := hi l l1; have := lo l l0; lra.
Qed.

(** What the library runs: with its choice of blocks, rates, chains and exploration, the learner's
    regret is at most its certificate, in the mean. [S]: no chain may be longer. *)
Theorem library_regret (nu : C -> R) (loss : nat -> C -> A -> R) (pi : C -> A) (S : nat) :
  dist nu -> (0 < horizon)%N ->
  (forall t c a, 0 <= loss t c a <= 1) -> (forall t c a, (horizon <= t)%N -> loss t c a = 0) ->
  (forall n, (n < horizon)%N ->
    cap_at alpha n <= INR S /\ far_at alpha dominating n <= INR S) ->
  let N := (horizon + S + 3 * (4 * longest))%N in
  Reg nu H loss (certified c0 a0 G kept horizon decide) N pi
  <= EP nu (pol c0 a0 G loss kept horizon decide) N [::]
      (fun h => certificate c0 a0 (st c0 a0 G loss kept horizon decide h)).
Proof.
move=> dn h0 l01 l0 caps; apply: certified_regret => //.
- exact: library_len.
- move=> rs a lt; have [h1 h2] := caps _ lt; rewrite /decide /library /=; by case: ifP.
- exact: library_every.
- exact: library_explore.
- exact: library_range.
Qed.
End Library.
