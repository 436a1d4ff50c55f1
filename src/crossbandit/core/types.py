"""The types of arrays and of words that the whole package takes."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Feedback = Literal["after-loss", "after-win", "always", "won-lost"]
Ties = Literal["win", "lose"]
Pacing = Literal["traffic", "even", "asap"]
SteadyPacing = Literal["even", "asap"]  # of a slice of a budget
Aim = Literal["value", "surplus"]
Keep = Literal["always", "long-run"]
