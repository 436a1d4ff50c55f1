"""What a budget promises: it is spent and not exceeded by 1 %, and never by its worst case."""

from __future__ import annotations

import copy
import random
from fractions import Fraction

import numpy as np
import pytest

from crossbandit.errors import InvalidParameterError
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer, ReturnOnSpend
from crossbandit.limits.state import DOUBTS, GIVEN, MOST, RESERVED, SPENT
from crossbandit.limits.status import status
from tests.reference.pacing import LiteralMoney

GRID = [f"{one / 20:.2f}" for one in range(1, 21)]
AMOUNTS = np.array([float(one) for one in GRID])
DAY = 86_400.0


def made(amount: float, worst_case: float) -> Pacer:
    budget = Budget(amount, per="day", pacing="asap", worst_case=worst_case)
    return Pacer(AMOUNTS, [budget], value_range=(0, 1))


@pytest.mark.parametrize("worst_case", ["0", "0.25", "1"])
@pytest.mark.parametrize("amount", ["6", "450.5"])
def test_the_accounting_is_its_literal_definition(amount: str, worst_case: str) -> None:
    rng = random.Random(3)  # noqa: S311 - worlds, not secrets
    pacer, plain = made(float(amount), float(worst_case)), LiteralMoney(amount, worst_case, GRID)
    unit, factors = float(pacer.unit), set()
    rate = 1.0  # how much more often bids win than is said
    for key in range(700):
        rate = rng.choice([0.3, 1.0, 6.0]) if key % 60 == 0 else rate
        cap = pacer.open(1.0, 0.0, 0, 19)[2]
        free = pacer.reserved.core.free_money(0, 1.0) * unit
        # Certainty equivalents are rounded up, each by at most two units.
        assert plain.free() - free == pytest.approx(0.0, abs=unit * (len(plain.open) * 70 + 2))
        assert pacer.state.doubts[DOUBTS] == plain.factor()
        factors.add(plain.factor())
        if cap < 0:
            pacer.decline(1.0)
        else:
            amount_, chance = rng.randint(0, cap), rng.choice([0.05, 0.3])
            pacer.reserve(key, 1.0, amount_, amount_, chance)
            plain.bid(key, amount_, chance)
        over = min(len(plain.open) // 40 + (cap < 0), len(plain.open))
        for other in rng.sample(list(plain.open), over):
            price, chance = plain.open[other][:2]
            won = rng.random() < min(rate * chance, 1.0)
            plain.settle(other, won=won)
            pacer.settle(other, 1.0, float(price), won=won, least=0.0)
        found = status(pacer)[0]
        assert Fraction(found.spent) == plain.spent
        assert Fraction(found.outstanding) == sum(one[0] for one in plain.open.values())
    assert len(factors) > (2 if worst_case != "0" and amount != "6" else 0)


def late_day(seed: int, delay: int, *, rate: float = 1.0, worst_case: float = 1.0) -> float:
    """Return the share of a budget that is spent if bids are made whenever they may be."""
    rng = np.random.default_rng(seed)
    chances = rng.choice([0.05, 0.1, 0.2], 8_000)
    pacer = made(300.0, worst_case)
    wins = rng.random(8_000) < rate * chances
    amounts = rng.integers(0, 19, 8_000)
    waiting: list[tuple[int, bool]] = []
    for key in range(8_000):
        while waiting and waiting[0][0] <= key - delay:
            own, won = waiting.pop(0)
            pacer.settle(own, 1.0, float(AMOUNTS[amounts[own]]), won=won, least=0.0)
        cap = pacer.open(1.0, 0.0, 0, 19)[2]
        if cap < 0:
            pacer.decline(1.0)
            continue
        amounts[key] = min(amounts[key], cap)
        pacer.reserve(key, 1.0, int(amounts[key]), 19, float(chances[key]))
        waiting.append((key, bool(wins[key])))
    for key, won in waiting:
        pacer.settle(key, 1.0, float(AMOUNTS[amounts[key]]), won=won, least=0.0)
    return float(pacer.state.money[0, SPENT]) * float(pacer.unit) / 300.0


def test_a_budget_is_spent_and_not_exceeded_though_outcomes_are_late() -> None:
    found = np.array([late_day(seed, 400) for seed in range(12)])
    assert 0.99 < found.min() <= found.max() <= 1.01
    assert late_day(1, 400, worst_case=0.0) <= 1.0


def test_prices_that_jump_exceed_a_budget_by_the_worst_case_at_most() -> None:
    """All bids win, though a tenth of them should: all that was open by then is lost."""
    for worst_case in (0.0, 0.1, 1.0):
        assert late_day(2, 8_000, rate=100.0, worst_case=worst_case) <= 1 + worst_case
    assert late_day(2, 400, rate=100.0) <= 1.01  # the first outcomes show it in time


def test_doubts_rise_within_a_few_outcomes_and_fall_again() -> None:
    pacer = made(450.0, 1.0)
    for key in range(200):
        pacer.open(1.0, 0.0, 0, 19)
        pacer.reserve(key, 1.0, 9, 9, 0.1)
    counted = status(pacer)[0].reserved
    for key in range(10):
        pacer.settle(key, 1.0, 0.5, won=True, least=0.0)
    assert status(pacer)[0].reserved > 1.8 * float(counted) * 190 / 200
    for key in range(10, 180):
        pacer.settle(key, 1.0, 0.5, won=False, least=0.9)
    assert pacer.state.doubts[DOUBTS] == 1.0


def test_copies_files_and_changed_amounts_keep_the_cap() -> None:
    pacer = made(100.0, 0.5)
    for key in range(300):
        cap = pacer.open(1.0, 0.0, 0, 19)[2]
        if cap >= 0:
            pacer.reserve(key, 1.0, cap, cap, 0.05)
    copied, again = copy.deepcopy(pacer), made(100.0, 0.5)
    again.restore(pacer.freeze()())
    less = made(60.0, 0.25)
    less.restore(pacer.freeze()())
    assert status(copied)[0] == status(again)[0] == status(pacer)[0]
    for one in (pacer, copied, again):
        assert one.open(1.0, 0.0, 0, 19)[2] == -1
        given, spent, reserved, _, most = one.state.money[0].tolist()
        assert spent + reserved <= most == 1.5 * given
    assert less.state.money[0, [GIVEN, MOST, RESERVED]].tolist() == [
        60 * 10**9,
        75 * 10**9,
        pacer.state.money[0, RESERVED],
    ]
    assert less.open(1.0, 0.0, 0, 19)[2] == -1


def late_target(delay: int) -> tuple[float, float]:
    """Return the values won under a return on spend of 3, and the return."""
    rng = np.random.default_rng(5)
    values = rng.uniform(0.2, 1.0, 6_000)
    cells = np.searchsorted(AMOUNTS, 0.3 * rng.lognormal(0.0, 0.8, values.size))
    law = OutcomeLaw(AMOUNTS, (0, 1), seed=1)
    pacer = Pacer(AMOUNTS, [ReturnOnSpend(3, keep="long-run")], value_range=(0, 1))
    waiting: list[tuple[int, float, int, bool]] = []
    won = paid = 0.0
    for i, value in enumerate(values.tolist()):
        while waiting and waiting[0][0] <= i - delay:
            key, worth, amount, wins = waiting.pop(0)
            least = float(np.append(AMOUNTS, np.inf)[cells[key]])
            pacer.settle(key, worth, float(AMOUNTS[amount]), won=wins, least=least)
            told = ("at-most", amount) if wins else ("told", int(cells[key]))
            law.observe(worth, *told, amount=amount)
        last = int(np.searchsorted(AMOUNTS, value, "right")) - 1
        amount = pacer.choose(i, law, (), (value, float(i), 0, last))[2]
        if amount >= 0:
            wins = bool(cells[i] <= amount)
            waiting.append((i, value, amount, wins))
            won, paid = won + wins * value, paid + wins * AMOUNTS[amount]
    return won, won / paid


def test_a_target_is_kept_on_average_though_outcomes_are_late() -> None:
    """Bids without an outcome count with their expected costs and credits."""
    prompt, (won, found) = late_target(0)[0], late_target(300)
    assert won > 0.97 * prompt
    assert 2.9 < found < 3.1


@pytest.mark.parametrize("worst_case", [-0.1, 1.1, None, "x", True, float("nan")])
def test_a_worst_case_is_a_share(worst_case) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameterError, match="'worst_case' parameter of Budget must be"):
        Budget(1, worst_case=worst_case)
