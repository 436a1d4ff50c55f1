"""Builders by name, so that a study file can ask for a graph."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

from crossbandit.errors import InvalidParameterError

_Builder = TypeVar("_Builder", bound=Callable[..., Any])


class Registry:
    """Functions by name; each makes one kind of thing from plain numbers and strings."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._builders: dict[str, Callable[..., Any]] = {}

    def register(self, name: str) -> Callable[[_Builder], _Builder]:
        """Make a builder known by its name; a decorator."""

        def remember(builder: _Builder) -> _Builder:
            known = self._builders.setdefault(name, builder)
            if _origin(known) != _origin(builder):
                raise InvalidParameterError(
                    f"The name {name!r} belongs to {known.__qualname__}. Give the {self.kind} "
                    f"{builder.__qualname__} a name of its own."
                )
            self._builders[name] = builder  # a module that was loaded again brings its newest
            return builder

        return remember

    def registered(self) -> dict[str, Callable[..., Any]]:
        """Return every registered builder by its name."""
        return dict(self._builders)

    def build(self, name: str, **parameters: Any) -> Any:
        """Return what the builder of this name makes."""
        if name not in self._builders:
            hint = get_close_matches(name, self._builders, n=1)
            raise InvalidParameterError(
                f"There is no {self.kind} {name!r}. Registered are: "
                f"{', '.join(sorted(self._builders))}."
                + (f" Did you mean {hint[0]!r}?" if hint else "")
            )
        return self._builders[name](**parameters)


def _origin(builder: Callable[..., Any]) -> tuple[str, str]:
    return builder.__module__, builder.__qualname__


_GRAPHS = Registry("graph")
register = _GRAPHS.register
registered = _GRAPHS.registered
build = _GRAPHS.build
