"""From a cell's JSON back to an environment and an algorithm; here and on any worker."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossbandit import algorithms, graphs
from crossbandit.environments import registry as environments
from crossbandit.errors import StudyError
from crossbandit.graphs.registry import build as build_graph

if TYPE_CHECKING:
    from crossbandit.algorithms import Algorithm
    from crossbandit.environments import Environment


def build_environment(data: dict[str, Any]) -> Environment:
    """Return the environment of this name and these parameters, a graph among them or not."""
    parameters = {key: _part(value) for key, value in data.items() if key != "name"}
    environment: Environment = environments.build(data["name"], **parameters)
    return environment


def build_algorithm(data: dict[str, Any]) -> Algorithm:
    """Return the algorithm of this id and these parameters."""
    return algorithms.from_json(data)


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    parameters = dict(value)
    name = parameters.pop("name")
    if name in graphs.registered():
        return build_graph(name, **parameters)
    return environments.build_law(name, **parameters)


# What was loaded from a file, by the module's name: which file, and its state.
_LOADED: dict[str, tuple[str, int]] = {}


def load_modules(modules: tuple[str, ...]) -> None:
    """Load what registers a study's own algorithms and environments."""
    for module in modules:
        if module.endswith(".py"):
            _load_file(Path(module))
        else:
            importlib.import_module(module)


def _load_file(path: Path) -> None:
    """Load a Python file, unless it is loaded and has not changed since."""
    if not path.is_file():
        raise StudyError(f"There is no Python file {str(path)!r}.")
    # A copy of a file in another folder takes the place of the first, and of its registrations.
    name = f"crossbandit_study_{path.stem}"
    state = (str(path), path.stat().st_mtime_ns)
    if _LOADED.get(name) == state:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{str(path)!r} is not a Python file.")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    _LOADED[name] = state
