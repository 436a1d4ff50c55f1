"""An interrupt at any time, and a retry: each outcome counts once, and so does its money."""

import copy
import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any, ClassVar

import numpy as np
import pytest

import crossbandit
from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms import Algorithm, Exp3G, Learner
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import LearnedBeforeError
from crossbandit.limits import Budget

SOURCE = crossbandit.__path__[0]
AT = 1_000_000.0


class Interrupt(BaseException):
    """As KeyboardInterrupt, but nothing else raises it."""


@cache
def _may_raise(code: CodeType) -> frozenset[int]:
    """Return where a signal handler may raise: at the start, after calls, and in loops.

    Between the end of a `with` block and the call of its `__exit__`, Python handles no signals.
    """
    found, before = set(), None
    for one in dis.get_instructions(code):
        called = before is not None and before.opname.startswith(("CALL", "JUMP_BACKWARD"))
        if called or one.opname in {"RESUME", "JUMP_BACKWARD"}:
            found.add(one.offset)
        before = one
    return frozenset(found)


def interrupted(task: Callable[[], Any], at: int) -> bool:
    """Run a task, and interrupt it at one of all places; return whether there are so many."""
    passed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in _may_raise(frame.f_code):
            passed += 1
            if passed == at:
                sys.settrace(None)
                raise Interrupt
        return trace

    sys.settrace(trace)
    try:
        task()
    except Interrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def flat(state: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all parts of a state that consists of dicts and lists, with their names."""
    if isinstance(state, dict):
        for key, one in state.items():
            yield from flat(one, f"{name}.{key}")
    else:
        yield name, state


def state_of(bidder: FirstPriceBidder) -> dict[str, Any]:
    learner, spending = bidder.learner, bidder.spending
    money = {} if spending is None else spending.state()
    if hasattr(learner, "learning"):
        header, arrays, _ = learner.written(lambda: ({}, {}))
        del header["own"]  # a copy has a name of its own
        return dict(flat({"header": header, "arrays": arrays, "money": money}))
    return dict(flat({"learner": learner_state(learner), "money": money}))


def learner_state(learner: Any) -> dict[str, Any]:
    kept = ("round", "_waiting", "_last_expired")
    watch = None if learner._watch is None else learner._watch.counts()
    return {
        "arrays": {name: one.copy() for name, one in learner.state().items()},
        "counts": {name: getattr(learner, name) for name in kept},
        "pending": sorted(learner._pending),
        "held": [one.round for one in learner.remembered().get("held", [])],
        "seen": learner.learned_from.freeze()(),
        "watch": watch,
    }


SCRATCH = ("chosen", "sums", "revealed", "softmax", "losses", "inferred", "pooled", "place")


def different(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the parts in which two states differ, other than scratch arrays."""
    assert one.keys() == other.keys()
    found = []
    for name, part in one.items():
        arrays = isinstance(part, np.ndarray)
        same = np.array_equal(part, other[name]) if arrays else part == other[name]
        if not same and not name.endswith(SCRATCH):
            found.append(name)
    return found


def check(
    own: Any, settle: Callable[[Any], Any], state: Callable[[Any], dict[str, Any]], places: int
) -> None:
    """Interrupt `settle` at every place, retry, and compare with what happens without interrupt."""
    settle(copy.deepcopy(own))  # compile
    expected = copy.deepcopy(own)
    settle(expected)
    right, before = state(expected), state(copy.deepcopy(own))
    assert different(right, before)
    at, done = 1, 0
    while True:
        twin = copy.deepcopy(own)
        if not interrupted(lambda twin=twin: settle(twin), at):  # type: ignore[misc]
            break
        changed = bool(different(state(twin), before))
        done += changed
        try:
            settle(twin)
        except LearnedBeforeError:
            assert changed
        wrong = different(state(twin), right)
        assert not wrong, f"Interrupted at place {at}: {wrong}"
        at += 1
    assert at > places
    assert done > 0  # some interrupts came after the change


def bidder(**settings: Any) -> FirstPriceBidder:
    options = {
        "bids": np.linspace(1, 9, 6),
        "value_range": (0, 10),
        "feedback": "after-loss",
        "seed": 1,
        **settings,
    }
    own = FirstPriceBidder(**options)
    if hasattr(own.learner, "learning"):
        own.learner.clock = own.learner.seen.clock = own.learner.watch.clock = lambda: AT
    else:
        own.learner.learned_from.clock = lambda: AT
    return own


def played(own: FirstPriceBidder, rounds: int, **classes: Any) -> FirstPriceBidder:
    for i in range(rounds):
        names: dict[str, Any] = {name: f"{label}{i % 3}" for name, label in classes.items()}
        won = i % 3 == 0
        bid = own.bid(9.0, at=AT, **names)
        if bid.amount:
            own.settle(bid, won=won, highest_competing_bid=None if won else 9.5)
    return own


BUDGET = {"budget": Budget(1_000, per="day")}
CLASSES = {"classes": ("site", "device")}
GRAPH = {"algorithm": CrossGraphAdaptive()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        BUDGET,
        CLASSES,
        {"guarded": True},
        {"guarded": True, **BUDGET},
        GRAPH,
        {**GRAPH, **BUDGET},
        {"algorithm": Exp3G(), "horizon": 1_000},
    ],
    ids=["law", "limits", "classes", "guard", "guard-limits", "graph", "graph-limits", "exp3"],
)
@pytest.mark.parametrize("won", [True, False])
def test_an_interrupted_settle_counts_once(options: dict[str, Any], won: bool) -> None:
    own = bidder(**options)
    labels: list[dict[str, Any]] = [dict.fromkeys(own.classes, x) for x in ("a", "new", "a0")]
    names, new, other = labels
    played(own, 20, **names)
    bid = own.bid(9.0, at=AT, **new)
    own.bid(9.0, at=AT, **other)  # another one remains open
    price = None if won else 9.5
    check(own, lambda one: one.settle(bid, won=won, highest_competing_bid=price), state_of, 10)


