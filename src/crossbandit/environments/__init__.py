"""One file per environment: the losses of every round, and the law of the contexts."""

from crossbandit.environments.benchmark import PaperBenchmark, paper_benchmark
from crossbandit.environments.contexts import (
    ContextLaw,
    FiniteContexts,
    UniformVectors,
    zipf,
)
from crossbandit.environments.environment import BlockEnvironment, Environment
from crossbandit.environments.linear import LinearTable, from_coefficients
from crossbandit.environments.registry import register, register_law, registered
from crossbandit.environments.switching import Switching, switching
from crossbandit.environments.table import LossTable, from_table

__all__ = [
    "BlockEnvironment",
    "ContextLaw",
    "Environment",
    "FiniteContexts",
    "LinearTable",
    "LossTable",
    "PaperBenchmark",
    "Switching",
    "UniformVectors",
    "from_coefficients",
    "from_table",
    "paper_benchmark",
    "register",
    "register_law",
    "registered",
    "switching",
    "zipf",
]
