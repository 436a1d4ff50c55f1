"""What must be true of a store after its processes were killed: see `benchmarks.service_kills`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.algorithms.learners.tokens import Token, to_text, token_bytes
from crossbandit.service import BidderSettings, BudgetSettings, open_store
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.contents import Row, rows_of
from crossbandit.service.store import OUTCOMES, Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.service.store import Session

NAMES = ("plain", "limited")
_NOW = 2e9  # when the bidders of a store go on
SPARE = "spare"  # a bidder that is deleted and created again


def settings_of(budget: float) -> dict[str, BidderSettings]:
    """Return the settings of the bidders, by name."""
    limits = BudgetSettings(budget or 1.0, per=10**9, pacing="asap", worst_case=0.0)
    return {
        "plain": BidderSettings(value_range=(0, 10), bids=11, seed=1),
        "limited": BidderSettings(value_range=(0, 10), bids=11, max_bid=3.0, seed=1, budget=limits),
        SPARE: BidderSettings(value_range=(0, 10), bids=11),
    }


class Said(NamedTuple):
    """What processes have written down.

    Attributes:
        reported: The tokens of outcomes that were acknowledged, by bidder.
        decided: The tokens of decisions under the budget that were answered, with what they cost.
        problems: The problems with the store, by the file of the process that had them.
    """

    reported: dict[str, set[str]]
    decided: dict[str, float]
    problems: dict[Path, str]


def said(notes: Path) -> Said:
    """Read what processes have written down; a last line may be cut off."""
    found = Said({name: set() for name in NAMES}, {}, {})
    for path in notes.iterdir():
        for line in path.read_text().split("\n")[:-1]:
            kind, first, second = line.split(" ")
            if kind == "R":
                found.reported[first].add(second)
            elif kind == "P":
                found.problems[path] = second
            else:
                found.decided[first] = float(second)
    return found


def check(address: str, first: dict[str, Checkpoint], known: Said, budget: float) -> dict[str, int]:
    """Check a store as the text of `benchmarks.service_kills` says; return what was counted."""
    session = open_store(address).session()
    counts = {"outcomes": 0, "duplicates": 0, "lost": 0}
    for row in session.bidders():
        now = LiveBidder(number=row.id).restore(session, _NOW)
        anew, made = replayed(session, row.id, first[row.name])
        assert now.checkpoint() == anew.checkpoint(), "the bytes of the state differ"
        if row.name == SPARE:
            continue
        rows = [one for part in log_of(session, row.id) for one in part]
        tokens = {to_text(one.token) for one in rows}
        assert known.reported[row.name] <= tokens, "an acknowledged outcome is not in the log"
        tally = now.tally
        learned = tally.won + tally.lost
        told = f"{row.name}: {learned} of {len(tokens)} outcomes were learned; {tally.refused}"
        assert learned == len(tokens), told
        assert tally.refused.get("learned-before", 0) == len(rows) - len(tokens)
        assert len(tally.refused) <= 1, tally.refused
        if row.name == "plain":
            same_law(now, plain_bidder(now, rows))
        else:
            key = session.key()
            lost = set(known.decided) - made
            counts["lost"] = len(lost)
            for token in lost:
                one = Token.decode(token_bytes(token), key)
                assert (one.decider, one.counter) in made, "an answered decision is not in the log"
            spent = sum(known.decided.values())
            assert spent <= budget, f"the budget was exceeded: {spent}"
            limit = now.bidder.limits[0]
            assert limit.spent + limit.reserved <= budget, "more is reserved than there is"
        counts["outcomes"] += len(tokens)
        counts["duplicates"] += len(rows) - len(tokens)
    session.close()
    return counts


def log_of(session: Session, bidder: int) -> list[list[Row]]:
    """Return all outcomes of a log, as they were committed."""
    return [
        rows_of(one.content) for one in session.entries(bidder, 0, 1 << 40) if one.kind == OUTCOMES
    ]


def replayed(session: Session, bidder: int, first: Checkpoint) -> tuple[LiveBidder, set[object]]:
    """Read all of a log from the beginning; return the bidder and the tokens of its decisions.

    Of those that were lost, the numbers are returned, each with the id of the decider.
    """
    live = LiveBidder(key=session.key()).load(first)
    decisions = session.decisions(bidder, 0)
    entries = session.entries(bidder, 0, 1 << 40)
    made: set[object] = set()
    at = 0
    for one in [None, *entries]:
        if one is not None:
            live.learn(one)
        while at < len(decisions) and decisions[at].after == live.entry:
            decider, lost = live.bidder.learner.id, live.bidder.learner.round
            bid = live.repeat(decisions[at])
            if bid is None:
                made |= {(decider, i) for i in range(lost, live.bidder.learner.round)}
            elif bid.amount is not None:
                made.add(bid.text)
            at += 1
        if at == len(decisions):
            decider, lost = live.bidder.learner.id, live.bidder.learner.round
            live.recover(_NOW)
            made |= {(decider, i) for i in range(lost, live.bidder.learner.round)}
    assert at == len(decisions)
    return live, made


def plain_bidder(live: LiveBidder, rows: list[Row]) -> Any:
    """Return a bidder that was told each outcome once, one after the other."""
    bidder = settings_of(0.0)["plain"].build()
    bidder.learner.learner = live.bidder.learner.learner
    bidder.token_key = live.bidder.token_key
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
