"""Where reports are written: a new folder, or one that holds an earlier report of the same kind."""

from __future__ import annotations

import tempfile
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from crossbandit.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def check_folder(folder: Path, written: Collection[str], what: str) -> None:
    """Make a folder, or raise ResultsError if it holds other files than are written into it.

    `written` are their names, or patterns of them.
    `what` names the kind of report, as in "a replay". A folder that cannot be written is found out
    here, before there is anything to lose.
    """
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is not a folder. Choose another one with --out.")
    names = sorted(path.name for path in folder.glob("*"))
    others = [name for name in names if not any(fnmatch(name, known) for known in written)]
    if others:
        raise ResultsError(
            f"The folder {str(folder)!r} holds something else than {what}: {others[0]!r}. Choose "
            "another one with --out."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ResultsError(
            f"The folder {str(folder)!r} cannot be written: {error.strerror}. Choose another one "
            "with --out."
        ) from error
