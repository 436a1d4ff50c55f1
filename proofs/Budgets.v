(** Budgets are never exceeded: the accounting of a budget, as [limits/pacer.py] and
    [limits/pace_core.py] have it, as a system of states and events, and what holds after every
    sequence of events. [limits/shared.py], which gives slices of a budget to many holders, follows.

    Money is in whole units, as in the code: a price is rounded up to units, an amount down.

    Not modelled: overflow of integers of 64 bits; another unit of money after a restart; how bids
    are chosen. A pacer may refuse any bid, for example because another limit does: a bid that is
    not made is no event here. *)
From Coq Require Import ZArith List Bool Lia.
Import ListNotations.
Open Scope Z_scope.

(** * Sums over lists *)
Section Sums.
Variable X : Type.

Definition sum (f : X -> Z) (l : list X) : Z := fold_right (fun x s => f x + s) 0 l.

(** The first element with a property, and the list without it. *)
Fixpoint without (p : X -> bool) (l : list X) : list X :=
  match l with [] => [] | x :: r => if p x then r else x :: without p r end.

(** A list is the sum of the element that was found and of the others. *)
Lemma sum_without f p l x : find p l = Some x -> sum f l = f x + sum f (without p l).
Proof.
induction l as [|y r IH]; simpl; [discriminate|].
destruct (p y); [intros [= ->]; reflexivity | intro H; rewrite (IH H); simpl; lia].
Qed.

(** What holds for all elements holds for those that remain. *)
Lemma Forall_without (P : X -> Prop) p l : Forall P l -> Forall P (without p l).
Proof. induction 1; simpl; [constructor|]; destruct (p x); auto. Qed.

(** What holds for all elements holds for the one that was found. *)
Lemma Forall_find (P : X -> Prop) p l x : Forall P l -> find p l = Some x -> P x.
Proof. intros H E; apply find_some in E; rewrite Forall_forall in H; apply H, E. Qed.

(** Sums of numbers that are not negative are not negative. *)
Lemma sum_ge0 f l : Forall (fun x => 0 <= f x) l -> 0 <= sum f l.
Proof. induction 1; simpl; lia. Qed.

(** Larger summands have a larger sum. *)
Lemma sum_le f g l : Forall (fun x => f x <= g x) l -> sum f l <= sum g l.
Proof. induction 1; simpl; lia. Qed.

(** Equal summands have equal sums. *)
Lemma sum_eq f g l : Forall (fun x => f x = g x) l -> sum f l = sum g l.
Proof. induction 1; simpl; lia. Qed.

(** A sum over two lists. *)
Lemma sum_app f l r : sum f (l ++ r) = sum f l + sum f r.
Proof. induction l; simpl; lia. Qed.

(** Elements with a property up to the first without it, and the others. *)
Fixpoint cut (p : X -> bool) (l : list X) : list X * list X :=
  match l with
  | [] => ([], [])
  | x :: r => if p x then let '(a, b) := cut p r in (x :: a, b) else ([], l)
  end.

(** Nothing is lost when a list is cut. *)
Lemma cut_app p l : fst (cut p l) ++ snd (cut p l) = l.
Proof.
induction l as [|x r IH]; simpl; auto; destruct (p x), (cut p r); simpl in *; congruence.
Qed.

(** What holds for all elements holds for those that a filter leaves. *)
Lemma Forall_filter (P : X -> Prop) p l : Forall P l -> Forall P (filter p l).
Proof. induction 1; simpl; [constructor|]; destruct (p x); auto. Qed.

(** A sum over the elements with a property and over the others. *)
Lemma sum_filter f p l : sum f l = sum f (filter p l) + sum f (filter (fun x => negb (p x)) l).
Proof. induction l as [|x r IH]; simpl; [lia|]; destruct (p x); simpl; lia. Qed.
End Sums.
Arguments sum {X}. Arguments without {X}. Arguments cut {X}.

(** * The account of one budget *)

(** A bid is named by the process that made it and a number. Later bids have higher numbers. *)
Definition key := (Z * Z)%type.
Definition same (x y : key) := (fst x =? fst y) && (snd x =? snd y).

(** A bid without an outcome: a row of [Reservations]. [price] is what is reserved for it, and
    [cost] what it costs if it wins. They differ only if the bid may have been made before a crash
    and is not in the log: [exact] is false then, [price] the highest, and nothing here reads
    [cost]. *)
Record bid := Bid {
  name : key; price : Z; cost : Z; made : Z; of_period : Z; exact : bool }.

(** A win that was paid. [surprise]: the bid had been counted as lost before. *)
Record win := Win { won_by : key; paid_price : Z; won_period : Z; surprise : bool }.

Record account := Account {
  given : Z; spent : Z; reserved : Z;   (* the columns of [PaceState.money] *)
  late : Z;                             (* [Pacer.late] *)
  period : Z;
  first : option key;                   (* [Pacer.firsts]: the first bid of the period, if any *)
  open : list bid;                      (* [Pacer.reserved], in the order in which they were made *)
  paid : list win;                      (* what the memory of decisions knows about wins *)
  granted : Z;                          (* bids that may be answered before they are logged *)
  (* The rest is used in no step, only in what is proved. *)
  next : Z;                             (* above the numbers of all bids *)
  forgotten : list bid;                 (* very old bids that were dropped *)
  surprises : Z;                        (* what surprises of this period have cost *)
  caps : Z -> Z                         (* the most that was ever allowed in each period *) }.

Inductive event :=
| Turn (amount : Z)                        (* a period begins, or another lease *)
| Change (amount : Z)                      (* another amount; 0 if a lease is over *)
| Place (k : key) (p : Z) (at_ : Z)        (* a bid is made *)
| Outcome (k : key) (p : Z) (won : bool)   (* its first outcome, however late; p is its price *)
| Expire (before : Z)                      (* bids made until then count as lost *)
| Forget (before : Z)                      (* bids of earlier periods are dropped *)
| Correct (k : key) (p : Z) (won : bool)   (* another outcome than the first *)
| Grant (n : Z)                            (* so many bids may be answered before they are logged *)
| Unknown (k : key) (c : Z) (at_ : Z).     (* after a crash: a bid, at cost c, may have been made *)

Section Steps.
(** [top] is the highest price. The worst case is the fraction [num / den]. *)
Variables (top num den : Z).

(** What may be spent at most of an amount. *)
Definition room (amount : Z) := amount + amount * num / den.
(** What may still be bid, even if all that is reserved is spent. *)
Definition free (s : account) := room (given s) - spent s - reserved s.

Definition held (now : Z) (b : bid) := if of_period b =? now then price b else 0.
Definition named (k : key) (b : bid) := same k (name b).
Definition won_as (k : key) (w : win) := same k (won_by w).
Definition known (s : account) (k : key) : bool :=
  existsb (named k) (open s) || existsb (won_as k) (paid s).

(** Whether a bid is known to belong to the present period. *)
Definition present (s : account) (k : key) : bool :=
  match first s with Some (d, n) => (d =? fst k) && (n <=? snd k) | None => false end.

Definition start : account :=
  Account 0 0 0 0 0 None [] [] 0 0 [] 0 (fun _ => 0).

