"""Studies: lists of cells, each identified by its content; study files; the shipped studies.

A study file is TOML. A mistake in it gives an error that names the line and the key.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
import tomllib
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from crossbandit import algorithms, graphs
from crossbandit.algorithms import Algorithm, from_json
from crossbandit.core.modules import load_modules
from crossbandit.core.validation import integer
from crossbandit.environments import environment as base
from crossbandit.environments import environment as environments
from crossbandit.errors import (
    CrossbanditError,
    InvalidInputError,
    InvalidParameterError,
    StudyError,
    StudyFileError,
)
from crossbandit.graphs.builders import build as build_graph
from crossbandit.studies.claims import STATISTICS, Stated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.environments import Environment

TABLE_PER_SEED = "seed"
"""The value of `table_seed` that means the seed of the cell."""

# Part of the content of every cell. Increase it when the same configuration gives another run.
FORMAT = 1


class Cell(NamedTuple):
    """One run of a study: an environment, an algorithm and a seed.

    Attributes:
        key: The address of the cell: a hash of the environment, the algorithm and the seed. The
            same content has the same key in every study and on every machine.
        part: The part of the study to which the cell belongs.
        environment: The environment as canonical JSON with every parameter, defaults included.
        algorithm: The algorithm in the same form.
        environment_name: The name of the environment in tables. Names do not change the key.
        algorithm_name: The name of the algorithm in tables.
        seed: The seed.
        horizon: The number of rounds.
    """

    key: str
    part: str
    environment: str
    algorithm: str
    environment_name: str
    algorithm_name: str
    seed: int
    horizon: int


@dataclass(frozen=True)
class Study:
    """A grid of runs.

    Args:
        name: The name of the study.
        cells: Its cells.
        modules: Python files and modules that a process loads before it runs a cell.
        paper: The paper whose setting this is, as it is cited.
        claims: What the paper claims about the regret of some of the algorithms.

    >>> study = Study.from_toml('''
    ... [study]
    ... name = "two rings"
    ... [[part]]
    ... seeds = "0..4"
    ... horizon = 500
    ... algorithms = ["cross-graph", "schneider-zimmert"]
    ... environments = [{ name = "paper-benchmark", alpha = [1, 4] }]
    ... ''')
    >>> study
    Study('two rings', 20 cells)
    """

    name: str
    cells: Sequence[Cell] = field(repr=False)
    modules: tuple[str, ...] = ()
    paper: str = ""
    claims: tuple[Stated, ...] = ()

    @classmethod
    def from_toml(
        cls, source: str | Path, *, announce: Callable[[str], None] | None = None
    ) -> Study:
        """Read a study file. The files and modules under its `modules` are loaded: their code runs.

        Args:
            source: A path, the name of a file, or the text itself (several lines).
            announce: Called with each of the study's modules before its code is run.

        Returns:
            The study.

        Raises:
            StudyFileError: The file cannot be read or has a mistake. The message names the line and
                the key.
        """
        if isinstance(source, str) and "\n" in source:
            return _parse(source, "study", Path(), announce)
        path = Path(source)
        try:
            text = path.read_text(encoding="utf-8-sig")  # Windows has a byte order mark
        except FileNotFoundError as error:
            raise StudyFileError(f"There is no study file {str(path)!r}.") from error
        except (OSError, ValueError) as error:
            raise StudyFileError(f"The study file {str(path)!r} cannot be read: {error}") from error
        return _parse(text, path.name, path.parent, announce)

    def with_algorithms(self, *algorithms: Algorithm | str) -> Study:
        """Return this study with more algorithms, in every environment that they can play.

        Args:
            *algorithms: Algorithms, or ids of algorithms, which then have their defaults.

        Raises:
            StudyError: An algorithm can play no environment of the study.
        """
        one_per_setting = {
            (cell.part, cell.environment, cell.environment_name, cell.seed): cell
            for cell in self.cells
        }
        known = {(cell.part, cell.key) for cell in self.cells}
        cells = list(self.cells)
        problems = {}
        for cell in one_per_setting.values() if algorithms else ():
            if cell.environment not in problems:
                built = build_environment(json.loads(cell.environment), cell.seed)
                problems[cell.environment] = built.problem
        for added in algorithms:
            rule = added if isinstance(added, Algorithm) else from_json({"id": added})
            text = canonical(rule.to_json())
            playable = {
                environment: _why_not(rule, problem) for environment, problem in problems.items()
            }
            if all(playable.values()):
                reason = next(iter(playable.values()), "it has no cells.")
                raise StudyError(f"{rule.id} can play no environment of {self.name!r}: {reason}")
            for cell in one_per_setting.values():
                if playable[cell.environment]:
                    continue
                key = content_key(cell.environment, text, cell.seed)
                if (cell.part, key) not in known:
                    cells.append(cell._replace(key=key, algorithm=text, algorithm_name=rule.id))
        return replace(self, cells=tuple(cells))

    def with_seeds(self, most: int) -> Study:
        """Return this study with the first seeds of each part only.

        Args:
            most: How many seeds of a part are kept.
        """
        seeds: dict[str, dict[int, None]] = {}
        for cell in self.cells:
            seeds.setdefault(cell.part, {})[cell.seed] = None
        kept = {part: set(list(found)[:most]) for part, found in seeds.items()}
        return replace(self, cells=tuple(c for c in self.cells if c.seed in kept[c.part]))

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.cells)} cells)"


def _why_not(rule: Algorithm, problem: Problem) -> str:
    """Return why an algorithm cannot play a problem; "" if it can."""
    try:
        rule.require_playable(problem)
    except InvalidInputError as error:
        return str(error)
    return ""


def canonical(data: dict[str, Any]) -> str:
    """Return the JSON text of this content; the order of its keys makes no difference.

    >>> canonical({"b": 1, "a": [2.0, None]})
    '{"a":[2.0,null],"b":1}'
    """
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def content_key(environment: str, algorithm: str, seed: int) -> str:
    """Return the address of a cell: the SHA-256 of its content as canonical JSON."""
    content = (
        f'{{"algorithm":{algorithm},"environment":{environment},"format":{FORMAT},"seed":{seed}}}'
    )
    return sha256(content.encode()).hexdigest()


def build_environment(data: dict[str, Any], seed: int) -> Environment:
    """Return the environment with this name and these parameters."""
    parameters = {key: _part(value) for key, value in data.items() if key != "name"}
    if draws_table_per_seed(data):
        parameters["table_seed"] = seed
    environment: Environment = environments.build(data["name"], **parameters)
    return environment


def draws_table_per_seed(data: Mapping[str, Any]) -> bool:
    """Return whether an environment draws new losses for each seed."""
    return bool(data.get("table_seed") == TABLE_PER_SEED)


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    parameters = dict(value)
    name = parameters.pop("name")
    if name in graphs.registered():
        return build_graph(name, **parameters)
    return base.build_distribution(name, **parameters)


@lru_cache(maxsize=10_000)
def own_builders(environment: str, algorithm: str) -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Return the names and builders that a cell uses and that are not part of this package."""
    data = json.loads(environment)
    names = [(json.loads(algorithm)["id"], algorithms.registered())]
    names.append((data["name"], environments.registered()))
    known = {**base.registered_distributions(), **graphs.registered()}
    names += [(value["name"], known) for value in data.values() if isinstance(value, dict)]
    builders = [(name, registered[name]) for name, registered in names if name in registered]
    return tuple(
        (name, builder)
        for name, builder in builders
        if not getattr(builder, "__module__", "").startswith("crossbandit.")
    )


