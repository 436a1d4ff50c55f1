"""Cores as their sources say, beside the compiled ones: tests call their steps, or change them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType

from crossbandit.core.building import CORES, Sources

OURS = "crossbandit."


@contextmanager
def from_sources() -> Iterator[None]:
    """Let imports of cores load their sources. Before and after, cores are what they were."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith(OURS)}
    for core in CORES:
        sys.modules.pop(OURS + core, None)
    finder = Sources()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(OURS)]:
            del sys.modules[name]  # one that was imported meanwhile may have taken a source
        sys.modules.update(kept)
        for core in CORES:
            package, _, last = (OURS + core).rpartition(".")
            if OURS + core in kept:
                setattr(sys.modules[package], last, kept[OURS + core])


@cache
def interpreted(core: str) -> ModuleType:
    """Return a core as its source says, such as "core.arithmetic"."""
    with from_sources():
        return import_module(f"crossbandit.{core}")
