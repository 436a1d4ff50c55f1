"""What must be true of a store after its processes were killed: see `benchmarks.service_kills`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from crossbandit.algorithms.learners.tokens import Token, to_text, token_bytes
from crossbandit.service import BidderSettings, BudgetSettings, CampaignSettings, open_store
from crossbandit.service.bidder import LiveBidder
from crossbandit.service.contents import Row, rows_of
from crossbandit.service.store import OUTCOMES, Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.service.store import Session

NAMES = ("plain", "limited", "campaigns")
CAMPAIGNS = ("shoes", "boots", "free")
_NOW = 2e9  # when the bidders of a store go on
SPARE = "spare"  # a bidder that is deleted and created again


def settings_of(budget: float) -> dict[str, BidderSettings]:
    """Return the settings of the bidders, by name."""
    limits = BudgetSettings(budget or 1.0, per=10**9, pacing="asap", worst_case=0.0)
    campaigns = {name: CampaignSettings() for name in CAMPAIGNS}
    for name, most in most_of(budget or 1.0)["campaigns"].items():
        if most is not None:
            campaigns[name] = CampaignSettings(msgspec.structs.replace(limits, amount=most))
    return {
        "plain": BidderSettings(value_range=(0, 10), bids=11, seed=1),
        "limited": BidderSettings(value_range=(0, 10), bids=11, max_bid=3.0, seed=1, budget=limits),
        "campaigns": BidderSettings(
            value_range=(0, 10), bids=11, max_bid=3.0, seed=1, campaigns=campaigns
        ),
        SPARE: BidderSettings(value_range=(0, 10), bids=11),
    }


def most_of(budget: float) -> dict[str, dict[str, float | None]]:
    """Return the budgets of bidders, by campaign; without campaigns there is one, with no name."""
    campaigns = dict(zip(CAMPAIGNS, (0.6 * budget, 0.2 * budget, None), strict=True))
    return {"plain": {"": None}, "limited": {"": budget}, "campaigns": campaigns}


class Said(NamedTuple):
    """What processes have written down.

    Attributes:
        reported: The tokens of outcomes that were acknowledged, by bidder.
        decided: The tokens of decisions under limits that were answered, with what they cost, by
            bidder and campaign.
        problems: The problems with the store, with their times, by the file of the process.
        halts: When a process had not run for a while, by its file.
    """

    reported: dict[str, set[str]]
    decided: dict[tuple[str, str], dict[str, float]]
    problems: dict[Path, list[tuple[float, str]]]
    halts: dict[Path, list[float]]

    def troubled(self, stopped: set[Path], slack: float) -> list[tuple[float, str]]:
        """Return the problems of processes that were not stopped.

        Those that came soon after such a process could not run are left out: the machine was busy.
        """
        busy = [at for path, times in self.halts.items() if path not in stopped for at in times]
        return [
            (at, problem)
            for path, problems in self.problems.items()
            if path not in stopped
            for at, problem in problems
            if not any(0.0 <= at - halt < slack for halt in busy)
        ]


def said(notes: Path) -> Said:
    """Read what processes have written down; a last line may be cut off."""
    decided: dict[tuple[str, str], dict[str, float]] = {}
    found = Said({name: set() for name in NAMES}, decided, {}, {})
    for path in notes.iterdir():
        for line in path.read_text().split("\n")[:-1]:
            kind, first, second, *rest = line.split(" ")
            if kind == "R":
                found.reported[first].add(second)
            elif kind == "P":
                found.problems.setdefault(path, []).append((float(first), second))
            elif kind == "H":
                found.halts.setdefault(path, []).append(float(first))
            else:
                token, cost = rest
                found.decided.setdefault((first, second), {})[token] = float(cost)
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
        for campaign, most in most_of(budget)[row.name].items():
            key, decided = session.key(), known.decided.get((row.name, campaign), {})
            lost = set(decided) - made
            counts["lost"] += len(lost)
            for token in lost:
                one = Token.decode(token_bytes(token), key)
                assert (one.decider, one.counter) in made, "an answered decision is not in the log"
            if most is None:
                continue
            spent = sum(decided.values())
            assert spent <= most, f"the budget of {row.name} {campaign} was exceeded: {spent}"
            spending = now.bidder.accounts.sets[campaign or None]
            assert spending is not None
            (limit,) = spending.status()
            assert limit.spent + limit.reserved <= most, "more is reserved than there is"
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
