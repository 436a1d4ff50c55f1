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

from typing import TYPE_CHECKING

from crossbandit.core import building as _building
from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit import environments, errors, graphs
    from crossbandit.algorithms import (
        Algorithm,
        CrossGraph,
        CrossGraphAdaptive,
        CrossGraphCertified,
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
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.applications import (
        FirstPriceBidder,
        Newsvendor,
        PostedPriceSeller,
        Recommender,
        SleepingArms,
        SpamFilter,
        TenderBidder,
    )
    from crossbandit.environments import Environment
    from crossbandit.environments import simulation as simulation
    from crossbandit.environments.simulation import Run, simulate_many
    from crossbandit.environments.simulation.simulate import simulate
    from crossbandit.errors import CrossbanditError
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.limits import Budget, CostPer, ReturnOnSpend
    from crossbandit.logs import AuctionLog, make_log
    from crossbandit.logs.evaluate import evaluate
    from crossbandit.logs.replay import replay
    from crossbandit.service import client as client
    from crossbandit.verify import checks as checks
    from crossbandit.verify import theory as theory

__version__ = "0.3.0"

compiled = (
    _building.all_compiled()
)  # whether cores run as machine code; their sources give the same results

__all__ = [
    "Algorithm",
    "AuctionLog",
    "Budget",
    "CostPer",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphCertified",
    "CrossGraphKnown",
    "CrossGraphVarying",
    "CrossGraphWeak",
    "CrossbanditError",
    "Decision",
    "Environment",
    "FeedbackGraph",
    "FirstPriceBidder",
    "Learner",
    "Newsvendor",
    "PerContextExp3",
    "PerContextGraph",
    "PostedPriceSeller",
    "Problem",
    "Recommender",
    "ReturnOnSpend",
    "Run",
    "SchneiderZimmert",
    "SleepingArms",
    "SpamFilter",
    "TenderBidder",
    "compiled",
    "environments",
    "errors",
    "evaluate",
    "graphs",
    "load",
    "make_log",
    "replay",
    "simulate",
    "simulate_many",
    "tuning",
]

# So the command line can handle Ctrl-C before anything heavy is loaded, and a worker process can
# watch its parent.
_lazy.load_on_use(
    __name__,
    {
        "crossbandit": "adapters algorithms applications environments errors graphs laws limits "
        "logs service studies verify",
        "crossbandit.algorithms": "Algorithm CrossGraph CrossGraphAdaptive CrossGraphCertified "
        "CrossGraphKnown "
        "CrossGraphVarying CrossGraphWeak Decision Learner PerContextExp3 PerContextGraph "
        "SchneiderZimmert load tuning",
        "crossbandit.algorithms.learners.problem": "Problem",
        "crossbandit.applications": "FirstPriceBidder Newsvendor PostedPriceSeller Recommender "
        "SleepingArms SpamFilter TenderBidder",
        "crossbandit.environments": "Environment simulation",
        "crossbandit.environments.simulation": "Run simulate simulate_many",
        "crossbandit.errors": "CrossbanditError",
        "crossbandit.graphs": "FeedbackGraph",
        "crossbandit.limits": "Budget CostPer ReturnOnSpend",
        "crossbandit.logs": "AuctionLog make_log",
        "crossbandit.logs.evaluate": "evaluate",
        "crossbandit.logs.replay": "replay",
        "crossbandit.service": "client",
        "crossbandit.verify": "checks theory",
    },
)
