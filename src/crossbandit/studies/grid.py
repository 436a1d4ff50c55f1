"""Parameters in a study file: lists into combinations, and combinations into things."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import TYPE_CHECKING, Any

from crossbandit import graphs
from crossbandit.environments.registry import registered_distributions
from crossbandit.errors import CrossbanditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crossbandit.studies.places import Place

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_NAMED_PARAMETER = re.compile(r"'(\w+)' parameter")
_LIST_VALUED = re.compile(r"ArrayLike|Sequence|Iterable|list\[|tuple\[")


def registered_name(
    place: Place, table: Mapping[str, Any], key: str, what: str, known: Mapping[str, Any]
) -> str:
    """Return the name under `key`, which must be one of the known ones."""
    name = place.text(table, key)
    if name not in known:
        place.at(key).unknown(f"{what} as {name!r}", name, sorted(known))
    return name


def combinations(
    place: Place,
    name: str,
    builder: Callable[..., Any],
    given: Mapping[str, Any],
    places: Mapping[str, Place],
) -> Iterator[dict[str, Any]]:
    """Yield every combination of the given values, completed by the builder's defaults."""
    parameters = inspect.signature(builder).parameters
    choices: dict[str, list[Any]] = {}
    for key, parameter in parameters.items():
        if key not in given:
            if parameter.default is parameter.empty:
                place.at(key).fail(f"missing: {name} needs it.")
            choices[key] = [parameter.default]
    for key, value in given.items():
        here = places.get(key, place.at(key))
        if key not in parameters:
            here.unknown(f"parameter of {name}", key, list(parameters))
        choices[key] = list(_choices(here, value, str(parameters[key].annotation)))
        if not choices[key]:
            here.fail("an empty list leaves nothing to run.")
    order = [*(key for key in given), *(key for key in choices if key not in given)]
    for values in itertools.product(*(choices[key] for key in order)):
        yield {"name": name, **dict(zip(order, values, strict=True))}


def _choices(place: Place, value: Any, annotation: str) -> Iterator[Any]:
    """Yield the values that a parameter takes in turn."""
    if isinstance(value, list) and _LIST_VALUED.search(annotation):
        yield value  # the list is the value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _choices(place.at(index), item, annotation)
    elif isinstance(value, dict):
        yield from _nested(place, value, annotation)
    elif isinstance(value, bool | str):
        yield value
    elif isinstance(value, int):
        # 1 and 1.0 are the same rate, and should have the same address.
        yield float(value) if "float" in annotation else value
    elif isinstance(value, float) and value - value == 0:
        yield value
    else:
        place.fail(f"must be a finite number, a text, true or false. Got {value}.")


def _nested(place: Place, table: dict[str, Any], annotation: str) -> Iterator[dict[str, Any]]:
    kinds = {
        "FeedbackGraph": ("graph", graphs.registered()),
        "ContextDistribution": ("context law", registered_distributions()),
    }
    for type_name, (what, known) in kinds.items():
        if type_name in annotation:
            name = registered_name(place, table, "name", what, known)
            given = {key: value for key, value in table.items() if key != "name"}
            yield from combinations(place, name, known[name], given, {})
            return
    place.fail("must be a value. Got a table.")


def built(
    place: Place,
    places: Mapping[str, Place],
    data: dict[str, Any],
    build: Callable[[dict[str, Any]], Any],
) -> Any:
    """Make the thing, to find out now whether its parameters are good."""
    try:
        return build(data)
    except (CrossbanditError, TypeError, ValueError) as error:
        named = _NAMED_PARAMETER.search(str(error))
        key = named[1] if named and named[1] in data else None
        where = place if key is None else places.get(key, place.at(key))
        where.fail(str(error))
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        place.fail(f"does not fit into memory{reason}. Make its numbers smaller.")


def label_of(place: Place, table: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the label, with {parameter} replaced by its value; the registered name if none."""
    name = str(data.get("name", data.get("id")))
    label = place.text(table, "label", default=name)

    def value(match: re.Match[str]) -> str:
        inner: Any = data
        for key in match[1].split("."):
            if not isinstance(inner, dict) or key not in inner:
                place.at("label").unknown(f"parameter as {match[1]!r}", match[1], list(data))
            inner = inner[key]
        return str(inner)

    return _PLACEHOLDER.sub(value, label)