@pytest.mark.parametrize("options", [{}, BUDGET], ids=["law", "limits"])
def test_an_interrupted_correction_counts_once(options: dict[str, Any]) -> None:
    own = played(bidder(**options), 20)
    bid = own.bid(9.0, at=AT)
    own.settle(bid, won=False, highest_competing_bid=9.5)
    check(own, lambda one: one.settle(bid, won=True, correction=True), state_of, 10)


@pytest.mark.parametrize(
    "options",
    [{}, BUDGET, CLASSES, GRAPH, {**GRAPH, **BUDGET}],
    ids=["law", "limits", "classes", "graph", "graph-limits"],
)
def test_an_interrupted_batch_counts_once(options: dict[str, Any]) -> None:
    own = bidder(**options)
    played(own, 20, **dict.fromkeys(own.classes, "a"))
    labels = {name: ["x", "y", "x", "z"] for name in own.classes}
    bids = own.bid_many([9.0, 8.0, 7.0, 9.0], at=AT, **labels)
    won, prices = [True, False, True, False], [np.nan, 9.5, np.nan, 9.5]
    for given in (bids, [bids[i] for i in (2, 0, 3, 1)]):
        order = [0, 1, 2, 3] if given is bids else [2, 0, 3, 1]
        outcome: dict[str, Any] = {
            "won": [won[i] for i in order],
            "highest_competing_bid": [prices[i] for i in order],
        }
        settle = partial(FirstPriceBidder.settle_many, bids=given, **outcome)
        check(own, settle, state_of, 10)


LIMITED = [BUDGET, {**CLASSES, **BUDGET}, {"guarded": True, **BUDGET}, {**GRAPH, **BUDGET}]


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("options", LIMITED, ids=["limits", "classes", "guard", "graph"])
def test_an_interrupted_bid_keeps_no_money(options: dict[str, Any], many: bool) -> None:
    own = bidder(**options)
    labels: dict[str, Any] = dict.fromkeys(own.classes, "a")
    played(own, 20, **labels)
    own.bid(9.0, at=AT, **labels)  # its money stays reserved
    first = money_of(own)

    def ask(one: FirstPriceBidder) -> float:
        if not many:
            return one.bid(9.0, at=AT, **labels).amount or 0.0
        return float(np.nansum(one.bid_many([9.0, 8.0, 9.5], at=AT, **labels).amounts))

    at, freed = 1, 0
    while True:
        twin = copy.deepcopy(own)
        assert twin.spending is not None
        twin.spending.copied = False
        if not interrupted(lambda twin=twin: ask(twin), at):  # type: ignore[misc]
            break
        assert money_of(twin) == first, f"Interrupted at place {at}"
        freed += twin.learner.round > own.learner.round
        assert first[0] + ask(twin) == money_of(twin)[0]
        at += 1
    assert at > 20
    assert freed > 0  # some interrupts came after a decision


