"""Folders for temporary files that live as long as a log that needs them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class Scratch:
    """A temporary folder. It is removed when nothing uses this object any more, or at the end.

    A copy in another process does not remove the folder.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crossbandit-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (str(self.folder),)