Definition turn s amount :=
  let now := period s + 1 in
  Account amount 0 0 (late s) now None (open s) (paid s) 0 (next s) (forgotten s) 0
    (fun p => if p =? now then Z.max 0 (room amount) else caps s p).

Definition change s amount :=
  Account amount (spent s) (reserved s) (late s) (period s) (first s) (open s) (paid s) (granted s)
    (next s) (forgotten s) (surprises s)
    (fun p => if p =? period s then Z.max (room amount) (caps s p) else caps s p).

(** Reserve money for a bid. *)
Definition hold s (b : bid) :=
  Account (given s) (spent s) (reserved s + price b) (late s) (period s)
    (match first s with None => Some (name b) | f => f end)
    (open s ++ [b]) (paid s) (Z.max 0 (granted s - 1)) (snd (name b) + 1) (forgotten s)
    (surprises s) (caps s).

Definition place s (k : key) p at_ :=
  if (0 <? p) && (p <=? top) && (p <=? free s) && (next s <=? snd k)
  then hold s (Bid k p p at_ (period s) true) else s.

Definition unknown s (k : key) c at_ :=
  if (0 <? granted s) && (0 <? c) && (c <=? top) && (next s <=? snd k)
  then hold s (Bid k top c at_ (period s) false) else s.

(** A bid is over: what it had reserved is free, and a win is paid, both in its period. *)
Definition release s (b : bid) (won : bool) :=
  let now := of_period b =? period s in
  let pays := won && now in
  Account (given s) (if pays then spent s + cost b else spent s)
    (if now then reserved s - price b else reserved s) (late s) (period s) (first s)
    (without (named (name b)) (open s))
    (if won then Win (name b) (cost b) (of_period b) false :: paid s else paid s)
    (granted s) (next s) (forgotten s) (surprises s) (caps s).

(** A win of a bid that had been counted as lost is paid in this period. *)
Definition surprised s (k : key) p (late_ : bool) :=
  Account (given s) (spent s + p) (reserved s) (if late_ then late s + p else late s) (period s)
    (first s) (open s) (Win k p (period s) true :: paid s) (granted s) (next s) (forgotten s)
    (surprises s + p) (caps s).

Definition outcome s (k : key) p (won : bool) :=
  match find (named k) (open s) with
  | Some b => if p =? cost b then release s b won else s
  | None => if won && (0 <? p) && (snd k <? next s) && negb (known s k)
            then surprised s k p true else s
  end.

(** A win that was none. Its money is given back only if the bid belongs to this period. *)
Definition undo s (w : win) :=
  let back := present s (won_by w) && (paid_price w <=? spent s) in
  Account (given s) (if back then spent s - paid_price w else spent s) (reserved s) (late s)
    (period s) (first s) (open s) (without (won_as (won_by w)) (paid s)) (granted s) (next s)
    (forgotten s) (surprises s) (caps s).

Definition correct s (k : key) p (won : bool) :=
  if won then
    if (0 <? p) && (snd k <? next s) && negb (known s k) then surprised s k p false else s
  else match find (won_as k) (paid s) with
       | Some w => if p =? paid_price w then undo s w else s
       | None => s
       end.

Definition expire s before :=
  let '(old, rest) := cut (fun b => made b <=? before) (open s) in
  Account (given s) (spent s) (reserved s - sum (held (period s)) old) (late s) (period s) (first s)
    rest (paid s) (granted s) (next s) (forgotten s) (surprises s) (caps s).

Definition forget s before :=
  let '(old, rest) := cut (fun b => made b <=? before) (open s) in
  let earlier b := negb (of_period b =? period s) in
  Account (given s) (spent s) (reserved s) (late s) (period s) (first s)
    (filter (fun b => negb (earlier b)) old ++ rest) (paid s) (granted s) (next s)
    (filter earlier old ++ forgotten s) (surprises s) (caps s).

Definition grant s n :=
  if n * top <=? free s then
    Account (given s) (spent s) (reserved s) (late s) (period s) (first s) (open s) (paid s)
      (Z.max n (granted s)) (next s) (forgotten s) (surprises s) (caps s)
  else s.

Definition step s (e : event) : account :=
  match e with
  | Turn amount => turn s amount
  | Change amount => change s amount
  | Place k p at_ => place s k p at_
  | Outcome k p won => outcome s k p won
  | Expire before => expire s before
  | Forget before => forget s before
  | Correct k p won => correct s k p won
  | Grant n => grant s n
  | Unknown k c at_ => unknown s k c at_
  end.

Definition run (es : list event) (s : account) : account := fold_left step es s.

(** * What is proved *)

(** What the bids of a period have cost, and what its bids without an outcome can still cost. *)
Definition counts (q : Z) (w : win) :=
  if (won_period w =? q) && negb (surprise w) then paid_price w else 0.
Definition can_cost (q : Z) (b : bid) := if of_period b =? q then cost b else 0.
Definition total (s : account) (q : Z) :=
  sum (counts q) (paid s) + sum (can_cost q) (open s) + sum (can_cost q) (forgotten s).


Hypothesis top_positive : 0 <= top.

(** What would be given back if a win turned out to be none. *)
Definition refundable (f : option key) (w : win) :=
  match f with Some k => if snd k <=? snd (won_by w) then paid_price w else 0 | None => 0 end.

Definition open_ok (s : account) (b : bid) :=
  0 < cost b <= price b /\ of_period b <= period s /\ snd (name b) < next s /\
  match first s with
  | None => of_period b < period s
  | Some k => (of_period b = period s -> snd k <= snd (name b)) /\
              (of_period b < period s -> snd (name b) < snd k)
  end.

Definition paid_ok (s : account) (w : win) :=
  0 < paid_price w /\ snd (won_by w) < next s /\
  (surprise w = false -> won_period w <= period s /\
   match first s with
   | None => won_period w < period s
   | Some k => won_period w = period s -> snd k <= snd (won_by w)
   end).

Record good (s : account) : Prop := Good {
  good_reserved : reserved s = sum (held (period s)) (open s);
  good_open : Forall (open_ok s) (open s);
  good_paid : Forall (paid_ok s) (paid s);
  good_forgotten : Forall (fun b => 0 < cost b /\ of_period b < period s) (forgotten s);
  good_first : match first s with Some k => snd k < next s | None => True end;
  good_spent : sum (refundable (first s)) (paid s) <= spent s;
  good_room : room (given s) <= caps s (period s);
  good_total : forall q, total s q <= caps s q;
  good_now : total s (period s) + granted s * top <= caps s (period s);
  good_count : spent s + reserved s + granted s * top <= caps s (period s) + surprises s;
  good_ghosts : 0 <= granted s /\ 0 <= surprises s }.

