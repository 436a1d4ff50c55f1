"""Strategies bid what they say, from what they were told and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, SchneiderZimmert
from crossbandit.environments.auctions import FEEDBACK, AuctionRules
from crossbandit.problem import Problem
from crossbandit.replay.log import Auctions
from crossbandit.replay.oracles import BANDS, BandPolicy, BestPolicy, PerfectKnowledge, look_back
from crossbandit.replay.strategies import (
    BestResponse,
    Chunk,
    Playing,
    Shading,
    Strategy,
    cells_of,
    chunk_of,
    hurdles,
)
from crossbandit.types import Floats

ROUNDS = 2_000


def auctions(seed: int = 0) -> Auctions:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 10, ROUNDS)
    prices = np.round(0.4 * values + rng.uniform(0, 5, ROUNDS), 1)  # some equal a bid
    return Auctions(values, prices)


def rules_of(ties: str = "win", reserve: float = 0.0) -> AuctionRules:
    return AuctionRules(bids=21, highest_value=10, ties=ties, reserve=reserve)


def problem_of(rules: AuctionRules, feedback: str) -> Problem:
    return Problem(rules.graph(feedback), features=2, horizon=ROUNDS)


def chunk(rules: AuctionRules, log: Auctions) -> Chunk:
    return chunk_of(log, rules, problem_of(rules, "after-loss"))


def earned(rules: AuctionRules, strategy: Strategy, log: Auctions) -> float:
    return float(rules.surplus(log.values, strategy.bids(chunk(rules, log)), log.prices).sum())


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.5, 1.7, 11.0])
def test_a_cell_is_the_lowest_bid_that_wins(ties: str, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    log.prices[:5] = 0.0  # nobody else has bid
    wins = rules.wins(rules.amounts, log.prices[:, None])
    expected = np.where(wins.any(axis=1), wins.argmax(axis=1), rules.arms)
    np.testing.assert_array_equal(cells_of(log.prices, rules), expected)


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.5])
def test_a_reserve_of_each_auction_counts_beside_the_price(ties: str, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    rng = np.random.default_rng(2)
    prices = rng.choice(np.arange(0, 6, 0.5), ROUNDS)  # all on the grid: ties abound
    reserves = rng.choice([0.0, 0.5, 2.0, 2.2, 11.0], ROUNDS)
    found = hurdles(Auctions(log.values, prices, None, reserves), rules)
    for bid in rules.amounts:
        beaten = bid >= prices if ties == "win" else (bid > prices) | (prices == 0)
        expected = beaten & (bid >= reserves) & (bid >= reserve)
        np.testing.assert_array_equal(rules.wins(bid, found), expected)
    assert ((prices == reserves) & (prices > 0)).any()
    for i in range(0, ROUNDS, 40):
        own = replace(rules, reserve=max(reserve, reserves[i]))
        np.testing.assert_array_equal(
            rules.block(found[i : i + 1]).base, own.block(prices[i : i + 1]).base
        )


def test_a_log_without_reserves_keeps_its_prices() -> None:
    log = auctions()
    assert hurdles(log, rules_of("lose")) is log.prices


def unseen(rules: AuctionRules, log: Auctions, bids: Floats, feedback: str) -> Auctions:
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


def strategies(rules: AuctionRules, feedback: str) -> list[Strategy]:
    problem = problem_of(rules, feedback)
    learners = (CrossGraphAdaptive(), CrossGraph(), SchneiderZimmert())
    return [
        *(Playing(algorithm.id, algorithm, problem, rules, seed=3) for algorithm in learners),
        BestResponse(rules, feedback, "best response", ""),
    ]


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost"])
@pytest.mark.parametrize("which", range(4))
def test_what_was_not_told_changes_no_bid(feedback: str, which: int) -> None:
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
def test_no_bid_is_above_the_value_or_knows_what_comes(feedback: str, which: int) -> None:
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
    compiled = Playing("learner", CrossGraphAdaptive(), problem, rules, seed=3)
    plain = Playing("learner", CrossGraphAdaptive(), problem, rules, seed=3)
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
def test_the_best_fixed_policy_is_found_by_trying_everything(ties: str, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    policy = BestPolicy(rules, look_back([log], rules))
    wins = rules.wins(rules.amounts, log.prices[:, None]).sum(axis=0)
    for value in (0.0, 0.4, 2.0, 5.5, 10.0):
        sums = [(value - b) * n if b <= value else -np.inf for b, n in zip(rules.amounts, wins)]  # noqa: B905
        assert policy.curve(np.array([value]))[0] == rules.amounts[int(np.argmax(sums))]


def test_the_policy_per_band_beats_all_others_of_its_kind() -> None:
    rules, log = rules_of(), auctions()
    policy = BandPolicy(rules, look_back([log], rules))
    best = 0.0
    bands = np.minimum((log.values / 10 * BANDS).astype(int), BANDS - 1)
    for band in range(BANDS):
        own = bands == band
        best += max(
            float(rules.surplus(log.values[own], np.full(own.sum(), bid), log.prices[own]).sum())
            for bid in rules.amounts
        )
    # It does not bid above the value, either, which can only help.
    assert best - 1e-6 <= earned(rules, policy, log) < 1.01 * best


def test_values_up_to_the_highest_fall_into_25_bands() -> None:
    # Bands of width 1. The bid 10.5 earns 0.6 at 11.1; it would earn less than 0 earns if 10.9 and
    # 11.1 shared a band.
    rules = AuctionRules(bids=[0.0, 10.5], highest_value=25)
    log = Auctions(np.array([10.9, 11.1, 25.0]), np.array([0.0, 10.5, 10.5]))
    hindsight = look_back([log], rules)
    assert hindsight.counts.shape == (25, 3)
    assert hindsight.counts.sum(axis=1).nonzero()[0].tolist() == [10, 11, 24]
    policy = BandPolicy(rules, hindsight)
    values = np.array([10.0, 10.9, 11.1, 11.9, 24.1, 25.0])
    assert policy.curve(values).tolist() == [0, 0, 10.5, 10.5, 10.5, 10.5]


def test_the_policy_per_band_never_bids_above_the_value() -> None:
    rules = AuctionRules(bids=[0.0, 10.5], highest_value=25)
    log = Auctions(np.array([10.9]), np.array([10.5]))
    policy = BandPolicy(rules, look_back([log], rules))
    assert policy.curve(np.array([10.0, 10.2, 10.5, 10.9])).tolist() == [10.0, 10.2, 10.5, 10.5]


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_best_response_starts_from_one_auction_with_a_price_anywhere(feedback: str) -> None:
    # Bids 0, 1, 2, 3 win with chances 0.2, 0.4, 0.6, 0.8: at 3.9, they earn 0.78, 1.16, 1.14, 0.72.
    rules = AuctionRules(bids=[0.0, 1.0, 2.0, 3.0], highest_value=5)
    strategy = BestResponse(rules, feedback, "", "")
    assert strategy.curve(np.array([0.5, 1.9, 3.9, 4.1, 5.0])).tolist() == [0, 0, 1, 2, 2]
    # One auction is lost at bid 1, against a price of 3. Where that is told, chances are 0.1, 0.2,
    # 0.3, 0.9, and bids earn 0.39, 0.58, 0.57, 0.81. After a win only, the loss leaves the law of
    # the first auction above the bid: 0.1, 0.2, 0.467, 0.733 earn 0.39, 0.58, 0.89, 0.66. Won or
    # lost only: 0.1, 0.1, 0.6, 0.8 earn 0.39, 0.29, 1.14, 0.72.
    bids = strategy.bids(chunk(rules, Auctions(np.array([3.9]), np.array([3.0]))))
    assert bids.tolist() == [1.0]
    expected = {"after-loss": 3, "always": 3, "after-win": 2, "won-lost": 2}[feedback]
    assert strategy.curve(np.array([3.9])).tolist() == [expected]


def test_a_band_without_auctions_bids_as_the_best_fixed_policy() -> None:
    rules, log = rules_of(), auctions()
    inside = log.values < 5
    hindsight = look_back([Auctions(log.values[inside], log.prices[inside])], rules)
    policy, best = BandPolicy(rules, hindsight), BestPolicy(rules, hindsight)
    values = np.linspace(5.3, 10, 20)
    np.testing.assert_array_equal(policy.curve(values), best.curve(values))
    assert (policy.curve(values) > 0).all()


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("reserve", [0.0, 1.7])
def test_nobody_earns_more_than_perfect_knowledge(ties: str, reserve: float) -> None:
    rules, log = rules_of(ties, reserve), auctions()
    least = np.maximum(log.prices, reserve)
    expected = np.maximum(log.values - least, 0).sum()
    assert earned(rules, PerfectKnowledge(rules), log) == pytest.approx(expected)
    fractions = [earned(rules, Shading(f), log) for f in np.linspace(0.05, 1, 40)]
    assert max(fractions) < expected


@pytest.mark.parametrize(
    ("feedback", "share"),
    # Where a bid shows no higher bids, one that only ever exploits may stay too low.
    [("after-loss", 0.995), ("always", 0.995), ("after-win", 0.9), ("won-lost", 0.9)],
)
def test_a_best_response_comes_close_to_the_best_policy(feedback: str, share: float) -> None:
    rng = np.random.default_rng(5)
    rules = rules_of()
    log = Auctions(rng.uniform(0, 10, 20_000), 10 * rng.beta(2, 4, 20_000))
    best = earned(rules, BestPolicy(rules, look_back([log], rules)), log)
    found = earned(rules, BestResponse(rules, feedback, "", ""), log)
    assert share * best < found < 1.005 * best
