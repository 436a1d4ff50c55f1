"""Small bugs that the tests must notice.

`mutants.toml` lists small changes of the source. Each is applied to a copy of the project, and the
test that must notice it is run. A mutant that no test notices has survived. Before that, every test
named in the list has to pass without a change: a test that always fails notices nothing.

    python -m benchmarks.mutants                 # run all, print the survivors and the number
    python -m benchmarks.mutants --check         # only check that each change still applies
    python -m benchmarks.mutants --only graphs   # those whose file or test contains this text

It takes a few seconds per mutant, so it is not part of the tests; `--check` is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
_SECONDS = 300
_KERNELS = "kernels/"


class Mutant(NamedTuple):
    """One change.

    Attributes:
        file: The file, relative to `src/crossbandit`.
        old: A text that the file contains exactly once.
        new: What takes its place.
        test: The tests that must notice it, as pytest takes them, separated by blanks.
        compiled: Whether a kernel must be compiled for the test. Otherwise it is interpreted, which
            takes less time for a short test.
    """

    file: str
    old: str
    new: str
    test: str
    compiled: bool = False

    @property
    def interpreted(self) -> bool:
        """Whether the test runs with interpreted kernels."""
        return self.file.startswith(_KERNELS) and not self.compiled


def mutants() -> list[Mutant]:
    """Return all mutants of the list."""
    return [Mutant(**entry) for entry in tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]]


def problems(project: Path = PROJECT) -> list[str]:
    """Return what is wrong with the list: changes that no longer apply, tests that do not exist."""
    found = []
    for mutant in mutants():
        path = project / "src" / "crossbandit" / mutant.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        count = text.count(mutant.old)
        if count != 1 or mutant.old == mutant.new:
            found.append(
                f"{mutant.file}: found {count} times, not once: {mutant.old!r}. Put the mistake "
                "into the new code, or take the mutant out of benchmarks/mutants.toml."
            )
        for test in mutant.test.split():
            name, _, node = test.partition("::")
            if not (project / name).is_file():
                found.append(f"There is no {name}, the test of a mutant of {mutant.file}.")
            elif node and f"def {node}(" not in (project / name).read_text(encoding="utf-8"):
                found.append(f"There is no {test}, the test of a mutant of {mutant.file}.")
    return found


class Workshop:
    """Copies of the project, one for each job, in which tests are run."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._folder = folder
        self._copies: SimpleQueue[Path] = SimpleQueue()
        ignored = shutil.ignore_patterns(".git", ".venv", "results", ".*_cache", "__pycache__")
        for number in range(jobs):
            copy = folder / f"project-{number}"
            shutil.copytree(PROJECT, copy, ignore=ignored)
            self._copies.put(copy)

    def passes(self, mutant: Mutant, *, changed: bool) -> bool:
        """Return whether the tests of a mutant pass, with its change or without."""
        copy = self._copies.get()
        path = copy / "src" / "crossbandit" / mutant.file
        text = path.read_text(encoding="utf-8")
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as fresh:
                if changed:
                    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
                # Machine code is not made anew when a function that it calls has changed: a changed
                # kernel starts without any. All others share what the copy has.
                kernel = changed and mutant.file.startswith(_KERNELS)
                machine_code = fresh if kernel else str(copy / ".numba_cache")
                return _run(copy, mutant, machine_code)
        finally:
            path.write_text(text, encoding="utf-8")
            self._copies.put(copy)


def _run(copy: Path, mutant: Mutant, machine_code: str) -> bool:
    """Run the tests of a mutant in a copy of the project; return whether they pass."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    settings = {
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": machine_code,
        "NUMBA_DISABLE_JIT": str(int(mutant.interpreted)),
    }
    try:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *mutant.test.split()],
            cwd=copy,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False  # it hangs, which nobody would miss
    if result.returncode not in {0, 1, 2}:
        raise RuntimeError(f"pytest could not run {mutant.test}: {result.stdout}{result.stderr}")
    return result.returncode == 0


def run(chosen: list[Mutant], jobs: int) -> list[Mutant]:
    """Return the mutants that the tests do not notice."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        ThreadPoolExecutor(jobs) as pool,
    ):
        workshop = Workshop(Path(scratch), jobs)
        distinct = list({(one.test, one.interpreted): one for one in chosen}.values())
        passing = pool.map(lambda one: workshop.passes(one, changed=False), distinct)
        failing = {
            (one.test, one.interpreted)
            for one, passes in zip(distinct, passing, strict=True)
            if not passes
        }
        for test, _ in failing:
            print(f"This fails without any change, so it notices nothing: {test}", flush=True)
        survivors = [one for one in chosen if (one.test, one.interpreted) in failing]
        chosen = [one for one in chosen if one not in survivors]
        outcomes = pool.map(lambda one: workshop.passes(one, changed=True), chosen)
        for number, (mutant, passes) in enumerate(zip(chosen, outcomes, strict=True), 1):
            word = "SURVIVED" if passes else "noticed "
            print(f"{number}/{len(chosen)} {word} {mutant.file}", flush=True)
            if passes:
                survivors.append(mutant)
    return survivors


def main() -> int:
    """Run the command line; return 1 if a mutant survives or does not apply."""
    parser = argparse.ArgumentParser(description="Put small bugs into the code and run the tests.")
    parser.add_argument("--check", action="store_true", help="only check that each still applies")
    parser.add_argument("--only", default="", help="those whose file or test contains this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at the same time")
    arguments = parser.parse_args()
    wrong = problems()
    print("\n".join(wrong) or f"All {len(mutants())} mutants apply.", flush=True)
    if wrong or arguments.check:
        return int(bool(wrong))
    chosen = [one for one in mutants() if arguments.only in one.file or arguments.only in one.test]
    survivors = run(chosen, arguments.jobs)
    for mutant in survivors:
        print(f"\nSurvived in {mutant.file}, tested by {mutant.test}:")
        print(f"- {mutant.old}\n+ {mutant.new}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants noticed.")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
