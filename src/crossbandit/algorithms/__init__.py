"""One file per algorithm: its parameters, its rule, its bound."""

from crossbandit.algorithms import tuning
from crossbandit.algorithms.algorithm import Algorithm, from_json, register, registered
from crossbandit.algorithms.checkpoints import load
from crossbandit.algorithms.cross_graph import CrossGraph
from crossbandit.algorithms.cross_graph_adaptive import CrossGraphAdaptive
from crossbandit.algorithms.cross_graph_known import CrossGraphKnown
from crossbandit.algorithms.decisions import Decision, PendingDecision
from crossbandit.algorithms.learner import Learner
from crossbandit.algorithms.per_context_exp3 import PerContextExp3
from crossbandit.algorithms.per_context_graph import PerContextGraph
from crossbandit.algorithms.schneider_zimmert import SchneiderZimmert
from crossbandit.algorithms.snapshots import Snapshot

__all__ = [
    "Algorithm",
    "CrossGraph",
    "CrossGraphAdaptive",
    "CrossGraphKnown",
    "Decision",
    "Learner",
    "PendingDecision",
    "PerContextExp3",
    "PerContextGraph",
    "SchneiderZimmert",
    "Snapshot",
    "from_json",
    "load",
    "register",
    "registered",
    "tuning",
]
