"""What a version of the package writes, how a later one reads it, and what must come out.

Each case writes one file, and returns what its reader needs besides: tokens without an outcome, and
their outcomes. A reader uses public names only, and computes with nothing that a later version
might change: no made-up market of the tests, no seeds of its own.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import crossbandit as cb
from crossbandit import FeedbackGraph, Problem, studies
from crossbandit.algorithms import CrossGraphAdaptive, Snapshot, from_json
from crossbandit.applications import (
    ArmChoice,
    Bid,
    FirstPriceBidder,
    Newsvendor,
    Offer,
    Order,
    PostedPriceSeller,
    Recommendation,
    Recommender,
    SleepingArms,
    SpamFilter,
)
from crossbandit.limits import Budget, Lease, ReturnOnSpend, SharedBudget
from crossbandit.service import BidderSettings, BudgetSettings, Node, Outcome, open_store
from tests.cases import shipped
from tests.service.live import eventually
from tests.service.test_node import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START = 1_782_864_000.0  # 2026-07-01, UTC
KEY = b"a key of golden files"
LONG = 1e10  # seconds: tokens in files do not expire


class Case(NamedTuple):
    """A kind of file.

    Attributes:
        write: Writes the file, and returns what else is needed to read it.
        read: Reads both, goes on with it, and returns what can be compared.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path, Any], Any]


def _number(*parts: int) -> float:
    """Return a number from 0 to 1 that looks random and is the same in all versions."""
    found = 17
    for part in parts:
        found = (found * 1_103_515_245 + 12_345 + 7_919 * part) % 2**31
    return found / 2**31


# --- learners ----------------------------------------------------------------------------------

_ARMS, _CONTEXTS = 4, 3
_GRAPH = FeedbackGraph([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]])


def _losses(decision: Any) -> list[list[float]]:
    return [
        [_number(decision.round, arm, context) for context in range(_CONTEXTS)]
        for arm in decision.revealed
    ]


def _play(learner: Any, rounds: int) -> list[int]:
    arms = []
    for i in range(rounds):
        decision = learner.act(i % _CONTEXTS)
        learner.learn(decision, _losses(decision))
        arms.append(decision.arm)
    return arms


def _learner(id_: str) -> Any:
    problem = Problem(graph=_GRAPH, contexts=_CONTEXTS, horizon=500)
    algorithm = from_json({"id": id_})
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution([0.5, 0.25, 0.25])
    learner = algorithm.start(problem, seed=1)
    _play(learner, 60)
    return learner


def _write_learner(id_: str, path: Path) -> Any:
    learner = _learner(id_)
    pending = [learner.act(i % _CONTEXTS) for i in range(5)]
    learner.save(path)
    return [[decision.text, _losses(decision)] for decision in pending]


def _read_learner(path: Path, pending: Any) -> Any:
    learner = cb.load(path)
    learner.learned_from.window = LONG
    before = [learner.round, learner.pending]
    for token, losses in pending:
        learner.learn(token, losses)
    after = [learner.round, learner.pending]
    arms = _play(learner, 20)
    policies = [learner.policy(context).tolist() for context in range(_CONTEXTS)]
    return {"before": before, "after": after, "arms": arms, "policies": policies}


def _write_snapshot(path: Path) -> Any:
    path.write_bytes(_learner("cross-graph-adaptive").snapshot().to_bytes())


def _read_snapshot(path: Path, _: Any) -> Any:
    snapshot = Snapshot.from_bytes(path.read_bytes(), seed=1)
    return {"arms": [snapshot.act(i % _CONTEXTS).arm for i in range(20)], "round": snapshot.round}


# --- applications ------------------------------------------------------------------------------

_LIMITS: dict[str, Any] = {
    "budget": [Budget(60, per="day"), Budget(9, per="hour", pacing="even")],
    "target": ReturnOnSpend(1.2, keep="long-run"),
    "expires": 1e9,
}
_BIDS: dict[str, Any] = {"bids": (0, 1, 2, 3), "value_range": (0, 4), "seed": 1}


