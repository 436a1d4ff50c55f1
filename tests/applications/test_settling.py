"""What an outcome shows on the grid, and what a correction leaves of the test's counts."""

import math
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.bidding.auctions import FEEDBACK
from crossbandit.core.types import Feedback, Ties
from crossbandit.errors import DamagedTokenError, InvalidLossesError, LearnedBeforeError
from crossbandit.laws import OutcomeLaw
from crossbandit.laws.rounds import shown_by

GRID = [0.0, 1.0, 2.0, 4.0]
LAWS = {
    (feedback, ties): OutcomeLaw(GRID, (0, 4), feedback=feedback, ties=ties)
    for feedback in FEEDBACK
    for ties in ("win", "lose")
}


def literal(
    feedback: str, ties: str, amount: float, number: float, *, reached: bool
) -> tuple[Any, ...]:
    """Return the kind, the index and the amount played, from the definition."""
    played = GRID.index(amount) if amount in GRID else -1
    told = {"always": True, "after-loss": not reached, "after-win": reached, "won-lost": False}
    if told[feedback]:
        cell = bisect_left(GRID, number) if ties == "win" else bisect_right(GRID, number)
        return 0, cell, played
    if reached:
        reaching = [k for k, one in enumerate(GRID) if one >= amount]
        return (1, reaching[0], played) if reaching else (-1, None, played)
    missing = [k for k, one in enumerate(GRID) if one <= amount]
    return (2, missing[-1], played) if missing else (-1, None, played)


@given(
    st.sampled_from(sorted(FEEDBACK)),
    st.sampled_from(["win", "lose"]),
    st.one_of(st.sampled_from(GRID), st.floats(-1, 6)),
    st.one_of(st.sampled_from(GRID), st.floats(-1, 6)),
)
@settings(max_examples=300, deadline=None)
def test_what_is_shown_is_the_definition(
    feedback: Feedback, ties: Ties, amount: float, number: float
) -> None:
    reached = amount >= number if ties == "win" else amount > number
    kind, index, played = shown_by(LAWS[feedback, ties], amount, reached=reached, number=number)
    expected = literal(feedback, ties, amount, number, reached=reached)
    assert (kind, played) == (expected[0], expected[2])
    if kind >= 0:
        assert index == expected[1]


def at_risk(own: FirstPriceBidder) -> Any:
    state = own.learner.law.state  # row 0 counts all rounds
    told, hidden = np.cumsum(state.told[0]), np.cumsum(state.hidden[0])
    return told[1:] + hidden[:-1]


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always"])
def test_the_test_counts_those_at_risk_after_corrections_too(feedback: Feedback) -> None:
    own = FirstPriceBidder(bids=9, value_range=(0, 8), feedback=feedback, seed=1)
    generator = np.random.default_rng(3)
    told = {"after-loss": (False,), "after-win": (True,), "always": (True, False)}[feedback]
    for i in range(60):
        bid, prices = own.bid(8.0), generator.uniform(0.1, 8, 2)
        for price, correction in zip(prices, (False, True), strict=True):
            if correction and i % 3:
                continue
            won = float(bid) >= price
            shown = price if won in told else None
            own.settle(bid, won=won, highest_competing_bid=shown, correction=correction)
    np.testing.assert_array_equal(own.learner.test.state.counts[0, 1:], at_risk(own))


