"""No horizon, no tuning: the adaptive learner against one that must be told the horizon.

A learner tuned for 100,000 rounds is behind in all rounds before. The adaptive one never is.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit import CrossGraph, CrossGraphAdaptive, environments, graphs, simulate_many


def mean_regret(algorithm, horizon):
    world = environments.stochastic(graphs.ring(9, 2), horizon, contexts=100, gap=0.2)
    runs = simulate_many(algorithm, world, seeds=range(4))
    return np.mean([run.pseudo_regret for run in runs], axis=0)


longest = 100_000
rounds = np.geomspace(100, longest, 60).astype(int)
fig, ax = plt.subplots()
for name, algorithm in (
    ("CrossGraphAdaptive, told nothing", CrossGraphAdaptive()),
    ("CrossGraph, told 100,000 rounds", CrossGraph()),
):
    ax.loglog(rounds, mean_regret(algorithm, longest)[rounds - 1], label=name)
horizons = [300, 1_000, 3_000, 10_000, 30_000, longest]
ends = [mean_regret(CrossGraph(), horizon)[-1] for horizon in horizons]
ax.loglog(horizons, ends, "D", color="0.5", label="CrossGraph, told this horizon")
ax.set(xlabel="round", ylabel="pseudo-regret")
ax.legend(loc="upper left")
fig.savefig("unknown_horizon.svg")