class Kind(NamedTuple):
    """An application: how to make it, and to play its round t."""

    of: Any
    settings: dict[str, Any]
    play: Callable[[Any, int], Any]
    key: bytes | None = None


def _bid(bidder: Any, t: int) -> Any:
    site = {"site": "abc"[t % 3]} if bidder.classes else {}
    return bidder.bid(1 + t % 4 * 0.75, at=START + 60.0 * t, **site)


KINDS = {
    "bidder": Kind(FirstPriceBidder, {**_BIDS, "classes": ("site",)}, _bid),
    "bidder with limits": Kind(
        FirstPriceBidder, {**_BIDS, "classes": ("site",), **_LIMITS}, _bid, KEY
    ),
    "bidder that is guarded": Kind(
        FirstPriceBidder, {**_BIDS, "guarded": True, "budget": Budget(60, per="day")}, _bid, KEY
    ),
    "bidder with a graph": Kind(
        FirstPriceBidder, {**_BIDS, "algorithm": CrossGraphAdaptive()}, _bid
    ),
    "newsvendor": Kind(
        Newsvendor,
        {"orders": (0, 2, 4, 6), "price_range": (2, 6), "cost_range": (1, 3), "seed": 1},
        lambda shop, t: shop.order(2 + t % 5, 1 + t % 3),
    ),
    "seller": Kind(
        PostedPriceSeller,
        {"prices": (1, 2, 3, 4), "cost_range": (1, 4), "seed": 1},
        lambda shop, t: shop.price(1 + t % 4),
    ),
    "seller with a law": Kind(
        PostedPriceSeller,
        {"prices": (1, 2, 3, 4), "cost_range": (1, 4), "algorithm": "law", "seed": 1},
        lambda shop, t: shop.price(1 + t % 4),
    ),
    "sleeping arms": Kind(
        SleepingArms,
        {"arms": ["a", "b", "c"], "loss_range": (-1, 3), "seed": 1},
        lambda arms, t: arms.choose(list(["abc", "ab", "c"][t % 3])),
    ),
    "recommender": Kind(
        Recommender,
        {
            "items": {"x": (1.0, 0.0), "y": (0.9, 0.1), "z": (0.0, 1.0)},
            "similarity": 0.9,
            "segments": {"young": (0.4, 0.6), "old": (0.8, 0.2)},
            "rating_range": (1, 5),
            "seed": 1,
        },
        lambda shop, t: shop.show(["young", "old"][t % 2]),
    ),
    "spam filter": Kind(
        SpamFilter,
        {"mailboxes": {"strict": (1, 5), "loose": (5, 1)}, "seed": 1},
        lambda guard, t: guard.decide(["strict", "loose"][t % 2]),
    ),
}


def _outcome(action: Any, t: int) -> dict[str, Any]:
    """Return a possible outcome of an action, as `settle` takes it."""
    if isinstance(action, Bid):
        price = 0.01 + 4.0 * _number(t)
        won = float(action) >= price
        return {"won": won, "highest_competing_bid": None if won else price}
    if isinstance(action, Order):
        return {"sold": int(min(action.quantity, 7 * _number(t)))}
    if isinstance(action, Offer):
        return {"sold": _number(t) < 0.5}
    if isinstance(action, ArmChoice):
        return {"losses": {arm: _number(t) for arm in action.revealed}}
    if isinstance(action, Recommendation):
        items = (action.item, *action.beside)
        return {"ratings": {item: [1 + 4 * _number(t, i) for i in range(2)] for item in items}}
    return {"spam": _number(t) < 0.5}


def _waits(action: Any) -> bool:
    """Return whether an action waits for an outcome; where no bid was made, nothing does."""
    return action.decision is not None and getattr(action, "amount", 0) is not None


def _go_on(kind: Kind, application: Any, start: int, stop: int) -> list[Any]:
    """Play and settle rounds; return what was chosen."""
    chosen = []
    for t in range(start, stop):
        action = kind.play(application, t)
        chosen.append(None if action.decision is None else action.decision.arm)
        if _waits(action):
            application.settle(action, **_outcome(action, t))
    return chosen