(** What bids of this period have cost and can cost is never more than the counters say. *)
Lemma total_counted s : good s -> total s (period s) <= spent s + reserved s.
Proof.
intros g; unfold total.
assert (sum (counts (period s)) (paid s) <= sum (refundable (first s)) (paid s)) as a.
{ apply sum_le; eapply Forall_impl; [|exact (good_paid _ g)].
  intros w [p [_ h]]; unfold counts, refundable.
  destruct (Z.eqb_spec (won_period w) (period s)) as [e|_]; simpl;
    [destruct (surprise w) eqn:u; simpl | ]; try (destruct (first s); try destruct (_ <=? _); lia).
  destruct (h eq_refl) as [_ f]; destruct (first s) as [k|]; [|lia].
  specialize (f e); destruct (Z.leb_spec (snd k) (snd (won_by w))); lia. }
assert (sum (can_cost (period s)) (open s) <= sum (held (period s)) (open s)) as b.
{ apply sum_le; eapply Forall_impl; [|exact (good_open _ g)].
  intros x [h _]; unfold can_cost, held; destruct (_ =? _); lia. }
assert (sum (can_cost (period s)) (forgotten s) <= sum (fun _ => 0) (forgotten s)) as c.
{ apply sum_le; eapply Forall_impl; [|exact (good_forgotten _ g)].
  intros x [_ h]; unfold can_cost; destruct (Z.eqb_spec (of_period x) (period s)); lia. }
assert (forall l : list bid, sum (fun _ => 0) l = 0) as z by (induction l; simpl; lia).
rewrite z in c; pose proof (good_spent _ g); pose proof (good_reserved _ g); lia.
Qed.

(** Nothing can be spent in a period that has not begun. *)
Lemma total_later s q : good s -> period s < q -> total s q = 0.
Proof.
intros g l; unfold total.
rewrite (sum_eq _ (counts q) (fun _ => 0)), (sum_eq _ (can_cost q) (fun _ => 0) (open s)),
  (sum_eq _ (can_cost q) (fun _ => 0) (forgotten s)).
- assert (forall X (m : list X), sum (fun _ => 0) m = 0) as z by (induction m; simpl; lia).
  rewrite !z; lia.
- eapply Forall_impl; [|exact (good_forgotten _ g)].
  intros b [_ h]; unfold can_cost; destruct (Z.eqb_spec (of_period b) q); lia.
- eapply Forall_impl; [|exact (good_open _ g)].
  intros b [_ [h _]]; unfold can_cost; destruct (Z.eqb_spec (of_period b) q); lia.
- eapply Forall_impl; [|exact (good_paid _ g)].
  intros w [_ [_ h]]; unfold counts; destruct (Z.eqb_spec (won_period w) q); simpl; auto.
  destruct (surprise w); simpl; auto; destruct (h eq_refl); lia.
Qed.

(** The first state is good. *)
Lemma start_good : good start.
Proof. constructor; simpl; auto; try reflexivity; unfold total, room; simpl; try lia. Qed.

(** A new period keeps what has to hold. *)
Lemma turn_good s amount : good s -> good (turn s amount).
Proof.
intros g; constructor; simpl.
- symmetry; transitivity (sum (fun _ : bid => 0) (open s)); [|induction (open s); simpl; auto].
  apply sum_eq; eapply Forall_impl; [|exact (good_open _ g)].
  intros b [_ [h _]]; unfold held; destruct (Z.eqb_spec (of_period b) (period s + 1)); lia.
- eapply Forall_impl; [|exact (good_open _ g)].
  intros b h; unfold open_ok in *; simpl; intuition lia.
- eapply Forall_impl; [|exact (good_paid _ g)].
  intros w h; unfold paid_ok in *; simpl; intuition lia.
- eapply Forall_impl; [|exact (good_forgotten _ g)]; simpl; intros b h; intuition lia.
- exact I.
- induction (paid s); simpl; lia.
- rewrite Z.eqb_refl; lia.
- intros q; change (total s q <= if q =? period s + 1 then Z.max 0 (room amount) else caps s q).
  destruct (Z.eqb_spec q (period s + 1)) as [->|_]; [|apply (good_total _ g)].
  rewrite (total_later s); auto; lia.
- rewrite Z.eqb_refl; change (total s (period s + 1) + 0 <= Z.max 0 (room amount)).
  rewrite (total_later s); auto; lia.
- rewrite Z.eqb_refl; lia.
- lia.
Qed.

(** Another amount keeps what has to hold. *)
Lemma change_good s amount : good s -> good (change s amount).
Proof.
intros [a b c d e f r t n k u]; constructor; simpl; auto; try rewrite Z.eqb_refl; try lia.
- intros q; specialize (t q).
  change (total s q <= if q =? period s then Z.max (room amount) (caps s q) else caps s q).
  destruct (q =? period s); lia.
- change (total s (period s) + granted s * top <= Z.max (room amount) (caps s (period s))); lia.
Qed.

(** Money that is reserved for a bid, if it is covered, keeps what has to hold. *)
Lemma hold_good s b : good s -> 0 < cost b <= price b -> of_period b = period s ->
  next s <= snd (name b) -> price b <= top ->
  (0 < granted s \/ spent s + reserved s + price b <= room (given s)) -> good (hold s b).
Proof.
intros g c o n p h; pose proof (total_counted s g) as tc.
destruct g as [a bo pa fo fi sp ro to no co gh].
assert (forall q, total (hold s b) q = total s q + can_cost q b) as tq.
{ intros q; unfold total; simpl; rewrite sum_app; simpl; lia. }
assert (can_cost (period s) b = cost b) as cb by (unfold can_cost; rewrite o, Z.eqb_refl; auto).
assert (held (period s) b = price b) as hb by (unfold held; rewrite o, Z.eqb_refl; auto).
constructor; simpl.
- rewrite sum_app; simpl; lia.
- apply Forall_app; split.
  + eapply Forall_impl; [|exact bo]; intros x h0; unfold open_ok in *; simpl in *.
    destruct (first s); intuition lia.
  + constructor; [|constructor]; unfold open_ok; simpl; destruct (first s); intuition lia.
- eapply Forall_impl; [|exact pa]; intros w h0; unfold paid_ok in *; simpl in *.
  destruct (first s); intuition lia.
- exact fo.
- destruct (first s); simpl; lia.
- destruct (first s) as [k|]; simpl; auto.
  eapply Z.le_trans; [|exact sp]; apply sum_le; eapply Forall_impl; [|exact pa].
  intros w [_ [w2 _]]; simpl; destruct (Z.leb_spec (snd (name b)) (snd (won_by w))); lia.
- exact ro.
- intros q; rewrite tq; destruct (Z.eq_dec q (period s)) as [->|e]; [nia|].
  specialize (to q); unfold can_cost; destruct (Z.eqb_spec (of_period b) q); lia.
- rewrite tq; nia.
- nia.
- lia.
Qed.

(** A bid that is made keeps what has to hold. *)
Lemma place_good s k p at_ : good s -> good (place s k p at_).
Proof.
intros g; unfold place.
destruct (0 <? p) eqn:a, (p <=? top) eqn:b, (p <=? free s) eqn:c, (next s <=? snd k) eqn:d;
  simpl; auto; rewrite ?Z.ltb_lt, ?Z.leb_le in *; unfold free in c.
apply hold_good; simpl; auto; lia.
Qed.

