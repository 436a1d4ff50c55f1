"""Orders for every cost, learned from sales that hide the rest of the demand.

Mean order after 5, 30 and 1,000 days, and the best order for the demand that nobody told.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import poisson

from crossbandit.applications import Newsvendor

shop = Newsvendor(orders=range(41), price_range=(2, 4), cost_range=(0.3, 2), seed=1)
rng, costs = np.random.default_rng(0), np.linspace(0.3, 2, 60)
fig, ax = plt.subplots()
day = 0
for days in (5, 30, 1_000):
    while day < days:
        order = shop.order(price=rng.uniform(2, 4), cost=rng.uniform(0.3, 2))
        demand = rng.poisson(15)
        shop.settle(order, sold=min(order.quantity, demand))
        day += 1
    mean = [shop.policy(price=3.0, cost=cost) @ shop.orders for cost in costs]
    ax.plot(costs, mean, label=f"after {days:,} days")
best = poisson(15).ppf(1 - costs / 3.0)
ax.step(costs, best, color="0.5", linewidth=1.2, where="mid", label="best, if demand were known")
ax.set(xlabel="cost of a unit that sells for 3", ylabel="units ordered", ylim=(5, 25))
ax.legend(loc="lower left")
fig.savefig("newsvendor.svg")
