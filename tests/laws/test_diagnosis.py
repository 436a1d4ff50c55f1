"""The test of independence, and the guard."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crossbandit.core.types import Feedback
from crossbandit.errors import CheckpointError, InvalidParameterError
from crossbandit.laws import Diagnosis, GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.rounds import shown_to

GRID = np.linspace(0.0, 1.0, 21)


def diagnosed(feedback: Feedback, slope: float, seed: int, rounds: int = 4_000) -> Diagnosis:
    generator = np.random.default_rng(seed)
    values = generator.random(rounds)
    prices = slope * values + 0.5 * generator.random(rounds)
    law = OutcomeLaw(GRID, (0, 1), feedback=feedback, seed=seed)
    played, cells = law.play(values, prices), law.cells(prices)
    reached = cells <= played
    shown = {"after-loss": ~reached, "after-win": reached, "always": reached | True}
    told = shown.get(feedback, reached & False)
    test = IndependenceTest(law)
    kinds = np.where(told, 0, np.where(reached, 1, 2))
    test.learn_all(values, kinds, np.where(told, cells, played))
    return test.diagnosis()


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_independence_is_not_rejected(feedback: Feedback) -> None:
    # Each false alarm has a probability of about 1 %: more than one of 20 has less than 2 %.
    alarms = sum(diagnosed(feedback, 0.0, seed).depends for seed in range(20))
    assert alarms <= 1


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always"])
def test_dependence_is_found(feedback: Feedback) -> None:
    found = diagnosed(feedback, 0.5, 1)
    assert found.depends
    assert found.gain > 0.01
    assert "more" in str(found)


def by_site(
    feedback: Feedback,
    seed: int,
    *,
    on_value: float = 0.0,
    on_site: float = 0.0,
    rounds: int = 4_000,
) -> Diagnosis:
    """Two sites that differ in values; prices depend on values and sites as far as is asked for."""
    generator = np.random.default_rng(seed)
    sites = generator.integers(0, 2, rounds)
    values = 0.25 * sites + 0.7 * generator.random(rounds)
    prices = 0.1 + on_value * values + on_site * sites + 0.3 * generator.random(rounds)
    law = OutcomeLaw(GRID, (0, 1), classes=["site"], feedback=feedback, class_limit=16, seed=seed)
    played = law.play(values, prices, classes={"site": sites})
    kinds, indices, _ = shown_to(law, law.cells(prices), played)
    test = IndependenceTest(law)
    test.learn_all(values, kinds, indices, played=played, classes={"site": sites})
    return test.diagnosis()


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_prices_by_class_are_not_prices_by_value(feedback: Feedback) -> None:
    # Each false alarm has a probability of about 1 %: more than one of 12 has less than 1 %.
    found = [by_site(feedback, seed, on_site=0.3) for seed in range(12)]
    assert sum(one.depends for one in found) <= 1
    assert all(one.depends_on_class for one in found)
    assert "are correlated with the class here" in str(found[0])
    assert "Nothing shows that outcomes are correlated with the context, given the class" in str(
        found[0]
    )


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_prices_by_value_are_not_prices_by_class(feedback: Feedback) -> None:
    found = [by_site(feedback, seed, on_value=0.5) for seed in range(12)]
    assert all(one.depends for one in found)
    assert sum(one.depends_on_class for one in found) <= 1


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_both_are_found(feedback: Feedback) -> None:
    rounds = 8_000 if feedback == "won-lost" else 4_000
    found = by_site(feedback, 0, on_value=0.5, on_site=0.25, rounds=rounds)
    assert found.depends
    assert found.depends_on_class
    assert "with the context here, given the class, and with the class" in str(found)
    assert not by_site(feedback, 0).depends
    assert not by_site(feedback, 0).depends_on_class


def test_classes_of_a_merged_test_are_those_of_the_same_name() -> None:
    generator = np.random.default_rng(3)
    laws = [OutcomeLaw(GRID, (0, 1), classes=["site"]) for _ in range(2)]
    one, two = map(IndependenceTest, laws)
    for test, names in ((one, ["a", "b"]), (two, ["c", "b"])):
        labels = [(names[i % 2],) for i in range(40)]
        kinds, indices = np.zeros(40, dtype=int), generator.integers(0, 20, 40)
        test.learn_all(generator.random(40), kinds, indices, labels)
    before = one.arrays()["told"], two.arrays()["told"]
    one.merge(two)
    merged = one.arrays()["told"]
    classes = len(merged) - 3  # after all rounds
    np.testing.assert_array_equal(merged[:classes], before[0][:classes] + before[1][:classes])
    a, b, c = merged[classes:]
    np.testing.assert_array_equal(a, before[0][classes])
    np.testing.assert_array_equal(b, before[0][classes + 1] + before[1][classes + 1])
    np.testing.assert_array_equal(c, before[1][classes])
    again = IndependenceTest(laws[0])
    again.restore(one.settings(), one.arrays())
    assert again.diagnosis() == one.diagnosis()


def test_the_evidence_is_at_most_one_on_average_if_the_law_is_known() -> None:
    """All that can happen in four rounds, whatever the law: the mean of exp(x - v / 2) is <= 1."""
    for hazard in (0.02, 0.3, 0.9):
        for step in (-4.0, -1.0, 0.5, 3.0):
            happened, not_happened = (step * (hit - hazard) for hit in (1.0, 0.0))
            expected = step * step * hazard * (1 - hazard)
            mean = sum(
                chance * math.exp(x - (2 * expected + x * x) / 6)
                for chance, x in ((hazard, happened), (1 - hazard, not_happened))
            )
            assert mean <= 1.0


@pytest.mark.parametrize("name", ["told", "waiting"])
def test_a_test_without_all_of_its_arrays_is_refused(name: str) -> None:
    law = OutcomeLaw(GRID, (0, 1), feedback="always")
    test = IndependenceTest(law)
    test.learn_all([0.5], np.zeros(1, dtype=int), np.array([3]))
    before, arrays = test.diagnosis(), test.arrays()
    del arrays[name]
    with pytest.raises(CheckpointError, match=name):
        test.restore(test.settings(), arrays)
    assert test.diagnosis() == before


def test_words() -> None:
    assert "no evidence so far, in 1,000 rounds" in str(Diagnosis(0.0, 0.0, 1_000))
    assert "%" not in str(Diagnosis(50.0, math.nan, 1_000))
    assert "hardly matters" in str(Diagnosis(50.0, 0.001, 1_000))
    assert "5 % more" in str(Diagnosis(math.log(1e6), 0.05, 1_000))
    vague, known = (str(Diagnosis(50.0, 0.05, 1_000, error=error)) for error in (0.03, 0.01))
    assert "%" not in vague
    assert "how much more" in vague.lower()
    assert "an estimated 5 % more, at least 3 %" in known
    assert "hardly matters" not in str(Diagnosis(50.0, 0.001, 1_000, error=0.01))


def test_one_outcome_at_a_time_is_the_same() -> None:
    generator = np.random.default_rng(0)
    law = OutcomeLaw(GRID, (0, 1), seed=1)
    single, whole = IndependenceTest(law), IndependenceTest(law)
    contexts, kinds, indices = [], [], []
    for value, price in generator.random((300, 2)):
        made = law.decide(value)
        won = bool(made.amount >= price)
        single.learn(made, reached=won, number=price)
        law.learn(made, reached=won, number=price)
        contexts.append(value)
        kinds.append(1 if won else 0)
        indices.append(made.index if won else int(law.cells(price)))
    whole.learn_all(contexts, np.array(kinds), np.array(indices))
    assert single.diagnosis().log_evidence == whole.diagnosis().log_evidence


def earned(values: np.ndarray, prices: np.ndarray, *, guarded: bool) -> float:
    law = OutcomeLaw(GRID, (0, 1), seed=1)
    played = (GuardedLaw(law) if guarded else law).play(values, prices)
    return float(np.where(GRID[played] >= prices, values - GRID[played], 0).sum())


def test_the_guard_costs_little_where_it_is_not_needed() -> None:
    generator = np.random.default_rng(0)
    values = generator.random(30_000)
    prices = 0.5 * values + 0.3 * generator.random(30_000)
    assert earned(values, prices, guarded=True) > 0.985 * earned(values, prices, guarded=False)


def test_the_guard_leaves_a_law_that_is_worse() -> None:
    guard = GuardedLaw(OutcomeLaw(GRID, (0, 1), seed=1))
    generator = np.random.default_rng(0)
    for _ in range(40):  # whatever the law would bid now loses by a little
        values = np.full(100, 0.9)
        bid = guard.law.decide(0.9).amount
        low = bid + 0.01 if bid < 0.55 else 0.05
        guard.play(values, np.full(100, low) + 0.01 * generator.random(100))
    assert guard.gains[1] > 0
    assert 0 < guard.law_weight < 1


def test_only_first_price_auctions_are_guarded() -> None:
    with pytest.raises(InvalidParameterError, match="first-price"):
        GuardedLaw(OutcomeLaw(GRID, (0, 1), payoff="newsvendor"))


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_guarded_rounds_one_by_one_are_the_same(feedback: Feedback) -> None:
    generator = np.random.default_rng(0)
    values, prices = generator.random(800), 0.6 * generator.random(800)
    whole, single = (
        GuardedLaw(OutcomeLaw(GRID, (0, 1), feedback=feedback, seed=1)) for _ in range(2)
    )
    played = whole.play(values, prices)
    for value, price, bid in zip(values, prices, played, strict=True):
        made = single.decide(value)
        assert made.index == bid
        single.learn(made, reached=bool(made.amount >= price), number=price)
    np.testing.assert_array_equal(whole.gains, single.gains)
    again = GuardedLaw(single.law)
    again.restore(single.arrays())
    assert again.law_weight == single.law_weight
    with pytest.raises(CheckpointError):
        again.restore({})


def test_the_gain_counts_classes() -> None:
    generator = np.random.default_rng(0)
    law = OutcomeLaw(GRID, (0, 1), classes=["site"], feedback="always")
    test = IndependenceTest(law)
    site = generator.integers(0, 2, 4_000)
    values, prices = generator.random(4_000), 0.4 * site + 0.2 * generator.random(4_000)
    law.warm_up(values, prices, classes={"site": site})
    labels = [(int(level),) for level in site]
    test.learn_all(values, np.zeros(4_000, dtype=int), law.cells(prices), labels)
    assert not test.diagnosis().depends  # on the context, which it does not
    assert test.diagnosis().gain > 0.05


def test_the_gain_is_that_of_the_law_over_the_pool() -> None:
    """Two values, each with a price of its own; the pool sees both prices equally often.

    At 0.5, prices are 0.2: the pool bids 0.2 and earns 0.3, as the law does. At 1.0, prices are
    0.8: the law bids 0.8 and earns 0.2; the pool bids 0.2, as 0.8 / 2 > 0.2, and earns nothing.
    """
    law = OutcomeLaw(np.array([0.2, 0.8]), (0, 1), feedback="always")
    test = IndependenceTest(law)
    values = np.tile([0.5, 1.0], 4_000)
    prices = np.tile([0.2, 0.8], 4_000)
    law.warm_up(values, prices)
    test.learn_all(values, np.zeros(8_000, dtype=int), law.cells(prices))
    assert test.diagnosis().gain == pytest.approx(0.5 / 0.3 - 1.0, rel=0.02)
