"""Optional packages, and the error message if one is missing.

An embedded learner needs NumPy only. Code that needs more calls `require` first:

>>> require("numpy", extra="cli", owner="This example")
>>> require("no_such_package", extra="replay", owner="This example")
Traceback (most recent call last):
    ...
crossbandit.errors.MissingPackageError: This example needs no_such_package, which is not installed.
Install it with: pip install "crossbandit[replay]", or in a checkout: pip install ".[replay]"
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from crossbandit.errors import MissingPackageError


def require(*packages: str, extra: str, owner: str) -> None:
    """Raise if a package is not installed, with the command that installs it."""
    missing = [package for package in packages if not installed(package)]
    if missing:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise MissingPackageError(
            f"{owner} needs {', '.join(missing)}, which {verb} not installed. "
            f"Install {them} with: {pip_line(extra)}",
            name=missing[0],
        )


def installed(package: str) -> bool:
    """Return whether a package can be imported."""
    if package in sys.modules:
        return sys.modules[package] is not None
    return find_spec(package) is not None


def pip_line(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'pip install "crossbandit[{extra}]", or in a checkout: pip install ".[{extra}]"'