(** A bid that may have been made, and was granted, keeps what has to hold. *)
Lemma unknown_good s k c at_ : good s -> good (unknown s k c at_).
Proof.
intros g; unfold unknown.
destruct (0 <? granted s) eqn:a, (0 <? c) eqn:b, (c <=? top) eqn:d, (next s <=? snd k) eqn:e;
  simpl; auto; rewrite ?Z.ltb_lt, ?Z.leb_le in *.
apply hold_good; simpl; auto; lia.
Qed.

(** What holds for a bid and a key that is its own. *)
Lemma named_refl b : named (name b) b = true.
Proof. unfold named, same; rewrite !Z.eqb_refl; reflexivity. Qed.

(** Keys that are the same are equal. *)
Lemma same_eq j k : same j k = true -> j = k.
Proof.
destruct j, k; unfold same; simpl; intros h; apply andb_prop in h; destruct h as [a b].
apply Z.eqb_eq in a; apply Z.eqb_eq in b; congruence.
Qed.

(** A bid that is over keeps what has to hold. *)
Lemma release_good s b won k : good s -> find (named k) (open s) = Some b -> good (release s b won).
Proof.
intros g h; pose proof (find_some _ _ h) as [_ nk]; apply same_eq in nk; subst k.
destruct g as [a bo pa fo fi sp ro to no co gh].
pose proof (Forall_find _ _ _ _ _ bo h) as [b1 [b2 [b3 b4]]].
pose proof (sum_without _ (held (period s)) _ _ _ h) as w1.
assert (forall q, total (release s b won) q = total s q - if won then 0 else can_cost q b) as tq.
{ intros q; pose proof (sum_without _ (can_cost q) _ _ _ h) as e.
  assert (counts q (Win (name b) (cost b) (of_period b) false) = can_cost q b) as cw
    by (unfold counts, can_cost; simpl; rewrite andb_true_r; auto).
  unfold total; destruct won; simpl; rewrite ?cw; lia. }
assert (forall q, 0 <= can_cost q b) as cc by (intros q; unfold can_cost; destruct (_ =? _); lia).
unfold held at 2 in w1.
constructor; try (rewrite ?tq); simpl.
- destruct (Z.eqb_spec (of_period b) (period s)); lia.
- apply Forall_without; exact bo.
- destruct won; auto; constructor; auto; unfold paid_ok; simpl; repeat split; try lia.
  destruct (first s); [apply b4 | exact b4].
- exact fo.
- exact fi.
- destruct won; simpl; [|destruct (of_period b =? period s); lia].
  unfold refundable at 1; simpl; destruct (first s) as [f|].
  + destruct (Z.eqb_spec (of_period b) (period s)) as [e|e];
    destruct (Z.leb_spec (snd f) (snd (name b)));
      intuition lia.
  + destruct (of_period b =? period s); lia.
- exact ro.
- intros q; rewrite tq; specialize (to q); specialize (cc q); destruct won; lia.
- specialize (cc (period s)); destruct won; lia.
- destruct won, (of_period b =? period s); simpl; lia.
- lia.
Qed.

(** A win of a bid that had been counted as lost keeps what has to hold. *)
Lemma surprised_good s k p l : good s -> 0 < p -> snd k < next s -> good (surprised s k p l).
Proof.
intros [a bo pa fo fi sp ro to no co gh] p0 kn.
assert (forall q, total (surprised s k p l) q = total s q) as tq.
{ intros q; unfold total; simpl; unfold counts at 1; simpl; rewrite andb_false_r; lia. }
constructor; try (rewrite ?tq); simpl; auto; try lia.
- constructor; auto; unfold paid_ok; simpl; repeat split; auto; discriminate.
- unfold refundable at 1; simpl; destruct (first s) as [f|]; [destruct (_ <=? _)|]; lia.
- intros q; rewrite tq; auto.
Qed.

(** An outcome keeps what has to hold. *)
Lemma outcome_good s k p won : good s -> good (outcome s k p won).
Proof.
intros g; unfold outcome; destruct (find _ _) as [b|] eqn:h.
- destruct (p =? cost b); auto; eapply release_good; eauto.
- destruct won, (0 <? p) eqn:a, (snd k <? next s) eqn:c, (negb (known s k)); simpl; auto.
  rewrite ?Z.ltb_lt in *; apply surprised_good; auto.
Qed.

(** A win that was none keeps what has to hold. *)
Lemma undo_good s w k : good s -> find (won_as k) (paid s) = Some w -> good (undo s w).
Proof.
intros g h; pose proof (find_some _ _ h) as [_ nk]; apply same_eq in nk; subst k.
destruct g as [a bo pa fo fi sp ro to no co gh].
pose proof (Forall_find _ _ _ _ _ pa h) as [p1 [p2 p3]].
pose proof (sum_without _ (refundable (first s)) _ _ _ h) as w1.
assert (forall q, total (undo s w) q = total s q - counts q w) as tq.
{ intros q; pose proof (sum_without _ (counts q) _ _ _ h); unfold total; simpl; lia. }
assert (forall q, 0 <= counts q w) as cc by (intros q; unfold counts; destruct (_ && _); lia).
assert (0 <= sum (refundable (first s)) (without (won_as (won_by w)) (paid s))) as rest.
{ apply sum_ge0; apply Forall_without; eapply Forall_impl; [|exact pa].
  intros x [x1 _]; unfold refundable; destruct (first s); [destruct (_ <=? _)|]; lia. }
assert (present s (won_by w) = true -> refundable (first s) w = paid_price w) as pr.
{ unfold present, refundable; destruct (first s) as [[d n]|]; [|discriminate]; simpl.
  intros e; apply andb_prop in e; destruct e as [_ ->]; reflexivity. }
assert (0 <= refundable (first s) w) as r0.
{ unfold refundable; destruct (first s); [destruct (_ <=? _)|]; lia. }
constructor; try (rewrite ?tq); simpl; auto; try lia.
- apply Forall_without; exact pa.
- destruct (present s (won_by w)) eqn:e; simpl; [|lia].
  specialize (pr eq_refl); destruct (_ <=? _); lia.
- intros q; rewrite tq; specialize (to q); specialize (cc q); lia.
- specialize (cc (period s)); lia.
- destruct (_ && _); lia.
Qed.

(** A correction keeps what has to hold. *)
Lemma correct_good s k p won : good s -> good (correct s k p won).
Proof.
intros g; unfold correct; destruct won.
- destruct (0 <? p) eqn:a, (snd k <? next s) eqn:c, (negb (known s k)); simpl; auto.
  rewrite ?Z.ltb_lt in *; apply surprised_good; auto.
- destruct (find _ _) as [w|] eqn:h; auto; destruct (p =? paid_price w); auto.
  eapply undo_good; eauto.
Qed.

(** Bids that expire keep what has to hold. *)
Lemma expire_good s before : good s -> good (expire s before).
Proof.
intros [a bo pa fo fi sp ro to no co gh]; unfold expire.
pose proof (cut_app _ (fun b => made b <=? before) (open s)) as e.
destruct (cut _ _) as [old rest]; simpl in e.
rewrite <- e in bo; apply Forall_app in bo; destruct bo as [bold brest].
assert (forall q, 0 <= sum (can_cost q) old) as cc.
{ intros q; apply sum_ge0; eapply Forall_impl; [|exact bold].
  intros b [h _]; unfold can_cost; destruct (_ =? _); lia. }
