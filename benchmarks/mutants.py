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
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.core.building import CORES, INTERPRETED, fingerprint, load_all

if TYPE_CHECKING:
    from collections.abc import Iterable

PROJECT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
_SECONDS = 900


class Mutant(NamedTuple):
    """One change.

    Attributes:
        file: The file, relative to `src/crossbandit`.
        old: A text that the file contains exactly once.
        new: What takes its place.
        test: The tests that must notice it, as pytest takes them, separated by blanks.
    """

    file: str
    old: str
    new: str
    test: str

    @property
    def interpreted(self) -> bool:
        """Whether the test runs with the sources of cores.

        A compiled core refuses to run beside a changed source, which would look as if the test had
        noticed the change. To compile it again would take longer than to interpret a short test.
        """
        return self.file.removesuffix(".py").replace("/", ".") in CORES


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
        self._copies: SimpleQueue[Path] = SimpleQueue()
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "results", ".*_cache")
        for number in range(jobs):
            copy = folder / f"project-{number}"
            shutil.copytree(PROJECT, copy, ignore=ignored)
            self._copies.put(copy)

    def failures(self, tests: Iterable[str], *, interpreted: bool) -> str:
        """Return what pytest says of the tests that fail without a change; nothing if all pass."""
        copy = self._copies.get()
        try:
            return _run(copy, tests, interpreted=interpreted)
        finally:
            self._copies.put(copy)

    def is_noticed(self, mutant: Mutant) -> bool:
        """Return whether a test of a mutant fails with it."""
        copy = self._copies.get()
        path = copy / "src" / "crossbandit" / mutant.file
        text, state = path.read_text(encoding="utf-8"), path.stat()
        try:
            path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
            tests = ["-x", *mutant.test.split()]
            return bool(_run(copy, tests, interpreted=mutant.interpreted))
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # so that caches stay valid
            self._copies.put(copy)


def _run(copy: Path, tests: Iterable[str], *, interpreted: bool) -> str:
    """Run tests in a copy of the project; return what pytest says, or nothing if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    settings = {
        "PYTHONPATH": str(copy / "src"),
        INTERPRETED: "1" if interpreted else "",
    }
    try:
        result = subprocess.run(
            [*command, *tests],
            cwd=copy,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "It hangs."
    if result.returncode not in {0, 1, 2}:
        raise RuntimeError(f"pytest could not run: {result.stdout}{result.stderr}")
    return result.stdout if result.returncode else ""


def run(chosen: list[Mutant], jobs: int) -> list[Mutant]:
    """Return the mutants that the tests do not notice.

    Raises:
        RuntimeError: A test fails without any change.
    """
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        workshop = Workshop(Path(scratch), jobs)
        for interpreted in (False, True):
            alike = [one.test.split() for one in chosen if one.interpreted == interpreted]
            tests = dict.fromkeys(chain.from_iterable(alike))
            if tests and (said := workshop.failures(tests, interpreted=interpreted)):
                raise RuntimeError(f"Tests fail without any change:\n{said[-2000:]}")
        survivors = []
        outcomes = pool.map(workshop.is_noticed, chosen)
        for number, (mutant, noticed) in enumerate(zip(chosen, outcomes, strict=True), 1):
            word = "noticed " if noticed else "SURVIVED"
            print(f"{number}/{len(chosen)} {word} {mutant.file}", flush=True)
            if not noticed:
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
    load_all()  # which refuses machine code of other sources
    print(f"Cores: {fingerprint()}.", flush=True)
    survivors = run(chosen, arguments.jobs)
    for mutant in survivors:
        print(f"\nSurvived in {mutant.file}, tested by {mutant.test}:")
        print(f"- {mutant.old}\n+ {mutant.new}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants noticed.")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
