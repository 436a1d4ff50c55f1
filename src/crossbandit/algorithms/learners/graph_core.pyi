from collections.abc import Sequence
from typing import Any

import numpy as np

from crossbandit.algorithms.learners.decisions import Decision
from crossbandit.algorithms.learners.missing import FeedbackWatch
from crossbandit.algorithms.learners.seen import SeenDecisions
from crossbandit.algorithms.learners.seen_core import ShellCore
from crossbandit.core.forms import Readout
from crossbandit.core.locks import Lock

class GraphShell(ShellCore):
    core: Any
    generator: np.random.Generator
    learned_from: SeenDecisions
    quick: int
    round: int
    _lock: Lock
    _max_pending: int
    _pending: dict[int, Decision]
    _revealed: dict[int, Sequence[int]]
    _waiting: int
    _watch: FeedbackWatch | None
    def set_counts(self, number: int, waiting: int) -> None: ...
    decision_type: type[Decision]
    remembers: bool
    watches: bool
    _last_expired: int
    def make(self, context: Any, readout: Readout | None, number: int) -> Decision: ...
    def finish(self, one: Decision, probability: float) -> None: ...
    def record(self, one: Decision, probability: float) -> None: ...
    def act_usual(self, context: Any) -> Decision | None: ...
    def learn_usual(self, decision: Any, losses: Any) -> bool: ...
    def act_many_usual(self, contexts: Any) -> list[Decision] | None: ...
    def learn_many_usual(self, decisions: Any, losses: Any) -> bool: ...
