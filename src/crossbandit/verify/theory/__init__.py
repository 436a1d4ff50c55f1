"""Checks of the implementation against the paper: exact distributions, runs, rates.

>>> from crossbandit.verify import theory
>>> [result.passed for result in theory.verify(only="compiled", effort=theory.Effort.QUICK)]
[True, True]
"""

from crossbandit.core import extras

extras.require(
    "jinja2", "joblib", "pandas", "scipy", extra="studies", owner="crossbandit.verify.theory"
)

from crossbandit.verify.theory.decomposition import Decomposition, decompose
from crossbandit.verify.theory.statements import CheckProgress, CheckResult, Effort
from crossbandit.verify.theory.verify import verify

__all__ = ["CheckProgress", "CheckResult", "Decomposition", "Effort", "decompose", "verify"]
