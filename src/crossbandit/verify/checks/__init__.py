"""Checks for your own algorithms and environments: those that the shipped ones must pass.

    from crossbandit.verify.checks import check_algorithm, check_environment, check_estimator
    check_algorithm(MyAlgorithm())
    check_estimator(MyAlgorithm())
    check_environment(MyEnvironment())

Each raises `CheckFailedError` with what was found and the likely mistake.
"""

from crossbandit.verify.checks.enumeration import check_estimator
from crossbandit.verify.checks.rules import check_algorithm, check_environment

__all__ = ["check_algorithm", "check_environment", "check_estimator"]
