"""The algorithms: parameters, rules and bounds, a file for each or for each family; their cores."""

from typing import TYPE_CHECKING

from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.algorithms import tuning
    from crossbandit.algorithms.cross_graph import (
        CrossGraph,
        CrossGraphKnown,
        CrossGraphVarying,
        CrossGraphWeak,
        Exp3Cl,
        SchneiderZimmert,
    )
    from crossbandit.algorithms.cross_graph_adaptive import CrossGraphAdaptive
    from crossbandit.algorithms.cross_graph_certified import CrossGraphCertified
    from crossbandit.algorithms.exp3 import (
        BestOfBothWorlds,
        Elp,
        Exp3ClU,
        Exp3Edges,
        Exp3G,
        Exp3HighProbability,
        Exp3IX,
        Exp3Set,
        PerContextExp3,
        PerContextGraph,
        QFtrl,
        TsallisInf,
    )
    from crossbandit.algorithms.learners.algorithm import Algorithm, from_json, register, registered
    from crossbandit.algorithms.learners.decisions import Decision, PendingDecision
    from crossbandit.algorithms.learners.estimator import Estimator
    from crossbandit.algorithms.learners.files import load
    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.algorithms.learners.snapshots import Snapshot
    from crossbandit.algorithms.stochastic import LinUcb, SuccessiveElimination, TsN, UcbN

__all__ = [
    "Algorithm",
    "BestOfBothWorlds",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphCertified",
    "CrossGraphKnown",
    "CrossGraphVarying",
    "CrossGraphWeak",
    "Decision",
    "Elp",
    "Estimator",
    "Exp3Cl",
    "Exp3ClU",
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
    "QFtrl",
    "SchneiderZimmert",
    "Snapshot",
    "SuccessiveElimination",
    "TsN",
    "TsallisInf",
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
        "CrossGraphWeak Exp3Cl SchneiderZimmert",
        "crossbandit.algorithms.cross_graph_adaptive": "CrossGraphAdaptive",
        "crossbandit.algorithms.cross_graph_certified": "CrossGraphCertified",
        "crossbandit.algorithms.exp3": "BestOfBothWorlds Elp Exp3ClU Exp3Edges Exp3G "
        "Exp3HighProbability Exp3IX Exp3Set PerContextExp3 PerContextGraph QFtrl TsallisInf",
        "crossbandit.algorithms.stochastic": "LinUcb SuccessiveElimination TsN UcbN",
        "crossbandit.algorithms.learners.algorithm": "Algorithm from_json register registered",
        "crossbandit.algorithms.learners.files": "load",
        "crossbandit.algorithms.learners.decisions": "Decision PendingDecision",
        "crossbandit.algorithms.learners.estimator": "Estimator",
        "crossbandit.algorithms.learners.learner": "Learner",
        "crossbandit.algorithms.learners.snapshots": "Snapshot",
    },
)