# --- studies that come with the package ---------------------------------------------------------


def shipped_names(kind: str | None = None) -> list[str]:
    """Return the names of the studies that come with the package.

    Args:
        kind: "papers" for what other papers claim, "benchmarks" for the frozen benchmarks, or ""
            for all others; None for all.
    """
    return sorted(name for name, found in _shipped().items() if kind in {None, found})


@lru_cache
def _shipped() -> dict[str, str]:
    """Return the kind of every shipped study: the folder of its file."""
    top = resources.files("crossbandit.studies") / "shipped"
    folders = {"": top, "papers": top / "papers", "benchmarks": top / "benchmarks"}
    return {
        entry.name.removesuffix(".toml"): kind
        for kind, folder in folders.items()
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }


def shipped(name: str) -> Study:
    """Return a study that comes with the package.

    Args:
        name: "paper" for the evaluation in the paper, "quick" for a small part of it, "adaptive"
            for the evaluation of the adaptive learner, "budgets" for auctions with a budget,
            "graphs" for all algorithms on many graphs, "graphs-v1" for the benchmark of that
            version, or the name of a paper, such as "neu-2015".

    Raises:
        StudyFileError: There is no such study.

    >>> shipped("quick")
    Study('quick', 168 cells)
    """
    if name not in _shipped():
        known = ", ".join(shipped_names())
        raise StudyFileError(f"There is no shipped study {name!r}. Shipped studies: {known}.")
    return Study.from_toml(_text("shipped", _shipped()[name], f"{name}.toml"))


