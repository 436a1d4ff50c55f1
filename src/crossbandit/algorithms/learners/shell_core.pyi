from collections.abc import Callable
from typing import Any

from crossbandit.algorithms.learners.decisions import Decision, GuardPart
from crossbandit.algorithms.learners.missing import OutcomeWatch
from crossbandit.algorithms.learners.seen import SeenDecisions
from crossbandit.algorithms.learners.seen_core import ShellCore
from crossbandit.core.locks import Lock
from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.levels import Label

def is_watched(number: int) -> bool: ...

class LawShell(ShellCore):
    law: OutcomeLaw
    guard: GuardedLaw | None
    learner: str
    deciding: Lock
    learning: Lock
    round: int
    declined: int
    total: int
    test: IndependenceTest
    watch: OutcomeWatch
    seen: SeenDecisions
    own: set[str]
    features: int
    clock: Callable[[], float]
    def __init__(self, law: Any, guard: Any, decision: type, clock: Any) -> None: ...
    def act_usual(
        self,
        context: float,
        worth: float,
        cost: float,
        labels: tuple[Label, ...],
        first: int,
        last: int,
    ) -> Decision: ...
    def decided(
        self, arm: int, first: int, last: int, part: GuardPart | None = None
    ) -> Decision: ...
    def learn_usual(
        self,
        decision: Decision,
        context: float,
        labels: tuple[Label, ...],
        amount: float,
        reached: bool,
        number: float,
        money: Any = None,
        key: Any = None,
    ) -> bool: ...
    def keep_round(self, context: float, labels: tuple[Label, ...]) -> None: ...
    def add_outcome(
        self,
        page: Any,
        at: int,
        context: float,
        slots: Any,
        amount: float,
        reached: bool,
        number: float,
        tried: bool,
        own: bool,
    ) -> None: ...
