"""Wrong implementations on purpose: the real kernel of Algorithm 2 with one mistake in it."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crossbandit.algorithms import CrossGraph, cross_graph
from crossbandit.kernels import epochs
from crossbandit.kernels.epochs import EpochState

_COMPILED = "from crossbandit.kernels.compilation import compiled, inlined\n"
_PLAIN = "def compiled(function):\n    return function\n\n\ninlined = compiled\n"
_PLAINLY = (_COMPILED, _PLAIN)


@dataclass(frozen=True)
class Mistake:
    """Lines that occur once in the kernel, and what to put in their place."""

    name: str
    changes: tuple[tuple[str, str], ...]


def install(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CrossGraph:
    """Let every learner of Algorithm 2 run the changed kernel, as plain Python; return a subject.

    The subject's class is new, so that nothing remembered about another one is taken for its own.
    """
    monkeypatch.setattr(cross_graph, "epochs", changed_kernel(mistake, folder, (_PLAINLY,)))
    monkeypatch.setattr(cross_graph, "empty_state", _roomy(cross_graph.empty_state))
    wrong: type[CrossGraph] = type("Mutant", (CrossGraph,), {})
    return wrong()


def install_in_loop(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CrossGraph:
    """Let simulations run the changed loop, compiled; `act` and `learn` keep the right kernel."""
    wrong_loop = changed_kernel(mistake, folder).simulate
    monkeypatch.setattr(epochs, "simulate", wrong_loop)
    wrong: type[CrossGraph] = type("LoopMutant", (CrossGraph,), {})
    return wrong()


def changed_kernel(
    mistake: Mistake, folder: Path, also: tuple[tuple[str, str], ...] = ()
) -> ModuleType:
    source = Path(epochs.__file__).read_text(encoding="utf-8")
    for old, new in (*also, *mistake.changes):
        assert source.count(old) == 1, f"The kernel no longer says {old!r}: change the mutant."
        source = source.replace(old, new)
    path = folder / "mutant.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("mutant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _roomy(original: Callable[..., EpochState]) -> Callable[..., EpochState]:
    """Make room for one more snapshot than the kernel needs: a late one has to wait somewhere."""

    def empty_state(*arguments: Any) -> EpochState:
        state = original(*arguments)
        _, arms, columns = state.estimates.shape
        return state._replace(estimates=np.zeros((4, arms, columns)), bias=np.zeros((4, arms)))

    return empty_state


NO_MISTAKE = Mistake("no mistake", ())

LATE_SNAPSHOT = Mistake(
    "a snapshot delayed by one epoch more",
    (
        ("return 1 + (epoch & 1)", "return 1 + epoch % 3"),
        (
            "following = _slot(state.epoch[0] + 1)",
            "following = _slot(state.epoch[0] + 2)",
        ),
    ),
)
UNMIXED_SNAPSHOT = Mistake(
    "r_e without uniform mixing",
    (
        ("readout, eta, rho, snapshot)", "readout, eta, 0.0, snapshot)"),
        ("slot, readout, eta, rho, out)", "slot, readout, eta, 0.0, out)"),
    ),
)
SELECTOR_ON_FREQUENCY_SAMPLE = Mistake(
    "the selector computed on the frequency sample",
    (
        (
            "_count(state, parameters, explore, round_of_pair, readout, state.mass)",
            "_count(state, parameters, explore, 1 - round_of_pair, readout, state.mass)",
        ),
    ),
)
RETAINS_TOO_MUCH = Mistake(
    "retention without its factor of a half",
    (("snapshot[arm] / (2.0 * probability)", "snapshot[arm] / probability"),),
)
LITTLE_EXPLORATION = Mistake(
    "gamma in place of 3/2 gamma", (("what + 1.5 * parameters.gamma", "what + parameters.gamma"),)
)
NO_FALLBACK = Mistake("no fallback", (("if 2.0 * out[a] < snapshot[a]:", "if False:"),))

# These are right as long as an epoch has one pair.
COUNTS_THE_LAST_PAIR_ONLY = Mistake(
    "samples of the last pair in place of all pairs",
    (("total[a] += state.snapshot[a]", "total[a] = state.snapshot[a]"),),
)
DIVIDES_BY_TWO = Mistake(
    "what divided by 2 in place of L",
    (("state.denominators[a] / parameters.epoch_length", "state.denominators[a] / 2.0"),),
)
CORRECTS_ONCE = Mistake(
    "the correction in the first pair of an epoch only",
    (("    if special >= 0:", "    if special >= 0 and round_ % parameters.epoch_length == 1:"),),
)

# This is in the loop of a simulation, which `act` and `learn` do not use.
LEARNS_THE_OTHER_ROUND = Mistake(
    "a loop that learns the losses of the other round",
    (("i - 1 + loss_side", "i - loss_side"),),
)

NO_NUMBERS = Mistake(
    "denominators that are not numbers",
    (("what + 1.5 * parameters.gamma", "what * float('nan')"),),
)
