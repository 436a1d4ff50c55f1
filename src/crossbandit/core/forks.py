"""Give a forked process its own locks, ids and random numbers instead of its parent's.

A web server often loads a bidder once and then forks its workers.
"""

from __future__ import annotations

import os
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Sequence


class ForkAware(Protocol):
    """An object with locks that is used in forked processes, too."""

    def fork_locks(self) -> Sequence[Any]:
        """Return its locks in a fixed order; None for one that it does not have.

        A thread that holds a lock takes no lock that is earlier in this order, of any object.
        """

    def after_fork(self) -> None:
        """Replace what the child must not share with its parent."""


_known: WeakSet[Any] = WeakSet()
_changing = Lock()  # guards the set
_held: list[Any] = []  # the locks that are held while a process forks
_objects: list[ForkAware] = []


def know(one: ForkAware) -> None:
    """Make forks wait until no thread holds a lock of an object, and then call its `after_fork`."""
    with _changing:
        _known.add(one)


def _before() -> None:
    import_module("numpy.ma")  # a child forked in the middle of its import could never use it
    _changing.acquire()
    _objects[:] = sorted(_known, key=id)  # the same order as in `merge`
    locks = [one.fork_locks() for one in _objects]
    for place in range(max(map(len, locks), default=0)):
        for each in locks:
            if place < len(each) and each[place] is not None:
                each[place].acquire()
                _held.append(each[place])


def _after() -> None:
    for lock in reversed(_held):
        lock.release()
    _held.clear()
    _objects.clear()
    _changing.release()


def _in_child() -> None:
    for one in _objects:
        one.after_fork()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
