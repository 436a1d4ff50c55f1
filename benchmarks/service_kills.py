"""Kill and stop the processes of the service at random moments, and check that nothing is lost.

    python -m benchmarks.service_kills --kills 1000 --store sqlite
    python -m benchmarks.service_kills --kills 1000 --freezes 200 --deletes 200 --store postgresql

Four processes at a time decide, report and learn for a plain bidder, for one with a budget, and for
one with campaigns, of which two have budgets, and one is paused and resumed now and then. Outcomes
are late, reordered and reported twice. One process after the other is ended by SIGKILL and
replaced. Others are stopped by SIGSTOP and go on later. One more bidder is deleted and created
again while all of them use it. What was acknowledged is written down by the processes themselves.
At the end:

- all that was acknowledged is in the log, and each outcome was learned once;
- the newest checkpoint with the rest of the log has the same bytes as all of the log, read by one
  process from the beginning (nothing is left out of the comparison: the state has no random part,
  as seeds and ids are those of the first checkpoint);
- the law is that of a plain bidder that was told each outcome once, one after the other;
- all decisions under a budget that were answered are in the log, with the same tokens, or the log
  says that decisions with these numbers may have been lost; what they won costs no more than the
  budget of the bidder, or of the campaign, and neither does what was spent and reserved;
- a process that was never stopped had no problem with the store, also while others were stopped or
  bidders were deleted, unless the machine was so busy that such processes did not run for a quarter
  of a lease; the deleted bidder is as its log says.

On PostgreSQL, the bidders of a stopped process are taken over within two leases, and there is no
deadlock. On SQLite, a process that was stopped while it wrote stops the others until it goes on.

On SQLite, all processes are stopped now and then and the files are copied, with a torn end, as
after a loss of power; the copies are checked as well.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
import traceback
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np
import psycopg

from benchmarks.postgresql_server import PostgresqlServer
from benchmarks.service_checks import CAMPAIGNS, NAMES, SPARE, check, said, settings_of
from crossbandit.errors import CrossbanditError
from crossbandit.service import Decided, Node, Outcome, ServiceError, StoreError, open_store
from crossbandit.service import bidder as service_bidder
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.store import NewBidder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.service.store import Checkpoint

ROLES = ("front", "learner", "all")
LEASE = 1.0  # seconds
_SLACK = 5.0  # seconds by which a busy machine may be late
_BEAT = 0.02  # seconds between two looks at the clock
service_bidder.SHARE = 0.1  # so that bidders with a small budget answer before they log, too


# --- the processes -------------------------------------------------------------------------------


def work(address: str, role: str, seed: int, notes: Path) -> NoReturn:
    """Decide, report and learn until the process is killed."""
    node = begun(address, role)
    file = os.open(notes, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    Thread(target=note_halts, args=(file,), daemon=True).start()
    while role == "learner":
        note_problem(node, file)
        time.sleep(0.05)
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[Outcome]] = {name: [] for name in (*NAMES, SPARE)}
    while True:
        note_problem(node, file)
        for name, outcomes in waiting.items():
            try:
                outcomes.extend(auctions(node, name, rng, file))
                turn(node, name, rng)
                send(node, name, rng, outcomes, file)
            except ServiceError:  # another node decides, or the bidder was deleted: go on
                time.sleep(0.01)
        time.sleep(0.002)


def begun(address: str, role: str) -> Node:
    """Start a node, again if the process was stopped while it read the store."""
    while True:
        try:
            node = Node(
                open_store(address),
                learn=role != "front",
                lease=LEASE,
                poll=0.05,
                publish=0.1,
                checkpoint_entries=400,
                checkpoint_seconds=0.5,
            )
            node.start()
        except StoreError:
            time.sleep(0.01)
        else:
            return node


def auctions(node: Node, name: str, rng: np.random.Generator, file: int) -> list[Outcome]:
    """Bid in a few auctions, and return their outcomes."""
    count = int(rng.integers(1, 8))
    values, prices = rng.uniform([1, 0.1], [10, 6], (count, 2)).T.tolist()
    campaigns = rng.choice(CAMPAIGNS, count).tolist() if name == "campaigns" else [""] * count
    found, answers = [], decided(node, name, values, campaigns, at_once=rng.random() < 0.2)
    for answer, price, campaign in zip(answers, prices, campaigns, strict=True):
        if answer.token is None or answer.amount is None:
            continue
        won = answer.amount >= price and answer.amount > 0
        if name in {"limited", "campaigns"}:
            note(file, f"D {name} {campaign} {answer.token} {answer.amount if won else 0.0}")
        found.append(Outcome(answer.token, won, None if won else price))
    return found


def decided(
    node: Node, name: str, values: list[float], campaigns: list[str], *, at_once: bool
) -> Iterator[Decided]:
    """Yield the answers of the service, as soon as each is there."""
    named = any(campaigns)
    made: Any
    if at_once:
        made = node.decide_many(name, values, classes={"campaign": campaigns} if named else {})
        yield from made.result() if isinstance(made, Future) else made
        return
    for value, campaign in zip(values, campaigns, strict=True):
        made = node.decide(name, value, classes={"campaign": campaign} if named else {})
        yield made.result() if isinstance(made, Future) else made


def turn(node: Node, name: str, rng: np.random.Generator) -> None:
    """Pause or resume a campaign, now and then."""
    if name == "campaigns" and rng.random() < 0.01:
        (node.pause if rng.random() < 0.3 else node.resume)(name, "shoes")


def send(
    node: Node, name: str, rng: np.random.Generator, waiting: list[Outcome], file: int
) -> None:
    """Report some of the outcomes that wait, in any order, and some of them again."""
    rng.shuffle(waiting)
    count = int(rng.integers(len(waiting) + 1))
    some = waiting[:count]
    if not some:
        return
    again = [one for one in some if rng.random() < 0.05]
    done = node.report(name, [*some, *again]).result()
    if name == SPARE:  # it may have been deleted and created again
        waiting.clear()
        return
    assert done.accepted == len(some) + len(again), done
    note(file, "\n".join(f"R {name} {one.token}" for one in some))
    keep = [one for one in some if rng.random() < 0.02]  # to be reported again, much later
    waiting[:] = [*waiting[count:], *keep]


def note_problem(node: Node, file: int) -> None:
    """Write down whether the node is not ready because of the store."""
    problem = node.health()["store"]
    if problem:
        note(file, f"P {time.time()} {problem.replace(' ', '_').partition(chr(10))[0]}")


def note_halts(file: int) -> NoReturn:
    """Write down when the process did not run for so long that the store may have given it up."""
    while True:
        before = time.time()
        time.sleep(_BEAT)
        if time.time() - before > _BEAT + LEASE / 4:
            note(file, f"H {time.time()} {time.time() - before}")


def note(file: int, text: str) -> None:
    """Write lines down; what is in the hands of the system outlives the process."""
    os.write(file, f"{text}\n".encode())


# --- the run -------------------------------------------------------------------------------------


class Run:
    """Processes on one store, killed or stopped one after the other.

    Args:
        address: The address of an empty store.
        folder: For notes and copies.
        budget: The budget of the bidder that has one.
        seed: The seed of everything random here.
    """

    def __init__(self, address: str, folder: Path, budget: float, seed: int) -> None:
        self.budget = budget
        self.address, self.rng = address, np.random.default_rng(seed)
        self.notes, self.folder = folder / "notes", folder
        self.notes.mkdir()
        self.first: dict[str, Checkpoint] = {}
        self.processes: dict[int, str] = {}
        self.wrote: dict[int, Path] = {}
        self.killed = dict.fromkeys(ROLES, 0)
        self.copies = self.frozen = self.deleted = 0
        self.stopped: set[Path] = set()  # the notes of processes that were stopped
        self.takeovers: list[float] = []
        self.session = open_store(address).session()
        for name in (*NAMES, SPARE):
            self.create(name)

    def create(self, name: str) -> None:
        """Create a bidder."""
        settings = settings_of(self.budget)[name]
        live = LiveBidder(settings.build())
        self.first[name] = live.checkpoint()
        text = msgspec.json.encode(settings).decode()
        bidder = NewBidder(name, text, live.bidder.learner.learner, time.time())
        self.session.create(bidder, live.policy(0.0), self.first[name])

    def begin(self, role: str) -> None:
        """Start a process. Everything is compiled and loaded already."""
        seed = int(self.rng.integers(1 << 60))
        notes = self.notes / f"{seed:x}"
        child = os.fork()
        if child == 0:
            try:
                work(self.address, role, seed, notes)
            except BaseException:  # noqa: BLE001 - it is shown, and found when the process ends
                traceback.print_exc()
            os._exit(1)
        self.processes[child], self.wrote[child] = role, notes

    def kill(self) -> None:
        """End one of the processes, and replace it."""
        child = int(self.rng.choice(list(self.processes)))
        role = self.processes.pop(child)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"a process ({role}) ended by itself"
        self.killed[role] += 1
        self.begin(role)

    def freeze(self) -> None:
        """Stop a process for a moment, or until others have its bidders, and let it go on."""
        child = int(self.rng.choice(list(self.processes)))
        self.stopped.add(self.wrote[child])
        os.kill(child, signal.SIGSTOP)
        began = time.monotonic()
        try:
            if not self.address.startswith("sqlite") and self.rng.random() < 0.7:
                held = {row.name for row in self.session.bidders() if _process(row.holder) == child}
                self.delete()
                self.await_takeover(child, held - {SPARE}, began)
            time.sleep(float(self.rng.uniform(0.0, 1.5 * LEASE)))
        finally:
            os.kill(child, signal.SIGCONT)
        self.frozen += 1

    def await_takeover(self, child: int, held: set[str], began: float) -> None:
        """Wait until another process has the leases of one that was stopped."""
        while any(
            row.name in held and _process(row.holder) in {0, child}
            for row in self.session.bidders()
        ):
            assert time.monotonic() < began + 60, "no other process has taken over"
            time.sleep(0.01)
        if held:
            self.takeovers.append(time.monotonic() - began)

    def delete(self) -> None:
        """Delete the spare bidder, and create it again."""
        for row in self.session.bidders():
            if row.name == SPARE:
                self.session.delete(row.id)
        self.create(SPARE)
        self.deleted += 1

    def deadlocks(self) -> int:
        """Return how many deadlocks PostgreSQL has found."""
        if self.address.startswith("sqlite"):
            return 0
        time.sleep(1.5)  # it counts with some delay
        with psycopg.connect(self.address) as watch:
            query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            found = watch.execute(query).fetchone()
        return 0 if found is None else int(found[0])

    def end(self) -> None:
        """End all processes."""
        for child in self.processes:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.processes = {}

    def copy(self) -> None:
        """Copy the files of SQLite as a loss of power would leave them, and check the copy."""
        source = Path(self.address.removeprefix("sqlite:///"))
        target = self.folder / f"copy{self.copies}.db"
        for child in self.processes:
            os.kill(child, signal.SIGSTOP)
        known = said(self.notes)
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
        for child in self.processes:
            os.kill(child, signal.SIGCONT)
        with Path(f"{target}-wal").open("ab") as wal:
            wal.write(self.rng.bytes(int(self.rng.integers(1, 9000))))
        check(f"sqlite:///{target}", self.first, known, self.budget)
        self.copies += 1
        for one in self.folder.glob(f"{target.name}*"):
            one.unlink()


def _process(holder: str) -> int:
    """Return the number of the process that holds a lease; 0 if nobody does."""
    return int(holder.split("/")[1]) if holder else 0


def run(
    address: str,
    folder: Path,
    *,
    kills: int,
    freezes: int = 0,
    deletes: int = 0,
    copies: int = 0,
    seed: int = 0,
) -> str:
    """Kill and stop processes, check the store, and return a summary.

    Raises:
        AssertionError: Something was lost, or counted twice.
    """
    before = time.monotonic()
    budget = 300.0 + 5.0 * kills  # it is spent before the end
    made = Run(address, folder, budget, seed)
    try:
        for role in (*ROLES, "all"):
            made.begin(role)
        time.sleep(1.0)
        steps = [made.kill] * kills + [made.freeze] * freezes + [made.delete] * deletes
        for i in made.rng.permutation(len(steps)).tolist():
            time.sleep(float(made.rng.uniform(0.0, 0.4)))
            steps[i]()
            if i < kills and copies and i % max(kills // copies, 1) == 0:
                made.copy()
    finally:
        made.end()
    assert made.deadlocks() == 0
    made.session.close()
    spent = time.monotonic() - before
    known = said(made.notes)
    troubled = known.troubled(made.stopped, _SLACK)
    assert not troubled, f"a process that went on was not ready: {troubled}"
    latest = max(made.takeovers, default=0.0)
    assert latest < 2 * LEASE + _SLACK, f"a takeover took {latest:.1f} s"
    counts = check(address, made.first, known, budget)
    reported = sum(len(tokens) for tokens in known.reported.values())
    costs = [one for decided in known.decided.values() for one in decided.values()]
    killed = ", ".join(f"{count} {role}" for role, count in made.killed.items())
    return (
        f"{kills} processes killed in {spent:.0f} s ({killed}); {made.frozen} stopped, "
        f"{len(made.takeovers)} of which had leases, taken over within {latest:.1f} s; "
        f"{made.deleted} bidders deleted; {made.copies} copies; "
        f"{reported} outcomes acknowledged, {counts['outcomes']} in the log and learned once, "
        f"{counts['duplicates']} duplicates refused; {len(costs)} decisions under "
        f"limits answered with a bid, all but {counts['lost']} of them in the log, which won for "
        f"{sum(costs):.0f}. Nothing was lost."
    )


def main() -> None:
    """Run on a new store, or on the one given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--freezes", type=int, default=0)
    parser.add_argument("--deletes", type=int, default=0)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgresql, or an address")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    steps = {key: getattr(given, key) for key in ("kills", "freezes", "deletes", "seed")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.store == "postgresql":
            with PostgresqlServer() as server:
                print(run(server.address, folder, **steps))
        else:
            address = f"sqlite:///{folder / 'service.db'}"
            address = given.store if "://" in given.store else address
            copies = given.copies if address.startswith("sqlite") else 0
            print(run(address, folder, **steps, copies=copies))


if __name__ == "__main__":
    try:
        main()
    except CrossbanditError as error:
        raise SystemExit(str(error)) from None
