"""Feedback graphs: what playing an arm reveals, and the graphs that have a name."""

from crossbandit.graphs.builders import (
    apple_tasting,
    complete,
    loopless_clique,
    loopless_ring,
    loopy_star,
    paper_ring,
    random_graph,
    random_strongly_observable,
    random_weakly_observable,
    register,
    registered,
    revealing_action,
    ring,
    similarity,
    singletons,
    threshold,
)
from crossbandit.graphs.graph import FeedbackGraph

__all__ = [
    "FeedbackGraph",
    "apple_tasting",
    "complete",
    "loopless_clique",
    "loopless_ring",
    "loopy_star",
    "paper_ring",
    "random_graph",
    "random_strongly_observable",
    "random_weakly_observable",
    "register",
    "registered",
    "revealing_action",
    "ring",
    "similarity",
    "singletons",
    "threshold",
]
