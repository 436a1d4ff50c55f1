"""A bidder without a grid: any value, in any unit, and any bid."""

from __future__ import annotations

import math
import signal
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit import CrossGraph
from crossbandit.applications import FirstPriceBidder
from crossbandit.core.types import Feedback, Ties
from crossbandit.errors import (
    CrossbanditWarning,
    InvalidContextError,
    InvalidParameterError,
    LearnedBeforeError,
)
from crossbandit.laws import OutcomeLaw, laying

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.core.types import Floats

FEEDBACK = ("after-loss", "after-win", "always", "won-lost")


def market(auctions: int, seed: int = 0, spread: float = 1.0) -> tuple[Floats, Floats]:
    """Values, and prices that are half of them on average."""
    first, second = np.random.default_rng(seed).standard_normal((2, auctions))
    values = np.exp(spread * first)
    return values, 0.5 * values * np.exp(0.3 * second)


def play(bidder: FirstPriceBidder, values: Floats, prices: Floats, **classes: Any) -> Floats:
    """Bid in all auctions, and settle each at once; return the bids, 0 for none."""
    bids = np.zeros(values.size)
    for i, (value, price) in enumerate(zip(values.tolist(), prices.tolist(), strict=True)):
        bid = bidder.bid(value, **{name: one[i] for name, one in classes.items()})
        if bid.amount is None:
            continue
        bids[i] = bid.amount
        won = price <= bid.amount if bidder.rules.ties == "win" else price < bid.amount
        tells = {"always": True, "won-lost": False, "after-loss": not won, "after-win": won}
        told = price if tells[bidder.feedback] else None
        bidder.settle(bid, won=won, highest_competing_bid=told)
    return bids


def surplus(values: Floats, prices: Floats, bids: Floats) -> float:
    return float(np.where((bids >= prices) & (bids > 0), values - bids, 0.0).sum())


def best_share(values: Floats, prices: Floats) -> float:
    return max(surplus(values, prices, share * values) for share in np.linspace(0.01, 0.99, 99))


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_bids_scale_with_values_and_prices(feedback: Feedback) -> None:
    values, prices = market(1500)
    bids = play(FirstPriceBidder(feedback=feedback, seed=1), values, prices)
    for unit in (2.0**-30, 2.0**40):  # exact in binary; what is rounded is equal as well
        scaled = play(FirstPriceBidder(feedback=feedback, seed=1), unit * values, unit * prices)
        np.testing.assert_allclose(scaled, unit * bids, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1000.0, 1e12])
def test_earnings_do_not_depend_on_the_unit(unit: float) -> None:
    values, prices = market(3000)
    usual = surplus(values, prices, play(FirstPriceBidder(seed=1), values, prices))
    given = (unit * values, unit * prices)
    assert surplus(*given, play(FirstPriceBidder(seed=1), *given)) / unit == pytest.approx(
        usual, rel=0.02
    )


@pytest.mark.parametrize(
    ("feedback", "least"), [*zip(FEEDBACK, (0.95, 0.95, 0.95, 0.9), strict=True)]
)
def test_it_earns_nearly_what_the_best_share_earns(feedback: Feedback, least: float) -> None:
    values, prices = market(4000)
    bids = play(FirstPriceBidder(feedback=feedback, seed=2), values, prices)
    part = slice(1000, None)
    best = best_share(values[part], prices[part])
    assert surplus(values[part], prices[part], bids[part]) > least * best


def test_prices_that_do_not_depend_on_values_are_learned_from_all_values() -> None:
    generator = np.random.default_rng(3)
    values = 10.0 ** generator.uniform(0, 4, 6000)
    prices = np.exp(0.2 * generator.standard_normal(6000))
    bids = play(FirstPriceBidder(seed=1), values, prices)
    last = slice(3000, None)
    assert (bids[last] <= np.maximum(8.0, 0.002 * values[last])).mean() > 0.99
    assert surplus(values[last], prices[last], bids[last]) > 0.98 * (values[last] - 2.0).sum()


