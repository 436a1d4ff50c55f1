# cython: infer_types=True
"""First-price auctions: the losses of bids, and columns of outcomes that are plain."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
else:
    from math import inf as INFINITY  # noqa: N812

import numpy as np


def write_auctions(
    bids: cython.const[cython.double][::1],
    prices: cython.const[cython.double][::1],
    reserve: cython.double,
    highest_value: cython.double,
    scale: cython.double,
    out: cython.double[:, :, ::1],
    *,
    ties_win: cython.bint,
) -> None:
    """Set `out` (n, K, 2) to the rows of the bids (K,), ascending, against the prices (n,).

    A bid b that wins earns value - b, and one that loses earns nothing. The loss of a bid is the
    highest value minus what it earns, divided by `scale`. It is linear in the features
    (1, value / highest_value). A bid of 0 never wins, not even against a price of 0.
    """
    for i in range(prices.shape[0]):
        for a in range(bids.shape[0]):
            beats: cython.bint = bids[a] >= prices[i] if ties_win else bids[a] > prices[i]
            if beats and bids[a] >= reserve and bids[a] > 0.0:
                out[i, a, 0] = (highest_value + bids[a]) / scale
                out[i, a, 1] = -highest_value / scale
            else:
                out[i, a, 0] = highest_value / scale
                out[i, a, 1] = 0.0


def plain_numbers(
    after_loss: cython.bint,
    after_win: cython.bint,
    strict: cython.bint,
    reserve: cython.double,
    least: cython.double,
    bids: cython.const[cython.double][::1],
    won,
    told: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> int:
    """Set `out` to the number that each bid had to reach; return how many outcomes are not plain.

    An outcome is plain if it is complete and agrees with itself to the last bit; nothing is set
    where it is not. after_loss, after_win: whether the competing bid must be told. strict: whether
    equal bids lose. bids: (n,), NaN where none was made. told: (n,), NaN where it is not known.
    """
    odd: cython.Py_ssize_t = 0
    wins: cython.const[cython.uchar][::1] = won.view(np.uint8)
    for i in range(bids.shape[0]):
        known: cython.bint = told[i] == told[i]  # not NaN
        if bids[i] != bids[i] and not known and wins[i] == 0:  # no bid, and nothing is told
            out[i] = INFINITY
            continue
        can_win: cython.bint = bids[i] > 0.0 and bids[i] >= reserve
        beats: cython.bint = bids[i] > told[i] or (bids[i] == told[i] and not strict)
        win: cython.bint = wins[i] != 0
        if known and 0.0 <= told[i] < INFINITY and win == (beats and can_win):
            out[i] = max(told[i], least)
        elif not known and win and can_win and not after_win:
            out[i] = least
        elif not known and not win and not after_loss:
            out[i] = INFINITY
        else:
            odd += 1
    return odd
