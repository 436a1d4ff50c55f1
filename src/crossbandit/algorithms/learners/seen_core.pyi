from array import array
from collections.abc import Callable
from typing import Any, Self

class ShellCore:
    id: str
    _key: bytes | None

class MadeFields:
    round: int
    arm: int
    learner: str
    decider: str
    time: float
    key: Any

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
    def find(self, decider: str, counter: int, time: float) -> Page | None: ...