def _write_application(name: str, path: Path) -> Any:
    kind = KINDS[name]
    application = kind.of(**kind.settings)
    application.token_key = kind.key
    _go_on(kind, application, 0, 90)
    actions = [kind.play(application, t) for t in range(90, 96)]
    if not getattr(application, "limits", ()):  # a copy must not spend the same money
        decider = application.snapshot(2)
        actions += [kind.play(decider, t) for t in range(96, 100)]
    application.save(path)
    made = [action for action in actions if _waits(action)]
    return [[action.text, _outcome(action, t)] for t, action in enumerate(made)]


def _read_application(name: str, path: Path, pending: Any) -> Any:
    kind = KINDS[name]
    application = kind.of.load(path)
    application.token_key = kind.key
    learner = application.learner
    memory = learner.learned_from if hasattr(learner, "learned_from") else learner.seen
    memory.window = LONG
    found: dict[str, Any] = {"before": _state(application)}
    for token, outcome in pending:
        application.settle(token, **outcome)
    found["after"] = _state(application)
    found["arms"] = _go_on(kind, application, 100, 130)
    found["end"] = _state(application)
    return found


def _state(application: Any) -> dict[str, Any]:
    """Return the counts and the money of an application."""
    limits = [
        [str(one.spent), str(one.reserved), str(one.left)]
        for one in getattr(application, "limits", ())
    ]
    return {"rounds": application.rounds, "pending": application.pending, "limits": limits}


def _write_bidder_snapshot(path: Path) -> Any:
    kind = KINDS["bidder"]
    bidder = kind.of(**kind.settings)
    _go_on(kind, bidder, 0, 90)
    path.write_bytes(bidder.snapshot().to_bytes())


def _read_bidder_snapshot(path: Path, _: Any) -> Any:
    snapshot = FirstPriceBidder.from_bytes(path.read_bytes(), seed=1)
    kind = KINDS["bidder"]
    return {
        "arms": [kind.play(snapshot, t).decision.arm for t in range(30)],
        "policies": [snapshot.policy(3.0, site=site).tolist() for site in "abcd"],
    }


# --- a budget that is shared -------------------------------------------------------------------


def _write_shared(path: Path) -> Any:
    shared = Budget(100, per="day").share()
    first, second = (shared.lease(amount, at=START) for amount in (20, 30))
    shared.take_back(first.id, 5, at=START + 1)
    path.write_bytes(shared.to_bytes())
    return second.to_bytes().decode()


def _read_shared(path: Path, lease: Any) -> Any:
    shared, held = SharedBudget.from_bytes(path.read_bytes()), Lease.from_bytes(lease.encode())
    found = [str(shared.left(at=START + 2))]
    shared.take_back(held.id, 12, at=START + 3)
    return {"left": [*found, str(shared.left(at=START + 4))], "lease": held.to_json()["amount"]}


# --- results of a study ------------------------------------------------------------------------

_STUDY = """
[study]
name = "golden"
[[part]]
seeds = "1..2"
horizon = 100
algorithms = ["cross-graph", "per-context-exp3"]
environments = [{ name = "paper-benchmark", radius = 1, arms = 5, contexts = 7 }]
"""


def _write_study(path: Path) -> Any:
    folder = path.with_suffix(".folder")
    studies.run(studies.Study.from_toml(_STUDY), folder, jobs=1)
    path.write_bytes((folder / "results.duckdb").read_bytes())


def _read_study(path: Path, _: Any) -> Any:
    frame = studies.load(path.rename(path.with_suffix(".duckdb")))
    rows = frame.sort_values(["algorithm_name", "seed"])
    return {name: rows[name].tolist() for name in ("algorithm_name", "seed", "final_regret")}


# --- a store of the service --------------------------------------------------------------------

