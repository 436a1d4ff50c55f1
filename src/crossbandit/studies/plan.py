"""What a study is: a list of cells, each identified by its content."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.algorithms import Algorithm, from_json
from crossbandit.errors import InvalidParameterError
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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
        settings = {
            (cell.part, cell.environment, cell.environment_name, cell.seed, cell.horizon): None
            for cell in self.cells
        }
        known = {(cell.part, cell.key) for cell in self.cells}
        cells = list(self.cells)
        for algorithm in map(_algorithm, algorithms):
            text = canonical(algorithm.to_json())
            for part, environment, environment_name, seed, horizon in settings:
                cell = Cell(
                    key=content_key(environment, text, seed),
                    part=part,
                    environment=environment,
                    algorithm=text,
                    environment_name=environment_name,
                    algorithm_name=algorithm.id,
                    seed=seed,
                    horizon=horizon,
                )
                if (part, cell.key) not in known:
                    cells.append(cell)
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


def checked_seed(value: object) -> int:
    """Return a seed that fits into the results file."""
    seed = integer("a study", "seeds", value, at_least=0, at_most=None)
    if seed >= 2**63:
        raise InvalidParameterError(f"A seed of a study must be below 2^63. Got {seed}.")
    return seed


def _algorithm(algorithm: Algorithm | str) -> Algorithm:
    return algorithm if isinstance(algorithm, Algorithm) else from_json({"id": algorithm})
