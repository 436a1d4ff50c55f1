"""Checks for your own algorithms and environments: those that the shipped ones must pass.

    from crossbandit.checks import check_algorithm, check_environment, check_estimator
    check_algorithm(MyAlgorithm())
    check_estimator(MyAlgorithm())
    check_environment(MyEnvironment())

Each raises `CheckFailedError` with what was found and the likely mistake.
"""

from crossbandit.checks.enumeration import check_estimator
from crossbandit.checks.rules import check_algorithm, check_environment

__all__ = ["check_algorithm", "check_environment", "check_estimator"]
