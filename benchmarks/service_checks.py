"""What must be true of a store after its processes were killed: see `benchmarks.service_kills`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.learners.tokens import to_text
from crossbandit.service import BidderSettings, BudgetSettings, open_store
from crossbandit.service.contents import Row, rows_of
from crossbandit.service.live import LiveBidder, restore, restored
from crossbandit.service.store.rows import OUTCOMES, Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.service.store import Session

NAMES = ("plain", "limited")


def settings_of(budget: float) -> dict[str, BidderSettings]:
    """Return the settings of the two bidders, by name."""
    limits = BudgetSettings(budget or 1.0, per=10**9, pacing="asap")
    return {
        "plain": BidderSettings(value_range=(0, 10), bids=11, seed=1),
        "limited": BidderSettings(value_range=(0, 10), bids=11, seed=1, budget=limits),
    }


class Said(NamedTuple):
    """What processes have written down.

    Attributes:
        reported: The tokens of outcomes that were acknowledged, by bidder.
        decided: The tokens of decisions under the budget that were answered, with what they cost.
    """

    reported: dict[str, set[str]]
    decided: dict[str, float]


def said(notes: Path) -> Said:
    """Read what processes have written down; a last line may be cut off."""
    found = Said({name: set() for name in NAMES}, {})
    for path in notes.iterdir():
        for line in path.read_text().split("\n")[:-1]:
            kind, first, second = line.split(" ")
            if kind == "R":
                found.reported[first].add(second)
            else:
                found.decided[first] = float(second)
    return found


def check(address: str, first: dict[str, Checkpoint], known: Said, budget: float) -> dict[str, int]:
    """Check a store as the text of `benchmarks.service_kills` says; return what was counted."""
    session = open_store(address).session()
    counts = {"outcomes": 0, "duplicates": 0, "decisions": 0, "refused": 0}
    for row in session.bidders():
        now = restore(session, row.id, None)
        anew, made = replayed(session, row.id, first[row.name])
        assert now.checkpoint() == anew.checkpoint(), "the bytes of the state differ"
        rows = [one for part in log_of(session, row.id) for one in part]
        tokens = {to_text(one.token) for one in rows}
        assert known.reported[row.name] <= tokens, "an acknowledged outcome is not in the log"
        tally = now.tally
        assert tally.won + tally.lost == len(tokens), "an outcome was not learned once"
        assert tally.refused.get("learned-before", 0) == len(rows) - len(tokens)
        assert len(tally.refused) <= 1, tally.refused
        if row.name == "plain":
            same_law(now, plain_bidder(now, rows))
        else:
            assert set(known.decided) <= made, "an answered decision is not in the log"
            spent = sum(known.decided.values())
            assert spent <= budget, f"the budget was exceeded: {spent}"
        counts["outcomes"] += len(tokens)
        counts["duplicates"] += len(rows) - len(tokens)
        counts["decisions"] += now.decisions
    session.close()
    return counts


def log_of(session: Session, bidder: int) -> list[list[Row]]:
    """Return all outcomes of a log, as they were committed."""
    return [
        rows_of(one.content) for one in session.entries(bidder, 0, 1 << 40) if one.kind == OUTCOMES
    ]


def replayed(session: Session, bidder: int, first: Checkpoint) -> tuple[LiveBidder, set[str]]:
    """Read all of a log from the beginning; return the bidder and the tokens of its decisions."""
    live = restored(first, None)
    decisions = session.decisions(bidder, 0)
    entries = session.entries(bidder, 0, 1 << 40)
    made = set()
    for one in [None, *entries]:
        if one is not None:
            live.learn(one)
        while live.decisions < len(decisions) and decisions[live.decisions].after == live.entry:
            bid = live.repeat(decisions[live.decisions])
            if bid.decision is not None:
                made.add(bid.text)
    assert live.decisions == len(decisions)
    return live, made


def plain_bidder(live: LiveBidder, rows: list[Row]) -> Any:
    """Return a bidder that was told each outcome once, one after the other."""
    bidder = settings_of(0.0)["plain"].build()
    bidder.learner.learner = live.bidder.learner.learner
    told = set()
    for row in rows:
        if row.token not in told:
            told.add(row.token)
            bidder.settle(row.token, won=row.won, highest_competing_bid=row.highest_competing_bid)
    return bidder


def same_law(live: LiveBidder, other: Any) -> None:
    """Check that two bidders have learned the same, to the bits."""
    mine, theirs = live.bidder.learner.law.arrays(), other.learner.law.arrays()
    for name, array in mine.items():
        assert np.array_equal(array, theirs[name]), f"the laws differ: {name}"
