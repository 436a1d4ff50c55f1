"""The effects of features: against a literal definition, and what a user is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crossbandit.core.types import Feedback
from crossbandit.errors import CheckpointError, InvalidContextError
from crossbandit.laws import OutcomeLaw
from crossbandit.laws.levels import key_of, short
from crossbandit.laws.memory import full_trees
from tests.reference.effects import Effects

FEEDBACK = ("after-loss", "after-win", "always", "won-lost")
GRID = np.linspace(0.0, 1.0, 9)
NAMES = ("site", "hour", "floor")


def rounds(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return values, prices, and features that matter; sites and hours also as a pair."""
    rng = np.random.default_rng(seed)
    site, hour = rng.integers(0, 4, count), rng.integers(0, 3, count)
    floor = rng.exponential(0.1, count)
    prices = 0.1 * site + 0.1 * ((site + hour) % 2) + np.maximum(floor, 0.4 * rng.random(count))
    columns = {"site": site, "hour": np.array(["am", "noon", "pm"])[hour], "floor": floor}
    return rng.uniform(0.2, 1.0, count), prices, columns


def law_of(
    feedback: Feedback = "always", names: tuple[str, ...] = NAMES, **given: Any
) -> OutcomeLaw:
    return OutcomeLaw(GRID, (0, 1), classes=names, feedback=feedback, seed=1, **given)


def chances_by_expert(law: OutcomeLaw) -> np.ndarray:
    """Return the chances by the roots of the trees alone, without features, in risk order."""
    roots = [root for root, _ in full_trees(law.parts[0])]
    laws = law.state.law[roots, :]
    if law.feedback == "won-lost":
        return 1 / (1 + np.exp(-np.maximum.accumulate(laws[:, :-1], axis=1)))
    return np.cumprod(1 - np.minimum(laws[:, :0:-1], 0.999), axis=1)[:, ::-1]


