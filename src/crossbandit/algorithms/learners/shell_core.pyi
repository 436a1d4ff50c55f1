from collections.abc import Callable
from typing import Any

from crossbandit.algorithms.learners.decisions import Decision, GuardPart
from crossbandit.algorithms.learners.law_learner import Payment, Round, Shown
from crossbandit.algorithms.learners.missing import OutcomeWatch
from crossbandit.algorithms.learners.seen import SeenDecisions
from crossbandit.algorithms.learners.seen_core import ShellCore
from crossbandit.core.locks import Lock
from crossbandit.core.types import Integers
from crossbandit.laws import GuardedLaw, IndependenceTest, OutcomeLaw
from crossbandit.laws.levels import Label

def is_watched(number: int) -> bool: ...
def watched(numbers: Integers) -> list[int]: ...

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
    def act(self, given: Round, first: int, last: int) -> Decision: ...
    def decide_share(
        self, context: float, worth: float, labels: tuple[Label, ...], low: float, high: float
    ) -> tuple[Decision, float]: ...
    def decision_for(
        self, arm: int, first: int, last: int, part: GuardPart | None = None
    ) -> Decision: ...
    def learn(
        self,
        decision: Decision,
        context: float,
        labels: tuple[Label, ...],
        shown: Shown,
        correction: bool = False,
        payment: Payment | None = None,
    ) -> None: ...
    def add_outcomes(
        self, given: tuple[Any, ...], labels: Any, codes: Integers, own: int
    ) -> None: ...
