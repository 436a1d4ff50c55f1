"""Where only one arm reveals the others, regret grows like T to the power 2/3.

The graph decides the rate: on a strongly observable graph it is the square root of T.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from crossbandit import CrossGraph, CrossGraphWeak, environments, graphs, simulate_many

horizons = np.array([1_000, 3_000, 10_000, 30_000, 100_000])
cases = (
    ("one arm reveals the others", CrossGraphWeak(), graphs.revealing_action(5), "2/3", "s"),
    ("each arm reveals itself", CrossGraph(), graphs.singletons(5), "1/2", "o"),
)
fig, ax = plt.subplots()
for name, algorithm, graph, exponent, mark in cases:
    power, final = float(Fraction(exponent)), []
    for horizon in horizons.tolist():
        gap = horizon ** (power - 1)  # the hardest gap at this horizon
        world = environments.stochastic(graph, horizon, contexts=10, gap=gap, best=2)
        runs = simulate_many(algorithm, world, seeds=range(8))
        final.append(np.mean([run.pseudo_regret[-1] for run in runs]))
    ax.loglog(horizons, final, marker=mark, label=name)
    slope = final[0] * (horizons / horizons[0]) ** power
    ax.loglog(horizons, slope, color="0.6", linewidth=1, linestyle="--", zorder=1)
    ax.annotate(
        f"$T^{{{exponent}}}$", (horizons[-1], slope[-1]), (6, 0), textcoords="offset points"
    )
ax.set(xlabel="horizon T", ylabel="regret")
ax.legend(loc="upper left")
fig.savefig("weakly_observable.svg")
