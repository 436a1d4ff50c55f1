"""The accounting of budgets, and the memory of decisions, do what the proved models do.

Random events happen to both, and after each of them their states are the same. The theorems are in
`proofs/Budgets.v` and `proofs/ExactlyOnce.v`.
"""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.algorithms.learners.seen import PAGE, SeenDecisions
from crossbandit.errors import ExpiredDecisionError, InvalidParameterError
from crossbandit.limits import Budget, Lease, Pacer, SharedBudget
from crossbandit.limits import state as col
from crossbandit.limits.state import in_units
from tests.proofs.extraction import PROOFS, build, require_coq, run_model

if TYPE_CHECKING:
    from pathlib import Path

GRID = np.array([0.0, 1.0, 2.0, 3.5, 7.0])
KEPT = 8 * 86_400  # seconds for which a pacer remembers bids of earlier periods
FAR = 2**44  # between the first keys of two processes


@pytest.fixture(scope="module")
def models() -> Path:
    require_coq()
    return build(PROOFS, "accounts")


class Account:
    """A pacer with one budget or lease, and the events that happen to it, each with a state."""

    def __init__(self, limit: Budget | Lease, rng: random.Random, expires: int | None) -> None:
        self.limit, self.rng, self.expires = limit, rng, expires
        self.pacer = self.made()
        self.log: list[tuple[str, list[str], int]] = []  # an event, and the state and free money
        self.now = self.process = self.round = 0
        self.bids: dict[int, int] = {}  # the amount of each bid, by its number
        self.keys: dict[int, tuple[int, int]] = {}  # of bids that may have been made
        self.known: dict[int, bool] = {}  # the outcomes that were reported

    def made(self) -> Pacer:
        return Pacer(GRID, [self.limit], value_range=(0, 10), expires=self.expires)

    @property
    def first_line(self) -> str:
        worst = round(100 * getattr(self.limit, "worst_case", 0))
        return f"account {self.pacer.rules.prices[-1]} {worst} 100"

    def key(self, number: int) -> int:
        return FAR * (self.keys[number][0] + 1) + number

    def named(self, number: int) -> str:
        return "{} {}".format(*self.keys[number])

    def next_number(self) -> int:
        self.round += 1
        self.keys[self.round] = (self.process, self.round)
        return self.round

    def note(self, *events: str) -> None:
        """Note events, and the state after the last of them."""
        self.log += [(event, [], 0) for event in events[:-1]]
        money, first = self.pacer.state.money[0].tolist(), int(self.pacer.firsts[0])
        table, rows = self.pacer.reserved.table, self.pacer.reserved.rows
        present = table.tickets[:, 0, col.OF_PERIOD] == self.pacer.state.times[0, col.PERIOD]
        words = [
            *map(str, (*money[:3], int(self.pacer.late[0]))),
            str(-1 if first == col.NO_BID else first % FAR),
            *(f"{key % FAR}:{table.prices[row, 0]}:{present[row]:d}" for key, row in rows.items()),
        ]
        free = int(self.pacer.reserved.core.free_money(0, 10.0))
        self.log.append((events[-1], words, free))

    def bid(self) -> None:
        """Open an auction, and bid what may be bid, or less."""
        self.now += self.rng.choice([0, 1, 60, 700, 2500, self.rng.choice([3600, KEPT])])
        pacer, period = self.pacer, self.pacer.state.times[0, col.PERIOD]
        _, last, cap = pacer.open(10.0, float(self.now), 0, GRID.size - 1)
        events = []
        if pacer.state.times[0, col.PERIOD] != period:
            events.append(f"turn {pacer.state.money[0, col.GIVEN]}")
        if self.expires is not None:
            events.append(f"expire {self.now - self.expires}")
        if events:
            self.note(*events)
        amount = min(cap, self.rng.choice([last, self.rng.randint(1, last)]))
        if amount < 1 or self.rng.random() < 0.1:
            pacer.decline(10.0)
            return
        begins, number = bool(pacer.periods.begun), self.next_number()
        self.bids[number] = amount
        pacer.reserve(self.key(number), 10.0, amount, last, self.rng.choice([0.02, 0.3, 1.0]))
        forget = [f"forget {self.now - KEPT}"] if begins else []
        price = pacer.rules.prices[amount]
        self.note(*forget, f"place {self.named(number)} {price} {self.now}")

    def outcome(self) -> None:
        """Report an outcome of a bid, for the first time or another than before."""
        if not self.bids:
            return
        number = self.rng.choice(list(self.bids))
        price, money = self.pacer.rules.prices[self.bids[number]], float(GRID[self.bids[number]])
        won, told = self.rng.random() < 0.6, f"{self.named(number)} {price}"
        if number not in self.known:
            self.pacer.settle(self.key(number), 10.0, money, won, np.inf)
            self.note(f"outcome {told} {won:d}")
        elif self.known[number] != won:
            self.pacer.correct(self.key(number), 10.0, money, won=won)
            self.note(f"correct {told} {won:d}")
        self.known[number] = won

    def reload(self) -> None:
        """Go on from a file."""
        saved = self.pacer.freeze()()
        self.pacer = self.made()
        self.pacer.restore(saved)
        self.note(f"change {self.pacer.state.money[0, col.GIVEN]}")

    def crash(self) -> None:
        """Lose bids that may have been answered and are not in the log: reserve money for them."""
        granted = self.pacer.spare(self.rng.uniform(0.1, 0.9), 3)
        if not granted:
            return
        self.note(f"grant {granted}")
        self.reload()
        numbers = [self.next_number() for _ in range(granted)]
        forget = [f"forget {self.now - KEPT}"] if self.pacer.periods.begun else []
        self.pacer.reserve_unknown(np.array([*map(self.key, numbers)]), float(self.now))
        amounts = {number: self.rng.randint(1, GRID.size - 1) for number in numbers}
        self.bids |= {one: amount for one, amount in amounts.items() if self.rng.random() < 0.7}
        self.note(
            *forget,
            *(
                f"unknown {self.named(number)} {self.pacer.rules.prices[amount]} {self.now}"
                for number, amount in amounts.items()
            ),
        )
        self.process += 1


