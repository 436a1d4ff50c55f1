"""Packages that load a module when a name of it is first used, and texts that are made likewise."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class LazyPackage(ModuleType):
    """A package whose names are in other modules, which are loaded when they are used."""

    _homes: dict[str, str]
    _before: Callable[[], None]

    def __getattr__(self, name: str) -> object:
        """Load a name when it is first used."""
        home = self._homes.get(name)
        if home is None:
            # Without `obj`, Python does not add a suggestion of its own.
            raise AttributeError(self._no_attribute(name), name=name)
        if home == self.__name__:
            return import_module(f"{home}.{name}")
        self._before()
        value = getattr(import_module(home), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Set a name, but let no module hide a function that has the module's name.

        Python sets the name of a module in its package when it has loaded the module.
        """
        if not isinstance(value, ModuleType) or self._homes.get(name) in (None, self.__name__):
            super().__setattr__(name, value)

    def _no_attribute(self, name: str) -> str:
        words = f"module {self.__name__!r} has no attribute {name!r}"
        # Python asks for a module, too, before it imports it. pathlib would be loaded for nothing.
        files = (f"{folder}/{name}.py" for folder in self.__path__)
        if name.startswith("_") or any(map(os.path.exists, files)):
            return words
        from difflib import get_close_matches

        known = {one.lower().replace("_", ""): one for one in dir(self)}
        wanted = name.lower().replace("_", "")
        near = get_close_matches(wanted, known, n=1) or [one for one in known if wanted in one]
        return f"{words}. Did you mean {known[near[0]]!r}?" if near else words

    def __dir__(self) -> list[str]:
        """Return the public names, loaded or not, and nothing else."""
        own = {"__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"}
        public = vars(self).get("__all__", ())
        return sorted({*public, *self._homes, *own & vars(self).keys()})


def load_on_use(
    package: str, homes: Mapping[str, str], before: Callable[[], None] = lambda: None
) -> None:
    """Make a package load its names when they are first used, after a call of `before`."""
    module = sys.modules[package]
    vars(module)["_before"] = before
    vars(module)["_homes"] = {name: home for home in homes for name in homes[home].split()}
    module.__class__ = LazyPackage


def load_all(package: str) -> None:
    """Load all names of a package."""
    found = import_module(package)
    for name in found.__all__:
        getattr(found, name)


class LazyTexts(Sequence[str | None]):
    """Texts that are made when they are asked for: None, unless the entry of `some` is True."""

    def __init__(self, some: Any, text: Callable[[int], str | None]) -> None:
        self._some, self._text = some, text

    def __len__(self) -> int:
        return len(self._some)

    @overload
    def __getitem__(self, at: int) -> str | None: ...

    @overload
    def __getitem__(self, at: slice) -> list[str | None]: ...

    def __getitem__(self, at: int | slice) -> str | list[str | None] | None:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        return self._text(at) if self._some[at] else None
