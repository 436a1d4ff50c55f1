"""Compile the cores. Everything else about the package is in pyproject.toml."""

import os
import runpy
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

BUILDING = runpy.run_path("src/crossbandit/core/building.py")
SHARED = "crossbandit.core._memoryviews"  # code that all cores need, compiled once
CHECKED = bool(os.environ.get("CROSSBANDIT_CHECKED"))  # indices are checked: for tests
# No option may change the order of sums or join operations: all machines play the same arms.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-g0", "-w"]
FLAGS += ["--param=vect-max-version-for-alias-checks=50"]  # loops over many arrays, too
if sys.platform == "win32":
    FLAGS = ["/O2", "/fp:precise"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
    "show_performance_hints": False,
}


def stamped(core: str) -> str:
    """Write a copy of a core that checks its source when it is imported; return its path."""
    source = Path("src/crossbandit", *core.split(".")).with_suffix(".py")
    target = Path("build/cores", *source.parts[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    text = source.read_text(encoding="utf-8") + (
        "\n\nfrom crossbandit.core.building import require_current\n"
        f"require_current(__name__, {BUILDING['checksum'](str(source))})\n"
    )
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
    return str(target)


class Build(build_ext):
    """Translate the cores when extensions are built: an sdist needs no Cython."""

    def finalize_options(self) -> None:
        from Cython.Build import cythonize

        if self.editable_mode:  # where `build_ext --inplace` finds what was compiled
            usual = build(self.distribution)
            usual.ensure_finalized()
            self.build_lib, self.build_temp = usual.build_platlib, usual.build_temp
            self.parallel = 2
        sources = {f"crossbandit.{core}": stamped(core) for core in BUILDING["CORES"]}
        sources[SHARED] = "build/c/_memoryviews.c"
        self.distribution.ext_modules = cythonize(
            [Extension(name, [one], extra_compile_args=FLAGS) for name, one in sources.items()],
            build_dir="build/c",
            include_path=["src"],
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            force=CHECKED,
            quiet=True,
        )
        for extension in self.distribution.ext_modules:
            extension.optional = True  # without a C compiler, sources run; cythonize drops this
        super().finalize_options()


setup(
    cmdclass={"build_ext": Build},
    ext_modules=[Extension("crossbandit.core.arithmetic", ["src/crossbandit/core/arithmetic.py"])],
)
