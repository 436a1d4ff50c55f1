(** Follow the regularised leader with a rate that falls: its regret is the sum of what is measured
    after each round, and the price of the last rate. *)
From Crossbandit Require Import FiniteSums Exponential Ftrl.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

Section Rates.
Variable A : finType.
Variable a0 : A.

(** A sum of ones counts. *)
Lemma rsum_one : \rsum_(a : A) 1 = INR #|A|.
Proof. by rewrite rsum_const Rmult_1_r. Qed.

(** The potential: less the exponential mean of the cumulative losses. *)
Definition soft_min (eta : R) (L : A -> R) := - (ln (norm eta L) - ln (INR #|A|)) / eta.

(** What a round costs beyond its exponential mean. *)
Definition mix_gap (eta : R) (q y : A -> R) :=
  ip q y + ln (ip q (fun a => exp (- eta * y a))) / eta.

(** A step of the potential is what a round costs less its gap. *)
Lemma soft_min_step eta L y : 0 < eta ->
  soft_min eta (fun a => L a + y a) - soft_min eta L
  = ip (softmax eta L) y - mix_gap eta (softmax eta L) y.
Proof.
move=> e0; have Z0 := norm_gt0 a0 eta L; have Z1 := norm_gt0 a0 eta (fun a => L a + y a).
rewrite /mix_gap.
have -> : ip (softmax eta L) (fun a => exp (- eta * y a)) =
  norm eta (fun a => L a + y a) / norm eta L.
  rewrite [norm eta (fun a => _)]/norm /ip /Rdiv rsum_mulr; apply: rsum_eqr => a _.
  rewrite softmaxE /wexp (_ : - eta * (L a + y a) = - eta * L a + - eta * y a) ?exp_plus;
    last by ring.
  by rewrite /Rdiv; ring.
by rewrite ln_div // /soft_min; field; lra.
Qed.

(** It is larger for smaller rates. *)
Lemma soft_min_le eta eta' L : 0 < eta' -> eta' <= eta -> soft_min eta L <= soft_min eta' L.
Proof.
move=> e0 ee; have K0 := card_gt0 a0.
pose z a := - eta * L a; pose th := eta' / eta.
have th1 : 0 <= th <= 1.
  split; first by apply: Rlt_le; apply: Rdiv_lt_0_compat; lra.
  by rewrite /th; apply: (Rmult_le_reg_r eta); [lra | rewrite /Rdiv Rmult_assoc Rinv_l; lra].
pose b := ln (norm eta L) - ln (INR #|A|).
have Z0 := norm_gt0 a0 eta L; have Z1 := norm_gt0 a0 eta' L.
have eb : exp (- b) * norm eta L = INR #|A|.
  rewrite /b (_ : - _ = ln (INR #|A|) + - ln (norm eta L)); last by ring.
  rewrite exp_plus exp_ln // exp_Ropp exp_ln //; field; lra.
have h : exp (- (th * b)) * norm eta' L <= INR #|A|.
  rewrite {1}/norm rsum_mull.
  apply: (Rle_trans _ (\rsum_a (1 + th * (exp (- b) * wexp eta L a - 1)))).
    apply: rsum_le => a _; rewrite /wexp -!exp_plus.
    rewrite (_ : - (th * b) + - eta' * L a = (- b + - eta * L a) * th); first exact: exp_chord.
    by rewrite /th; field; lra.
  by rewrite rsum_split rsum_one -rsum_mull rsum_sub rsum_one -rsum_mull -/(norm eta L) eb; lra.
have : ln (exp (- (th * b)) * norm eta' L) <= ln (INR #|A|).
  by apply: ln_mono => //; apply: Rmult_lt_0_compat => //; exact: exp_pos.
rewrite ln_mult //; last exact: exp_pos.
rewrite ln_exp => {}h; rewrite /soft_min -/b.
have -> : - b / eta = / eta' * (- (th * b)) by rewrite /th; field; lra.
rewrite /Rdiv [X in _ <= X]Rmult_comm; apply: Rmult_le_compat_l; first by apply: Rlt_le;
  apply: Rinv_0_lt_compat.
by lra.
Qed.

(** The best arm and the price of the last rate. *)
Lemma soft_min_arm eta L a : 0 < eta -> soft_min eta L <= L a + ln (INR #|A|) / eta.
Proof.
move=> e0; have K0 := card_gt0 a0.
have h : wexp eta L a <= norm eta L.
  by apply: (rsum_ge1 (P := xpredT)) => // i _; apply: Rlt_le; exact: exp_pos.
have := ln_mono (exp_pos _) h; rewrite ln_exp => {}h.
rewrite /soft_min (_ : L a + _ = / eta * (eta * L a + ln (INR #|A|))); last by field; lra.
rewrite /Rdiv [X in X <= _]Rmult_comm; apply: Rmult_le_compat_l; first by apply: Rlt_le;
  apply: Rinv_0_lt_compat.
by lra.
Qed.

Variable eta : nat -> R.
Variable y : nat -> A -> R.
Hypothesis eta0 : forall u, 0 < eta u.
Hypothesis eta_falls : forall u, eta u.+1 <= eta u.

(** The regret of the leaders against an arm. *)
Lemma leaders N (v : A) :
  \rsum_(u < N) (ip (softmax (eta u) (cum y u)) (y u) - y u v)
  <= ln (INR #|A|) / eta N + \rsum_(u < N) mix_gap (eta u) (softmax (eta u) (cum y u)) (y u).
Proof.
pose g u := mix_gap (eta u) (softmax (eta u) (cum y u)) (y u).
pose x u := ip (softmax (eta u) (cum y u)) (y u).
rewrite rsum_sub -/(\rsum_(u < N) x u) -/(\rsum_(u < N) g u) -/(cum y N v).
have h : \rsum_(u < N) x u - \rsum_(u < N) g u <= soft_min (eta N) (cum y N).
  elim: N => [|n IH].
    by rewrite !big_ord0 /soft_min norm0 //; have := Rinv_0_lt_compat _ (eta0 0); nra.
  rewrite (rsum_recr n x) (rsum_recr n g).
  have := soft_min_step (cum y n) (y n) (eta0 n).
  have -> : soft_min (eta n) (fun a => cum y n a + y n a) = soft_min (eta n) (cum y n.+1).
    by rewrite /soft_min; congr (- (ln _ - _) / _); apply: rsum_eqr => a _; rewrite /wexp cumS.
  rewrite -/(x n) -/(g n).
  by have := soft_min_le (cum y n.+1) (eta0 n.+1) (eta_falls n); lra.
by have := soft_min_arm (cum y N) v (eta0 N); lra.
Qed.
End Rates.