_SERVED = {
    "plain": BidderSettings(value_range=(0, 4), bids=[0, 1, 2, 3], seed=1),
    "limited": BidderSettings(
        value_range=(0, 4),
        bids=[0, 1, 2, 3],
        seed=1,
        budget=[BudgetSettings(60.0, per="day"), BudgetSettings(20.0, per="hour", pacing="even")],
    ),
}


class _Clock:
    """The time of a service, which passes with its auctions. It begins with a day."""

    def __init__(self, begins: float) -> None:
        self.begins = self.now = begins

    def __call__(self) -> float:
        return self.now


@contextmanager
def _serving(path: Path, clock: _Clock) -> Iterator[Node]:
    store = open_store(path)
    node = Node(store, key=KEY, lease=1.0, poll=0.05, publish=0.01, retention=None, clock=clock)
    node.start()
    try:
        yield node
    finally:
        node.close()


def _auctions(node: Node, clock: _Clock, name: str, start: int, stop: int) -> Iterator[Any]:
    """Yield a token and its outcome for each auction of a bidder of the service."""
    for t in range(start, stop):
        clock.now = clock.begins + 60.0 * t
        made = decide(node, name, 1 + t % 4 * 0.75, at=clock.now)
        if made.token is not None and made.amount is not None:
            price = 0.01 + 4.0 * _number(t)
            won = made.amount >= price
            yield made.token, won, None if won else price


def _report(node: Node, name: str, rows: Any, before: int) -> int:
    """Report outcomes; return the number of entries of the log when all are learned."""
    entries = before + sum(node.report(name, [Outcome(*row)]).result(30).accepted for row in rows)
    eventually(lambda: node.figures(name).learned == entries)
    return entries


def _write_store(path: Path) -> Any:
    # Without limits, the time of a decision is that of the system, and the log's must be near it.
    clock, used = _Clock(time.time() // 86_400 * 86_400), path.with_suffix(".used")
    entries = {}
    with _serving(used, clock) as node:
        for name, settings in _SERVED.items():
            node.create(name, settings)
            entries[name] = _report(node, name, _auctions(node, clock, name, 0, 60), 0)
    with _serving(used, clock) as node:  # what follows is in the log, and in no checkpoint
        for name in _SERVED:
            rows = _auctions(node, clock, name, 60, 70)
            entries[name] = _report(node, name, rows, entries[name])
        pending = {name: [*_auctions(node, clock, name, 70, 76)] for name in _SERVED}
        with closing(sqlite3.connect(used)) as source, closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
    return {"begins": clock.begins, "entries": entries, "pending": pending}


def _read_store(path: Path, given: Any) -> Any:
    clock, found = _Clock(given["begins"]), {}
    clock.now += 60.0 * 76
    with _serving(path, clock) as node:
        for name in node.names():
            entries = _report(node, name, [], given["entries"][name])
            one: dict[str, Any] = {"before": _figures(node, name)}
            one["entries"] = _report(node, name, given["pending"][name], entries)
            one["after"] = _figures(node, name)
            if node.settings(name).limited:
                one["bids"] = [decide(node, name, 3.0, at=clock.now + t).amount for t in range(10)]
            found[name] = one
    return found


def _figures(node: Node, name: str) -> dict[str, Any]:
    one = node.figures(name)
    limits = [[limit.spent, limit.reserved, limit.left] for limit in one.limits]
    counts = {"won": one.won, "lost": one.lost, "refused": one.refused, "spend": one.spend}
    return {**counts, "limits": limits}


CASES = {
    **{f"learner {id_}": Case(partial(_write_learner, id_), _read_learner) for id_ in shipped()},
    **{
        name: Case(partial(_write_application, name), partial(_read_application, name))
        for name in KINDS
    },
    "snapshot of a learner": Case(_write_snapshot, _read_snapshot),
    "snapshot of a bidder": Case(_write_bidder_snapshot, _read_bidder_snapshot),
    "shared budget": Case(_write_shared, _read_shared),
    "study": Case(_write_study, _read_study),
    "store": Case(_write_store, _read_store),
}
