(** One pair of Algorithm 2, averaged over the contexts and over the frequency block: Bias 1 (Lemma
    10), the other biases and the FTRL step together. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Exponential Ftrl Programs KnownLaw Concentration
  RandomDenominators
  Stability Biases FrequencyBlock Retention PairReduction Epochs Snapshots LocalNorms.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** Feeding less to an arm multiplies its weight. *)
Lemma softmax_shift (A : finType) (a0 : A) eta (H y : A -> R) a :
  softmax eta (fun a => H a - y a) a =
  softmax eta H a * exp (eta * y a) / \rsum_i (softmax eta H i * exp (eta * y i)).
Proof.
have n0 := norm_gt0 a0 eta H; have n1 := norm_gt0 a0 eta (fun a => H a - y a).
have ew i : wexp eta (fun a => H a - y a) i = wexp eta H i * exp (eta * y i).
  by rewrite /wexp -exp_plus; congr exp; ring.
have -> : \rsum_i (softmax eta H i * exp (eta * y i)) = norm eta (fun a => H a - y a) / norm eta H.
  rewrite {1}/norm /Rdiv rsum_mulr; apply: rsum_eqr => i _; rewrite ew softmaxE /Rdiv; ring.
by rewrite !softmaxE ew; field; lra.
Qed.

Section OneStep.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis n0 : (0 < n)%N.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis gamma_n : 2 / INR n <= gamma.
Hypothesis rho1 : 0 < rho < 1.
Hypothesis beta4 : 4 * gamma <= beta.
(** [B0] bounds the ideal input of an epoch; the actual one is at most twice as large. *)
Variable B0 : R.
Hypothesis kappa8 : 0 <= eta * B0 <= / 8.
Hypothesis eta_shift : eta * (2 * ((2 + beta) / gamma)) <= 3.
Variables (F F0 : table C A) (j : option A).
(** The invariant of an epoch. *)
Hypothesis inv1 : forall c a, 0 <= F c a - F0 c a <= 2 * B0.
Hypothesis inv2 : forall a, ~~ G a a -> j != Some a -> / 6 <= w nu G eta rho F0 a.
Hypothesis inv3 : forall b, j = Some b -> ~~ G b b.

Local Notation w := (w nu G eta rho F0).
Local Notation u := (u nu G eta gamma rho F0).
Local Notation r_of := (r_of eta rho).
Local Notation pair_law := (pair_law nu eta rho F0).
Local Notation y_ideal := (y_ideal nu G loss eta gamma rho beta F0 j).
Local Notation d := (d loss pi).
Let s c := softmax eta (F0 c).
Let kap := eta * B0.
Let ex4 := exp (4 * kap).

Local Notation regular_sum := (regular_sum nu G eta gamma rho F0 j).
Local Notation away_sum := (away_sum nu G eta gamma rho F0 j).
Local Notation lam := (lam loss).
Local Notation gm := (gm nu G loss eta gamma rho beta F0 j).
Local Notation D := (D gamma beta).
Local Notation graph_bound := (graph_bound G rho).
Let u0 a : 0 < u a. Proof. exact: u_gt0. Qed.
Let w0 a : 0 <= w a. Proof. exact: w_ge0. Qed.
Let ex4_ge1 : 1 <= ex4 <= 5 / 3. Proof. exact: ex4_bd. Qed.

Section Ctx.
Variables (t : nat) (c : C).
(** Lemma 10: the cost of uniform mixing. *)
Lemma lemma10_bias1 (H : table C A) : (forall c a, 0 <= H c a - F0 c a <= 4 * B0) ->
  \rsum_a (q_of eta rho F0 H c a * (d t c a + d t.+1 c a)) <=
  \rsum_a ((softmax eta (H c) a - one (pi c) a) * lam t c a) + 2 * rho.
Proof.
move=> HB; rewrite (lemma8_no_fallback a0 eta0 rho1 kappa8 HB).
have [r0 r1] := r_of_dist a0 eta rho1 H c; have [p0 p1] := softmax_dist a0 eta (H c).
have -> : \rsum_a (r_of H c a * (d t c a + d t.+1 c a)) = \rsum_a (r_of H c a * lam t c a) - lam t c
  (pi c).
  rewrite -[lam t c (pi c) in RHS]Rmult_1_l -r1 rsum_mulr -rsum_sub.
  by apply: rsum_eqr => a _; rewrite /PairReduction.d /LocalNorms.lam; ring.
