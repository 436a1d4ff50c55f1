(* Theorem thm:main for every horizon: padding with zero losses, and the explicit parameters. *)
From Coq Require Import FunctionalExtensionality.
From mathcomp Require Import div.
From Crossbandit Require Import FiniteSums Selector Ftrl GraphInverse Programs KnownLaw Concentration RandomDenominators FrequencyBlock Selector Retention PairReduction Epochs OnePair GoodEvents Assembly.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(* Rounds with zero loss cost nothing, so a run of T rounds is a run of T + m rounds with padded losses. *)
Section Pad.
Variables (C A : finType) (nu : C -> R) (e : rel A) (loss : nat -> C -> A -> R) (Lr : learner C A).
Variables (pi : C -> A) (T : nat).
Hypothesis nu_dist : dist nu.
Hypothesis pol_dist : forall s c, dist (policy (l := Lr) s c).
Hypothesis learn_valid : forall s c a o, valid (learn (l := Lr) s c a o).
Definition padded t c a := if (t < T)%N then loss t c a else 0.

Lemma regret_zero t h : (T <= t)%N -> regret padded pi t h = 0.
Proof.
elim: h t => [|[c a] h IH] t Tt //=; rewrite IH; last exact: leqW.
by rewrite /padded ltnNge Tt /=; ring.
Qed.

Lemma see_pad t a : (t < T)%N -> see e padded t a = see e loss t a.
Proof.
move=> h; apply: functional_extensionality => c; apply: functional_extensionality => a'.
by rewrite /see /padded h.
Qed.

Lemma pad_run m N t s : (N + t = T)%N ->
  E (play nu e loss (l := Lr) N t s) (regret loss pi t) =
  E (play nu e padded (l := Lr) (N + m) t s) (regret padded pi t).
Proof.
elim: N t s => [|N IH] t s NT.
  rewrite /= (@E_ext _ _ (regret padded pi t) (fun=> 0)); last by move=> h; apply: regret_zero; rewrite -NT.
  by rewrite E_const //; exact: play_valid.
have tT : (t < T)%N by rewrite -NT -{1}[t]add0n ltn_add2r.
rewrite /=; apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr Rmult.
rewrite see_pad // !E_bind; apply: E_ext => s'; rewrite !E_bind /= !E_addc; [|exact: play_valid|exact: play_valid].
rewrite IH; last by rewrite addnS -addSn.
by congr (_ + _); rewrite /padded tT.
Qed.

Lemma Reg_pad m : Reg nu e loss Lr T pi = Reg nu e padded Lr (T + m) pi.
Proof. by rewrite /Reg; apply: pad_run; rewrite addn0. Qed.
End Pad.

Section Rate2.
Variables (C A : finType) (a0 : A) (nu : C -> R) (e : rel A) (loss : nat -> C -> A -> R).
Variables (pi : C -> A) (T : nat).
Hypothesis dnu : dist nu.
Hypothesis so : strongly_observable e.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis T0 : (0 < T)%N.