def template() -> str:
    """Return a commented study file to start from."""
    return _text("template.toml")


def _text(*path: str) -> str:
    entry = resources.files("crossbandit.studies").joinpath(*path)
    return entry.read_text(encoding="utf-8")


# --- study files: where a key is -----------------------------------------------------------------

KeyPath = tuple[str | int, ...]

_SHOWN_CHARACTERS = 200
# Python's own limits are about 500 levels and 4,300 digits.
_MOST_LEVELS = 50
_MOST_DIGITS = 400
_TOKEN = re.compile(
    r'#[^\n]*|"""(?:\\.|[^\\])*?(?:"""(?!")|(?P<text>\Z))'
    r"|'''.*?(?:'''(?!')|(?P<literal>\Z))"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'"
    rf"|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<digits>[0-9_]{{{_MOST_DIGITS + 1},}})",
    re.DOTALL,
)
_END = {"[": "]", "{": "}", "text": '"""', "literal": "'''"}


def line_of(text: str, path: KeyPath) -> int:
    r"""Return the line, from 1, of a key, a table or a list item; a missing key has its table's.

    It is the first line with which the text, if it ended there, would have the key.

    >>> line_of("[a]\nb = [1,\n 2]\n[[c]]\nd.e = 0", ("c", 0, "d", "e"))
    5
    """
    while not _has(text, path):
        path = path[:-1]
    lines = text.split("\n")
    shorter = range(1, len(lines))
    return 1 + bisect_left(shorter, 1, key=lambda n: _has("\n".join(lines[:n]), path))


def _has(text: str, path: KeyPath) -> bool:
    """Return whether the beginning of a study file has a key; what is open there is closed."""
    text += "\n"
    ends: list[str] = []
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "close":
            ends.pop()
        elif token.lastgroup in {"open", "text", "literal"}:
            ends.append(_END.get(token[0], "") or _END[token.lastgroup])
    value: Any = tomllib.loads(text + "".join(reversed(ends)))
    try:
        for key in path:
            value = value[key]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _check_levels(source: str, text: str) -> None:
    """Raise if something is nested too deeply or has too many digits for Python."""
    level, problem = 0, ""
    for token in _TOKEN.finditer(text):
        level += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if level > _MOST_LEVELS:
            problem = f"nested more than {_MOST_LEVELS} levels deep"
        elif token.lastgroup == "digits":
            problem = f"a number of more than {_MOST_DIGITS} digits"
        if problem:
            line = text.count("\n", 0, token.start()) + 1
            raise StudyFileError(f"{source}, line {line}: {problem}.")


def _check_keys(value: Any, levels: int = 0) -> None:
    """Raise if keys with dots make tables that are nested too deeply."""
    if levels > _MOST_LEVELS:
        raise RecursionError
    inside = value.values() if isinstance(value, dict) else value
    for inner in inside if isinstance(value, dict | list) else ():
        _check_keys(inner, levels + 1)


