"""Estimate what other strategies would have earned on a log that does not show all outcomes."""

from crossbandit import extras

extras.require("duckdb", "jinja2", "pandas", "scipy", extra="replay", owner="crossbandit.evaluate")

from crossbandit.evaluate.decisions import (
    DecisionArrays,
    MeanEstimate,
    PolicyValue,
    decision_arrays,
    evaluate_policy,
)
from crossbandit.evaluate.dependence import DependenceTest
from crossbandit.evaluate.evaluation import evaluate_log
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.reading import ReadLog, open_censored, read_censored
from crossbandit.evaluate.results import (
    Evaluation,
    KnownOutcomes,
    StrategyEvaluation,
    ValueEstimate,
)
from crossbandit.evaluate.stored import StoredLog

__all__ = [
    "CensoredLog",
    "DecisionArrays",
    "DependenceTest",
    "Evaluation",
    "KnownOutcomes",
    "MeanEstimate",
    "PolicyValue",
    "ReadLog",
    "StoredLog",
    "StrategyEvaluation",
    "ValueEstimate",
    "decision_arrays",
    "evaluate_log",
    "evaluate_policy",
    "open_censored",
    "read_censored",
]
