"""The paper's analysis, executed: exact laws, lemmas, good events, the decomposition, the rate.

>>> from crossbandit import theory
>>> [outcome.passed for outcome in theory.verify(only="Lemma 5")]
[True]
"""

from crossbandit.theory.runs.decomposition import Decomposition, decompose
from crossbandit.theory.statements import Effort, Figure, Outcome, Series, Shape
from crossbandit.theory.verify import Progress, verify

__all__ = [
    "Decomposition",
    "Effort",
    "Figure",
    "Outcome",
    "Progress",
    "Series",
    "Shape",
    "decompose",
    "verify",
]
