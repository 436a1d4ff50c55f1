"""Interpreted and compiled, the cores of laws, guards and limits do the same, to the bit."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest

from crossbandit.core.types import Feedback

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("interpreted")  # its fixture takes long

SCRIPT = """
import sys
sys.modules["cython"] = None  # as where Cython is not installed
from tests.laws.test_interpreted import played
import numpy as np
np.savez(sys.argv[1], **played())
"""
AUCTIONS, BY_ONE = 400, 170
FEEDBACK: tuple[Feedback, ...] = get_args(Feedback)


def played() -> dict[str, Any]:
    """Return the bids, and all arrays after them, of a log in each setting."""
    from crossbandit.laws import law_core
    from crossbandit.laws.price_core import PriceEstimate

    found: dict[str, Any] = {"source": str(law_core.__file__)}
    grid = np.linspace(0.0, 1.0, 9)
    rng = np.random.default_rng(3)
    values, prices = rng.uniform(0.2, 1.0, AUCTIONS), rng.uniform(0.0, 0.7, AUCTIONS)
    cells = np.searchsorted(grid, prices)
    for number, feedback in enumerate(FEEDBACK):
        for guarded, limited in itertools.product((False, True), repeat=2):
            name = f"{feedback} {guarded} {limited}"
            found |= _log(name, grid, values, prices, (feedback, guarded, limited))
            found |= _one_by_one(name, grid, values, prices, (feedback, guarded, limited))
        estimate = [np.full(10, 0.01), np.full(10, 0.01), np.full(9, 0.5)]
        bids = np.empty(AUCTIONS, dtype=np.int64)
        PriceEstimate(number, grid, *estimate).respond(values, cells, 1, bids)
        found[f"{feedback} response"] = bids
        found |= _without_grid(feedback, values[:40], prices[:40])
        found[f"{feedback} estimate"] = np.concatenate(estimate)
    return found


def _without_grid(feedback: Feedback, values: Any, prices: Any) -> dict[str, Any]:
    from crossbandit.laws import OutcomeLaw

    law = OutcomeLaw(classes=("site",), feedback=feedback, seed=2)
    bids = []
    for value, price in zip(values.tolist(), prices.tolist(), strict=True):
        bid = law.decide(value, site="ab"[value > 0.6])
        law.learn(bid, reached=bid.amount >= price, number=price)
        bids.append(bid.amount)
    arrays = {f"{feedback} no grid {name}": part for name, part in law.arrays().items()}
    return {f"{feedback} no grid": np.array(bids), **arrays}


def _log(
    name: str, grid: Any, values: Any, prices: Any, setting: tuple[Feedback, bool, bool]
) -> dict[str, Any]:
    from crossbandit.laws import GuardedLaw, OutcomeLaw
    from crossbandit.limits import Budget, Pacer, ReturnOnSpend

    feedback, guarded, limited = setting
    law: Any = OutcomeLaw(grid, (0, 1), feedback=feedback, seed=2)
    decider = GuardedLaw(law) if guarded else law
    if not limited:
        return _named(f"{name} log", decider.play(values, prices), decider.arrays())
    pacer = Pacer(grid, [Budget(8, per=80), ReturnOnSpend(1.5)], value_range=(0, 1))
    bids = pacer.play(decider, values, prices, firsts=np.zeros(values.size, dtype=np.int64)).bids
    return _named(f"{name} log", bids, decider.arrays() | pacer.state._asdict())


def _one_by_one(
    name: str, grid: Any, values: Any, prices: Any, setting: tuple[Feedback, bool, bool]
) -> dict[str, Any]:
    """Bid for two sites, so that features and the test of independence take part."""
    from crossbandit.applications import FirstPriceBidder
    from crossbandit.limits import Budget

    feedback, guarded, limited = setting
    bidder: Any = FirstPriceBidder(
        bids=grid,
        value_range=(0, 1),
        classes=["site", "floor"],
        feedback=feedback,
        guarded=guarded,
        budget=Budget(4, per=AUCTIONS) if limited else None,
        seed=3,
    )
    made = []
    for i in range(BY_ONE):
        bid = bidder.bid(float(values[i]), site="ab"[i % 2], floor=0.01 * (i % 40))
        made.append(-1.0 if bid.amount is None else bid.amount)
        if bid.amount is None:
            continue
        won = bid.amount >= prices[i] and bid.amount > 0
        told = {"after-loss": not won, "after-win": won, "always": True, "won-lost": False}
        price = float(prices[i]) if told[feedback] else None
        bidder.settle(bid, won=won, highest_competing_bid=price)
    learner = bidder.learner
    arrays = (learner.guard or learner.law).arrays()
    arrays |= {f"test {key}": one for key, one in learner.test.state._asdict().items()}
    return _named(f"{name} bids", np.array(made), arrays)


def _named(name: str, bids: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}: bids": bids, **{f"{name}: {key}": one for key, one in arrays.items()}}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("parity")
    return _run(folder / "interpreted.npz", "1"), _run(folder / "compiled.npz", "")


def _run(path: Path, interpreted: str) -> dict[str, Any]:
    settings = {"CROSSBANDIT_INTERPRETED": interpreted, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        env={**os.environ, **settings},
        check=True,
        timeout=300,
    )
    with np.load(path) as file:
        return dict(file)


def test_one_runs_the_sources_and_the_other_machine_code(both: Any) -> None:
    interpreted, compiled = (str(one["source"]) for one in both)
    assert interpreted.endswith("law_core.py")
    assert not compiled.endswith(".py")


def test_bids_and_all_arrays_are_the_same(both: Any) -> None:
    interpreted, compiled = both
    assert interpreted.keys() == compiled.keys()
    assert len(compiled) > 300
    for name, one in interpreted.items():
        if name != "source":
            np.testing.assert_array_equal(one, compiled[name], err_msg=name)
    for feedback in FEEDBACK:  # there is something to compare: bids differ, and limits take part
        free, paced = (
            compiled[f"{feedback} False {limited} log: bids"] for limited in (False, True)
        )
        assert len(set(free.tolist())) > 3
        assert (free != paced).sum() > 20
