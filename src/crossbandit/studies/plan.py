"""`Study`: a list of cells, each identified by its content; and the shipped studies."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit import algorithms, graphs
from crossbandit.algorithms import Algorithm, from_json
from crossbandit.environments import environment as environments
from crossbandit.environments.contexts import build_distribution, registered_distributions
from crossbandit.errors import StudyFileError
from crossbandit.graphs.builders import build as build_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

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


class CellResult(NamedTuple):
    """The stored result of a run. `provenance` and `parameters` are JSON objects."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    horizon: int
    final_regret: float
    loss: float
    comparator_loss: float
    seconds: float
    version: str
    curve_rounds: list[int]
    curve_regret: list[float]
    provenance: str
    parameters: str


class CellFailure(NamedTuple):
    """The stored error of a cell, with the line of code that raised it, and the traceback."""

    cell: str
    environment: str
    algorithm: str
    seed: int
    error: str
    version: str
    location: str = ""
    traceback: str = ""
    provenance: str = ""


@dataclass(frozen=True)
class Study:
    """A grid of runs.

    Args:
        name: The name of the study.
        cells: Its cells.
        modules: Python files and modules that a process loads before it runs a cell.

    >>> study = Study.from_toml('''
    ... [study]
    ... name = "two rings"
    ... [[part]]
    ... seeds = "0..4"
    ... horizon = 500
    ... algorithms = ["cross-graph", "sz-context"]
    ... environments = [{ name = "paper-benchmark", alpha = [1, 4] }]
    ... ''')
    >>> study
    Study('two rings', 20 cells)
    """

    name: str
    cells: Sequence[Cell] = field(repr=False)
    modules: tuple[str, ...] = ()

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
        from crossbandit.studies.schema import read

        return read(source, announce)

    def with_algorithms(self, *algorithms: Algorithm | str) -> Study:
        """Return this study with more algorithms in every part.

        Args:
            *algorithms: Algorithms, or ids of algorithms, which then have their defaults.
        """
        one_per_setting = {
            (cell.part, cell.environment, cell.environment_name, cell.seed): cell
            for cell in self.cells
        }
        known = {(cell.part, cell.key) for cell in self.cells}
        cells = list(self.cells)
        for added in algorithms:
            rule = added if isinstance(added, Algorithm) else from_json({"id": added})
            text = canonical(rule.to_json())
            for cell in one_per_setting.values():
                key = content_key(cell.environment, text, cell.seed)
                if (cell.part, key) not in known:
                    cells.append(cell._replace(key=key, algorithm=text, algorithm_name=rule.id))
        return Study(self.name, tuple(cells), self.modules)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.cells)} cells)"


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
    return build_distribution(name, **parameters)


@lru_cache(maxsize=10_000)
def own_builders(environment: str, algorithm: str) -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Return the names and builders that a cell uses and that are not part of this package."""
    data = json.loads(environment)
    names = [(json.loads(algorithm)["id"], algorithms.registered())]
    names.append((data["name"], environments.registered()))
    known = {**registered_distributions(), **graphs.registered()}
    names += [(value["name"], known) for value in data.values() if isinstance(value, dict)]
    builders = [(name, registered[name]) for name, registered in names if name in registered]
    return tuple(
        (name, builder)
        for name, builder in builders
        if not getattr(builder, "__module__", "").startswith("crossbandit.")
    )


def shipped_names() -> list[str]:
    """Return the names of the studies that come with the package."""
    folder = resources.files("crossbandit.studies") / "shipped"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def shipped(name: str) -> Study:
    """Return a study that comes with the package.

    Args:
        name: "paper" for the evaluation in the paper, "quick" for a small part of it, "adaptive"
            for the evaluation of the adaptive learner, "budgets" for auctions with a budget, or
            "graphs" for all algorithms on many graphs.

    Raises:
        StudyFileError: There is no such study.

    >>> shipped("quick")
    Study('quick', 168 cells)
    """
    if name not in shipped_names():
        known = ", ".join(shipped_names())
        raise StudyFileError(f"There is no shipped study {name!r}. Shipped studies: {known}.")
    return Study.from_toml(_text("shipped", f"{name}.toml"))


def template() -> str:
    """Return a commented study file to start from."""
    return _text("template.toml")


def _text(*path: str) -> str:
    entry = resources.files("crossbandit.studies").joinpath(*path)
    return entry.read_text(encoding="utf-8")
