"""The algorithms: parameters, rules and bounds, a file for each or for each family; their cores."""

from typing import TYPE_CHECKING

from crossbandit import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.algorithms import tuning
    from crossbandit.algorithms.cross_graph import (
        CrossGraph,
        CrossGraphKnown,
        CrossGraphVarying,
        CrossGraphWeak,
        SchneiderZimmert,
    )
    from crossbandit.algorithms.cross_graph_adaptive import CrossGraphAdaptive
    from crossbandit.algorithms.exp3 import (
        BestOfBothWorlds,
        Elp,
        Exp3Edges,
        Exp3G,
        Exp3HighProbability,
        Exp3IX,
        Exp3Set,
        PerContextExp3,
        PerContextGraph,
    )
    from crossbandit.algorithms.stochastic import LinUcb, SuccessiveElimination, TsN, UcbN
    from crossbandit.learners.algorithm import Algorithm, from_json, register, registered
    from crossbandit.learners.decisions import Decision, PendingDecision
    from crossbandit.learners.estimator import Estimator
    from crossbandit.learners.files import load
    from crossbandit.learners.learner import Learner
    from crossbandit.learners.snapshots import Snapshot

__all__ = [
    "Algorithm",
    "BestOfBothWorlds",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphKnown",
    "CrossGraphVarying",
    "CrossGraphWeak",
    "Decision",
    "Elp",
    "Estimator",
    "Exp3Edges",
    "Exp3G",
    "Exp3HighProbability",
    "Exp3IX",
    "Exp3Set",
    "Learner",
    "LinUcb",
    "PendingDecision",
    "PerContextExp3",
    "PerContextGraph",
    "SchneiderZimmert",
    "Snapshot",
    "SuccessiveElimination",
    "TsN",
    "UcbN",
    "from_json",
    "load",
    "register",
    "registered",
    "tuning",
]

_lazy.load_on_use(
    __name__,
    {
        "crossbandit.algorithms": "tuning",
        "crossbandit.algorithms.cross_graph": "CrossGraph CrossGraphKnown CrossGraphVarying "
        "CrossGraphWeak SchneiderZimmert",
        "crossbandit.algorithms.cross_graph_adaptive": "CrossGraphAdaptive",
        "crossbandit.algorithms.exp3": "BestOfBothWorlds Elp Exp3Edges Exp3G Exp3HighProbability "
        "Exp3IX Exp3Set PerContextExp3 PerContextGraph",
        "crossbandit.algorithms.stochastic": "LinUcb SuccessiveElimination TsN UcbN",
        "crossbandit.learners.algorithm": "Algorithm from_json register registered",
        "crossbandit.learners.files": "load",
        "crossbandit.learners.decisions": "Decision PendingDecision",
        "crossbandit.learners.estimator": "Estimator",
        "crossbandit.learners.learner": "Learner",
        "crossbandit.learners.snapshots": "Snapshot",
    },
)
