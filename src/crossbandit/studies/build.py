"""Make the environment and the algorithm of a cell from its JSON."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from crossbandit import algorithms, graphs
from crossbandit.environments import registry as environments
from crossbandit.graphs.builders import build as build_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment

TABLE_PER_SEED = "seed"
"""The value of `table_seed` that means the seed of the cell."""


def build_environment(data: dict[str, Any], seed: int) -> Environment:
    """Return the environment with this name and these parameters.

    Args:
        data: The name and the parameters; graphs and context distributions are tables.
        seed: The seed of the cell, which is the `table_seed` if that is "seed".
    """
    parameters = {key: _part(value) for key, value in data.items() if key != "name"}
    if draws_table_per_seed(data):
        parameters["table_seed"] = seed
    environment: Environment = environments.build(data["name"], **parameters)
    return environment


def draws_table_per_seed(data: dict[str, Any]) -> bool:
    """Return whether an environment draws new losses for each seed."""
    return bool(data.get("table_seed") == TABLE_PER_SEED)


def build_algorithm(data: dict[str, Any]) -> Algorithm:
    """Return the algorithm with this id and these parameters."""
    return algorithms.from_json(data)


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    parameters = dict(value)
    name = parameters.pop("name")
    if name in graphs.registered():
        return build_graph(name, **parameters)
    return environments.build_distribution(name, **parameters)


@lru_cache(maxsize=10_000)
def own_builders(environment: str, algorithm: str) -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Return the names and builders that a cell uses and that are not part of this package.

    Args:
        environment: The environment of the cell, as JSON.
        algorithm: Its algorithm, as JSON.
    """
    data = json.loads(environment)
    names = [(json.loads(algorithm)["id"], algorithms.registered())]
    names.append((data["name"], environments.registered()))
    known = {**environments.registered_distributions(), **graphs.registered()}
    names += [(value["name"], known) for value in data.values() if isinstance(value, dict)]
    builders = [(name, registered[name]) for name, registered in names if name in registered]
    return tuple(
        (name, builder)
        for name, builder in builders
        if not getattr(builder, "__module__", "").startswith("crossbandit.")
    )
