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

    A bid b that wins earns value - b, and one that loses earns nothing. Its loss is what is missing
    to the highest value, in parts of `scale`; linear in the features (1, value / highest_value).
    A price of 0 is nobody's bid: there is no tie with it.
    """
    for i in range(prices.size):
        for a in range(bids.size):
            equal_wins = ties_win or prices[i] <= 0.0
            beats = bids[a] >= prices[i] if equal_wins else bids[a] > prices[i]
            if beats and bids[a] >= reserve:
                out[i, a, 0] = (highest_value + bids[a]) / scale
                out[i, a, 1] = -highest_value / scale
            else:
                out[i, a, 0] = highest_value / scale
                out[i, a, 1] = 0.0
