"""Kill the processes of the service at random moments, and check that nothing is lost.

    python -m benchmarks.service_kills --kills 1000 --store sqlite
    python -m benchmarks.service_kills --kills 1000 --store postgresql

Four processes at a time decide, report and learn for a plain bidder and for one with a budget.
Outcomes are late, reordered and reported twice. One process after the other is ended by SIGKILL and
replaced. What was acknowledged is written down by the processes themselves. At the end:

- all that was acknowledged is in the log, and each outcome was learned once;
- the newest checkpoint with the rest of the log has the same bytes as all of the log, read by one
  process from the beginning (nothing is left out of the comparison: the state has no random part,
  as seeds and ids are those of the first checkpoint);
- the law is that of a plain bidder that was told each outcome once, one after the other;
- all decisions under the budget that were answered are in the log, with the same tokens, and what
  they won costs no more than the budget.

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
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec
import numpy as np

from benchmarks.postgresql_server import PostgresqlServer
from benchmarks.service_checks import NAMES, check, said, settings_of
from crossbandit.errors import CrossbanditError
from crossbandit.service import Decided, Node, Outcome, ServiceError, open_store
from crossbandit.service.live import LiveBidder, restored

if TYPE_CHECKING:
    from crossbandit.service.store.rows import Checkpoint

ROLES = ("front", "learner", "all")


# --- the processes -------------------------------------------------------------------------------


def work(address: str, role: str, seed: int, notes: Path) -> NoReturn:
    """Decide, report and learn until the process is killed."""
    node = Node(
        open_store(address),
        learn=role != "front",
        lease=1.0,
        poll=0.05,
        publish=0.1,
        checkpoint_entries=400,
        checkpoint_seconds=0.5,
    )
    node.start()
    if role == "learner":
        while True:
            time.sleep(1.0)
    file = os.open(notes, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[Outcome]] = {name: [] for name in NAMES}
    while True:
        for name in NAMES:
            try:
                waiting[name] += auctions(node, name, rng, file)
                send(node, name, rng, waiting[name], file)
            except ServiceError:  # another node decides, or the store is away: go on
                time.sleep(0.01)
        time.sleep(0.002)


def auctions(node: Node, name: str, rng: np.random.Generator, file: int) -> list[Outcome]:
    """Bid in a few auctions, and return their outcomes."""
    found = []
    for value, price in rng.uniform([1, 0.1], [10, 6], (int(rng.integers(1, 8)), 2)).tolist():
        made = node.decide(name, value)
        answer: Decided = made.result() if isinstance(made, Future) else made
        if answer.token is None or answer.amount is None:
            continue
        won = answer.amount >= price and answer.amount > 0
        if name == "limited":
            note(file, f"D {answer.token} {answer.amount if won else 0.0}")
        found.append(Outcome(answer.token, won, None if won else price))
    return found


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
    assert done.accepted == len(some) + len(again), done
    note(file, "\n".join(f"R {name} {one.token}" for one in some))
    keep = [one for one in some if rng.random() < 0.02]  # to be reported again, much later
    waiting[:] = [*waiting[count:], *keep]


def note(file: int, text: str) -> None:
    """Write lines down; what is in the hands of the system outlives the process."""
    os.write(file, f"{text}\n".encode())


# --- the run -------------------------------------------------------------------------------------


class Run:
    """Processes on one store, killed one after the other.

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
        self.killed = dict.fromkeys(ROLES, 0)
        self.copies = 0
        session = open_store(address).session()
        for name, settings in settings_of(budget).items():
            live = LiveBidder(settings.build())
            self.first[name] = live.checkpoint()
            text = msgspec.json.encode(settings).decode()
            owner = live.bidder.learner.learner
            session.create(name, text, owner, time.time(), live.policy(0.0), self.first[name])
        session.close()

    def begin(self, role: str) -> None:
        """Start a process. Everything is compiled and loaded already."""
        seed = int(self.rng.integers(1 << 60))
        notes = self.notes / f"{seed:x}"
        child = os.fork()
        if child == 0:
            try:
                work(self.address, role, seed, notes)
            finally:
                os._exit(1)
        self.processes[child] = role

    def kill(self) -> None:
        """End one of the processes, and replace it."""
        child = int(self.rng.choice(list(self.processes)))
        role = self.processes.pop(child)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"a process ({role}) ended by itself"
        self.killed[role] += 1
        self.begin(role)

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


def warm_up() -> None:
    """Load all compiled code, so that processes made by `fork` have it."""
    for settings in settings_of(100.0).values():
        live = restored(LiveBidder(settings.build()).checkpoint(), None)
        bidder = live.bidder if settings.limited else live.bidder.snapshot()
        bids = bidder.bid_many([5.0, 6.0, 7.0])
        prices = [9.0] * 3
        live.bidder.settle_many(bids, won=[False] * 3, highest_competing_bid=prices)
        live.bidder.settle(bidder.bid(6.0), won=False, highest_competing_bid=9.5)
        live.policy(0.0)
        live.bidder.diagnosis()
        live.bidder.price_law(5.0)
        live.bidder.policy(5.0)


def run(address: str, folder: Path, kills: int, copies: int, seed: int) -> str:
    """Kill processes, check the store, and return a summary.

    Raises:
        AssertionError: Something was lost, or counted twice.
    """
    warm_up()
    before = time.monotonic()
    budget = 20.0 + 5.0 * kills  # it is spent before the end
    made = Run(address, folder, budget, seed)
    try:
        for role in (*ROLES, "all"):
            made.begin(role)
        time.sleep(1.0)
        for i in range(kills):
            time.sleep(float(made.rng.uniform(0.0, 0.4)))
            made.kill()
            if copies and i % max(kills // copies, 1) == 0:
                made.copy()
    finally:
        made.end()
    spent = time.monotonic() - before
    known = said(made.notes)
    counts = check(address, made.first, known, budget)
    reported = sum(len(tokens) for tokens in known.reported.values())
    killed = ", ".join(f"{count} {role}" for role, count in made.killed.items())
    return (
        f"{kills} processes killed in {spent:.0f} s ({killed}); {made.copies} copies; "
        f"{reported} outcomes acknowledged, {counts['outcomes']} in the log and learned once, "
        f"{counts['duplicates']} duplicates refused; {len(known.decided)} decisions under the "
        f"budget answered with a bid, {counts['decisions']} in the log, which won for "
        f"{sum(known.decided.values()):.0f} of {budget:.0f}. Nothing was lost."
    )


def main() -> None:
    """Run on a new store, or on the one given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgresql, or an address")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.store == "postgresql":
            with PostgresqlServer() as server:
                print(run(server.address, folder, given.kills, 0, given.seed))
        else:
            address = f"sqlite:///{folder / 'service.db'}"
            address = given.store if "://" in given.store else address
            copies = given.copies if address.startswith("sqlite") else 0
            print(run(address, folder, given.kills, copies, given.seed))


if __name__ == "__main__":
    try:
        main()
    except CrossbanditError as error:
        raise SystemExit(str(error)) from None
