"""A snapshot of an application as bytes, without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Learner, Snapshot
from crossbandit.applications.law_decider import LawDecider
from crossbandit.applications.law_learner import LawLearner
from crossbandit.errors import CheckpointError
from crossbandit.learners import archive
from crossbandit.learners.algorithm import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.kernels.laws.state import LawState
    from crossbandit.streams import Seed
    from crossbandit.types import Integers

_FORMAT = "crossbandit-application-snapshot"
_VERSION = 1
_LARGE = ("law", "spread")  # of these, only rows that are in use are written
_LEFT_OUT = ("told", "hidden")


def to_bytes(kind: str, settings: Mapping[str, Any], learner: Any) -> bytes:
    """Return a snapshot as bytes.

    Args:
        kind: The name of the application.
        settings: Its settings.
        learner: What decides: a `LawDecider` or a `Snapshot`.

    Raises:
        CheckpointError: The state holds NaN.
    """
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "application": kind,
        "settings": dict(settings),
    }
    members: dict[str, npt.NDArray[Any]]
    if isinstance(learner, Snapshot):
        header["algorithm"] = learner.algorithm.to_json()
        members = {"learner": np.frombuffer(learner.to_bytes(), dtype=np.uint8)}
        return archive.to_bytes(header, members, owner=kind)
    law = learner.law.settings()
    header |= {
        "learner": learner.learner,
        "levels": law["levels"],
        "class_limit": law["class_limit"],
    }
    state = learner.law.state
    rows = np.flatnonzero((state.visits > 0) | (np.arange(state.visits.size) == 0))
    members = {"rows": rows}
    for name, array in state._asdict().items():
        if name not in _LEFT_OUT:
            members[f"law.{name}"] = array[rows] if name in _LARGE else array
    if learner.guard is not None:
        members |= {f"guard.{name}": one for name, one in learner.guard.arrays().items()}
    for name, array in members.items():
        archive.check_finite(name, array)
    return archive.to_bytes(header, members, owner=kind)


def read(content: bytes, kind: str) -> archive.Archive:
    """Return the parts of a snapshot; what they hold is checked when it is taken over.

    Args:
        content: The bytes. They may come from an untrusted source.
        kind: The name of the application.

    Raises:
        CheckpointError: They are something else.
    """
    file = archive.from_bytes(content)
    found = (file.header.get("format"), file.header.get("version"), file.header.get("application"))
    if found != (_FORMAT, _VERSION, kind):
        raise CheckpointError(
            f"from_bytes needs what to_bytes of a snapshot of a {kind} returned. Got {found}."
        )
    return file


def algorithm_of(file: archive.Archive) -> Any:
    """Return what the algorithm of a snapshot is called in the settings of its application.

    Args:
        file: The parts of the snapshot.
    """
    return from_json(file.header["algorithm"]) if "algorithm" in file.header else "law"


def decider_of(
    learner: Any, file: archive.Archive, seed: Seed | None, key: bytes | None
) -> LawDecider | Snapshot:
    """Return what decides, made from the learner of a new application of the same settings.

    Args:
        learner: The new learner.
        file: The parts of the snapshot.
        seed: The seed of the random numbers; None for new ones.
        key: The key of the tokens, or None.

    Raises:
        ValueError: The parts do not fit the settings, or hold impossible numbers.
    """
    header, arrays, _ = file
    if isinstance(learner, Learner):
        inner = Snapshot.from_bytes(arrays["learner"].tobytes(), seed=seed, key=key)
        if inner.problem != learner.problem:
            raise ValueError("its settings describe another problem than its learner's")
        return inner
    if not isinstance(learner, LawLearner):
        raise ValueError("its settings describe an application without a law")  # noqa: TRY004 - of bytes
    law = learner.law
    if header["class_limit"] != law.class_limit or len(bytes.fromhex(header["learner"])) != 8:
        raise ValueError("its header is impossible")
    rows = arrays["rows"]
    size = law.state.visits.size
    right = rows.ndim == 1 and rows.dtype == np.int64 and not (np.diff(rows) <= 0).any()
    if not right or (rows.size and not 0 <= rows[0] <= rows[-1] < size):
        raise ValueError("its rows are impossible")
    parts = _state_parts(law.state, rows, arrays)
    source = type(law).restore({**law.settings(), "levels": header["levels"]}, parts)
    law.look_like(source, seed)
    guarded = learner.guard is not None
    made = LawDecider(law, guarded=guarded, learner=str(header["learner"]))
    made.token_key = key
    if made.guard is not None:
        named = {n.removeprefix("guard."): a for n, a in arrays.items() if n.startswith("guard.")}
        made.guard.restore(named)
    return made


def _state_parts(state: LawState, rows: Integers, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a law from the members of a snapshot; an earlier version lacks some."""
    parts: dict[str, Any] = {}
    for name, array in state._asdict().items():
        if name in _LEFT_OUT:
            parts[name] = np.zeros_like(array)
        elif name in _LARGE:
            parts[name] = array.copy()
            parts[name][rows] = arrays[f"law.{name}"]
        elif f"law.{name}" in arrays:
            parts[name] = arrays[f"law.{name}"]
    return parts
