"""A budget that lasts the whole day.

Money spent on a day with busy evenings, after two days of learning, by each kind of pacing.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer

rng, each, days = np.random.default_rng(0), 8_000, 3
hours = np.linspace(0, 24, 97)
busy = 1 + 2.5 * np.exp(-(((hours - 20) / 2.5) ** 2)) - 0.8 * np.exp(-(((hours - 4) / 3) ** 2))
shares = (np.cumsum(busy) - busy[0]) / busy[1:].sum()
clock = np.sort(np.interp(rng.random((days, each)), shares, hours), axis=1)
times = ((20_000 + np.arange(days)[:, None]) * 86_400.0 + clock * 3600).ravel()
values, prices = rng.beta(2, 3, days * each), rng.beta(2, 4, days * each)
amounts = np.linspace(0, 1, 101)

fig, ax = plt.subplots()
for pacing, look in (("traffic", "-"), ("even", "--"), ("asap", ":")):
    law = OutcomeLaw(amounts, (0, 1), seed=1)
    pacer = Pacer(amounts, [Budget(100, pacing=pacing)], value_range=(0, 1))
    bids = pacer.play(law, values, prices, times=times).bids
    paid = np.where((bids >= 0) & (amounts[bids] >= prices), amounts[bids], 0.0)
    spent = paid.reshape(days, each)[-1].cumsum()
    ax.plot(clock[-1], spent, look, label=f'pacing="{pacing}"')
ax.plot(hours, 100 * shares, color="0.6", linewidth=1, label="share of the auctions")
ax.set(xlabel="hour of the day", ylabel="spent", xticks=range(0, 25, 4), xlim=(0, 24))
ax.legend(loc="lower right")
fig.savefig("budget_over_a_day.svg")
