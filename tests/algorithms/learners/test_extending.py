"""What your own algorithm relies on: public methods, types, sampling, checks of its state."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, assert_type

import numpy as np
import pandas as pd
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Decision, Learner, Problem, graphs
from crossbandit.algorithms import Algorithm, PendingDecision, register
from crossbandit.algorithms.tuning import Rule
from crossbandit.core.types import Floats
from crossbandit.errors import (
    CheckFailedError,
    CheckpointError,
    InvalidContextError,
    InvalidLossesError,
)
from crossbandit.verify.checks import check_algorithm
from tests.cases import PAIRED, every_algorithm, name, table
from tests.drivers import assert_same_state, clone, play, start

ENVIRONMENT = table(graphs.threshold(4), 100, 3, seed=1)


# ------------------------------------------------------------------------------------- sampling


class Sampling(Learner[Any]):
    samples_only = True

    def __init__(self, algorithm: Any, problem: Problem, seed: Any) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.sums = np.zeros((problem.arms, problem.form.columns))

    def sample(self, context: Any, readout: Any, generator: np.random.Generator) -> int:
        del context
        noisy = readout.losses(self.sums, range(self.problem.arms)) + generator.gumbel(
            size=self.problem.arms
        )
        return int(np.argmin(np.where(readout.may_play(noisy.size), noisy, np.inf)))

    def update(self, pending: Any, rows: Floats) -> None:
        self.add(self.sums, pending, rows)

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums}


class Claiming(Sampling):
    """Claims to know a probability."""

    def play(self, pending: Any) -> float:
        super().play(pending)
        return 0.5


class Different(Sampling):
    """Plays otherwise than it samples."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        available = pending.readout.may_play(self.problem.arms)
        pending.arm = int(np.flatnonzero(available)[0])
        return probability


@register
@dataclass(frozen=True, kw_only=True)
class Sampled(Algorithm):
    """Starts whatever learner is under test."""

    id: ClassVar[str] = "sampled"
    learner: ClassVar[type[Sampling]] = Sampling

    def start(self, problem: Problem, *, seed: Any) -> Sampling:
        return self.learner(self, problem, seed)


def test_a_learner_that_only_samples_passes_the_checks() -> None:
    check_algorithm(Sampled())


@pytest.mark.parametrize(
    ("learner", "message"),
    [(Claiming, "although samples_only is True"), (Different, "act played the arms with freq")],
)
def test_a_broken_sampler_is_caught(
    learner: type[Sampling], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sampled, "learner", learner)
    with pytest.raises(CheckFailedError, match=message):
        check_algorithm(Sampled())


def test_an_unknown_probability_survives_json() -> None:
    decision = start(Sampled(), ENVIRONMENT).act(1)
    data = json.loads(json.dumps(decision.to_json(), allow_nan=False))
    assert data["probability"] is None
    assert np.isnan(Decision.from_json(data).probability)


def test_a_learner_without_a_policy_says_what_to_override() -> None:
    class Nothing(Sampling):
        samples_only = False

    with pytest.raises(NotImplementedError, match="override distribution, or set samples_only"):
        Nothing(Sampled(), ENVIRONMENT.problem, 0).act(0)


# ---------------------------------------------------------------------------------------- types


class Typed(Learner[CrossGraph]):
    """mypy checks these types with the rest of the tests."""

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        del rows
        assert_type(self.algorithm.eta, float | None)
        assert_type(self.algorithm.tuning, Rule)
        assert_type(self.reveals(pending.arm), Sequence[int])

    def state(self) -> dict[str, Any]:
        return {}


def test_a_learner_knows_the_type_of_its_algorithm() -> None:
    learner = Typed(CrossGraph(eta=0.1), ENVIRONMENT.problem, seed=0)
    assert learner.algorithm.eta == 0.1


@pytest.mark.parametrize(
    "method",
    [
        "distribution",
        "sample",
        "play",
        "update",
        "state",
        "check_state",
        "add",
        "reveals",
        "readout",
    ],
)
def test_extension_points_are_public_and_documented(method: str) -> None:
    assert "Args:" in (getattr(Learner, method).__doc__ or "") or method in {"state", "check_state"}


# ---------------------------------------------------------------------- a state read from a file


