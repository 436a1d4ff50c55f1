"""Where regret comes from: the terms of the paper's proof, measured on real runs.

Mean of four runs with 9 arms and 50 contexts, after each epoch; the terms add up to the regret.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit import CrossGraph, environments
from crossbandit.verify.theory import decompose

world = environments.paper_benchmark(2_000, alpha=4, contexts=50)
parts = decompose(CrossGraph(), world, seeds=range(4))
names = {
    "ftrl": "learning (FTRL)",
    "bias_1": "exploration",
    "bias_2": "implicit exploration",
    "bias_3": "estimated denominators",
    "bias_4": "moved by these estimates",
    "-bias_5": "pessimism, taken back",
}
fig, ax = plt.subplots(figsize=(7.2, 3.8))
total = np.zeros(parts.rounds.size)
for name, label in names.items():
    curve = parts.curve(name).mean(axis=0)
    ax.plot(parts.rounds, curve, label=label)
    total += curve
ax.plot(parts.rounds, total, color="0.5", linewidth=2.4, label="sum: the regret")
ax.axhline(0, color="0.6", linewidth=0.8)
ax.set(xlabel="round", ylabel="regret after the first epoch")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
fig.savefig("regret_terms.svg")
