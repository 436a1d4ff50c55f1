"""Environments, one per file: the losses of every round, and the distribution of the contexts."""

from crossbandit.environments.adaptive import AdaptiveEnvironment, congestion
from crossbandit.environments.auctions import first_price
from crossbandit.environments.benchmark import paper_benchmark, zipf_benchmark
from crossbandit.environments.budget import first_price_budget
from crossbandit.environments.changing import (
    ChangingGraph,
    context_graphs,
    cycling_graphs,
    random_edges,
    random_graphs,
)
from crossbandit.environments.checking import graph_block
from crossbandit.environments.contexts import (
    ContextDistribution,
    FiniteContexts,
    UniformVectors,
    zipf,
)
from crossbandit.environments.environment import BlockEnvironment, Environment, row_block
from crossbandit.environments.newsvendor import newsvendor
from crossbandit.environments.posted_price import posted_price
from crossbandit.environments.recommendation import recommendation
from crossbandit.environments.registry import register, register_distribution, registered
from crossbandit.environments.sleeping import sleeping
from crossbandit.environments.spam import spam
from crossbandit.environments.stochastic import misleading, stochastic
from crossbandit.environments.switching import switching
from crossbandit.environments.table import from_coefficients, from_table
from crossbandit.kernels.ranges import GraphBlock
from crossbandit.kernels.rounds import LossBlock

__all__ = [
    "AdaptiveEnvironment",
    "BlockEnvironment",
    "ChangingGraph",
    "ContextDistribution",
    "Environment",
    "FiniteContexts",
    "GraphBlock",
    "LossBlock",
    "UniformVectors",
    "congestion",
    "context_graphs",
    "cycling_graphs",
    "first_price",
    "first_price_budget",
    "from_coefficients",
    "from_table",
    "graph_block",
    "misleading",
    "newsvendor",
    "paper_benchmark",
    "posted_price",
    "random_edges",
    "random_graphs",
    "recommendation",
    "register",
    "register_distribution",
    "registered",
    "row_block",
    "sleeping",
    "spam",
    "stochastic",
    "switching",
    "zipf",
    "zipf_benchmark",
]
