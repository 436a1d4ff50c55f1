(** No decision is learned from twice, and none inside the window is refused: the memory of
    decisions, as [algorithms/learners/seen.py] and [seen_core.py] have it.

    A decision is a decider, a counter and a time. Times are whole numbers here, floats in the code.
    A code of an outcome is learned or not: which outcome it was plays no role. *)
From Coq Require Import ZArith List Bool Lia.
Import ListNotations.
Open Scope Z_scope.

Definition page_key := (Z * Z)%type.   (* a decider, and the number of a page *)
Definition same_page (x y : page_key) := (fst x =? fst y) && (snd x =? snd y).

Record page := Page {
  its_key : page_key; newest : Z;
  current : bool;            (* [generation] is that of the memory: no file shares it *)
  learned : list Z           (* the counters whose code is not 0 *) }.

Definition entry := (Z * page_key)%type.   (* of the heap: a time, perhaps outdated, and a page *)

Record memory := Memory {
  pages : list page; heap : list entry;       (* [pages], [_oldest] *)
  dropped : option Z;                         (* none: minus infinity *)
  ahead : list page_key; looked : option Z;   (* [_ahead], [_looked] *)
  (* The rest is used in no step, only in what is proved. *)
  history : list (Z * Z);                     (* all that was learned *)
  crowded : bool;                             (* whether a page in the window was dropped *)
  clock : option Z                            (* the latest time of the clock so far *) }.

Inductive event :=
| Learn (decider counter time now : Z)   (* feedback for a decision, by the clock [now] *)
| Freeze                                 (* [freeze]: pages are shared with a file from now on *)
| Reload.                                (* [restore] of what was frozen just before *)

Section Steps.
(** A page has [size] decisions; [span] is the window; [most] and [most_ahead] numbers of pages. *)
Variables (size span skew most most_ahead : Z).

Definition get (k : page_key) (l : list page) := find (fun p => same_page k (its_key p)) l.
Fixpoint remove_page (k : page_key) (l : list page) : list page :=
  match l with
  | [] => []
  | p :: r => if same_page k (its_key p) then remove_page k r else p :: remove_page k r
  end.
Definition store (p : page) (l : list page) := p :: remove_page (its_key p) l.
Definition count {X} (l : list X) := Z.of_nat (length l).
Definition later (x : option Z) (t : Z) := match x with None => t | Some y => Z.max y t end.
Definition below (x : option Z) (t : Z) := match x with None => true | Some y => y <? t end.

(** The order of the heap: by time, then by decider and number. *)
Definition before (x y : entry) :=
  (fst x <? fst y) || ((fst x =? fst y) && ((fst (snd x) <? fst (snd y))
    || ((fst (snd x) =? fst (snd y)) && (snd (snd x) <? snd (snd y))))).

(** The least entry, and the others. *)
Fixpoint pop (l : list entry) : option (entry * list entry) :=
  match l with
  | [] => None
  | x :: r => match pop r with
              | None => Some (x, [])
              | Some (y, s) => if before y x then Some (y, x :: s) else Some (x, r)
              end
  end.

(** [_drop]: pages that are too old, or the oldest if there are too many, in [fuel] turns. *)
Fixpoint drop (fuel : nat) (now : Z) (keep : page_key) (kept : list entry) (m : memory) : memory :=
  let close := Memory (pages m) (kept ++ heap m) (dropped m) (ahead m) (looked m) (history m)
                 (crowded m) (clock m) in
  match fuel, pop (heap m) with
  | S f, Some ((t, k), rest) =>
      let go l h d c kept :=
        drop f now keep kept (Memory l h d (ahead m) (looked m) (history m) c (clock m)) in
      if (t <? now - span) || (most <? count (pages m)) then
        match get k (pages m) with
        | None => go (pages m) rest (dropped m) (crowded m) kept
        | Some p =>
            if same_page k keep then go (pages m) rest (dropped m) (crowded m) ((t, k) :: kept)
            else if t <? newest p
            then go (pages m) ((newest p, k) :: rest) (dropped m) (crowded m) kept
            else go (remove_page k (pages m)) rest (Some (later (dropped m) (newest p)))
                   (crowded m || (now - span <=? newest p)) kept
        end
      else close
  | _, _ => close
  end.

