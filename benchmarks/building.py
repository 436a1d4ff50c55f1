"""Compile the bare loops of the benchmarks for this machine, when they are first needed."""

from __future__ import annotations

import importlib.util
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from crossbandit.core.building import checksum

SOURCE = Path(__file__).with_name("bare.py")
FOLDER = Path(__file__).parents[1] / "build" / "benchmarks"
# Those of the package, and all that this processor can do: the loops must be hard to beat.
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-g0"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "initializedcheck": False,
    "wraparound": False,
    "cdivision": True,
}


@cache
def bare() -> Any:
    """Return `benchmarks/bare.py`, compiled."""
    folder = FOLDER / f"{checksum(str(SOURCE)):08x}"
    if not any(folder.glob("bare.*.so")):
        _compile(folder)
    [path] = folder.glob("bare.*.so")
    spec = importlib.util.spec_from_file_location("bare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(folder: Path) -> None:
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    folder.mkdir(parents=True, exist_ok=True)
    copy = shutil.copy(SOURCE, folder)  # beside this file, it would be a part of the package
    [extension] = cythonize(
        [Extension("bare", [str(copy)], extra_compile_args=FLAGS)],
        compiler_directives=DIRECTIVES,
        quiet=True,
    )
    command: Any = Distribution({"ext_modules": [extension]}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder), str(folder / "temp")
    command.ensure_finalized()
    command.run()
