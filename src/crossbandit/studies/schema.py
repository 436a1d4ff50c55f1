"""Study files: TOML in, a `Study` out, or an error that names the line and the key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossbandit import algorithms, environments
from crossbandit.environments.environment import horizon_of
from crossbandit.errors import CrossbanditError, StudyError, StudyFileError
from crossbandit.studies import positions
from crossbandit.studies.build import build_algorithm, build_environment, load_modules
from crossbandit.studies.grid import built, combinations, label_of, registered_name
from crossbandit.studies.places import Place
from crossbandit.studies.plan import Cell, Study, canonical, checked_seed, content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

_RANGE = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*")


def read(source: str | Path) -> Study:
    """Return the study of a file, or of a text of several lines."""
    if isinstance(source, str) and "\n" in source:
        return parse(source, "study", Path())
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors on Windows begin with a mark
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
    root = Place(source, positions.line_numbers(text), ())
    root.check_keys(document, ("study", "part"))
    head, place = root.table(document, "study"), root.at("study")
    place.check_keys(head, ("name", "modules"))
    name = _study_name(place, head)
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
class _Named:
    """One environment or algorithm of a part, as canonical JSON and with its name."""

    name: str
    text: str
    horizon: int = 0


def _study_name(place: Place, head: Mapping[str, Any]) -> str:
    """Return the name of the study, which is also that of its folder in results."""
    name = place.text(head, "name")
    for character in "/\\\0":
        if character in name:
            place.at("name").fail(f"results go to a folder of this name: leave out {character!r}.")
    if name in {".", ".."}:
        place.at("name").fail(f"{name!r} is no name of a folder in results. Give another one.")
    return name


def _modules(place: Place, head: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
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


def _part(place: Place, part: dict[str, Any]) -> tuple[str, list[Cell]]:
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


def _seeds(place: Place, part: Mapping[str, Any]) -> list[int]:
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


def _seed_range(place: Place, item: Any) -> range:
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
    place: Place,
    part: Mapping[str, Any],
    key: str,
    expand: Callable[[Place, dict[str, Any], Mapping[str, Any]], Iterator[_Named]],
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


def _environments(place: Place, table: dict[str, Any], part: Mapping[str, Any]) -> Iterator[_Named]:
    known = environments.registered()
    name = registered_name(place, table, "name", "environment", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "label"}}
    if "horizon" in part:
        if "horizon" in parameters:
            place.at("horizon").fail("given here and in the part: leave one out.")
        parameters["horizon"] = part["horizon"]
    elsewhere = {"horizon": Place(place.source, place.lines, (*place.path[:2], "horizon"))}
    places = elsewhere if "horizon" in part else {}
    for data in combinations(place, name, known[name], parameters, places):
        environment: Environment = built(place, places, data, build_environment)
        label = label_of(place, table, data)
        try:
            horizon = horizon_of(environment)
        except CrossbanditError as error:
            place.fail(str(error))
        yield _Named(label, canonical(data), horizon)


def _algorithms(place: Place, table: dict[str, Any], part: Mapping[str, Any]) -> Iterator[_Named]:
    del part
    known = algorithms.registered()
    if "id" in table and "name" in table:
        place.at("name").fail(
            "means the same as 'id', which is there too: leave one out. A 'label' is free."
        )
    key = "id" if "id" in table else "name"
    id_ = registered_name(place, table, key, "algorithm", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "id", "label"}}
    for data in combinations(place, id_, known[id_], parameters, {}):
        data["id"] = data.pop("name")
        algorithm: Algorithm = built(place, {}, data, build_algorithm)
        full = algorithm.to_json()
        yield _Named(label_of(place, table, full), canonical(full))