def test_an_outcome_that_rounding_contradicts_counts_for_the_bid_itself() -> None:
    own = FirstPriceBidder(bids=[0, 2, 4], value_range=(0, 4), feedback="always", seed=1)
    rounded = math.nextafter(2.0, 3.0)
    for many in (False, True):
        bid = own.bid(3.9, reserve=None)
        while bid.amount != 2.0:
            bid = own.bid(3.9, reserve=2.0)
        given: dict[str, Any] = {"won": True, "highest_competing_bid": rounded, "reserve": None}
        if bid.reserve is None:
            given["reserve"] = rounded
        if many:
            own.settle_many([bid], **{name: [one] for name, one in given.items() if one})
        else:
            own.settle(bid, **given)
    assert own.learner.law.state.told[0].tolist() == [0.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize("won", [np.array([True, False, True, False])[::2], [True, True]])
def test_a_batch_takes_columns_of_every_layout(won: Any) -> None:
    one, many = (FirstPriceBidder(bids=9, value_range=(0, 8), seed=1) for _ in range(2))
    given = np.array([8.0, 0.0, 7.0, 0.0])[::2]
    bids = many.bid_many(given)
    assert all(amount > 0 for amount in bids.amounts)
    many.settle_many(bids, won=won)
    for value in given:
        one.bid(value)
    for bid in bids:
        one.learner.learner = bid.decision.learner  # type: ignore[union-attr]
        one.settle(bid, won=True)
    for name, array in one.learner.law.arrays().items():
        np.testing.assert_array_equal(array, many.learner.law.arrays()[name], err_msg=name)


def test_some_bids_of_a_batch_are_settled_and_the_others_are_not() -> None:
    own = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
    bids = own.bid_many([9.0] * 8)
    own.settle_many(bids.part([0, 5]), won=[False] * 2, highest_competing_bid=[9.5, 9.5])
    for i in (0, 5):
        with pytest.raises(LearnedBeforeError):
            own.settle(bids[i], won=False, highest_competing_bid=9.5)
    rest = bids.part([1, 2, 3, 4, 6, 7])
    told = np.full(6, 9.5)
    own.settle_many(rest, won=np.zeros(6, dtype=bool), highest_competing_bid=told)
    assert own.pending == 0


@pytest.mark.parametrize(("won", "told"), [(True, np.nan), (True, 0.0), (False, -1.0)])
def test_a_batch_refuses_what_cannot_be(won: bool, told: float) -> None:
    own = FirstPriceBidder(bids=11, value_range=(0, 10), reserve=2.0, seed=1)
    bids = own.bid_many([1.0, 1.0])  # below the reserve price, so no bids are made
    with pytest.raises(InvalidLossesError):
        own.settle_many(bids, won=np.array([won] * 2), highest_competing_bid=np.full(2, told))
    assert own.learner.law.rounds == 0


@pytest.mark.parametrize(
    "options", [{}, {"guarded": True}, {"algorithm": CrossGraphAdaptive()}], ids=str
)
def test_an_error_has_all_rows_that_come_twice(options: dict[str, Any]) -> None:
    """So an at-least-once queue can leave them out, and send the rest again."""
    own = FirstPriceBidder(bids=21, value_range=(0, 10), seed=1, **options)
    bids = own.bid_many([9.0] * 40)
    again = list(range(0, 40, 2))
    own.settle_many([bids[i] for i in again], won=[False] * 20, highest_competing_bid=[9.5] * 20)
    with pytest.raises(LearnedBeforeError) as caught:
        own.settle_many(bids, won=[False] * 40, highest_competing_bid=[9.5] * 40)
    assert caught.value.rows == tuple(again)
    rest = [bids[i] for i in range(40) if i not in caught.value.rows]
    with pytest.raises(LearnedBeforeError) as caught:
        own.settle_many([*rest, *rest], won=[False] * 40, highest_competing_bid=[9.5] * 40)
    assert caught.value.rows == tuple(range(20, 40))
    own.settle_many(rest, won=[False] * 20, highest_competing_bid=[9.5] * 20)
    assert own.pending == 0


def test_an_error_has_all_rows_whose_outcomes_or_tokens_are_wrong() -> None:
    own = FirstPriceBidder(bids=21, value_range=(0, 10), seed=1)
    bids = own.bid_many([9.0] * 20)
    wrong = [i % 2 == 0 for i in range(20)]
    prices = [0.0 if bad else 9.5 for bad in wrong]
    with pytest.raises(InvalidLossesError) as caught:
        own.settle_many(bids, won=[False] * 20, highest_competing_bid=prices)
    assert caught.value.rows == tuple(range(0, 20, 2))
    tokens: list[Any] = [
        (token or b"")[:-1] if bad else token for token, bad in zip(bids.tokens, wrong, strict=True)
    ]
    with pytest.raises(DamagedTokenError) as damaged:
        own.settle_many(tokens, won=[False] * 20, highest_competing_bid=[9.5] * 20)
    assert damaged.value.rows == tuple(range(0, 20, 2))
    with pytest.raises(DamagedTokenError) as damaged:
        own.settle(tokens[0], won=False, highest_competing_bid=9.5)
    assert damaged.value.rows == ()