(** [_latest]: the latest time that a decision may have, and what was noted on the way. *)
Definition latest (m : memory) (now : Z) : Z * memory :=
  if count (ahead m) <? most_ahead then (now + span, m)
  else
    let fresh :=
      match looked m with Some l => (l <=? now) && (now <=? l + skew) | None => false end in
    let m := if fresh then m else
      Memory (pages m) (heap m) (dropped m)
        (filter (fun k =>
           match get k (pages m) with Some p => now + skew <? newest p | None =>
             false end) (ahead m)) (Some now) (history m) (crowded m) (clock m) in
    (now + (if most_ahead <=? count (ahead m) then Z.min skew span else span), m).

(** [_page]: a page that may be changed, with a decision of this time on it. *)
Definition make_page (m : memory) (k : page_key) (t now : Z) : memory :=
  let m := match get k (pages m) with
    | Some p => Memory (store (Page k (Z.max (newest p) t) true (learned p)) (pages m)) (heap m)
                  (dropped m) (ahead m) (looked m) (history m) (crowded m) (clock m)
    | None => drop (2 * length (heap m) + 3) now k []
                (Memory (store (Page k t true []) (pages m)) ((t, k) :: heap m) (dropped m)
                   (ahead m) (looked m) (history m) (crowded m) (clock m))
    end in
  if now + skew <? t
  then Memory (pages m) (heap m) (dropped m)
         (if existsb (same_page k) (ahead m) then ahead m else k :: ahead m) (looked m) (history m)
           (crowded m) (clock m)
  else m.

(** Set the code of a decision whose page is there: it is learned from, unless it was before. *)
Definition write (m : memory) (d c t : Z) : memory :=
  let k := (d, c / size) in
  match get k (pages m) with
  | Some p =>
      if existsb (Z.eqb c) (learned p) then
        Memory (store (Page k (Z.max (newest p) t) (current p) (learned p)) (pages m)) (heap m)
          (dropped m) (ahead m) (looked m) (history m) (crowded m) (clock m)
      else
        Memory (store (Page k (Z.max (newest p) t) (current p) (c :: learned p)) (pages m)) (heap m)
          (dropped m) (ahead m) (looked m) ((d, c) :: history m) (crowded m) (clock m)
  | None => m
  end.

(** [find] in the usual case, else [page_of]; then the code is set. *)
Definition learn (m : memory) (d c t now : Z) : memory :=
  let k := (d, c / size) in
  let m := Memory (pages m) (heap m) (dropped m) (ahead m) (looked m) (history m) (crowded m)
             (Some (later (clock m) now)) in
  let usual := match get k (pages m) with
    | Some p => current p && below (dropped m) t && (now - span <=? t)
                && (t <=? now + Z.min skew span)
    | None => false end in
  if usual then write m d c t
  else if below (dropped m) t then
    let '(limit, m) := latest m now in
    if (now - span <=? t) && (t <=? limit) then
      match get k (pages m) with
      | Some p => if current p && (t <=? newest p) then write m d c t
                  else write (make_page m k t now) d c t
      | None => write (make_page m k t now) d c t
      end
    else m
  else m.

Definition step (m : memory) (e : event) : memory :=
  match e with
  | Learn d c t now => learn m d c t now
  | Freeze => Memory (map (fun p => Page (its_key p) (newest p) false (learned p)) (pages m))
                (heap m) (dropped m) (ahead m) (looked m) (history m) (crowded m) (clock m)
  | Reload => Memory (map (fun p => Page (its_key p) (newest p) true (learned p)) (pages m))
                (map (fun p => (newest p, its_key p)) (pages m)) (dropped m)
                (map its_key (pages m)) None (history m) (crowded m) (clock m)
  end.

Definition empty := Memory [] [] None [] None [] false None.
Definition run (es : list event) (m : memory) : memory := fold_left step es m.

(** * What is proved *)

(** Every decision was made at one time. *)
Variable time : Z -> Z -> Z.
Definition dated (e : event) :=
  match e with Learn d c t _ => t = time d c | _ => True end.