@pytest.mark.parametrize(("ties", "least"), [("win", 3.0), ("lose", 3.0 * (1.0 + 1e-9))])
@pytest.mark.parametrize("feedback", ["after-loss", "always"])
def test_common_prices_are_bid_exactly(ties: Ties, least: float, feedback: Feedback) -> None:
    """Three prices hold most auctions; the second one is the best bid at each value."""
    generator = np.random.default_rng(1)
    values = generator.uniform(8, 12, 4000)
    prices = generator.choice([1.0, 3.0, 9.0], 4000, p=[0.2, 0.6, 0.2])
    bidder = FirstPriceBidder(ties=ties, feedback=feedback, seed=1)
    last = play(bidder, values, prices)[3000:]
    if feedback == "always":
        assert (np.abs(last / least - 1.0) <= 1e-12).mean() > 0.9
    assert ((last >= least - 1e-9) & (last < 1.01 * least)).mean() > 0.9


@pytest.mark.parametrize("tick", [Decimal("0.25"), Decimal("0.03"), 0.1])
def test_bids_are_whole_ticks(tick: Any) -> None:
    generator = np.random.default_rng(1)
    values = generator.uniform(0, 4, 1000)
    prices = generator.uniform(0, 2, 1000)
    bids = play(FirstPriceBidder(tick_size=tick, seed=1), values, prices)
    counts = np.round(bids / float(tick))
    exact = [float(int(count) * Decimal(str(tick))) for count in counts]
    np.testing.assert_array_equal(bids, exact)
    assert (bids <= values).all()
    assert (bids[values < float(tick)] == 0).all()
    assert (bids[values > float(tick)] > 0).all()


def test_reserve_prices_and_the_highest_bid_are_kept() -> None:
    bidder = FirstPriceBidder(max_bid=6, reserve=0.5, tick_size=Decimal("0.3"), seed=1)
    for value in (0.4, 0.7, 3.0, 100.0):
        amount = bidder.bid(value).amount
        assert amount is None if value < 0.6 else 0.6 <= (amount or 0.0) <= min(value, 6.0)
    assert bidder.bid(10.0, reserve=5.5).amount in (5.7, 6.0)
    assert bidder.bid(10.0, reserve=6.1).reason is not None
    assert bidder.policy(10.0, reserve=6.1).sum() == 0.0
    assert bidder.policy(10.0, reserve=5.5).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, -math.inf, 1e101, "3", None])
def test_impossible_values_are_refused(value: Any) -> None:
    bidder = FirstPriceBidder(seed=1)
    with pytest.raises(InvalidContextError, match="'value'"):
        bidder.bid(value)
    if isinstance(value, float):
        with pytest.raises(InvalidContextError, match="row 1"):
            bidder.bid_many([1.0, value])


def test_at_a_value_of_0_no_bid_is_made() -> None:
    bidder = FirstPriceBidder(seed=1)
    assert bidder.bid(0.0).amount is None
    assert "value of 0" in (bidder.bid(0).reason or "")
    bids = bidder.bid_many([0.0, 2.0])
    assert np.isnan(bids.amounts[0])
    bidder.settle_many(bids, won=[False, False], highest_competing_bid=[np.nan, 5.0])
    bidder.observe([0.0, 1.0], highest_competing_bid=[1.0, 0.5])
    assert bidder.learner.law.rounds == 2


