"""Feedback graphs: what playing an arm reveals, and the graphs that have a name."""

from crossbandit.graphs.builders import (
    apple_tasting,
    complete,
    loopless_clique,
    paper_ring,
    random_strongly_observable,
    ring,
    similarity,
    singletons,
    threshold,
)
from crossbandit.graphs.graph import FeedbackGraph
from crossbandit.graphs.registry import register, registered

__all__ = [
    "FeedbackGraph",
    "apple_tasting",
    "complete",
    "loopless_clique",
    "paper_ring",
    "random_strongly_observable",
    "register",
    "registered",
    "ring",
    "similarity",
    "singletons",
    "threshold",
]
