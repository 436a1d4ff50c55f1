"""Counts of outcomes: a copy is not changed by what comes later."""

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from crossbandit.service.figures import Tally


def bid(at: float, value: float, amount: float) -> Any:
    return SimpleNamespace(decision=SimpleNamespace(time=at), value=value, amount=amount)


def test_a_copy_of_the_tally_does_not_change() -> None:
    tally = Tally()
    tally.learn(0.0, [bid(0.0, 3.0, 1.0)], np.array([True]), [None])
    tally.learn(60.0, [bid(0.0, 2.0, 1.0)], np.array([False]), [None])
    tally.refuse("expired")
    copied, before = tally.copied(), msgspec.msgpack.encode(tally)
    assert msgspec.msgpack.encode(copied) == before
    tally.learn(61.0, [bid(60.0, 2.0, 1.0)], np.array([True]), [None])
    tally.learn(120.0, [bid(60.0, 2.0, 1.0)], np.array([True]), [None])
    tally.refuse("expired")
    assert msgspec.msgpack.encode(copied) == before


def test_the_delay_follows_the_latest_outcomes() -> None:
    tally = Tally()
    assert tally.delay is None
    tally.learn(1_000.0, [bid(940.0, 3.0, 1.0)], np.array([True]), [None])
    assert tally.delay == 60.0  # the first is all that is known
    tally.learn(
        3_000.0, [bid(1_200.0, 3.0, 1.0)] * 1_000, np.array([False] * 1_000), [None] * 1_000
    )
    assert tally.delay == pytest.approx(1_800.0, rel=1e-3)
    tally.learn(
        3_000.0, [bid(3_060.0, 3.0, 1.0)] * 1_000, np.array([False] * 1_000), [None] * 1_000
    )
    assert tally.delay == pytest.approx(0.0, abs=0.1)  # the clock of a client is ahead
