(** Appendix C: the good events, the stopped and clipped proxy, and the inequality of one epoch.

    A stopped proxy is the value [stopped] of a path: the costs up to the first pair at which the
    ideal input exceeds [B0], and then the potential. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Exponential Selector Ftrl GraphInverse Programs KnownLaw
  Concentration
  RandomDenominators FrequencyBlock Retention PairReduction Epochs Snapshots LocalNorms OnePair.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** One more term of a sum over a list. *)
Lemma ssum_cons (I : finType) (f : I -> R) i s : ssum f (i :: s) = f i + ssum f s.
Proof. by []. Qed.

Section Events.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A) (iota : R).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable G.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis n0 : (0 < n)%N.
Hypothesis eta0 : 0 < eta.
Hypothesis gamma0 : 0 < gamma.
Hypothesis rho1 : 0 < rho < 1.
Hypothesis beta4 : 4 * gamma <= beta.
Hypothesis iota1 : 1 <= iota.
Hypothesis iota_gamma : iota <= 2 * (INR n * gamma).
Hypothesis n_gamma : 2 <= INR n * gamma.
Hypothesis iota_n : 36 * iota <= INR n.
(** The bound on the ideal input of an epoch, B_e in the paper. *)
Definition B0 := (2 * iota + INR n * beta) / gamma.
Hypothesis kappa_le : eta * B0 <= / 8.

