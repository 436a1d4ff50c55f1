"""The problem and the state of a learner in a file: written, read, and given to a new learner."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.learners.archive import check_finite
from crossbandit.problem import Problem
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.learners.algorithm import Algorithm
    from crossbandit.learners.learner import Learner


# Parts of a problem that may be large: they are stored as arrays, not in the header.
PROBLEM_ARRAYS = ("features", "context_distribution", "context_sample")

# A file that claims more arms, contexts or features than this has at least a byte for each.
SMALL = 10_000
_LAST_ROUND = 2**62


def write_problem(problem: Problem, members: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return a problem in a form that `json` can write; its large parts become members.

    Args:
        problem: The problem.
        members: The arrays of the file, to which parts of the problem are added.
    """
    data = problem.parts()
    for name in PROBLEM_ARRAYS:
        if isinstance(data[name], np.ndarray):
            members[f"problem.{name}"] = data.pop(name)
    return data


def read_problem(
    data: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]], largest: int
) -> Problem:
    """Return what `write_problem` wrote.

    Args:
        data: What it returned.
        arrays: The arrays of the file.
        largest: The largest number of arms, contexts or features that the file can hold.

    Raises:
        ValueError: The problem is not possible.
    """
    for name, size in (("arms", data["graph"]["arms"]), *data.items()):
        if name in ("arms", "contexts", "features") and isinstance(size, int) and size > largest:
            raise ValueError(f"it claims {size} {name}, more than a file of its size can hold")
    beside = {
        name: arrays[f"problem.{name}"] for name in PROBLEM_ARRAYS if f"problem.{name}" in arrays
    }
    return Problem.from_json({**data, **beside})


def fill(
    state: Mapping[str, npt.NDArray[Any]],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    scratch_missing: bool = False,
) -> None:
    """Fill the arrays of a state with those of a file.

    Args:
        state: What `Learner.state` returned.
        arrays: The arrays of the file, by name.
        scratch_missing: Whether arrays may be missing.

    Raises:
        ValueError: An array has another shape or type, or is not finite.
    """
    for name, array in state.items():
        if scratch_missing and f"state.{name}" not in arrays:
            continue
        stored = arrays[f"state.{name}"]
        if stored.shape != array.shape or stored.dtype != array.dtype:
            raise ValueError(
                f"{name} has shape {stored.shape} and type {stored.dtype} instead of "
                f"{array.shape} and {array.dtype}"
            )
        check_finite(f"state.{name}", stored, array)
        array[...] = stored


def restarted(algorithm: Algorithm, parameters: dict[str, Any], problem: Problem) -> Learner:
    """Start a learner with the parameters of a file: the rule that set them may have changed.

    Args:
        algorithm: The algorithm as its user gave it.
        parameters: What `Learner.tuned` returned.
        problem: The problem.

    Returns:
        The learner, at round 0.
    """
    own = {field.name for field in fields(algorithm)}
    tuned = replace(algorithm, **{k: v for k, v in parameters.items() if k in own})
    learner = tuned.start(problem, seed=0)
    learner.algorithm = algorithm
    return learner


def last_round(number: object) -> int:
    """Return a number of rounds that was read from a file, as an int.

    Raises:
        InvalidParameterError: It is not a possible number of rounds.
    """
    return integer("checkpoint", "round", number, at_least=0, at_most=_LAST_ROUND)
