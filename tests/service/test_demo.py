"""The demonstration: its auctions are played by the rules, and end when told to."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crossbandit.service import Node, NotReadyError, open_store
from crossbandit.service.demo import MARKETS, create_bidders, play, play_round

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(open_store(tmp_path / "demo.db"), publish=0.05)
    made.start()
    yield made
    made.close()


def wait_for(node: Node, name: str, outcomes: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = node.figures(name)
        if found.won + found.lost >= outcomes and found.lag == 0:
            return
        time.sleep(0.02)
    pytest.fail(f"{name} has not learned {outcomes} outcomes")


def play_when_ready(node: Node, name: str, rng: np.random.Generator) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            return play_round(node, name, MARKETS[name], 25, rng)
        except NotReadyError:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_every_auction_is_reported_and_none_refused(node: Node) -> None:
    create_bidders(node)
    create_bidders(node)  # those that are there stay
    assert node.names() == sorted(MARKETS)
    rng = np.random.default_rng(0)
    for name in MARKETS:
        play_when_ready(node, name, rng)
    for name in MARKETS:
        wait_for(node, name, 1 if node.settings(name).limited else 10)
        found = node.figures(name)
        assert found.refused == {}
        assert found.lag == 0
        if not found.limited:
            assert found.decisions == 25
            assert found.won + found.lost <= 25  # an auction without a bid has no outcome
        assert found.surplus == pytest.approx(found.value_won - found.spend)


def test_markets_differ_as_they_say() -> None:
    rng = np.random.default_rng(0)
    drawn = {name: [one.draw(rng) for _ in range(2000)] for name, one in MARKETS.items()}
    together = {
        name: np.corrcoef(np.array([auction[:2] for auction in drawn[name]]).T)[0, 1]
        for name in ("display", "search")
    }
    assert together["display"] > 0.5
    assert abs(together["search"]) < 0.1
    means = {
        site: np.mean([price for _, price, classes in drawn["video"] if classes["site"] == site])
        for site in ("news", "games")
    }
    assert means["games"] > 2 * means["news"]


def test_it_plays_by_itself_until_it_is_ended(node: Node) -> None:
    before = threading.active_count()
    end = play(node, rate=100.0, seed=1)
    wait_for(node, "display", 20)
    end()
    assert threading.active_count() == before


def test_a_paused_bidder_does_not_end_it(node: Node) -> None:
    end = play(node, rate=100.0, seed=1)
    node.pause("video")
    wait_for(node, "display", 20)
    node.resume("video")
    wait_for(node, "video", 5)
    end()
