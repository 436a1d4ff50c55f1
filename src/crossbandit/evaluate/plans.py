"""Plans: what a strategy would have bid in each auction of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.evaluate.facts import facts_of
from crossbandit.validation import number

if TYPE_CHECKING:
    from crossbandit.applications import FirstPriceBidder
    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Booleans, Floats, Integers

OWN, BEST = "the log's own bids", "best response by band"
_CANDIDATES = 200  # the number of bids that a best response chooses from
_AT_ONCE = 1_000  # the number of auctions whose candidates are compared at a time
_SAME = 1e-9  # bids with a smaller relative difference are the same
_POLICIES = 4_000  # for up to so many values and classes, a policy is computed exactly
_LEVELS = 1_000  # if there are more, it is computed for this many values


@dataclass(frozen=True, eq=False)
class Plan:
    """The bids of a strategy; it may draw a bid at random.

    Attributes:
        name: What tables call it.
        kind: "own", "bidder", "response" or "fixed".
        rows: The auction of each entry, ascending.
        bids: The bid of each entry.
        shares: The probability with which the bid of each entry is made.
        fitted: Whether the bids of each half of the log were fitted to the other half. Then only
            the prices of its own half may judge them.
        note: What a reader should know.
    """

    name: str
    kind: str
    rows: Integers
    bids: Floats
    shares: Floats
    fitted: bool = False
    note: str = ""

    def gains(self, log: CensoredLog) -> Floats:
        """Return what each entry earns if its bid wins, times its share.

        Args:
            log: The auctions.
        """
        gains: Floats = self.shares * (log.values[self.rows] - self.bids)
        return gains


def shading(log: CensoredLog, fraction: float) -> Plan:
    """Return the plan to bid a fraction of the value.

    Args:
        log: The auctions.
        fraction: Which part of the value to bid, above 0 and at most 1.

    Raises:
        InvalidParameterError: The fraction is invalid.
    """
    part = number("evaluate", "shadings", fraction, above=0, at_most=1)
    shown = max(f"{part:.2f}", f"{part:.15g}", key=len)
    bids = part * log.values
    # A bid that was made is used as it is, because 0.6 * 3 is not exactly 1.8.
    return _fixed(f"shading {shown}", "fixed", np.where(same_bids(bids, log.bids), log.bids, bids))


def same_bids(bids: Floats, others: Floats) -> Booleans:
    """Return whether bids are equal but for rounding."""
    same: Booleans = np.abs(bids - others) <= _SAME * np.maximum(bids, others)
    return same


def own_bids(log: CensoredLog) -> Plan:
    """Return the bids that were made."""
    return _fixed(OWN, "own", log.bids)


def _fixed(name: str, kind: str, bids: Floats) -> Plan:
    return Plan(name, kind, np.arange(bids.size), bids, np.ones(bids.size))


def policy(
    log: CensoredLog, bidder: FirstPriceBidder, name: str = "bidder", facts: Facts | None = None
) -> Plan:
    """Return the policy of a bidder as it is now; it does not learn from the log.

    Args:
        log: The auctions. Its classes must have the names of the bidder's.
        bidder: The bidder.
        name: What tables call it.
        facts: What is known of the whole log; None if `log` is all of it.

    Raises:
        InvalidContextError: A value is outside the bidder's range, or a class is missing.
    """
    columns = _class_columns(log, bidder)
    values, note = log.values, ""
    levels = _levels(facts_of(log) if facts is None else facts, bidder)
    if levels is not None:
        # Rounded down, so that no bid is above the value.
        values = levels[np.searchsorted(levels, values, "right") - 1]
        note = f"its bids are those of {levels.size:,} values"
    keys, places = _distinct(values, columns)
    amounts, starts, shares = [], [0], []
    for i in keys.tolist():
        labels = {
            one: column[i].item() for one, column in zip(bidder.classes, columns, strict=False)
        }
        chances = bidder.policy(float(values[i]), **labels)
        used = np.flatnonzero(chances)
        amounts.append(bidder.bids[used])
        shares.append(chances[used])
        starts.append(starts[-1] + used.size)
    lengths = np.diff(starts)[places]
    rows = np.repeat(np.arange(len(log)), lengths)
    ends = np.cumsum(lengths)
    offsets = np.arange(rows.size) - np.repeat(ends - lengths, lengths)
    entries = np.repeat(np.array(starts[:-1])[places], lengths) + offsets
    bids, parts = np.concatenate(amounts)[entries], np.concatenate(shares)[entries]
    return Plan(name, "bidder", rows, bids, parts, note=note)


def _class_columns(log: CensoredLog, bidder: FirstPriceBidder) -> list[np.ndarray]:
    return [np.asarray(log.classes[one]) for one in bidder.classes if one in log.classes]


def _levels(facts: Facts, bidder: FirstPriceBidder) -> Floats | None:
    """Return the values for which a policy is computed; None for all, if they are few."""
    sample, ends = facts.sample, facts.values
    if _distinct(sample.values, _class_columns(sample, bidder))[0].size <= _POLICIES:
        return None
    inner = np.quantile(sample.values, np.linspace(0, 1, _LEVELS), method="lower")
    return np.unique(np.concatenate([[ends.least], inner, [ends.most]]))


def _distinct(values: Floats, columns: list[np.ndarray]) -> tuple[Integers, Integers]:
    """Return one auction per combination of value and classes, and each auction's combination."""
    codes = [np.unique(one, return_inverse=True)[1] for one in (values, *columns)]
    _, first, places = np.unique(
        np.column_stack(codes), axis=0, return_index=True, return_inverse=True
    )
    return first, places.reshape(-1)


def best_response(groups: Groups) -> Plan:
    """Return the bids that earn most by the prices of each group in the other half of the log.

    Args:
        groups: The groups of a log, or of a piece of it.
    """
    log, count = groups.log, len(groups.log)
    bids = np.zeros(count)
    for prices, rows in groups.others(np.arange(count)):
        bids[rows] = _responses(log, rows, prices, groups.scales[rows])
    note = "fitted to one half of the log, judged by the other"
    return Plan(BEST, "response", np.arange(count), bids, np.ones(count), fitted=True, note=note)


def _responses(
    log: CensoredLog, rows: Integers, prices: PriceDistribution, scales: Floats
) -> Floats:
    # Only at the end of an atom is it certain that the chance to win rises.
    rises = np.flatnonzero((prices.masses > 0) & np.isfinite(prices.right))
    if not rises.size:
        return np.zeros(rows.size)
    chosen = rises[np.unique(np.linspace(0, rises.size - 1, _CANDIDATES).astype(np.int64))]
    amounts, chances = prices.right[chosen], prices.cumulative[chosen + 1]
    found = np.empty(rows.size)
    for start in range(0, rows.size, _AT_ONCE):  # a table of all auctions would be large
        some = slice(start, start + _AT_ONCE)
        values, reserves = log.values[rows[some], None], log.reserves[rows[some], None]
        candidates = amounts * scales[some, None]
        margins = np.maximum(values - candidates, 0.0)
        margins[candidates < reserves] = 0.0
        best = (margins * chances).argmax(axis=1)[:, None]
        found[some] = np.minimum(np.take_along_axis(candidates, best, axis=1), values)[:, 0]
    return found
