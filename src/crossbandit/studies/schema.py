"""Study files: from TOML to a `Study`, or to an error that names the line and the key."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from crossbandit import algorithms, environments, graphs
from crossbandit.environments.contexts import registered_distributions
from crossbandit.environments.environment import has_random_losses, horizon_of
from crossbandit.errors import CrossbanditError, InvalidParameterError, StudyError, StudyFileError
from crossbandit.modules import load_modules
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
    from collections.abc import Callable, Collection, Iterator, Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment


KeyPath = tuple[str | int, ...]

_SHOWN_CHARACTERS = 200
_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?!")'
    r"|'''.*?'''(?!')"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_OTHER_VALUE = re.compile(r"[^,\]}#\n]+")

# Python's own limits are about 500 levels and 4,300 digits.
_MOST_LEVELS = 50
_MOST_DIGITS = 400
_TOKEN = re.compile(
    rf"(?:#[^\n]*|{_STRING.pattern})|(?P<open>[\[{{])|(?P<close>[\]}}])"
    rf"|(?P<digits>[0-9_]{{{_MOST_DIGITS + 1},}})",
    re.DOTALL,
)


@dataclass(frozen=True)
class Location:
    """A key of a study file, given by its path from the top."""

    source: str
    lines: Mapping[KeyPath, int]
    path: KeyPath

    def at(self, *keys: str | int) -> Location:
        """Return the location of a key below this one."""
        return Location(self.source, self.lines, (*self.path, *keys))

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the file, the line, the key and the problem."""
        known = self.path
        while known not in self.lines:  # a key that is missing: name the line of its table
            known = known[:-1]
        key = ".".join(str(key) for key in self.path if isinstance(key, str))
        key = f", key '{key}'" if key else ""
        raise StudyFileError(f"{self.source}, line {self.lines[known]}{key}: {problem}")

    def unknown(self, what: str, name: str, names: Collection[str]) -> NoReturn:
        """Fail for an unknown name; suggest the nearest known one."""
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        listed = f"Known: {', '.join(names)}." if names else "There are none."
        self.fail(f"no such {what}. " + (f"Did you mean '{near[0]}'? " if near else "") + listed)

    def check_keys(self, table: Mapping[str, Any], known: Collection[str]) -> None:
        """Fail for the first key that is not a known one."""
        for key in table:
            if key not in known:
                self.at(key).unknown("key", key, known)

    def table(self, parent: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the table that `parent` has under `key`."""
        if key not in parent:
            self.at(key).fail(f"missing: a study file needs a table [{key}].")
        value = parent[key]
        if not isinstance(value, dict):
            self.at(key).fail(f"must be a table, [{key}]. Got {shown(value)}.")
        return value

    def tables(self, parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        """Return the tables, at least one, that `parent` has under `key`."""
        value = parent.get(key, [])
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            self.at(key).fail(f"must be at least one table, [[{key}]].")
        return value

    def text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        """Return the text under `key`, or the default if there is none."""
        if key not in table and default is not None:
            return default
        if key not in table:
            self.at(key).fail("missing.")
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self.at(key).fail(f"must be a text. Got {shown(value)}.")
        return value


def shown(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def line_numbers(text: str) -> dict[KeyPath, int]:
    r"""Return the line, from 1, of every key, table and list item, by its path.

    >>> line_numbers("[a]\nb = [1,\n 2]\n[[c]]\nd.e = 0")[("c", 0, "d", "e")]
    5
    """
    return _Scanner(text).document()


def first_excess(text: str) -> tuple[int, str] | None:
    r"""Return the line and the description of what is nested too deeply or has too many digits.

    >>> first_excess("a = 1\nb = " + 60 * "[" + 60 * "]")
    (2, 'nested more than 50 levels deep')
    """
    level, problem = 0, ""
    for token in _TOKEN.finditer(text):
        level += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if level > _MOST_LEVELS:
            problem = f"nested more than {_MOST_LEVELS} levels deep"
        elif token.lastgroup == "digits":
            problem = f"a number of more than {_MOST_DIGITS} digits"
        if problem:
            return text.count("\n", 0, token.start()) + 1, problem
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {(): 1}
        self._last: dict[KeyPath, int] = {}  # the last index of each array of tables

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._more():
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _more(self) -> bool:
        self._skip(_BLANK)
        return self._at < len(self._text)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _line(self) -> int:
        return bisect_right(self._newlines, self._at - 1) + 1

    def _note(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], line)

    def _header(self) -> KeyPath:
        line = self._line()
        array = self._text.startswith("[[", self._at)
        self._at += 1 + array
        *parents, last = self._key()
        self._at += 1 + array
        path: KeyPath = ()
        for key in parents:
            path = self._newest((*path, key))
        path = (*path, last)
        if array:
            self._last[path] = self._last.get(path, -1) + 1
        path = self._newest(path)
        self._note(path, line)
        return path

    def _newest(self, path: KeyPath) -> KeyPath:
        return (*path, self._last[path]) if path in self._last else path

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            bare = self._skip(_BARE_KEY)
            keys.append(bare or tomllib.loads(f"key = {self._skip(_STRING)}")["key"])
            self._skip(_SPACE)
            if len(keys) > _MOST_LEVELS:
                raise RecursionError
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = (*table, *self._key())
        self._note(path, line)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at]
        if first == "[":
            self._list(path)
        elif first == "{":
            self._inline_table(path)
        elif first in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_OTHER_VALUE)

    def _list(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._more() and self._text[self._at] != "]":
            self._note((*path, index), self._line())
            self._value((*path, index))
            index += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._more() and self._text[self._at] != "}":
            self._pair(path)
        self._at += 1


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
    """Yield every combination of the given values, completed by the defaults of the builder."""
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


_RANGE = re.compile(r"\s*(\d{1,20})\s*\.\.\s*(\d{1,20})\s*")


def read(source: str | Path, announce: Callable[[str], None] | None = None) -> Study:
    """Return the study of a file, or of a text of several lines."""
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
    root: Location, document: dict[str, Any], folder: Path, announce: Callable[[str], None] | None
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
class _GridEntry:
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

    def environments_of(here: Location, table: dict[str, Any]) -> Iterator[_GridEntry]:
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
    expand: Callable[[Location, dict[str, Any]], Iterator[_GridEntry]],
) -> list[_GridEntry]:
    """Return all environments, or all algorithms, of a part; a bare name is short for a table."""
    value = part.get(key, [])
    if not isinstance(value, list) or not value:
        location.at(key).fail(f"must be at least one of [[part.{key}]], or a list of names.")
    found: dict[str, int] = {}
    entries: list[_GridEntry] = []
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
) -> Iterator[_GridEntry]:
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
        yield _GridEntry(label, canonical(data), horizon)


def _algorithms(location: Location, table: dict[str, Any]) -> Iterator[_GridEntry]:
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
        yield _GridEntry(label_of(location, table, full), canonical(full))
