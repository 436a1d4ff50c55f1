"""Everything that the reference shows is described: parameters, results and errors."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from crossbandit.algorithms import Algorithm
from crossbandit.applications import Application
from crossbandit.environments import AdaptiveEnvironment, BlockEnvironment, ChangingGraph
from website import reference
from website.docstrings import fenced, with_returns

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a reader starts from has an example. Other names are explained by the examples of these.
WITH_EXAMPLES = ("algorithms", "graphs", "environments", "applications", "limits", "simulation")
NOTHING = (None, "None", "NoReturn", "Never", inspect.Signature.empty)


def shown() -> Iterator[tuple[str, Any]]:
    """Yield every function, class, method and property of the reference."""
    found = [entry for entries in reference.entries().values() for entry in entries]
    identities = {id(entry.thing) for entry in found}
    for entry in found:
        thing = entry.thing
        if not inspect.isclass(thing):
            if callable(thing):
                yield entry.path, plain(thing)
        elif not issubclass(thing, BaseException) and not getattr(thing, "_is_protocol", False):
            yield entry.path, thing
            inherited = reference.inherited_members(thing, identities)
            for name in dict.fromkeys([*vars(thing), *sorted(inherited)]):
                member = inspect.getattr_static(thing, name)
                if not name.startswith("_") and is_described(thing, name, member):
                    yield f"{entry.path}.{name}", plain(member)


def plain(thing: Any) -> Any:
    """Return the function under a method, a decorator of classes or compiled code."""
    thing = getattr(thing, "__func__", thing)
    return getattr(thing, "py_func", thing)


def is_described(owner: type, name: str, member: Any) -> bool:
    """Return whether the reference shows a member here, and not at a base class."""
    if isinstance(member, property):
        return True
    if not inspect.isfunction(plain(member)):
        return False
    bases = (getattr(base.__dict__.get(name), "__doc__", None) for base in owner.__mro__[1:])
    return bool(member.__doc__) or not any(bases)


def parameters_of(thing: Any) -> list[str]:
    if isinstance(thing, property) or (inspect.isclass(thing) and issubclass(thing, Enum)):
        return []  # the members of an Enum are its documentation
    signature = inspect.signature(thing)
    return [name.lstrip("*") for name in signature.parameters if name not in {"self", "cls"}]


def documented(thing: Any) -> dict[str, str]:
    """Return what the `Args:` and `Attributes:` sections of a docstring say of each name."""
    text = inspect.getdoc(thing) or ""
    sections = re.findall(r"^(?:Args|Attributes):\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
    entry = re.compile(r"^ {4}(\*{0,2}\w[\w, *]*?)(?: \([^)]*\))?:(.*(?:\n {5,}.*)*)", re.MULTILINE)
    return {
        name.strip().lstrip("*"): words.strip()
        for section in sections
        for names, words in entry.findall(section)
        for name in names.split(",")
    }


def raises(function: Any) -> bool:
    """Return whether the code of a function itself raises, or rejects an argument."""
    nodes = [*ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))]
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reject")
        for node in nodes
    )


SHOWN = dict(shown())
FUNCTIONS = {name: thing for name, thing in SHOWN.items() if inspect.isfunction(thing)}


def test_much_is_shown() -> None:
    assert len(SHOWN) > 400
    assert "crossbandit.applications.FirstPriceBidder.bid_many" in SHOWN
    assert "crossbandit.graphs.FeedbackGraph.independence_number" in SHOWN


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_it_is_described(name: str) -> None:
    thing = SHOWN[name]
    assert inspect.getdoc(thing), f"{name} has no docstring"
    described: dict[str, str] = {}
    for one in reversed(thing.__mro__) if inspect.isclass(thing) else [thing]:
        described |= documented(one)  # a record has the fields of its base classes
    missing = [one for one in parameters_of(thing) if not described.get(one)]
    assert not missing, f"{name}: {', '.join(missing)} not in its Args"


def test_what_is_returned_is_described() -> None:
    lacking = []
    for name, function in FUNCTIONS.items():
        result = inspect.signature(function).return_annotation
        text = with_returns(fenced(inspect.getdoc(function) or ""), str(result))
        if result not in NOTHING and not re.search(r"^(Return|Yield)s:", text, re.MULTILINE):
            lacking.append(name)
    assert lacking == []


def test_what_is_raised_is_described() -> None:
    lacking = [
        name
        for name, function in FUNCTIONS.items()
        if raises(function) and "Raises:\n" not in (inspect.getdoc(function) or "")
    ]
    assert lacking == []


def test_what_a_reader_starts_from_has_an_example() -> None:
    bases = (Algorithm, Application, BlockEnvironment)
    lacking = [
        entry.path
        for page, found in reference.entries().items()
        for entry in found
        if page.stem in WITH_EXAMPLES
        and (inspect.isfunction(entry.thing) or issubclass(plain_class(entry.thing), bases))
        and entry.thing not in {*bases, AdaptiveEnvironment, ChangingGraph}
        and not entry.name.startswith("register")  # an example would stay registered
        and ">>> " not in (inspect.getdoc(entry.thing) or "")
    ]
    assert lacking == []


def plain_class(thing: Any) -> type:
    return thing if inspect.isclass(thing) else type(thing)
