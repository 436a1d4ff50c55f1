"""What a feedback graph and cross-learning are worth.

Regret on the paper's benchmark, with 9 arms and 1,000 contexts; means and ranges of eight seeds.
"""

import matplotlib.pyplot as plt
import numpy as np

import crossbandit as cb

world = cb.environments.paper_benchmark(10_000, alpha=2)
algorithms = {
    "neither": cb.PerContextExp3(),
    "graph": cb.PerContextGraph(),
    "cross-learning": cb.SchneiderZimmert(),
    "both (CrossGraph)": cb.CrossGraph(),
}
fig, ax = plt.subplots()
for name, algorithm in algorithms.items():
    runs = cb.simulate_many(algorithm, world, seeds=range(8), record="thin")
    regret = np.array([run.regret[9::10] for run in runs])
    rounds = runs[0].rounds[9::10]
    (line,) = ax.plot(rounds, regret.mean(axis=0))
    ax.fill_between(rounds, regret.min(axis=0), regret.max(axis=0), alpha=0.2, linewidth=0)
    end = (rounds[-1], regret[:, -1].mean())
    look = {"color": line.get_color(), "va": "center"}
    ax.annotate(name, end, (4, 0), textcoords="offset points", **look)
ax.set(xlabel="round", ylabel="regret", xlim=(0, 10_000), ylim=(0, None))
fig.savefig("feedback_graph.svg")