(** Keys of pages that are the same are equal. *)
Lemma same_page_eq j k : same_page j k = true -> j = k.
Proof.
destruct j, k; unfold same_page; simpl; intros h; apply andb_prop in h; destruct h as [a b].
apply Z.eqb_eq in a; apply Z.eqb_eq in b; congruence.
Qed.

(** A key is the same as itself. *)
Lemma same_page_refl k : same_page k k = true.
Proof. unfold same_page; rewrite !Z.eqb_refl; reflexivity. Qed.

(** A page that is found is there, under its key. *)
Lemma get_some k l p : get k l = Some p -> In p l /\ its_key p = k.
Proof. intros h; apply find_some in h; destruct h as [i e]; apply same_page_eq in e; auto. Qed.

(** Other pages stay when one is removed. *)
Lemma get_remove j k l : get k (remove_page j l) = if same_page j k then None else get k l.
Proof.
induction l as [|p r IH]; simpl; [destruct (same_page j k); reflexivity|].
destruct (same_page j (its_key p)) eqn:e; rewrite ?IH; simpl; rewrite ?IH.
- apply same_page_eq in e; subst j; destruct (same_page (its_key p) k) eqn:f; auto.
  destruct (same_page k (its_key p)) eqn:g; auto.
  apply same_page_eq in g; subst k; rewrite same_page_refl in f; discriminate.
- destruct (same_page k (its_key p)) eqn:g; auto.
  apply same_page_eq in g; subst k; rewrite e; reflexivity.
Qed.

(** A page that is stored is found, and other pages stay. *)
Lemma get_store k p l : get k (store p l) = if same_page (its_key p) k then Some p else get k l.
Proof.
unfold store, get; simpl; fold (get k (remove_page (its_key p) l)); rewrite get_remove.
destruct (same_page k (its_key p)) eqn:e, (same_page (its_key p) k) eqn:f; auto.
- apply same_page_eq in e; subst k; rewrite same_page_refl in f; discriminate.
- apply same_page_eq in f; subst k; rewrite same_page_refl in e; discriminate.
Qed.

(** What is left after a removal was there. *)
Lemma in_remove p k l : In p (remove_page k l) -> In p l.
Proof.
induction l as [|x r IH]; simpl; auto; destruct (same_page k (its_key x)); simpl; intuition.
Qed.

(** A removal makes no list longer. *)
Lemma count_remove k l : count (remove_page k l) <= count l.
Proof.
unfold count; induction l as [|p r IH]; [simpl; lia|]; cbn [remove_page].
destruct (same_page k (its_key p)); cbn [length]; lia.
Qed.

(** A decision that was learned from is on its page, or not later than what was dropped. *)
Definition covered (m : memory) (d c : Z) :=
  (exists p, get (d, c / size) (pages m) = Some p /\ In c (learned p) /\ time d c <= newest p) \/
  (exists x, dropped m = Some x /\ time d c <= x).

Record sound (m : memory) : Prop := Sound {
  sound_covered : forall d c, In (d, c) (history m) -> covered m d c;
  sound_once : NoDup (history m);
  sound_pages : forall p c, In p (pages m) -> In c (learned p) ->
    In (fst (its_key p), c) (history m);
  sound_window : crowded m = false -> forall x, dropped m = Some x ->
    exists y, clock m = Some y /\ x < y - span }.

(** Dropping pages keeps the memory sound, the page that is to be kept, and what was learned. *)
Lemma drop_sound f : forall now keep kept m y, clock m = Some y -> now <= y -> sound m ->
  let n := drop f now keep kept m in
  sound n /\ get keep (pages n) = get keep (pages m) /\ history n = history m /\ clock n = clock m.
