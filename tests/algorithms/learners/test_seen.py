"""The memory of what was learned is exact, bounded, and comes back from its arrays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossbandit.algorithms.learners.seen import PAGE, SeenDecisions
from crossbandit.core.steps import at_once
from crossbandit.errors import CheckpointError, ExpiredDecisionError, InvalidParameterError

A, B = "0" * 16, "ffffffffffffffff"


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def put(seen: SeenDecisions, decider: str, counter: int, time: float, code: int = 1) -> None:
    seen.put_many(decider, np.array([counter]), np.array([time]), code)


def outcome(seen: SeenDecisions, decider: str, counter: int, time: float) -> int | str:
    try:
        return seen.check(decider, counter, time)
    except ExpiredDecisionError:
        return "expired"


# A step moves the clock, also back, and then reports some decisions, perhaps again.
steps = st.lists(
    st.tuples(
        st.floats(-40, 60),
        st.lists(
            st.tuples(st.sampled_from([A, B]), st.integers(0, 4 * PAGE), st.floats(0, 250)),
            max_size=8,
        ),
    ),
    max_size=12,
)


@given(steps, st.sampled_from([PAGE, 3 * PAGE, 2**25]), st.booleans())
def test_a_decision_counts_once_whatever_the_clock_does(
    history: Any, limit: int, save: bool
) -> None:
    """The reference remembers everything for ever; times do not even grow with counters."""
    clock = Clock(300.0)
    seen = SeenDecisions(window=100.0, limit=limit, clock=clock)
    learned: dict[tuple[str, int], tuple[float, int]] = {}
    for move, reports in history:
        clock.now += move
        for decider, counter, age in reports:
            name, time = (decider, counter), clock.now - age
            time = learned[name][0] if name in learned else time  # a decision has one time
            found = outcome(seen, decider, counter, time)
            if name in learned:
                assert found in ("expired", learned[name][1])
            else:
                assert found in ("expired", 0)
            if clock.now - time > 100.0 or time - clock.now > 100.0:
                assert found == "expired"
            if found != "expired":
                code = 1 + len(learned)
                if code % 2:
                    put(seen, decider, counter, time, code)
                else:
                    seen.page_of(decider, counter, time).codes[counter % PAGE] = code
                learned[name] = (time, code)
        if save:
            arrays = seen.freeze()()
            seen = SeenDecisions(window=100.0, limit=limit, clock=clock)
            seen.restore(arrays)
        assert seen.nbytes <= 2 * limit


def test_within_the_window_nothing_expires_and_after_it_everything() -> None:
    clock = Clock()
    seen = SeenDecisions(window=50.0, clock=clock)
    for counter in range(3 * PAGE):
        clock.now = 1_000.0 + counter / PAGE
        put(seen, A, counter, clock.now)
    clock.now = 1_050.0
    assert [outcome(seen, A, c, 1_000.0 + c / PAGE) for c in (0, 1400, 3000)] == [1, 1, 1]
    assert outcome(seen, A, 3 * PAGE, 1_000.5) == 0  # late, and not learned from
    clock.now = 1_051.1
    assert outcome(seen, A, 0, 1_000.0) == "expired"
    put(seen, B, 0, clock.now)  # a new page drops old ones
    assert seen.nbytes == 2 * PAGE * 3
    assert outcome(seen, A, 1400, 1_000.0 + 1400 / PAGE) == 1


def test_a_clock_that_was_ahead_for_a_while_costs_only_what_was_dropped() -> None:
    clock = Clock()
    seen = SeenDecisions(window=50.0, clock=clock)
    put(seen, A, 0, 1_000.0)
    clock.now = 9_000.0
    put(seen, B, 0, 9_000.0)  # drops the page of A
    clock.now = 1_001.0
    assert outcome(seen, A, 0, 1_000.0) == "expired"  # not a new decision
    assert outcome(seen, A, 1, 1_000.5) == 0  # made after what was dropped
    assert seen.code(B, 0) == 1


def test_a_page_to_be_set_is_not_the_one_that_is_being_saved() -> None:
    clock = Clock()
    seen = SeenDecisions(window=50.0, clock=clock)
    put(seen, A, 3, 1_000.0, 7)
    arrays = seen.freeze()
    clock.now = 1_010.0
    seen.page_of(A, 4, 1_010.0).codes[4] = 8
    assert arrays()["codes"][0, :6].tolist() == [0, 0, 0, 7, 0, 0]
    assert (seen.code(A, 3), seen.code(A, 4)) == (7, 8)
    assert seen.freeze()()["newest"].tolist() == [1_010.0]
    with pytest.raises(ExpiredDecisionError):
        seen.page_of(A, 4, 900.0)


def test_dates_in_the_future_are_taken_within_a_window_only() -> None:
    seen = SeenDecisions(window=50.0, clock=Clock())
    assert seen.check(A, 0, 1_050.0) == 0
    with pytest.raises(ExpiredDecisionError, match=r"60 seconds in the future.*Set the clock"):
        seen.check(A, 0, 1_060.0)
    with pytest.raises(ExpiredDecisionError, match=r"60 seconds ago and has expired"):
        seen.check(A, 0, 940.0)


@given(
    st.lists(st.tuples(st.integers(0, 5 * PAGE), st.integers(1, 65535)), max_size=60),
    st.lists(st.integers(0, 5 * PAGE), max_size=60),
)
def test_many_at_once_are_as_one_after_the_other(written: Any, asked: list[int]) -> None:
    clock = Clock()
    one, many = SeenDecisions(clock=clock), SeenDecisions(clock=clock)
    for counter, code in written:
        put(one, A, counter, 999.0, code)
    counters = np.array([counter for counter, _ in written], dtype=np.int64)
    many.put_many(A, counters, np.full(len(written), 999.0), [code for _, code in written])
    found = many.codes(A, np.array(asked, dtype=np.int64))
    assert found.tolist() == [one.check(A, counter, 999.0) for counter in asked]
    assert many.codes(B, counters).tolist() == [0] * len(written)


def test_many_times_expire_as_one_does() -> None:
    seen = SeenDecisions(window=50.0, clock=Clock())
    times = np.array([949.9, 950.0, 1_000.0, 1_050.0, 1_050.1])
    assert seen.expired(times).tolist() == [outcome(seen, A, 0, t) == "expired" for t in times]
    assert seen.expired(times).tolist() == [True, False, False, False, True]


def test_what_was_frozen_does_not_change_any_more() -> None:
    seen = SeenDecisions(clock=Clock())
    put(seen, A, 5, 1_000.0, 7)
    arrays = seen.freeze()
    put(seen, A, 5, 1_001.0, 9)
    put(seen, A, 6, 1_001.0, 9)
    put(seen, B, 0, 1_001.0, 9)
    frozen = arrays()
    assert (frozen["codes"].sum(), len(frozen["codes"]), frozen["newest"][0]) == (7, 1, 1_000.0)
    assert [seen.code(A, 5), seen.code(A, 6), seen.code(B, 0)] == [9, 9, 9]


def test_two_hours_of_two_thousand_decisions_a_second_take_tens_of_megabytes() -> None:
    """At a tenth of the rate: what is counted is proportional to it."""
    clock = Clock(0.0)
    seen = SeenDecisions(window=7_200.0, clock=clock)
    for start in range(0, 3 * 200 * 7_200, 20_000):
        clock.now = start / 200
        counters = np.arange(start, start + 20_000)
        seen.put_many(A, counters, counters / 200)
    assert 10 * seen.nbytes < 35e6


BAD: dict[str, Any] = {
    "codes": np.zeros((1, PAGE - 1), dtype=np.uint16),
    "deciders": np.zeros(1, dtype=np.int64),
    "newest": np.array([np.nan]),
    "numbers": np.array([-1]),
    "dropped": np.array([np.inf]),
    "more": np.zeros(1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_refused_and_change_nothing(name: str) -> None:
    seen = SeenDecisions(clock=Clock())
    put(seen, A, 5, 1_000.0, 7)
    arrays = seen.freeze()()
    with pytest.raises(CheckpointError, match="memory of decisions"):
        seen.restore({**arrays, name: BAD[name]})
    with pytest.raises(CheckpointError, match="a page twice"):
        seen.restore(
            {
                **{k: np.repeat(v, 2, axis=0) for k, v in arrays.items() if v.size},
                "dropped": arrays["dropped"],
            }
        )
    assert seen.code(A, 5) == 7


@pytest.mark.parametrize("wrong", [{"window": 0}, {"window": np.nan}, {"limit": 0}, {"limit": 1.5}])
def test_bounds_must_be_positive(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match="parameter of SeenDecisions"):
        SeenDecisions(**wrong)


@pytest.mark.parametrize(("first", "count"), [(0, 1), (5, 1_019), (1_000, 48), (900, 3_000)])
def test_a_run_is_remembered_as_its_decisions_one_by_one(first: int, count: int) -> None:
    run, single = (SeenDecisions(clock=lambda: 100.0) for _ in range(2))
    codes = np.arange(count) % 60_000 + 4
    numbers, times = np.arange(first, first + count), np.full(count, 95.0)
    at_once(*run.putting(A, numbers, times, codes, run=True))
    for number, code in zip(numbers.tolist(), codes.tolist(), strict=True):
        put(single, A, number, 95.0, code)
    one, other = run.freeze()(), single.freeze()()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert np.array_equal(run.codes(A, numbers, run=True), codes)
    assert not run.codes(A, numbers + count, run=True).any()


def test_a_page_is_that_of_the_decision_which_has_not_expired() -> None:
    rng, now = np.random.default_rng(0), 1000.0
    seen = SeenDecisions(window=300.0, limit=6 * PAGE, clock=lambda: now)
    found = 0
    for _ in range(2_000):
        now += rng.exponential(2.0)
        decider, counter = f"{rng.integers(3):016x}", int(rng.integers(3 * PAGE))
        time = now - rng.normal(100.0, 120.0)
        if seen.expired(np.array([time]))[0]:
            with pytest.raises(ExpiredDecisionError):
                seen.page_of(decider, counter, time)
        else:
            found += 1
            page = seen.page_of(decider, counter, time)
            assert page is seen.pages[decider, counter // PAGE]
            assert page.newest >= time
            assert page.generation == seen.generation
        if rng.random() < 0.02:
            seen.freeze()
    assert 100 < found < 1_900
