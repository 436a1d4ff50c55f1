"""Study files: TOML in, a `Study` out, or an error that names the line and the key."""

from __future__ import annotations

import inspect
import itertools
import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from crossbandit import algorithms, environments, graphs
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.registry import registered_laws
from crossbandit.errors import CrossbanditError, StudyError, StudyFileError
from crossbandit.studies import positions
from crossbandit.studies.build import build_algorithm, build_environment, load_modules
from crossbandit.studies.plan import Cell, Study, canonical, checked_seed, content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

_RANGE = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*")
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_NAMED_PARAMETER = re.compile(r"'(\w+)' parameter")
_LIST_VALUED = re.compile(r"ArrayLike|Sequence|Iterable|list\[|tuple\[")


def read(source: str | Path) -> Study:
    """Return the study of a file, or of a text of several lines."""
    if isinstance(source, str) and "\n" in source:
        return parse(source, "study", Path())
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StudyFileError(f"There is no study file {str(path)!r}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StudyFileError(f"The study file {str(path)!r} cannot be read: {error}") from error
    return parse(text, path.name, path.parent)


def parse(text: str, source: str, folder: Path) -> Study:
    """Return the study that `text` describes; `folder` is where its modules are looked for."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{source} is not valid TOML: {error}.") from error
    root = _Place(source, positions.line_numbers(text), ())
    root.check_keys(document, ("study", "part"))
    head, place = root.table(document, "study"), root.at("study")
    place.check_keys(head, ("name", "modules"))
    name = place.text(head, "name")
    modules = _modules(place, head, folder)
    parts = root.tables(document, "part")
    cells: list[Cell] = []
    names: list[str] = []
    for index, part in enumerate(parts):
        part_name, part_cells = _part(root.at("part", index), part)
        if part_name in names:
            root.at("part", index, "name").fail(f"there is a part {part_name!r} already.")
        names.append(part_name)
        cells.extend(part_cells)
    return Study(name, tuple(cells), modules)


@dataclass(frozen=True)
class _Place:
    """Somewhere in a study file."""

    source: str
    lines: Mapping[positions.Path, int]
    path: positions.Path

    def at(self, *keys: str | int) -> _Place:
        return _Place(self.source, self.lines, (*self.path, *keys))

    def fail(self, problem: str) -> NoReturn:
        """Raise: file, line, key, problem."""
        known = self.path
        while known not in self.lines:  # a key that is missing: its table is the place
            known = known[:-1]
        key = ".".join(str(key) for key in self.path if isinstance(key, str))
        key = f", key '{key}'" if key else ""
        raise StudyFileError(f"{self.source}, line {self.lines[known]}{key}: {problem}")

    def unknown(self, what: str, name: str, names: Collection[str]) -> NoReturn:
        """Fail for a name that is none, with the nearest that is one."""
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        listed = f"There is: {', '.join(names)}." if names else "There is none."
        self.fail(f"no such {what}. " + (f"Did you mean '{near[0]}'? " if near else "") + listed)

    def check_keys(self, table: Mapping[str, Any], known: Collection[str]) -> None:
        for key in table:
            if key not in known:
                self.at(key).unknown("key", key, known)

    def table(self, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
        if key not in parent:
            self.at(key).fail(f"missing: a study file needs a [{key}].")
        value = parent[key]
        if not isinstance(value, dict):
            self.at(key).fail(f"must be a table, [{key}]. Got {value!r}.")
        return value

    def tables(self, parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        value = parent.get(key, [])
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            self.at(key).fail(f"must be at least one table, [[{key}]].")
        return value

    def text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        if key not in table and default is not None:
            return default
        if key not in table:
            self.at(key).fail("missing.")
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self.at(key).fail(f"must be a text. Got {value!r}.")
        return value


@dataclass(frozen=True)
class _Named:
    """One environment or algorithm of a part, as canonical JSON and with its name."""

    name: str
    text: str
    horizon: int = 0


# ---------------------------------------------------------------------------------------- parts


def _modules(place: _Place, head: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    value = head.get("modules", [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        place.at("modules").fail(f"must be a list of modules or Python files. Got {value!r}.")
    modules: list[str] = []
    for index, name in enumerate(value):
        try:
            modules.extend(load_modules([folder / name if name.endswith(".py") else name]))
        except StudyError as error:
            place.at("modules", index).fail(str(error))
    return tuple(modules)


def _part(place: _Place, part: dict[str, Any]) -> tuple[str, list[Cell]]:
    place.check_keys(part, ("name", "seeds", "horizon", "environments", "algorithms"))
    name = place.text(part, "name", default="main")
    seeds = _seeds(place, part)
    worlds = _entries(place, part, "environments", _environments)
    rules = _entries(place, part, "algorithms", _algorithms)
    return name, [
        Cell(
            content_key(world.text, rule.text, seed),
            name,
            world.text,
            rule.text,
            world.name,
            rule.name,
            seed,
            world.horizon,
        )
        for world in worlds
        for rule in rules
        for seed in seeds
    ]


def _seeds(place: _Place, part: Mapping[str, Any]) -> list[int]:
    if "seeds" not in part:
        place.at("seeds").fail('missing: a list of seeds, or a range such as "200..209".')
    value, place = part["seeds"], place.at("seeds")
    items = value if isinstance(value, list) else [value]
    seeds: dict[int, None] = {}
    for index, item in enumerate(items):
        here = place.at(index) if isinstance(value, list) else place
        for seed in _seed_range(here, item):
            if seed in seeds:
                here.fail(f"the seed {seed} is there already.")
            seeds[seed] = None
    if not seeds:
        place.fail("no seeds.")
    return list(seeds)


def _seed_range(place: _Place, item: Any) -> range:
    first = last = item
    if isinstance(item, str):
        found = _RANGE.fullmatch(item)
        if found is None or int(found[1]) > int(found[2]):
            place.fail(f'must be seeds, or a range such as "200..209". Got {item!r}.')
        first, last = int(found[1]), int(found[2])
    try:
        return range(checked_seed(first), checked_seed(last) + 1)
    except CrossbanditError as error:
        place.fail(str(error))


def _entries(
    place: _Place,
    part: Mapping[str, Any],
    key: str,
    expand: Callable[[_Place, dict[str, Any], Mapping[str, Any]], Iterator[_Named]],
) -> list[_Named]:
    """Return all environments, or all algorithms, of a part; a bare name is short for a table."""
    value = part.get(key, [])
    if not isinstance(value, list) or not value:
        place.at(key).fail(f"must be at least one of [[part.{key}]], or a list of names.")
    found: dict[str, int] = {}
    entries: list[_Named] = []
    for index, item in enumerate(value):
        here = place.at(key, index)
        table = {"name": item} if isinstance(item, str) else item
        if not isinstance(table, dict):
            here.fail(f"must be a name, or a table with a name. Got {item!r}.")
        for entry in expand(here, table, part):
            if entry.text in found:
                here.fail(f"the same as entry {found[entry.text] + 1} of the list: {entry.text}")
            found[entry.text] = index
            entries.append(entry)
    return entries


def _environments(
    place: _Place, table: dict[str, Any], part: Mapping[str, Any]
) -> Iterator[_Named]:
    known = environments.registered()
    name = _registered(place, table, "name", "environment", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "label"}}
    if "horizon" in part:
        if "horizon" in parameters:
            place.at("horizon").fail("given here and in the part: leave one out.")
        parameters["horizon"] = part["horizon"]
    elsewhere = {"horizon": _Place(place.source, place.lines, (*place.path[:2], "horizon"))}
    places = elsewhere if "horizon" in part else {}
    for data in _grid(place, name, known[name], parameters, places):
        environment: Environment = _built(place, places, data, build_environment)
        label = _label(place, table, data)
        try:
            horizon = horizon_of(environment)
        except CrossbanditError as error:
            place.fail(str(error))
        yield _Named(label, canonical(data), horizon)


def _algorithms(place: _Place, table: dict[str, Any], part: Mapping[str, Any]) -> Iterator[_Named]:
    del part
    known = algorithms.registered()
    key = "id" if "id" in table else "name"
    id_ = _registered(place, table, key, "algorithm", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "id", "label"}}
    for data in _grid(place, id_, known[id_], parameters, {}):
        data["id"] = data.pop("name")
        algorithm: Algorithm = _built(place, {}, data, build_algorithm)
        full = algorithm.to_json()
        yield _Named(_label(place, table, full), canonical(full))


# ----------------------------------------------------------------------------------- parameters


def _registered(
    place: _Place, table: Mapping[str, Any], key: str, what: str, known: Mapping[str, Any]
) -> str:
    name = place.text(table, key)
    if name not in known:
        place.at(key).unknown(f"{what} as {name!r}", name, sorted(known))
    return name


def _grid(
    place: _Place,
    name: str,
    builder: Callable[..., Any],
    given: Mapping[str, Any],
    places: Mapping[str, _Place],
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


def _choices(place: _Place, value: Any, annotation: str) -> Iterator[Any]:
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


def _nested(place: _Place, table: dict[str, Any], annotation: str) -> Iterator[dict[str, Any]]:
    kinds = {
        "FeedbackGraph": ("graph", graphs.registered()),
        "ContextLaw": ("context law", registered_laws()),
    }
    for type_name, (what, known) in kinds.items():
        if type_name in annotation:
            name = _registered(place, table, "name", what, known)
            given = {key: value for key, value in table.items() if key != "name"}
            yield from _grid(place, name, known[name], given, {})
            return
    place.fail("must be a value. Got a table.")


def _built(
    place: _Place,
    places: Mapping[str, _Place],
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


def _label(place: _Place, table: Mapping[str, Any], data: Mapping[str, Any]) -> str:
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
