"""What a forked process must not share with its parent, and locks that must not wait for ever."""

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Problem, graphs
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError, LearnedBeforeError
from crossbandit.limits import Budget
from tests.forks import forks, in_fork


def learner() -> Any:
    return CrossGraphAdaptive().start(Problem(graphs.complete(4), contexts=1), seed=0)


@forks
def test_a_forked_learner_repeats_neither_names_nor_random_numbers() -> None:
    own = learner()

    def drawn() -> str:
        return f"{own.id} {[own.act(0).arm for _ in range(40)]}"

    found = [drawn_in.split(" ", 1) for drawn_in in (in_fork(drawn), in_fork(drawn)) if drawn_in]
    ids = {own.id, *(one[0] for one in found)}
    assert len(ids) == 3
    arms = [one[1] for one in found] + [str([own.act(0).arm for _ in range(40)])]
    assert len(set(arms)) == 3


@forks
def test_decisions_of_before_the_fork_are_learned_from_in_the_child() -> None:
    own = learner()
    text = own.act(0).text

    def learned() -> str:
        own.learn(text, np.full((4, 1), 0.5))
        own.learn(own.act(0), np.full((4, 1), 0.5))
        try:
            own.learn(text, np.full((4, 1), 0.5))
        except LearnedBeforeError:
            return f"once {own.pending}"
        return "twice"

    assert in_fork(learned) == "once 0"
    own.learn(text, np.full((4, 1), 0.5))


@forks
def test_a_learner_that_remembers_goes_on_in_the_child() -> None:
    own = CrossGraph().start(Problem(graphs.complete(4), contexts=1, horizon=100), seed=0)
    decision = own.act(0)

    def learned() -> str:
        own.learn(decision, np.full((4, 1), 0.5))
        own.learn(own.act(0), np.full((4, 1), 0.5))
        return str(own.pending)

    assert in_fork(learned) == "0"
    assert own.pending == 1


@forks
@pytest.mark.parametrize("algorithm", [None, CrossGraphAdaptive()])
def test_a_fork_does_not_spend_the_money_of_its_parent(algorithm: Any) -> None:
    own = FirstPriceBidder(
        bids=11, value_range=(0, 10), budget=Budget(5), algorithm=algorithm, seed=1
    )

    def bids() -> str:
        try:
            return str(own.bid(9.0))
        except InvalidParameterError as error:
            return str(error)

    assert "A copy holds no money" in str(in_fork(bids))
    assert own.bid(9.0).reason is None


@forks
@pytest.mark.parametrize("algorithm", [None, CrossGraphAdaptive()])
def test_a_fork_waits_until_a_bidder_with_limits_has_bid(algorithm: Any) -> None:
    own = FirstPriceBidder(
        bids=11, value_range=(0, 10), budget=Budget(1e9), algorithm=algorithm, seed=1
    )
    ended = threading.Event()

    def busy() -> None:
        while not ended.is_set():
            own.settle(own.bid(5.0), won=False, highest_competing_bid=9.0)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_fork(lambda: str(len(own.limits))) == "1"
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_two_that_take_counts_of_each_other_do_not_wait_for_ever() -> None:
    one, two = (FirstPriceBidder(bids=11, value_range=(0, 10), seed=1) for _ in range(2))

    def taken(own: FirstPriceBidder, other: FirstPriceBidder) -> None:
        for _ in range(50):
            own.take_counts(other)

    threads = [
        threading.Thread(target=taken, args=pair, daemon=True) for pair in ((one, two), (two, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert not any(thread.is_alive() for thread in threads)


def test_a_snapshot_decides_many_as_one_after_the_other() -> None:
    own = learner()
    for _ in range(20):
        decision = own.act(0)
        own.learn(decision, np.full((4, 1), 0.25))
    one, many = own.snapshot(seed=3), own.snapshot(seed=3)
    arms = [one.act(0).arm for _ in range(10)]
    batch = many.act_many([0] * 10)
    assert [decision.arm for decision in batch] == arms
    own.learn_many([decision.token for decision in batch], [np.full((4, 1), 0.5)] * 10)
    with pytest.raises(InvalidParameterError, match="as many masks"):
        many.act_many([0, 0], [[True] * 4])


def test_the_limit_of_what_is_remembered_is_saved(tmp_path: Any) -> None:
    own = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
    own.learner.seen.limit = 4096
    own.save(tmp_path / "bidder")
    assert FirstPriceBidder.load(tmp_path / "bidder").learner.seen.limit == 4096
    assert FirstPriceBidder.load(tmp_path / "bidder", bids=21).learner.seen.limit == 4096


IMPORTING = """
import os, signal, sys, threading
import crossbandit as cb

bidder = cb.FirstPriceBidder(bids=50, value_range=(0, 10), seed=1)
sys.setswitchinterval(1e-6)
threading.Thread(target=lambda: bidder.bid_many([3.0] * 10)).start()
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        bidder.bid_many([3.0] * 10)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_process_may_fork_while_a_thread_makes_its_first_bids() -> None:
    """What is imported then is imported in full before the fork, or the child waits for ever."""
    subprocess.run([sys.executable, "-c", IMPORTING], check=True, timeout=60)
