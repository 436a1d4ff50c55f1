"""Many machines decide with copies of one learner, and the copies may be old.

Surplus in 10,000 auctions, if workers get a new snapshot every so many auctions.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit.applications import FirstPriceBidder

auctions, ages = 10_000, (200, 500, 1_000, 2_500, 5_000)
rng = np.random.default_rng(0)
values, prices = rng.uniform(0, 10, auctions), rng.gamma(4, 0.8, auctions)
best = max(
    np.where(f * values >= prices, values - f * values, 0).sum() for f in np.arange(0, 1, 0.01)
)

surplus = []
for age in ages:
    learner = FirstPriceBidder(bids=101, value_range=(0, 10), seed=1)
    earned = 0.0
    for start in range(0, auctions, age):
        data = learner.snapshot(seed=start).to_bytes()  # what a worker is sent
        worker = FirstPriceBidder.from_bytes(data, seed=start)
        now = slice(start, start + age)
        bids = worker.bid_many(values[now])
        won = bids.amounts >= prices[now]
        told = np.where(won, np.nan, prices[now])
        learner.settle_many(bids.tokens, won=won, highest_competing_bid=told)
        earned += (values[now] - bids.amounts)[won].sum()
    surplus.append(earned)

fig, ax = plt.subplots()
ax.plot(ages, surplus, marker="o", label="fleet")
ax.axhline(best, color="0.5", linewidth=1.2, linestyle="--", label="best fraction of the value")
ax.set(xlabel="auctions per snapshot", ylabel="surplus", ylim=(0, 1.1 * best))
ax.legend(loc="lower left")
fig.savefig("snapshot_fleet.svg")