assert (0 <= sum (held (period s)) old) as hh.
{ apply sum_ge0; eapply Forall_impl; [|exact bold].
  intros b [h _]; unfold held; destruct (_ =? _); lia. }
constructor; simpl; auto; try lia.
- rewrite a, <- e, sum_app; lia.
- intros q; specialize (to q); specialize (cc q); unfold total in *; simpl in *.
  rewrite <- e, sum_app in to; lia.
- specialize (cc (period s)); unfold total in *; simpl in *; rewrite <- e, sum_app in no; lia.
Qed.

(** Very old bids that are dropped keep what has to hold. *)
Lemma forget_good s before : good s -> good (forget s before).
Proof.
intros [a bo pa fo fi sp ro to no co gh]; unfold forget.
pose proof (cut_app _ (fun b => made b <=? before) (open s)) as e.
destruct (cut _ _) as [old rest]; simpl in e.
set (earlier := fun b => negb (of_period b =? period s)).
rewrite <- e in bo; apply Forall_app in bo; destruct bo as [bold brest].
assert (forall f, sum f (filter earlier old)
  + sum f (filter (fun b => negb (earlier b)) old ++ rest) = sum f (open s)) as sums.
{ intros f; rewrite <- e, !sum_app, (sum_filter _ f earlier old); lia. }
assert (forall q, total (Account (given s) (spent s) (reserved s) (late s) (period s) (first s)
    (filter (fun b => negb (earlier b)) old ++ rest) (paid s) (granted s) (next s)
    (filter earlier old ++ forgotten s) (surprises s) (caps s)) q = total s q) as tq.
{ intros q; unfold total; simpl.
  rewrite <- (sums (can_cost q)), (sum_app _ _ _ (forgotten s)); lia. }
constructor; try (rewrite ?tq); simpl; auto.
- change (reserved s = sum (held (period s)) (filter (fun b => negb (earlier b)) old ++ rest)).
  pose proof (sums (held (period s))) as hs.
  assert (sum (held (period s)) (filter earlier old) = sum (fun _ => 0) (filter earlier old)) as z.
  { apply sum_eq, Forall_forall; intros b h; apply filter_In in h; destruct h as [_ h].
    unfold earlier in h; unfold held; destruct (_ =? _); [discriminate | reflexivity]. }
  assert (forall l : list bid, sum (fun _ => 0) l = 0) as zero by (induction l; simpl; lia).
  rewrite zero in z; lia.
- apply Forall_app; split; auto; apply Forall_filter; auto.
- apply Forall_app; split; auto; apply Forall_forall; intros b h; apply filter_In in h.
  destruct h as [h1 h2]; rewrite Forall_forall in bold; destruct (bold b h1) as [c1 [c2 _]].
  unfold earlier in h2; destruct (Z.eqb_spec (of_period b) (period s)); [discriminate | lia].
- intros q; rewrite tq; auto.
Qed.

(** A grant keeps what has to hold. *)
Lemma grant_good s n : good s -> good (grant s n).
Proof.
intros g; unfold grant; destruct (Z.leb_spec (n * top) (free s)) as [h|_]; auto; unfold free in h.
pose proof (total_counted s g) as tc; destruct g as [a bo pa fo fi sp ro to no co gh].
assert (Z.max n (granted s) * top <= Z.max (n * top) (granted s * top)) as m by nia.
constructor; simpl; auto; try lia.
change (total s (period s) + Z.max n (granted s) * top <= caps s (period s)); lia.
Qed.

(** Every event keeps what has to hold. *)
Lemma step_good s e : good s -> good (step s e).
Proof.
destruct e; simpl; intros g.
- apply turn_good, g.
- apply change_good, g.
- apply place_good, g.
- apply outcome_good, g.
- apply expire_good, g.
- apply forget_good, g.
- apply correct_good, g.
- apply grant_good, g.
- apply unknown_good, g.
Qed.

(** What has to hold does so after all events. *)
Lemma run_good es s : good s -> good (run es s).
Proof. revert s; induction es; simpl; auto; intros s g; apply IHes, step_good, g. Qed.

(** Whatever happens, no period's bids cost more than was allowed in it: those that won when their
    first outcome came, and all that can still win. *)
Theorem budget_kept es q : total (run es start) q <= caps (run es start) q.
Proof. apply good_total, run_good, start_good. Qed.

(** What the counters of the present period say is never too low, and never more than allowed, apart
    from what surprises have cost: wins of bids that had expired, or were reported as lost. *)
Theorem counters_kept es : let s := run es start in
  total s (period s) <= spent s + reserved s <= caps s (period s) + surprises s.
Proof.
intros s; assert (good s) as g by (apply run_good, start_good); split; [apply total_counted, g|].
pose proof (good_count _ g); pose proof (good_ghosts _ g); nia.
Qed.

(** A state that is read from a file, and the log since, is the state that was lost. *)
Theorem restart es es' s : run (es ++ es') s = run es' (run es s).
Proof. apply fold_left_app. Qed.

(** If a bid that was made is not in the log, what is reserved after the crash counts its cost. *)
Theorem crash s k p at_ q : place s k p at_ <> s -> 0 < granted s ->
  total (unknown s k p at_) q = total (place s k p at_) q.
Proof.
unfold place, unknown; intros h g.
destruct (0 <? p), (p <=? top), (p <=? free s), (next s <=? snd k); simpl in *; try tauto.
apply Z.ltb_lt in g; rewrite g; unfold total; simpl; rewrite !sum_app; reflexivity.
Qed.

(** * Many holders of one budget *)

(** The worst case is a fraction of at least 0, and nothing may be spent of nothing. *)
Hypothesis num_positive : 0 <= num.
Hypothesis den_positive : 0 < den.

(** The worst case in whole numbers. *)
Lemma room_bound amount : den * room amount <= amount * (den + num).
Proof. unfold room; pose proof (Z.mul_div_le (amount * num) den den_positive); lia. Qed.

(** The room of an amount is not negative. *)
Lemma room_ge amount : 0 <= amount -> amount <= room amount.
Proof. intros a; unfold room; pose proof (Z.div_pos (amount * num) den); nia. Qed.

(** Nothing may be spent of nothing. *)
Lemma room_0 : room 0 = 0.
Proof. unfold room; rewrite Z.mul_0_l, Z.div_0_l; lia. Qed.

(** What was allowed in a period changes only when it begins, or with its amount. *)
Lemma step_caps s e q : caps (step s e) q = match e with
  | Turn a => if q =? period s + 1 then Z.max 0 (room a) else caps s q
  | Change a => if q =? period s then Z.max (room a) (caps s q) else caps s q
  | _ => caps s q end.
Proof.
destruct e; simpl; auto; unfold place, outcome, expire, forget, correct, grant, unknown, hold,
  release, surprised, undo;
  repeat (match goal with |- context [match ?x with _ => _ end] => destruct x end);
  reflexivity.
Qed.

(** A budget has one amount in all periods; a lease that is over has none. *)
Definition plain amount (e : event) :=
  match e with Turn a | Change a => a = amount \/ a = 0 | _ => True end.

