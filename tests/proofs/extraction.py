"""What is extracted from `proofs/` to OCaml: the algorithms, and models of accounts and memory."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.core.types import Booleans, Floats, Integers

PROOFS = Path(__file__).parents[2] / "proofs"
_INSTALL = "apt-get install coq libcoq-mathcomp-ssreflect"


def require_coq() -> None:
    """Skip where Coq is not installed; fail there in CI, where it must be."""
    if _coq_is_installed():
        return
    reason = f"Coq with MathComp and OCaml's compiler are not installed: {_INSTALL}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _coq_is_installed() -> bool:
    if not all(map(shutil.which, ("coqc", "ocamlfind", "make"))):
        return False
    where = _run("coqc", "-where").stdout.strip()
    return (Path(where) / "user-contrib/mathcomp/ssreflect").is_dir()


def _run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def build(folder: Path, program: str = "learner") -> Path:
    """Return an executable of `proofs/extraction`; `make` keeps it while nothing changes."""
    lock = Path(tempfile.gettempdir()) / f"crossbandit-{zlib.crc32(bytes(folder))}.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # tests may run in several processes
        made = _run("make", "-s", "-C", str(folder), f"extraction/{program}")
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "extraction" / program


def build_with_mistake(folder: Path, old: str, new: str) -> Path:
    """Build the learners from a copy of the definition in which `old` is replaced by `new`."""
    text = (PROOFS / "Statement.v").read_text(encoding="utf-8")
    assert text.count(old) == 1, f"Statement.v no longer has {old!r} once: change the mistake."
    (folder / "extraction").mkdir()
    for name in ("Makefile", "extraction/Extract.v", "extraction/driver.ml"):
        shutil.copy(PROOFS / name, folder / name)
    (folder / "_CoqProject").write_text("-Q . Crossbandit\nStatement.v\n", encoding="utf-8")
    (folder / "Statement.v").write_text(text.replace(old, new), encoding="utf-8")
    return build(folder)


def run_model(executable: Path, lines: list[str]) -> list[list[str]]:
    """Return the words of the state of an extracted model after each event."""
    done = _run(str(executable), text="\n".join(lines))
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@dataclass(frozen=True, eq=False)
class Script:
    """An instance, and every number that its rounds need."""

    algorithm: int  # 1 or 2
    nu: Floats  # (M,)
    graph: Booleans  # (K, K)
    parameters: EpochParameters
    contexts: Integers  # (T,)
    uniforms: Floats  # (T, 3): arm, split, retention; only a pair's second round uses the last two
    losses: Floats  # (T, M, K)


def run_extracted(executable: Path, script: Script) -> tuple[Integers, Floats]:
    """Return the extracted learner's arms (T,), and its policies before each round (T, M, K)."""
    rounds, contexts, arms = script.losses.shape
    lines = [
        f"{script.algorithm} {contexts} {arms} {script.parameters.epoch_length // 2} {rounds}",
        _numbers(script.nu),
        *(" ".join(str(int(edge)) for edge in row) for row in script.graph),
        _numbers(list(script.parameters[:4])),
    ]
    for context, uniforms, losses in zip(
        script.contexts, script.uniforms, script.losses, strict=True
    ):
        lines.append(f"{context} {_numbers(uniforms)} {_numbers(losses)}")
    done = _run(str(executable), text="\n".join(lines))
    assert done.returncode == 0, done.stderr
    rows = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float64)
    return rows[:, 0].astype(np.int64), rows[:, 1:].reshape(rounds, contexts, arms)


def _numbers(values: Floats | list[float]) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(values))
