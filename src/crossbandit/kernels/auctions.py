"""The losses of every bid in a batch of first-price auctions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled

if TYPE_CHECKING:
    from crossbandit.types import Floats


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