def money_of(own: FirstPriceBidder) -> tuple[float, int, int]:
    """Return what is reserved, and in how many rows; and check that all others are free."""
    assert own.spending is not None
    reserved = own.spending.pacer.reserved
    rows = [*reserved.rows.values()]
    held = int(reserved.table.prices[rows, 0].sum())
    assert own.spending.pacer.state.money[0, 2] == held
    assert len({*rows, reserved.opened, *reserved.free}) == len(reserved.table.held)
    return float(own.limits[0].outstanding), len(rows), len(reserved.free)


def test_an_interrupted_batch_of_a_learner_with_memory_is_learned_and_paid_for_as_one() -> None:
    own = bidder(algorithm=CrossGraph(), horizon=1_000, **BUDGET)
    made = own.bid_many([9.0, 8.0, 9.5, 9.0], at=AT)
    won, prices = [True, False, True, False], [np.nan, 9.5, np.nan, 9.5]
    amounts, rounds = made.amounts, [one.decision.round for one in made if one.decision]
    at, parted = 1, 0
    while True:
        twin = copy.deepcopy(own)
        settle = partial(twin.settle_many, made, won=won, highest_competing_bid=prices)
        if not interrupted(settle, at):
            break
        left = [i for i in range(4) if rounds[i] in twin.learner._pending]
        paid = sum(float(amounts[i]) for i in range(4) if won[i] and i not in left)
        open_ = sum(float(amounts[i]) for i in left)
        assert float(twin.limits[0].spent) == pytest.approx(paid), f"at place {at}"
        assert float(twin.limits[0].outstanding) == pytest.approx(open_), f"at place {at}"
        parted += 0 < len(left) < 4
        at += 1
    assert parted == 0


def test_an_interrupted_expiry_frees_money_once() -> None:
    own = bidder(budget=Budget(1_000, per="day"), expires=60)
    bid = own.bid(9.0, at=AT)
    own.bid(9.0, at=AT + 100)
    check(own, lambda one: one.settle(bid, won=True), state_of, 10)
    assert own.spending is not None


class Sums(Learner["SumsOfLosses"]):
    """A learner whose update is several steps of Python."""

    def __init__(self, algorithm: "SumsOfLosses", problem: Problem, seed: Any) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.sums, self.counts = np.zeros((2, problem.arms))

    def distribution(self, context: Any, readout: Any) -> Any:
        del context, readout
        return np.full(self.problem.arms, 1 / self.problem.arms)

    def update(self, pending: Any, rows: Any) -> None:
        for arm, row in zip(self.revealed(pending), rows, strict=True):
            self.sums[arm] += row.mean()
            self.counts[arm] += self._one()

    def _one(self) -> float:
        return 1.0

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums, "counts": self.counts}


@dataclass(frozen=True, kw_only=True)
class SumsOfLosses(Algorithm):
    """The algorithm of `Sums`."""

    id: ClassVar[str] = "sums-of-losses"
    needs_memory: ClassVar[bool] = False

    def start(self, problem: Problem, *, seed: Any) -> Sums:
        return Sums(self, problem, seed)


def test_an_interrupted_learner_in_python_learns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOURCE", ("crossbandit", __file__, SOURCE))
    learner = SumsOfLosses().start(Problem(graphs.complete(4), contexts=2), seed=0)
    decision = learner.act(1)
    check(learner, lambda one: one.learn(decision, np.full((4, 2), 0.5)), flat_state, 10)


def flat_state(learner: Any) -> dict[str, Any]:
    return dict(flat(learner_state(learner)))


@pytest.mark.parametrize("decides", ["learner", "snapshot"])
def test_an_interrupted_learner_learns_once(decides: str) -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.threshold(4), contexts=2), seed=0)
    maker = learner if decides == "learner" else learner.snapshot(seed=1)
    decision = maker.act(1)
    rows = np.full((len(decision.revealed), 2), 0.5)
    check(
        learner,
        lambda one: one.learn(decision, rows),
        flat_state,
        10,
    )


def test_an_interrupted_learner_that_remembers_learns_once() -> None:
    learner = CrossGraph().start(Problem(graphs.complete(4), contexts=1, horizon=1_000), seed=0)
    for _ in range(450):
        learner.learn(learner.act(0), np.full((4, 1), 0.25))
    decision = learner.act(0)
    for _ in range(2):
        settle = lambda one: one.learn(decision, np.full((4, 1), 0.75))  # noqa: E731
        check(learner, settle, flat_state, 10)
        learner.act(0)  # the second of the pair
