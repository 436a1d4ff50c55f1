(* Runs an extracted learner on scripted contexts, losses and uniform numbers.

   Numbers on standard input, separated by white space:

     1. algorithm m k n rounds    the algorithm (1 or 2); contexts, arms, pairs in an epoch, rounds
     2. m numbers                 the law of the contexts; algorithm 2 does not use it
     3. k rows of k numbers       the graph: 1 in row v, column a, if playing v reveals a, else 0
     4. eta gamma rho beta        the parameters
     5. for each round            context u split retain, then m rows of k losses

   Contexts and arms count from 0. The arm is the first at which the running sum of the policy
   exceeds the uniform number u; the last arm if none does. Algorithm 2 uses split and retain in the
   second round of a pair: the second round is the loss side iff split >= 1/2, and its feedback is
   retained iff retain < r_e / (2 q). In other rounds they are read and ignored.

   One line on standard output for each round: the arm, then the policies before that round, m
   times k numbers, context by context.

   For the certified learner:

     1. 3 m k rounds              contexts, arms, rounds
     2. alpha coins slots longest usual by_round
     3. k numbers                 1 if an arm has a self-loop in every graph, else 0
     4. members                   a number, and so many arms that are explored
     5. graphs                    1, or m, or the number of rounds: so many graphs follow, as above;
                                  that of context c, or of round t, is number c, or t
     6. for each round            context u lot, then m rows of k losses

   The lot is drawn iff it is less than 1 / every. One line for each round: the arm, the certificate
   after the round, and the policies before it.

   For the bounds instead of a run:

     0 k alpha mutual eta gamma rho beta rounds n epochs iota

   k arms, independence number alpha, 1 if all edges between arms with self-loops go both ways and 0
   if not, parameters as above, a number of epochs after the first, and the free number iota. One line on standard output: bound1 for Algorithm 1 over these rounds, and
   bound2 for Algorithm 2. *)
open Bandit

let number () = Scanf.scanf " %f" (fun x -> x)
let integer () = Scanf.scanf " %d" (fun x -> x)
let numbers size = Array.init size (fun _ -> number ())

let real (x : float) : RbaseSymbolsImpl.coq_R = Obj.magic x

(* The first arm at which the running sum of the policy exceeds u. *)
let draw policy u =
  let rec first a sum =
    let sum = sum +. policy.(a) in
    if u < sum || a = Array.length policy - 1 then a else first (a + 1) sum in
  first 0 0.

let bounds () =
  let k = real (number ()) in
  let alpha = real (number ()) in
  let mutual = integer () = 1 in
  let eta = real (number ()) in
  let gamma = real (number ()) in
  let rho = real (number ()) in
  let beta = real (number ()) in
  let rounds = integer () in
  let n = integer () in
  let epochs = integer () in
  let iota = real (number ()) in
  let show x = Printf.sprintf "%.17g" (Obj.magic x : float) in
  print_endline (show (bound1 k alpha mutual eta gamma rho beta rounds) ^ " "
    ^ show (bound2 k alpha mutual eta gamma rho beta n epochs iota))

