"""Folders of reports. Files are written atomically, and never through a symbolic link."""

from __future__ import annotations

import tempfile
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from crossbandit.errors import ResultsError
from crossbandit.files import write_file

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


def check_folder(folder: Path, written: Collection[str], what: str) -> None:
    """Make sure that a report can be written into a folder, before anything is computed for it.

    Args:
        folder: The folder. It is made if it does not exist.
        written: The names of the files that may be in it already, or patterns of names.
        what: The kind of report, as in "a replay".

    Raises:
        ResultsError: If the folder holds any other file, or cannot be written.
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


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files into a folder, each atomically.

    A symbolic link of the same name is replaced. Its target is not changed.

    Args:
        folder: The folder. It is made if it does not exist.
        contents: The files by name. Text is written as UTF-8.

    Returns:
        The paths, in the same order.

    Raises:
        ResultsError: If a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_file(folder / name, content)
    except OSError as error:
        raise ResultsError(
            f"The report cannot be written into {str(folder)!r}: {error.strerror}."
        ) from error
    return [folder / name for name in contents]