(** A budget of one amount is never exceeded by more than the worst case, in no period. *)
Theorem never_exceeded amount es q : 0 <= amount -> Forall (plain amount) es ->
  den * total (run es start) q <= amount * (den + num).
Proof.
intros a f; assert (forall s, (forall p, caps s p <= room amount) ->
  forall p, caps (run es s) p <= room amount) as c.
{ induction f as [|e r h f IH]; simpl; auto; intros s b; apply IH; intros p; rewrite step_caps.
  pose proof (room_ge amount a); pose proof room_0.
  destruct e; auto; destruct h as [->| ->]; specialize (b p); destruct (_ =? _); lia. }
pose proof (budget_kept es q); pose proof (room_bound amount).
specialize (c start (fun _ => Z.le_trans _ _ _ a (room_ge amount a)) q); nia.
Qed.

(** [SharedBudget] and the accounts of its holders. A slice is named by its holder and the period of
    the holder's account. A holder that ends its lease says what it has used. The message may come
    late, more than once, or never; a slice that is not given back counts as spent. *)
Record slice := Slice { holder : Z; lease : Z; amount_of : Z }.
Record fleet := Fleet {
  budget : Z; back : Z; leased : list slice;   (* [_spent], [_leased] *)
  accounts : Z -> account;
  messages : list (Z * Z * Z);                 (* holder, lease, used *)
  (* The rest is used in no step, only in what is proved. *)
  returned : list slice;
  past : list (list slice) }.                  (* the slices of earlier periods of the budget *)

Inductive deed :=
| Lend (h : Z) (amount : Z)   (* [lease]; the holder takes it, and what it had before is over *)
| End (h : Z)                 (* the holder ends its lease *)
| Deliver (i : nat)           (* [take_back] of a message *)
| Act (h : Z) (e : event)     (* what happens to a holder *)
| Later.                      (* a period of the shared budget begins *)

(** What happens to a holder under a lease. *)
Definition inner (e : event) : bool :=
  match e with
  | Place _ _ _ | Outcome _ _ _ | Expire _ | Forget _ | Correct _ _ _ => true
  | _ => false
  end.

Definition left (f : fleet) := Z.max 0 (budget f - back f - sum amount_of (leased f)).
Definition put (a : Z -> account) h s : Z -> account := fun x => if x =? h then s else a x.
Definition is_slice h n (l : slice) := (h =? holder l) && (n =? lease l).

Definition do (f : fleet) (d : deed) : fleet :=
  let 'Fleet b k l a m r p := f in
  match d with
  | Lend h x =>
      if (0 <? x) && (x <=? left f)
      then let s := turn (a h) x in Fleet b k (Slice h (period s) x :: l) (put a h s) m r p else f
  | End h => let s := a h in
      Fleet b k l (put a h (change s 0)) ((h, period s, spent s + reserved s) :: m) r p
  | Deliver i =>
      match nth_error m i with
      | Some (h, n, used) =>
          match find (is_slice h n) l with
          | Some x => Fleet b (k + used) (without (is_slice h n) l) a m (x :: r) p
          | None => f
          end
      | None => f
      end
  | Act h e => if inner e then Fleet b k l (put a h (step (a h) e)) m r p else f
  | Later => Fleet b 0 [] a m [] ((l ++ r) :: p)
  end.

Definition fleet_start b := Fleet b 0 [] (fun _ => start) [] [] [].
Definition play (ds : list deed) (f : fleet) : fleet := fold_left do ds f.

(** What the bids of a slice have cost and can cost. *)
Definition slice_total (a : Z -> account) (l : slice) := total (a (holder l)) (lease l).

(** The money of a period that is over, or of a lease that was ended, only becomes less. *)
Definition over (s : account) q := q < period s \/ (q = period s /\ given s = 0).

(** The period and the amount change only by their own events. *)
Lemma inner_keeps s e : inner e = true ->
  period (step s e) = period s /\ given (step s e) = given s.
Proof.
destruct e; try discriminate; intros _; simpl; unfold place, outcome, expire, forget, correct, hold,
  release, surprised, undo;
  repeat (match goal with |- context [match ?x with _ => _ end] => destruct x end);
  split; reflexivity.
Qed.

(** Dropping some elements makes no sum of numbers that are not negative larger. *)
Lemma sum_without_le X (f : X -> Z) p l : Forall (fun x => 0 <= f x) l ->
  sum f (without p l) <= sum f l.
Proof.
intros h; destruct (find p l) as [x|] eqn:e.
- rewrite (sum_without _ f p l x e); pose proof (Forall_find _ _ _ _ _ h e); simpl in *; lia.
- assert (without p l = l) as ->; [|lia].
  clear h; induction l as [|y r IH]; simpl in *; auto; destruct (p y); [discriminate|].
  rewrite (IH e); reflexivity.
Qed.

(** What a bid can cost, and a win has cost, is not negative. *)
Lemma costs_ge0 s q : good s -> Forall (fun b => 0 <= can_cost q b) (open s)
  /\ Forall (fun w => 0 <= counts q w) (paid s).
Proof.
intros g; split; (eapply Forall_impl; [|first [exact (good_open _ g) | exact (good_paid _ g)]]).
- intros b [h _]; unfold can_cost; destruct (_ =? _); lia.
- intros w [h _]; unfold counts; destruct (_ && _); lia.
Qed.

(** The money of a lease that is over only becomes less. *)
Lemma over_total s e q : good s -> inner e = true -> over s q -> total (step s e) q <= total s q.
Proof.
intros g i o; destruct (costs_ge0 s q g) as [c1 c2]; destruct e; try discriminate; simpl.
- unfold place; destruct (_ && _) eqn:t; [|lia].
  destruct o as [o|[_ o]].
  + unfold total; simpl; rewrite sum_app; simpl; unfold can_cost at 2; simpl.
    destruct (Z.eqb_spec (period s) q); lia.
  + exfalso; repeat (apply andb_prop in t; destruct t as [t ?]).
    rewrite ?Z.ltb_lt, ?Z.leb_le in *; unfold free in *; rewrite o, room_0 in *.
    pose proof (good_spent _ g); pose proof (good_reserved _ g).
    assert (0 <= sum (refundable (first s)) (paid s)).
    { apply sum_ge0; eapply Forall_impl; [|exact (good_paid _ g)]; intros w [w1 _].
      unfold refundable; destruct (first s); [destruct (_ <=? _)|]; lia. }
    assert (0 <= sum (held (period s)) (open s)).
    { apply sum_ge0; eapply Forall_impl; [|exact (good_open _ g)]; intros b [b1 _].
      unfold held; destruct (_ =? _); lia. }
    lia.
- unfold outcome; destruct (find _ _) as [b|] eqn:h.
  + destruct (p =? cost b); [|lia].
    pose proof (find_some _ _ h) as [_ nk]; apply same_eq in nk; subst k.
    pose proof (sum_without _ (can_cost q) _ _ _ h) as w.
    pose proof (Forall_find _ _ _ _ _ c1 h) as cb; simpl in cb.
    assert (counts q (Win (name b) (cost b) (of_period b) false) = can_cost q b) as cw
      by (unfold counts, can_cost; simpl; rewrite andb_true_r; auto).
    unfold total; destruct won; simpl; rewrite ?cw; lia.
  + destruct (_ && _); [|lia]; unfold total; simpl; unfold counts at 1; simpl.
    rewrite andb_false_r; lia.
