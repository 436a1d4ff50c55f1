(** Algorithm 2 epoch by epoch, on states before the denominators of the epoch are drawn. *)
From Coq Require Import FunctionalExtensionality.
From Crossbandit Require Import FiniteSums Ftrl Programs Concentration RandomDenominators
  FrequencyBlock Retention PairReduction.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Open Scope R_scope.

(** ** Paths, and the order of independent draws *)
Lemma rsum_pair (I J : finType) (f : I * J -> R) :
  \rsum_(x : I * J) f x = \rsum_i \rsum_j f (i, j).
Proof. by rewrite pair_bigA /=; apply: eq_bigr => -[]. Qed.

(** Two independent samples may be drawn in either order. *)
Lemma Ei_swap (C I : finType) (nu : C -> R) (pair_law : I -> R) n m (f : seq C -> seq I -> R) :
  Ei nu n (fun s => Ei pair_law m (f s)) = Ei pair_law m (fun ls => Ei nu n (fun s => f s ls)).
Proof.
elim: m f => [|m IH] f //=.
rewrite (Ei_rsum nu pair_law n (fun l s => Ei pair_law m (fun ls => f s (l :: ls)))).
by apply: rsum_eqr => l _; rewrite (IH (fun s ls => f s (l :: ls))).
Qed.

Section Paths.
Variables (C I : finType) (nu : C -> R) (pair_law : I -> R) (X Y : Type).
Variables (step : Y -> I -> Y) (cost : Y -> R).
Hypothesis dnu : dist nu.
Hypothesis dwl : dist pair_law.
(** The value of a path: the costs along it and a final value. *)
Fixpoint pathv (V : Y -> R) (y : Y) (ls : seq I) : R :=
  if ls is l :: ls' then cost y + pathv V (step y l) ls' else V y.

(** The ideal trajectory is a mean over pairs that are drawn independently. *)
Lemma ideal_path (Vend : X -> Y -> R) i x y :
  ideal pair_law step cost Vend i x y = Ei pair_law i (pathv (Vend x) y).
Proof.
elim: i y => [|i IH] y //=.
rewrite [cost y in LHS](dist_const _ dwl) -rsum_split; apply: rsum_eqr => l _.
by rewrite IH (Ei_add pair_law i (fun=> cost y)) Ei_const //; ring.
Qed.

(** A mean over contexts moves into the value of a path. *)
Lemma pathv_mean m (V : seq C -> Y -> R) y ls :
  Ei nu m (fun s => pathv (V s) y ls) = pathv (fun y' => Ei nu m (fun s => V s y')) y ls.
Proof.
elim: ls y => [|l ls IH] y //=.
by rewrite (Ei_add nu m (fun=> cost y)) Ei_const // IH.
Qed.
End Paths.

Section Epoch.
Variables (C A : finType) (a0 : A) (nu : C -> R) (G : rel A) (loss : nat -> C -> A -> R).
Variables (eta gamma rho beta : R) (n : nat) (pi : C -> A).
Hypothesis dnu : dist nu.
Hypothesis rho01 : 0 < rho < 1.
Hypothesis loss01 : forall t c a, 0 <= loss t c a <= 1.
Hypothesis n0 : (0 < n)%N.
Hypothesis gamma0 : 0 < gamma.
Local Notation alg := (algorithm2 C G eta gamma rho beta n).
Local Notation d := (d loss pi).
Local Notation learn2 := (@learn2 C A G eta gamma rho beta n).
Local Notation policy2 := (@policy2 C A eta rho).

(** The expected regret of the next [N] rounds, from a state. *)
Definition value (N t : nat) (s : memory C A) : R :=
  E (play nu G loss (l := alg) N t s) (regret loss pi t).

(** One round. *)
Lemma value_S N t s : value N.+1 t s =
  \rsum_c (nu c * \rsum_a (policy2 s c a * (d t c a + E (learn2 s c a (see G loss t a))
    (value N t.+1)))).
Proof. by apply: play_S => // *; [exact: policy2_dist | exact: learn2_valid]. Qed.

(** Regret is at most 1 in each round. *)
Lemma value_le N t s : value N t s <= INR N.
Proof. by apply: run_le => // *; [exact: policy2_dist | exact: learn2_valid]. Qed.