have -> : \rsum_a ((softmax eta (H c) a - one (pi c) a) * lam t c a)
  = \rsum_a (softmax eta (H c) a * lam t c a) - lam t c (pi c).
  rewrite -(one_sum (lam t c)) -rsum_sub; apply: rsum_eqr => a _; ring.
suff : \rsum_a (r_of H c a * lam t c a) <= \rsum_a (softmax eta (H c) a * lam t c a) + 2
  * rho by lra.
have k0 := card_gt0 a0.
have rE : 2 * rho = \rsum_(a : A) (2 * (rho / INR #|A|)).
  rewrite rsum_const (_ : #|[pred i | _]| = #|A|); last exact: eq_card.
  by field; lra.
rewrite rE -rsum_split; apply: rsum_le => a _; rewrite /Epochs.r_of /mix.
have l2 : 0 <= lam t c a <= 2 by rewrite /LocalNorms.lam; have := loss01 t c a;
  have := loss01 t.+1 c a; lra.
have rk : 0 < rho / INR #|A| by apply: Rdiv_lt_0_compat; lra.
have h1 : 0 <= rho * (softmax eta (H c) a * lam t c a).
  by apply: Rmult_le_pos; [lra | apply: Rmult_le_pos; [exact: p0 | lra]].
have h2 : rho / INR #|A| * lam t c a <= rho / INR #|A| * 2 by apply: Rmult_le_compat_l; lra.
by lra.
Qed.
End Ctx.

(** ** The clipped proxy *)
Definition theta (sq : seq C) a := clip (ratio nu G eta gamma rho n F0 sq a).
(** It lies between 0 and 2. *)
Lemma theta_bd sq a : 0 <= theta sq a <= 2.
Proof.
split; last exact: clip_le.
by apply: Rlt_le; apply: clip_gt0; apply: Rdiv_lt_0_compat; [exact: u0 | exact: W_of_gt0].
Qed.

Section Proxy.
Variables (Y : table C A).
Hypothesis YB : forall c a, 0 <= Y c a <= B0.
(** The proxy and the ideal input, after ideal inputs [Y] that are at most [B0]. *)
Definition proxy sq := scaled F (theta sq) Y.
(** The proxy stays near the snapshot's input. *)
Lemma proxy_bd sq c a : 0 <= proxy sq c a - F0 c a <= 4 * B0.
Proof.
rewrite /proxy /scaled; have h1 := inv1 c a; have h2 := theta_bd sq a; have h3 := YB c a.
have : 0 <= theta sq a * Y c a by apply: Rmult_le_pos; lra.
have : theta sq a * Y c a <= 2 * B0 by apply: Rmult_le_compat; lra.
lra.
Qed.
Let ideal_input : table C A := fun c a => F c a + Y c a.
(** So does the ideal input. *)
Lemma ideal_input_bd c a : 0 <= ideal_input c a - F0 c a <= 4 * B0.
Proof. by rewrite /ideal_input; have h1 := inv1 c a; have h3 := YB c a; lra. Qed.

Let phi sq a := RandomDenominators.phi nu (g G eta rho F0 a) gamma n sq.
(** [phi] is what the clipped ratio lacks to 1. *)
Lemma phi_th sq a : phi sq a = 1 - theta sq a. Proof. by []. Qed.
(** It is at most 1. *)
Lemma phi1 sq a : Rabs (phi sq a) <= 1.
Proof. by apply: Rabs_le; rewrite phi_th; have := theta_bd sq a; lra. Qed.

Variables (t : nat) (c : C).
Let p sq := softmax eta (proxy sq c).
Let pt := softmax eta (ideal_input c).

(** The proxy is the ideal distribution with exponents [eta phi Y]. *)
Lemma p_shift sq : p sq = fun a => pt a * exp (eta * (phi sq a * Y c a)) / \rsum_i
  (pt i * exp (eta * (phi sq i * Y c i))).
Proof.
apply: functional_extensionality => a; rewrite /pt -(softmax_shift a0 eta (ideal_input c) (fun a =>
  phi sq a * Y c a)).
congr (softmax eta _ a); apply: functional_extensionality => a'.
by rewrite /proxy /scaled /ideal_input phi_th; ring.
Qed.

(** What a wrong denominator changes is small. *)
Lemma z_small sq a : Rabs (eta * (phi sq a * Y c a)) <= kap * Rabs (phi sq a).
Proof.
have [G0 G1] := YB c a; rewrite !Rabs_mult (Rabs_pos_eq eta); last by lra.
rewrite (Rabs_pos_eq (Y c a)) // /kap Rmult_assoc; apply: Rmult_le_compat_l; first by lra.
by rewrite Rmult_comm; apply: Rmult_le_compat_r => //; exact: Rabs_pos.
Qed.

Let kS := 3 * gamma + (8 * gamma + 2 / 3 * beta) * kap.
Let kA := beta + (8 / 3 * gamma + 10 / 3 * beta) * kap.
(** Biases 2 to 5 in one context. *)
Lemma lin_mean : Ei nu n (lin j (pi c) p phi (lam t c) w gamma beta) <=
  ex4 * (kS * regular_sum (s c) + kA * away_sum (s c)).
Proof.
have k8 : 0 <= kap <= / 8 := kappa8; have hX := ex4_ge1;
  have dt := softmax_dist a0 eta (ideal_input c).
have l2 a : 0 <= lam t c a <= 2 by rewrite /LocalNorms.lam; have := loss01 t c a;
  have := loss01 t.+1 c a; lra.
have jr sq : \rsum_(a | j != Some a) (Rabs (p sq a - pt a) * Rabs (phi sq a)) <=
    4 / 3 * kap * (3 * Qreg pt (phi sq) j + Qaway pt (phi sq) j).
  by rewrite p_shift; exact: (lemma9_regular j dt k8 (phi1 sq) (z_small sq)).
have js sq i : j = Some i -> Rabs (p sq i - pt i) * Rabs (phi sq i) <=
    4 / 3 * kap * (Qreg pt (phi sq) j / 2 + 3 / 2 * Qaway pt (phi sq) j).
  by move=> ji; rewrite p_shift; exact: (lemma9_special dt k8 (phi1 sq) (z_small sq) ji).
have jc sq i : j = Some i -> Rabs (p sq i - pt i) <= 8 / 3 * kap * (1 - pt i).
  by move=> ji; rewrite p_shift; exact: (lemma9_crude dt k8 (phi1 sq) (z_small sq) ji).
have h := @biases (seq C) (Ei nu n) (@Ei_add _ nu n) (fun a f => Ei_scale nu n a f) (fun f g h =>
  Ei_le dnu n h)
  (Ei_const dnu n) (@Ei_ext _ nu n) A j (pi c) p phi pt (lam t c) w gamma beta kap
  gamma0 beta4 (proj1 k8) w0 l2 (fun sq => softmax_dist a0 eta _) dt
  (fun a => equation4_ratio_first dnu (g_half a0 G eta rho1 F0 a) n0 gamma_n)
  (fun a => ratio_second_le dnu (g_half a0 G eta rho1 F0 a) n0 gamma_n) jr js jc.
apply: Rle_trans h _.
have iu a : 0 < / u a by apply: Rinv_0_lt_compat; exact: u0.
have X1 : regular j w gamma (fun a => Ei nu n (p^~ a)) <= ex4 * regular_sum (s c).
  rewrite /Snapshots.regular_sum /regular rsum_mull; apply: rsum_le => a _; rewrite -/(u a).
  have : Ei nu n (p^~ a) <= ex4 * s c a.
    by rewrite -(Ei_const dnu n (ex4 * s c a)); apply: Ei_le => // sq;
      have [] := lemma8_factor a0 eta0 (proxy_bd sq) c a.
  by move=> le; have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ (iu a)) le; rewrite /Rdiv; lra.
have X2 : regular j w gamma pt <= ex4 * regular_sum (s c) by apply: regular_sum_le => //;
  exact: ideal_input_bd.
have X3 : away j w gamma (fun a => Ei nu n (p^~ a)) <= ex4 * away_sum (s c).
  rewrite /Snapshots.away_sum /away; case: j => [b'|]; last by lra.
  have : 1 - ex4 * (1 - s c b') <= Ei nu n (p^~ b').
    rewrite -(Ei_const dnu n (1 - ex4 * (1 - s c b'))); apply: Ei_le => // sq.
    by have := away_le a0 eta0 (proxy_bd sq) c b'; rewrite -/kap -/ex4 /p -/(s c b'); lra.
  move=> le; have {}le : 1 - Ei nu n (p^~ b') <= ex4 * (1 - s c b') by lra.
  by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ (iu b')) le; rewrite -/(u b') /Rdiv; lra.
have X4 : away j w gamma pt <= ex4 * away_sum (s c) by apply: away_sum_le => //;
  exact: ideal_input_bd.
have c1 : 0 <= gamma + (8 * gamma + 2 / 3 * beta) * kap by nra.
have c2 : 0 <= (8 / 3 * gamma + 10 / 3 * beta) * kap by nra.
have g2 : 0 <= 2 * gamma by lra. have b0 : 0 <= beta by lra.
have y1 := Rmult_le_compat_l _ _ _ g2 X1; have y2 := Rmult_le_compat_l _ _ _ c1 X2.
have y3 := Rmult_le_compat_l _ _ _ b0 X3; have y4 := Rmult_le_compat_l _ _ _ c2 X4.
by rewrite /kS /kA; lra.
Qed.

(** All terms in one context. *)
Lemma one_context : Ei nu n (fun sq => \rsum_a (q_of eta rho F0 (proxy sq) c a * (d t c a + d t.+1 c
  a))
    + \rsum_l (pair_law l * Phi1 eta pi c (fun a => proxy sq c a + theta sq a * y_ideal t l c a)))
      <=
  Ei nu n (fun sq => Phi1 eta pi c (proxy sq c))
    + (2 * rho + ex4 * ((kS + 32 * eta) * regular_sum (s c) + (kA + 2 * eta * D) * away_sum (s c))).
Proof.
have hX := ex4_ge1.
apply: (Rle_trans _ (Ei nu n (fun sq => Phi1 eta pi c (proxy sq c)
    + (lin j (pi c) p phi (lam t c) w gamma beta sq + (2 * rho + ex4 * (2 * eta * (16 * regular_sum
      (s c) + D * away_sum (s c)))))))).
  apply: Ei_le => // sq.
  have h1 := lemma10_bias1 t c (proxy_bd sq); rewrite -/(p sq) in h1.
  have h2 : \rsum_l (pair_law l * Phi1 eta pi c (fun a => proxy sq c a + theta sq a * y_ideal t l c
    a)) <= Phi1 eta pi c (proxy sq c)
      - \rsum_a ((p sq a - one (pi c) a) * (theta sq a * gm t c a)) + 2 * eta
        * (16 * regular_sum (p sq) + D * away_sum (p sq)).
    by apply: ftrl_step => //; exact: theta_bd.
  have h3 : regular_sum (p sq) <= ex4 * regular_sum (s c) by apply: regular_sum_le => //;
    exact: proxy_bd.
  have h4 : away_sum (p sq) <= ex4 * away_sum (s c) by apply: away_sum_le => //; exact: proxy_bd.
  have -> : lin j (pi c) p phi (lam t c) w gamma beta sq =
    \rsum_a ((p sq a - one (pi c) a) * lam t c a) - \rsum_a ((p sq a - one (pi c) a) *
      (theta sq a * gm t c a)).
    rewrite /lin -rsum_sub; apply: rsum_eqr => a _; rewrite phi_th /LocalNorms.gm /Epochs.u; ring.
  have D0 : 0 <= D.
    have : 0 <= 4 * beta ^ 2 / gamma; last by rewrite /LocalNorms.D; lra.
    by apply: Rmult_le_pos; [have := pow2_ge_0 beta;
      lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
  have h5 : 2 * eta * (16 * regular_sum (p sq) + D * away_sum (p sq)) <=
    2 * eta * (ex4 * (16 * regular_sum (s c) + D * away_sum (s c))).
    by apply: Rmult_le_compat_l; [lra | have := Rmult_le_compat_l _ _ _ D0 h4; lra].
  lra.
rewrite Ei_add (Ei_add nu n (lin _ _ _ _ _ _ _ _)) Ei_const //.
by have := lin_mean; lra.
Qed.
End Proxy.

Let kS := 3 * gamma + (8 * gamma + 2 / 3 * beta) * kap.
Let kA := beta + (8 / 3 * gamma + 10 / 3 * beta) * kap.
(** The cost of a pair; it is [pair_cost] of Statement. *)
Definition pair_bound := 2 * rho + ex4 / (1 - rho) * ((kS + 32 * eta) * graph_bound + 2 *
  (kA + 2 * eta * D)).

(** One pair, averaged over contexts. *)
Theorem one_pair t Y : (forall c a, 0 <= Y c a <= B0) ->
  Ei nu n (fun sq => pair_regret nu loss eta rho pi F0 t (scaled F (theta sq) Y)
     + \rsum_l (pair_law l * Phi nu eta pi (scaled F (theta sq) (fun c a => Y c a + y_ideal t l c
       a)))) <=
  Ei nu n (fun sq => Phi nu eta pi (scaled F (theta sq) Y)) + pair_bound.
Proof.
move=> YB; have [nn n1] := dnu; have hX := ex4_ge1.
pose V c sq := \rsum_a (q_of eta rho F0 (proxy Y sq) c a * (d t c a + d t.+1 c a))
    + \rsum_l (pair_law l * Phi1 eta pi c (fun a => proxy Y sq c a + theta sq a * y_ideal t l c a)).
rewrite (Ei_ext nu n (g := fun sq => \rsum_c (nu c * V c sq))); last first.
  move=> sq; rewrite (rsum_eqr (G := fun c => nu c * \rsum_a (q_of eta rho F0 (proxy Y sq) c a *
    (d t c a + d t.+1 c a))
    + \rsum_l (pair_law l * (nu c * Phi1 eta pi c (fun a => proxy Y sq c a + theta sq a * y_ideal t
      l c a))))); last first.
    move=> c _; rewrite /V Rmult_plus_distr_l; congr Rplus; rewrite rsum_mull;
      apply: rsum_eqr => l _; ring.
  rewrite rsum_split; congr Rplus; rewrite rsum_exchange; apply: rsum_eqr => l _.
  rewrite -rsum_mull; congr Rmult; apply: rsum_eqr => c _; congr (_ * Phi1 eta pi c _).
  by apply: functional_extensionality => a; rewrite /proxy /scaled; ring.
rewrite (Ei_rsum nu nu n V).
rewrite (Ei_ext nu n (g := fun sq => \rsum_c (nu c * Phi1 eta pi c (proxy Y sq c)))
   (f := fun sq => Phi nu eta pi (scaled F (theta sq) Y))); last by [].
rewrite (Ei_rsum nu nu n (fun c sq => Phi1 eta pi c (proxy Y sq c))).
pose kS' := ex4 * (kS + 32 * eta); pose kA' := ex4 * (kA + 2 * eta * D).
apply: (Rle_trans _ (\rsum_c (nu c * (Ei nu n (fun sq => Phi1 eta pi c (proxy Y sq c))
    + (2 * rho + ex4 * ((kS + 32 * eta) * regular_sum (s c) + (kA + 2 * eta * D) * away_sum
      (s c))))))).
  by apply: rsum_le => c _; apply: Rmult_le_compat_l => //; exact: one_context.
rewrite (rsum_eqr (G := fun c => nu c * Ei nu n (fun sq => Phi1 eta pi c (proxy Y sq c)) +
  (nu c * (2 * rho)
  + (kS' * (nu c * regular_sum (s c)) + kA' * (nu c * away_sum (s c)))))); last by move=> c _;
    rewrite /kS' /kA'; ring.
rewrite !rsum_split -!rsum_mull -rsum_mulr n1.
have D0 : 0 <= D.
  have : 0 <= 4 * beta ^ 2 / gamma; last by rewrite /LocalNorms.D; lra.
  by apply: Rmult_le_pos; [have := pow2_ge_0 beta; lra | exact: Rlt_le (Rinv_0_lt_compat _ gamma0)].
have k0 : 0 <= kap := proj1 kappa8.
have p1 : 0 <= kS' by apply: Rmult_le_pos; [lra | rewrite /kS; nra].
have p2 : 0 <= kA' by apply: Rmult_le_pos; [lra | have := Rmult_le_pos _ _ (Rlt_le _ _ eta0) D0;
  rewrite /kA; nra].
have sm : \rsum_c (nu c * regular_sum (s c)) <= graph_bound / (1 - rho) by apply:
  graph_sum_snapshot.
have am : \rsum_c (nu c * away_sum (s c)) <= 2 / (1 - rho) by apply: lemma7_snapshot.
have h1 := Rmult_le_compat_l _ _ _ p1 sm; have h2 := Rmult_le_compat_l _ _ _ p2 am.
have -> : pair_bound = 2 * rho + (kS' * (graph_bound / (1 - rho)) + kA' * (2 / (1 - rho)))
  by rewrite /pair_bound /kS' /kA'; field; lra.
lra.
Qed.
End OneStep.
