from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np

from crossbandit.algorithms.learners.decisions import Decision, PendingDecision
from crossbandit.algorithms.learners.missing import FeedbackWatch
from crossbandit.algorithms.learners.seen import SeenDecisions
from crossbandit.algorithms.learners.seen_core import MadeFields, ShellCore
from crossbandit.core.forms import Context, Readout
from crossbandit.core.types import Floats
from crossbandit.graphs import FeedbackGraph

class PendingFields(MadeFields):
    context: Context
    weights: Floats | None
    baseline: float | None
    rows: Floats | None
    counter: int
    graph: FeedbackGraph | None
    revealed: Sequence[int] | None
    remembered: bool
    form: Any
    reading: Readout | None
    @property
    def readout(self) -> Readout: ...
    def __setstate__(self, state: Mapping[str, Any]) -> None: ...

class WatchCounts:
    _start: int
    _first: int
    _begin: int
    _end: int
    _cohorts: list[tuple[list[int], list[int]]]

class GraphShell(ShellCore):
    core: Any
    generator: np.random.Generator
    learned_from: SeenDecisions
    quick: int
    round: int
    _lock: RLock
    _max_pending: int
    _pending: dict[int, PendingDecision]
    _revealed: dict[int, Sequence[int]]
    _waiting: int
    _watch: FeedbackWatch | None
    def set_counts(self, number: int, waiting: int) -> None: ...
    def act_usual(self, context: Any) -> Decision | None: ...
    def learn_usual(self, decision: Any, losses: Any) -> bool: ...
