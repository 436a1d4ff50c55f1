"""A bidder learns how far to bid below the value.

The band holds eight of ten bids: it is wide where the bidder is not sure yet.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit.applications import FirstPriceBidder

rng = np.random.default_rng(0)
bidder = FirstPriceBidder(bids=101, value_range=(0, 10), seed=1)
seen = 0
fig, panels = plt.subplots(1, 3, sharey=True, figsize=(6.8, 2.8))
for ax, auctions in zip(panels, (30, 300, 10_000), strict=True):
    while seen < auctions:
        values = rng.uniform(0, 10, 10)
        prices = rng.gamma(4, 0.8, 10)  # highest competing bids
        bids = bidder.bid_many(values)
        won = bids.amounts >= prices
        bidder.settle_many(bids, won=won, highest_competing_bid=np.where(won, np.nan, prices))
        seen += 10
    bidder.shading_curve(np.linspace(0.1, 10, 100)).plot(ax)
    ax.set_title(f"after {auctions:,} auctions")
    ax.set_ylabel("")
    ax.get_legend().remove()
panels[0].set_ylabel("bid")
panels[0].legend(loc="upper left")
fig.savefig("shading_curve.svg")
