"""Load a user's Python files, which register algorithms, environments and graphs.

A file is loaded under the name that other files in its folder would use to import it, and it stays
loaded while others are added. Numba's cache on disk needs both: it stores the types of a compiled
function by the names of a class and its module, and finds the class by these names in the next
process.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from crossbandit.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

# The loaded files. For each, the times of the last change of it and of the files that it imports.
_LOADED: dict[str, dict[str, int]] = {}

# The modules that were loaded from a user's files or their folders, with their files.
_OWN: dict[str, str] = {}


def load_modules(
    modules: Sequence[str | Path], *, announce: Callable[[str], None] | None = None
) -> tuple[str, ...]:
    """Load modules that register algorithms, environments or graphs.

    Loading a module runs its code. A file that has been loaded before is loaded again only if it,
    or a file of its folder that it imports, has changed.

    Args:
        modules: Python files (names that end in ".py"), or names of modules that can be imported.
            A file may import the files and packages in its folder.
        announce: Called with each file or name before its code is run.

    Returns:
        The same modules; files by their absolute paths.

    Raises:
        StudyError: A module is missing, raises an error, or calls `sys.exit`.
    """
    found = tuple(
        str(Path(module).resolve()) if str(module).endswith(".py") else str(module)
        for module in modules
    )
    files = [module for module in found if module.endswith(".py")]
    _check_names(files)
    _forget_changed(files)
    for given, module in zip(modules, found, strict=True):
        if announce is not None:
            announce(module)
        try:
            _load(module)
        except StudyError:
            raise
        except (Exception, SystemExit) as error:
            reason = f"it called sys.exit({error.code!r})" if isinstance(error, SystemExit) else ""
            raise StudyError(
                f"{str(given)!r} cannot be loaded: {reason or f'{type(error).__name__}: {error}'}"
            ) from error
    return found


def source_hashes(modules: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file that the modules consist of.

    Args:
        modules: What `load_modules` returned.

    Returns:
        The hashes, by the path of each file relative to its module's folder.
    """
    load_modules(modules)
    hashes = {}
    for module in modules:
        folder, files = _module_files(module)
        for file in files:
            name = Path(file).relative_to(folder).as_posix()
            hashes[name] = sha256(Path(file).read_bytes()).hexdigest()
    return hashes


def _check_names(files: Sequence[str]) -> None:
    """Raise if two files would have the same module name."""
    names: dict[str, str] = {}
    for file in files:
        other = names.setdefault(Path(file).stem, file)
        if other != file:
            raise StudyError(f"{other!r} and {file!r} have the same name. Rename one of them.")


def _forget_changed(files: Iterable[str]) -> None:
    """Unload the given files that have changed, and what they import, before any is loaded.

    Otherwise a file that two others import would be loaded twice, and each would have its own
    classes.
    """
    for file in files:
        known = _LOADED.get(file)
        if known is not None and known != _times(known):
            for name in [name for name, path in _OWN.items() if path in known]:
                _unload(name)


def _load(module: str) -> None:
    if not module.endswith(".py"):
        importlib.import_module(module)
        return
    path = Path(module)
    if not path.is_file():
        raise StudyError(f"There is no Python file {module!r}.")
    name = _module_name(path)
    if module not in _LOADED or _OWN.get(name) != module or name not in sys.modules:
        _execute(name, path)


def _execute(name: str, path: Path) -> None:
    """Run a file as the module `name`. It may import files of its folder."""
    files = _imported_files(path)
    for other, file in list(_OWN.items()):  # same name, another folder
        if file not in files and _file_in(path.parent, other) in files:
            _unload(other)
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{str(path)!r} is not a Python file.")
    loaded = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    times = _times(files)
    sys.modules[name] = loaded
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        if str(path.parent) in sys.path:  # the file itself may have removed it
            sys.path.remove(str(path.parent))
        for other in set(sys.modules) - before:
            if _file_of(sys.modules[other]) in files:
                _OWN[other] = str(_file_of(sys.modules[other]))
    _OWN[name] = str(path)
    _LOADED[str(path)] = times


def _unload(name: str) -> None:
    sys.modules.pop(name, None)
    _LOADED.pop(_OWN.pop(name), None)


def _module_name(path: Path) -> str:
    """Return the name by which other files of its folder import a file, unless it is taken."""
    name, own = path.stem, f"crossbandit_user_{path.stem}"
    if not name.isidentifier():
        return own
    if name in _OWN:
        return name
    try:
        other = importlib.util.find_spec(name)
    except ValueError:  # a module without a spec
        return own
    free = other is None or (other.origin is not None and Path(other.origin).resolve() == path)
    return name if free else own


def _imported_files(path: Path) -> dict[str, None]:
    """Return a file, and the files of its folder that it imports, directly or through others."""
    files: dict[str, None] = {}
    waiting = [str(path)]
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files[file] = None
        for name in _imported_names(file):
            beside = _file_in(path.parent, name)
            if beside is None:
                continue
            waiting.append(beside)
            if beside.endswith("__init__.py"):
                waiting.extend(str(part) for part in sorted(Path(beside).parent.rglob("*.py")))
    return files


def _imported_names(file: str) -> set[str]:
    """Return the top-level modules that the import statements of a file name."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return set()  # running the file reports the mistake
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def _file_in(folder: Path, name: str) -> str | None:
    """Return the file that `import name` would load from a folder."""
    base = folder.joinpath(*name.split("."))
    files = (base / "__init__.py", base.with_name(base.name + ".py"))
    return next((str(file) for file in files if file.is_file()), None)


def _file_of(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)


def _times(files: Iterable[str]) -> dict[str, int]:
    """Return the time of the last change of each file; -1 if it does not exist."""
    return {file: Path(file).stat().st_mtime_ns if Path(file).is_file() else -1 for file in files}


def _module_files(module: str) -> tuple[Path, Iterable[str]]:
    """Return the folder and the Python files of a loaded module."""
    if module.endswith(".py"):
        return Path(module).parent, _imported_files(Path(module))
    file = _file_of(sys.modules[module])
    if file is None:
        return Path(), []
    path = Path(file)
    if path.name != "__init__.py":
        return path.parent, [file]
    return path.parent.parent, [str(part) for part in sorted(path.parent.rglob("*.py"))]
