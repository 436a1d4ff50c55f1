"""Counts of outcomes: a copy is not changed by what comes later."""

import msgspec
import numpy as np

from crossbandit.service.figures import Tally


def test_a_copy_of_the_tally_does_not_change() -> None:
    tally = Tally()
    tally.learn(0.0, np.array([True]), np.array([3.0]), np.array([1.0]))
    tally.learn(60.0, np.array([False]), np.array([2.0]), np.array([1.0]))
    tally.refuse("expired")
    copied, before = tally.copied(), msgspec.msgpack.encode(tally)
    assert msgspec.msgpack.encode(copied) == before
    tally.learn(61.0, np.array([True]), np.array([2.0]), np.array([1.0]))
    tally.learn(120.0, np.array([True]), np.array([2.0]), np.array([1.0]))
    tally.refuse("expired")
    assert msgspec.msgpack.encode(copied) == before