Proof.
assert (forall h a o m, sound m ->
  sound (Memory (pages m) h (dropped m) a o (history m) (crowded m) (clock m))) as heaps.
{ intros h a o m [s1 s2 s3 s4]; constructor; auto. }
induction f as [|f IH]; intros now keep kept m y cy ny s; simpl.
{ split; [apply heaps, s | auto]. }
destruct (pop (heap m)) as [[[t k] rest]|]; [|split; [apply heaps, s | auto]].
destruct (_ || _); [|split; [apply heaps, s | auto]].
destruct (get k (pages m)) as [p|] eqn:g.
- destruct (same_page k keep) eqn:e.
  { apply (IH now keep _ (Memory _ _ _ _ _ _ _ _) y); auto; apply heaps, s. }
  destruct (t <? newest p).
  { apply (IH now keep _ (Memory _ _ _ _ _ _ _ _) y); auto; apply heaps, s. }
  match goal with |- context [drop f now keep kept ?m'] => set (n := m') end.
  assert (sound n) as sn.
  { destruct s as [s1 s2 s3 s4]; constructor; simpl; auto.
    - intros d c h; destruct (s1 d c h) as [[q [q1 [q2 q3]]]|[x [x1 x2]]]; unfold covered; simpl.
      + rewrite get_remove; destruct (same_page k (d, c / size)) eqn:r; [right|left; eauto].
        apply same_page_eq in r; subst k; rewrite g in q1; injection q1 as ->.
        eexists; split; [reflexivity|]; destruct (dropped m); simpl; lia.
      + right; eexists; split; [reflexivity|]; rewrite x1; simpl; lia.
    - intros q c h; apply s3, (in_remove _ _ _ h).
    - intros c x [= <-]; apply orb_false_elim in c; destruct c as [c1 c2].
      rewrite cy; exists y; split; auto; apply Z.leb_gt in c2; specialize (s4 c1).
      destruct (dropped m) as [z|]; simpl; [|lia].
      destruct (s4 z eq_refl) as [y' [cy' l]]; rewrite cy in cy'; injection cy' as ->; lia. }
  destruct (IH now keep kept n y cy ny sn) as [i1 [i2 [i3 i4]]]; split; [exact i1|].
  split; [|auto]; rewrite i2; unfold n; cbn [pages]; rewrite get_remove, e; reflexivity.
- apply (IH now keep _ (Memory _ _ _ _ _ _ _ _) y); auto; apply heaps, s.
Qed.

(** A page in the window is dropped only if there are too many. *)
Lemma drop_crowded f : forall now keep kept m, crowded (drop f now keep kept m) = true ->
  crowded m = true \/ most < count (pages m).
Proof.
induction f as [|f IH]; intros now keep kept m; simpl; auto.
destruct (pop (heap m)) as [[[t k] rest]|]; auto; destruct (_ || _) eqn:o; auto.
destruct (get k (pages m)) as [p|] eqn:g; [|exact (IH _ _ _ (Memory _ _ _ _ _ _ _ _))].
destruct (same_page k keep); [exact (IH _ _ _ (Memory _ _ _ _ _ _ _ _))|].
destruct (Z.ltb_spec t (newest p)); [exact (IH _ _ _ (Memory _ _ _ _ _ _ _ _))|].
intros h; apply IH in h; simpl in h; pose proof (count_remove k (pages m)).
destruct h as [h|h]; [|lia].
apply orb_prop in h; destruct h as [h|h]; auto; right; apply Z.leb_le in h.
apply orb_prop in o; destruct o as [o|o]; apply Z.ltb_lt in o; lia.
Qed.

(** Setting a code keeps the memory sound, unless the decision was forgotten. *)
Lemma write_sound m d c t : sound m -> t = time d c ->
  (forall p, get (d, c / size) (pages m) = Some p -> ~ In c (learned p) -> ~ In (d, c) (history m))
    ->
  sound (write m d c t).
Proof.
intros s -> n; unfold write; destruct (get _ _) as [p|] eqn:g; auto.
destruct (get_some _ _ _ g) as [ip kp]; specialize (n p eq_refl).
destruct s as [s1 s2 s3 s4]; destruct (existsb (Z.eqb c) (learned p)) eqn:e.
- constructor; cbn [pages heap dropped history crowded clock]; auto.
  + intros d' c' h; destruct (s1 d' c' h) as [[q [q1 [q2 q3]]]|x]; [left|right; exact x].
    cbn [pages]; rewrite get_store; cbn [its_key].
    destruct (same_page (d, c / size) (d', c' / size)) eqn:r; [|eauto].
    apply same_page_eq in r; rewrite r in g; rewrite g in q1; injection q1 as ->.
    eexists; split; [reflexivity|]; cbn [learned newest]; split; auto; lia.
  + intros q x [<-|h]; cbn [its_key learned fst]; [|apply s3, (in_remove _ _ _ h)].
    intros h; specialize (s3 p x ip h); rewrite kp in s3; exact s3.