def test_settings_that_need_a_grid_say_so() -> None:
    for given in (
        {"guarded": True},
        {"algorithm": CrossGraph()},
        {"at_most_value": False},
        {"bids": 10},
    ):
        with pytest.raises(InvalidParameterError, match=next(iter(given)) + "|value_range"):
            FirstPriceBidder(seed=1, **given)
    law = OutcomeLaw()
    for method in (law.play, law.warm_up):
        with pytest.raises(InvalidParameterError, match="grid"):
            method([1.0], [1.0])
    with pytest.raises(InvalidParameterError, match="both"):
        OutcomeLaw([0.0, 1.0])
    with pytest.raises(InvalidParameterError, match="same feedback"):
        FirstPriceBidder(seed=1).take_counts(FirstPriceBidder(value_range=(0, 1), seed=1))


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_saved_and_loaded_it_goes_on_exactly(feedback: Feedback, tmp_path: Path) -> None:
    values, prices = market(2600)
    sites = ["a" if value > 1 else "b" for value in values]
    bidder = FirstPriceBidder(feedback=feedback, classes=("site",), seed=1)
    play(bidder, values[:2500], prices[:2500], site=sites[:2500])
    bidder.save(tmp_path / "bidder")
    other = FirstPriceBidder.load(tmp_path / "bidder")
    rest = (values[2500:], prices[2500:])
    later = play(bidder, *rest, site=sites[2500:])
    np.testing.assert_array_equal(play(other, *rest, site=sites[2500:]), later)
    assert other.value_range == bidder.value_range


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("auctions", [0, 1, 2, 60])
def test_a_new_bidder_is_saved_and_loaded_in_any_unit(
    auctions: int, unit: float, tmp_path: Path
) -> None:
    values, prices = unit * np.array(market(120))
    bidder = FirstPriceBidder(seed=1)
    play(bidder, values[:auctions], prices[:auctions])
    bidder.save(tmp_path / "bidder")
    rest = (values[auctions:], prices[auctions:])
    np.testing.assert_array_equal(
        play(FirstPriceBidder.load(tmp_path / "bidder"), *rest), play(bidder, *rest)
    )


def test_snapshots_decide_and_tokens_are_settled() -> None:
    values, prices = market(1000)
    bidder = FirstPriceBidder(feedback="always", seed=1)
    play(bidder, values, prices)
    copy = bidder.snapshot(seed=2)
    for value in (0.3, 1.0, 7.0):
        bid = copy.bid(value)
        assert bid.amount == bidder.bid(value).amount  # nothing is random if prices are told
        assert len(bid.token) < 100
        bidder.settle(bid.token, won=False, highest_competing_bid=2.0 * value)
    assert bidder.learner.law.rounds == 1003
    assert copy.value_range == bidder.value_range


@pytest.mark.parametrize("sizes", [(300, 500), (300, 2500), (2500, 300), (2500, 2500)])
def test_merged_bidders_know_what_both_know(sizes: tuple[int, int]) -> None:
    """One has seen low values, the other one high values."""
    parts = []
    for i, size in enumerate(sizes):
        values, prices = market(size, seed=i, spread=0.3)
        bidder = FirstPriceBidder(feedback="always", seed=i)
        play(bidder, 100.0**i * values, 100.0**i * prices)
        parts.append(bidder)
    parts[0].merge(parts[1])
    assert parts[0].learner.law.rounds == sum(sizes)
    assert parts[0].learner.test.evidence() == FirstPriceBidder(seed=1).learner.test.evidence()
    for value in (1.0, 100.0):
        assert parts[0].price_law(value).quantile(0.5) == pytest.approx(0.5 * value, rel=0.15)


def test_few_rounds_are_merged_as_if_all_were_learned_here() -> None:
    values, prices = market(500)
    first, second, both = (FirstPriceBidder(feedback="always", seed=1) for _ in range(3))
    for bidder, part in ((first, slice(0, 300)), (second, slice(300, 500)), (both, slice(None))):
        bidder.warm_up(values[part], prices[part])
    first.merge(second)
    np.testing.assert_array_equal(first.price_law(2.0).chances, both.price_law(2.0).chances)


