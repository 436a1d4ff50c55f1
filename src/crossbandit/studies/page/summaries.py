"""Summaries of runs over their seeds: the mean, its interval, the curve over time, the labels.

An algorithm or an environment has its name in the study file: its label, or else its id. If two
have the same name, the parameters in which they differ follow in parentheses.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidInputError
from crossbandit.report.statistics import half_width, half_widths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from crossbandit.types import Floats

MethodKey = tuple[str, tuple[tuple[str, str], ...]]

PAPER_ERRORS = 1.96  # standard errors in the paper's half-widths, for any number of seeds
_ENVIRONMENT, _ALGORITHM = "environment.", "algorithm."
_NEEDED = (
    "part",
    "environment",
    "environment_name",
    "algorithm",
    "algorithm_name",
    "seed",
    "horizon",
    "final_regret",
    "curve_rounds",
    "curve_regret",
)


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean regret after the recorded rounds.

    Attributes:
        rounds: The numbers of rounds.
        mean: The mean regret after each of them.
        half_widths: The half-widths of its intervals by Student's t; NaN for a single seed.
    """

    rounds: Floats
    mean: Floats
    half_widths: Floats


@dataclass(frozen=True, eq=False)
class Summary:
    """The runs of one algorithm in one environment, one per seed.

    Attributes:
        part: The part of the study.
        environment: The name of the environment.
        setting: The parameters of the environment, with the horizon.
        algorithm: The name of the algorithm: its label in the study file, or else its id.
        parameters: The parameters of the algorithm, as the study file gives them.
        tuned: The parameters with which it ran, if the results have them.
        seeds: The seeds, in increasing order.
        finals: The final regrets, in the same order.
        curve: The regret over time.
        as_paper: Whether the half-width is compared with the paper's. It is then 1.96 standard
            errors, as the paper has it; otherwise it is by Student's t.
    """

    part: str
    environment: str
    setting: Mapping[str, Any]
    algorithm: str
    parameters: Mapping[str, Any]
    tuned: Mapping[str, Any]
    seeds: tuple[int, ...]
    finals: Floats
    curve: Curve
    as_paper: bool = False

    @cached_property
    def regret(self) -> float:
        """The mean final regret."""
        return float(self.finals.mean())

    @cached_property
    def half_width(self) -> float:
        """The half-width of its 95 % confidence interval; NaN for a single seed."""
        if not self.as_paper or len(self.finals) < 2:
            return half_width(self.finals)
        return float(PAPER_ERRORS * np.std(self.finals, ddof=1) / math.sqrt(len(self.finals)))


def summarize(frame: pd.DataFrame) -> list[Summary]:
    """Summarise runs by part, environment, algorithm and horizon, in the order of the first runs.

    Args:
        frame: One row per run, as `crossbandit.studies.load` returns them.

    Returns:
        The summaries.

    Raises:
        InvalidInputError: The frame is empty, or a column is missing.
    """
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise InvalidInputError(
            f"A report needs one row per run with the columns {', '.join(_NEEDED)}. "
            f"Missing: {', '.join(missing)}."
        )
    if frame.empty:
        raise InvalidInputError(
            "There is nothing to report. The study has no finished cells yet. Run it first."
        )
    keys = ["part", "environment", "algorithm", "horizon"]
    return [_summary(runs) for _, runs in frame.groupby(keys, sort=False, dropna=False)]


def _summary(runs: pd.DataFrame) -> Summary:
    runs = runs.sort_values("seed")
    first = runs.iloc[0]
    return Summary(
        part=str(first["part"]),
        environment=str(first["environment_name"]),
        setting={
            **_parameters(first, _ENVIRONMENT),
            "horizon": int(first["horizon"]),
        },
        algorithm=str(first["algorithm_name"]),
        parameters=_parameters(first, _ALGORITHM),
        tuned=_tuned(first.get("parameters")),
        seeds=tuple(int(seed) for seed in runs["seed"]),
        finals=np.asarray(runs["final_regret"], dtype=np.float64),
        curve=_curve(runs),
    )


def _parameters(run: pd.Series[Any], prefix: str) -> dict[str, Any]:
    """Return the parameters of this run; columns of other environments are empty here."""
    columns = [str(name) for name in run.index if str(name).startswith(prefix)]
    values = {name.removeprefix(prefix): _plain(run[name]) for name in columns}
    return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return a value as the study file has it: a column may have made an int a float."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return value


def _curve(runs: pd.DataFrame) -> Curve:
    curves = np.array([np.asarray(curve, dtype=np.float64) for curve in runs["curve_regret"]])
    rounds = np.asarray(runs["curve_rounds"].iloc[0], dtype=np.float64)
    return Curve(rounds, curves.mean(axis=0), half_widths(curves))


def _tuned(column: object) -> dict[str, Any]:
    """Return the parameters that the algorithm ran with; empty for results that have none."""
    found = json.loads(column) if isinstance(column, str) else column
    return dict(found) if isinstance(found, dict) else {}


def method_key(summary: Summary) -> MethodKey:
    """Return what tells two methods apart: the name and the parameters of the algorithm."""
    parameters = ((name, str(value)) for name, value in summary.parameters.items())
    return summary.algorithm, tuple(sorted(parameters))


def method_labels(summaries: Iterable[Summary]) -> dict[MethodKey, str]:
    """Return a label for every method."""
    first = {method_key(summary): summary for summary in summaries}
    labels = {}
    for key, summary in first.items():
        alike = [other for other in first.values() if other.algorithm == summary.algorithm]
        differing = varying([other.parameters for other in alike])
        labels[key] = with_parameters(summary.algorithm, summary.parameters, differing)
    return labels


def setting_labels(summaries: Sequence[Summary]) -> list[str]:
    """Return a label for the environment of each summary."""
    labels = []
    for summary in summaries:
        alike = [s.setting for s in summaries if s.environment == summary.environment]
        differing = [name for name in varying(alike) if name != "name"]
        labels.append(with_parameters(summary.environment, summary.setting, differing))
    return labels


def with_parameters(name: str, values: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Return a name with some parameters; those without a value are left out.

    >>> with_parameters("cross-graph", {"eta": 0.1, "horizon": 2000}, ["eta", "horizon"])
    'cross-graph (eta=0.1, horizon=2,000)'
    """
    own = [f"{key}={as_text(values[key])}" for key in shown if values.get(key) is not None]
    return f"{name} ({', '.join(own)})" if own else name


def as_text(value: object) -> str:
    """Return a parameter for reading.

    >>> as_text(10000), as_text(0.5), as_text("ring")
    ('10,000', '0.5', 'ring')
    """
    return f"{value:,}" if isinstance(value, int) else str(value)


def varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values are not the same everywhere."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return [name for name in names if len({str(setting.get(name)) for setting in settings}) > 1]
