"""What other strategies would have earned on logged decisions, with what the log does not show."""

from crossbandit import extras

extras.require("duckdb", "jinja2", "pandas", "scipy", extra="replay", owner="crossbandit.evaluate")

from crossbandit.evaluate.checks import Check
from crossbandit.evaluate.decisions import Logged, Mean, PolicyValue, evaluate_policy, logged
from crossbandit.evaluate.estimates import Estimate, Known
from crossbandit.evaluate.evaluation import evaluate_log
from crossbandit.evaluate.log import CensoredLog
from crossbandit.evaluate.reading import ReadLog, open_censored, read_censored
from crossbandit.evaluate.results import Evaluation, StrategyEvaluation
from crossbandit.evaluate.stored import StoredLog

__all__ = [
    "CensoredLog",
    "Check",
    "Estimate",
    "Evaluation",
    "Known",
    "Logged",
    "Mean",
    "PolicyValue",
    "ReadLog",
    "StoredLog",
    "StrategyEvaluation",
    "evaluate_log",
    "evaluate_policy",
    "logged",
    "open_censored",
    "read_censored",
]
