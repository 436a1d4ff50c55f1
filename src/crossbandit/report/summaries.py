"""ArmRanges gathered over their seeds: the mean, its confidence interval, the curve over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crossbandit.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
PAPER_ERRORS = 1.96  # standard errors in the paper's half-widths, whatever the number of seeds
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
    """Mean regret after the recorded rounds, with its half-widths by Student's law."""

    rounds: Floats
    mean: Floats
    half_widths: Floats


@dataclass(frozen=True, eq=False)
class Summary:
    """The runs of one algorithm on one environment, one per seed.

    `as_paper` says whether the half-width is to stand beside one of the paper's, and is 1.96
    standard errors as they are; otherwise it is by Student's law.
    """

    part: str
    environment: str
    setting: Mapping[str, Any]
    algorithm: str
    parameters: Mapping[str, Any]
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
        """The half-width of its 95 % confidence interval; not a number for a single seed."""
        return half_width(self.finals, as_paper=self.as_paper)


def half_width(finals: Sequence[float] | Floats, *, as_paper: bool = False) -> float:
    """Return the half-width of the 95 % confidence interval of the mean of `finals`.

    It is by Student's law, which allows for few seeds; with `as_paper`, 1.96 standard errors. Each
    final regret is already the difference between two losses under one seed.

    >>> half_width([1.0, 2.0, 3.0])
    2.4841...
    >>> half_width([1.0, 2.0, 3.0], as_paper=True)
    1.1316...
    >>> half_width([1.0])
    nan
    """
    if len(finals) < 2:
        return math.nan
    errors = PAPER_ERRORS if as_paper else _quantile(len(finals))
    return float(errors * np.std(finals, ddof=1) / math.sqrt(len(finals)))


def _quantile(seeds: int) -> float:
    """Return how many standard errors Student's law allows on either side of a mean."""
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, (1 + CONFIDENCE) / 2))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of the least-squares line through (log x, log y).

    >>> round(slope([1, 4, 16], [3, 6, 12]), 12)
    0.5
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def summarize(frame: pd.DataFrame) -> list[Summary]:
    """Gather a frame with one row per run; the order is that of the first runs."""
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise InvalidInputError(
            f"A report needs one row per run with the columns {', '.join(_NEEDED)}. "
            f"Missing: {', '.join(missing)}."
        )
    if frame.empty:
        raise InvalidInputError("There is nothing to report: the study has no finished cells yet.")
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
        seeds=tuple(int(seed) for seed in runs["seed"]),
        finals=np.asarray(runs["final_regret"], dtype=np.float64),
        curve=_curve(runs),
    )


def _parameters(run: pd.Series[Any], prefix: str) -> dict[str, Any]:
    """Return the parameters that this run has; a column that only others have is empty here."""
    columns = [str(name) for name in run.index if str(name).startswith(prefix)]
    values = {name.removeprefix(prefix): _plain(run[name]) for name in columns}
    return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Undo what a column of a data frame does to a value: whole floats, not-a-numbers."""
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
    if len(curves) < 2:
        half_widths = np.full(rounds.size, math.nan)
    else:
        half_widths = _quantile(len(curves)) * curves.std(axis=0, ddof=1) / math.sqrt(len(curves))
    return Curve(rounds, curves.mean(axis=0), half_widths)
