"""The command line: one file per command."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from crossbandit.core.extras import require
from crossbandit.errors import MissingPackageError, OutdatedCoreError

if TYPE_CHECKING:
    from types import FrameType

STOPPED = "Stopped."
INTERRUPTED = 130  # the status by which a shell reports that Ctrl-C has ended a command


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line and the status 130, at any time."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        extra = "serve" if sys.argv[1:2] == ["serve"] else "cli"
        require("typer", "rich", extra=extra, owner="The command crossbandit")
        from crossbandit.cli.app import run_command  # takes about a second

        run_command()
    except (MissingPackageError, OutdatedCoreError) as error:  # Rich prints all other errors
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        _leave()
    except SystemExit as done:
        if done.code == INTERRUPTED:
            _leave()
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done; Python cleans up


def _leave() -> NoReturn:
    """End an interrupted command with its status, whatever it was doing.

    Python would end by the signal if the interrupt met `exec` or `eval` of a text, and would abort
    if a thread of DuckDB asked for the interpreter while this was being taken down.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, unless a module is being loaded: then end the process at once.

    Some extension modules abort the process with a message of their own if the code that loads
    them raises an exception.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            print(STOPPED, file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
