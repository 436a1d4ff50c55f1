"""The command line: one file per command."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130  # the status by which a shell reports that Ctrl-C has ended a command


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line and the status 130, at any time."""
    try:
        from crossbandit.cli.app import run_command  # takes about a second

        run_command()
    except KeyboardInterrupt:
        end_interrupted("Stopped.")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is done; Python cleans up


def end_interrupted(sentence: str) -> None:
    """End the process after Ctrl-C: print one line, and exit with the status 130.

    The process ends at once. A second Ctrl-C would interrupt the usual clean-up of Python with a
    traceback. There is nothing to lose: results are stored, and workers end with this process.

    Args:
        sentence: The line; empty if it has been printed already.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sentence:
        print(sentence, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
