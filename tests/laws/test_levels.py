"""More classes than there is room for: which ones are kept, and that they are kept exactly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.errors import CheckpointError, InvalidParameterError
from crossbandit.laws import OutcomeLaw
from crossbandit.laws.levels import Levels

GRID = np.linspace(0.0, 1.0, 11)


def made(limit: int = 8, features: tuple[str, ...] = ("site",), **given: Any) -> OutcomeLaw:
    return OutcomeLaw(GRID, (0, 1), classes=features, class_limit=limit, seed=1, **given)


def auctions(rounds: int, levels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, prices and sites; low numbers of sites are frequent."""
    generator = np.random.default_rng(seed)
    sites = (levels * generator.random(rounds) ** 3).astype(int)
    return generator.random(rounds), 0.8 * generator.random(rounds), sites


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 6))
def test_every_frequent_level_has_a_place(sequence: list[int], limit: int) -> None:
    """Of N rounds, a level with more than N / limit has a place: the bound of space saving."""
    levels = Levels("test", ["site"], limit)
    for label in sequence:
        levels.slots((label,), new=True)
    uses = {labels[0]: used for _, labels, _, used in levels.entries()}
    assert sum(uses.values()) == len(sequence)
    for label, rounds in Counter(sequence).items():
        if rounds * limit > len(sequence):
            assert label in uses
        assert uses.get(label, rounds) >= rounds


def test_a_new_level_takes_the_place_that_was_used_least() -> None:
    levels = Levels("test", ["site"], 2)
    for label in "aab":
        levels.slots((label,), new=True)
    assert levels.slots(("c",)).tolist() == [-1]
    assert levels.slots(("c",), new=True).tolist() == [3]  # place 1, the second level there
    assert levels.slots(("b",)).tolist() == [-1]
    assert levels.entries() == [(0, ["a"], 0, 2), (0, ["c"], 3, 2)]


@pytest.mark.parametrize("features", [("site",), ("site", "device")])
def test_one_by_one_and_all_at_once_are_the_same(features: tuple[str, ...]) -> None:
    """Some rounds may not be played; their levels do not count."""
    values, prices, sites = auctions(1_500, 40)
    columns = {"site": sites, "device": sites % 3}
    columns = {name: columns[name] for name in features}
    lasts = np.where(np.arange(1_500) % 7 == 0, -1, 10)
    whole, single = made(12, features), made(12, features)
    played = whole.play(values, prices, lasts=lasts, classes=columns)
    for i in np.flatnonzero(lasts >= 0):
        labels = {name: int(column[i]) for name, column in columns.items()}
        choice = single.decide(values[i], last=10, **labels)
        assert choice.index == played[i]
        won = bool(choice.amount >= prices[i])
        single.learn(choice, reached=won, number=None if won else prices[i])
    assert whole.description() == single.description()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, single.arrays()[name], err_msg=name)
    again = OutcomeLaw.restore(whole.settings(), whole.arrays())
    for law in (whole, again):
        law.warm_up(values, prices, played=played * 0 + 5, classes=columns)
    assert again.description() == whole.description()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)


def test_a_class_knows_nothing_of_the_one_that_had_its_place() -> None:
    law = made(4, feedback="always")
    sites = np.repeat(np.arange(40), 50)
    cells = np.where(sites % 2, 0.2, 0.7)
    law.warm_up(np.full(2_000, 0.5), cells, classes={"site": sites})
    state = law.state
    for place, (_, (label,), number, _) in enumerate(law.settings()["levels"]):
        assert state.owners[place] == number >= 36
        counts = np.zeros(12)
        counts[2 if label % 2 else 7] = 50
        np.testing.assert_array_equal(state.told[state.roots[place]], counts)
    assert law.law(0.5, site=0).own_rounds == 2_000  # forgotten: the pool


def test_the_bands_of_classes_that_no_longer_come_give_way() -> None:
    """Sixteen classes, room for the bands of few: those of the last class are there."""
    law = made(16, feedback="always")
    values, prices, _ = auctions(16 * 3_000, 1)
    sites = np.repeat(np.arange(16), 3_000)
    law.warm_up(values, prices, classes={"site": sites})
    state = law.state
    assert (state.roots >= 0).all()
    children = state.children[state.roots]
    assert (children[-1] >= 0).all()
    assert (children[:8] == -1).all()
    # What is counted in children was counted in their parents before.
    for row in np.flatnonzero(state.children[:, 0] >= 0):
        assert state.visits[state.children[row]].sum() <= state.visits[row]


