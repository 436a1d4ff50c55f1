"""What learners and snapshots share: an id, a key of tokens, locks, copies and forks."""

from __future__ import annotations

from typing import Any, ClassVar

from crossbandit.algorithms.learners.seen import new_id
from crossbandit.algorithms.learners.seen_core import ShellCore
from crossbandit.algorithms.learners.tokens import checked_key
from crossbandit.core import forks
from crossbandit.core.locks import Lock
from crossbandit.core.notebook import Listed
from crossbandit.errors import InvalidParameterError

GRAPH_FILE, LAW_FILE = "crossbandit-learner", "crossbandit-law"  # the formats of files
LAST_ROUND = 2**62


class Shell(Listed, ShellCore):
    """What decides, and perhaps learns, for any number of threads.

    Attributes:
        locks: The names of its locks, in the order of `crossbandit.core.forks`; None where it has
            none.
        kept: The attributes of its machine code, which `vars` does not list.
        learns: Whether it learns. A snapshot only decides.
        law: The law that it decides by; None if it uses a feedback graph.
        guard: The guard of that law, or None.
        id: The id that its decisions carry as their decider.
    """

    listed = "id policy to_bytes token_key"
    locks: ClassVar[tuple[str | None, ...]]
    kept: ClassVar[tuple[str, ...]] = ("id", "_key")
    learns: bool = False
    law: Any = None
    guard: Any = None

    def _set_up(self) -> None:
        """Take an id and locks, and expect forks; the last step of a constructor."""
        self.id = new_id()
        self._key = None
        self._take_locks()

    def _take_locks(self) -> None:
        for name in filter(None, self.locks):
            setattr(self, name, Lock())
        forks.know(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the locks: a copy has its own."""
        names = dict.fromkeys((*vars(self), *self.kept))
        return {name: getattr(self, name) for name in names if name not in self.locks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, one in state.items():
            setattr(self, name, one)
        self.as_copy()
        self._take_locks()

    def as_copy(self) -> None:
        """Replace what a copy must not share."""

    def fork_locks(self) -> tuple[Any, ...]:
        """Return its locks, in the order in which they are taken."""
        return tuple(name and getattr(self, name) for name in self.locks)

    def after_fork(self) -> None:
        """Take a new id and new random numbers, in a forked process."""
        raise NotImplementedError

    @property
    def token_key(self) -> bytes | None:
        """A secret of 1 to 64 bytes with which tokens are signed, or None; may be set.

        With a key, forged tokens are refused; without one, only damaged ones are. It is not saved.
        """
        return self._key

    @token_key.setter
    def token_key(self, key: bytes | None) -> None:
        self._key = checked_key("Learner", "token_key", key)


def only_decides(method: str) -> InvalidParameterError:
    """Return the error for a method that a snapshot does not have."""
    return InvalidParameterError(
        f"A snapshot only decides: it has no {method}. Use the application that it was taken from."
    )
