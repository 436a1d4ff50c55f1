"""Estimate what other strategies would have earned on a log that does not show all outcomes."""

from crossbandit.logs.evaluate.decisions import (
    DecisionArrays,
    MeanEstimate,
    PolicyValue,
    decision_arrays,
    evaluate_policy,
)
from crossbandit.logs.evaluate.evaluation import (
    Evaluation,
    KnownOutcomes,
    StrategyEvaluation,
    ValueEstimate,
    evaluate,
)
from crossbandit.logs.evaluate.groups import DependenceTest
from crossbandit.logs.evaluate.log import (
    CensoredLog,
    ReadLog,
    StoredLog,
    open_censored,
    read_censored,
)

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
    "evaluate",
    "evaluate_policy",
    "open_censored",
    "read_censored",
]
