(** Appendix A: within an epoch the frequency contexts only enter the running estimate, so they may
    be drawn after everything else. This is the independence of D_e and G_e, without sigma-fields.
    *)
From Crossbandit Require Import FiniteSums Ftrl Concentration.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Defer.
Variables (C I : finType) (nu : C -> R) (pair_law : I -> R) (X Y : Type).
Variables (add : X -> C -> X) (step : Y -> I -> Y) (cost : Y -> R) (Vend : X -> Y -> R).
Hypothesis dnu : dist nu.
Hypothesis dwl : dist pair_law.

(** As the algorithm draws: frequency context and loss side, pair after pair. *)
Fixpoint run (i : nat) (x : X) (y : Y) : R :=
  if i is i'.+1 then cost y + \rsum_c (nu c * \rsum_l (pair_law l * run i' (add x c) (step y l)))
  else Vend x y.
(** The loss side alone, for a frequency block that is known from the start. *)
Fixpoint ideal (i : nat) (x : X) (y : Y) : R :=
  if i is i'.+1 then cost y + \rsum_l (pair_law l * ideal i' x (step y l)) else Vend x y.

(** Two independent averages commute. *)
Lemma Ei_rsum n (f : I -> seq C -> R) :
  Ei nu n (fun s => \rsum_l (pair_law l * f l s)) = \rsum_l (pair_law l * Ei nu n (f l)).
Proof.
elim: n f => [|n IH] f //=.
rewrite (rsum_eqr (G := fun c => \rsum_l (pair_law l * (nu c * Ei nu n (fun s => f l (c :: s)))))).
  by rewrite rsum_exchange; apply: rsum_eqr => l _; rewrite -rsum_mull.
move=> c _; rewrite (IH (fun l s => f l (c :: s))) rsum_mull.
by apply: rsum_eqr => l _; ring.
Qed.

(** The two are equal: the frequency contexts may be drawn first or last. *)
Theorem defer i x y : run i x y = Ei nu i (fun s => ideal i (foldl add x s) y).
Proof.
elim: i x y => [|i IH] x y //=.
have -> : \rsum_c (nu c * \rsum_l (pair_law l * run i (add x c) (step y l)))
  = \rsum_c (nu c * Ei nu i (fun s => \rsum_l (pair_law l * ideal i (foldl add (add x c) s)
    (step y l)))).
  apply: rsum_eqr => c _; congr Rmult.
  by rewrite (Ei_rsum i (fun l s => ideal i (foldl add (add x c) s) (step y l)));
     apply: rsum_eqr => l _; rewrite IH.
rewrite [cost y in LHS](dist_const _ dnu) -rsum_split; apply: rsum_eqr => c _.
rewrite -Rmult_plus_distr_l; congr Rmult.
by rewrite (Ei_add nu i (fun=> cost y)) Ei_const.
Qed.
End Defer.
