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

from crossbandit.algorithms.certified_core import CertifiedParameters
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


def build_with_mistake(folder: Path, old: str, new: str, *, file: str = "Statement.v") -> Path:
    """Build the learners from a copy of their definition in which `old` is replaced by `new`."""
    text = (PROOFS / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} no longer has {old!r} once: change the mistake."
    (folder / "extraction").mkdir()
    definitions = ("Statement.v", "Learner.v")
    for name in ("Makefile", "extraction/Extract.v", "extraction/driver.ml", *definitions):
        shutil.copy(PROOFS / name, folder / name)
    project = "-Q . Crossbandit\n" + "\n".join(definitions)
    (folder / "_CoqProject").write_text(project, encoding="utf-8")
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
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


@dataclass(frozen=True, eq=False)
class CertifiedScript:
    """An instance for the certified learner, and every number that its rounds need."""

    parameters: CertifiedParameters
    loops: Booleans  # (K,), the arms with a self-loop in every graph
    dominating: list[int]
    graphs: Booleans  # (1 or M or T, K, K)
    contexts: Integers  # (T,)
    uniforms: Floats  # (T, 2): arm and lot
    losses: Floats  # (T, M, K)


def run_certified(executable: Path, script: CertifiedScript) -> tuple[Integers, Floats, Floats]:
    """Return arms (T,), certificates after each round (T,), and policies before it (T, M, K)."""
    given, (rounds, contexts, arms) = script.parameters, script.losses.shape
    longest = given.block if given.by_round else given.memory // 8
    lines = [
        f"3 {contexts} {arms} {rounds}",
        f"{given.alpha} {given.coins} {given.slots} {longest} {given.block} {given.by_round:d}",
        " ".join(str(int(loop)) for loop in script.loops),
        " ".join(map(str, [len(script.dominating), *script.dominating])),
        f"{len(script.graphs)} {' '.join(str(int(edge)) for edge in script.graphs.ravel())}",
    ]
    for context, uniforms, losses in zip(
        script.contexts, script.uniforms, script.losses, strict=True
    ):
        lines.append(f"{context} {_numbers(uniforms)} {_numbers(losses)}")
    rows = np.array(run_model(executable, lines), dtype=np.float64)
    arms_played = rows[:, 0].astype(np.int64)
    return arms_played, rows[:, 1], rows[:, 2:].reshape(rounds, contexts, arms)


def _numbers(values: Floats | list[float]) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(values))