def test_another_unit_is_noticed_and_said() -> None:
    values, prices = market(6000, spread=0.4)
    bidder = FirstPriceBidder(seed=1)
    play(bidder, values[:3000], prices[:3000])
    with pytest.warns(CrossbanditWarning, match="outside the range"):
        bids = play(bidder, 1e-6 * values[3000:], 1e-6 * prices[3000:])
    last = slice(4000, None)
    best = best_share(values[last], prices[last])
    assert 1e6 * surplus(1e-6 * values[last], 1e-6 * prices[last], bids[1000:]) > 0.93 * best
    assert bidder.value_range[1] < 1e-3


def test_prices_that_move_to_another_place_are_followed() -> None:
    """The grid of prices was set when all of them were high."""
    generator = np.random.default_rng(0)
    values = generator.uniform(0.8, 1.2, 9000)
    late = np.arange(9000) >= 4000
    prices = np.where(late, 0.1, 0.5) + generator.uniform(-0.02, 0.02, 9000)
    bids = play(FirstPriceBidder(feedback="always", seed=1), values, prices)
    last = slice(8000, None)
    best = max(surplus(values[last], prices[last], np.full(1000, b)) for b in prices[last])
    assert surplus(values[last], prices[last], bids[last]) > 0.99 * best


def test_features_are_used() -> None:
    generator = np.random.default_rng(5)
    values, prices = market(4000, spread=0.4)
    sites = generator.choice(["low", "high"], 4000)
    prices *= np.where(sites == "low", 0.6, 1.4)
    known = surplus(
        values,
        prices,
        play(FirstPriceBidder(classes=("site",), seed=1), values, prices, site=sites),
    )
    unknown = surplus(values, prices, play(FirstPriceBidder(seed=1), values, prices))
    assert known > 1.05 * unknown


def test_learning_from_others_bids_and_from_many_bids_at_once() -> None:
    values, prices = market(3000)
    watched = FirstPriceBidder(seed=1)
    bids = 0.4 * values
    won = bids >= prices
    watched.warm_up(values, np.where(won, np.nan, prices), bids=bids, won=won)
    assert watched.price_law(1.0).quantile(0.8) == pytest.approx(0.644, rel=0.1)
    many = watched.bid_many(values[:500])
    won = many.amounts >= prices[:500]
    told = np.where(won, np.nan, prices[:500])
    watched.settle_many(many, won=won, highest_competing_bid=told)
    assert watched.learner.law.rounds == 3500
    curve = watched.shading_curve()
    assert curve.values[0] == pytest.approx(values.min())
    assert (curve.bids <= curve.values).all()
    assert "wins with a probability" in str(watched.explain(2.0))
    assert watched.diagnosis().rounds == 3500


def test_a_tick_is_on_the_right_side_however_many_there_are() -> None:
    bidder = FirstPriceBidder(seed=1, tick_size=1, max_bid=600_000_000.6)
    for _ in range(20):
        bid = bidder.bid(600_000_050.0, reserve=599_999_990.4)
        assert bid.amount is not None
        assert 599_999_991 <= bid.amount <= 600_000_000


