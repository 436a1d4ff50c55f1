(** Appendix D: the first two moments of a random denominator (Equations 4 and 5).

    The constants are explicit, and no term exp (-iota) is needed. Clipping from above is enough. *)
From Crossbandit Require Import FiniteSums Exponential Concentration.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Clipping at 2. *)
Definition clip (x : R) := Rmin 2 x.
(** Clipped ratios are at most 2, *)
Lemma clip_le x : clip x <= 2. Proof. exact: Rmin_l. Qed.
(** and positive. *)
Lemma clip_gt0 x : 0 < x -> 0 < clip x. Proof. by move=> x0; apply: Rmin_glb_lt; lra. Qed.

(** What clipping costs, in terms of x = W / u. *)
Lemma clip_cases x : 0 < x -> let phi := 1 - clip (/ x) in
  [/\ phi <= x - 1, (x - 1) - 2 * (x - 1) ^ 2 <= phi & phi ^ 2 <= 4 * (x - 1) ^ 2].
Proof.
move=> x0 /=; have ix := Rinv_0_lt_compat _ x0; have xi : x * / x = 1 by field; lra.
set y := / x in ix xi *; clearbody y.
have e1 : x + y - 2 = y * (x - 1) ^ 2.
  have -> : y * (x - 1) ^ 2 = x * (x * y) - 2 * (x * y) + y by ring.
  by rewrite xi; ring.
have e2 : (1 - y) ^ 2 = y ^ 2 * (x - 1) ^ 2.
  have -> : y ^ 2 * (x - 1) ^ 2 = (x * y - y) ^ 2 by ring.
  by rewrite xi.
have sq := pow2_ge_0 (x - 1).
rewrite /clip /Rmin; case: (Rle_dec 2 y) => h2.
  have x2 : x <= / 2 by nra.
  by split; nra.
split; [nra | nra |].
by rewrite e2; apply: Rmult_le_compat_r => //; nra.
Qed.

Section Moments.
Variables (I : finType) (nu : I -> R) (g : I -> R) (gamma : R) (n : nat).
Hypothesis dnu : dist nu.
Hypothesis g_half : forall i, 0 <= g i <= / 2.
Hypothesis n0 : (0 < n)%N.
Hypothesis gamma_n : 2 / INR n <= gamma.          (* gamma >= 4 / L, where L = 2 n *)

Let w := mu nu g.
Let u := w + gamma.
(** The random denominator and the clipped error phi = 1 - clip (u / W). *)
Definition W (s : seq I) := ssum g s / INR n + 3 / 2 * gamma.
Definition phi (s : seq I) := 1 - clip (u / W s).

(** There is a sample. *)
Lemma nR : 0 < INR n. Proof. by apply: lt_0_INR; apply/ltP. Qed.
(** gamma is positive. *)
Lemma g0 : 0 < gamma. Proof. have := nR => h; have : 0 < 2 / INR n by apply: Rdiv_lt_0_compat; lra.
  lra. Qed.
(** Observation probabilities are not negative. *)
Lemma w_ge0 : 0 <= w.
Proof. by apply: rsum_ge0 => i _; apply: Rmult_le_pos; [exact: (proj1 dnu) | have := g_half i; lra].
  Qed.
