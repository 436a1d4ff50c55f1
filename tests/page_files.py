"""The files that commands on pages expect, and that the page does not make itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crossbandit.logs.replay import make_log

if TYPE_CHECKING:
    from collections.abc import Callable

AUCTIONS = 120
STUDY = """
[study]
name = "study"
[[part]]
seeds = "0..1"
horizon = 200
algorithms = ["cross-graph"]
environments = [{ name = "paper-benchmark", alpha = 4, contexts = 10 }]
"""


def _log_with_everything() -> None:
    """Write a log with all columns that docs/how-to/logs.md names, in two files."""
    frame = pd.read_csv(make_log("log.csv", AUCTIONS, seed=1))
    rng = np.random.default_rng(0)
    frame["ctr_value"], frame["Min_Bid_To_Win"] = frame["value"], frame["highest_competing_bid"]
    frame["our_bid"], frame["bid_floor"] = 0.5 * frame["value"], 0.05
    frame["site"] = rng.choice(["news", "games"], AUCTIONS)
    frame["campaign"] = rng.choice(["a", "b"], AUCTIONS)
    frame.to_csv("log.csv", index=False)
    columns = ["timestamp", "site", "value", "campaign", "our_bid", "bid_floor", "Min_Bid_To_Win"]
    frame[columns].to_csv("log.txt", index=False, header=False, sep="\t")


def _index() -> None:
    make_log("auctions.csv", AUCTIONS, seed=1)


def _modules() -> None:
    Path("mine.py").write_text("")
    Path("study.toml").write_text(STUDY)


FILES: dict[str, Callable[[], object]] = {
    "docs/index.md": _index,
    "docs/how-to/logs.md": _log_with_everything,
    "docs/how-to/reproduce-the-paper.md": _modules,
}