- assert (~ In c (learned p)) as nc.
  { intros h; assert (existsb (Z.eqb c) (learned p) = true) as f; [|congruence].
    apply existsb_exists; exists c; split; auto; apply Z.eqb_refl. }
  constructor; cbn [pages heap dropped history crowded clock]; auto.
  + intros d' c' [h|h].
    * injection h as <- <-; left; cbn [pages]; rewrite get_store; cbn [its_key].
      rewrite same_page_refl; eexists; split; [reflexivity|]; cbn [learned newest].
      split; [left; reflexivity | lia].
    * destruct (s1 d' c' h) as [[q [q1 [q2 q3]]]|x]; [left|right; exact x].
      cbn [pages]; rewrite get_store; cbn [its_key].
      destruct (same_page (d, c / size) (d', c' / size)) eqn:r; [|eauto].
      apply same_page_eq in r; rewrite r in g; rewrite g in q1; injection q1 as ->.
      eexists; split; [reflexivity|]; cbn [learned newest]; split; [right; auto | lia].
  + constructor; auto.
  + intros q x [<-|h]; cbn [its_key learned fst]; [|intros i; right;
    exact (s3 _ _ (in_remove _ _ _ h) i)].
    intros [<-|h]; [left; reflexivity | right; specialize (s3 p x ip h); rewrite kp in s3;
      exact s3].
Qed.

(** A page that may be changed: the memory stays sound, and the page is there. *)
Lemma make_page_sound m k t now y : clock m = Some y -> now <= y -> sound m ->
  let n := make_page m k t now in
  sound n /\ history n = history m /\ clock n = clock m /\
  exists p, get k (pages n) = Some p /\
    learned p = match get k (pages m) with Some q => learned q | None => [] end.
