"""Nature: the losses of every round, and the distribution of the contexts; simulation."""

from typing import TYPE_CHECKING

from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.core.blocks import GraphBlock, LossBlock
    from crossbandit.environments.applied import (
        first_price,
        first_price_budget,
        newsvendor,
        posted_price,
        recommendation,
        sleeping,
        spam,
    )
    from crossbandit.environments.environment import (
        AdaptiveEnvironment,
        BlockEnvironment,
        ContextDistribution,
        Environment,
        FiniteContexts,
        UniformVectors,
        congestion,
        graph_block,
        register,
        register_distribution,
        registered,
        row_block,
        zipf,
    )
    from crossbandit.environments.synthetic import (
        ChangingGraph,
        context_graphs,
        cycling_graphs,
        from_coefficients,
        from_table,
        lower_bound,
        misleading,
        paper_benchmark,
        random_edges,
        random_graphs,
        stochastic,
        switching,
        zipf_benchmark,
    )

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
    "lower_bound",
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

_lazy.load_on_use(
    __name__,
    {
        "crossbandit.core.blocks": "GraphBlock LossBlock",
        "crossbandit.environments": "simulation",
        "crossbandit.environments.applied": "first_price first_price_budget newsvendor "
        "posted_price recommendation sleeping spam",
        "crossbandit.environments.environment": "AdaptiveEnvironment BlockEnvironment "
        "ContextDistribution Environment FiniteContexts UniformVectors congestion graph_block "
        "register register_distribution registered row_block zipf",
        "crossbandit.environments.synthetic": "ChangingGraph context_graphs cycling_graphs "
        "from_coefficients from_table lower_bound misleading paper_benchmark random_edges "
        "random_graphs stochastic switching zipf_benchmark",
    },
)
