"""Checks of the implementation against the paper: exact distributions, runs, rates.

>>> from crossbandit import theory
>>> [result.passed for result in theory.verify(only="Lemma 13, proof")]
[True]
"""

from crossbandit import extras

extras.require("jinja2", "joblib", "pandas", "scipy", extra="studies", owner="crossbandit.theory")

from crossbandit.theory.decomposition import DeclaredDecomposition, Decomposition, decompose
from crossbandit.theory.statements import (
    CheckProgress,
    CheckResult,
    Effort,
    Figure,
    Series,
    Shape,
)
from crossbandit.theory.verify import verify

__all__ = [
    "CheckProgress",
    "CheckResult",
    "DeclaredDecomposition",
    "Decomposition",
    "Effort",
    "Figure",
    "Series",
    "Shape",
    "decompose",
    "verify",
]
