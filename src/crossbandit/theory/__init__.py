"""Checks of the paper's analysis: exact distributions, lemmas, events, the decomposition, rates.

>>> from crossbandit import theory
>>> [result.passed for result in theory.verify(only="Lemma 5")]
[True]
"""

from crossbandit import extras

extras.require("jinja2", "joblib", "pandas", "scipy", extra="studies", owner="crossbandit.theory")

from crossbandit.theory.runs.declared import DeclaredDecomposition
from crossbandit.theory.runs.decomposition import Decomposition, decompose
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
