"""What a study is: a list of cells, each known by its content."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.algorithms import Algorithm, from_json
from crossbandit.errors import InvalidParameterError
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Part of every cell's content: raise it when the same configuration comes to mean another run.
FORMAT = 1


class Cell(NamedTuple):
    """One run to be: an environment, an algorithm and a seed, and where in the study it stands.

    `environment` and `algorithm` are canonical JSON with every parameter, defaults included. `key`
    is their address, and the seed's: the same content has the same key in every study and on every
    machine. Names and part are for people, and do not count.
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
    """A name and its cells; `modules` are loaded beforehand, wherever a cell is run.

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
    def from_toml(cls, source: str | Path) -> Study:
        """Read a study file: a Path, the name of a file, or the text itself (several lines)."""
        from crossbandit.studies.schema import read

        return read(source)

    def with_algorithms(self, *algorithms: Algorithm | str) -> Study:
        """Return this study with more algorithms (or their ids) in every part."""
        settings = {
            (cell.part, cell.environment, cell.environment_name, cell.seed, cell.horizon): None
            for cell in self.cells
        }
        known = {(cell.part, cell.key) for cell in self.cells}
        cells = list(self.cells)
        for algorithm in map(_algorithm, algorithms):
            text = canonical(algorithm.to_json())
            for part, environment, environment_name, seed, horizon in settings:
                key = content_key(environment, text, seed)
                names = (environment_name, algorithm.id)
                if (part, key) not in known:
                    cells.append(Cell(key, part, environment, text, *names, seed, horizon))
        return Study(self.name, tuple(cells), self.modules)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.cells)} cells)"


def canonical(data: dict[str, Any]) -> str:
    """Return the one JSON text of this content, whatever the order of its keys.

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
