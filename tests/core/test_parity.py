"""Every algorithm plays and learns the same to the bit, compiled and interpreted."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import crossbandit
from crossbandit import graphs, simulate
from crossbandit.algorithms import Algorithm
from crossbandit.core.building import INTERPRETED
from crossbandit.environments import BlockEnvironment, cycling_graphs
from crossbandit.errors import CrossbanditError
from tests.cases import EVERY_ALGORITHM, asymmetric, linear, name, table
from tests.drivers import play, start

ROUNDS = 120


def cases() -> Iterator[tuple[str, BlockEnvironment]]:
    """Yield small environments: both forms of losses, arms without self-loop, changing graphs."""
    yield "dense", table(asymmetric(), ROUNDS, 3, seed=4)
    yield "linear", linear(graphs.threshold(4), ROUNDS, 5, seed=5)
    changing = [asymmetric(), graphs.loopless_clique(5)]
    yield "changing", cycling_graphs(table(asymmetric(), ROUNDS, 3, seed=6), changing)


def found(algorithm: Algorithm, environment: Any) -> dict[str, Any] | str:
    """Return what an algorithm played and learned: in a simulation, then by act and learn."""
    try:
        learner: Any = start(algorithm, environment)
        run = simulate(algorithm, environment, seed=1)
    except CrossbanditError as error:
        return type(error).__name__  # it cannot play this environment
    played = {"arms": run.arms, "losses": run.losses}
    if environment.problem.graph_kind == "fixed":
        play(learner, environment, 50)
        played |= {key: np.array(array) for key, array in learner.state().items()}
    return played


def everything() -> dict[tuple[str, str], dict[str, Any] | str]:
    return {
        (label, name(algorithm)): found(algorithm, environment)
        for label, environment in cases()
        for algorithm in EVERY_ALGORITHM
    }


SCRIPT = """
import pickle, sys
sys.modules["cython"] = None  # as where Cython is not installed
import crossbandit
from tests.core.test_parity import everything
assert not crossbandit.compiled
sys.stdout.buffer.write(pickle.dumps(everything()))
"""


@pytest.mark.skipif(not crossbandit.compiled, reason="there is no machine code to compare with")
def test_interpreted_and_compiled_agree_to_the_bit() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, INTERPRETED: "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        stdout=subprocess.PIPE,
        timeout=900,
    )
    interpreted, compiled = pickle.loads(done.stdout), everything()  # noqa: S301
    assert interpreted.keys() == compiled.keys()
    for case, one in compiled.items():
        other = interpreted[case]
        if isinstance(one, str):
            assert one == other, case
            continue
        assert one.keys() == other.keys(), case
        for part, array in one.items():
            np.testing.assert_array_equal(array, other[part], err_msg=f"{case}: {part}")
    played = [case for case, one in compiled.items() if not isinstance(one, str)]
    assert {case[1] for case in played} == {name(algorithm) for algorithm in EVERY_ALGORITHM}
