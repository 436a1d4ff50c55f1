"""Every public function, class and method names each of its parameters in its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = [
    "crossbandit",
    "crossbandit.algorithms",
    "crossbandit.applications",
    "crossbandit.checks",
    "crossbandit.client",
    "crossbandit.environments",
    "crossbandit.evaluate",
    "crossbandit.graphs",
    "crossbandit.laws",
    "crossbandit.logs",
    "crossbandit.losses",
    "crossbandit.replay",
    "crossbandit.report",
    "crossbandit.service",
    "crossbandit.service.http",
    "crossbandit.simulation",
    "crossbandit.studies",
    "crossbandit.theory",
]


def public_callables() -> Iterator[tuple[str, Any]]:
    """Yield every function, class and public method that a package offers by its `__all__`."""
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in seen or not getattr(thing, "__module__", "").startswith("crossbandit"):
                continue
            seen.add(id(thing))
            if inspect.isclass(thing):
                if not issubclass(thing, BaseException) and not getattr(
                    thing, "_is_protocol", False
                ):
                    yield f"{module_name}.{name}", thing
                    for method_name, method in vars(thing).items():
                        if method_name.startswith("_"):
                            continue
                        function = getattr(method, "__func__", method)
                        if inspect.isfunction(function) and not inherited(thing, method_name):
                            yield f"{module_name}.{name}.{method_name}", function
            elif inspect.isfunction(thing):
                yield f"{module_name}.{name}", thing


def inherited(owner: type, method: str) -> bool:
    """Return whether a method implements one that a base class documents."""
    if vars(owner)[method].__doc__:
        return False
    return any(getattr(base.__dict__.get(method), "__doc__", None) for base in owner.__mro__[1:])


def parameters_of(thing: Any) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Enum):  # its members are its documentation
        return []
    signature = inspect.signature(thing)
    return [name.lstrip("*") for name in signature.parameters if name not in {"self", "cls"}]


def documented(thing: Any) -> set[str]:
    """Return the names that an `Args:` or `Attributes:` section of the docstring lists."""
    text = inspect.getdoc(thing) or ""
    sections = re.findall(r"^(?:Args|Attributes):\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
    return {
        name.strip().lstrip("*")
        for section in sections
        for line in re.findall(r"^ {4}(\*{0,2}\w[\w, *]*?)(?: \([^)]*\))?:", section, re.MULTILINE)
        for name in line.split(",")
    }


CALLABLES = dict(public_callables())


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_every_parameter_is_documented(name: str) -> None:
    thing = CALLABLES[name]
    assert inspect.getdoc(thing), f"{name} has no docstring"
    missing = [one for one in parameters_of(thing) if one not in documented(thing)]
    assert not missing, f"{name}: {', '.join(missing)} not in its Args"
