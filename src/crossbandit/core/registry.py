"""Registries, which find functions and classes by name, for study files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from crossbandit.core.lazy import load_all
from crossbandit.errors import InvalidParameterError

_Builder = TypeVar("_Builder", bound=Callable[..., Any])


class Registry:
    """Functions or classes by name; each makes one kind of thing from plain numbers and strings.

    Args:
        kind: What the things are, for messages: "graph", "environment", "algorithm".
        package: The package that has those of this library; it is loaded before a name is looked
            up. None if it has been loaded.
        former: The names of today by those of earlier versions, which old files still have.
    """

    def __init__(
        self,
        kind: str,
        package: str | None = None,
        former: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.kind = kind
        self._former = former
        self._unloaded = package
        self._builders: dict[str, Callable[..., Any]] = {}

    def register(self, name: str) -> Callable[[_Builder], _Builder]:
        """Return a decorator that registers a builder under `name`.

        Args:
            name: The name under which `build` finds it.

        Raises:
            InvalidParameterError: Another function or class has this name.
        """

        def remember(builder: _Builder) -> _Builder:
            if not builder.__module__.startswith("crossbandit."):
                self._load()  # so that another name is refused here, not when the package is loaded
            known = self._builders.setdefault(name, builder)
            if _origin(known) != _origin(builder):
                raise InvalidParameterError(
                    f"The name {name!r} belongs to {known.__qualname__}. Give the {self.kind} "
                    f"{builder.__qualname__} another name."
                )
            self._builders[name] = builder  # a module that was loaded again replaces its own
            return builder

        return remember

    def registered(self) -> dict[str, Callable[..., Any]]:
        """Return every registered builder by its name, in the order of the names."""
        self._load()
        return dict(sorted(self._builders.items()))

    def builder(self, name: object) -> Callable[..., Any]:
        """Return the builder of this name.

        Args:
            name: A registered name.

        Raises:
            InvalidParameterError: There is no such name; the message lists the registered ones.
        """
        if isinstance(name, str):
            name = self._former.get(name, name)
        if not isinstance(name, str) or name not in self._builders:
            self._load()
        if not isinstance(name, str) or name not in self._builders:
            from difflib import get_close_matches

            hint = get_close_matches(str(name), self._builders, n=1)
            raise InvalidParameterError(
                f"There is no {self.kind} {name!r}. Registered are: "
                f"{', '.join(sorted(self._builders))}."
                + (f" Did you mean {hint[0]!r}?" if hint else "")
            )
        return self._builders[name]

    def build(self, name: str, **parameters: Any) -> Any:
        """Return what the builder of this name makes.

        Args:
            name: A registered name.
            **parameters: What the builder takes.
        """
        return self.builder(name)(**parameters)

    def _load(self) -> None:
        if self._unloaded is not None:
            load_all(self._unloaded)
            self._unloaded = None


def _origin(builder: Callable[..., Any]) -> tuple[str, str]:
    return builder.__module__, builder.__qualname__
