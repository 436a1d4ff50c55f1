"""What a bidder says of outcomes that never came."""

import math

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.cohorts import Cohort, shares_of
from crossbandit.applications.outcome_watch import OutcomeWatch
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
                watch.add("a", number, 100.0 * cohort, score, total)
            total += score
    now[0] += 100.0
    watch._check()
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
    cohort = Cohort(3, 400, 80_000, 0, 0, 3, 400, 0.0)
    low, high = shares_of([cohort])
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
