"""The parameters in a study file. Lists of values are expanded into combinations."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

from crossbandit import graphs
from crossbandit.environments.registry import registered_distributions
from crossbandit.errors import CrossbanditError
from crossbandit.studies.location import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crossbandit.studies.location import Location

MOST_CELLS = 10_000_000
"""The most cells that a study may have. Planning a million takes 0.7 GB."""

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_NAMED_PARAMETER = re.compile(r"'(\w+)' parameter")
_LIST_VALUED = re.compile(r"ArrayLike|Sequence|Iterable|list\[|tuple\[")


def registered_name(
    location: Location, table: Mapping[str, Any], key: str, what: str, known: Mapping[str, Any]
) -> str:
    """Return the name under `key`, which must be one of the known names."""
    name = location.text(table, key)
    if name not in known:
        location.at(key).unknown(f"{what} as {name!r}", name, sorted(known))
    return name


def combinations(
    location: Location,
    name: str,
    builder: Callable[..., Any],
    given: Mapping[str, Any],
    elsewhere: Mapping[str, Location],
) -> Iterator[dict[str, Any]]:
    """Yield every combination of the given values, completed by the defaults of the builder.

    Args:
        location: The location of the entry.
        name: The registered name of the builder.
        builder: The class or function that takes the parameters.
        given: The parameters in the file.
        elsewhere: The locations of parameters that are given outside the entry.
    """
    parameters = inspect.signature(builder).parameters
    choices: dict[str, list[Any]] = {}
    for key, value in given.items():
        here = elsewhere.get(key, location.at(key))
        if key not in parameters:
            here.unknown(f"parameter of {name}", key, list(parameters))
        choices[key] = list(_choices(here, value, str(parameters[key].annotation)))
        if not choices[key]:
            here.fail("must not be an empty list.")
    for key, parameter in parameters.items():
        if key not in given:
            if parameter.default is parameter.empty:
                location.at(key).fail(f"missing: {name} needs it.")
            choices[key] = [parameter.default]
    if math.prod(map(len, choices.values())) > MOST_CELLS:
        location.fail(f"these lists have more than {MOST_CELLS:,} combinations.")
    for values in itertools.product(*choices.values()):
        yield {"name": name, **dict(zip(choices, values, strict=True))}


def _choices(location: Location, value: Any, annotation: str) -> Iterator[Any]:
    """Yield the values that a parameter takes in turn."""
    if isinstance(value, list) and _LIST_VALUED.search(annotation):
        yield value  # the parameter takes a list
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _choices(location.at(index), item, annotation)
    elif isinstance(value, dict):
        yield from _nested(location, value, annotation)
    elif isinstance(value, bool | str):
        yield value
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            location.fail(f"must be a number of at most 64 bits. Got {shown(value)}.")
        # 1 and 1.0 are the same number, so they must give the same cell.
        yield float(value) if "float" in annotation else value
    elif isinstance(value, float) and math.isfinite(value):
        yield value
    else:
        location.fail(f"must be a finite number, a text, true or false. Got {value}.")


def _nested(location: Location, table: dict[str, Any], annotation: str) -> Iterator[dict[str, Any]]:
    kinds = {
        "FeedbackGraph": ("graph", graphs.registered()),
        "ContextDistribution": ("context distribution", registered_distributions()),
    }
    for type_name, (what, known) in kinds.items():
        if type_name in annotation:
            name = registered_name(location, table, "name", what, known)
            given = {key: value for key, value in table.items() if key != "name"}
            yield from combinations(location, name, known[name], given, {})
            return
    location.fail("must be a value. Got a table.")


def build_or_fail(
    location: Location,
    elsewhere: Mapping[str, Location],
    data: dict[str, Any],
    build: Callable[[dict[str, Any]], Any],
) -> Any:
    """Build an entry, so that bad parameters are found before anything runs."""
    try:
        return build(data)
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        location.fail(f"needs too much memory{reason}. Use smaller numbers.")
    except (CrossbanditError, TypeError, ValueError, ArithmeticError) as error:
        named = _NAMED_PARAMETER.search(str(error))
        key = named[1] if named and named[1] in data else None
        where = location if key is None else elsewhere.get(key, location.at(key))
        where.fail(str(error))


def label_of(location: Location, table: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the label, with {parameter} replaced by its value; without one, the name."""
    name = str(data.get("name", data.get("id")))
    label = location.text(table, "label", default=name)

    def value(match: re.Match[str]) -> str:
        inner: Any = data
        for key in match[1].split("."):
            if not isinstance(inner, dict) or key not in inner:
                location.at("label").unknown(f"parameter as {match[1]!r}", match[1], list(data))
            inner = inner[key]
        return str(inner)

    return _PLACEHOLDER.sub(value, label)