(** Two rounds of a pair, after the first epoch. *)
Lemma value_pair N t s : half s = None -> (epoch s == 1)%N = false -> value N.+2 t s =
  \rsum_c (nu c * \rsum_a (q eta rho s c a * (d t c a + d t.+1 c a)))
    + / 2 * \rsum_cf (nu cf * \rsum_cl (nu cl *
        (law eta rho s cl (fun ob => value N t.+2 (after G loss eta gamma rho beta n s t cf cl ob))
         + law eta rho s cl (fun ob => value N t.+2 (after G loss eta gamma rho beta n s t.+1 cf cl
           ob))))).
Proof.
move=> hs es; rewrite value_S -(pair_step a0) //.
apply: rsum_eqr => c _; congr Rmult; apply: rsum_eqr => a _; congr (_ * (_ + _)).
by apply: E_ext => s1; rewrite value_S.
Qed.

(** ** The draws of one pair *)
Definition draw := (bool * C * A * bool)%type.
(** A draw of a pair: which round is the loss side, its context, the arm and whether it is retained.
    *)
Definition side (l : draw) := l.1.1.1.
Definition ctx (l : draw) := l.1.1.2.
Definition arm (l : draw) := l.1.2.
Definition kept (l : draw) := l.2.
(** The mixed policy of an input, and the law of the draws of a pair. *)
Definition r_of (F : table C A) c := mix rho (softmax eta (F c)).
Definition pair_law (F0 : table C A) (l : draw) := / 4 * (nu (ctx l) * r_of F0 (ctx l) (arm l)).

(** Mixed policies are distributions. *)
Lemma r_of_dist F c : dist (r_of F c).
Proof. by apply: mix_dist => //; exact: softmax_dist. Qed.

(** Sums over the draws of a pair. *)
Lemma pair_law_sum F0 (f : draw -> R) : \rsum_l (pair_law F0 l * f l) =
  \rsum_c (nu c * \rsum_a (r_of F0 c a *
   (/ 4 * (f (true, c, a, true) + f (true, c, a, false) + f (false, c, a, true) + f (false, c, a,
     false))))).
Proof.
rewrite rsum_pair rsum_pair rsum_pair rsum_bool -rsum_split; apply: rsum_eqr => c _.
rewrite -rsum_split rsum_mull; apply: rsum_eqr => a _.
by rewrite !rsum_bool /pair_law /ctx /arm /=; ring.
Qed.

(** So is the law of a pair. *)
Lemma pair_law_dist F0 : dist (pair_law F0).
Proof.
have [nn n1] := dnu; split.
  move=> l; have [r0 _] := r_of_dist F0 (ctx l); have h := Rmult_le_pos _ _ (nn (ctx l))
    (r0 (arm l)).
  by rewrite /pair_law; lra.
have -> : \rsum_l pair_law F0 l = \rsum_l (pair_law F0 l * 1) by apply: rsum_eqr => l _; ring.
rewrite pair_law_sum -[RHS]n1; apply: rsum_eqr => c _.
have [_ r1] := r_of_dist F0 c.
rewrite (rsum_eqr (G := r_of F0 c)); first by rewrite r1; ring.
by move=> a _; field.
Qed.

(** The law of what is retained, as a sum over arms. *)
Lemma law_sum s cl f : law eta rho s cl f =
  \rsum_a (r_of (snap s) cl a * (/ 2 * (f (Some a) + f None))).
Proof.
have [_ r1] := r_of_dist (snap s) cl.
rewrite /law /re -/(r_of (snap s) cl).
rewrite (rsum_eqr (G := fun a => r_of (snap s) cl a / 2 * f (Some a) + r_of (snap s) cl a *
  (/ 2 * f None))
  (F := fun a => r_of (snap s) cl a * (/ 2 * (f (Some a) + f None)))); last by move=> a _; field.
by rewrite rsum_split -rsum_mulr r1; congr Rplus; ring.
Qed.

(** ** One epoch *)
Definition q_of (F0 F : table C A) c :=
  if [forall a, geb (2 * r_of F c a) (r_of F0 c a)] then r_of F c else r_of F0 c.
(** The regret of both rounds of a pair. *)
Definition pair_regret (F0 : table C A) t (F : table C A) :=
  \rsum_c (nu c * \rsum_a (q_of F0 F c a * (d t c a + d t.+1 c a))).
(** Half of the probability that arm [a] is observed, given the context; the denominators from a
    frequency block. *)
Definition g (F : table C A) a c := / 2 * \rsum_(v | G v a) r_of F c v.
Definition W_of (F : table C A) (s : seq C) a := RandomDenominators.W (g F a) gamma n s.
Definition round_of (l : draw) t := if side l then t.+1 else t.
(** What FTRL is fed after a pair. *)
Definition y_actual W (j : option A) t l (c : C) a :=
  (if kept l && G (arm l) a then 2 * loss (round_of l t) c a / W a else 0) + (if j == Some a then
    beta / W a else 0).