def labels_of(columns: dict[str, np.ndarray], i: int) -> dict[str, Any]:
    return {name: column[i].item() for name, column in columns.items()}


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_the_law_is_that_of_the_definition(feedback: Feedback) -> None:
    _, prices, columns = rounds(420)
    law, reference = law_of(feedback), Effects(9, 3, feedback)
    cells, mirrored = law.cells(prices), feedback == "after-win"
    awake = set()
    for i in range(420):
        labels = labels_of(columns, i)
        played = law.decide(0.9, **labels).index  # of one context: its band is the pool's root
        law.law(0.9, **labels)
        experts = law.state.weights @ chances_by_expert(law)
        mixture = reference.apply(experts, tuple(labels.values()))
        reached = bool(cells[i] <= played)
        told = feedback == "always" or (feedback != "won-lost" and reached == mirrored)
        if not told and played == 0:
            continue
        if feedback != "won-lost":
            view = law.parts[2].chances
            np.testing.assert_allclose(view[1:-1], mixture[1:-1], atol=1e-9)
        column = int(cells[i] if told else played)
        if mirrored:
            column = 9 - column if told else 8 - column
        reference.counted(told, column)
        reference.learn(told, column, reached != mirrored, tuple(labels.values()))
        kind = "told" if told else "at-most" if reached else "above"
        index = int(cells[i] if told else played)
        law.observe(0.9, kind, index, amount=played, labels=tuple(labels.values()))
        if reference.rounds == 128:
            reference.settle(law.state.law[0])
        awake |= set(np.flatnonzero(reference.tau.any(axis=1)).tolist())
    state = law.state
    np.testing.assert_allclose(state.stages, reference.stages, atol=1e-7)
    np.testing.assert_allclose(state.tau, reference.tau, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(state.usual[0], reference.usual, atol=1e-9)
    assert len(awake) > 3
    assert (state.owners >= 0).sum() == len(reference.levels)


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_features_that_matter_are_used_and_others_cost_nothing(feedback: Feedback) -> None:
    rng = np.random.default_rng(5)
    values, prices, columns = rounds(12_000, seed=2)
    useless = {f"u{i}": rng.integers(0, 5 + 40 * i, 12_000) for i in range(4)}
    earned = []
    for given in ({}, columns, columns | useless, useless):
        bids = GRID[law_of(feedback, tuple(given)).play(values, prices, classes=given)]
        earned.append(np.where((bids >= prices) & (bids > 0), values - bids, 0).sum())
    assert earned[1] > (1.0 if feedback == "won-lost" else 1.05) * earned[0]
    assert earned[2] > 0.98 * earned[1]
    assert earned[3] > 0.98 * earned[0]


def test_a_text_an_integer_a_number_and_nothing_may_take_turns() -> None:
    law = law_of("always", ("x",))
    for i in range(400):
        label = ("a", 1, 0.25 * (i % 7), None, float("nan"))[i % 5]
        made = law.decide(0.8, x=label)
        law.learn(made, reached=made.amount >= 0.3, number=0.3)
    assert law.law(0.8, x="never seen").quantile(0.5) == pytest.approx(0.375)
    assert key_of(1) == key_of(np.True_.item()) != key_of(1.0)
    assert key_of(1e99) < key_of(1.5) < key_of(-0.0) == key_of(0.0) < key_of(-1e30) < -1
    assert key_of("www.example.com") == key_of(short("www.example.com"))
    bad: Any
    for bad in (float("inf"), 2**63, "\ud800", [1]):
        with pytest.raises(InvalidContextError, match="'x'"):
            law.decide(0.8, x=bad)
    with pytest.raises(InvalidContextError, match="None if it is unknown"):
        law.decide(0.8)


def test_one_by_one_and_all_at_once_give_the_same_keys() -> None:
    law = law_of()
    columns: dict[str, Any] = {
        "site": np.array(["a", "news.example", 3, True, None], dtype=object),
        "hour": np.array([1, 2, 3, 4, 5]),
        "floor": np.array([0.5, -0.25, np.nan, 0.0, 1e9]),
    }
    table = law.levels.table(columns, 5)
    for i in range(5):
        given = {name: column[i] for name, column in columns.items()}
        np.testing.assert_array_equal(table[i], law.levels.slots(law.levels.labels("x", given)))


def test_a_million_levels_take_no_more_memory() -> None:
    values, prices, _ = rounds(30_000)
    law = law_of("always", ("x", "y"), class_limit=256)
    size = sum(part.nbytes for part in law.state)
    often = np.where(np.arange(30_000) % 3 == 0, 7, np.arange(30_000))
    law.play(values, prices, classes={"x": often, "y": np.arange(30_000) % 2})
    assert sum(part.nbytes for part in law.state) == size
    assert law.state.used.max() > 9_000  # the levels that come often have kept their rows


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_law_with_features_survives_a_file_and_a_correction(feedback: Feedback) -> None:
    values, prices, columns = rounds(700)
    law = law_of(feedback)
    law.play(values, prices, classes=columns)
    again = OutcomeLaw.restore(law.settings(), law.arrays())
    played = [one.play(values, prices, classes=columns) for one in (law, again)]
    np.testing.assert_array_equal(played[0], played[1])
    for name, part in law.arrays().items():
        np.testing.assert_array_equal(part, again.arrays()[name])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("terms", lambda part: part + 10),
        ("levels", lambda part: part[::-1]),
        ("levels", lambda part: part + 10**6),
        ("pairs", lambda part: part + 3),
        ("turn", lambda part: part + 3),
        ("block", lambda part: part + 9),
        ("knot", lambda part: part + 8),
        ("counted", lambda part: part + 257),
        ("stages", lambda part: part * 2),
        ("fine_infos", lambda part: part[:-1]),
    ],
)
def test_impossible_effects_are_refused(name: str, change: Any) -> None:
    values, prices, columns = rounds(300)
    law = law_of()
    law.play(values, prices, classes=columns)
    arrays = law.arrays()
    with pytest.raises(CheckpointError):
        OutcomeLaw.restore(law.settings(), {**arrays, name: change(arrays[name])})


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_merging_and_another_grid_keep_what_features_have_shown(feedback: Feedback) -> None:
    values, prices, columns = rounds(8_000)
    played = np.random.default_rng(0).integers(1, 9, 8_000)
    whole, one, two = (law_of(feedback) for _ in range(3))
    for law, part in ((whole, slice(None)), (one, slice(0, 4_000)), (two, slice(4_000, None))):
        some = {name: column[part] for name, column in columns.items()}
        law.warm_up(values[part], prices[part], played=played[part], classes=some)
    one.merge(two)
    finer = whole.moved(np.linspace(0.0, 1.0, 17), (0, 1))
    differ = []
    for site in range(4):
        given: Any = {"site": site, "hour": "pm", "floor": 0.05}
        expected = whole.law(0.8, **given).chances
        differ.append(expected)
        for chances in (one.law(0.8, **given).chances, finer.law(0.8, **given).chances[::2]):
            assert np.abs(chances - expected).mean() < 0.04
    assert np.ptp(differ, axis=0).max() > 0.25
