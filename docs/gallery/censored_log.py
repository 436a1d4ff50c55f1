"""What other bids would have earned, on a log that tells prices only after a loss.

For each fraction of the value: what can be known for sure, an estimate, and the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit.logs.evaluate import CensoredLog, evaluate

rng, count = np.random.default_rng(0), 4_000
values = rng.uniform(1, 10, count)
prices = rng.gamma(3, 1, count)
bids = values * rng.uniform(0.3, 0.8, count)  # what was bid
won = bids >= prices
log = CensoredLog(values, bids, won, np.where(won, np.nan, prices))

fractions = np.arange(0.2, 0.96, 0.05).round(2)
found = evaluate(log, fractions=fractions.tolist())
results = [found[f"{100 * fraction:g} % of value"] for fraction in fractions]
truth = [((values - f * values) * (f * values >= prices)).sum() / count for f in fractions]

fig, ax = plt.subplots()
lower, upper = np.array([(one.known.lower, one.known.upper) for one in results]).T / count
ax.fill_between(fractions, lower, upper, alpha=0.18, linewidth=0, label="bounds")
value, low, high = (
    np.array([(b.value, b.low, b.high) for b in (one.best for one in results)]).T / count
)
ax.errorbar(fractions, value, (value - low, high - value), fmt="o", label="estimate, 95 % interval")
ax.plot(fractions, truth, color="0.5", linewidth=1.2, label="truth")
ax.set(xlabel="bid as a fraction of the value", ylabel="surplus per auction", ylim=(0, None))
ax.legend(loc="lower center")
fig.savefig("censored_log.svg")
