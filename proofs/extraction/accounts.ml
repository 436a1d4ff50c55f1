(* Runs the extracted account, fleet or memory of decisions on events, and shows each state.

   One command in each line of standard input. The first line says what is run:

     account TOP NUM DEN            an account; the worst case is NUM / DEN
     fleet BUDGET TOP NUM DEN       a shared budget
     memory SIZE SPAN SKEW MOST MOST_AHEAD

   Events of an account, with a key of two numbers:

     turn A | change A | place D N P AT | outcome D N P WON | expire T | forget T |
     correct D N P WON | grant N | unknown D N C AT

   Events of a fleet: lend H A | end H | deliver I | later | act H and an event of an account.
   Events of a memory: learn D C T NOW | freeze | reload. Numbers are whole; WON is 0 or 1.

   The state of an account: given, spent, reserved, late, what is free, the number of the first bid
   of the period or -1, then number:price:1 of each open bid, with 0 if it is of an earlier period.
   A fleet shows what is left and the state of the holder that the event names. A memory shows what
   was dropped or "none", how often it has learned, and decider:number:newest:learned of each page,
   sorted. *)
open Models

let integer () = Scanf.scanf " %d" (fun x -> x)
let word () = Scanf.scanf " %s" (fun x -> x)
let flag () = integer () = 1

let key () = let d = integer () in let n = integer () in (d, n)

let event name =
  match name with
  | "turn" -> Turn (integer ())
  | "change" -> Change (integer ())
  | "place" -> let k = key () in let p = integer () in Place (k, p, integer ())
  | "outcome" -> let k = key () in let p = integer () in Outcome (k, p, flag ())
  | "expire" -> Expire (integer ())
  | "forget" -> Forget (integer ())
  | "correct" -> let k = key () in let p = integer () in Correct (k, p, flag ())
  | "grant" -> Grant (integer ())
  | "unknown" -> let k = key () in let c = integer () in Unknown (k, c, integer ())
  | _ -> failwith name

let show num den s =
  let first = match s.first with Some (_, n) -> n | None -> -1 in
  Printf.printf "%d %d %d %d %d %d" s.given s.spent s.reserved s.late (free num den s) first;
  List.iter (fun b ->
    let present = Bool.to_int (b.of_period = s.period) in
    Printf.printf " %d:%d:%d" (snd b.name) b.price present) s.open0;
  print_newline ()

let account () =
  let top = integer () in
  let num = integer () in
  let den = integer () in
  let state = ref start in
  fun name -> state := step top num den !state (event name); show num den !state

let fleet () =
  let budget = integer () in
  let top = integer () in
  let num = integer () in
  let den = integer () in
  let state = ref (fleet_start budget) in
  fun name ->
    let deed, holder = match name with
      | "lend" -> let h = integer () in Lend (h, integer ()), h
      | "end" -> let h = integer () in End h, h
      | "deliver" -> Deliver (integer ()), 0
      | "later" -> Later, 0
      | "act" -> let h = integer () in Act (h, event (word ())), h
      | _ -> failwith name in
    state := do0 top num den !state deed;
    Printf.printf "%d " (left !state);
    show num den (!state.accounts holder)

let memory () =
  let size = integer () in
  let span = integer () in
  let skew = integer () in
  let most = integer () in
  let most_ahead = integer () in
  let state = ref empty in
  fun name ->
    let e = match name with
      | "learn" ->
        let d = integer () in
        let c = integer () in
        let t = integer () in
        Learn (d, c, t, integer ())
      | "freeze" -> Freeze
      | "reload" -> Reload
      | _ -> failwith name in
    state := step0 size span skew most most_ahead !state e;
    let m = !state in
    Printf.printf "%s %d" (match m.dropped with Some t -> string_of_int t | None -> "none")
      (List.length m.history);
    List.sort compare (List.map (fun p -> (p.its_key, p.newest, List.length p.learned)) m.pages)
    |> List.iter (fun ((d, n), t, l) -> Printf.printf " %d:%d:%d:%d" d n t l);
    print_newline ()

let () =
  let run = match word () with
    | "account" -> account ()
    | "fleet" -> fleet ()
    | "memory" -> memory ()
    | name -> failwith name in
  let rec go () = match word () with "" -> () | name -> run name; go () in
  go ()