(* the parameters, from alpha, K and T only *)
Definition p_iota := 2 * ln (2 * INR #|A| * INR T).
Definition p_k := 1 + ln (INR #|A|).
Definition p_q := sqrt (INR (alpha e) * INR T * p_k).
Definition p_x := p_iota * (p_q / p_k).
Definition p_n := Z.to_nat (up p_x).
Definition p_gamma := Rmin (/ 2) (2 * p_iota / INR p_n).
Definition p_eta := / (88 * INR p_n).
Definition alg2 := algorithm2 C e p_eta p_gamma p_gamma (6 * p_gamma) p_n.

Let K := INR #|A|.
Let al := INR (alpha e).
Let TT := INR T.
Lemma K1 : 1 <= K.
Proof. rewrite /K (_ : 1 = INR 1) //; apply: le_INR; apply/leP; apply/card_gt0P; by exists a0. Qed.
Lemma al1 : 1 <= al. Proof. exact: alpha_ge1. Qed.
Lemma T1 : 1 <= TT. Proof. by rewrite /TT (_ : 1 = INR 1) //; apply: le_INR; apply/leP. Qed.
Lemma k1 : 1 <= p_k.
Proof. by rewrite /p_k -/K; have : 0 <= ln K; [rewrite -ln_1; apply: ln_mono; [lra | exact: K1] | lra]. Qed.
Lemma iota1 : 1 <= p_iota.
Proof.
have h : / 2 <= ln 2 by rewrite -[/ 2]ln_exp; apply: ln_mono; [exact: exp_pos | exact: exp_half].
have : ln 2 <= ln (2 * K * TT).
  by apply: ln_mono; [lra | have := K1; have := T1; nra].
by rewrite /p_iota -/K -/TT; lra.
Qed.
Lemma qq2 : p_q * p_q = al * TT * p_k.
Proof. by rewrite /p_q sqrt_sqrt //; have := al1; have := T1; have := k1; rewrite /al /TT => h1 h2 h3; apply: Rmult_le_pos; nra. Qed.
Lemma q1 : 1 <= p_q.
Proof.
rewrite -sqrt_1; apply: sqrt_le_1_alt; have := al1; have := T1; have := k1; rewrite /al /TT => h1 h2 h3.
have : 1 <= INR (alpha e) * INR T by nra.
by nra.
Qed.
Lemma x_gt0 : 0 < p_x.
Proof. by apply: Rmult_lt_0_compat; [have := iota1; lra | apply: Rdiv_lt_0_compat; [have := q1; lra | have := k1; lra]]. Qed.
Lemma n_bd : p_x < INR p_n <= p_x + 1.
Proof.
have [h1 h2] := archimed p_x; have x0 := x_gt0.
have up0 : (0 <= up p_x)%Z by apply: le_IZR; lra.
rewrite /p_n INR_IZR_INZ Z2Nat.id //; lra.
Qed.
Lemma n_gt0 : (0 < p_n)%N.
Proof. by apply/ltP; apply: INR_lt; have := n_bd; have := x_gt0; rewrite (_ : INR 0 = 0) //; lra. Qed.
Lemma gamma_bd : 0 < p_gamma <= / 2.
Proof.
rewrite /p_gamma; split; last exact: Rmin_l.
apply: Rmin_glb_lt; first by lra.
by apply: Rdiv_lt_0_compat; [have := iota1; lra | have := n_bd; have := x_gt0; lra].
Qed.

Lemma trivial : Reg nu e loss alg2 T pi <= TT.
Proof.
apply: Val_bound => //; have := gamma_bd; lra.
Qed.

Theorem main_rate : Reg nu e loss alg2 T pi <=
  4260 * (sqrt (INR (alpha e) * INR T * (1 + ln (INR #|A|))) * ln (2 * INR #|A| * INR T)).
Proof.
rewrite -/p_k -/p_q.
have -> : 4260 * (p_q * ln (2 * INR #|A| * INR T)) = 2130 * (p_iota * p_q) by rewrite /p_iota; ring.
have i1 := iota1; have kk := k1; have qq := q1; have q2 := qq2; have nb := n_bd; have K1' := K1; have a1 := al1; have t1 := T1.
have x0 := x_gt0; have tr := trivial.
have iq : 1 <= p_iota * p_q by nra.
have xE : p_x * p_k = p_iota * p_q by rewrite /p_x; field; lra.
have xq : p_x <= p_iota * p_q by nra.
case: (Rlt_le_dec (al * TT) (16 * p_k)) => c1.
  have t4 : TT <= 4 * p_q.
    have : TT * TT <= 16 * (p_q * p_q).
      have h1 : TT <= 16 * p_k by nra.
      have h2 : TT * TT <= TT * (16 * p_k) by apply: Rmult_le_compat_l; lra.
      have h3 : 1 * (TT * p_k) <= al * (TT * p_k) by apply: Rmult_le_compat_r => //; nra.
      by rewrite q2; lra.
    by nra.
  by nra.
case: (leqP (2 * p_n) T) => c2; last first.
  have : TT <= 2 * INR p_n.
    rewrite /TT (_ : 2 = INR 2); last by rewrite /INR; lra.
    by rewrite -mult_INR; apply: le_INR; apply/leP; exact: ltnW.
  by lra.
(* the main regime *)
have q4 : 4 * p_k <= p_q.
  have : 16 * (p_k * p_k) <= p_q * p_q by rewrite q2; nra.
  by nra.
have x4 : 4 * p_iota <= p_x.
  rewrite /p_x Rmult_comm; apply: Rmult_le_compat_l; first by lra.
  by apply: (Rmult_le_reg_r p_k); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
have nR : 0 < INR p_n by lra.
have gE : p_gamma = 2 * p_iota / INR p_n.
  rewrite /p_gamma Rmin_right //; apply: (Rmult_le_reg_r (INR p_n)) => //.
  by rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have ng : INR p_n * p_gamma = 2 * p_iota by rewrite gE; field; lra.
have eta0 : 0 < p_eta by apply: Rinv_0_lt_compat; lra.
have en : p_eta * (88 * INR p_n) = 1 by rewrite /p_eta; field; lra.
have gb := gamma_bd.
pose E := (T %/ (2 * p_n))%N.
have TE : (2 * p_n * E <= T)%N by rewrite mulnC leq_trunc_div.
have TE2 : (T <= 2 * p_n * E.+1)%N.
  by rewrite mulnC; apply: ltnW; apply: ltn_ceil; rewrite muln_gt0 n_gt0.
have dp s c : dist (policy (l := alg2) s c).
  by apply: policy2_dist => //; lra.
have lv s c a o : valid (learn (l := alg2) s c a o).
  by apply: learn2_valid => //; lra.
rewrite (Reg_pad e loss pi T dnu dp lv (2 * p_n * E.+1 - T)) subnKC //.
have pl t c a : 0 <= padded loss T t c a <= 1 by rewrite /padded; case: ifP => _; [exact: loss01 | lra].
have h := @algorithm2_regret C A a0 nu e (padded loss T) p_eta p_gamma p_gamma (6 * p_gamma) p_n pi p_iota
  dnu so pl n_gt0 eta0 (Req_le _ _ en) gb i1 (Req_le _ _ (esym ng)) gb (erefl _) E.
apply: Rle_trans h _.
have NE : 2 * (INR p_n * INR E) <= TT.
  have := le_INR _ _ (elimT leP TE); rewrite !mult_INR (_ : INR 2 = 2); last by rewrite /INR; lra.
  by rewrite -/TT; lra.
have E0 : 0 <= INR E by exact: pos_INR.
have n1 : 1 <= INR p_n by lra.
have ET : INR E <= TT by nra.
have n2 : INR (2 * p_n) = 2 * INR p_n by rewrite mult_INR (_ : INR 2 = 2) // /INR; lra.
have n4 : INR (4 * p_n + 2 * p_n * E) = 4 * INR p_n + 2 * (INR p_n * INR E).
  have i4 : INR 4 = 4 by rewrite /INR; lra.
  by rewrite plus_INR (mult_INR 4) (mult_INR (2 * p_n)) n2 i4; ring.
(* the failure term *)
have y0 : 0 < 2 * K * TT by nra.
have fl : INR E * (INR (4 * p_n + 2 * p_n * E) * fail A p_iota) <= 3.
  have ex : exp (- p_iota) = / ((2 * K * TT) * (2 * K * TT)).
    rewrite exp_Ropp /p_iota -/K -/TT; congr Rinv.
    by rewrite (_ : 2 * ln (2 * K * TT) = ln (2 * K * TT) + ln (2 * K * TT)); [rewrite exp_plus exp_ln | ring].
  have f1 : fail A p_iota <= / (TT * TT).
    rewrite /fail ex -/K.
    have -> : / (TT * TT) = (4 * K * K) * / (2 * K * TT * (2 * K * TT)) by field; lra.
    apply: Rmult_le_compat_r; first by apply: Rlt_le; apply: Rinv_0_lt_compat; nra.
    by nra.
  have f0 : 0 <= fail A p_iota by exact: fail_ge0.
  have s1 : INR E * INR (4 * p_n + 2 * p_n * E) <= 3 * (TT * TT) by rewrite n4; nra.
  have s0 : 0 <= INR E * INR (4 * p_n + 2 * p_n * E) by apply: Rmult_le_pos => //; exact: pos_INR.
  rewrite -Rmult_assoc.
  apply: (Rle_trans _ (3 * (TT * TT) * / (TT * TT))); first by apply: Rmult_le_compat.
  by apply: Req_le; field; lra.
(* the per-pair term *)
have ge : 176 * p_eta <= p_gamma.
  apply: (Rmult_le_reg_l (INR p_n)) => //; rewrite ng.
  have -> : INR p_n * (176 * p_eta) = 2 * (p_eta * (88 * INR p_n)) by ring.
  by rewrite en; lra.
have G22 : Gs e p_gamma <= 22 * (al * p_iota).
  rewrite /Gs -/al -/K.
  have : ln (K / p_gamma) <= p_iota / 2.
    have -> : p_iota / 2 = ln (2 * K * TT) by rewrite /p_iota -/K -/TT; field.
    apply: ln_mono; first by apply: Rdiv_lt_0_compat; lra.
    have -> : K / p_gamma = K * INR p_n * / (2 * p_iota) by rewrite gE; field; lra.
    have nT : INR p_n <= TT.
      by have := le_INR _ _ (elimT leP c2); rewrite n2 -/TT; lra.
    have i2 : / (2 * p_iota) <= 1 by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
    have i0 : 0 < / (2 * p_iota) by apply: Rinv_0_lt_compat; lra.
    have kn : 0 <= K * INR p_n <= K * TT by nra.
    by nra.
  have ai : 1 <= al * p_iota by nra.
  by nra.
have G0 : 0 <= Gs e p_gamma.
  rewrite /Gs -/al -/K; have : 0 <= ln (K / p_gamma); last by nra.
  rewrite -ln_1; apply: ln_mono; first by lra.
  by apply: (Rmult_le_reg_r p_gamma); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
have ai : 1 <= al * p_iota by nra.
have bp : Bp e p_eta p_gamma p_gamma <= 2013 * (p_gamma * (al * p_iota)).
  rewrite /Bp.
  have h1 : (80 * p_gamma + 128 * p_eta) * Gs e p_gamma <= (81 * p_gamma) * (22 * (al * p_iota)).
    by apply: Rmult_le_compat; lra.
  have h2 : p_gamma * 1 <= p_gamma * (al * p_iota) by apply: Rmult_le_compat_l; lra.
  by lra.
have b0 : 0 <= Bp e p_eta p_gamma p_gamma by apply: Bp_ge0.
have ebp : INR E * (INR p_n * Bp e p_eta p_gamma p_gamma) <= 2013 * (p_iota * p_q).
  have s1 : INR E * (INR p_n * Bp e p_eta p_gamma p_gamma) <= TT / 2 * (2013 * (p_gamma * (al * p_iota))).
    rewrite -Rmult_assoc; apply: Rmult_le_compat => //; [by apply: Rmult_le_pos; lra | lra].
  apply: Rle_trans s1 _.
  have gx : p_gamma * p_x <= 2 * p_iota by rewrite -ng Rmult_comm; apply: Rmult_le_compat_r; lra.
  have gq : p_gamma * p_q <= 2 * p_k.
    apply: (Rmult_le_reg_l p_iota); first by lra.
    have -> : p_iota * (p_gamma * p_q) = p_gamma * p_x * p_k by rewrite Rmult_assoc xE; ring.
    by have := Rmult_le_compat_r _ _ _ (Rle_trans _ _ _ Rle_0_1 kk) gx; lra.
  have s2 : TT * (p_gamma * al) <= 2 * p_q.
    apply: (Rmult_le_reg_r p_q); first by lra.
    have -> : 2 * p_q * p_q = al * TT * (2 * p_k) by rewrite Rmult_assoc q2; ring.
    have -> : TT * (p_gamma * al) * p_q = al * TT * (p_gamma * p_q) by ring.
    by apply: Rmult_le_compat_l => //; nra.
  have := Rmult_le_compat_l _ _ _ (Rle_trans _ _ _ Rle_0_1 i1) s2; lra.
have lk : ln K / p_eta <= 110 * (p_iota * p_q).
  have -> : ln K / p_eta = 88 * (INR p_n * ln K) by rewrite /p_eta; field; lra.
  have lnk : 0 <= ln K <= p_k.
    by rewrite /p_k -/K; split; [rewrite -ln_1; apply: ln_mono; lra | lra].
  have : INR p_n * ln K <= (5 / 4 * p_x) * p_k by apply: Rmult_le_compat; lra.
  by rewrite Rmult_assoc xE; lra.
rewrite Rmult_plus_distr_l n2 -/K; lra.
Qed.
End Rate2.