Let nR : 0 < INR n. Proof. by apply: lt_0_INR; apply/ltP. Qed.
Let ig : 0 < / gamma. Proof. exact: Rinv_0_lt_compat. Qed.
(** Consequences of the conditions on the parameters. *)
Lemma gamma_n : 2 / INR n <= gamma.
Proof. by apply: (Rmult_le_reg_r (INR n)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra. Qed.
(** [B0] is at least (2 + beta) / gamma, and at least 4 n. *)
Lemma B0_ge : 2 + beta <= B0 * gamma /\ 4 * INR n <= B0.
Proof.
have Bg : B0 * gamma = 2 * iota + INR n * beta by rewrite /B0; field; lra.
have n1 : 1 <= INR n by lra.
rewrite Bg; split; first by nra.
by apply: (Rmult_le_reg_r gamma) => //; rewrite Bg; nra.
Qed.
(** It is small in units of the learning rate, *)
Lemma kappa8 : 0 <= eta * B0 <= / 8.
Proof. by have [_ h] := B0_ge; split=> //; apply: Rmult_le_pos; lra. Qed.
(** and so are the inputs of a pair. *)
Lemma eta_shift : eta * (2 * ((2 + beta) / gamma)) <= 3.
Proof.
have [h _] := B0_ge; have : (2 + beta) / gamma <= B0.
  by apply: (Rmult_le_reg_r gamma) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
by move=> le; have := Rmult_le_compat_l _ _ _ (Rlt_le _ _ eta0) le; lra.
Qed.

Local Notation pair_bound := (pair_bound G eta gamma rho beta B0).
Local Notation Phi := (Phi nu eta pi).
Local Notation r_of := (r_of eta rho).
Local Notation pair_regret := (pair_regret nu loss eta rho pi).
Local Notation epoch_value := (epoch_value nu G loss eta gamma rho beta n pi).

(** The invariant of an epoch: since the snapshot little was fed, and the special arm was well
    chosen. *)
Definition inv (F F0 : table C A) (j : option A) :=
  (forall c a, 0 <= F c a - F0 c a <= 2 * B0) /\
  (forall a, ~~ G a a -> j != Some a -> / 6 <= w nu G eta rho F0 a) /\
  (forall b, j = Some b -> ~~ G b b).

(** All costs are non-negative. *)
Lemma graph_sum_ge0 : 0 <= graph_sum (INR #|A|) (INR (alpha G)) (mutual G) rho.
Proof.
rewrite /graph_sum; case: (mutual G); first exact: pos_INR.
have K1 : 1 <= INR #|A|.
  by rewrite (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; exists a0.
apply: Rmin_glb; first by lra.
have ln0 : 0 <= ln (INR #|A| / rho).
  rewrite -ln_1; apply: ln_mono; first by lra.
  apply: (Rmult_le_reg_r rho); first by lra.
  by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
by have := alpha_ge1 a0 G; nra.
Qed.

(** The bound of a pair is not negative. *)
Lemma pair_bound_ge0 : 0 <= pair_bound.
Proof.
have g0 := graph_sum_ge0; have [k0 _] := kappa8; rewrite /OnePair.pair_bound /graph_bound /D.
have d0 : 0 <= 4 * beta ^ 2 / gamma by apply: Rmult_le_pos; [have := pow2_ge_0 beta | ]; lra.
have x0 : 0 <= exp (4 * (eta * B0)) / (1 - rho).
  by apply: Rmult_le_pos; [exact: Rlt_le (exp_pos _) | apply: Rlt_le; apply: Rinv_0_lt_compat; lra].
have e0 : 0 <= eta * (16 * (1 + beta) + 4 * beta ^ 2 / gamma) by apply: Rmult_le_pos; lra.
have bk : 0 <= beta * (eta * B0) by apply: Rmult_le_pos; lra.
have gk : 0 <= gamma * (eta * B0) by apply: Rmult_le_pos; lra.
cbv zeta; apply: Rplus_le_le_0_compat; first by lra.
apply: Rmult_le_pos => //; apply: Rplus_le_le_0_compat; last by lra.
by apply: Rmult_le_pos; lra.
Qed.

(** A pair costs between -2 and 2. *)
Lemma pair_regret_bd F0 t H : -2 <= pair_regret F0 t H <= 2.
Proof.
have [nn n1] := dnu.
have dq c : dist (q_of eta rho F0 H c) by rewrite /q_of; case: ifP => _; exact: r_of_dist.
have dd t' c a : -1 <= d loss pi t' c a <= 1.
  by rewrite /d; have := loss01 t' c a; have := loss01 t' c (pi c); lra.
have -> : -2 = \rsum_c (nu c * -2) by rewrite -rsum_mulr n1; ring.
have -> : 2 = \rsum_c (nu c * 2) by rewrite -rsum_mulr n1; ring.
split; apply: rsum_le => c _; apply: Rmult_le_compat_l => //; have [q0 q1] := dq c.
  have -> : -2 = \rsum_a (q_of eta rho F0 H c a * -2) by rewrite -rsum_mulr q1; ring.
  by apply: rsum_le => a _; apply: Rmult_le_compat_l => //; have := dd t c a; have := dd t.+1 c a;
    lra.
have -> : 2 = \rsum_a (q_of eta rho F0 H c a * 2) by rewrite -rsum_mulr q1; ring.
by apply: rsum_le => a _; apply: Rmult_le_compat_l => //; have := dd t c a; have := dd t.+1 c a;
  lra.
Qed.

(** The potential is not negative. *)
Lemma Phi_ge0 (H : table C A) : 0 <= Phi H.
Proof. by apply: rsum_ge0 => c _; apply: Rmult_le_pos; [exact: (proj1 dnu) | exact: Phi1_ge0]. Qed.

Section OneEpoch.
Variables (F F0 : table C A) (j : option A).
Hypothesis hinv : inv F F0 j.
Local Notation pair_law := (pair_law nu eta rho F0).
Local Notation y_ideal := (y_ideal nu G loss eta gamma rho beta F0 j).
Local Notation ideal_step := (ideal_step nu G loss eta gamma rho beta n F F0 j).
Local Notation theta := (theta nu G eta gamma rho n F0).
Local Notation ratio := (ratio nu G eta gamma rho n F0).
Local Notation u := (u nu G eta gamma rho F0).
Local Notation w := (w nu G eta rho F0).
Let dwl : dist pair_law := pair_law_dist a0 eta dnu rho1 F0.

(** The ideal input is still below [B0]. *)
Definition okY (Y : table C A) : bool := [forall c, [forall a, geb B0 (Y c a)]].
(** The Boolean test says that all ideal inputs are at most [B0]. *)
Lemma okYP Y : reflect (forall c a, Y c a <= B0) (okY Y).
Proof.
apply: (iffP forallP) => [h c a|h c].
  by have /forallP /(_ a) := h c; rewrite /geb; case: Rle_dec.
by apply/forallP => a; rewrite /geb; case: Rle_dec => // h'; exfalso; apply: h'; exact: h.
Qed.

(** The stopped proxy. *)
Fixpoint stopped (sq : seq C) (y : ystate C A) (ls : seq (draw C A)) : R :=
  let '(t, Y, mh) := y in
  if okY Y then (if ls is l :: ls' then pair_regret F0 t (scaled F (theta sq) Y) + stopped sq
    (ideal_step y l) ls'
                 else Phi (scaled F (theta sq) Y))
  else Phi (scaled F (theta sq) Y).

(** Ideal inputs are not negative. *)
Lemma y_ideal_ge0 t l c a : 0 <= y_ideal t l c a.
Proof.
have h := y_ideal_bd G eta dnu loss01 gamma0 rho1 beta4 F0 j t c l a.
by case: h.
Qed.

(** It costs at most [pair_bound] for each pair. *)
Lemma stopped_mean i t Y mh : (forall c a, 0 <= Y c a) ->
  Ei nu n (fun sq => Ei pair_law i (stopped sq (t, Y, mh))) <=
  Ei nu n (fun sq => Phi (scaled F (theta sq) Y)) + INR i * pair_bound.
Proof.
have B0' := pair_bound_ge0; have [inv1 [inv2 inv3]] := hinv.
elim: i t Y mh => [|i IH] t Y mh G0.
  by rewrite /INR Rmult_0_l Rplus_0_r; apply: Ei_le => // sq /=; case: ifP => _; lra.
case ok: (okY Y); last first.
  have -> : Ei nu n (fun sq => Ei pair_law i.+1 (stopped sq (t, Y, mh))) = Ei nu n (fun sq =>
    Phi (scaled F (theta sq) Y)).
    apply: Ei_ext => sq; rewrite -[RHS](Ei_const dwl i.+1); apply: Ei_ext => ls.
    by case: ls => [|l ls] /=; rewrite ok.
  by have := Rmult_le_pos _ _ (pos_INR i.+1) B0'; lra.
pose V l sq := Ei pair_law i (stopped sq (ideal_step (t, Y, mh) l)).
have -> : Ei nu n (fun sq => Ei pair_law i.+1 (stopped sq (t, Y, mh))) =
  Ei nu n (fun sq => pair_regret F0 t (scaled F (theta sq) Y)) + \rsum_l (pair_law l * Ei nu n
    (V l)).
  rewrite -(Ei_rsum nu pair_law n V) -Ei_add; apply: Ei_ext => sq /=.
  rewrite [pair_regret _ _ _ in RHS](dist_const _ dwl) -rsum_split; apply: rsum_eqr => l _.
  by rewrite ok (Ei_add pair_law i (fun=> _)) Ei_const //; rewrite /V /=; ring.
have YB c a : 0 <= Y c a <= B0 by split=> //; exact: (okYP _ ok).
have hs := one_pair a0 pi dnu so loss01 n0 eta0 gamma0 gamma_n rho1 beta4 kappa8 eta_shift inv1 inv2
  inv3 t YB.
rewrite Ei_add (Ei_rsum nu pair_law n (fun l sq => Phi (scaled F (theta sq) (fun c a =>
  Y c a + y_ideal t l c a)))) in hs.
have : \rsum_l (pair_law l * Ei nu n (V l)) <= \rsum_l (pair_law l * Ei nu n (fun sq =>
  Phi (scaled F (theta sq)
   (fun c a => Y c a + y_ideal t l c a)))) + INR i * pair_bound.
  rewrite [INR i * pair_bound](dist_const _ dwl) -rsum_split; apply: rsum_le => l _.
  rewrite -Rmult_plus_distr_l; apply: Rmult_le_compat_l; first exact: (proj1 dwl).
  by apply: IH => c a; have := G0 c a; have := y_ideal_ge0 t l c a; lra.
by rewrite S_INR; lra.
Qed.

(** It is never below -2 for each pair. *)
Lemma stopped_ge sq y ls : - (2 * INR (size ls)) <= stopped sq y ls.
Proof.
elim: ls y => [|l ls IH] [[t Y] mh].
  by rewrite /= /INR; case: ifP => _; have := Phi_ge0 (scaled F (theta sq) Y); lra.
rewrite [stopped _ _ _]/= -[size _]/((size ls).+1) S_INR; case: ifP => _.
  by have := IH (ideal_step (t, Y, mh) l); have := pair_regret_bd F0 t (scaled F (theta sq) Y);
    rewrite /=; lra.
by have := Phi_ge0 (scaled F (theta sq) Y); have := pos_INR (size ls); lra.
Qed.

Section Path.
Variables (k ep : nat).
Local Notation ideal_cost th := (ideal_cost nu loss eta rho pi F F0 th).
Local Notation ideal_end th := (ideal_end nu G loss eta gamma rho beta n pi F th k ep).

(** A real path never costs more than 2 for each pair and 1 for each later round. *)
Lemma path_hi th y ls : pathv ideal_step (ideal_cost th) (ideal_end th) y ls <= 2 * INR (size ls)
  + INR (2 * n * k).
Proof.
elim: ls y => [|l ls IH] [[t Y] mh].
  by rewrite /=; have := epoch_value_le a0 G eta gamma beta n pi dnu rho1 loss01 k ep.+1 t
    (scaled F th Y) F (special_arm G mh); rewrite /INR; lra.
rewrite [pathv _ _ _ _ _]/= -[size _]/((size ls).+1) S_INR.
by have := IH (ideal_step (t, Y, mh) l); have := pair_regret_bd F0 t (scaled F th Y); rewrite /=;
  lra.
Qed.

(** The state at the end of a path. *)
Definition final (y : ystate C A) ls := foldl ideal_step y ls.

(** So what was fed only grows. *)
Lemma Y_mono ls y c a : y.1.2 c a <= (final y ls).1.2 c a.
Proof.
elim: ls y => [|l ls IH] y; first exact: Rle_refl.
apply: Rle_trans (IH (ideal_step y l)); case: y => [[t Y] mh] /=; have := y_ideal_ge0 t l c a; lra.
Qed.

(** If the input stays below [B0], the proxy never stops and equals the real path. *)
Lemma path_stopped rest sq ls y : 0 <= rest ->
  okY (final y ls).1.2 -> ideal_end (theta sq) (final y ls) <=
    Phi (scaled F (theta sq) (final y ls).1.2) + rest ->
  pathv ideal_step (ideal_cost (theta sq)) (ideal_end (theta sq)) y ls <= stopped sq y ls + rest.
Proof.
move=> r0; elim: ls y => [|l ls IH] y ok ge.
  by move: ok ge; rewrite /final; case: y => [[t Y] mh] /= ->.
have ok1 : okY y.1.2.
  apply/okYP => c a; apply: Rle_trans (Y_mono (l :: ls) y c a) _; exact: (okYP _ ok).
have := IH (ideal_step y l) ok ge; move: ok1; case: y {ok ge} => [[t Y] mh] /= -> h.
lra.
Qed.

(** Arm [a] is observed. *)
Definition obs a (l : draw C A) : R := if kept l && G (arm l) a then 1 else 0.
Let b a := if j == Some a then beta else 0.

(** What the epoch fed, and what the selector sees. *)
Lemma final_Y ls y c a : (final y ls).1.2 c a <= y.1.2 c a + (2 * ssum (obs a) ls + INR (size ls) *
  b a) / u a.
Proof.
have ua : 0 < u a by apply: u_gt0.
have iu := Rinv_0_lt_compat _ ua.
elim: ls y => [|l ls IH] y; first by rewrite /= /INR /Rdiv; lra.
apply: Rle_trans (IH (ideal_step y l)) _; case: y => [[t Y] mh]; rewrite /= S_INR.
have : y_ideal t l c a <= (2 * obs a l + b a) / u a.
  apply: Rmult_le_compat_r; first by lra.
  by rewrite -/(b a) /obs; have := loss01 (round_of l t) c a; case: ifP => _; lra.
have -> : (2 * (obs a l + ssum (obs a) ls) + (INR (size ls) + 1) * b a) / u a
  = (2 * ssum (obs a) ls + INR (size ls) * b a) / u a + (2 * obs a l + b a) / u a by field; lra.
by lra.
Qed.

(** The estimated mass at the end of an epoch. *)
Lemma final_m ls y a : (final y ls).2 a = y.2 a + ssum (fun l => r_of F (ctx l) a) ls / INR n.
Proof.
elim: ls y => [|l ls IH] y; first by rewrite /= /Rdiv; ring.
rewrite [final _ _]/= -/(final (ideal_step y l) ls) IH; case: y => [[t Y] mh] /=;
  rewrite /add_mass mult_INR (_ : INR 2 = 2); last by rewrite /INR; lra.
by field; lra.
Qed.

(** ** The three events *)
(** Frequency event: no denominator is below half of its target. *)
Definition badF (sq : seq C) := [exists a, geb (INR n * mu nu (g G eta rho F0 a) / 2 - iota / 2)
  (ssum (g G eta rho F0 a) sq)].
(** Loss event: no arm is observed much more often than expected. *)
Definition badL (ls : seq (draw C A)) := [exists a, geb (ssum (obs a) ls)
  (2 * (INR n * mu pair_law (obs a)) + iota / 1)].
Let mm := KnownLaw.m nu eta rho F.
(** Selector event: only an arm without self-loop that has mass above 2/3 can be missed, and it is
    not. *)
Definition heavy a := ~~ G a a && ~~ geb (2 / 3) (mm a).
Definition loss_m a (l : draw C A) := 1 - r_of F (ctx l) a.
(** The selector event fails. *)
Definition badS (ls : seq (draw C A)) := if [pick a | heavy a] is Some a then
  geb (ssum (loss_m a) ls) (4 / 3 * (INR n * mu pair_law (loss_m a)) + iota / / 2) else false.

(** Mixed policies are probabilities. *)
Lemma r_of01 (H : table C A) c a : 0 <= r_of H c a <= 1.
Proof. by have [r0 r1] := r_of_dist a0 eta rho1 H c; split=> //; rewrite -r1;
  apply: (rsum_ge1 (P := xpredT)). Qed.

(** The probabilities of the three failures. *)
Lemma P_F : Pr nu n badF <= INR #|A| * exp (- iota).
Proof. by apply: union_bound => // a; apply: chernoff_lo => // c; exact: g_half. Qed.

(** The loss event fails rarely. *)
Lemma P_L : Pr pair_law n badL <= INR #|A| * exp (- iota).
Proof.
apply: union_bound => // a; apply: chernoff_up => //; [|lra|have := exp1_ub; lra].
by move=> l; rewrite /obs; case: ifP => _; lra.
Qed.

(** The event of the selector fails rarely, too. *)
Lemma P_S : Pr pair_law n badS <= exp (- iota).
Proof.
rewrite /badS; case: pickP => [a _|_]; last by rewrite /Pr Ei_const //; exact: Rlt_le (exp_pos _).
apply: chernoff_up => //; [|lra|have := exp_half; lra].
by move=> l; rewrite /loss_m; have := r_of01 F (ctx l) a; lra.
Qed.

(** On the frequency event, clipping does nothing. *)
Lemma good_F sq : ~~ badF sq -> theta sq = ratio sq.
Proof.
rewrite /badF negb_exists => /forallP h.
apply: functional_extensionality => a.
have {}h : INR n * w a / 2 - iota / 2 < ssum (g G eta rho F0 a) sq.
  by have := h a; rewrite /geb; case: Rle_dec => // h' _; apply: Rnot_le_lt.
have W0 : 0 < W_of G eta gamma rho n F0 sq a by apply: W_of_gt0.
have nW : INR n * W_of G eta gamma rho n F0 sq a = ssum (g G eta rho F0 a) sq + 3 / 2
  * (INR n * gamma).
  by rewrite /W_of /RandomDenominators.W; field; lra.
have W2 : u a <= 2 * W_of G eta gamma rho n F0 sq a.
  apply: (Rmult_le_reg_l (INR n)) => //.
  have -> : INR n * (2 * W_of G eta gamma rho n F0 sq a) = 2 * (INR n * W_of G eta gamma rho n F0 sq
    a) by ring.
  by rewrite nW /Epochs.u; lra.
rewrite /OnePair.theta /clip Rmin_right //.
by apply: (Rmult_le_reg_r (W_of G eta gamma rho n F0 sq a)) => //;
  rewrite /ratio /Rdiv Rmult_assoc Rinv_l; lra.
Qed.

(** The mean of an observation is its probability. *)
Lemma mu_obs a : mu pair_law (obs a) = w a.
Proof.
rewrite /mu /ip (obs_mean nu G eta rho F0 a (fun=> 1)); last by field.
Qed.

(** On the loss event, the ideal input stays below [B0]. *)
Lemma good_L t ls : size ls = n -> ~~ badL ls -> okY (final (t, fun _ _ => 0, fun=> 0) ls).1.2.
Proof.
rewrite /badL negb_exists => sz /forallP h; apply/okYP => c a.
apply: Rle_trans (final_Y ls _ c a) _; rewrite /= Rplus_0_l sz.
have {}h : ssum (obs a) ls < 2 * (INR n * w a) + iota.
  have i1 : iota / 1 = iota by field.
  by have := h a; rewrite mu_obs i1 /geb; case: Rle_dec => // h' _; apply: Rnot_le_lt.
have ua : 0 < u a by apply: u_gt0.
apply: (Rmult_le_reg_r (u a)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last by lra.
have wa : 0 <= w a by apply: w_ge0.
have ba : 0 <= b a <= beta by rewrite /b; case: ifP => _; lra.
have nb : INR n * b a <= INR n * beta by apply: Rmult_le_compat_l; lra.
have -> : B0 * u a = B0 * w a + (2 * iota + INR n * beta) by rewrite /Epochs.u Rmult_plus_distr_l
  {2}/B0; field; lra.
by have [_ B4] := B0_ge; have := Rmult_le_compat_r _ _ _ wa B4; lra.
Qed.

(** An arm without self-loop is observed if another one is played. *)
Lemma w_m a : ~~ G a a -> Epochs.w nu G eta rho F a = (1 - mm a) / 2.
Proof. by move=> na; have := w_noself a0 eta dnu so rho1 F na; rewrite w_known -/mm; lra. Qed.

(** The mean of what the selector counts. *)
Lemma mu_loss_m a : mu pair_law (loss_m a) = 1 - mm a.
Proof.
have [_ n1] := dnu.
rewrite /mu /ip pair_law_sum -[X in _ = X - _]n1 /mm /KnownLaw.m -rsum_sub; apply: rsum_eqr => c _.
have [_ r1] := r_of_dist a0 eta rho1 F0 c.
rewrite (rsum_eqr (G := fun a' => r_of F0 c a' * (1 - r_of F c a))); last first.
  by move=> a' _; rewrite /loss_m /ctx /=; field.
by rewrite -rsum_mulr r1 /KnownLaw.mixed /Epochs.r_of /mix /KnownLaw.ftrl /KnownLaw.K; ring.
Qed.

(** On the selector event, every other arm without self-loop is observed with probability 1/6 at
    least. *)
Lemma good_S t ls : size ls = n -> ~~ badS ls ->
  let j' := special_arm G (final (t, fun _ _ => 0, fun=> 0) ls).2 in
  (forall a, ~~ G a a -> j' != Some a -> / 6 <= Epochs.w nu G eta rho F a) /\ (forall b, j' =
    Some b -> ~~ G b b).
Proof.
move=> sz hb; cbv zeta; set mh := (final _ _).2.
have mhE a : mh a = ssum (fun l => r_of F (ctx l) a) ls / INR n by rewrite /mh final_m /=; ring.
have := special_arm_ok G mh; move: (special_arm G mh) => j' so'.
split; last by move=> b' jb; rewrite jb in so'; case: so'.
move=> a na ja; rewrite w_m //.
have [m0 m1] : dist mm by apply: m_dist.
move: hb; rewrite /badS; case: pickP => [h hh|none _]; last first.
  have := none a; rewrite /heavy na /= /geb; case: Rle_dec => //= h _; lra.
case/andP: hh => nh; rewrite /geb; case: Rle_dec => // mh8 _; case: Rle_dec => // hs _.
have {}mh8 : 2 / 3 < mm h by apply: Rnot_le_lt.
have {}hs : ssum (loss_m h) ls < 4 / 3 * (INR n * (1 - mm h)) + 2 * iota.
  have i2 : iota / / 2 = 2 * iota by field.
  by rewrite mu_loss_m i2 in hs; apply: Rnot_le_lt.
have sl : ssum (loss_m h) ls = INR n - ssum (fun l => r_of F (ctx l) h) ls.
  rewrite -sz; elim: (ls) => [|l ls' IH]; first by rewrite /= /INR; ring.
  by rewrite -[size (l :: ls')]/((size ls').+1) S_INR !ssum_cons IH {1}/loss_m; ring.
have hm : / 2 < mh h.
  rewrite mhE; apply: (Rmult_lt_reg_r (INR n)) => //; rewrite /Rdiv Rmult_assoc Rinv_l; last by lra.
  nra.
have two x : x != h -> mh x < / 2.
  move=> xh; suff : mh x + mh h <= 1 by lra.
  rewrite !mhE; apply: (Rmult_le_reg_r (INR n)) => //.
  rewrite /Rdiv Rmult_plus_distr_r !Rmult_assoc Rinv_l; last by lra.
  rewrite !Rmult_1_r Rmult_1_l -sz; elim: (ls) => [|l ls' IH]; first by rewrite /= /INR; lra.
  rewrite -[size (l :: ls')]/((size ls').+1) S_INR !ssum_cons.
  have [r0 r1] := r_of_dist a0 eta rho1 F (ctx l).
  have : r_of F (ctx l) x + r_of F (ctx l) h <= 1.
    rewrite -r1 (rsum_D1 (P := xpredT) (r_of F (ctx l)) (i0 := x)) //; apply: Rplus_le_compat_l.
    by apply: (rsum_ge1 (P := fun i => xpredT i && (i != x)) (F := r_of F (ctx l))) => //=;
      rewrite eq_sym.
  lra.
move: so' ja; case: (j') => [x|]; last by move=> hn; have := hn h; rewrite (negbTE nh).
move=> [_ /(_ h nh) hx] ja.
have xh : x = h by case: (eqVneq x h) => // /two; lra.
have ah : a != h by apply: contra ja => /eqP ->; rewrite xh.
have : mm a + mm h <= 1.
  rewrite -m1 (rsum_D1 (P := xpredT) mm (i0 := a)) //; apply: Rplus_le_compat_l.
  by apply: (rsum_ge1 (P := fun i => xpredT i && (i != a)) (F := mm)) => //=; rewrite eq_sym.
lra.
Qed.

(** ** One epoch *)
Definition fail := (2 * INR #|A| + 1) * exp (- iota).
(** One epoch: the cost of its pairs, and what is lost if an event fails. *)
Theorem epoch_ineq t rest : (1 < ep)%N -> 0 <= rest ->
  (forall t' F' j', inv F' F j' -> epoch_value k ep.+1 t' F' F j' <= Phi F' + rest) ->
  epoch_value k.+1 ep t F F0 j <= Phi F + INR n * pair_bound + rest + INR (4 * n + 2 * n * k)
    * fail.
Proof.
move=> hep r0 IH; rewrite epoch_value_step //.
set y0 := (t, _, _); set M := INR (4 * n + 2 * n * k).
have ME : M = 4 * INR n + INR (2 * n * k) by rewrite /M plus_INR mult_INR (_ : INR 4 = 4) // /INR;
  lra.
have k0 := pos_INR (2 * n * k).
have key sq ls : size ls = n ->
  pathv ideal_step (ideal_cost (ratio sq)) (ideal_end (ratio sq)) y0 ls <=
  stopped sq y0 ls + (rest + (M * ind (badF sq) + (M * ind (badL ls) + M * ind (badS ls)))).
  move=> sz.
  have hi := path_hi (ratio sq) y0 ls; have lo := stopped_ge sq y0 ls; rewrite sz in hi lo.
  have iF := ind_ge0 (badF sq); have iL := ind_ge0 (badL ls); have iS := ind_ge0 (badS ls).
  have M0 : 0 <= M by exact: pos_INR.
  have mF := Rmult_le_pos _ _ M0 iF; have mL := Rmult_le_pos _ _ M0 iL;
    have mS := Rmult_le_pos _ _ M0 iS.
  case bF: (badF sq) mF => mF; first by rewrite {1}/ind; lra.
  case bL: (badL ls) mL => mL; first by rewrite [ind true]/ind; lra.
  case bS: (badS ls) mS => mS; first by rewrite [ind true]/ind; lra.
  rewrite -(good_F (negbT bF)).
  have ok := good_L t sz (negbT bL); have [s1 s2] := good_S t sz (negbT bS).
  suff : pathv ideal_step (ideal_cost (theta sq)) (ideal_end (theta sq)) y0 ls <= stopped sq y0 ls
    + rest by lra.
  apply: path_stopped => //.
  move: ok s1 s2; rewrite -/y0; have hG := Y_mono ls y0; case: (final y0 ls) hG =>
    [[t' Y'] mh'] /= hG /okYP ok s1 s2.
  apply: IH; split; last by split.
  move=> c a; rewrite /scaled; have h1 : 0 <= theta sq a <= 2 by apply: theta_bd.
  have h2 := hG c a; have h3 := ok c a.
  have : 0 <= theta sq a * Y' c a by apply: Rmult_le_pos; lra.
  have : theta sq a * Y' c a <= 2 * B0 by apply: Rmult_le_compat; lra.
  lra.
apply: (Rle_trans _ (Ei nu n (fun sq => Ei pair_law n (fun ls =>
   stopped sq y0 ls + (rest + (M * ind (badF sq) + (M * ind (badL ls) + M * ind (badS ls)))))))).
  by apply: Ei_le => // sq; apply: Ei_le_size => // ls; exact: key.
rewrite (Ei_ext nu n (g := fun sq => Ei pair_law n (stopped sq y0) + (rest + (M * ind (badF sq)
   + (M * Ei pair_law n (fun ls => ind (badL ls)) + M * Ei pair_law n (fun ls =>
     ind (badS ls))))))); last first.
  by move=> sq; rewrite Ei_add Ei_add Ei_const // Ei_add Ei_const // Ei_add !Ei_scale.
rewrite Ei_add Ei_add Ei_const // Ei_add Ei_scale Ei_const //.
have hu := stopped_mean n t (fun=> 0) (Y := fun _ _ => 0) (fun _ _ => Rle_refl 0);
  rewrite -/y0 in hu.
rewrite (Ei_ext nu n (f := fun sq => Phi (scaled F (theta sq) (fun _ _ => 0))) (g := fun=> Phi F))
  in hu; last first.
  move=> sq; congr KnownLaw.Phi; apply: functional_extensionality => c;
    apply: functional_extensionality => a.
  by rewrite /scaled; ring.
rewrite Ei_const // in hu.
have M0 : 0 <= M by exact: pos_INR.
have f1 := Rmult_le_compat_l _ _ _ M0 P_F; have f2 := Rmult_le_compat_l _ _ _ M0 P_L;
  have f3 := Rmult_le_compat_l _ _ _ M0 P_S.
rewrite /fail; rewrite /Pr in f1 f2 f3; lra.
Qed.
End Path.
End OneEpoch.
End Events.
