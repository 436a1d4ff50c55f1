"""Regret that does not grow with the number of contexts.

A hundred or ten thousand contexts cost the same, if each loss counts in all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossbandit import CrossGraph, PerContextGraph, environments, simulate_many

contexts = [1, 10, 100, 1_000, 10_000]
fig, ax = plt.subplots()
for algorithm, name, mark in (
    (PerContextGraph(), "a learner per context", "s"),
    (CrossGraph(), "cross-learning (CrossGraph)", "o"),
):
    final = []
    for count in contexts:
        world = environments.paper_benchmark(5_000, alpha=2, contexts=count)
        runs = simulate_many(algorithm, world, seeds=range(4), record="thin")
        final.append([run.final_regret for run in runs])
    mean, low, high = np.mean(final, 1), np.min(final, 1), np.max(final, 1)
    ax.errorbar(contexts, mean, (mean - low, high - mean), marker=mark, capsize=3, label=name)
ax.set(xscale="log", xlabel="number of contexts", ylabel="regret after 5,000 rounds")
ax.set_ylim(0, None)
ax.legend(loc="upper left")
fig.savefig("many_contexts.svg")
