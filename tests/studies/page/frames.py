"""Frames of results, made by hand: what a study would have stored, without running one."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from crossbandit.studies import paper

# Their mean is 0 and their sample variance 52/9.
OFFSETS = (-3.0, -3.0, -2.0, -2.0, 0.0, 0.0, 2.0, 2.0, 3.0, 3.0)
HALF_WIDTH = 1.96 * (52 / 9 / 10) ** 0.5

Change = Callable[[str, int, str, float], float]


def row(
    part: str, setting: dict[str, Any], algorithm: str, seed: int, regret: float
) -> dict[str, Any]:
    """Return a finished cell with a straight curve."""
    environment = {"arms": 9, "contexts": 1000, "name": "paper-benchmark", **setting}
    parameters = {"eta": None, "id": algorithm, "tuning": "experiment"}
    horizon = setting["horizon"]
    return {
        "study": "paper",
        "part": part,
        "cell": f"{part} {sorted(setting.items())} {algorithm} {seed}",
        "environment": json.dumps(environment, sort_keys=True),
        "algorithm": json.dumps(parameters, sort_keys=True),
        "environment_name": "paper-benchmark",
        "algorithm_name": algorithm,
        "seed": seed,
        "horizon": horizon,
        "final_regret": regret,
        "loss": regret + 100.0,
        "comparator_loss": 100.0,
        "seconds": 0.01,
        "version": "1.2.3",
        "curve_rounds": [horizon // 2, horizon],
        "curve_regret": [regret / 2, regret],
        **{f"environment.{name}": value for name, value in environment.items()},
        **{f"algorithm.{name}": value for name, value in parameters.items()},
    }


def unchanged(_part: str, _value: int, _method: str, regret: float) -> float:
    """Change nothing."""
    return regret


def as_published(
    change: Change = unchanged,
    *,
    seeds: int = 10,
    tables: Iterable[int] = (1, 2),
) -> pd.DataFrame:
    """Return the paper's study with the paper's own numbers as means, changed by `change`."""
    rows = []
    for sweep in paper.SWEEPS:
        for value, entries in sweep.entries.items():
            setting = {**sweep.fixed, sweep.variable: value}
            for method, published in entries.items():
                mean = change(sweep.part, value, method, published.regret)
                for seed, offset in zip(sweep.seeds[:seeds], OFFSETS, strict=False):
                    here = {**setting, "table_seed": 0}
                    rows.append(row(sweep.part, here, method, seed, mean + offset))
                for table in tables:
                    other = {**setting, "table_seed": table}
                    regret = mean * (1 + table / 100)
                    part = f"tables-{sweep.part}"
                    rows.append(row(part, other, method, sweep.seeds[0], regret))
    return pd.DataFrame(rows)


def changed(part: str, value: int, method: str, regret: float) -> Change:
    """Return a change of one entry."""
    return lambda *entry: regret if entry[:3] == (part, value, method) else entry[3]