Proof.
intros cy ny s; unfold make_page.
match goal with |- context [if _ then Memory (pages ?x) _ _ _ _ _ _ _ else _] => set (n := x) end.
assert (sound n /\ history n = history m /\ clock n = clock m /\ exists p, get k (pages n) =
  Some p /\
  learned p = match get k (pages m) with Some q => learned q | None => [] end) as r.
{ unfold n; destruct (get k (pages m)) as [q|] eqn:g.
  - destruct (get_some _ _ _ g) as [iq kq]; destruct s as [s1 s2 s3 s4]; split;
    [constructor; auto|].
    + intros d c h; destruct (s1 d c h) as [[p [p1 [p2 p3]]]|x]; [left|right; exact x].
      cbn [pages]; rewrite get_store; cbn [its_key].
      destruct (same_page k (d, c / size)) eqn:r; [|eauto].
      apply same_page_eq in r; subst k; rewrite r, p1 in g || rewrite p1 in g; injection g as ->.
      eexists; split; [reflexivity|]; cbn [learned newest]; split; auto; lia.
    + cbn [pages history]; intros p c [<-|h]; cbn [its_key learned];
      [|apply s3, (in_remove _ _ _ h)].
      intros h; specialize (s3 q c iq h); rewrite kq in s3; exact s3.
    + repeat split; auto; cbn [pages]; rewrite get_store; cbn [its_key]; rewrite same_page_refl;
      eauto.
  - match goal with |- context [drop ?f now k [] ?x] => set (m' := x) end.
    assert (sound m') as sm.
    { destruct s as [s1 s2 s3 s4]; constructor; auto; unfold m'.
      - intros d c h; destruct (s1 d c h) as [[p [p1 [p2 p3]]]|x]; [left|right; exact x].
        cbn [pages]; rewrite get_store; cbn [its_key].
        destruct (same_page k (d, c / size)) eqn:r; [|eauto].
        apply same_page_eq in r; subst k; congruence.
      - cbn [pages history]; intros p c [<-|h]; cbn [its_key learned]; [intros []|].
        apply s3, (in_remove _ _ _ h). }
    destruct (drop_sound (2 * length (heap m) + 3) now k [] m' y cy ny sm) as [i1 [i2 [i3 i4]]].
    split; [exact i1|]; split; [exact i3|]; split; [exact i4|].
    exists (Page k t true []); split; auto; rewrite i2; unfold m'; cbn [pages].
    rewrite get_store; cbn [its_key]; rewrite same_page_refl; reflexivity. }
destruct r as [[r1 r2 r3 r4] [h2 [h3 h4]]]; destruct (now + skew <? t); cbn [pages history clock];
  (split; [constructor; auto | auto]).
Qed.

(** What the memory notes of the future changes nothing else. *)
Lemma latest_keeps m now : let '(_, n) := latest m now in pages n = pages m /\ heap n = heap m /\
  dropped n = dropped m /\ history n = history m /\ crowded n = crowded m /\ clock n = clock m.
Proof.
unfold latest; destruct (_ <? _); [repeat split; reflexivity|].
destruct (match looked m with Some _ => _ | None => _ end); repeat split; reflexivity.
Qed.

(** The latest date is at least the skew ahead of the clock. *)
Lemma latest_far m now : now + Z.min skew span <= fst (latest m now).
Proof.
unfold latest; destruct (_ <? _); simpl; [lia|].
destruct (match looked m with Some _ => _ | None => _ end); destruct (_ <=? _); simpl; lia.
Qed.

(** A decision that is not on its page, and later than what was dropped, was not learned from. *)
Lemma not_learned m d c : sound m -> below (dropped m) (time d c) = true ->
  (forall p, get (d, c / size) (pages m) = Some p -> ~ In c (learned p)) -> ~ In (d, c) (history m).
Proof.
intros s b n h; destruct (sound_covered _ s d c h) as [[p [p1 [p2 _]]]|[x [x1 x2]]].
- exact (n p p1 p2).
- unfold below in b; rewrite x1 in b; apply Z.ltb_lt in b; lia.
Qed.

(** Feedback keeps the memory sound. *)
Lemma learn_sound m d c t now : sound m -> t = time d c -> sound (learn m d c t now).
Proof.
intros s e; unfold learn.
set (m1 := Memory _ _ _ _ _ _ _ (Some (later (clock m) now))).
assert (sound m1) as s1.
{ destruct s as [a b c0 w]; constructor; auto; unfold m1; cbn [crowded dropped clock].
  intros cr x h; destruct (w cr x h) as [y [cy l]]; rewrite cy; eexists; split; [reflexivity|].
  simpl; lia. }
assert (exists y, clock m1 = Some y /\ now <= y) as [y [cy ny]].
{ eexists; split; [reflexivity|]; destruct (clock m); simpl; lia. }
change (pages m) with (pages m1); change (dropped m) with (dropped m1).
clearbody m1.
destruct (match get _ _ with Some _ => _ | None => _ end) eqn:u.
{ apply write_sound; auto; destruct (get _ _) as [p|] eqn:g; [|discriminate].
  repeat (apply andb_prop in u; destruct u as [u ?]).
  intros q [= <-] n; apply not_learned; auto; [congruence|]; intros r; rewrite g; intros [= <-];
    exact n. }
destruct (below (dropped m1) t) eqn:b; auto.
pose proof (latest_keeps m1 now) as k; destruct (latest m1 now) as [limit m2].
destruct k as [k1 [k2 [k3 [k4 [k5 k6]]]]].
assert (sound m2) as s2.
{ destruct s1 as [a b0 c0 w]; constructor; unfold covered; rewrite ?k1, ?k3, ?k4, ?k5, ?k6; auto. }
assert (forall p, get (d, c / size) (pages m2) = Some p -> ~ In c (learned p) ->
  ~ In (d, c) (history m2)) as n.
{ intros p g n; apply not_learned; auto; [rewrite k3; congruence|]; intros r; rewrite g;
  intros [= <-]; exact n. }
rewrite <- k6 in cy; destruct (_ && _); [|exact s2].
assert (sound (write (make_page m2 (d, c / size) t now) d c t)) as w.
{ destruct (make_page_sound m2 (d, c / size) t now y cy ny s2) as [w1 [w2 [_ [p [w3 w4]]]]].
  apply write_sound; auto; intros q g nq; rewrite w2; rewrite w3 in g; injection g as <-.
  rewrite w4 in nq; destruct (get _ (pages m2)) as [r|] eqn:g; [exact (n r eq_refl nq)|].
  apply not_learned; auto; [rewrite k3; congruence | rewrite g; discriminate]. }
destruct (get _ (pages m2)) as [p|] eqn:g; auto; destruct (_ && _); auto.
apply write_sound; auto; intros q h; rewrite g in h; exact (n q h).
Qed.

(** A change of pages that keeps their keys, times and codes is seen by no search. *)
Lemma get_map f k l : (forall p, its_key (f p) = its_key p) -> get k (map f l) =
  option_map f (get k l).
Proof. intros h; induction l as [|p r IH]; simpl; auto; rewrite h; destruct (same_page _ _); auto.
  Qed.

(** Every event keeps the memory sound. *)
Lemma step_sound m e : sound m -> dated e -> sound (step m e).
Proof.
destruct e as [d c t now| |]; simpl; intros s h; [apply learn_sound; auto| |].
all: destruct s as [s1 s2 s3 s4]; constructor; auto.
all: try (intros d c i; destruct (s1 d c i) as [[p [p1 [p2 p3]]]|x]; [left|right; exact x];
  cbn [pages]; rewrite get_map; [rewrite p1; simpl; eauto | reflexivity]).
all: cbn [pages history]; intros p c i; apply in_map_iff in i; destruct i as [q [<- i]];
  exact (s3 q c i).
Qed.

(** The memory is sound after all events. *)
Lemma run_sound es m : sound m -> Forall dated es -> sound (run es m).
Proof. intros s f; revert m s; induction f; simpl; auto; intros m s; apply IHf, step_sound; auto.
  Qed.

(** The first memory is sound. *)
Lemma empty_sound : sound empty.
Proof. constructor; simpl; [intros ? ? [] | constructor | intros ? ? [] | discriminate]. Qed.

(** No decision is learned from twice, whatever the clock does, whatever was dropped. *)
Theorem exactly_once es : Forall dated es -> NoDup (history (run es empty)).
Proof. intros f; apply sound_once, run_sound; [apply empty_sound | exact f]. Qed.

(** Feedback inside the window is learned from, unless it was before, or a page in the window was
    dropped. *)
Theorem none_refused es d c now : Forall dated es -> let m := run es empty in let t := time d c in
  crowded m = false -> ~ In (d, c) (history m) ->
  later (clock m) now - span <= t <= now + Z.min skew span ->
  In (d, c) (history (learn m d c t now)).
Proof.
intros f m t cr ni w; assert (sound m) as s by (apply run_sound; [apply empty_sound | exact f]).
assert (now - span <= t) as low by (destruct (clock m); simpl in *; lia).
assert (below (dropped m) t = true) as b.
{ unfold below; destruct (dropped m) as [x|] eqn:e; auto; apply Z.ltb_lt.
  destruct (sound_window _ s cr x e) as [y [cy l]]; rewrite cy in w; simpl in w; lia. }
assert (forall n p, pages n = pages m -> history n = history m ->
  get (d, c / size) (pages n) = Some p -> In (d, c) (history (write n d c t))) as wr.
{ intros n p np nh g; unfold write; rewrite g.
  destruct (existsb (Z.eqb c) (learned p)) eqn:e; [exfalso|left; reflexivity].
  apply existsb_exists in e; destruct e as [x [i e]]; apply Z.eqb_eq in e; subst x.
  rewrite np in g; destruct (get_some _ _ _ g) as [ip kp].
  pose proof (sound_pages _ s p c ip i) as j; rewrite kp in j; exact (ni j). }
unfold learn; set (m1 := Memory _ _ _ _ _ _ _ (Some (later (clock m) now))).
assert (pages m1 = pages m /\ history m1 = history m /\ dropped m1 = dropped m) as [m1p [m1h m1d]]
  by auto.
assert (exists y, clock m1 = Some y /\ now <= y) as [y [cy ny]].
{ eexists; split; [reflexivity|]; destruct (clock m); simpl; lia. }
assert (sound m1) as s1.
{ destruct s as [a b0 c0 v]; constructor; auto; unfold m1; cbn [crowded dropped clock].
  intros c1 x h; destruct (v c1 x h) as [z [cz l]]; rewrite cz; eexists; split; [reflexivity|];
    simpl; lia. }
change (pages m) with (pages m1); change (dropped m) with (dropped m1); clearbody m1.
destruct (match get _ (pages m1) with Some _ => _ | None => _ end) eqn:u.
{ destruct (get _ (pages m1)) as [p|] eqn:g; [|discriminate]; exact (wr m1 p m1p m1h g). }
rewrite m1d, b; pose proof (latest_keeps m1 now) as k; pose proof (latest_far m1 now) as far.
destruct (latest m1 now) as [limit m2]; destruct k as [k1 [k2 [k3 [k4 [k5 k6]]]]]; simpl in far.
replace ((now - span <=? t) && (t <=? limit)) with true.
2: { symmetry; apply andb_true_intro; split; apply Z.leb_le; lia. }
assert (sound m2) as s2.
{ destruct s1 as [a b0 c0 v]; constructor; unfold covered; rewrite ?k1, ?k3, ?k4, ?k5, ?k6; auto. }
rewrite <- k6 in cy.
assert (In (d, c) (history (write (make_page m2 (d, c / size) t now) d c t))) as mk.
{ destruct (make_page_sound m2 (d, c / size) t now y cy ny s2) as [w1 [w2 [_ [p [w3 w4]]]]].
  unfold write; rewrite w3; destruct (existsb (Z.eqb c) (learned p)) eqn:e; [exfalso|left;
    reflexivity].
  apply existsb_exists in e; destruct e as [x [i e]]; apply Z.eqb_eq in e; subst x.
  rewrite w4 in i; destruct (get _ (pages m2)) as [q|] eqn:g; [|exact i].
  rewrite k1, m1p in g; destruct (get_some _ _ _ g) as [iq kq].
  pose proof (sound_pages _ s q c iq i) as j; rewrite kq in j; exact (ni j). }
destruct (get _ (pages m2)) as [p|] eqn:g; auto; destruct (_ && _); auto.
apply (wr m2 p); congruence.
Qed.

(** A page in the window is dropped only if there is no room for another: [limit] decisions. *)
Theorem room_enough m e : crowded (step m e) = true -> crowded m = true \/ most <= count (pages m).
Proof.
destruct e as [d c t now| |]; simpl; auto; unfold learn.
set (m1 := Memory _ _ _ _ _ _ _ (Some (later (clock m) now))).
assert (forall n, crowded (write n d c t) = crowded n) as cw.
{ intros n; unfold write; destruct (get _ _); auto; destruct (existsb _ _); auto. }
change (crowded m) with (crowded m1); change (pages m) with (pages m1);
  change (dropped m) with (dropped m1).
clearbody m1; destruct (match get _ (pages m1) with Some _ => _ | None => _ end);
  [rewrite cw; auto|].
destruct (below _ _); auto.
pose proof (latest_keeps m1 now) as k; destruct (latest m1 now) as [limit m2].
destruct k as [k1 [k2 [k3 [k4 [k5 k6]]]]]; rewrite <- k5, <- k1.
assert (crowded (make_page m2 (d, c / size) t now) = true -> crowded m2 = true \/ most <=
  count (pages m2)) as mp.
{ unfold make_page; match goal with |- context [if _ then Memory (pages ?x) _ _ _ _ _ _ _ else _] =>
  set (n := x) end.
  intros h; assert (crowded n = true) as cn by (destruct (_ <? _); exact h); clear h; revert cn;
    unfold n.
  destruct (get _ (pages m2)); auto; intros h; apply drop_crowded in h; destruct h as [h|h]; auto;
    right.
  revert h; cbn [pages]; pose proof (count_remove (d, c / size) (pages m2)) as r.
  unfold store, count in *; cbn [length its_key]; lia. }
destruct (_ && _); auto; destruct (get _ (pages m2)); rewrite ?cw; auto.
destruct (_ && _); rewrite ?cw; auto.
Qed.
End Steps.
