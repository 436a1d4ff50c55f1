"""Tokens of bids with classes: short, whatever the labels are."""

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossbandit.algorithms.learners.tokens import LAW, Token, packed, unpacked
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.action import action_of
from crossbandit.errors import DamagedTokenError
from crossbandit.laws.levels import Levels, short

LABELS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
)


def bidder(**options: Any) -> FirstPriceBidder:
    return FirstPriceBidder(
        bids=11, value_range=(0, 10), classes=("site", "device"), seed=1, **options
    )


OWN = bidder()


@given(LABELS, LABELS, st.integers(0, 10**8))
@settings(max_examples=60, deadline=None)
def test_a_token_with_two_classes_and_a_reserve_has_less_than_100_bytes(
    site: Any, device: Any, number: int
) -> None:
    OWN.learner.round, OWN.learner.total = number, 255 * number
    bid = OWN.bid(9.0, reserve=1.0, site=site, device=device)
    token = bid.token
    assert len(token) < 100
    found = action_of(token, Bid, OWN.learner, None)
    assert found.classes == (short(site), short(device))
    assert (found.amount, found.value, found.reserve) == (bid.amount, 9.0, 1.0)
    assert found.decision is not None
    assert bid.decision is not None
    assert found.decision.round == number
    assert found.decision.total == 255 * number
    assert found.decision.score == bid.decision.score


def test_a_long_label_is_the_same_level_in_a_token_and_in_a_bid() -> None:
    name = "www.example.com/a/long/path"
    one, other = bidder(), bidder()
    for _ in range(100):
        bids = [own.bid(9.0, reserve=1.0, site=name, device="tv") for own in (one, other)]
        assert bids[0].classes == (name, "tv")
        one.settle(bids[0], won=False, highest_competing_bid=9.5)
        other.settle(bids[1].text, won=False, highest_competing_bid=9.5)
    for key, array in one.learner.law.arrays().items():
        np.testing.assert_array_equal(array, other.learner.law.arrays()[key], err_msg=key)


def test_different_long_labels_are_different_levels() -> None:
    levels = Levels("example", ["site"])
    names = [f"www.example.com/{i}" for i in range(50)]
    keys = [int(levels.slots((name,))[0]) for name in names]
    assert len(set(keys)) == 50
    assert [int(levels.slots((short(name),))[0]) for name in names] == keys


@pytest.mark.parametrize("number", [0.1, -2.5, 1e30, 7.0])
def test_a_number_is_the_same_in_a_token_and_in_a_bid(number: float) -> None:
    levels = Levels("example", ["floor"])
    kept = unpacked(packed((short(number),)))
    np.testing.assert_array_equal(levels.slots(kept), levels.slots((number,)))
    assert len(packed(kept)) == 6


def test_a_token_of_another_format_is_refused_by_name() -> None:
    own = bidder()
    token = own.bid(9.0, site="www.example.com", device="phone").token
    with pytest.raises(DamagedTokenError, match=r"of format 1, .* reads format 2; .* made it"):
        own.settle(b"\x01" + token[1:], won=True)
    own.settle(token, won=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((1.0, 2.0), "fields"),
        ((1.0, 9.0, None, ("a", "b"), None, (255,)), "no decision of a law"),
        ((1.0, 9.0, None, ("a", "b"), None, True, 255), "no decision of a law"),
        ((1.0, 9.0, None, ("a", "b"), None, -1), "impossible scores"),
        ((1.0, 9.0, None, ("a", "b"), None, 1 << 56), "impossible scores"),
    ],
)
def test_a_token_with_another_content_is_refused(content: Any, message: str) -> None:
    own = bidder()
    decision: Any = own.bid(9.0, site="a", device="b").decision
    ids = (decision.learner, decision.decider, decision.round, decision.time)
    with pytest.raises(DamagedTokenError, match=message):
        action_of(Token(LAW, *ids, packed(content)).encode(), Bid, own.learner, None)


@pytest.mark.parametrize("value", [0, 127, 128, 2**32, 2**63 - 1, -1, -(2**63)])
def test_numbers_of_every_size(value: int) -> None:
    assert unpacked(packed(value)) == value


@pytest.mark.parametrize("wrong", [b"v\x80", b"v" + b"\xff" * 8 + b"\x01", b"h1234567", b"\x82N"])
def test_wrong_bytes_are_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpacked(wrong)


def test_numbers_of_more_than_64_bits_are_refused() -> None:
    with pytest.raises(struct.error):
        packed(2**63)
