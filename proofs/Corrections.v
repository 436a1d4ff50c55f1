(** Three steps of the paper that fail as printed, with counterexamples, and what holds instead. *)
From Crossbandit Require Import FiniteSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Lemma 15, sign relations, in one context: [l] is the doubled loss, so it may be as large as 2,
    and then Delta+ <= X + U fails. *)
Lemma lemma15_sign_fails : ~ (forall p pi l : R, 0 <= p <= 1 -> 0 <= pi <= 1 -> 0 <= l <= 2 ->
  Rmax 0 ((p - pi) * l) <= Rmax 0 (p - pi) + (1 - p)).
Proof.
move=> h; have := h (9 / 10) 0 2; have := Rmax_r 0 ((9 / 10 - 0) * 2).
by rewrite (Rmax_right 0 (9 / 10 - 0)); lra.
Qed.

(** With a factor of 2 all three sign relations hold, for every law of the contexts. *)
Section Signs.
Variables (C : finType) (nu p pi l : C -> R).
Hypothesis dnu : dist nu.
Hypothesis p01 : forall c, 0 <= p c <= 1.
Hypothesis pi01 : forall c, 0 <= pi c <= 1.
Hypothesis l02 : forall c, 0 <= l c <= 2.
Let Delta := \rsum_c (nu c * ((p c - pi c) * l c)).
Let drift := \rsum_c (nu c * (p c - pi c)).
Let U := \rsum_c (nu c * (1 - p c)).

(** With a factor of 2, the sign relations of Lemma 15 hold. *)
Lemma lemma15_signs : Rmax 0 Delta <= 2 * (Rmax 0 drift + U) /\ Rmax 0 (- Delta) <=
  2 * U /\ Rmax 0 (- drift) <= U.
Proof.
have n0 := proj1 dnu.
have U0 : 0 <= U by apply: rsum_ge0 => c _; apply: Rmult_le_pos => //; have := p01 c; lra.
have le (f g : C -> R) : (forall c, f c <= g c) -> \rsum_c (nu c * f c) <= \rsum_c (nu c * g c).
  by move=> h; apply: rsum_le => c _; apply: Rmult_le_compat_l.
have h1 : Delta <= 2 * (drift + U).
  rewrite /drift /U -rsum_split rsum_mull.
  rewrite [X in _ <= X](rsum_eqr (G := fun c => nu c * (2 * (1 - pi c)))); last by move=> c _; ring.
  by apply: le => c; have := p01 c; have := pi01 c; have := l02 c; nra.
have h2 : - Delta <= 2 * U.
  rewrite /Delta -rsum_opp /U rsum_mull.
  rewrite [X in X <= _](rsum_eqr (G := fun c => nu c * ((pi c - p c) * l c))); last by move=> c _;
    ring.
  rewrite [X in _ <= X](rsum_eqr (G := fun c => nu c * (2 * (1 - p c)))); last by move=> c _; ring.
  by apply: le => c; have := p01 c; have := pi01 c; have := l02 c; nra.
have h3 : - drift <= U.
  rewrite /drift -rsum_opp [X in X <= _](rsum_eqr (G := fun c => nu c * (pi c - p c)));
    last by move=> c _; ring.
  by apply: le => c; have := pi01 c; lra.
have := Rmax_l 0 drift; have := Rmax_r 0 drift => r1 r2.
by split; [|split]; apply: Rmax_lub; lra.
Qed.
End Signs.

(** Lemma 13, last step: the printed right side sums over all arms, and the special arm's summand is
    not small. With two arms, one context, all mass of the snapshot on the special arm and rho =
    gamma, that arm is observed with probability [w = gamma / 4], its estimate is exact, and [phi]
    is 2/7 however small gamma is. *)
Lemma lemma13_last_step_fails (c : R) : exists gamma, 0 < gamma /\
  let w := / 2 * (gamma / 2) in let phi := 1 - (w + gamma) / (w + 3 / 2 * gamma) in c * gamma < phi
    ^ 2.
Proof.
have a0 := Rabs_pos c; have ac := Rle_abs c.
exists (/ (13 * (1 + Rabs c))); have g0 : 0 < / (13 * (1 + Rabs c)) by apply: Rinv_0_lt_compat; lra.
split=> //=; set g := / _ in g0 *.
have -> : 1 - (/ 2 * (g / 2) + g) / (/ 2 * (g / 2) + 3 / 2 * g) = 2 / 7 by field; lra.
have e : g * (13 * (1 + Rabs c)) = 1 by rewrite /g; field; lra.
by nra.
Qed.

(** Lemma 7: the bound p >= s / 2, which its proof cites, does not bound the odds. Here [s] and [p]
    are the probabilities of the special arm of two, and [1 - s] is that of the other. *)
Lemma lemma7_cited_half_is_not_enough (c gamma : R) : 0 < gamma -> c * gamma < / 2 ->
  exists s p, [/\ 0 <= s <= 1 /\ 0 <= p <= 1, s / 2 <= p, (1 - s) / 2 <=
    1 - p & c * ((1 - s) / 2 + gamma) < 1 - p].
Proof. by move=> g0 cg; exists 1, (/ 2); split; lra. Qed.
