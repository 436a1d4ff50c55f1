"""Bandits in which one play teaches more than its own payoff.

Playing an arm reveals the losses of its neighbours in a feedback graph, in every context.

>>> import crossbandit as cb
>>> environment = cb.environments.paper_benchmark(horizon=2_000, alpha=4)
>>> run = cb.simulate(cb.CrossGraph(), environment, seed=200)
>>> run.final_regret < 300
True

Every name is loaded when it is first used, and so are the packages: `cb.applications` and
`cb.limits` need no import of their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossbandit import environments, errors, graphs
    from crossbandit.algorithms import (
        Algorithm,
        CrossGraph,
        CrossGraphAdaptive,
        CrossGraphKnown,
        CrossGraphVarying,
        CrossGraphWeak,
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
    from crossbandit.simulation import Run, simulate_many
    from crossbandit.simulation.simulate import simulate

__version__ = "0.2.0"

__all__ = [
    "Algorithm",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphKnown",
    "CrossGraphVarying",
    "CrossGraphWeak",
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

_PACKAGES = (
    "adapters",
    "algorithms",
    "applications",
    "checks",
    "client",
    "environments",
    "errors",
    "evaluate",
    "graphs",
    "gym",
    "kernels",
    "laws",
    "limits",
    "logs",
    "losses",
    "replay",
    "report",
    "service",
    "simulation",
    "studies",
    "theory",
)
# The modules that have the other names.
_HOMES = {
    "Environment": "environments",
    "CrossbanditError": "errors",
    "FeedbackGraph": "graphs",
    "Problem": "problem",
    "Run": "simulation",
    "simulate": "simulation",
    "simulate_many": "simulation",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a name when it is first used.

        So the command line can handle Ctrl-C before anything heavy is loaded, and a worker process
        can watch its parent.
        """
        if name in _PACKAGES:
            return import_module(f"crossbandit.{name}")
        if name not in __all__:
            raise AttributeError(f"module 'crossbandit' has no attribute {name!r}")
        home = import_module(f"crossbandit.{_HOMES.get(name, 'algorithms')}")
        globals()[name] = value = getattr(home, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_PACKAGES})
