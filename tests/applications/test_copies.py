"""Copies of a bidder with limits: all of them together must not spend more than the budget."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import joblib
import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget
from tests.forks import forks, in_fork

HINT = "A copy holds no money"
LEASE = r"Budget\(\.\.\.\)\.share\(\).*shared\.lease\(amount\)"


def made(**settings: Any) -> FirstPriceBidder:
    limits = {"budget": Budget(20, per=None, pacing="asap"), **settings}
    return FirstPriceBidder(bids=[1.0, 2.0], value_range=(0, 10), seed=1, **limits)


def spent(bidder: FirstPriceBidder) -> float:
    """Win until nothing can be bid, and return what was paid; -1 if the bidder refuses to bid."""
    paid = 0.0
    for _ in range(100):
        try:
            bid = bidder.bid(9.0)
        except InvalidParameterError as error:
            return -1.0 if HINT in str(error) else -2.0
        if bid.amount is None:
            break
        bidder.settle(bid, won=True)
        paid += bid.amount
    return paid


@pytest.mark.parametrize("start", ["spawn", pytest.param("fork", marks=forks)])
def test_a_pool_does_not_spend_the_budget_once_per_task(start: str) -> None:
    own = made()
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map_async(spent, [own] * 4).get(timeout=120) == [-1.0] * 4
    assert spent(own) == 20.0


def test_joblib_does_not_spend_the_budget_once_per_task() -> None:
    own = made()
    found = joblib.Parallel(n_jobs=2, timeout=120)(joblib.delayed(spent)(own) for _ in range(3))
    assert found == [-1.0] * 3


@pytest.mark.parametrize("algorithm", [None, CrossGraphAdaptive()])
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))],  # noqa: S301 - its own
    ids=["deepcopy", "pickle"],
)
def test_a_copy_refuses_to_bid_and_says_how_to_lease(
    copied: Callable[..., Any], algorithm: Any
) -> None:
    own = made(algorithm=algorithm)
    bid = own.bid(9.0)
    twin = copied(own)
    for task in (partial(twin.bid, 9.0), partial(twin.bid_many, [9.0, 9.0])):
        with pytest.raises(InvalidParameterError, match=LEASE):
            task()
    twin.settle(bid, won=True)  # it still learns
    own.settle(bid, won=True)
    assert own.bid(9.0).amount is not None


def test_a_shallow_copy_spends_from_the_same_budget() -> None:
    own = made()
    assert spent(copy.copy(own)) + spent(own) == 20.0


def test_a_copy_spends_a_lease_of_its_own() -> None:
    shared = Budget(20, per=None).share()
    own = made(budget=shared.lease(8, pacing="asap"))
    spent(own)
    twin = copy.deepcopy(own)
    assert spent(twin) == -1.0
    twin.renew(shared.lease(12, pacing="asap"))
    assert 0.0 < spent(twin) <= 12.0


def test_a_copy_does_not_give_back_the_lease_of_the_first_bidder() -> None:
    shared = Budget(20, per=None).share()
    own = made(budget=shared.lease(20, pacing="asap"))
    twin = copy.deepcopy(own)
    assert not shared.take_back(*twin.renew())
    assert spent(own) == 20.0
    assert float(shared.left()) == 0.0


def test_a_copy_with_a_whole_budget_gets_no_lease() -> None:
    shared = Budget(20, per=None).share()
    both = [Budget(20, per=None, pacing="asap"), shared.lease(20, pacing="asap")]
    twin = copy.deepcopy(made(budget=both))
    with pytest.raises(InvalidParameterError, match=LEASE):
        twin.renew()


def test_a_lease_has_one_bidder() -> None:
    shared = Budget(20, per=None, pacing="asap").share()
    lease, other = shared.lease(8, pacing="asap"), shared.lease(4, pacing="asap")
    with pytest.raises(InvalidParameterError):
        made(budget=lease, missing="wrong")
    first, second = made(budget=lease), made(budget=other)  # what failed before had no lease
    message = "must be a Lease that no bidder has or had"
    for again in (lease, copy.copy(lease), pickle.loads(pickle.dumps(lease))):  # noqa: S301
        with pytest.raises(InvalidParameterError, match=message):
            made(budget=again)
        for bidder in (first, second):
            with pytest.raises(InvalidParameterError, match=message):
                bidder.renew(again)
    assert (spent(first), spent(second)) == (8.0, 4.0)
    third = shared.lease(2, pacing="asap")
    second.renew(third)
    assert spent(second) == 2.0
    with pytest.raises(InvalidParameterError, match=message):
        made(budget=third)


def test_what_a_copy_has_learned_goes_to_a_bidder_with_a_lease() -> None:
    own = made()
    spent(own)
    twin = copy.deepcopy(own)
    worker = made(budget=Budget(20, per=None).share().lease(4, pacing="asap"))
    worker.take_counts(twin)
    assert worker.learner.law.rounds == own.learner.law.rounds > 0
    assert 0.0 < spent(worker) <= 4.0


def test_a_loaded_file_is_a_restart_which_goes_on_spending(tmp_path: Any) -> None:
    own = made()
    own.settle(own.bid(9.0), won=True)
    own.save(tmp_path / "bidder")
    for again in [FirstPriceBidder.load(tmp_path / "bidder") for _ in range(2)]:
        assert spent(again) == float(again.limits[0].spent) - float(own.limits[0].spent) > 0
        with pytest.raises(InvalidParameterError, match=HINT):
            copy.deepcopy(again).bid(9.0)


@forks
def test_a_forked_process_does_not_lease_what_its_parent_leases() -> None:
    shared = Budget(20, per=None).share()

    def leased() -> str:
        try:
            return str(shared.lease(20))
        except InvalidParameterError as error:
            return str(error)

    assert "leases nothing in a forked process" in in_fork(leased)
    assert shared.lease(20).amount == 20
