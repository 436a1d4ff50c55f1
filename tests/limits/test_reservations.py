"""Bids without an outcome are rows of arrays: none is lost, mixed up, or kept for too long."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest

from crossbandit.core.steps import at_once
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer, ReturnOnSpend
from tests.limits.rows import held

GRID = np.linspace(0, 1, 21)


def made() -> Pacer:
    return Pacer(GRID, [Budget(1e6, per="day"), ReturnOnSpend(0.5)], value_range=(0, 1))


def placed(pacer: Pacer, law: OutcomeLaw, key: int, count: int, value: float) -> list[int]:
    """Bid in a batch; return the keys of the bids."""
    ones = np.ones(count, dtype=np.int64)
    slots = law.levels.table({}, count)
    bounds = {"firsts": 0 * ones, "lasts": 20 * ones}
    auctions = {"worths": np.full(count, value), "slots": slots, **bounds}
    chosen = pacer.choose_many(law, auctions, 1e9)
    keys = np.arange(key, key + count)
    pacer.reserved.hold_many(keys, chosen.rows, chosen.bids >= 0)
    made: list[int] = keys[chosen.bids >= 0].tolist()
    return made


@pytest.mark.parametrize("many", [False, True])
def test_a_bid_that_may_have_been_made_costs_what_its_outcome_says(many: bool) -> None:
    unknown, known = made(), made()
    for pacer in (unknown, known):
        pacer.open(0.8, 1e9, 0, 20)
        pacer.reserve(1, 0.8, 10, 10)
    before = unknown.state.money.copy()
    unknown.reserve_unknown(np.arange(2, 6), 1e9)
    assert (unknown.state.money[:, 2] - before[:, 2] == 4 * unknown.rules.prices[-1]).all()
    outcomes = {2: (0.1, 0.9, True), 3: (0.8, 0.05, True), 4: (0.5, 0.5, False)}
    for key, (value, amount, won) in outcomes.items():
        known.open(value, 1e9, 0, 20)
        known.reserve(key, value, round(20 * amount), round(20 * amount))
        known.settle(key, value, amount, won, 0.0 if won else np.inf)
        if not many:
            unknown.settle(key, value, amount, won, 0.0 if won else np.inf)
    if many:
        values, amounts, wins = (np.array(one) for one in zip(*outcomes.values(), strict=True))
        least = np.where(wins, 0.0, np.inf)
        at_once(*unknown.settled_many(np.arange(2, 5), values, amounts, wins, least))
    assert unknown.reserved.rows.keys() == {1, 5}
    unknown.expire(2e9)
    known.expire(2e9)
    assert (unknown.state.money == known.state.money).all()
    assert not unknown.state.money[:, 2].any()
    assert unknown.state.duals[0, 5] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_each_bid_keeps_what_was_noted_of_it(seed: int) -> None:
    """Bids one by one and in batches, settled in any order, while the arrays grow and shrink."""
    rng = random.Random(seed)  # noqa: S311 - worlds, not secrets
    pacer, law = made(), OutcomeLaw(GRID, (0, 1), seed=0)
    expected: dict[int, float] = {}
    key, sizes = 0, set()
    for step in range(60):
        value = rng.choice([0.4, 0.6, 0.8, 1.0])
        if rng.random() < 0.5:
            keys = placed(pacer, law, key, rng.choice([1, 30, 3_000, 9_000]), value)
            expected.update(dict.fromkeys(keys, value))
            key += 9_000
        else:
            _, _, cap = pacer.open(value, 1e9, 0, 20)
            if rng.random() < 0.5 and expected:  # an outcome comes in between
                other = rng.choice(list(expected))
                pacer.settle(other, expected.pop(other), 0.0, won=False, least=np.inf)
            assert cap >= 8
            pacer.reserve(key, value, rng.randint(1, 8), cap)
            expected[key] = value
            key += 1
        if step % 7 == 6:
            over = rng.sample(list(expected), int(0.98 * len(expected)))
            zeros = np.zeros(len(over))
            values = np.array([expected.pop(one) for one in over])
            outcomes = (np.zeros(len(over), dtype=bool), np.full(len(over), np.inf))
            at_once(*pacer.settled_many(np.array(over), values, zeros, *outcomes))
        sizes.add(pacer.reserved.table.held.shape[0])
        assert list(pacer.reserved.rows) == list(expected)
        assert [held(pacer, one).value for one in expected] == list(expected.values())
        prices = sum(held(pacer, one).price for one in expected)
        assert pacer.state.money[0, 2] == prices
    assert len(sizes) > 2


def test_a_batch_is_not_kept_for_one_missing_outcome() -> None:
    pacer, law = made(), OutcomeLaw(GRID, (0, 1), seed=0)
    keys = placed(pacer, law, 0, 50_000, 1.0)
    assert pacer.reserved.table.held.shape[0] >= 50_000
    for key in keys[1:]:
        pacer.settle(key, 1.0, 0.0, won=False, least=np.inf)
    assert list(pacer.reserved.rows) == keys[:1]
    assert pacer.reserved.table.held.shape[0] <= 10_000


def test_rows_are_used_again() -> None:
    pacer = made()
    for key in range(5_000):
        pacer.open(1.0, 1e9 + key, 0, 20)
        pacer.reserve(key, 1.0, 3, 3)
        pacer.settle(key, 1.0, 0.15, won=True, least=0.0)
    assert pacer.reserved.table.held.shape[0] < 5_000
    assert pacer.state.money[0, 2] == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_a_copy_has_bids_of_its_own(copied) -> None:  # type: ignore[no-untyped-def]
    pacer, law = made(), OutcomeLaw(GRID, (0, 1), seed=0)
    pacer.choose(1, law, (), (0.9, 1e9, 0, 18))
    other = copied(pacer)
    other.settle(1, 0.9, 0.0, won=False, least=np.inf)
    assert other.state.money[0, 2] == 0 < pacer.state.money[0, 2]
    assert 1 in pacer.reserved.rows
    assert 1 not in other.reserved.rows
    pacer.settle(1, 0.9, 0.0, won=False, least=np.inf)
    for name, array in pacer.freeze()().items():
        np.testing.assert_array_equal(array, other.freeze()()[name], err_msg=name)


def test_many_bids_expire_in_one_walk() -> None:
    """To find the oldest of a dictionary takes longer, the more were taken from its front."""

    class Counted(dict[int, int]):
        walks = 0

        def items(self) -> Any:
            Counted.walks += 1
            return super().items()

    pacer = Pacer(GRID, [Budget(1e6, per="day")], value_range=(0, 1), expires=60)
    placed(pacer, OutcomeLaw(GRID, (0, 1), seed=0), 0, 3_000, 1.0)
    pacer.reserved.rows = Counted(pacer.reserved.rows)
    pacer.open(1.0, 1e9 + 61, 0, 20)
    assert len(pacer.reserved.rows) == 0
    assert pacer.state.money[0, 2] == 0
    assert Counted.walks == 1
