"""Where reports are written: a new folder, or one that holds an earlier report of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def check_folder(folder: Path, written: Collection[str], what: str) -> None:
    """Raise ResultsError if a folder holds other files than those that are written into it.

    `what` names the kind of report, as in "a replay".
    """
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is not a folder. Choose another one with --out.")
    others = sorted({path.name for path in folder.glob("*")} - set(written))
    if others:
        raise ResultsError(
            f"The folder {str(folder)!r} holds something else than {what}: {others[0]!r}. Choose "
            "another one with --out."
        )
