"""First-price auctions: the losses of every bid, and what outcomes say if nothing is odd."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats


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
