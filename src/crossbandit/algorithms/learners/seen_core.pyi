from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from crossbandit.core.forms import Context, Readout
from crossbandit.core.types import Floats
from crossbandit.graphs import FeedbackGraph

class ShellCore:
    id: str
    _key: bytes | None

class DecisionFields:
    round: int
    arm: int
    learner: str
    context: Context
    probability: float
    revealed: Sequence[int]
    decider: str
    counter: int
    time: float
    key: Any
    written: bytes | None
    by_law: bool
    remembered: bool
    sealed: bool
    weights: Floats | None
    baseline: float | None
    rows: Floats | None
    graph: FeedbackGraph | None
    known: Sequence[int] | None
    form: Any
    reading: Readout | None
    score: int
    total: int
    guard: Any
    def __init__(
        self,
        round: int,  # noqa: A002
        context: Context,
        arm: int,
        probability: float,
        revealed: Sequence[int],
        learner: str,
        carried: Mapping[str, Any],
    ) -> None: ...
    @property
    def readout(self) -> Readout: ...

class Page:
    codes: array[int]
    newest: float
    generation: int
    def __init__(self, codes: array[int], newest: float, generation: int) -> None: ...
    def copied(self, generation: int) -> Self: ...

class SeenPages:
    span: float
    dropped: float
    generation: int
    pages: dict[tuple[str, int], Page]
    clock: Callable[[], float]
    latest: Page | None
    decider: str | None
    number: int
    def page_of(self, decider: str, counter: int, time: float) -> Page: ...

class WatchCounts:
    _start: int
    _first: int
    _begin: int
    _end: int
    _cohorts: list[tuple[list[int], list[int]]]