(** The population's denominator is positive, *)
Lemma u0 : 0 < u. Proof. by rewrite /u; have := w_ge0; have := g0; lra. Qed.
(** and so are its estimates, *)
Lemma W0 s : 0 < W s.
Proof.
have h : 0 <= ssum g s by elim: s => [|i s IH] /=; [lra | have := g_half i; lra].
have : 0 <= ssum g s / INR n by apply: Rmult_le_pos => //; apply: Rlt_le;
  exact: Rinv_0_lt_compat nR.
by rewrite /W; have := g0; lra.
Qed.

Let x s := W s / u.
(** and their ratio. *)
Lemma x0 s : 0 < x s. Proof. by apply: Rdiv_lt_0_compat; [exact: W0 | exact: u0]. Qed.
(** The other ratio is its inverse. *)
Lemma ux s : u / W s = / x s.
Proof. by have h1 := W0 s; have h2 := u0; rewrite /x; field; split; lra. Qed.

(** The ratio differs from 1 by the error of the sample mean and by gamma. *)
Lemma x_lin s : x s - 1 = / (INR n * u) * (ssum g s - INR n * w) + gamma / (2 * u).
Proof. have h1 := u0; have h2 := nR; rewrite /x /W /u in h1 *; field; split; lra. Qed.

(** The mean and the second moment of W / u - 1. *)
Lemma x_mean : Ei nu n (fun s => x s - 1) = gamma / (2 * u).
Proof.
rewrite (@Ei_ext _ nu n _ (fun s => / (INR n * u) * ssum g s + (gamma / (2 * u) - / (INR n * u) *
  (INR n * w)))).
  by rewrite Ei_add Ei_scale Ei_sum // Ei_const // -/w; ring.
by move=> s; rewrite x_lin; ring.
Qed.

(** Its mean square error. *)
Lemma x_sq : Ei nu n (fun s => (x s - 1) ^ 2) <= w / (2 * INR n * u ^ 2) + gamma ^ 2 / (4 * u ^ 2).
Proof.
have n1 := nR; have v0 := u0.
rewrite (@Ei_ext _ nu n _ (fun s => (/ (INR n * u)) ^ 2 * (ssum g s - INR n * w) ^ 2
  + ((2 * / (INR n * u) * (gamma / (2 * u))) * ssum g s
     + ((gamma / (2 * u)) ^ 2 - 2 * / (INR n * u) * (gamma / (2 * u)) * (INR n * w))))); last first.
  by move=> s; rewrite x_lin; ring.
rewrite Ei_add (Ei_add nu n (fun s => _ * ssum g s) (fun=> _)) !Ei_scale Ei_sum // Ei_const // -/w.
have h := Ei_var_le dnu n g_half; rewrite -/w in h.
have q0 : 0 <= (/ (INR n * u)) ^ 2 by exact: pow2_ge_0.
have := Rmult_le_compat_l _ _ _ q0 h.
have -> : (/ (INR n * u)) ^ 2 * (INR n * (w / 2)) = w / (2 * INR n * u ^ 2) by field; lra.
have -> : gamma ^ 2 / (4 * u ^ 2) = (gamma / (2 * u)) ^ 2 by field; lra.
by lra.
Qed.

(** Equation 4. *)
Theorem equation4_ratio_first : 0 <= Ei nu n phi <= gamma / (2 * u).
Proof.
have n1 := nR; have v0 := u0; have c0 := g0; have w0 := w_ge0.
split; last first.
  rewrite -x_mean; apply: Ei_le => // s; rewrite /phi ux.
  by have [] := clip_cases (x0 s).
apply: (Rle_trans _ (Ei nu n (fun s => (x s - 1) + (- 2) * (x s - 1) ^ 2))); last first.
  apply: Ei_le => // s; rewrite /phi ux; have [_ h _] := clip_cases (x0 s); lra.
rewrite Ei_add Ei_scale x_mean.
suff : 2 * (w / (2 * INR n * u ^ 2) + gamma ^ 2 / (4 * u ^ 2)) <= gamma / (2 * u) by have := x_sq;
  lra.
have -> : 2 * (w / (2 * INR n * u ^ 2) + gamma ^ 2 / (4 * u ^ 2))
  = (w * (2 / INR n) + gamma ^ 2) / (2 * u ^ 2) by field; lra.
have -> : gamma / (2 * u) = (w * gamma + gamma ^ 2) / (2 * u ^ 2) by rewrite /u; field; rewrite -/u;
  lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
by have := Rmult_le_compat_l _ _ _ w0 gamma_n; lra.
Qed.

(** Equation 5, with L = 2 n. *)
Theorem equation5_ratio_second : Ei nu n (fun s => phi s ^ 2) <= 4 * w / (2 * INR n * u ^ 2)
  + gamma ^ 2 / u ^ 2.
Proof.
have n1 := nR; have v0 := u0.
apply: (Rle_trans _ (Ei nu n (fun s => 4 * (x s - 1) ^ 2))).
  by apply: Ei_le => // s; rewrite /phi ux; have [_ _] := clip_cases (x0 s).
rewrite Ei_scale; have := x_sq.
have -> : 4 * w / (2 * INR n * u ^ 2) + gamma ^ 2 / u ^ 2
  = 4 * (w / (2 * INR n * u ^ 2) + gamma ^ 2 / (4 * u ^ 2)) by field; lra.
by lra.
Qed.

(** Equation 5 in the form that is used. *)
Corollary ratio_second_le : Ei nu n (fun s => phi s ^ 2) <= gamma / u.
Proof.
have n1 := nR; have v0 := u0; apply: Rle_trans equation5_ratio_second _.
have -> : 4 * w / (2 * INR n * u ^ 2) + gamma ^ 2 / u ^ 2 = (w * (2 / INR n) + gamma ^ 2)
  / u ^ 2 by field; lra.
have -> : gamma / u = (w * gamma + gamma ^ 2) / u ^ 2 by rewrite /u; field; rewrite -/u; lra.
apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
by have := Rmult_le_compat_l _ _ _ w_ge0 gamma_n; lra.
Qed.

End Moments.
