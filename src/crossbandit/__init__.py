"""Bandits in which one play teaches more than its own payoff.

Playing an arm reveals the losses of its neighbours in a feedback graph, in every context.

>>> import crossbandit as cb
>>> environment = cb.environments.paper_benchmark(horizon=2_000, alpha=4)
>>> run = cb.simulate(cb.CrossGraph(), environment, seed=200)
>>> run.final_regret < 300
True

What an embedded learner does not need is loaded when it is first named: `crossbandit.applications`,
`checks`, `gym`, `replay`, `report`, `studies` and `theory`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from crossbandit import environments, errors, graphs
from crossbandit.algorithms import (
    Algorithm,
    CrossGraph,
    CrossGraphAdaptive,
    CrossGraphKnown,
    Decision,
    Learner,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
    load,
    tuning,
)
from crossbandit.environments import Environment
from crossbandit.errors import CrossbanditError
from crossbandit.graphs import FeedbackGraph
from crossbandit.problem import Problem
from crossbandit.simulation import Run, simulate, simulate_many

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphKnown",
    "CrossbanditError",
    "Decision",
    "Environment",
    "FeedbackGraph",
    "Learner",
    "PerContextExp3",
    "PerContextGraph",
    "Problem",
    "Run",
    "SchneiderZimmert",
    "environments",
    "errors",
    "graphs",
    "load",
    "simulate",
    "simulate_many",
    "tuning",
]

_ON_DEMAND = ("applications", "checks", "gym", "replay", "report", "studies", "theory")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a room that an embedded learner does not need, when it is first named."""
        if name in _ON_DEMAND:
            return import_module(f"crossbandit.{name}")
        raise AttributeError(f"module 'crossbandit' has no attribute {name!r}")
