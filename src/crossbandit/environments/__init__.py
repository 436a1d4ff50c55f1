"""One file per environment: the losses of every round, and the law of the contexts."""

from crossbandit.environments.auctions import FirstPrice, first_price
from crossbandit.environments.benchmark import PaperBenchmark, paper_benchmark, zipf_benchmark
from crossbandit.environments.contexts import (
    ContextLaw,
    FiniteContexts,
    UniformVectors,
    zipf,
)
from crossbandit.environments.environment import BlockEnvironment, Environment
from crossbandit.environments.linear import LinearTable, from_coefficients
from crossbandit.environments.newsvendor import Newsvendor, newsvendor
from crossbandit.environments.posted_price import PostedPrice, posted_price
from crossbandit.environments.recommendation import Recommendation, recommendation
from crossbandit.environments.registry import register, register_law, registered
from crossbandit.environments.sleeping import Sleeping, sleeping
from crossbandit.environments.spam import Spam, spam
from crossbandit.environments.stochastic import Stochastic, stochastic
from crossbandit.environments.switching import Switching, switching
from crossbandit.environments.table import LossTable, from_table

__all__ = [
    "BlockEnvironment",
    "ContextLaw",
    "Environment",
    "FiniteContexts",
    "FirstPrice",
    "LinearTable",
    "LossTable",
    "Newsvendor",
    "PaperBenchmark",
    "PostedPrice",
    "Recommendation",
    "Sleeping",
    "Spam",
    "Stochastic",
    "Switching",
    "UniformVectors",
    "first_price",
    "from_coefficients",
    "from_table",
    "newsvendor",
    "paper_benchmark",
    "posted_price",
    "recommendation",
    "register",
    "register_law",
    "registered",
    "sleeping",
    "spam",
    "stochastic",
    "switching",
    "zipf",
    "zipf_benchmark",
]
