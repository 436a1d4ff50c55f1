"""Study files: from TOML to a `Study`, or to an error that names the line and the key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossbandit import algorithms, environments
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.registry import has_random_losses
from crossbandit.errors import (
    CrossbanditError,
    InvalidParameterError,
    StudyError,
    StudyFileError,
)
from crossbandit.modules import load_modules
from crossbandit.studies.grid import (
    MOST_CELLS,
    build_or_fail,
    combinations,
    label_of,
    registered_name,
)
from crossbandit.studies.location import Location, first_excess, line_numbers, shown
from crossbandit.studies.plan import (
    TABLE_PER_SEED,
    Cell,
    Study,
    build_environment,
    canonical,
    content_key,
)
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

_RANGE = re.compile(r"\s*(\d{1,20})\s*\.\.\s*(\d{1,20})\s*")


def read(source: str | Path, announce: Callable[[str], None] | None = None) -> Study:
    """Return the study of a file, or of a text of several lines.

    Args:
        source: A path, the name of a file, or a text.
        announce: Called with each module of the study before its code is run.
    """
    if isinstance(source, str) and "\n" in source:
        return _parse(source, "study", Path(), announce)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors on Windows write a byte order mark
    except FileNotFoundError as error:
        raise StudyFileError(f"There is no study file {str(path)!r}.") from error
    except (OSError, ValueError) as error:
        raise StudyFileError(f"The study file {str(path)!r} cannot be read: {error}") from error
    return _parse(text, path.name, path.parent, announce)


def _parse(text: str, source: str, folder: Path, announce: Callable[[str], None] | None) -> Study:
    """Return the study that `text` describes; the paths of modules are relative to `folder`."""
    excess = first_excess(text)
    if excess is not None:
        raise StudyFileError(f"{source}, line {excess[0]}: {excess[1]}.")
    try:
        document = tomllib.loads(text)
        root = Location(source, line_numbers(text), ())
        return _study(root, document, folder, announce)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{source} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise StudyFileError(f"{source} is nested too deeply.") from error


def _study(
    root: Location,
    document: dict[str, Any],
    folder: Path,
    announce: Callable[[str], None] | None,
) -> Study:
    root.check_keys(document, ("study", "part"))
    head, location = root.table(document, "study"), root.at("study")
    location.check_keys(head, ("name", "modules"))
    name = _study_name(location, head)
    modules = _modules(location, head, folder, announce)
    cells: list[Cell] = []
    names: list[str] = []
    for index, part in enumerate(root.tables(document, "part")):
        part_name, part_cells = _part(root.at("part", index), part)
        if part_name in names:
            root.at("part", index, "name").fail(f"another part has the name {part_name!r}.")
        names.append(part_name)
        cells.extend(part_cells)
    return Study(name, tuple(cells), modules)


@dataclass(frozen=True)
class _Entry:
    """One environment or algorithm of a part, as canonical JSON and with its name."""

    name: str
    text: str
    horizon: int = 0


def _study_name(location: Location, head: Mapping[str, Any]) -> str:
    """Return the name of the study, which is also the name of its folder in results."""
    name = location.text(head, "name")
    for character in "/\\\0":
        if character in name:
            location.at("name").fail(
                f"must be the name of a folder in results, without {character!r}."
            )
    if name in {".", ".."}:
        location.at("name").fail(f"must be the name of a folder in results. Got {name!r}.")
    return name


def _modules(
    location: Location,
    head: Mapping[str, Any],
    folder: Path,
    announce: Callable[[str], None] | None,
) -> tuple[str, ...]:
    value = head.get("modules", [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        location.at("modules").fail(
            f"must be a list of modules or Python files. Got {shown(value)}."
        )
    names = [folder / name if name.endswith(".py") else name for name in value]
    try:
        return load_modules(names, announce=announce)
    except (StudyError, ValueError) as error:
        location.at("modules").fail(str(error))


def _part(location: Location, part: dict[str, Any]) -> tuple[str, list[Cell]]:
    location.check_keys(part, ("name", "seeds", "horizon", "environments", "algorithms"))
    name = location.text(part, "name", default="main")
    seeds = _seeds(location, part)

    def environments_of(here: Location, table: dict[str, Any]) -> Iterator[_Entry]:
        return _environments(here, table, part, location, seeds[0])

    entries = _entries(location, part, "environments", environments_of)
    rules = _entries(location, part, "algorithms", _algorithms)
    if len(entries) * len(rules) * len(seeds) > MOST_CELLS:
        location.fail(
            f"{len(entries):,} environments, {len(rules):,} algorithms and {len(seeds):,} seeds "
            f"are more than {MOST_CELLS:,} cells."
        )
    return name, [
        Cell(
            key=content_key(environment.text, rule.text, seed),
            part=name,
            environment=environment.text,
            algorithm=rule.text,
            environment_name=environment.name,
            algorithm_name=rule.name,
            seed=seed,
            horizon=environment.horizon,
        )
        for environment in entries
        for rule in rules
        for seed in seeds
    ]


def _seeds(location: Location, part: Mapping[str, Any]) -> list[int]:
    if "seeds" not in part:
        location.at("seeds").fail('missing: a list of seeds, or a range such as "200..209".')
    value, location = part["seeds"], location.at("seeds")
    items = value if isinstance(value, list) else [value]
    seeds: dict[int, None] = {}
    for index, item in enumerate(items):
        here = location.at(index) if isinstance(value, list) else location
        span = _seed_range(here, item)
        if span.stop - span.start > MOST_CELLS:  # len() stops at 2^63
            here.fail(f"must be at most {MOST_CELLS:,} seeds. Got {shown(item)}.")
        for seed in span:
            if seed in seeds:
                here.fail(f"the seed {seed} is given twice.")
            seeds[seed] = None
    if not seeds:
        location.fail("must have at least one seed.")
    return list(seeds)


def _seed_range(location: Location, item: Any) -> range:
    first = last = item
    if isinstance(item, str):
        found = _RANGE.fullmatch(item)
        if found is None or int(found[1]) > int(found[2]):
            location.fail(f'must be seeds, or a range such as "200..209". Got {shown(item)}.')
        first, last = int(found[1]), int(found[2])
    try:
        return range(_checked_seed(first), _checked_seed(last) + 1)
    except CrossbanditError as error:
        location.fail(str(error))


def _checked_seed(value: object) -> int:
    """Return a seed that fits into the results file."""
    seed = integer("a study", "seeds", value, at_least=0, at_most=None)
    if seed >= 2**63:
        raise InvalidParameterError(f"A seed of a study must be below 2^63. Got {seed}.")
    return seed


def _entries(
    location: Location,
    part: Mapping[str, Any],
    key: str,
    expand: Callable[[Location, dict[str, Any]], Iterator[_Entry]],
) -> list[_Entry]:
    """Return all environments, or all algorithms, of a part; a bare name is short for a table."""
    value = part.get(key, [])
    if not isinstance(value, list) or not value:
        location.at(key).fail(f"must be at least one of [[part.{key}]], or a list of names.")
    found: dict[str, int] = {}
    entries: list[_Entry] = []
    for index, item in enumerate(value):
        here = location.at(key, index)
        table = {"name": item} if isinstance(item, str) else item
        if not isinstance(table, dict):
            here.fail(f"must be a name, or a table with a name. Got {shown(item)}.")
        for entry in expand(here, table):
            if entry.text in found:
                here.fail(f"the same as entry {found[entry.text] + 1} of the list: {entry.text}")
            found[entry.text] = index
            entries.append(entry)
    return entries


def _environments(
    location: Location,
    table: dict[str, Any],
    part: Mapping[str, Any],
    part_location: Location,
    seed: int,
) -> Iterator[_Entry]:
    known = environments.registered()
    name = registered_name(location, table, "name", "environment", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "label"}}
    elsewhere = {}
    if "horizon" in part:
        if "horizon" in parameters:
            location.at("horizon").fail("given here and in the part. Leave one out.")
        parameters["horizon"] = part["horizon"]
        elsewhere["horizon"] = part_location.at("horizon")
    if has_random_losses(name):
        parameters.setdefault("table_seed", TABLE_PER_SEED)
    for data in combinations(location, name, known[name], parameters, elsewhere):
        environment: Environment = build_or_fail(
            location, elsewhere, data, lambda data: build_environment(data, seed)
        )
        label = label_of(location, table, data)
        try:
            horizon = horizon_of(environment)
        except CrossbanditError as error:
            location.fail(str(error))
        yield _Entry(label, canonical(data), horizon)


def _algorithms(location: Location, table: dict[str, Any]) -> Iterator[_Entry]:
    known = algorithms.registered()
    if "id" in table and "name" in table:
        location.at("name").fail(
            "means the same as 'id', which is also given. Leave one out. For a name in tables, use "
            "'label'."
        )
    key = "id" if "id" in table else "name"
    id_ = registered_name(location, table, key, "algorithm", known)
    parameters = {key: value for key, value in table.items() if key not in {"name", "id", "label"}}
    for data in combinations(location, id_, known[id_], parameters, {}):
        data["id"] = data.pop("name")
        algorithm: Algorithm = build_or_fail(location, {}, data, algorithms.from_json)
        full = algorithm.to_json()
        yield _Entry(label_of(location, table, full), canonical(full))
