"""The command line: one file per command."""

from crossbandit.cli.app import main

__all__ = ["main"]
