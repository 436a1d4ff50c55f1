"""The provenance of a cell: versions, commit and processor."""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crossbandit

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNKNOWN = "unknown"


@cache
def provenance() -> str:
    """Return the provenance of results of this process, as a JSON object.

    Its keys are `crossbandit` (the version), `commit` (null if unknown), `python`, `numpy`, `numba`
    and `processor`.
    """
    facts = {
        "crossbandit": crossbandit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
        "processor": _processor(),
    }
    return json.dumps(facts, sort_keys=True)


def differences(texts: Iterable[str | None]) -> dict[str, list[str]]:
    """Return the facts in which cells differ.

    Args:
        texts: The provenance of each cell, as JSON; None if it is unknown.

    Returns:
        The values of each fact that has more than one; "unknown" for missing ones.

    >>> differences(['{"numpy": "2.1"}', '{"numpy": "2.2"}'])
    {'numpy': ['2.1', '2.2']}
    """
    found = fact_values(texts)
    return {name: sorted(values) for name, values in found.items() if len(values) > 1}


def fact_values(texts: Iterable[str | None]) -> dict[str, list[str]]:
    """Return the values of every fact, each once, in the order of the cells.

    Args:
        texts: As for `differences`.
    """
    cells = [_object(text) for text in dict.fromkeys(texts)]
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {
        name: list(dict.fromkeys(str(cell.get(name) or _UNKNOWN) for cell in cells))
        for name in names
    }


def _object(text: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    found = json.loads(text) if text and isinstance(text, str) else None
    return found if isinstance(found, dict) else {}


def _commit() -> str | None:
    """Return the commit of the code that runs, if it was installed from one or is in a checkout."""
    try:
        origin = metadata.distribution("crossbandit").read_text("direct_url.json")
        commit = json.loads(origin or "{}").get("vcs_info", {}).get("commit_id")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        commit = None
    folder = Path(crossbandit.__file__).parent
    # If the package is installed inside another checkout, that checkout does not track it.
    if commit is None and _git(folder, "ls-files", "--error-unmatch", "__init__.py"):
        commit = _git(folder, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return None if commit is None else str(commit)


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        result = subprocess.run(  # noqa: S603 - the words above, and the folder of this package
            command, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _processor() -> str:
    """Return the name of the processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or _UNKNOWN