@dataclass(frozen=True)
class _Node:
    """A value of a study file, with its path from the top."""

    value: Any  # None for a key that is missing
    source: str
    text: str
    path: KeyPath = ()

    def at(self, key: str | int, value: Any = None) -> _Node:
        """Return what is below this value under a key, or another value for this key."""
        known = isinstance(key, int) or key in self.value
        return replace(self, value=self.value[key] if known else value, path=(*self.path, key))

    def items(self) -> list[_Node]:
        """Return the items of a list."""
        return [self.at(index) for index in range(len(self.value))]

    def without(self, *keys: str) -> dict[str, _Node]:
        """Return all of a table but some keys."""
        return {key: self.at(key) for key in self.value if key not in keys}

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the file, the line, the key and the problem."""
        key = ".".join(key for key in self.path if isinstance(key, str))
        key = f", key '{key}'" if key else ""
        line = line_of(self.text, self.path)
        raise StudyFileError(f"{self.source}, line {line}{key}: {problem}")

    def unknown(self, what: str, name: str, names: Collection[str]) -> NoReturn:
        """Fail for an unknown name; suggest the nearest known one."""
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        listed = f"Known: {', '.join(names)}." if names else "There are none."
        self.fail(f"no such {what}. " + (f"Did you mean '{near[0]}'? " if near else "") + listed)

    def check_keys(self, *known: str) -> None:
        """Fail for the first key of a table that is not a known one."""
        for key in self.value:
            if key not in known:
                self.at(key).unknown("key", key, known)

    def words(self, key: str, default: str | None = None) -> str:
        """Return the text under a key, or the default if there is none."""
        if key not in self.value and default is None:
            self.at(key).fail("missing.")
        found = self.at(key, default)
        if not isinstance(found.value, str) or not found.value.strip():
            found.fail(f"must be a text. Got {found}.")
        return found.value

    def name_of(self, what: str, known: Mapping[str, Any], key: str = "name") -> str:
        """Return the text under a key, which must be one of the known names."""
        name = self.words(key)
        if name not in known:
            self.at(key).unknown(f"{what} as {name!r}", name, sorted(known))
        return name

    def __str__(self) -> str:
        """Return the value for a message, shortened if it is long."""
        text = repr(self.value)
        return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


# --- study files: from TOML to cells -------------------------------------------------------------

MOST_CELLS = 10_000_000
"""The most cells that a study may have. Planning a million takes 0.7 GB."""

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_NAMED_PARAMETER = re.compile(r"'(\w+)' parameter")
_LIST_VALUED = re.compile(r"ArrayLike|Sequence|Iterable|list\[|tuple\[")
_RANGE = re.compile(r"\s*(\d{1,20})\s*\.\.\s*(\d{1,20})\s*")


def _parse(text: str, source: str, folder: Path, announce: Callable[[str], None] | None) -> Study:
    """Return the study that `text` describes; the paths of modules are relative to `folder`."""
    _check_levels(source, text)
    try:
        document = tomllib.loads(text)
        _check_keys(document)
        return _study(_Node(document, source, text), folder, announce)
    except tomllib.TOMLDecodeError as error:
        raise StudyFileError(f"{source} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise StudyFileError(f"{source} is nested too deeply.") from error


def _study(root: _Node, folder: Path, announce: Callable[[str], None] | None) -> Study:
    root.check_keys("study", "part", "claim")
    head, parts = root.at("study"), root.at("part", [])
    if "study" not in root.value:
        head.fail("missing: a study file needs a table [study].")
    if not isinstance(head.value, dict):
        head.fail(f"must be a table, [study]. Got {head}.")
    head.check_keys("name", "modules", "paper")
    name = head.words("name")  # also the name of its folder in results
    for character in "/\\\0":
        if character in name:
            head.at("name").fail(f"must be the name of a folder in results, without {character!r}.")
    if name in {".", ".."}:
        head.at("name").fail(f"must be the name of a folder in results. Got {name!r}.")
    modules = _modules(head.at("modules", []), folder, announce)
    tables = parts.value
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        parts.fail("must be at least one table, [[part]].")
    cells: dict[str, list[Cell]] = {}
    for part in parts.items():
        part.check_keys("name", "seeds", "horizon", "environments", "algorithms")
        part_name = part.words("name", default="main")
        part_cells = _cells(part, part_name)
        if part_name in cells:
            part.at("name").fail(f"another part has the name {part_name!r}.")
        cells[part_name] = part_cells
    every = tuple(itertools.chain(*cells.values()))
    return Study(
        name,
        every,
        modules,
        head.words("paper") if "paper" in head.value else "",
        _claims(root, every),
    )


def _claims(root: _Node, cells: Sequence[Cell]) -> tuple[Stated, ...]:
    """Return what a study file claims: tables [[claim]]."""
    given = root.at("claim", [])
    if not isinstance(given.value, list) or not all(isinstance(t, dict) for t in given.value):
        given.fail("must be tables, [[claim]].")
    known: dict[str, dict[str, None]] = {}
    for cell in cells:
        known.setdefault(cell.part, {})[cell.algorithm_name] = None
    claims = []
    for table in given.items():
        table.check_keys("says", "part", "algorithm", "slope", "growth", "below", "of")
        part = table.name_of("part", known, "part")
        algorithm = table.name_of("algorithm of this part", known[part], "algorithm")
        of = table.name_of("statistic", STATISTICS, "of") if "of" in table.value else "mean"
        bars = [key for key in ("slope", "growth", "below") if key in table.value]
        if len(bars) != 1:
            table.fail("must have one of slope, growth and below.")
        bar = table.at(bars[0])
        says = table.words("says")
        listed = bar.value if isinstance(bar.value, list) else [bar.value]
        stated = Stated(says, (part,), algorithm, of=of)
        if bars == ["below"]:
            for name in listed:
                if name not in known[part]:
                    bar.unknown(f"algorithm of this part as {name!r}", str(name), list(known[part]))
            claims.append(stated._replace(below=tuple(listed)))
            continue
        if len(listed) != 2 or not all(type(x) in {int, float} for x in listed):
            bar.fail(f"must be two numbers: the least and the largest. Got {bar}.")
        span = (float(listed[0]), float(listed[1]))
        more = stated._replace(slope=span) if bars == ["slope"] else stated._replace(growth=span)
        claims.append(more)
    return tuple(claims)


def _modules(given: _Node, folder: Path, announce: Callable[[str], None] | None) -> tuple[str, ...]:
    if not isinstance(given.value, list) or not all(isinstance(name, str) for name in given.value):
        given.fail(f"must be a list of modules or Python files. Got {given}.")
    names = [folder / name if name.endswith(".py") else name for name in given.value]
    try:
        return load_modules(names, announce=announce)
    except (StudyError, ValueError) as error:
        given.fail(str(error))


class _GridEntry(NamedTuple):
    """One environment or algorithm of a part, as canonical JSON and with its name."""

    name: str
    text: str
    horizon: int = 0


def _cells(part: _Node, name: str) -> list[Cell]:
    seeds = _seeds(part)
    entries = _entries(part, "environments", lambda table: _environments(table, part, seeds[0]))
    rules = _entries(part, "algorithms", _algorithms)
    if len(entries) * len(rules) * len(seeds) > MOST_CELLS:
        part.fail(
            f"{len(entries):,} environments, {len(rules):,} algorithms and {len(seeds):,} seeds "
            f"are more than {MOST_CELLS:,} cells."
        )
    return [
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


def _seeds(part: _Node) -> list[int]:
    given = part.at("seeds")
    if given.value is None:
        given.fail('missing: a list of seeds, or a range such as "200..209".')
    seeds: dict[int, None] = {}
    for item in given.items() if isinstance(given.value, list) else [given]:
        first = last = item.value
        if isinstance(item.value, str):
            found = _RANGE.fullmatch(item.value)
            if found is None or int(found[1]) > int(found[2]):
                item.fail(f'must be seeds, or a range such as "200..209". Got {item}.')
            first, last = int(found[1]), int(found[2])
        try:
            span = range(_checked_seed(first), _checked_seed(last) + 1)
        except CrossbanditError as error:
            item.fail(str(error))
        if span.stop - span.start > MOST_CELLS:  # len() stops at 2^63
            item.fail(f"must be at most {MOST_CELLS:,} seeds. Got {item}.")
        for seed in span:
            if seed in seeds:
                item.fail(f"the seed {seed} is given twice.")
            seeds[seed] = None
    if not seeds:
        given.fail("must have at least one seed.")
    return list(seeds)


def _checked_seed(value: object) -> int:
    """Return a seed that fits into the results file."""
    seed = integer("a study", "seeds", value, at_least=0, at_most=None)
    if seed >= 2**63:
        raise InvalidParameterError(f"A seed of a study must be below 2^63. Got {seed}.")
    return seed


def _entries(
    part: _Node, key: str, expand: Callable[[_Node], Iterator[_GridEntry]]
) -> list[_GridEntry]:
    """Return all environments, or all algorithms, of a part; a bare name is short for a table."""
    given = part.at(key)
    if not isinstance(given.value, list) or not given.value:
        given.fail(f"must be at least one of [[part.{key}]], or a list of names.")
    found: dict[str, int] = {}
    entries: list[_GridEntry] = []
    for index, item in enumerate(given.items()):
        table = replace(item, value={"name": item.value}) if isinstance(item.value, str) else item
        if not isinstance(table.value, dict):
            item.fail(f"must be a name, or a table with a name. Got {item}.")
        for entry in expand(table):
            if entry.text in found:
                item.fail(f"the same as entry {found[entry.text] + 1} of the list: {entry.text}")
            found[entry.text] = index
            entries.append(entry)
    return entries


def _environments(table: _Node, part: _Node, seed: int) -> Iterator[_GridEntry]:
    known = environments.registered()
    name = table.name_of("environment", known)
    given = table.without("name", "label")
    if "horizon" in part.value:
        if "horizon" in given:
            table.at("horizon").fail("given here and in the part. Leave one out.")
        given["horizon"] = part.at("horizon")
    if base.has_random_losses(name):
        given.setdefault("table_seed", table.at("table_seed", TABLE_PER_SEED))
    for data in _combinations(table, name, known[name], given):
        environment = _build(table, given, data, lambda data: build_environment(data, seed))
        label = _label(table, data)
        try:
            horizon = base.horizon_of(environment)
        except CrossbanditError as error:
            table.fail(str(error))
        yield _GridEntry(label, canonical(data), horizon)


def _algorithms(table: _Node) -> Iterator[_GridEntry]:
    known = algorithms.registered()
    if "id" in table.value and "name" in table.value:
        table.at("name").fail(
            "means the same as 'id', which is also given. Leave one out. For a name in tables, use "
            "'label'."
        )
    id_ = table.name_of("algorithm", known, "id" if "id" in table.value else "name")
    given = table.without("name", "id", "label")
    for data in _combinations(table, id_, known[id_], given):
        data["id"] = data.pop("name")
        full = _build(table, given, data, algorithms.from_json).to_json()
        yield _GridEntry(_label(table, full), canonical(full))


def _combinations(
    table: _Node, name: str, builder: Callable[..., Any], given: Mapping[str, _Node]
) -> Iterator[dict[str, Any]]:
    """Yield every combination of the given values, completed by the defaults of the builder."""
    parameters = inspect.signature(builder).parameters
    choices: dict[str, list[Any]] = {}
    for key, node in given.items():
        if key not in parameters:
            node.unknown(f"parameter of {name}", key, list(parameters))
        choices[key] = list(_choices(node, str(parameters[key].annotation)))
        if not choices[key]:
            node.fail("must not be an empty list.")
    for key, parameter in parameters.items():
        if key not in given:
            if parameter.default is parameter.empty:
                table.at(key).fail(f"missing: {name} needs it.")
            choices[key] = [parameter.default]
    if math.prod(map(len, choices.values())) > MOST_CELLS:
        table.fail(f"these lists have more than {MOST_CELLS:,} combinations.")
    for values in itertools.product(*choices.values()):
        yield {"name": name, **dict(zip(choices, values, strict=True))}


def _choices(node: _Node, annotation: str) -> Iterator[Any]:
    """Yield the values that a parameter takes in turn."""
    value = node.value
    graphs_listed = isinstance(value, list) and any(isinstance(one, dict) for one in value)
    if isinstance(value, list) and _LIST_VALUED.search(annotation) and not graphs_listed:
        yield value  # the parameter takes a list, such as the matrix of a graph
    elif isinstance(value, list):
        for item in node.items():
            yield from _choices(item, annotation)
    elif isinstance(value, dict):
        yield from _nested(node, annotation)
    elif isinstance(value, bool | str):
        yield value
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            node.fail(f"must be a number of at most 64 bits. Got {node}.")
        # 1 and 1.0 are the same number, so they must give the same cell.
        yield float(value) if "float" in annotation else value
    elif isinstance(value, float) and math.isfinite(value):
        yield value
    else:
        node.fail(f"must be a finite number, a text, true or false. Got {value}.")


def _nested(node: _Node, annotation: str) -> Iterator[dict[str, Any]]:
    """Yield the graphs, or the distributions of contexts, that a table describes."""
    kinds = {
        "FeedbackGraph": ("graph", graphs.registered()),
        "ContextDistribution": ("context distribution", base.registered_distributions()),
    }
    for type_name, (what, known) in kinds.items():
        if type_name in annotation:
            name = node.name_of(what, known)
            yield from _combinations(node, name, known[name], node.without("name"))
            return
    node.fail("must be a value. Got a table.")


def _build(
    table: _Node,
    given: Mapping[str, _Node],
    data: dict[str, Any],
    build: Callable[[dict[str, Any]], Any],
) -> Any:
    """Build an entry, so that bad parameters are found before anything runs."""
    try:
        return build(data)
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        table.fail(f"needs too much memory{reason}. Use smaller numbers.")
    except (CrossbanditError, TypeError, ValueError, ArithmeticError) as error:
        named = _NAMED_PARAMETER.search(str(error))
        key = named[1] if named and named[1] in data else None
        where = table if key is None else given.get(key, table.at(key))
        where.fail(str(error))


def _label(table: _Node, data: Mapping[str, Any]) -> str:
    """Return the label, with {parameter} replaced by its value; without one, the name."""
    label = table.words("label", default=str(data.get("name", data.get("id"))))

    def value(match: re.Match[str]) -> str:
        inner: Any = data
        for key in match[1].split("."):
            if not isinstance(inner, dict) or key not in inner:
                table.at("label").unknown(f"parameter as {match[1]!r}", match[1], list(data))
            inner = inner[key]
        return str(inner)

    return _PLACEHOLDER.sub(value, label)