let run algorithm =
  let m = integer () in
  let k = integer () in
  let n = integer () in
  let rounds = integer () in
  let nu = numbers m in
  let graph = Array.init k (fun _ -> Array.init k (fun _ -> integer () = 1)) in
  let eta = number () in
  let gamma = number () in
  let rho = number () in
  let beta = number () in
  let edge v a = graph.(Obj.magic v).(Obj.magic a) in
  let learner =
    if algorithm = 1 then
      learner1 m k (fun c -> real nu.(Obj.magic c)) edge (real eta) (real gamma) (real rho)
        (real beta)
    else learner2 m k edge (real eta) (real gamma) (real rho) (real beta) n in
  (* A state holds functions. Their values are computed once and kept, or each round would take
     longer than all rounds before it. *)
  let keep_row f =
    let kept = Array.init k (fun a -> f (Obj.magic a)) in
    fun a -> kept.(Obj.magic a) in
  let keep_table f =
    let kept = Array.init m (fun c -> keep_row (f (Obj.magic c))) in
    fun c -> kept.(Obj.magic c) in
  let keep state =
    if algorithm = 1 then Obj.repr (keep_table (Obj.obj state))
    else
      let s : memory = Obj.obj state in
      Obj.repr { s with total = keep_table s.total; snap = keep_table s.snap;
                        snap_next = keep_table s.snap_next; w = keep_row s.w;
                        w_hat = keep_row s.w_hat; m_hat = keep_row s.m_hat } in
  let state = ref (keep (Obj.repr learner.start)) in
  for _ = 1 to rounds do
    let context = integer () in
    let u = number () in
    let split = number () in
    let retain = number () in
    let loss = Array.init m (fun _ -> numbers k) in
    let policy = Array.init m (fun c -> Array.init k (fun a ->
      (Obj.magic (learner.policy (Obj.magic !state) (Obj.magic c) (Obj.magic a)) : float))) in
    let arm = draw policy.(context) u in
    let seen c a =
      if graph.(arm).(Obj.magic a) then Some (real loss.(Obj.magic c).(Obj.magic a)) else None in
    (* The first draw of a program is the split, the second the retention. *)
    let rec finish draws = function
      | Ret state -> state
      | Draw (_, weight, next) ->
        let heads = match draws with
          | 0 -> split >= 0.5
          | _ -> retain < (Obj.magic (weight (Obj.magic true)) : float) in
        finish (draws + 1) (next (Obj.magic heads)) in
    let program = learner.learn (Obj.magic !state) (Obj.magic context) (Obj.magic arm) seen in
    state := keep (Obj.repr (finish 0 program));
    Printf.printf "%d" arm;
    Array.iter (Array.iter (Printf.printf " %.17g")) policy;
    print_newline ()
  done

let certified () =
  let m = integer () in
  let k = integer () in
  let rounds = integer () in
  let alpha = real (number ()) in
  let coins = real (number ()) in
  let slots = integer () in
  let longest = integer () in
  let usual = integer () in
  let by_round = integer () = 1 in
  let loops = Array.init k (fun _ -> integer () = 1) in
  let members = integer () in
  let dominating = List.init members (fun _ -> Obj.magic (integer ())) in
  let count = integer () in
  let graphs = Array.init count (fun _ ->
    Array.init k (fun _ -> Array.init k (fun _ -> integer () = 1))) in
  let graph t c = graphs.(if count = 1 then 0 else if count = rounds then t else c) in
  let edge t c v a = (graph t (Obj.magic c)).(Obj.magic v).(Obj.magic a) in
  let zero = Obj.magic 0 in
  let learner = learner3 m k zero zero edge max_int alpha coins slots longest usual by_round
    (fun a -> loops.(Obj.magic a)) dominating in
  let state = ref learner.start in
  for t = 0 to rounds - 1 do
    let context = integer () in
    let u = number () in
    let lot = number () in
    let loss = Array.init m (fun _ -> numbers k) in
    let policy = Array.init m (fun c -> Array.init k (fun a ->
      (Obj.magic (learner.policy !state (Obj.magic c) (Obj.magic a)) : float))) in
    let arm = draw policy.(context) u in
    let seen c a =
      if (graph t context).(arm).(Obj.magic a) then Some (real loss.(Obj.magic c).(Obj.magic a))
      else None in
    (match learner.learn !state (Obj.magic context) (Obj.magic arm) seen with
     | Draw (_, weight, next) ->
       let drawn = lot < (Obj.magic (weight (Obj.magic true)) : float) in
       (match next (Obj.magic drawn) with Ret s -> state := s | Draw _ -> assert false)
     | Ret _ -> assert false);
    let bound = certificate3 m k zero zero (Obj.magic !state) in
    Printf.printf "%d %.17g" arm (Obj.magic bound : float);
    Array.iter (Array.iter (Printf.printf " %.17g")) policy;
    print_newline ()
  done

let () =
  match integer () with
  | 3 -> certified ()
  | 0 -> bounds ()
  | algorithm -> run algorithm