(** The part of a state that does not depend on the frequency block: round, input and masses for the
    selector. *)
Definition ystate := (nat * table C A * (A -> R))%type.
Definition add_mass (F1 : table C A) (mh : A -> R) (l : draw) a := mh a + 2 * r_of F1 (ctx l) a
  / INR (2 * n).
Definition actual_step (F1 : table C A) W j (y : ystate) (l : draw) : ystate :=
  let '(t, F, mh) := y in (t.+2, fun c a => F c a + y_actual W j t l c a, add_mass F1 mh l).
Definition actual_cost (F0 : table C A) (y : ystate) := let '(t, F, mh) := y in pair_regret F0 t F.
Definition add_frequency (F1 : table C A) (x : A -> R) (c : C) a := x a + \rsum_(v | G v a) r_of F1
  c v / INR (2 * n).

(** The memory between pairs. *)
Definition mem F F0 F1 W j wh mh ep i : memory C A := Memory F F0 F1 W j wh mh ep i None.

(** After the warm-up, the policy is that of the paper's q. *)
Lemma q_ofE F F0 F1 W j wh mh ep i c : (1 < ep)%N -> q eta rho (mem F F0 F1 W j wh mh ep i) c =
  q_of F0 F c.
Proof. by move=> h; rewrite /q /= h. Qed.

Section One.
Variables (F0 F1 : table C A) (W : A -> R) (j : option A) (ep N : nat).
Hypothesis ep1 : (1 < ep)%N.
(** The value after the epoch. *)
Definition actual_end (x : A -> R) (y : ystate) := let '(t, F, mh) := y in
  value N t (mem F F1 F (fun a => x a + 3 / 2 * gamma) (special_arm G mh) (fun=> 0) (fun=> 0) ep.+1
    0).

(** The warm-up is over. *)
Lemma ep_ne1 : (ep == 1)%N = false.
Proof. by case: ep ep1 => [|[|]]. Qed.

(** What a pair does to the memory. *)
Lemma after_mem F wh mh i t sd cf cl a kp :
  after G loss eta gamma rho beta n (mem F F0 F1 W j wh mh ep i) (if sd then t.+1 else t) cf cl
    (if kp then Some a else None)
  = let F' := fun c' a' => F c' a' + y_actual W j t (sd, cl, a, kp) c' a' in
    if i.+1 == n then mem F' F1 F' (fun a => add_frequency F1 wh cf a + 3 / 2 * gamma)
      (special_arm G (add_mass F1 mh (sd, cl, a, kp))) (fun=> 0) (fun=> 0) ep.+1 0
    else mem F' F0 F1 W j (add_frequency F1 wh cf) (add_mass F1 mh (sd, cl, a, kp)) ep i.+1.
Proof.
rewrite /after /close /=.
have -> : (fun (c' : C) (a' : A) => F c' a' + (match (if kp then Some a else None) with
   Some b => estimate2 (mem F F0 F1 W j wh mh ep i) true (see G loss (if sd then t.+1 else t) b) c'
     a' | None => 0 end
   + bonus2 beta (mem F F0 F1 W j wh mh ep i) a')) = (fun c' a' => F c' a' + y_actual W j t (sd, cl,
     a, kp) c' a'); last by [].
apply: functional_extensionality => c'; apply: functional_extensionality => a'.
rewrite /y_actual /bonus2 /estimate2 /see /round_of /=; case: kp => //=.
by case: (G a a').
Qed.

(** One pair, with independent sides. *)
Lemma epoch_pair F wh mh i t M :
  value M.+2 t (mem F F0 F1 W j wh mh ep i) = pair_regret F0 t F +
   \rsum_cf (nu cf * \rsum_l (pair_law F0 l *
      value M t.+2 (after G loss eta gamma rho beta n (mem F F0 F1 W j wh mh ep i) (round_of l t) cf
        (ctx l) (if kept l then Some (arm l) else None)))).
Proof.
rewrite value_pair //=; last exact: ep_ne1.
congr Rplus.
  by apply: rsum_eqr => c _; rewrite (q_ofE _ _ _ _ _ _ _ _ _ ep1).
rewrite rsum_mull; apply: rsum_eqr => cf _.
have -> (x y : R) : / 2 * (x * y) = x * (/ 2 * y) by ring.
congr Rmult; rewrite pair_law_sum rsum_mull; apply: rsum_eqr => cl _.
rewrite !law_sum -rsum_split /=.
have -> (x y : R) : / 2 * (x * y) = x * (/ 2 * y) by ring.
congr Rmult; rewrite rsum_mull; apply: rsum_eqr => a _.
by rewrite /round_of /side /ctx /arm /kept /=; field.
Qed.

(** A whole epoch, pair after pair. *)
Lemma epoch_run m i F wh mh t : (i + m.+1 = n)%N ->
  value (2 * m.+1 + N) t (mem F F0 F1 W j wh mh ep i)
  = FrequencyBlock.run nu (pair_law F0) (add_frequency F1) (actual_step F1 W j) (actual_cost F0)
    actual_end m.+1 wh (t, F, mh).
Proof.
elim: m i F wh mh t => [|m IH] i F wh mh t im.
  rewrite (_ : (2 * 1 + N)%N = N.+2) // epoch_pair /=; congr Rplus.
  apply: rsum_eqr => cf _; congr Rmult; apply: rsum_eqr => -[[[sd cl] a] kp] _; congr Rmult.
  rewrite /round_of /side /ctx /arm /kept /= (after_mem F wh mh i t sd cf cl a kp) /=.
  by rewrite (_ : i.+1 == n) //; apply/eqP; rewrite -im addn1.
rewrite (_ : (2 * m.+2 + N)%N = (2 * m.+1 + N).+2); last by rewrite !mul2n !doubleS.
rewrite epoch_pair; congr Rplus.
apply: rsum_eqr => cf _; congr Rmult; apply: rsum_eqr => -[[[sd cl] a] kp] _; congr Rmult.
rewrite /round_of /side /ctx /arm /kept /= (after_mem F wh mh i t sd cf cl a kp) /=.
have -> : (i.+1 == n) = false by apply/negbTE; rewrite -im -addSnnS -{1}[i.+1]addn0 eqn_add2l.
by rewrite IH // addSnnS.
Qed.

(** The frequency block gives the denominators of the next epoch. *)
Lemma add_frequency_W s : (fun a => foldl (add_frequency F1) (fun=> 0) s a + 3 / 2 * gamma) =
  W_of F1 s.
Proof.
apply: functional_extensionality => a; rewrite /W_of /RandomDenominators.W.
have nR : 0 < INR n by apply: lt_0_INR; apply/ltP.
suff h x : foldl (add_frequency F1) x s a = x a + ssum (g F1 a) s / INR n by rewrite h; ring.
elim: s x => [|c s IH] x /=; first by rewrite /Rdiv; ring.
rewrite IH /add_frequency /g mult_INR /= (_ : INR 2 = 2); last by rewrite /INR; lra.
by field; lra.
Qed.
End One.

(** The value of the last [k] epochs, before the denominators of the first of them are drawn. *)
Definition epoch_value (k ep t : nat) (F F0 : table C A) (j : option A) : R :=
  Ei nu n (fun s => value (2 * n * k) t (mem F F0 F (W_of F0 s) j (fun=> 0) (fun=> 0) ep 0)).

(** An epoch as a path, with the denominators of the next epoch drawn at its end. *)
Lemma epoch_path k ep t F F0 W j : (1 < ep)%N ->
  value (2 * n * k.+1) t (mem F F0 F W j (fun=> 0) (fun=> 0) ep 0) =
  Ei (pair_law F0) n (pathv (actual_step F W j) (actual_cost F0) (fun y : ystate =>
    let '(t', F', mh') := y in epoch_value k ep.+1 t' F' F (special_arm G mh'))
      (t, F, fun=> 0)).
Proof.
move=> h; rewrite mulnS -[in X in value X _ _](prednK n0).
rewrite [X in (2 * _ + 2 * X * k)%N](prednK n0).
rewrite (@epoch_run F0 F W j ep (2 * n * k) h n.-1 0 F (fun=> 0) (fun=> 0) t);
  last by rewrite add0n (prednK n0).
rewrite (prednK n0) defer //.
rewrite (Ei_ext nu n (g := fun s => Ei (pair_law F0) n (pathv (actual_step F W j) (actual_cost F0)
   (actual_end F ep (2 * n * k) (foldl (add_frequency F) (fun=> 0) s)) (t, F, fun=> 0))));
     last first.
  by move=> s; rewrite ideal_path //; exact: pair_law_dist.
rewrite Ei_swap; apply: Ei_ext => ls; rewrite pathv_mean //.
congr (pathv _ _ _ _ _); apply: functional_extensionality => -[[t' F'] mh'].
by apply: Ei_ext => s; rewrite /actual_end add_frequency_W.
Qed.

(** At most one per round. *)
Lemma epoch_value_le k ep t F F0 j : epoch_value k ep t F F0 j <= INR (2 * n * k).
Proof. by rewrite -(Ei_const dnu n (INR (2 * n * k))); apply: Ei_le => // s; exact: value_le. Qed.

(** ** The same path with the ideal prefix sums Y *)
Definition w (F0 : table C A) a := mu nu (g F0 a).
(** The population quantities of the epoch: [y_ideal] is the ideal input and [scaled] the input
    after ideal inputs [Y]. *)
Definition u F0 a := w F0 a + gamma.
Definition y_ideal F0 (j : option A) t l (c : C) a :=
  ((if kept l && G (arm l) a then 2 * loss (round_of l t) c a else 0) + (if j == Some a then beta
    else 0)) / u F0 a.
Definition scaled (F : table C A) (th : A -> R) (Y : table C A) : table C A := fun c a =>
  F c a + th a * Y c a.
Definition ideal_step (F F0 : table C A) j (y : ystate) (l : draw) : ystate :=
  let '(t, Y, mh) := y in (t.+2, fun c a => Y c a + y_ideal F0 j t l c a, add_mass F mh l).
Definition ratio F0 s a := u F0 a / W_of F0 s a.

(** Observation probabilities and denominators are in range. *)
Lemma g_half F a c : 0 <= g F a c <= / 2.
Proof.
have [r0 r1] := r_of_dist F c; rewrite /g; split.
  by apply: Rmult_le_pos; [lra | apply: rsum_ge0].
have : \rsum_(v | G v a) r_of F c v <= \rsum_v r_of F c v by apply: rsum_sub_le.
by rewrite r1; lra.
Qed.
(** Observation probabilities are not negative. *)
Lemma w_ge0 F a : 0 <= w F a.
Proof. by apply: rsum_ge0 => c _; apply: Rmult_le_pos; [exact: (proj1 dnu) | have := g_half F a c;
  lra]. Qed.
(** With gamma added they are positive, *)
Lemma u_gt0 F a : 0 < u F a. Proof. by rewrite /u; have := w_ge0 F a; lra. Qed.
(** and so are their estimates. *)
Lemma W_of_gt0 F s a : 0 < W_of F s a.
Proof.
have h : 0 <= ssum (g F a) s by elim: s => [|i s IH] /=; [lra | have := g_half F a i; lra].
have nR : 0 < INR n by apply: lt_0_INR; apply/ltP.
have : 0 <= ssum (g F a) s / INR n by apply: Rmult_le_pos => //; apply: Rlt_le;
  exact: Rinv_0_lt_compat nR.
by rewrite /W_of /RandomDenominators.W; lra.
Qed.

Definition ideal_cost F F0 th (y : ystate) := let '(t, Y, mh) := y in pair_regret F0 t
  (scaled F th Y).
Definition ideal_end F th k ep (y : ystate) := let '(t, Y, mh) := y in epoch_value k ep.+1 t
  (scaled F th Y) F (special_arm G mh).

(** The denominators are drawn first, and the actual inputs are ideal inputs times [ratio]. *)
Lemma epoch_value_step k ep t F F0 j : (1 < ep)%N -> epoch_value k.+1 ep t F F0 j =
  Ei nu n (fun s => Ei (pair_law F0) n (pathv (ideal_step F F0 j) (ideal_cost F F0 (ratio F0 s))
    (ideal_end F (ratio F0 s) k ep)
     (t, fun _ _ => 0, fun=> 0))).
Proof.
move=> h; apply: Ei_ext => s; rewrite epoch_path //; apply: Ei_ext => ls.
have e0 : F = scaled F (ratio F0 s) (fun _ _ => 0).
  by apply: functional_extensionality => c; apply: functional_extensionality => a; rewrite /scaled;
    ring.
rewrite {3}e0; move: (fun _ _ => 0) => Y; move: (fun=> 0) => mh.
elim: ls t Y mh => [|l ls IH] t Y mh //=; congr Rplus.
have -> : (fun c a => scaled F (ratio F0 s) Y c a + y_actual (W_of F0 s) j t l c a)
  = scaled F (ratio F0 s) (fun c a => Y c a + y_ideal F0 j t l c a); last exact: IH.
apply: functional_extensionality => c; apply: functional_extensionality => a.
rewrite /scaled /y_actual /y_ideal /ratio; have := W_of_gt0 F0 s a; have := u_gt0 F0 a => h1 h2.
by case: (kept l && _); case: (j == _); field; lra.
Qed.
End Epoch.
