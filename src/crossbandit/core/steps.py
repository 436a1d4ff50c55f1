"""Changes that no interrupt can part."""

from __future__ import annotations

from collections import deque
from operator import call
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_consume = deque[Any](maxlen=0).extend


def at_once(*steps: Callable[[], Any]) -> None:
    """Call functions one after the other, as one step that no interrupt can part.

    Python handles signals between instructions of Python code, where a handler may raise, as that
    of Ctrl-C does. So a change that consists of several steps is made by one instruction: either
    none of the steps is done, or all.
    """
    _consume(map(call, steps))
