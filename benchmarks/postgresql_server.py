"""A PostgreSQL server of Debian's package, in a temporary folder, for tests and measurements."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

_FOLDERS = ("/usr/lib/postgresql", "/usr/local/pgsql")
_USER = "postgres"


def programs() -> Path | None:
    """Return the folder with `initdb` and `pg_ctl`, or None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    places = [one for folder in _FOLDERS for one in sorted(Path(folder).glob("**/bin/initdb"))]
    return places[-1].parent if places else None


class PostgresqlServer:
    """A server that listens on a socket in its own folder; a context manager.

    PostgreSQL refuses to run as root: then it runs as the user `postgres`.

    Args:
        settings: Settings of the server, such as `fsync="off"`.
    """

    def __init__(self, **settings: str) -> None:
        bin_folder = programs()
        if bin_folder is None:
            raise RuntimeError("PostgreSQL is not installed. Install the package 'postgresql'.")
        self._bin, self._settings = bin_folder, settings
        self.folder = Path(tempfile.mkdtemp(prefix="cb-pg-", dir="/tmp"))
        self._data = self.folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self.folder, _USER, _USER)
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", _USER, "--no-sync")

    @property
    def address(self) -> str:
        """The address of the database."""
        return f"postgresql://{_USER}@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [f"-k {self.folder}", "-c listen_addresses=''"]
        options += [f"-c {name}={value}" for name, value in self._settings.items()]
        log = str(self.folder / "log")
        given = ("-D", str(self._data), "-l", log, "-o", " ".join(options), "-w", "start")
        self._run("pg_ctl", *given)

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server.

        Args:
            mode: "immediate" as in a crash, or "fast".
        """
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):  # it was stopped before
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)