@every_algorithm
def test_a_good_state_passes(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    learner.check_state()
    play(learner, ENVIRONMENT, 51)
    learner.check_state()


@every_algorithm
def test_numbers_that_are_not_finite_are_refused(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    play(learner, ENVIRONMENT, 51)
    learner.state()["estimates"].flat[0] = np.nan
    with pytest.raises(CheckpointError, match="'estimates' holds numbers that are not finite"):
        learner.check_state()


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epoch", 10**12),
        ("epoch", -1),
        ("special", 4),
        ("special", -2),
        ("pair_offset", 3),
        ("pair_offset", -1),
        ("pair_restricted", 5),
        ("denominators", 0),
    ],
)
def test_an_index_out_of_range_is_refused(algorithm: Algorithm, field: str, value: int) -> None:
    learner = start(algorithm, ENVIRONMENT)
    play(learner, ENVIRONMENT, 61)
    learner.state()[field][0] = value
    with pytest.raises(CheckpointError, match=field):
        learner.check_state()


@pytest.mark.parametrize(
    ("field", "value"), [("reference", -1), ("reference", 10**9), ("shown", 1)]
)
def test_the_adaptive_state_is_checked_too(field: str, value: int) -> None:
    learner = start(CrossGraphAdaptive(), ENVIRONMENT)
    play(learner, ENVIRONMENT, 20)
    learner.state()[field][0] = value
    with pytest.raises(CheckpointError, match=field):
        learner.check_state()


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_remembered_decisions_are_checked(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    decision = learner.act(0)
    pending = learner._pending[decision.round]
    for change in ({"arm": 4}, {"arm": -1}, {"baseline": np.inf}):
        twin = clone(learner)
        twin._pending[pending.round].sealed = False
        for field, value in change.items():
            setattr(twin._pending[pending.round], field, value)
        with pytest.raises(CheckpointError, match="of round 0"):
            twin.check_state()


# ------------------------------------------------------------------------------ masked and framed


@every_algorithm
def test_masked_input_is_refused(algorithm: Algorithm) -> None:
    learner = start(algorithm, ENVIRONMENT)
    twin = clone(learner)
    if algorithm.takes_availability:
        available = np.ma.MaskedArray([True] * 4, mask=[False, True, False, False])
        with pytest.raises(InvalidContextError, match="none is masked"):
            learner.act(0, available)
    decision, same = learner.act(0), twin.act(0)
    hidden = np.ma.MaskedArray([0.5] * 3, mask=[False, True, False])
    for losses in (dict.fromkeys(decision.revealed, hidden), [hidden for _ in decision.revealed]):
        with pytest.raises(InvalidLossesError):
            learner.learn(decision, losses)
    rows = np.full((len(decision.revealed), 3), 0.5)
    learner.learn(decision, rows)
    twin.learn(same, rows)
    assert_same_state(learner, twin)


def test_a_masked_feature_vector_is_refused() -> None:
    learner = CrossGraph(eta=0.1, gamma=0.1, rho=0.1, beta=0.1, epoch_length=4).start(
        Problem(graphs.complete(2), features=2), seed=0
    )
    with pytest.raises(InvalidContextError, match="none of them masked"):
        learner.act(np.ma.MaskedArray([1.0, 0.5], mask=[False, True]))


@every_algorithm
def test_data_frames_by_arm_are_learned_like_their_rows(algorithm: Algorithm) -> None:
    framed, plain = (start(algorithm, ENVIRONMENT) for _ in range(2))
    for t in range(40):
        one, other = framed.act(t % 3), plain.act(t % 3)
        rows = ENVIRONMENT.losses(t)[list(one.revealed)]
        frames = {
            b: pd.DataFrame([row], columns=list("cab"))
            for b, row in zip(one.revealed, rows, strict=True)
        }
        framed.learn(one, frames)
        plain.learn(other, rows)
    assert_same_state(framed, plain)


# ------------------------------------------------------------------------------ what learn is given


@every_algorithm
def test_losses_that_change_after_they_were_checked_are_not_kept(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if another thread wrote NaN into the array while `learn` runs."""
    learner = start(algorithm, ENVIRONMENT)
    given: list[Floats] = []
    original = learner.problem.form.check

    def spoil(rows: Floats, *arguments: Any) -> None:
        original(rows, *arguments)
        given[-1][:] = np.nan

    monkeypatch.setattr(learner.problem.form, "check", spoil)
    for t in range(40):
        decision = learner.act(t % 3)
        given.append(ENVIRONMENT.losses(t)[list(decision.revealed)])
        learner.learn(decision, given[-1])
    learner.check_state()


@every_algorithm
def test_read_only_losses_are_learned_like_writable_ones(algorithm: Algorithm) -> None:
    writable, read_only = (start(algorithm, ENVIRONMENT) for _ in range(2))
    for t in range(60):
        one, other = writable.act(t % 3), read_only.act(t % 3)
        rows = ENVIRONMENT.losses(t)[list(one.revealed)]
        writable.learn(one, rows)
        rows.flags.writeable = False
        read_only.learn(other, rows)
    assert_same_state(writable, read_only)