def test_busy_classes_keep_their_bands() -> None:
    law = made(16, feedback="always")
    values, prices, _ = auctions(48_000, 1)
    sites = np.random.default_rng(1).choice(16, 48_000, p=[0.7] + [0.02] * 15)
    law.warm_up(values, prices, classes={"site": sites})
    entries = [labels[0] for _, labels, *_ in law.settings()["levels"]]
    root = law.state.roots[entries.index(0)]
    left, right = law.state.children[root]
    assert law.state.visits[[left, right]].sum() > 0.9 * law.state.visits[root]


def test_merging_keeps_the_classes_with_the_most_rounds() -> None:
    one, two = made(4, feedback="always"), made(4, feedback="always")
    for law, names in ((one, "aaabbbbcdd"), (two, "eeeeeaafffg")):
        sites = {"site": list(names)}
        law.warm_up(np.full(len(names), 0.5), np.full(len(names), 0.3), classes=sites)
    one.merge(two)
    found = {labels[0]: uses for _, labels, _, uses in one.settings()["levels"]}
    assert found == {"a": 5, "b": 4, "e": 5, "f": 3}
    for place, (_, (label,), number, uses) in enumerate(one.settings()["levels"]):
        assert one.state.owners[place] == number
        assert one.state.visits[one.state.roots[place]] == uses, label
    assert one.rounds == 21
    again = OutcomeLaw.restore(one.settings(), one.arrays())
    again.warm_up([0.5], [0.3], classes={"site": ["h"]})  # takes the place of f
    assert {labels[0] for _, labels, *_ in again.settings()["levels"]} == set("abeh")


def test_entries_that_are_not_complete_are_refused() -> None:
    law = made(64)
    law.warm_up([0.5], [0.3], classes={"site": ["a"]})
    levels = [entry[:2] for entry in law.settings()["levels"]]
    with pytest.raises(InvalidParameterError, match="number and uses"):
        OutcomeLaw.restore({**law.settings(), "levels": levels}, law.arrays())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("owners", lambda part: part + 1),
        ("children", lambda part: np.where(part >= 0, part[part >= 0].min(), part)),
        ("children", lambda part: part[:, ::-1]),
        ("roots", lambda part: np.full_like(part, part.max())),
        ("born", lambda part: np.where(np.arange(part.size) == part.size - 1, -1.0, part)),
        ("used", lambda part: part * 0),
    ],
)
def test_impossible_trees_are_refused(name: str, change: Any) -> None:
    law = made(64)
    values, prices, sites = auctions(4_000, 5)
    law.warm_up(values, prices, classes={"site": sites})
    arrays = law.arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(CheckpointError):
        OutcomeLaw.restore(law.settings(), arrays)


def test_the_bands_of_dropped_classes_are_free() -> None:
    """One place, room for no bands but by 8 places: the next class frees the rows, all in pairs."""
    law = made(8, feedback="always")
    values, prices, _ = auctions(3_000, 1)
    law.warm_up(values, prices, classes={"site": [0] * 3_000})
    assert (law.state.children >= 0).any()
    law.levels.uses[0] = 0  # so the ninth level takes its place
    law.warm_up(values[:8], prices[:8], classes={"site": np.arange(1, 9)})
    state = law.state
    assert (state.children == -1).all()
    assert (state.born == -1).sum() == state.used[1] == 4
    assert state.visits[state.roots[0]] == 1
    OutcomeLaw.restore(law.settings(), law.arrays())


def test_merging_adds_the_ages_of_nodes() -> None:
    """One law of 10 rounds has site a since its second; another of 5 since its third."""
    one, two = made(4, feedback="always"), made(4, feedback="always")
    for law, names in ((one, "baaaaaaaaa"), (two, "bbaaa")):
        sites = {"site": list(names)}
        law.warm_up(np.full(len(names), 0.5), np.full(len(names), 0.3), classes=sites)
    ages = [law.rounds - law.state.born[law.state.roots[1]] for law in (one, two)]
    assert ages == [8, 2]
    one.merge(two)
    assert one.rounds - one.state.born[one.state.roots[1]] == 10


def test_a_level_without_rounds_does_not_take_over_those_of_the_level_before_it() -> None:
    """A place is given to a new level, which then learns nothing, and the law is merged."""
    law, other = made(4), made(4)
    for label, rounds in (("a", 9), ("b", 8), ("c", 7), ("w", 3)):
        for _ in range(rounds):
            law.observe(0.5, "told", 3, labels=(label,))
    law.levels.slots(("new",), new=True)
    law.merge(other)
    shown = {labels[0]: number for _, labels, number, _ in law.levels.entries()}
    state = law.state
    assert "new" in shown
    assert state.roots[shown["new"] % 4] == -1
    visits = [state.visits[state.roots[shown[label] % 4]] for label in "abc"]
    assert visits == [9, 8, 7]
