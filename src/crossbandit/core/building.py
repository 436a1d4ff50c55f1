"""Which modules are compiled when the package is built, and whether they are up to date.

A core is a module that runs as it is and is compiled by Cython at build time. The compiled module
carries the checksum of its source, and of all declarations that it was compiled with. It refuses to
run beside other ones.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import re
import sys
import warnings
import zlib

CORES = (
    "core.arithmetic",
    "core.locks",
    "core.losses",
    "core.rounds",
    "core.uniforms",
    "algorithms.adaptive_core",
    "algorithms.certified_core",
    "algorithms.epoch_core",
    "algorithms.exponential_core",
    "algorithms.means_core",
    "graphs.clique_core",
    "laws.effect_core",
    "laws.guard_core",
    "laws.law_core",
    "laws.price_core",
    "laws.test_core",
    "algorithms.learners.graph_core",
    "algorithms.learners.seen_core",
    "algorithms.learners.shell_core",
    "applications.bidding.bid_core",
    "limits.pace_core",
)
INTERPRETED = "CROSSBANDIT_INTERPRETED"  # if this variable is set, sources run, not machine code

_FOLDER = os.path.dirname(os.path.dirname(__file__))
_IMPORTED = re.compile(rb"from (?:cython\.cimports\.)?(crossbandit\.[\w.]+) c?import ")


def checksum(path: str) -> int:
    """Return the checksum of a source and of all declarations that its machine code depends on.

    These are its own, and those of the cores that it or they import. Line ends do not matter.
    """
    parts, found = [path, _declarations(path)], 0
    for part in parts:  # which grows
        if not os.path.exists(part):
            continue
        with open(part, "rb") as source:
            text = source.read().replace(b"\r\n", b"\n")
        found = zlib.crc32(text, found)
        used = (_declarations(_source(name.decode())) for name in _IMPORTED.findall(text))
        parts += [one for one in dict.fromkeys(used) if one not in parts]
    return found


def require_current(name: str, compiled_from: int) -> None:
    """Raise OutdatedCoreError if a core was compiled from another source than the one beside it.

    The build adds a call of this function to each core.
    """
    source = _source(name)
    if os.path.exists(source) and checksum(source) != compiled_from:
        from crossbandit.errors import OutdatedCoreError

        raise OutdatedCoreError(
            f"{name} was compiled from another version of {os.path.basename(source)}, or of "
            "declarations that it uses. Build it again: make build, or in an installed package: "
            "pip install --force-reinstall."
        )


def all_compiled() -> bool:
    """Return whether all cores will run as machine code. Warn if there is none to run."""
    if os.environ.get(INTERPRETED):
        sys.meta_path.insert(0, Sources())
        return False
    missing = [name for name in CORES if not _is_built(f"crossbandit.{name}")]
    if missing:
        warnings.warn(
            "Crossbandit has no compiled code: none was built when it was installed. It gives the "
            "same results, but about 500 times slower. Install a C compiler (on Debian and Ubuntu: "
            "apt install gcc python3-dev) and install Crossbandit again; in a checkout, run make "
            "build.",
            RuntimeWarning,
            stacklevel=3,
        )
    return not missing


def fingerprint() -> str:
    """Return 8 hex digits that stand for the sources of all cores.

    ", interpreted" follows if not all of them run as machine code.
    """
    sums = [checksum(_source(f"crossbandit.{name}")) for name in CORES]
    found = f"{zlib.crc32(repr(sums).encode()):08x}"
    built = all(_is_built(f"crossbandit.{name}") for name in CORES)
    return found if built and not os.environ.get(INTERPRETED) else f"{found}, interpreted"


def load_all() -> None:
    """Import all cores: raises OutdatedCoreError if one was compiled from another source."""
    for name in CORES:
        importlib.import_module(f"crossbandit.{name}")


def _declarations(source: str) -> str:
    return source.removesuffix(".py") + ".pxd"


def _source(name: str) -> str:
    return os.path.join(_FOLDER, *name.split(".")[1:]) + ".py"


def _is_built(name: str) -> bool:
    stem = _source(name)[: -len(".py")]
    return any(os.path.exists(stem + end) for end in importlib.machinery.EXTENSION_SUFFIXES)


class Sources:
    """Finds the sources of cores, although compiled modules lie beside them."""

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if name.partition(".")[2] not in CORES or not name.startswith("crossbandit."):
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, _source(name))
