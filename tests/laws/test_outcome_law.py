"""What a law promises: by hand on small cases, and for all inputs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.core.types import Feedback, Ties
from crossbandit.errors import (
    CheckpointError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.memory import row_units
from crossbandit.laws.rounds import prepared, shown_by
from crossbandit.laws.state import AT_MOST, TOLD

GRID = np.linspace(0.0, 1.0, 11)
FEEDBACK = ["after-loss", "after-win", "always", "won-lost"]


def made(**changes: Any) -> OutcomeLaw:
    return OutcomeLaw(**{"amounts": GRID, "context_range": (0.0, 1.0), "seed": 1, **changes})


def auctions(rounds: int, seed: int = 0, slope: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    values = generator.random(rounds)
    return values, slope * values + 0.4 * generator.random(rounds)


# ------------------------------------------------------------------------------ by hand


def test_before_anything_is_seen_every_cell_is_as_likely() -> None:
    """But a bid of 0 wins nothing."""
    even = np.arange(1, 12) / 12
    even[0] = 0.0
    for feedback in ("after-loss", "after-win", "won-lost"):
        np.testing.assert_allclose(made(feedback=feedback).law(0.5).chances, even)


def test_the_root_adds_one_round_that_is_anywhere() -> None:
    law = OutcomeLaw([1.0, 2.0], (0, 3), feedback="always")
    for cell in (0, 2, 2):
        law.observe(1.0, "told", cell)
    # Hazards from the top: cell 2 was told 2 times of 3, cell 1 never of the 1 below.
    top, middle = (2 + 1 / 3) / (3 + 1), (0 + 1 / 2) / (1 + 1)
    np.testing.assert_allclose(
        law.state.law[0], [1.0, middle, top], rtol=1e-12, err_msg="h_j = (n_j + 1/(j+1))/(r_j + 1)"
    )


def test_censored_rounds_are_at_risk_above_their_amount_only() -> None:
    law = OutcomeLaw([1.0, 2.0], (0, 3))
    law.observe(1.0, "at-most", 1, amount=1)  # the cell is 0 or 1: cell 2 was at risk
    law.observe(1.0, "told", 1, amount=0)
    top = (0 + 1 / 3) / (2 + 1)
    middle = (1 + 1 / 2) / (1 + 1)  # only the told round was at risk of cell 1
    np.testing.assert_allclose(law.state.law[0], [1.0, middle, top])


def test_after_win_is_after_loss_seen_from_the_other_end() -> None:
    values, prices = auctions(1_500)
    low, high = made(), made(feedback="after-win")
    cells = low.cells(prices)
    for value, cell, amount in zip(values, cells, np.arange(1_500) % 11, strict=True):
        if cell > amount:
            low.observe(value, "told", int(cell), amount=int(amount))
        else:
            low.observe(value, "at-most", int(amount), amount=int(amount))
        turned, bid = 11 - int(cell), 10 - int(amount)
        if turned <= bid:
            high.observe(value, "told", turned, amount=bid)
        else:
            high.observe(value, "above", bid, amount=bid)
    for value in (0.2, 0.8):
        np.testing.assert_allclose(
            low.law(value).chances[1:-1], 1 - high.law(value).chances[-2:0:-1], rtol=1e-12
        )


def test_nothing_told_about_the_number_is_learned_where_it_is_hidden() -> None:
    values, prices = auctions(400)
    law, other = made(), made()
    played = law.play(values, prices)
    lower = np.where(law.cells(prices) <= played, 0.0, prices)  # won: any lower price is the same
    np.testing.assert_array_equal(other.play(values, lower), played)


# --------------------------------------------------------------------- for all inputs

_OUTCOMES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 11), st.integers(0, 10)), min_size=1, max_size=80
)


def taught(
    feedback: Feedback, outcomes: list[tuple[float, int, int]], repeat: int = 1
) -> OutcomeLaw:
    law = made(feedback=feedback)
    contexts, cells, played = (np.array(column) for column in zip(*outcomes, strict=True))
    numbers = np.append(GRID, 2.0)[np.tile(cells, repeat)]
    law.warm_up(np.tile(contexts, repeat), numbers, played=np.tile(played, repeat))
    return law


@pytest.mark.parametrize("feedback", FEEDBACK)
@settings(max_examples=40, deadline=None)
@given(outcomes=_OUTCOMES, repeat=st.sampled_from([1, 30]), context=st.floats(0, 1))
def test_laws_are_distributions(
    feedback: Feedback, outcomes: list[tuple[float, int, int]], repeat: int, context: float
) -> None:
    view = taught(feedback, outcomes, repeat).law(context)
    assert (np.diff(view.chances) >= -1e-12).all()
    assert (view.chances >= 0).all()
    assert (view.chances <= 1).all()
    assert np.isfinite(view.errors).all()
    assert 0 <= view.own_share <= 1


@pytest.mark.parametrize("feedback", FEEDBACK)
@settings(max_examples=25, deadline=None)
@given(outcomes=_OUTCOMES, order=st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_the_order(
    feedback: Feedback, outcomes: list[tuple[float, int, int]], order: Any
) -> None:
    shuffled = list(outcomes)
    order.shuffle(shuffled)
    first, second = taught(feedback, outcomes), taught(feedback, shuffled)
    pool = slice(0, 511)
    for name in ("told", "hidden", "visits"):
        np.testing.assert_array_equal(
            getattr(first.state, name)[pool], getattr(second.state, name)[pool]
        )


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_one_by_one_and_all_at_once_are_the_same_to_the_bit(feedback: Feedback) -> None:
    values, prices = auctions(1_500)
    whole, single = made(feedback=feedback), made(feedback=feedback)
    played = whole.play(values, prices)
    for value, price, bid in zip(values, prices, played, strict=True):
        choice = single.decide(value)
        assert choice.index == bid
        single.learn(choice, reached=bool(choice.amount >= price), number=price)
    for mine, theirs in zip(whole.state, single.state, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_context_beyond_the_range_has_the_law_of_its_end_and_its_own_worth() -> None:
    values, prices = auctions(1_000)
    whole, single = made(), made()
    values = 1.5 * values
    played = whole.play(values, prices)
    for value, price, bid in zip(values, prices, played, strict=True):
        choice = single.decide(value)
        assert choice.index == bid
        single.learn(choice, reached=bool(choice.amount >= price), number=price)


def test_deciding_changes_nothing() -> None:
    law = made(classes=["site"])
    values, prices = auctions(700)
    law.play(values, prices, classes={"site": np.arange(700) % 5})
    before = law.arrays()
    for value in values[:50]:
        law.decide(value, site=99)
        law.law(value, site=3)
    for name, part in law.arrays().items():
        np.testing.assert_array_equal(part, before[name])


# -------------------------------------------------------------------------- merging


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_merging_is_learning_both(feedback: Feedback) -> None:
    values, prices = auctions(3_000)
    played = 1 + np.arange(3_000) % 10  # 0 would mean not to bid
    half = slice(0, 1_500), slice(1_500, 3_000)
    both, first, second = (made(feedback=feedback) for _ in range(3))
    both.warm_up(values, prices, played=played)
    for law, part in zip((first, second), half, strict=True):
        law.warm_up(values[part], prices[part], played=played[part])
    first.merge(second)
    both.merge(made(feedback=feedback))  # computes all laws anew, from the counts alone
    pool = slice(0, 511)
    for name in ("told", "hidden", "visits", "law"):
        np.testing.assert_allclose(
            getattr(first.state, name)[pool], getattr(both.state, name)[pool], rtol=1e-12
        )
    assert first.rounds == 3_000


def test_laws_of_different_form_do_not_merge() -> None:
    with pytest.raises(InvalidParameterError, match="same form"):
        made().merge(made(feedback="always"))


def test_another_grid_keeps_the_law() -> None:
    values, prices = auctions(20_000)
    law = made(feedback="always")
    law.warm_up(values, prices)
    finer = law.moved(np.linspace(0, 1, 21), (0, 1))
    np.testing.assert_allclose(
        finer.law(0.7).chances[::2], law.law(0.7).chances, atol=0.03, err_msg="same amounts"
    )
    wider = law.moved(GRID, (0, 2))
    assert abs(wider.law(0.7).quantile(0.5) - law.law(0.7).quantile(0.5)) <= 0.11


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_the_same_grid_keeps_every_count(feedback: Feedback) -> None:
    values, prices = auctions(2_000)
    law = made(feedback=feedback)
    law.warm_up(values, prices, played=np.arange(2_000) % 11)
    same = law.moved(GRID, (0, 1))
    for name in ("told", "hidden"):
        mine, theirs = getattr(law.state, name), getattr(same.state, name)
        np.testing.assert_array_equal(mine[:511], theirs[:511])


# ------------------------------------------------------------------- features, classes


def test_classes_that_matter_are_learned() -> None:
    generator = np.random.default_rng(0)
    site = generator.integers(0, 4, 12_000)
    values = generator.random(12_000)
    prices = 0.15 * site + 0.2 * generator.random(12_000)
    law = made(classes=["site"])
    law.play(values, prices, classes={"site": site})
    medians = [law.law(0.9, site=level).quantile(0.5) for level in range(4)]
    np.testing.assert_allclose(medians, [0.1, 0.25, 0.4, 0.55], atol=0.11)
    assert law.law(0.9, site=0).classes_weight > 0.9


def test_classes_that_say_nothing_cost_nothing() -> None:
    generator = np.random.default_rng(0)
    values, prices = auctions(12_000, slope=0.0)
    plain, classy = made(), made(classes=["site"])
    labels = {"site": generator.integers(0, 20, 12_000)}
    earned = []
    for law, classes in ((plain, {}), (classy, labels)):
        bids = GRID[law.play(values, prices, classes=classes)]
        earned.append(np.where(bids >= prices, values - bids, 0).sum())
    assert earned[1] > 0.995 * earned[0]


def test_a_new_level_is_served_by_the_pool() -> None:
    law = made(classes=["site"])
    values, prices = auctions(3_000)
    law.play(values, prices, classes={"site": np.zeros(3_000, dtype=int)})
    assert np.isfinite(law.law(0.5, site="never seen").chances).all()
    with pytest.raises(InvalidContextError, match="site"):
        law.decide(0.5)


def test_memory_does_not_grow_with_levels() -> None:
    law = made(classes=["site"], class_limit=16)
    size = sum(part.nbytes for part in law.state)
    values, prices = auctions(2_000)
    law.play(values, prices, classes={"site": np.arange(2_000)})
    assert sum(part.nbytes for part in law.state) == size
    assert law.law(0.5, site=1_999).own_rounds > 0


def test_recent_rounds_win_where_prices_have_moved() -> None:
    values, prices = auctions(60_000, slope=0.0)
    prices[30_000:] += 0.4
    law = made(feedback="always")
    law.play(values, prices)
    assert law.law(0.9).recent_weight > 0.9
    assert law.law(0.9).quantile(0.5) >= 0.6


# ---------------------------------------------------------------- other kinds of payoff


def test_a_newsvendor_orders_the_critical_quantile() -> None:
    generator = np.random.default_rng(0)
    orders = np.arange(21.0)
    law = OutcomeLaw(orders, (4.0, 4.5), feedback="after-win", payoff="newsvendor", seed=2)
    demands = generator.integers(5, 16, 4_000).astype(float)
    played = law.play(np.full(4_000, 4.0), demands, costs=1.0)
    assert abs(np.median(orders[played[-500:]]) - 13) <= 1  # 3/4 of 5, ..., 15


@pytest.mark.parametrize("ties", ["win", "lose"])
def test_a_newsvendor_sells_whole_units(ties: Ties) -> None:
    """With demands on the grid, the order that would have earned most; not the one beside it."""
    orders = np.arange(11.0)
    demands = np.random.default_rng(0).binomial(10, 0.5, 4_000).astype(float)
    law = OutcomeLaw(orders, (4.0, 4.5), feedback="always", payoff="newsvendor", ties=ties)
    law.warm_up(np.full(4_000, 4.0), demands)
    for cost in (0.5, 1.0, 2.0, 3.0, 3.7):
        earned = 4.0 * np.minimum.outer(orders, demands).mean(axis=1) - cost * orders
        assert law.decide(4.0, cost=cost).index == earned.argmax()


def test_a_seller_finds_the_best_price() -> None:
    generator = np.random.default_rng(0)
    prices = np.arange(1.0, 11.0)
    law = OutcomeLaw(prices, (0, 5), feedback="won-lost", payoff="posted-price", ties="lose")
    willing = 10 * generator.random(6_000)
    played = law.play(np.full(6_000, 2.0), willing, costs=2.0)
    assert abs(np.median(prices[played[-500:]]) - 6) <= 1  # where (p - 2) (10 - p) is largest


def test_a_lower_worth_lowers_the_bid_but_not_the_law() -> None:
    values, prices = auctions(3_000)
    law = made(feedback="always")
    law.play(values, prices)
    assert law.decide(0.9, worth=0.5).index < law.decide(0.9).index
    assert law.decide(0.9, worth=0.5).context == 0.9


def test_no_amount_below_a_reserve_or_above_the_value() -> None:
    law = made()
    assert law.decide(0.55, first=4).index in (4, 5)
    assert law.play([0.5, 0.3], [0.1, 0.1], firsts=[4, 4]).tolist()[1] == -1
    with pytest.raises(InvalidContextError, match="range of amounts"):
        law.decide(0.3, first=4)


@pytest.mark.parametrize("method", ["decide", "policy"])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("context", {"context": np.nan}),
        ("worth", {"worth": np.inf}),
        ("worth", {"worth": "much"}),
        ("first, last", {"first": -1}),
        ("first, last", {"first": 4, "last": 3}),
        ("first, last", {"last": 11}),
        ("classes", {"site": "a"}),
    ],
)
def test_a_round_is_checked_in_one_way(
    method: str, name: str, given: dict[str, Any], *, guarded: bool
) -> None:
    law = GuardedLaw(made()) if guarded else made()
    with pytest.raises(InvalidContextError, match=f"The '{name}' parameter of {method} must be"):
        getattr(law, method)(**{"context": 0.5, **given})


@pytest.mark.parametrize("method", ["decide", "policy"])
def test_a_cost_is_a_number(method: str) -> None:
    with pytest.raises(InvalidContextError, match=f"The 'cost' parameter of {method} must be"):
        getattr(made(), method)(0.5, cost=np.nan)


# ----------------------------------------------------------------------- files, errors


def test_a_law_survives_a_file() -> None:
    law = made(classes=["site", "device"])
    values, prices = auctions(900)
    classes = {"site": np.arange(900) % 7, "device": np.where(values > 0.5, "phone", "tv")}
    law.play(values, prices, classes=classes)
    again = OutcomeLaw.restore(json.loads(json.dumps(law.settings())), law.arrays())
    np.testing.assert_array_equal(
        law.play(values, prices, classes=classes), again.play(values, prices, classes=classes)
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("told", lambda part: part * np.nan),
        ("visits", lambda part: -part),
        ("law", lambda part: part[:, :-1]),
        ("weights", lambda part: part * 2),
        ("scale", lambda part: part * 0),
    ],
)
def test_impossible_arrays_are_refused(name: str, change: Any) -> None:
    law = made(classes=["site"])
    law.play(*auctions(50), classes={"site": np.zeros(50, dtype=int)})
    arrays = law.arrays()
    with pytest.raises(CheckpointError):
        OutcomeLaw.restore(law.settings(), {**arrays, name: change(arrays[name])})
    del arrays[name]
    with pytest.raises(CheckpointError, match=f"Missing or unknown: {name}."):
        OutcomeLaw.restore(law.settings(), arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"amounts": [1.0]},
        {"amounts": [1.0, 1.0]},
        {"amounts": [0.0, np.inf]},
        {"context_range": (1.0, 1.0)},
        {"feedback": "sometimes"},
        {"payoff": "all-pay"},
        {"classes": ["a", "a"]},
        {"class_limit": 0},
        {"probing": -1.0},
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        made(**changes)


def test_contradictions_are_refused() -> None:
    law = made()
    choice = law.decide(0.5)
    with pytest.raises(InvalidLossesError, match="contradict"):
        law.learn(choice, reached=False, number=0.0)
    with pytest.raises(InvalidLossesError, match="finite number"):
        law.learn(choice, reached=False)
    with pytest.raises(InvalidLossesError, match="one of"):
        law.observe(0.5, "above", 3)
    assert law.rounds == 0


@pytest.mark.parametrize("won_first", [True, False])
def test_a_corrected_outcome_counts_as_the_right_one(*, won_first: bool) -> None:
    won, lost = ("at-most", AT_MOST, 4), ("told", TOLD, 6)  # of amount 4
    wrong, right = (won, lost) if won_first else (lost, won)
    corrected, expected = made(), made()
    corrected.observe(0.5, wrong[0], wrong[2], amount=4)
    expected.observe(0.5, right[0], right[2], amount=4)
    test = IndependenceTest(corrected).core
    slots = corrected.levels.slots(())
    corrected.core.correct(test, 0.5, slots, *wrong[1:], *right[1:], 4)
    for name in ("told", "hidden", "visits", "asked", "reached"):
        found = corrected.arrays()[name]
        np.testing.assert_array_equal(found, expected.arrays()[name], err_msg=name)


def test_extreme_counts_stay_finite() -> None:
    for feedback in FEEDBACK:
        law = made(feedback=feedback)
        for number in (0.0, 5.0):
            law.warm_up(np.full(3_000, 0.5), np.full(3_000, number), played=np.full(3_000, 5))
        assert np.isfinite(law.law(0.5).chances).all()
        assert np.isfinite(law.state.law).all()


def test_a_view_speaks_and_draws() -> None:
    values, prices = auctions(3_000)
    law = made()
    law.play(values, prices)
    view = law.law(0.7)
    assert "comes from all rounds" in str(view)
    assert len(view.plot().lines) == 2


def test_a_quantile_is_the_lowest_amount_that_reaches_it() -> None:
    view = made().law(0.5)
    for k, chance in enumerate(view.chances.tolist()):
        assert view.quantile(chance) == view.amounts[k]
        assert view.quantile(chance - 1e-9) == view.amounts[k]
    assert view.quantile(1.0) == np.inf


@pytest.mark.parametrize("feedback", ["always", "after-win"])
def test_the_best_order_is_found_by_trying_all(feedback: Feedback) -> None:
    rng = np.random.default_rng(4)
    amounts = np.array([0.0, 1.0, 1.5, 4.0, 6.0, 7.0])
    demands = np.append(amounts, 99.0)  # the last demand is beyond all amounts
    for _ in range(50):
        law = OutcomeLaw(amounts, (0, 9), feedback=feedback, payoff="newsvendor")
        shown = rng.choice(demands, 20, p=rng.dirichlet(np.ones(7)))
        law.warm_up(np.full(20, 5.0), shown, played=np.full(20, 5))
        price, cost = rng.uniform(2, 9), rng.uniform(0, 2)
        shares = np.diff(law.law(5.0).chances, prepend=0.0, append=1.0)
        profits = [shares @ (price * np.minimum(demands, a)) - cost * a for a in amounts]
        uniforms = np.array([0.0, 0.0, 1.0])  # which move the law by nothing, and try nothing
        slots = law.levels.slots(())
        best = law.core.decide(5.0, slots, price, cost, 0, 5, uniforms)
        assert best == int(np.argmax(profits))


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_a_log_that_was_played_teaches_what_playing_it_taught(feedback: Feedback) -> None:
    values, prices = auctions(600)
    played, told = made(feedback=feedback), made(feedback=feedback)
    amounts = played.play(values, prices)
    told.warm_up(values, prices, played=amounts)
    for name, part in played.arrays().items():
        np.testing.assert_array_equal(told.arrays()[name], part, err_msg=name)


def test_no_more_than_the_worth_is_bid_and_the_worth_may_be() -> None:
    assert prepared(made(), GRID, GRID).lasts.tolist() == list(range(GRID.size))


def test_merging_adds_discounted_rounds_as_they_count_now() -> None:
    def rounds(law: OutcomeLaw) -> np.ndarray:
        units = row_units(law._rules, law.state)
        return law.state.visits[: units.size] / units

    laws = [made(), made()]
    for law, count in zip(laws, (300, 5_000), strict=True):
        law.warm_up(*auctions(count))
    expected = rounds(laws[0]) + rounds(laws[1])
    laws[0].merge(laws[1])
    np.testing.assert_allclose(rounds(laws[0]), expected, rtol=1e-12)
    assert expected.min() < 0.9 * expected.max()


def test_of_equal_amounts_the_lowest_is_chosen() -> None:
    """At a price of 0 and no cost, every order earns nothing."""
    law = OutcomeLaw(np.linspace(0, 1, 6), (0, 1), feedback="always", payoff="newsvendor")
    assert law.decide(0.5, worth=0.0, cost=0.0, first=2).index == 2


def test_discounted_counts_stay_finite_in_long_runs() -> None:
    values, prices = auctions(230_000)
    law = made()
    law.play(values, prices)
    # A scale of 2**(rounds / half-life) is brought back to 1 when it has passed 1e15.
    assert law.state.scale[2] < 2.0 ** (230_000 / 2**12) / 1e15
    recent = law.state.visits[511 + 63] / law.state.scale[2]
    np.testing.assert_allclose(recent, 1 / (1 - 2.0 ** (-1 / 2**12)), rtol=1e-6)
    assert np.isfinite(law.state.law).all()


@pytest.mark.parametrize("ties", ["win", "lose"])
def test_whether_an_equal_number_is_reached_is_what_ties_say(ties: Ties) -> None:
    law = OutcomeLaw([0.0, 1.0, 2.0], (0, 2), feedback="always", ties=ties)
    wins = ties == "win"
    assert shown_by(law, 1.0, reached=wins, number=1.0) == (0, 1 if wins else 2, 1)
    with pytest.raises(InvalidLossesError, match="contradict"):
        shown_by(law, 1.0, reached=not wins, number=1.0)