- unfold expire; pose proof (cut_app _ (fun b => made b <=? before) (open s)) as e.
  destruct (cut _ _) as [old rest]; simpl in e; unfold total; simpl; rewrite <- e, sum_app.
  rewrite <- e in c1; apply Forall_app in c1; pose proof (sum_ge0 _ (can_cost q) old (proj1 c1));
    lia.
- unfold forget; pose proof (cut_app _ (fun b => made b <=? before) (open s)) as e.
  destruct (cut _ _) as [old rest]; simpl in e; unfold total; simpl; rewrite <- e, !sum_app.
  rewrite (sum_filter _ (can_cost q) (fun b => negb (of_period b =? period s)) old); lia.
- unfold correct; destruct won.
  + destruct (_ && _); [|lia]; unfold total; simpl; unfold counts at 1; simpl.
    rewrite andb_false_r; lia.
  + destruct (find _ _) as [w|] eqn:h; [|lia]; destruct (p =? paid_price w); [|lia].
    pose proof (sum_without_le _ (counts q) (won_as (won_by w)) (paid s) c2); unfold total; simpl;
      lia.
Qed.

Definition slice_ok (a : Z -> account) (l : slice) :=
  0 < amount_of l /\ lease l <= period (a (holder l)) /\
  caps (a (holder l)) (lease l) <= room (amount_of l).

Definition message_ok (a : Z -> account) (m : Z * Z * Z) :=
  let '(h, n, used) := m in over (a h) n /\ total (a h) n <= used.

Record sound (f : fleet) : Prop := Sound {
  sound_accounts : forall h, good (accounts f h);
  sound_slices : Forall (slice_ok (accounts f)) (leased f ++ returned f);
  sound_messages : Forall (message_ok (accounts f)) (messages f);
  sound_over : Forall (fun l => over (accounts f (holder l)) (lease l)) (returned f);
  sound_back : sum (slice_total (accounts f)) (returned f) <= back f;
  sound_sum : den * (sum (fun l => room (amount_of l)) (leased f)
    + sum (slice_total (accounts f)) (returned f)) <= budget f * (den + num);
  sound_past : Forall (fun p => exists l r, p = l ++ r /\ Forall (slice_ok (accounts f)) p /\
    Forall (fun x => over (accounts f (holder x)) (lease x)) r /\
    den * (sum (fun x => room (amount_of x)) l + sum (slice_total (accounts f)) r)
      <= budget f * (den + num)) (past f);
  sound_budget : 0 <= budget f }.

(** What an account may do so that all slices and messages stay as they must be. *)
Definition keeps (s t : account) :=
  good t /\ period s <= period t /\ (forall q, q <= period s -> caps t q <= Z.max 0 (caps s q)) /\
  (forall q, over s q -> over t q /\ total t q <= total s q).

(** If an account does that, a fleet stays sound. *)
Lemma keeps_slice a h t l : keeps (a h) t -> slice_ok a l -> slice_ok (put a h t) l.
Proof.
intros [_ [p [c _]]] [s1 [s2 s3]]; unfold slice_ok, put; destruct (Z.eqb_spec (holder l) h) as [e|];
  auto.
rewrite e in *; repeat split; auto; try lia.
specialize (c _ s2); pose proof (room_ge (amount_of l)); lia.
Qed.

(** A lease that is over stays so. *)
Lemma keeps_over a h t x q : keeps (a h) t -> over (a x) q ->
  over (put a h t x) q /\ total (put a h t x) q <= total (a x) q.
Proof.
intros [_ [_ [_ k]]] o; unfold put; destruct (Z.eqb_spec x h) as [->|]; auto; split; auto; lia.
Qed.

(** What slices that are over have cost only becomes less. *)
Lemma keeps_sum a h t r : keeps (a h) t -> Forall (fun l => over (a (holder l)) (lease l)) r ->
  sum (slice_total (put a h t)) r <= sum (slice_total a) r.
Proof.
intros k o; apply sum_le; eapply Forall_impl; [|exact o]; intros l lo.
exact (proj2 (keeps_over _ _ _ _ _ k lo)).
Qed.

(** A fleet in which one account did what it may is sound. *)
Lemma put_sound b k l a m r p h t : sound (Fleet b k l a m r p) -> keeps (a h) t ->
  sound (Fleet b k l (put a h t) m r p).
