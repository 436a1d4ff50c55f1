"""Prices that depend on values: the bidder learns it, an algorithm that assumes otherwise cannot.

Surplus in 10,000 first-price auctions, as a share of the best bid for each band of values.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder

correlations = (0.0, 0.3, 0.6, 0.8, 0.9)
strategies = {"price distribution": None, "cross-learning": CrossGraphAdaptive(anchored=True)}
grid, shares = np.linspace(0, 1, 101), {name: [] for name in strategies}
for correlation in correlations:
    normal = np.random.default_rng(1).standard_normal((2, 10_000))
    mixed = correlation * normal[0] + np.sqrt(1 - correlation**2) * normal[1]
    values, prices = np.minimum(np.exp([0.6 * normal[0] - 1.5, 0.9 * mixed - 1.9]), 1)
    best = 0.0
    for band in np.array_split(np.argsort(values), 25):
        won = grid[:, None] >= prices[band]
        best += (won * (values[band] - grid[:, None])).sum(axis=1).max()
    for name, algorithm in strategies.items():
        bidder = FirstPriceBidder(bids=grid, value_range=(0, 1), algorithm=algorithm, seed=1)
        earned = 0.0
        for v, p in zip(values.reshape(-1, 100), prices.reshape(-1, 100), strict=True):
            bids = bidder.bid_many(v)
            won = bids.amounts >= p
            bidder.settle_many(bids, won=won, highest_competing_bid=np.where(won, np.nan, p))
            earned += (v - bids.amounts)[won].sum()
        shares[name].append(earned / best)
fig, ax = plt.subplots()
for (name, share), mark in zip(shares.items(), "os", strict=True):
    ax.plot(correlations, share, marker=mark, label=name)
ax.set(xlabel="correlation of value and price", ylabel="share of the best surplus", ylim=(0, 1.05))
ax.legend(loc="lower left")
fig.savefig("correlated_prices.svg")
