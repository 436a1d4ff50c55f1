"""Who is compared with the learners, and what they are told."""

import numpy as np
import pytest

from crossbandit import Problem
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.types import Feedback
from crossbandit.logs import Auctions
from crossbandit.logs.replay.strategies import (
    ALL_TOLD,
    BEST_RESPONSES,
    BestResponse,
    ReplaySetting,
    build_strategies,
    make_chunk,
)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "won-lost"])
def test_all_told_is_told_every_price_whatever_the_feedback(feedback: Feedback) -> None:
    rng = np.random.default_rng(7)
    log = Auctions(rng.uniform(0, 10, 400), np.round(10 * rng.beta(2, 4, 400), 1))
    rules = AuctionRules(bids=21, highest_value=10)
    problem = Problem(rules.graph(feedback), features=2, horizon=400)
    chunk = make_chunk(log, rules, problem)
    found, _ = build_strategies([BEST_RESPONSES], ReplaySetting(rules, feedback, problem), [0])
    bids = {one.name: one.bids(chunk) for one in found}
    pairs: tuple[tuple[str, Feedback], ...] = ((ALL_TOLD, "always"), ("best response", feedback))
    for name, told in pairs:
        np.testing.assert_array_equal(bids[name], BestResponse(rules, told, "", "").bids(chunk))
    assert (bids[ALL_TOLD] != bids["best response"]).any()
