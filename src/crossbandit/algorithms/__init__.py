"""The algorithms, one file for each: its parameters, its rule and its bound; and shared code."""

from crossbandit.algorithms import tuning
from crossbandit.algorithms.best_of_both_worlds import BestOfBothWorlds
from crossbandit.algorithms.cross_graph import CrossGraph
from crossbandit.algorithms.cross_graph_adaptive import CrossGraphAdaptive
from crossbandit.algorithms.cross_graph_known import CrossGraphKnown
from crossbandit.algorithms.cross_graph_varying import CrossGraphVarying
from crossbandit.algorithms.cross_graph_weak import CrossGraphWeak
from crossbandit.algorithms.elp import Elp
from crossbandit.algorithms.exp3_edges import Exp3Edges
from crossbandit.algorithms.exp3_g import Exp3G
from crossbandit.algorithms.exp3_high_probability import Exp3HighProbability
from crossbandit.algorithms.exp3_ix import Exp3IX
from crossbandit.algorithms.exp3_set import Exp3Set
from crossbandit.algorithms.lin_ucb import LinUcb
from crossbandit.algorithms.per_context import PerContextExp3, PerContextGraph
from crossbandit.algorithms.schneider_zimmert import SchneiderZimmert
from crossbandit.algorithms.successive_elimination import SuccessiveElimination
from crossbandit.algorithms.ts_n import TsN
from crossbandit.algorithms.ucb_n import UcbN
from crossbandit.learners.algorithm import Algorithm, from_json, register, registered
from crossbandit.learners.checkpoints import load
from crossbandit.learners.compiled_learner import CompiledLearner, estimate_state
from crossbandit.learners.decisions import Decision, PendingDecision
from crossbandit.learners.estimator import Estimator
from crossbandit.learners.learner import Learner
from crossbandit.learners.snapshots import Snapshot

__all__ = [
    "Algorithm",
    "BestOfBothWorlds",
    "CompiledLearner",
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
    "estimate_state",
    "from_json",
    "load",
    "register",
    "registered",
    "tuning",
]
