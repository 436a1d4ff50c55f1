"""Small bugs that the tests must notice.

`mutants.toml` lists small changes of the source. Each is applied to a copy of the project, and the
test that must notice it is run. A mutant that no test notices has survived.

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
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
_SECONDS = 600


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
            found.append(f"{mutant.file}: found {count} times, not once: {mutant.old!r}")
        tests = [test.partition("::")[0] for test in mutant.test.split()]
        found += [f"There is no {test}" for test in tests if not (project / test).is_file()]
    return found


def run(chosen: list[Mutant]) -> list[Mutant]:
    """Apply each mutant to a copy of the project; return those that the tests do not notice."""
    survivors = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "project"
        ignored = shutil.ignore_patterns(".git", ".venv", "results", ".*_cache")
        shutil.copytree(PROJECT, copy, ignore=ignored)
        for number, mutant in enumerate(chosen, 1):
            noticed = _is_noticed(copy, mutant)
            print(f"{number}/{len(chosen)} {'noticed ' if noticed else 'SURVIVED'} {mutant.file}")
            if not noticed:
                survivors.append(mutant)
    return survivors


def _is_noticed(project: Path, mutant: Mutant) -> bool:
    """Return whether the test of a mutant fails with it; the file is as before afterwards."""
    path = project / "src" / "crossbandit" / mutant.file
    text, state = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", *mutant.test.split()]
        environment = {**os.environ, "PYTHONPATH": str(project / "src")}
        result = subprocess.run(
            command,
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True  # it hangs, which nobody would miss
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # so that caches stay valid
    if result.returncode not in {0, 1, 2}:
        raise RuntimeError(f"pytest could not run {mutant.test}: {result.stdout}{result.stderr}")
    return result.returncode != 0


def main() -> int:
    """Run the command line; return 1 if a mutant survives or does not apply."""
    parser = argparse.ArgumentParser(description="Put small bugs into the code and run the tests.")
    parser.add_argument("--check", action="store_true", help="only check that each still applies")
    parser.add_argument("--only", default="", help="those whose file or test contains this text")
    arguments = parser.parse_args()
    wrong = problems()
    print("\n".join(wrong) or f"All {len(mutants())} mutants apply.")
    if wrong or arguments.check:
        return int(bool(wrong))
    chosen = [one for one in mutants() if arguments.only in one.file or arguments.only in one.test]
    survivors = run(chosen)
    for mutant in survivors:
        print(f"\nSurvived in {mutant.file}, tested by {mutant.test}:")
        print(f"- {mutant.old}\n+ {mutant.new}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants noticed.")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