def check(models: Path, first: str, log: list[tuple[str, list[str], int]], *, soft: bool) -> None:
    """Compare states with those of a model. soft: a pacer may leave less free than the model."""
    found = run_model(models, [first, *(event for event, _, _ in log)])
    for words, (event, state, free) in zip(found, log, strict=True):
        if state:
            assert words[:4] + words[5:] == state, event
            assert free == int(words[4]) or (soft and free <= int(words[4])), event


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("worst", [0.0, 0.25, 1.0])
def test_a_budget_is_accounted_for_as_in_the_proof(models: Path, seed: int, worst: float) -> None:
    per = [timedelta(hours=1), timedelta(minutes=20), None][seed % 3]
    limit = Budget([10, 23.7, 100][seed // 3 % 3], per=per, pacing="asap", worst_case=worst)
    rng = random.Random(seed)  # noqa: S311 - events, not secrets
    account = Account(limit, rng, [None, 900, 5000][seed % 3 - 1])
    deeds = [account.bid, account.outcome, account.reload, account.crash]
    account.bid()
    for deed in rng.choices(deeds, [12, 12, 1, 1], k=400):
        deed()
    check(models, account.first_line, account.log, soft=worst > 0)
    words = {event.split()[0] for event, _, _ in account.log}
    assert {"turn", "place", "outcome", "correct", "change"} <= words
    assert limit.amount < 50 or "unknown" in words
    used = [int(state[1]) + int(state[2]) - int(state[0]) for _, state, _ in account.log if state]
    assert limit.amount > 50 or worst < 1 or max(used) > 0  # more than the amount is at risk


def test_the_comparison_notices_money_that_is_missing(models: Path) -> None:
    rng = random.Random(1)  # noqa: S311
    account = Account(Budget(20, per=None, pacing="asap", worst_case=0), rng, None)
    while not any(account.known.values()):
        account.bid()
        account.outcome()
    check(models, account.first_line, account.log, soft=False)
    account.log[-1][1][1] = "0"  # what was spent
    with pytest.raises(AssertionError):
        check(models, account.first_line, account.log, soft=False)


# --- many holders --------------------------------------------------------------------------------


class Holder(Account):
    """A bidder with leases of a shared budget."""

    ended = True

    def note(self, *events: str) -> None:
        """A lease begins and ends by other events, and what it has is not compared."""
        super().note(*events)
        while self.log and self.log[-1][0].startswith(("turn", "change")):
            self.log.pop()


@pytest.mark.parametrize("seed", range(6))
def test_a_shared_budget_is_accounted_for_as_in_the_proof(models: Path, seed: int) -> None:
    """Messages of holders come late, twice or never; holders are late, too."""
    rng = random.Random(seed)  # noqa: S311
    shared = SharedBudget(Budget(60, per="hour"), max_jump=None)
    first = Lease("none", 60.0, 0.0, 1.0, "asap")
    holders = [Holder(first, rng, 900) for _ in range(3)]
    unit, top = holders[0].pacer.unit, holders[0].pacer.rules.prices[-1]
    now, hour = 3600, 1
    messages: list[Any] = []
    events: list[str] = []
    states: list[tuple[int, list[str]]] = []
    shared.left(at=now)

    def note(event: str, state: list[str]) -> None:
        events.append(event)
        states.append((int(shared.left(at=now).scaleb(-unit.adjusted())), state))

    for _ in range(400):
        now += rng.choice([0, 1, 30, 100])
        if now // 3600 != hour:
            hour = now // 3600
            note("later", [])
        name, deed = rng.randrange(3), rng.random()
        holder = holders[name]
        if deed < 0.1:
            note(f"end {name}", [])
            try:
                made = shared.lease(rng.choice([7.0, 13.5, 29.0]), at=now, pacing="asap")
            except InvalidParameterError:
                messages.append(holder.pacer.periods.renew(None))
                continue
            lease = Lease(made.id, made.amount, made.begins, made.ends, "asap")
            messages.append(holder.pacer.periods.renew(lease))
            holder.limit = lease
            note(f"lend {name} {in_units(lease.amount, unit, ROUND_FLOOR)}", [])
        elif deed < 0.15:
            messages.append(holder.pacer.periods.renew(None))
            note(f"end {name}", [])
        elif deed < 0.25 and messages:
            i = rng.randrange(len(messages))
            shared.take_back(*messages[i], at=now)
            note(f"deliver {len(messages) - 1 - i}", [])
        else:
            holder.now = max(holder.now, now - rng.choice([0, 0, 300]))
            before = len(holder.log)
            rng.choice([holder.bid, holder.outcome])()
            for event, state, _ in holder.log[before:]:
                note(f"act {name} {event}", state)
    found = run_model(models, [f"fleet {60 * 10 ** -unit.adjusted()} {top} 0 1", *events])
    for event, words, (left, state) in zip(events, found, states, strict=True):
        assert int(words[0]) == left, event
        assert not state or words[2:5] + words[6:] == state[1:], event
    assert {"later", "end", "lend", "deliver", "act"} <= {event.split()[0] for event in events}


# --- the memory of decisions ---------------------------------------------------------------------


def feed(seen: SeenDecisions, decider: str, counter: int, time: float) -> bool:
    """Do what a learner does with feedback; return whether it has learned."""
    try:
        page = seen.page_of(decider, counter, time)
    except ExpiredDecisionError:
        return False
    if page.codes[counter % PAGE]:
        return False
    page.codes[counter % PAGE] = 1
    return True


@pytest.mark.parametrize("seed", range(12))
def test_decisions_are_remembered_as_in_the_proof(models: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    span, pages, now = rng.choice([50, 400, 100_000]), rng.choice([4, 16, 60]), 10_000
    seen = SeenDecisions(window=span, limit=pages * PAGE, clock=lambda: float(now))
    events = [f"memory {PAGE} {span} 60 {pages} {max(pages // 8, 1)}"]
    states: list[list[str]] = []
    made: dict[tuple[int, int], int] = {}
    counters = [0, 0, 0]
    learned: list[tuple[int, int]] = []
    for _ in range(600):
        now += rng.choice([0, 1, 5, 30, -20 if rng.random() < 0.1 else 3])
        decider, deed = rng.randrange(3), rng.random()
        if deed < 0.02:
            saved = seen.freeze()()
            events.append("freeze")
            if rng.random() < 0.5:
                seen.restore(saved)
                events.append("reload")
                states.append([])
        else:
            if deed < 0.6 or not made:  # a new decision, sometimes with a date in the future
                counters[decider] += rng.choice([1, 3, 300, 2000])
                date = now + rng.choice([-30, -1, 0, 0, 0, rng.randint(-100, 300)])
                made[decider, counters[decider]] = date
                one = (decider, counters[decider])
            else:
                one = rng.choice([*made][-rng.choice([5, 100, 1000]) :])
            if feed(seen, f"{one[0]:016x}", one[1], float(made[one])):
                learned.append(one)
            events.append(f"learn {one[0]} {one[1]} {made[one]} {now}")
        states.append(
            [
                "none" if np.isinf(seen.dropped) else f"{seen.dropped:.0f}",
                str(len(learned)),
                *(
                    f"{int(key[0], 16)}:{key[1]}:{page.newest:.0f}:{np.count_nonzero(page.codes)}"
                    for key, page in sorted(seen.pages.items())
                ),
            ]
        )
    assert len(learned) == len(set(learned)) > 50
    found = run_model(models, events)
    for event, words, state in zip(events[1:], found, states, strict=True):
        assert not state or words == state, event
