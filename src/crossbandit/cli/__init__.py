"""The command line: one file per command."""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # what a shell says of a command that Ctrl-C has ended


def main() -> None:
    """Run the command line."""
    try:
        # Loading takes about a second, in which somebody may already have thought better of it.
        from crossbandit.cli.app import run_command
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run_command()