def test_an_interrupt_while_the_grid_is_laid_comes_after_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bidder = FirstPriceBidder(feedback="always", seed=1)
    values, prices = market(40)
    bids = bidder.bid_many(values)
    lay = laying.laid_again

    def interrupted(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return lay(*given)

    monkeypatch.setattr(laying, "laid_again", interrupted)
    won = bids.amounts >= prices
    with pytest.raises(KeyboardInterrupt):
        bidder.settle_many(bids, won=won, highest_competing_bid=prices)
    assert bidder.learner.law.rounds == 40
    with pytest.raises(LearnedBeforeError):
        bidder.settle(bids[0], won=bool(won[0]), highest_competing_bid=float(prices[0]))


def test_an_interrupt_while_the_grid_is_laid_comes_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, prices = (one.tolist() for one in market(64))
    bidders = [FirstPriceBidder(feedback="always", seed=1) for _ in range(2)]
    lay = laying.laid_again

    def interrupted(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return lay(*given)

    for i, bids in enumerate(zip(*(bidder.bid_many(values) for bidder in bidders), strict=True)):
        for bid, bidder in zip(bids, bidders, strict=True):
            shown: Any = {"won": bid.amount >= prices[i], "highest_competing_bid": prices[i]}
            if i == 63 and bidder is bidders[1]:
                monkeypatch.setattr(laying, "laid_again", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    bidder.settle(bid, **shown)
            else:
                bidder.settle(bid, **shown)
    plain, parted = (bidder.learner for bidder in bidders)
    for name, part in plain.law.arrays().items():
        np.testing.assert_array_equal(part, parted.law.arrays()[name], err_msg=name)
    assert plain.test.evidence() == parted.test.evidence()


@pytest.mark.parametrize("price", [0.0, 1e-310, 1e199, 1e250, 1e305])
@pytest.mark.parametrize("feedback", FEEDBACK)
def test_prices_far_from_all_values_are_learned(feedback: Feedback, price: float) -> None:
    bidder = FirstPriceBidder(feedback=feedback, seed=1)
    for won, bid in ((False, price / 10), (True, min(price * 10 or 1.0, 1e306))):
        told = [price] * 9 if feedback != "won-lost" else [math.nan] * 9
        bidder.observe([5.0] * 9, bid=[bid] * 9, won=[won] * 9, highest_competing_bid=told)
    if feedback != "won-lost":
        bidder.warm_up([5.0] * 9, [price] * 9)
    chances = bidder.price_law(5.0).chances
    assert np.isfinite(chances).all()
    if feedback == "always":
        assert (chances > 0.5).all() if price < 1 else (chances[:5] < 0.5).all()
    amount = bidder.bid(5.0).amount
    assert amount is not None
    assert 0 < amount <= 5


def test_many_outcomes_are_learned_as_each_alone() -> None:
    values, prices = market(2600)
    one, many = (FirstPriceBidder(classes=("site",), seed=1) for _ in range(2))
    made = [bidder.bid_many(values, site="a") for bidder in (one, many)]
    won = made[0].amounts >= prices
    told = np.where(won, np.nan, prices)
    many.settle_many(made[1], won=won, highest_competing_bid=told)
    for i, bid in enumerate(made[0]):
        one.settle(bid, won=bool(won[i]), highest_competing_bid=None if won[i] else prices[i])
    for name, part in one.learner.law.arrays().items():
        np.testing.assert_array_equal(part, many.learner.law.arrays()[name], err_msg=name)
    assert one.learner.test.evidence() == many.learner.test.evidence()


def test_a_law_learns_shares_where_prices_go_with_values_and_amounts_where_not() -> None:
    generator = np.random.default_rng(7)
    values, noise = np.exp(generator.standard_normal((2, 1500)) * [[1.0], [0.3]])
    for prices, power in ((0.5 * values * noise, 1.0), (0.5 * noise, 0.0)):
        bidder = FirstPriceBidder(seed=1)
        bidder.warm_up(values, prices)
        assert bidder.learner.law.parts[0].power == power


@pytest.mark.parametrize("feedback", FEEDBACK[:3])
def test_known_prices_without_bids_are_learned_and_kept(feedback: Feedback, tmp_path: Path) -> None:
    values, prices = market(700)
    bidder = FirstPriceBidder(feedback=feedback, seed=1)
    bidder.warm_up(1e-6 * values, 1e-6 * prices)
    law = bidder.price_law(1e-6)
    assert law.quantile(0.5) == pytest.approx(0.5e-6, rel=0.05)
    assert law.quantile(0.9) == pytest.approx(0.5e-6 * math.exp(0.3 * 1.2816), rel=0.05)
    bidder.save(tmp_path / "bidder")
    other = FirstPriceBidder.load(tmp_path / "bidder")
    np.testing.assert_array_equal(other.price_law(1e-6).chances, law.chances)
