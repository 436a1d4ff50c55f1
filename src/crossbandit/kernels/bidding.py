"""First-price auctions: losses and outcomes of bids, and the best response to the prices so far.

Prices are counted on the grid of the bids. The *cell* of a price is the index of the lowest bid
that wins against it, or K if no bid does. Bid k wins if and only if the cell is at most k, so the
distribution of the price is `chances[k]`, the probability that bid k wins. It is learned from
censored feedback.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.feedback import AFTER_LOSS, WON_LOST, tells

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats, Integers


@compiled
def write_auctions(
    bids: Floats,
    prices: Floats,
    reserve: float,
    highest_value: float,
    scale: float,
    out: Floats,
    *,
    ties_win: bool,
) -> None:
    """Set `out` (n, K, 2) to the rows of the bids (K,), ascending, against the prices (n,).

    A bid b that wins earns value - b, and one that loses earns nothing. The loss of a bid is the
    highest value minus what it earns, divided by `scale`. It is linear in the features
    (1, value / highest_value). A bid of 0 never wins, not even against a price of 0.
    """
    for i in range(prices.size):
        for a in range(bids.size):
            beats = bids[a] >= prices[i] if ties_win else bids[a] > prices[i]
            if beats and bids[a] >= reserve and bids[a] > 0.0:
                out[i, a, 0] = (highest_value + bids[a]) / scale
                out[i, a, 1] = -highest_value / scale
            else:
                out[i, a, 0] = highest_value / scale
                out[i, a, 1] = 0.0


@compiled
def plain_numbers(
    after_loss: bool,  # noqa: FBT001
    after_win: bool,  # noqa: FBT001
    strict: bool,  # noqa: FBT001
    reserve: float,
    least: float,
    bids: Floats,
    won: Booleans,
    told: Floats,
    out: Floats,
) -> int:
    """Set `out` to the number that each bid had to reach; return how many outcomes are not plain.

    An outcome is plain if it is complete and agrees with itself to the last bit; nothing is set
    where it is not. after_loss, after_win: whether the competing bid must be told. strict: whether
    equal bids lose. bids: (n,), NaN where none was made. told: (n,), NaN where it is not known.
    """
    odd = 0
    for i in range(bids.size):
        known = told[i] == told[i]  # not NaN
        can_win = bids[i] > 0.0 and bids[i] >= reserve
        beats = bids[i] > told[i] or (bids[i] == told[i] and not strict)
        if known and 0.0 <= told[i] < math.inf and won[i] == (beats and can_win):
            out[i] = max(told[i], least)
        elif not known and won[i] and can_win and not after_win:
            out[i] = least
        elif not known and not won[i] and not after_loss:
            out[i] = math.inf
        else:
            odd += 1
    return odd


class Observations(NamedTuple):
    """Number of past auctions by cell; both arrays are (K + 1,).

    An auction whose price was told counts in `told`, at the cell of the price. An auction whose
    price was not told counts in `hidden`, at the bid that was made. Where prices are never told,
    wins count in `told` and losses in `hidden`, both at the bid.
    """

    told: Floats
    hidden: Floats


@inlined
def best_bid(value: float, bids: Floats, chances: Floats, first: int) -> int:
    """Return the index of the bid up to `value` that earns most on average; the lowest of equals.

    bids, chances: (K,), ascending. Bids before `first` never win: a bid of 0, and bids below the
    reserve. If no bid can earn anything, the lowest bid is made.
    """
    best = 0
    most = 0.0
    for k in range(first, bids.size):
        if bids[k] > value:
            break
        earned = (value - bids[k]) * chances[k]
        if earned > most:
            most = earned
            best = k
    return best


@compiled
def best_bids(values: Floats, bids: Floats, chances: Floats, first: int, out: Integers) -> None:
    """Set `out[i]` to the index of the best bid at `values[i]`. values, out: (n,). bids: (K,)."""
    for i in range(values.size):
        out[i] = best_bid(values[i], bids, chances, first)


@compiled
def respond(
    values: Floats,
    cells: Integers,
    bids: Floats,
    first: int,
    feedback: int,
    seen: Observations,
    chances: Floats,
    blocks: Floats,
    out: Integers,
) -> None:
    """Set `out[i]` to the best response in auction i to the feedback of all earlier auctions.

    values, cells, out: (n,). bids: (K,). `seen` and `chances` (K,) are updated in place.
    blocks: (3, K), scratch space.
    """
    for i in range(values.size):
        out[i] = best_bid(values[i], bids, chances, first)
        observe(feedback, out[i], cells[i], seen)
        estimate(feedback, seen, blocks, chances)


@inlined
def observe(feedback: int, bid: int, cell: int, seen: Observations) -> None:
    """Count what a bidder is told about the price of an auction."""
    won = cell <= bid
    if tells(feedback, won):
        seen.told[cell] += 1.0
    elif feedback == WON_LOST and won:
        seen.told[bid] += 1.0
    else:
        seen.hidden[bid] += 1.0


@compiled
def estimate(feedback: int, seen: Observations, blocks: Floats, chances: Floats) -> None:
    """Set `chances` (K,) to the estimated distribution of the price. blocks: (3, K), scratch space.

    The estimate is a product-limit (Kaplan-Meier) estimate where some prices are told, and a
    monotone regression of the win rates where none is.
    """
    if feedback == WON_LOST:
        _pool(seen, blocks, chances)
    elif feedback == AFTER_LOSS:
        _from_above(seen, chances)
    else:
        _from_below(seen, chances)


@inlined
def _from_above(seen: Observations, chances: Floats) -> None:
    """Multiply the conditional probabilities of not being in a cell, from the highest cell down.

    An auction that was won at bid j has a price in cell j or below. Had its price been in cell j,
    it would not have been told, so the auction is not at risk there.

    Nothing is known below the lowest told price if no bid below it has won. The estimate is then
    constant from that price down. This makes low bids attractive until they have been tried.
    """
    at_risk = 0.0
    for j in range(seen.told.size):
        at_risk += seen.told[j] + seen.hidden[j]
    chance = 1.0
    for j in range(chances.size, 0, -1):
        at_risk -= seen.hidden[j]
        if seen.told[j] < at_risk:
            chance *= 1.0 - seen.told[j] / at_risk
        chances[j - 1] = chance
        at_risk -= seen.told[j]


@inlined
def _from_below(seen: Observations, chances: Floats) -> None:
    """Multiply the conditional probabilities of not being in a cell, from the lowest cell up."""
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
    """Set `chances` to the nondecreasing sequence closest to the win rates.

    Pools adjacent violators.
    """
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
