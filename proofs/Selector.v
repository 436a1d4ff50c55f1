(* The concrete tie-breaking rule: the smallest arm without self-loop of largest mass. *)
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Argmax.
Variables (A : finType) (e : rel A).
Definition selects (sel : (A -> R) -> option A) := forall m, match sel m with
  | Some j => ~~ e j j /\ forall a, ~~ e a a -> m a <= m j
  | None => forall a, e a a
  end.

Lemma special_arm_ok : selects (special_arm e).
Proof.
move=> m; rewrite /special_arm.
pose ok (l : seq A) (best : option A) := match best with
  | Some j => ~~ e j j /\ forall a, a \in l -> ~~ e a a -> m a <= m j
  | None => forall a, a \in l -> e a a end.
suff h l : ok l (foldl (better e m) None l).
  have := h (enum A); rewrite /ok; case: (foldl _ _ _) => [j [nj hj]|hj]; first split=> //.
    by move=> a; apply: hj; rewrite mem_enum.
  by move=> a; apply: hj; rewrite mem_enum.
elim/last_ind: l => [|l x]; first by move=> a; rewrite in_nil.
rewrite foldl_rcons; case: (foldl (better e m) None l) => [j [nj hj]|hj]; rewrite /better /=.
  case ex: (e x x).
    by split=> // a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj//]; rewrite ex.
  rewrite /geb; case: Rle_dec => h; split=> //; rewrite ?ex //.
    by move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj].
  move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|al na]; first by lra.
  by have := hj a al na; lra.
case ex: (e x x).
  by move=> a; rewrite mem_rcons in_cons => /orP[/eqP->|/hj].
split=> [|a]; first by rewrite ex.
by rewrite mem_rcons in_cons => /orP[/eqP-> _|/hj ->] //; lra.
Qed.
End Argmax.
