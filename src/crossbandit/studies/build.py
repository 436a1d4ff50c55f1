"""From a cell's JSON back to an environment and an algorithm; here and on any worker."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossbandit import algorithms, graphs
from crossbandit.environments import registry as environments
from crossbandit.errors import StudyError
from crossbandit.graphs.registry import build as build_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    return environments.build_distribution(name, **parameters)


# What was loaded from a file, by the file's stem: the file, those beside it that it imports, and
# their state.
_LOADED: dict[str, dict[str, int]] = {}

# The names under which Python knows these files.
_NAMES: set[str] = set()


def load_modules(modules: Sequence[str | Path]) -> tuple[str, ...]:
    """Load what registers algorithms and environments of one's own, and return where it is.

    A module is a Python file, or anything that can be imported. A file may import those beside it.
    """
    found = tuple(
        str(Path(module).resolve()) if str(module).endswith(".py") else str(module)
        for module in modules
    )
    for given, module in zip(modules, found, strict=True):
        try:
            _load(module)
        except StudyError:
            raise
        except Exception as error:
            raise StudyError(
                f"{str(given)!r} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
    return found


def source_hashes(modules: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file that the modules are made of, by its name."""
    load_modules(modules)
    hashes = {}
    files: Iterable[str]
    for module in modules:
        if module.endswith(".py"):
            known = _LOADED[Path(module).stem]
            folder, files = Path(module).parent, known if module in known else [module]
        else:
            folder, files = _importable_files(module)
        for file in files:
            name = Path(file).relative_to(folder).as_posix()
            hashes[name] = sha256(Path(file).read_bytes()).hexdigest()
    return hashes


@lru_cache(maxsize=10_000)
def is_own(environment: str, algorithm: str) -> bool:
    """Return whether anything in a cell, given as JSON, comes from elsewhere than this package."""
    data = json.loads(environment)
    makers: list[Any] = [
        algorithms.registered().get(json.loads(algorithm)["id"]),
        environments.registered().get(data["name"]),
    ]
    for value in data.values():
        if isinstance(value, dict):
            known = {**environments.registered_distributions(), **graphs.registered()}
            makers.append(known.get(value["name"]))
    return any(not getattr(maker, "__module__", "").startswith("crossbandit.") for maker in makers)


def _load(module: str) -> None:
    if not module.endswith(".py"):
        importlib.import_module(module)
        return
    path = Path(module)
    if not path.is_file():
        raise StudyError(f"There is no Python file {module!r}.")
    # A copy of a file in another folder takes the place of the first, and of its registrations.
    known = _LOADED.get(path.stem, {})
    if module not in known or known != _states(known):
        _load_file(path)


def _load_file(path: Path) -> None:
    """Load a Python file and, as they are now, those beside it that it imports."""
    for name in _NAMES:
        sys.modules.pop(name, None)
    before = set(sys.modules)
    name = _free_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{str(path)!r} is not a Python file.")
    loaded = importlib.util.module_from_spec(spec)
    importlib.invalidate_caches()
    sys.modules[name] = loaded
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        with contextlib.suppress(ValueError):  # it may have tidied up by itself
            sys.path.remove(str(path.parent))
        files = {key: _file_in(path.parent, key) for key in set(sys.modules) - before}
        beside = {key: file for key, file in files.items() if file is not None}
        _NAMES.update({name, *beside})
    _LOADED[path.stem] = _states({str(path), *beside.values()})


def _free_name(path: Path) -> str:
    """Return the name by which files beside it would import it, unless another module has it."""
    name = path.stem
    if not name.isidentifier():
        return f"crossbandit_study_{name}"
    try:
        other = importlib.util.find_spec(name)
    except ValueError:  # a module that does not say where it comes from
        return f"crossbandit_study_{name}"
    return name if other is None or other.origin == str(path) else f"crossbandit_study_{name}"


def _file_in(folder: Path, name: str) -> str | None:
    """Return the file of a loaded module, if it is one that this folder offers for import."""
    file = getattr(sys.modules[name], "__file__", None)
    offered = folder.joinpath(*name.split("."))
    return file if file in {f"{offered}.py", str(offered / "__init__.py")} else None


def _states(files: Iterable[str]) -> dict[str, int]:
    """Return when each file was changed last; -1 if it is gone."""
    return {file: Path(file).stat().st_mtime_ns if Path(file).is_file() else -1 for file in files}


def _importable_files(module: str) -> tuple[Path, Iterable[str]]:
    """Return the folder and the Python files of an imported module or package."""
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        return Path(), []
    path = Path(file)
    if path.name != "__init__.py":
        return path.parent, [file]
    return path.parent.parent, [str(part) for part in sorted(path.parent.rglob("*.py"))]
