"""Load a user's Python files, which register algorithms, environments and graphs.

A file is loaded once in a process, under the name that other files in its folder would use to
import it. What stores objects by the names of a class and its module, such as pickle, finds the
class by these names in the next process.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from crossbandit.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# The loaded files. For each, the hashes of it and of the files in its folder that it imports.
_LOADED: dict[str, dict[str, str]] = {}

_NEW_PROCESS = "Start a new process: a command, an interpreter, or the kernel of a notebook."


def load_modules(
    modules: Sequence[str | Path], *, announce: Callable[[str], None] | None = None
) -> tuple[str, ...]:
    """Load modules that register algorithms, environments or graphs.

    Loading a module runs its code. A file is loaded once in a process.

    Args:
        modules: Python files (names that end in ".py"), or names of modules that can be imported.
            A file may import the files and packages in its folder.
        announce: Called with each file or name before its code is run.

    Returns:
        The same modules; files by their absolute paths.

    Raises:
        StudyError: A module is missing, raises an error, or calls `sys.exit`. Or a file, or one of
            its folder that it imports, has changed since it was loaded.
    """
    found = tuple(
        str(Path(module).resolve()) if str(module).endswith(".py") else str(module)
        for module in modules
    )
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
    """Return the SHA-256 of each file that the modules consist of."""
    load_modules(modules)
    hashes = {}
    for module in modules:
        file = getattr(sys.modules.get(module), "__file__", None)
        files: Iterable[str] = [] if file is None else [file]
        folder = Path(file or module).parent
        if module.endswith(".py"):
            files = _LOADED[module]
        elif file is not None and Path(file).name == "__init__.py":
            files = [str(part) for part in sorted(folder.rglob("*.py"))]
            folder = folder.parent
        for file, found in _hashes(files).items():
            hashes[Path(file).relative_to(folder).as_posix()] = found
    return hashes


def _load(module: str) -> None:
    if not module.endswith(".py"):
        importlib.import_module(module)
        return
    path = Path(module)
    if not path.is_file():
        raise StudyError(f"There is no Python file {module!r}.")
    if module not in _LOADED:
        _execute(path)
        return
    for file, loaded in _LOADED[module].items():
        if _hashes([file]) != {file: loaded}:
            raise StudyError(f"{file!r} has changed since it was loaded. {_NEW_PROCESS}")


def _execute(path: Path) -> None:
    """Run a file as a module. It may import files of its folder."""
    hashes = _hashes(_imported_files(path))
    _check_names(path.parent, hashes)
    name = _module_name(path)
    if name in sys.modules:  # another file has imported it
        _LOADED[str(path)] = hashes
        return
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{str(path)!r} is not a Python file.")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(sys.modules[name])
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        with suppress(ValueError):  # the file itself may have removed it
            sys.path.remove(str(path.parent))
    _LOADED[str(path)] = hashes


def _check_names(folder: Path, files: Iterable[str]) -> None:
    """Raise if a file has the name of another folder's: Python would import one for the other."""
    taken = {Path(file).stem: file for known in _LOADED.values() for file in known}
    for file in files:
        other = taken.get(Path(file).stem, file)
        if Path(file).parent == folder and other != file and Path(other).name != "__init__.py":
            raise StudyError(
                f"{other!r} and {file!r} have the same name. Rename one of them, or load them in "
                "different processes."
            )


def _module_name(path: Path) -> str:
    """Return the name by which other files of its folder import a file, unless it is taken."""
    name, own = path.stem, f"crossbandit_user_{path.stem}"
    if not name.isidentifier():
        return own
    if name in sys.modules:
        origin = getattr(sys.modules[name], "__file__", None)
    else:
        found = importlib.util.find_spec(name)
        origin = str(path) if found is None else found.origin
    return name if origin is not None and Path(origin).resolve() == path else own


def _imported_files(path: Path) -> list[str]:
    """Return a file, and the files of its folder that it imports, directly or through others."""
    from modulefinder import ModuleFinder

    finder = ModuleFinder([str(path.parent)])
    with suppress(SyntaxError, ValueError, RecursionError):  # running the file reports the mistake
        finder.run_script(str(path))
    found = [getattr(module, "__file__", None) for module in finder.modules.values()]
    return [str(path), *sorted({file for file in found if file} - {str(path)})]


def _hashes(files: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file; nothing for those that do not exist."""
    paths = (Path(file) for file in files)
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}
