"""Strategies bid what they say, from what they were told and nothing else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, SchneiderZimmert
from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.core.types import Feedback, Floats, Ties
from crossbandit.logs import AuctionLog, Auctions
from crossbandit.logs.replay import Chunk, Shading, Strategy
from crossbandit.logs.replay.strategies import (
    BANDS,
    BandPolicy,
    BestPolicy,
    BestResponse,
    LearnerStrategy,
    PerfectKnowledge,
    ReplaySetting,
    band_edges,
    bands_of,
    collect_hindsight,
    make_chunk,
    prices_to_beat,
)
from crossbandit.logs.survey import survey_log

ROUNDS = 2_000


def auctions(seed: int = 0) -> Auctions:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 10, ROUNDS)
    prices = np.round(0.4 * values + rng.uniform(0, 5, ROUNDS), 1)  # some equal a bid
    return Auctions(values, prices)


def rules_of(ties: Ties = "win", reserve: float = 0.0) -> AuctionRules:
    return AuctionRules(bids=21, highest_value=10, ties=ties, reserve=reserve)


def problem_of(rules: AuctionRules, feedback: Feedback) -> Problem:
    return Problem(rules.graph(feedback), features=2, horizon=ROUNDS)


def chunk(rules: AuctionRules, log: Auctions) -> Chunk:
    return make_chunk(log, rules, problem_of(rules, "after-loss"))


def earned(rules: AuctionRules, strategy: Strategy, log: Auctions) -> float:
    return float(rules.surplus(log.values, strategy.bids(chunk(rules, log)), log.prices).sum())


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.5, 1.7, 11.0])
def test_a_cell_is_the_lowest_bid_that_wins(ties: Ties, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    log.prices[:5] = 0.0  # nobody else has bid
    wins = rules.wins(rules.amounts, log.prices[:, None])
    expected = np.where(wins.any(axis=1), wins.argmax(axis=1), rules.arms)
    np.testing.assert_array_equal(rules.cells(log.prices), expected)


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.5])
def test_a_reserve_of_each_auction_counts_beside_the_price(ties: Ties, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    rng = np.random.default_rng(2)
    prices = rng.choice(np.arange(0, 6, 0.5), ROUNDS)  # all on the grid: ties abound
    reserves = rng.choice([0.0, 0.5, 2.0, 2.2, 11.0], ROUNDS)
    found = prices_to_beat(Auctions(log.values, prices, None, reserves), rules)
    for bid in rules.amounts:
        beaten = bid >= prices if ties == "win" else bid > prices
        expected = beaten & (bid >= reserves) & (bid >= reserve) & (bid > 0)
        np.testing.assert_array_equal(rules.wins(bid, found), expected)
    assert ((prices == reserves) & (prices > 0)).any()
    for i in range(0, ROUNDS, 40):
        own = replace(rules, reserve=max(reserve, reserves[i]))
        np.testing.assert_array_equal(
            rules.block(found[i : i + 1]).base, own.block(prices[i : i + 1]).base
        )


def test_a_log_without_reserves_keeps_its_prices() -> None:
    log = auctions()
    assert prices_to_beat(log, rules_of("lose")) is log.prices


def unseen(rules: AuctionRules, log: Auctions, bids: Floats, feedback: Feedback) -> Auctions:
    """Return other prices under which these bids would have been told exactly the same."""
    rng = np.random.default_rng(9)
    won = rules.wins(bids, log.prices)
    lower, higher = rng.uniform(0, 1, (2, ROUNDS))
    if feedback == "after-loss":
        prices = np.where(won, bids * lower, log.prices)
    elif feedback == "after-win":
        prices = np.where(won, log.prices, bids + 1e-6 + 9 * higher)
    else:
        prices = np.where(won, bids * lower, bids + 1e-6 + 9 * higher)
    return Auctions(log.values, prices)


def strategies(rules: AuctionRules, feedback: Feedback) -> list[Strategy]:
    setting = ReplaySetting(rules, feedback, problem_of(rules, feedback))
    learners = (CrossGraphAdaptive(), CrossGraph(), SchneiderZimmert())
    return [
        *(LearnerStrategy(algorithm.id, algorithm, setting, seed=3) for algorithm in learners),
        BestResponse(rules, feedback, "best response", ""),
    ]


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost"])
@pytest.mark.parametrize("which", range(4))
def test_what_was_not_told_changes_no_bid(feedback: Feedback, which: int) -> None:
    rules, log = rules_of(), auctions()
    bids = strategies(rules, feedback)[which].bids(chunk(rules, log))
    other = unseen(rules, log, bids, feedback)
    changed = np.count_nonzero(other.prices != log.prices)
    assert changed > ROUNDS / 10
    np.testing.assert_array_equal(rules.wins(bids, other.prices), rules.wins(bids, log.prices))
    again = strategies(rules, feedback)[which].bids(chunk(rules, other))
    np.testing.assert_array_equal(again, bids)


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("which", range(4))
def test_no_bid_is_above_the_value_or_knows_what_comes(feedback: Feedback, which: int) -> None:
    rules, log = rules_of(), auctions()
    bids = strategies(rules, feedback)[which].bids(chunk(rules, log))
    assert (bids <= log.values).all()
    half = ROUNDS // 2
    later = Auctions(log.values, np.append(log.prices[:half], auctions(1).prices[half:]))
    again = strategies(rules, feedback)[which].bids(chunk(rules, later))
    np.testing.assert_array_equal(again[: half + 1], bids[: half + 1])
    assert (again[half + 1 :] != bids[half + 1 :]).any()


@pytest.mark.parametrize("which", range(4))
def test_chunks_make_no_difference(which: int) -> None:
    rules, log = rules_of(), auctions()
    whole = strategies(rules, "after-loss")[which].bids(chunk(rules, log))
    strategy = strategies(rules, "after-loss")[which]
    pieces = [strategy.bids(chunk(rules, log.part(i, i + 128))) for i in range(0, ROUNDS, 128)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


class Uncompiled:
    """A learner that can only act and learn."""

    def __init__(self, inner: CrossGraphAdaptive, problem: Problem) -> None:
        learner = inner.start(problem, seed=3)
        self.act, self.learn, self.policy = learner.act, learner.learn, learner.policy


def test_a_learner_without_compiled_loop_plays_the_same() -> None:
    rules, log = rules_of(), auctions()
    problem = problem_of(rules, "after-loss")
    setting = ReplaySetting(rules, "after-loss", problem)
    compiled = LearnerStrategy("learner", CrossGraphAdaptive(), setting, seed=3)
    plain = LearnerStrategy("learner", CrossGraphAdaptive(), setting, seed=3)
    plain.learner = Uncompiled(CrossGraphAdaptive(), problem)  # type: ignore[assignment]
    np.testing.assert_array_equal(plain.bids(chunk(rules, log)), compiled.bids(chunk(rules, log)))
    values = np.array([0.0, 3.3, 10.0])
    np.testing.assert_allclose(plain.curve(values), compiled.curve(values))
    assert (compiled.curve(values) <= values).all()


def test_shading_and_truth() -> None:
    rules, log = rules_of(), auctions()
    np.testing.assert_array_equal(Shading(0.7).bids(chunk(rules, log)), 0.7 * log.values)
    assert earned(rules, Shading(1.0), log) == 0
    assert Shading(1.0).name == "truthful"


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.7])
def test_the_best_fixed_policy_is_found_by_trying_everything(ties: Ties, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    policy = BestPolicy(rules, collect_hindsight([log], rules, even_edges(rules)).wins[None])
    wins = rules.wins(rules.amounts, log.prices[:, None]).sum(axis=0)
    for value in (0.0, 0.4, 2.0, 5.5, 10.0):
        sums = [(value - b) * n if b <= value else -np.inf for b, n in zip(rules.amounts, wins)]  # noqa: B905
        assert policy.curve(np.array([value]))[0] == rules.amounts[int(np.argmax(sums))]


def even_edges(rules: AuctionRules) -> Floats:
    return np.arange(1, BANDS) * rules.highest_value / BANDS


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.7])
def test_the_policy_per_band_is_found_by_trying_everything(ties: Ties, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    edges = np.array([1.0, 2.5, 7.0])
    hindsight = collect_hindsight([log.part(0, 700), log.part(700)], rules, edges)
    policy = BandPolicy(rules, hindsight.band_wins, edges)
    won = rules.wins(rules.amounts, log.prices[:, None])
    for value, low, high in ((0.4, 0, 1), (2.0, 1, 2.5), (2.5, 2.5, 7), (6.9, 2.5, 7), (9, 7, 11)):
        wins = won[(log.values >= low) & (log.values < high)].sum(axis=0)
        sums = [(value - b) * n if b <= value else -np.inf for b, n in zip(rules.amounts, wins)]  # noqa: B905
        assert policy.curve(np.array([value]))[0] == rules.amounts[int(np.argmax(sums))]


@pytest.mark.parametrize("spread", [0.1, 1.0, 2.5])
def test_bands_have_the_same_sum_of_values(spread: float) -> None:
    """Also where a few values are much higher than most; up to 2.2 %, the width of a bin."""
    values = np.exp(spread * np.random.default_rng(0).standard_normal(20_000))
    survey = survey_log(AuctionLog(pd.DataFrame({"value": values, "market_price": 1.0})))
    edges = band_edges(survey)
    assert (np.diff(edges) > 0).all()
    assert BANDS / 3 < edges.size < BANDS
    sums = np.bincount(bands_of(values, edges), values, BANDS)[: edges.size + 1] / values.sum()
    single = values.max() / values.sum()
    assert sums.max() < 0.04 + max(single, 0.12 if spread == 0.1 else 0.03)
    one = survey_log(AuctionLog(pd.DataFrame({"value": [2.0] * 9, "market_price": 1.0})))
    assert band_edges(one).size == 0


@pytest.mark.parametrize("feedback", ["after-win", "always", "won-lost"])
def test_a_best_response_starts_from_one_auction_with_a_price_anywhere(feedback: Feedback) -> None:
    # Bids 1, 2, 3 win with chances 0.4, 0.6, 0.8: at 3.9, they earn 1.16, 1.14, 0.72.
    rules = AuctionRules(bids=[0.0, 1.0, 2.0, 3.0], highest_value=5)
    strategy = BestResponse(rules, feedback, "", "")
    assert strategy.curve(np.array([0.5, 1.9, 3.9, 4.1, 5.0])).tolist() == [0, 1, 1, 2, 2]
    # One auction is lost at bid 1, against a price of 3. Where that is told, chances are 0.2, 0.3,
    # 0.9, and bids earn 0.58, 0.57, 0.81. After a win only, the loss leaves the distribution of the
    # first auction above the bid: 0.2, 0.467, 0.733 earn 0.58, 0.89, 0.66. Won or lost only: 0.1,
    # 0.6, 0.8 earn 0.29, 1.14, 0.72.
    bids = strategy.bids(chunk(rules, Auctions(np.array([3.9]), np.array([3.0]))))
    assert bids.tolist() == [1.0]
    expected = {"always": 3, "after-win": 2, "won-lost": 2}[feedback]
    assert strategy.curve(np.array([3.9])).tolist() == [expected]


def kaplan_meier_bids(values: Floats, prices: Floats, grid: Floats) -> Floats:
    """A best response told after a loss, as an engineer would write it in a morning."""
    known: list[float] = []  # prices of lost auctions
    below: list[float] = []  # bids that won: the price was at most that
    made = np.zeros(values.size)
    for t, (value, price) in enumerate(zip(values, prices, strict=True)):
        told, won = np.array(known), np.array(below)
        chance = np.ones(grid.size)
        for p in sorted(set(known), reverse=True):
            at_risk = np.sum(told <= p) + np.sum(won < p)
            if at_risk > np.sum(told == p):  # otherwise nothing is known below: flat
                chance[grid < p] *= 1 - np.sum(told == p) / at_risk
        earned = np.where((grid > 0) & (grid <= value), (value - grid) * chance, 0.0)
        made[t] = grid[np.argmax(np.round(earned, 12))]
        if made[t] >= price and made[t] > 0:
            below.append(made[t])
        else:
            known.append(price)
    return made


def test_a_best_response_told_after_a_loss_is_a_flat_kaplan_meier() -> None:
    rng = np.random.default_rng(8)
    grid = np.arange(9.0)
    rules = AuctionRules(bids=grid, highest_value=8)
    for low in (0.0, 6.0):  # a wide and a narrow class of values
        values = rng.uniform(low, 8, 300)
        prices = (1 + rng.binomial(6, 0.4, 300)).astype(np.float64)
        found = BestResponse(rules, "after-loss", "", "").bids(
            chunk(rules, Auctions(values, prices))
        )
        np.testing.assert_array_equal(found, kaplan_meier_bids(values, prices, grid))


def test_a_best_response_does_not_stay_high_in_a_narrow_class() -> None:
    """With a prior, it earned 81 % of what is possible here: it never tried low bids."""
    rng = np.random.default_rng(0)
    cheap = rng.random(20_000) < 0.5
    prices = np.where(cheap, rng.normal(0.2, 0.03, 20_000), rng.normal(0.6, 0.05, 20_000))
    log = Auctions(rng.uniform(0.8, 1, 20_000), prices.clip(0.01))
    rules = AuctionRules(bids=101, highest_value=1)
    best = earned(
        rules, BestPolicy(rules, collect_hindsight([log], rules, even_edges(rules)).wins[None]), log
    )
    assert earned(rules, BestResponse(rules, "after-loss", "", ""), log) > 0.99 * best


def test_a_band_without_auctions_bids_as_the_best_fixed_policy() -> None:
    rules, log = rules_of(), auctions()
    inside = log.values < 5
    some = Auctions(log.values[inside], log.prices[inside])
    hindsight = collect_hindsight([some], rules, even_edges(rules))
    policy = BandPolicy(rules, hindsight.band_wins, hindsight.edges)
    best = BestPolicy(rules, hindsight.wins[None])
    values = np.linspace(5.3, 10, 20)
    np.testing.assert_array_equal(policy.curve(values), best.curve(values))
    assert (policy.curve(values) > 0).all()


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.7])
def test_nobody_earns_more_than_perfect_knowledge(ties: Ties, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    least = np.maximum(log.prices, reserve)
    possible = np.maximum(log.values - least, 0).sum()
    table = rules.surplus(log.values[:, None], rules.amounts, log.prices[:, None])
    expected = np.maximum(table, 0).max(axis=1).sum()  # the best bid of the grid, in each auction
    assert earned(rules, PerfectKnowledge(rules), log) == pytest.approx(expected)
    assert expected < possible
    hindsight = collect_hindsight([log], rules, even_edges(rules))
    assert hindsight.possible == pytest.approx(possible)
    fractions = [earned(rules, Shading(f), log) for f in np.linspace(0.05, 1, 40)]
    assert max(fractions) < expected


@pytest.mark.parametrize(
    ("feedback", "share"),
    # Where a bid shows no higher bids, one that only ever exploits may stay too low.
    [("after-loss", 0.995), ("always", 0.995), ("after-win", 0.9), ("won-lost", 0.9)],
)
def test_a_best_response_comes_close_to_the_best_policy(feedback: Feedback, share: float) -> None:
    rng = np.random.default_rng(5)
    rules = rules_of()
    log = Auctions(rng.uniform(0, 10, 20_000), 10 * rng.beta(2, 4, 20_000))
    best = earned(
        rules, BestPolicy(rules, collect_hindsight([log], rules, even_edges(rules)).wins[None]), log
    )
    found = earned(rules, BestResponse(rules, feedback, "", ""), log)
    assert share * best < found < 1.005 * best
