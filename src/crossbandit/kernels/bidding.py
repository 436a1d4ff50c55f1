"""Bidding the best response to an estimated law of the price, learned from censored feedback.

Prices are seen on the grid of the bids: the *cell* of a price is the number of the lowest bid that
wins against it, or K if none does. So bid k wins iff the cell is at most k, and the law of the
price is `chances[k]`, the probability of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST = range(4)


class Observations(NamedTuple):
    """What was seen of prices so far, as numbers of auctions per cell; all (K + 1,).

    Where the price was told, the auction counts in `told`, in its cell. Where it was not, it counts
    in `hidden`, under the bid that was made. Where prices are never told, wins count in `told` and
    losses in `hidden`, both under the bid.
    """

    told: Floats
    hidden: Floats


@inlined
def best_bid(value: float, bids: Floats, chances: Floats) -> int:
    """Return the bid up to `value` that earns most on average; the lowest of equals.

    bids, chances: (K,), ascending; the lowest bid is always available.
    """
    best = 0
    most = (value - bids[0]) * chances[0]
    for k in range(1, bids.size):
        if bids[k] > value:
            break
        earned = (value - bids[k]) * chances[k]
        if earned > most:
            most = earned
            best = k
    return best


@compiled
def best_bids(values: Floats, bids: Floats, chances: Floats, out: Integers) -> None:
    """Set `out[i]` to the best bid at `values[i]`. values, out: (n,). bids, chances: (K,)."""
    for i in range(values.size):
        out[i] = best_bid(values[i], bids, chances)


@compiled
def respond(
    values: Floats,
    cells: Integers,
    bids: Floats,
    feedback: int,
    seen: Observations,
    chances: Floats,
    blocks: Floats,
    out: Integers,
) -> None:
    """Bid in n auctions, each time the best response to what the earlier ones have shown.

    values, cells, out: (n,). bids: (K,). `seen` and `chances` (K,) are brought up to date.
    blocks: (3, K), scratch.
    """
    for i in range(values.size):
        out[i] = best_bid(values[i], bids, chances)
        _observe(feedback, out[i], cells[i], seen)
        estimate(feedback, seen, blocks, chances)


@inlined
def _observe(feedback: int, bid: int, cell: int, seen: Observations) -> None:
    won = cell <= bid
    if feedback == WON_LOST:
        if won:
            seen.told[bid] += 1.0
        else:
            seen.hidden[bid] += 1.0
    elif feedback == ALWAYS or won == (feedback == AFTER_WIN):
        seen.told[cell] += 1.0
    else:
        seen.hidden[bid] += 1.0


@compiled
def estimate(feedback: int, seen: Observations, blocks: Floats, chances: Floats) -> None:
    """Set `chances` (K,) to the likeliest law of the price. blocks: (3, K), overwritten.

    Product-limit estimates where one side of prices is told, monotone regression where none is.
    """
    if feedback == WON_LOST:
        _pool(seen, blocks, chances)
    elif feedback == AFTER_LOSS:
        _from_above(seen, chances)
    else:
        _from_below(seen, chances)


@inlined
def _from_above(seen: Observations, chances: Floats) -> None:
    """Multiply up the chances not to be in a cell, given to be in it or below; from the top.

    A price in the cell of the bid is a win and would not have been told: who bid there is not at
    risk.
    """
    at_risk = 0.0
    for j in range(seen.told.size):
        at_risk += seen.told[j] + seen.hidden[j]
    chance = 1.0
    for j in range(chances.size, 0, -1):
        at_risk -= seen.hidden[j]
        chance *= max(0.0, 1.0 - seen.told[j] / at_risk)
        chances[j - 1] = chance
        at_risk -= seen.told[j]


@inlined
def _from_below(seen: Observations, chances: Floats) -> None:
    """Multiply up the chances not to be in a cell, given to be in it or above; from the bottom."""
    at_risk = 0.0
    for j in range(seen.told.size):
        at_risk += seen.told[j] + seen.hidden[j]
    chance = 1.0
    for j in range(chances.size):
        chance *= max(0.0, 1.0 - seen.told[j] / at_risk)
        chances[j] = 1.0 - chance
        at_risk -= seen.told[j] + seen.hidden[j]


@inlined
def _pool(seen: Observations, blocks: Floats, chances: Floats) -> None:
    """Set `chances` to the rising sequence nearest to the win rates: pool adjacent violators."""
    wins, counts, ends = blocks[0], blocks[1], blocks[2]
    last = -1
    for k in range(chances.size):
        last += 1
        wins[last] = seen.told[k]
        counts[last] = seen.told[k] + seen.hidden[k]
        ends[last] = k
        while last > 0 and wins[last - 1] * counts[last] >= wins[last] * counts[last - 1]:
            last -= 1
            wins[last] += wins[last + 1]
            counts[last] += counts[last + 1]
            ends[last] = k
    k = 0
    for block in range(last + 1):
        while k <= ends[block]:
            chances[k] = wins[block] / counts[block]
            k += 1
