"""What a bidder says of outcomes that never came."""

import contextlib
import copy
import math
import warnings

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.algorithms.learners.decisions import SCALE
from crossbandit.algorithms.learners.missing import (
    Cohort,
    OutcomeWatch,
    Scores,
    alike_at_last,
    shares_of,
)
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError, MissingFeedbackWarning, MissingOutcomesError


def watch_of(low: int, high: int, missing: str = "refuse", cohorts: int = 4) -> OutcomeWatch:
    """Return a watch: of each 256 decisions for low and high amounts, so many have outcomes."""
    now = [0.0]
    watch = OutcomeWatch(missing, ("won", "lost"), lambda: now[0])
    for cohort in range(cohorts):
        now[0] = 100.0 * cohort + 1.0  # an outcome comes after a second
        total = 0
        for i in range(512):
            number, score = 512 * cohort + i, 55 if i % 2 == 0 else 200
            if (i // 2) * (low if i % 2 == 0 else high) % 256 < (low if i % 2 == 0 else high):
                watch.add("a", number, 100.0 * cohort, score, total, reached=i % 3 == 0)
            total += score
    now[0] += 100.0
    watch._check()
    watch.warn()
    return watch


def test_nothing_is_said_of_nothing() -> None:
    found = OutcomeWatch("refuse", ("won", "lost"), lambda: 0.0).found()
    assert (found.decisions, found.outcomes, found.verdict) == (0, 0, "unknown")
    assert math.isnan(found.share)
    assert not found.refused
    assert "Too few" in str(found)


def test_counts_and_shares_are_those_of_the_decisions() -> None:
    watch = watch_of(128, 128)
    found = watch.found()
    assert found.decisions == pytest.approx(4 * 512, abs=16)
    assert found.outcomes == pytest.approx(4 * 256, abs=8)
    assert found.share == pytest.approx(0.5, abs=0.02)
    assert found.low_share == pytest.approx(0.5, abs=0.05)
    assert found.high_share == pytest.approx(0.5, abs=0.05)
    assert found.verdict == "no sign"
    assert found.missing is None
    assert "50" in str(found)


@pytest.mark.parametrize(("low", "high", "word"), [(32, 224, "lost"), (224, 32, "won")])
def test_a_bias_is_named(low: int, high: int, word: str) -> None:
    with pytest.warns(MissingFeedbackWarning):
        found = watch_of(low, high, missing="warn").found()
    assert found.verdict == "biased"
    assert found.missing == word
    assert (found.low_share < found.high_share) == (word == "lost")
    assert found.low_share == pytest.approx(low / 256, abs=0.02)
    assert found.high_share == pytest.approx(high / 256, abs=0.02)
    assert not found.refused
    assert f"those that {word} are missing" in str(found)


def test_a_refusal_is_shown() -> None:
    found = watch_of(32, 224).found()
    assert found.refused
    assert "Nothing is learned now" in str(found)


def test_asking_changes_nothing() -> None:
    watch = watch_of(120, 136)
    before = watch.settings()
    watch.found()
    assert watch.settings() == before


def test_shares_follow_from_a_cohort_by_hand() -> None:
    # 4 decisions with scores 0, 0, 200, 200; outcomes of one low and both high ones.
    low, high = shares_of([Scores(made=4, outcomes=3, scores=400, squares=80_000, total=400)])
    # All scores are 100 from their mean, so the two shares are those of 0 and of 200.
    assert low == pytest.approx(0.5)
    assert high == pytest.approx(1.0)


def test_a_bidder_tells_while_it_refuses() -> None:
    own = FirstPriceBidder(bids=21, value_range=(0, 10), feedback="always", seed=1)
    generator, refused = np.random.default_rng(0), 0
    for _ in range(3_000):
        bid = own.bid(10.0, reserve=0.0)
        price = generator.uniform(0, 10)
        won = float(bid) >= price and float(bid) > 0
        if not won:
            continue  # losses never come
        try:
            own.settle(bid, won=True, highest_competing_bid=price)
        except MissingOutcomesError:
            refused += 1
    found = own.missing_outcomes
    assert found.decisions > 0
    assert found.outcomes < found.decisions
    assert found.refused == (refused > 0)


def test_only_the_law_watches_outcomes() -> None:
    own = FirstPriceBidder(value_range=(0, 1), algorithm=CrossGraphAdaptive(), seed=1)
    with pytest.raises(InvalidParameterError, match="learns by the law"):
        own.missing_outcomes  # noqa: B018 - it raises
    with pytest.raises(InvalidParameterError, match="only decides"):
        FirstPriceBidder(value_range=(0, 1), seed=1).snapshot().missing_outcomes  # noqa: B018


def test_a_small_bias_is_told_and_does_not_stop_learning() -> None:
    with pytest.warns(MissingFeedbackWarning, match="those that lost are missing"):
        found = watch_of(200, 236).found()
    assert found.verdict == "doubtful"
    assert found.high_share / found.low_share == pytest.approx(236 / 200, abs=0.03)
    assert not found.refused


def one_sided(
    reached: int, share: float, cohorts: int = 2, missing: str = "refuse"
) -> OutcomeWatch:
    """Return a watch: a share of outcomes comes for all scores alike; some reach the number."""
    now = [0.0]
    watch = OutcomeWatch(missing, ("won", "lost"), lambda: now[0])
    for cohort in range(cohorts):
        total = 0
        for i in range(512):
            number, score = 512 * cohort + i, 100 + SCALE * 200
            if int((i + 1) * share) > int(i * share):
                watch.add("a", number, 100.0 * cohort, score, total, reached=i < reached)
            total += score
        now[0] += 100.0
    watch._check()
    return watch


@pytest.mark.parametrize(("reached", "word"), [(512, "lost"), (0, "won")])
def test_outcomes_of_one_kind_are_refused_if_most_are_missing(reached: int, word: str) -> None:
    """Scores say nothing: they are all equal, as those of a law that has seen wins only."""
    watch = one_sided(reached, 0.1)
    assert watch.misled
    found = watch.found()
    assert (found.verdict, found.missing, found.refused) == ("biased", word, True)
    assert found.alike == found.outcomes == 2 * 51
    assert f"those that {word} are missing" in str(found)
    with pytest.raises(
        MissingOutcomesError, match="10% of the decisions, and the last 102 are all"
    ):
        raise watch.error()
    again = OutcomeWatch("refuse", ("won", "lost"), lambda: 200.0)
    again.restore(watch.settings())
    assert again.misled
    assert again.settings() == watch.settings()
    assert again.reason == watch.reason


@pytest.mark.parametrize(("reached", "share"), [(512, 0.6), (500, 0.1), (512, 0.03)])
def test_outcomes_of_one_kind_raise_no_alarm_otherwise(reached: int, share: float) -> None:
    """Most have come; or one is of the other kind; or there are too few."""
    assert not one_sided(reached, share).biased


def test_the_other_kind_ends_the_alarm() -> None:
    watch = one_sided(512, 0.1)
    for i in range(512, 1024, 16):  # late losses of the last cohort
        watch.add("a", i, 100.0, 100 + SCALE * 200, 0, reached=False)
    watch.clock = lambda: 1000.0
    watch._check()
    assert not watch.misled
    assert watch.found().verdict == "no sign"


def test_which_outcomes_are_alike_by_hand() -> None:
    def cohort(outcomes: int, reached: int) -> Cohort:
        made = Cohort.of(0, 0.0, 5, 0, reached=True)
        return made._replace(outcomes=outcomes, reached=reached, last=99)

    both, wins, losses, unknown = cohort(9, 4), cohort(7, 7), cohort(3, 0), cohort(5, -1)
    assert alike_at_last([]) == (0, 0, False)
    assert alike_at_last([wins, both]) == (0, 0, False)
    assert alike_at_last([wins, both, wins, wins]) == (14, 200, True)
    assert alike_at_last([wins, losses]) == (3, 100, False)
    assert alike_at_last([unknown, wins]) == (7, 100, True)
    assert alike_at_last([wins, unknown]) == (0, 0, False)


def test_a_cohort_tells_places_and_chances_apart_though_sums_wrap() -> None:
    """Five decisions; the sum of scores begins anew at the square of SCALE in between."""
    places, chances = [10, 255, 0, 40, 70], [255, 3, 90, 0, 17]
    scores = [place + SCALE * chance for place, chance in zip(places, chances, strict=True)]
    start = SCALE * SCALE - scores[0] - 5
    totals = [(start + sum(scores[:i])) % (SCALE * SCALE) for i in range(5)]
    for order in ([0, 2, 4], [4, 2, 0], [2, 4, 0]):
        made = Cohort.of(order[0], 1.0, scores[order[0]], totals[order[0]], reached=True)
        for i in order[1:]:
            made = made.with_one(i, 1.0, scores[i], totals[i], reached=False)
        for found, column in zip(made.both, (places, chances), strict=True):
            seen = [column[i] for i in order]
            assert found == (5, 3, sum(seen), sum(one * one for one in seen), sum(column))
        assert made.reached == 1
        assert made.possible
        assert Cohort.from_list(made.to_list()) == made


@pytest.mark.parametrize("lost", [0.3, 0.6, 1.0])
def test_missing_losses_are_found_where_prices_do_not_depend_on_values(lost: float) -> None:
    """30 % of them missing gives a warning within 4,500 auctions; more of them stop learning."""
    own = FirstPriceBidder(bids=51, value_range=(0, 1), seed=3)
    now, generator = [0.0], np.random.default_rng(3)
    own.learner.clock = own.learner.seen.clock = own.learner.watch.clock = lambda: now[0]
    with contextlib.suppress(MissingOutcomesError), warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingFeedbackWarning)
        for _ in range(45):
            now[0] += 1.0
            values, prices = generator.uniform(0.2, 1, 100), generator.beta(2, 3, 100)
            bids = own.bid_many(values)
            won = (bids.amounts >= prices) & (bids.amounts > 0)
            rows = np.flatnonzero(generator.random(100) >= np.where(won, 0.0, lost))
            told = np.where(won, np.nan, prices)[rows]
            own.settle_many(bids.part(rows), won=won[rows], highest_competing_bid=told)
    found = own.missing_outcomes
    assert found.verdict == ("doubtful" if lost < 0.5 else "biased")
    assert found.missing == "lost"
    assert found.refused == (lost > 0.5)
    assert (found.alike > 0) == (lost == 1.0)


def test_a_batch_of_two_deciders_is_watched_as_outcomes_in_turns() -> None:
    """Rows of two snapshots in turns, each with its own outcome."""
    one = FirstPriceBidder(bids=21, value_range=(0, 1), seed=1)
    generator = np.random.default_rng(0)
    first, second = one.snapshot(seed=1), one.snapshot(seed=2)
    bids = [(first if i % 3 else second).bid(float(generator.uniform(0.3, 1))) for i in range(40)]
    prices = generator.uniform(0, 0.8, 40)
    won = np.array(
        [bid.amount is not None and bid.amount >= p for bid, p in zip(bids, prices, strict=True)]
    )
    other = copy.deepcopy(one)
    now = one.learner.watch.clock()
    for own in (one, other):
        own.learner.watch.clock = lambda: now
    told = np.where(won, np.nan, prices)
    one.settle_many(bids, won=won, highest_competing_bid=told)
    for i, bid in enumerate(bids):
        other.settle(bid, won=won[i], highest_competing_bid=None if won[i] else float(prices[i]))
    found = [own.learner.watch.settings()["cohorts"] for own in (one, other)]
    assert sorted(found[0]) == sorted(found[1])
    assert 0 < found[0][0][3] < found[0][0][2]  # some of its outcomes have won