Proof.
intros [sa ss sm so sb su sp s0] ke; simpl in *.
pose proof (keeps_sum _ _ _ r ke so) as le.
constructor; simpl; auto; try nia.
- intros x; unfold put; destruct (x =? h); [apply ke | apply sa].
- eapply Forall_impl; [|exact ss]; intros x; apply keeps_slice, ke.
- eapply Forall_impl; [|exact sm]; intros [[x n] u] [o t']; split.
  + apply (keeps_over _ _ _ _ _ ke o).
  + pose proof (keeps_over _ _ _ _ _ ke o); lia.
- eapply Forall_impl; [|exact so]; intros x o; apply (keeps_over _ _ _ _ _ ke o).
- eapply Forall_impl; [|exact sp]; intros x [l' [r' [e [k' [o' u']]]]]; exists l', r'; repeat split;
  auto.
  + eapply Forall_impl; [|exact k']; intros y; apply keeps_slice, ke.
  + eapply Forall_impl; [|exact o']; intros y o; apply (keeps_over _ _ _ _ _ ke o).
  + pose proof (keeps_sum _ _ _ r' ke o'); nia.
Qed.

(** A new lease keeps what is over. *)
Lemma turn_keeps s x : good s -> keeps s (turn s x).
Proof.
intros g; split; [apply turn_good, g|]; simpl; split; [lia|]; split.
- intros q l; destruct (Z.eqb_spec q (period s + 1)); lia.
- intros q o; split; [unfold over in *; simpl; lia | apply Z.le_refl].
Qed.

(** A lease that is ended keeps what is over. *)
Lemma end_keeps s : good s -> keeps s (change s 0).
Proof.
intros g; split; [apply change_good, g|]; split; [simpl; lia|]; split.
- intros q l; unfold change; cbn [caps]; rewrite room_0; destruct (_ =? _); lia.
- intros q o; split; [unfold over in *; simpl; lia | apply Z.le_refl].
Qed.

(** What happens under a lease keeps what is over. *)
Lemma act_keeps s e : good s -> inner e = true -> keeps s (step s e).
Proof.
intros g i; destruct (inner_keeps s e i) as [p v]; split; [apply step_good, g|].
split; [lia|]; split.
- intros q _; rewrite step_caps; destruct e; try discriminate; lia.
- intros q o; split; [unfold over in *; rewrite p, v; auto | apply over_total; auto].
Qed.

(** The caps of slices in whole numbers. *)
Lemma rooms a l : Forall (slice_ok a) l ->
  den * sum (fun x => room (amount_of x)) l <= sum amount_of l * (den + num) /\ 0 <=
    sum amount_of l.
Proof.
induction 1 as [|x l [h _] _ IH]; simpl; [lia|]; pose proof (room_bound (amount_of x)); lia.
Qed.

(** What a slice has cost and can cost is not negative. *)
Lemma slices_ge0 a l : (forall h, good (a h)) -> 0 <= sum (slice_total a) l.
Proof.
intros g; apply sum_ge0, Forall_forall; intros x _; unfold slice_total, total.
destruct (costs_ge0 _ (lease x) (g (holder x))) as [c1 c2].
pose proof (sum_ge0 _ _ _ c1); pose proof (sum_ge0 _ _ _ c2).
assert (0 <= sum (can_cost (lease x)) (forgotten (a (holder x)))) as c; [|lia].
apply sum_ge0; eapply Forall_impl; [|exact (good_forgotten _ (g (holder x)))].
intros b [c _]; unfold can_cost; destruct (_ =? _); lia.
Qed.

(** Every deed keeps a fleet sound. *)
Lemma do_sound f d : sound f -> sound (do f d).
Proof.
destruct f as [b k l a m r p], d; intros s; simpl; auto.
- destruct (0 <? amount) eqn:x0; [|exact s]; destruct (amount <=? left _) eqn:x1; [|exact s]; simpl.
  apply Z.ltb_lt in x0; apply Z.leb_le in x1; unfold left in x1; cbn [budget back leased] in x1.
  pose proof (sound_accounts _ s h) as g; simpl in g.
  pose proof (put_sound _ _ _ _ _ _ _ h _ s (turn_keeps _ amount g)) as t.
  destruct s as [sa ss sm so sb su sp s0], t as [ta ts tm to tb tu tp t0]; simpl in *.
  pose proof (proj1 (proj1 (Forall_app _ _ _) ss)) as sl; destruct (rooms _ _ sl) as [ro rp].
  pose proof (room_bound amount) as rb.
  constructor; cbn -[room sum]; auto.
  + constructor; auto; unfold slice_ok, put; simpl; rewrite Z.eqb_refl; simpl; rewrite Z.eqb_refl.
    pose proof (room_ge amount); lia.
  + pose proof (slices_ge0 _ r ta) as z.
    assert (den * sum (slice_total (put a h (turn (a h) amount))) r <= k * (den + num)) by nia.
    assert (amount <= b - k - sum amount_of l) as fits by lia.
    assert (amount * (den + num) <= (b - k - sum amount_of l) * (den + num)) by nia.
    change (den * (room amount + sum (fun x => room (amount_of x)) l
      + sum (slice_total (put a h (turn (a h) amount))) r) <= b * (den + num)); lia.
- pose proof (sound_accounts _ s h) as g; simpl in g.
  pose proof (put_sound _ _ _ _ _ _ _ h _ s (end_keeps _ g)) as t.
  destruct t as [ta ts tm to tb tu tp t0]; constructor; auto.
  constructor; auto; unfold message_ok, accounts, put; rewrite Z.eqb_refl; unfold over.
  split; [right; split; reflexivity | apply (total_counted (a h) g)].
- destruct (nth_error m i) as [[[h n] used]|] eqn:e; [|exact s].
  destruct (find (is_slice h n) l) as [x|] eqn:fx; [|exact s].
  destruct s as [sa ss sm so sb su sp s0]; simpl in *.
  apply nth_error_In in e; rewrite Forall_forall in sm; destruct (sm _ e) as [o t].
  pose proof (find_some _ _ fx) as [_ is]; apply andb_prop in is; destruct is as [i1 i2].
  apply Z.eqb_eq in i1; apply Z.eqb_eq in i2; subst h n.
  apply Forall_app in ss; destruct ss as [sl sr].
  pose proof (Forall_find _ _ _ _ _ sl fx) as sx; destruct sx as [x1 [x2 x3]].
  pose proof (good_total _ (sa (holder x)) (lease x)) as gt.
  pose proof (sum_without _ (fun x => room (amount_of x)) _ _ _ fx) as w.
  assert (forall f : slice -> Z, sum f (x :: r) = f x + sum f r) as sc by reflexivity.
  constructor; cbn [accounts leased returned messages past back budget]; auto.
  + apply Forall_app; split; [apply Forall_without; auto | constructor; [repeat split;
    auto | auto]].
  + rewrite Forall_forall; auto.
  + rewrite sc; unfold slice_total at 1; lia.
  + rewrite sc, w in *; unfold slice_total at 1; cbn beta in *.
    assert (total (a (holder x)) (lease x) <= room (amount_of x)) as tr by lia.
    apply (Z.mul_le_mono_nonneg_l _ _ den) in tr; lia.
- destruct (inner e) eqn:i; [|exact s].
  apply put_sound, act_keeps; auto; exact (sound_accounts _ s h).
- destruct s as [sa ss sm so sb su sp s0]; constructor; simpl in *; auto; try lia.
  constructor; auto; exists l, r; auto.
Qed.

(** What slices have cost is at most their caps. *)
Lemma slices_total a l : (forall h, good (a h)) -> Forall (slice_ok a) l ->
  sum (slice_total a) l <= sum (fun x => room (amount_of x)) l.
Proof.
intros g h; apply sum_le; eapply Forall_impl; [|exact h]; intros x [_ [_ c]].
pose proof (good_total _ (g (holder x)) (lease x)); unfold slice_total; lia.
Qed.

(** Whatever happens, all slices of a period of a shared budget together never cost more than its
    amount and the worst case: in the present period and in all earlier ones. *)
Theorem fleet_kept b ds : 0 <= b -> let f := play ds (fleet_start b) in
  Forall (fun p => den * sum (slice_total (accounts f)) p <= b * (den + num))
    ((leased f ++ returned f) :: past f).
Proof.
intros b0 f.
assert (sound f /\ budget f = b) as [s e].
{ assert (sound (fleet_start b) /\ budget (fleet_start b) = b) as g.
  { split; auto; constructor; simpl; auto; try lia; intros _; apply start_good. }
  unfold f; revert g; generalize (fleet_start b); induction ds as [|d ds IH]; simpl; auto.
  intros g [g1 g2]; apply IH; split; [apply do_sound, g1|].
  rewrite <- g2; destruct g as [b' k l a m r p], d; simpl; auto.
  - destruct (_ && _); reflexivity.
  - destruct (nth_error _ _) as [[[? ?] ?]|]; auto; destruct (find _ _); auto.
  - destruct (inner e); reflexivity. }
rewrite <- e; pose proof (sound_accounts _ s) as sa; constructor.
- pose proof (proj1 (proj1 (Forall_app _ _ _) (sound_slices _ s))) as sl.
  pose proof (slices_total _ _ sa sl); pose proof (sound_sum _ s); rewrite sum_app; nia.
- eapply Forall_impl; [|exact (sound_past _ s)].
  intros p [l [r [-> [k [_ h]]]]]; apply Forall_app in k.
  pose proof (slices_total _ _ sa (proj1 k)); rewrite sum_app; nia.
Qed.
End Steps.
