"""Snapshots decide as their learner would have, anywhere; the learner takes their decisions."""

import io
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Decision, Problem, graphs, load
from crossbandit.algorithms import (
    Algorithm,
    CrossGraphKnown,
    Exp3Set,
    Learner,
    PerContextExp3,
    Snapshot,
)
from crossbandit.core.streams import stream
from crossbandit.errors import (
    CheckpointError,
    CrossbanditError,
    ForeignDecisionError,
    InvalidParameterError,
    LearnedBeforeError,
)
from tests.cases import asymmetric, every_free_algorithm, linear, table
from tests.drivers import assert_same_but_for_scratch, clone, contexts_of, play, revealed, start

DENSE = table(asymmetric(), 80, 4, seed=1)
LINEAR = linear(asymmetric(), 60, 7, seed=2)


@every_free_algorithm
def test_every_decision_is_the_one_that_the_learner_would_make_next(algorithm: Algorithm) -> None:
    """With the same random number; and what a snapshot decides does not change its policy."""
    learner = start(algorithm, DENSE)
    play(learner, DENSE, 30)
    snapshot = learner.snapshot(seed=3)
    numbers = stream(3, "learner")
    policies = [learner.policy(c) for c in range(4)]
    for t in range(30):
        next_one = clone(learner)
        next_one.generator = np.random.default_rng()
        next_one.generator.bit_generator.state = numbers.bit_generator.state
        numbers.random()
        expected, decision = next_one.act(t % 4), snapshot.act(t % 4)
        assert (decision.arm, decision.probability) == (expected.arm, expected.probability)
        assert decision.round == 30 + t
        ours: Any = decision
        theirs: Any = expected
        np.testing.assert_array_equal(ours.weights, theirs.weights)
        assert ours.baseline == theirs.baseline
    np.testing.assert_array_equal([snapshot.policy(c) for c in range(4)], policies)
    assert learner.round == 30


@every_free_algorithm
def test_a_learner_that_decides_by_snapshots_alone_is_the_learner(algorithm: Algorithm) -> None:
    """A new snapshot for every decision, and prompt feedback: the same state to the last bit."""
    learner, twin = start(algorithm, DENSE), start(algorithm, DENSE)
    for t, context in enumerate(contexts_of(DENSE)[:40]):
        decision = learner.snapshot(seed=t).act(context)
        assert decision.probability == twin.policy(context)[decision.arm]
        rows = DENSE.losses(learner.round)[list(decision.revealed)]
        learner.learn(decision.token, rows)
        twin.learn(drawn(twin, context, decision.arm), rows)
    assert (learner.round, twin.round) == (40, 40)
    assert_same_but_for_scratch(learner, twin)


def drawn(learner: Learner, context: int, arm: int) -> Decision:
    """Let a learner play a given arm."""
    policy = learner.policy(context)
    generator = learner.generator
    learner.generator = _Fixed(policy[:arm].sum() + policy[arm] / 2)  # type: ignore[assignment]
    decision = learner.act(context)
    learner.generator = generator
    assert decision.arm == arm
    return decision


class _Fixed:
    def __init__(self, number: float) -> None:
        self._number = number

    def random(self, size: None = None) -> float:
        assert size is None
        return float(self._number)


@every_free_algorithm
def test_tokens_of_old_snapshots_keep_their_weights(algorithm: Algorithm) -> None:
    learner = start(algorithm, DENSE)
    old = learner.snapshot(seed=1)
    decisions = [old.act(c) for c in contexts_of(DENSE)[:10]]
    weights = [json.dumps(d.to_json()) for d in decisions]
    play(learner, DENSE, 40)
    assert [json.dumps(d.to_json()) for d in decisions] == weights
    for decision in decisions:
        learner.learn(decision.token, revealed(DENSE, decision))
        with pytest.raises(LearnedBeforeError):
            learner.learn(decision, revealed(DENSE, decision))
    assert learner.round == 50
    learner.check_state()


def test_a_late_token_of_a_snapshot_has_its_age() -> None:
    """With forgetting, a loss of round s counts 2^(s / half_life) times."""
    learner = CrossGraphAdaptive(half_life=5.0).start(DENSE.problem, seed=0)
    play(learner, DENSE, 10)
    snapshot = learner.snapshot(seed=0)
    decisions = [snapshot.act(0) for _ in range(3)]
    play(learner, DENSE, 20)
    for age, decision in enumerate(decisions):
        before = learner.state()["estimates"].copy()
        rows = revealed(DENSE, decision)
        learner.learn(decision.token, rows)
        carried: Any = decision
        own = list(decision.revealed)
        expected = 2.0 ** ((10 + age) / 5.0) * carried.weights[own, None] * rows
        added = learner.state()["estimates"][0, own] - before[0, own]
        np.testing.assert_allclose(added, expected, rtol=1e-9)


def test_workers_that_were_given_the_same_bytes_do_not_decide_alike() -> None:
    learner = CrossGraphAdaptive().start(Problem(graphs.complete(4), contexts=1), seed=0)
    content = learner.snapshot(seed=5).to_bytes()
    workers = [Snapshot.from_bytes(content) for _ in range(3)]
    arms = [[worker.act(0).arm for _ in range(60)] for worker in workers]
    assert arms[0] != arms[1] != arms[2] != arms[0]
    assert len({worker.id for worker in workers}) == 3
    seeded = [Snapshot.from_bytes(content, seed=9), learner.snapshot(seed=9)]
    arms = [[worker.act(0).arm for _ in range(60)] for worker in seeded]
    assert arms[0] == arms[1]
    for worker in [*workers, *seeded]:  # the same counters, and yet different decisions
        learner.learn(worker.act(0).token, np.full((4, 1), 0.5))


@pytest.mark.parametrize("environment", [DENSE, LINEAR], ids=["dense", "linear"])
@every_free_algorithm
def test_a_snapshot_comes_back_from_its_bytes(algorithm: Algorithm, environment: Any) -> None:
    learner = start(algorithm, environment)
    play(learner, environment, 25)
    learner.token_key = b"k"
    snapshot = learner.snapshot(seed=1)
    again = Snapshot.from_bytes(snapshot.to_bytes(), seed=1, key=b"k")
    assert (again.round, again.learner) == (25, learner.id)
    assert (again.algorithm, again.problem) == (algorithm, learner.problem)
    for context in contexts_of(environment)[:20]:
        one, other = snapshot.act(context), again.act(context)
        assert one == other
        learner.learn(other.token, revealed(environment, one))


def test_a_snapshot_of_a_snapshot_that_was_saved_belongs_to_the_restored_learner(
    tmp_path: Path,
) -> None:
    learner = CrossGraphAdaptive().start(DENSE.problem, seed=0)
    snapshot = learner.snapshot()
    learner.save(tmp_path / "learner")
    again = load(tmp_path / "learner")
    decision = snapshot.act(1)
    again.learn(decision.token, revealed(DENSE, decision))
    with pytest.raises(ForeignDecisionError):
        CrossGraphAdaptive().start(DENSE.problem, seed=0).expects(decision.token)


def test_learners_that_must_remember_have_no_snapshot() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"CrossGraph must remember.*CrossGraphAdaptive"
    ):
        start(CrossGraph(), DENSE).snapshot()


def test_contexts_and_masks_are_checked() -> None:
    snapshot = CrossGraphAdaptive().start(DENSE.problem, seed=0).snapshot()
    wrong: Any
    for wrong in (-1, 4, "a", None):
        with pytest.raises(CrossbanditError, match="'context'"):
            snapshot.act(wrong)
    with pytest.raises(CrossbanditError, match="'available'"):
        snapshot.act(0, np.zeros(5, dtype=bool))
    assert snapshot.act(0).round == 0
    allowed = np.array([False, False, True, False, False])
    assert snapshot.act(0, allowed).arm == 2
    assert snapshot.policy(0, allowed).tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


# ------------------------------------------------------------------------------------------- bytes


@pytest.fixture(scope="module")
def content() -> bytes:
    learner = CrossGraphAdaptive().start(Problem(graphs.threshold(3), contexts=2), seed=0)
    play_some(learner)
    return learner.snapshot().to_bytes()


def play_some(learner: Learner) -> None:
    for t in range(20):
        decision = learner.act(t % 2)
        learner.learn(decision, [[0.2 * b, 0.3] for b in decision.revealed])


def rewritten(content: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    with np.load(io.BytesIO(content)) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, header=encoded, **arrays)
    return buffer.getvalue()


CRAFTED: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "another format": lambda h, _: h.update(format="crossbandit-learner"),
    "another version": lambda h, _: h.update(version=2),
    "an entry too many": lambda h, _: h.update(more=1),
    "a learner that is no id": lambda h, _: h.update(learner="xyz"),
    "a negative round": lambda h, _: h.update(round=-1),
    "an unknown algorithm": lambda h, _: h["algorithm"].update(id="nothing"),
    "one that needs memory": lambda h, _: h.update(
        algorithm=CrossGraph(eta=0.1, gamma=0.1, rho=0.1, beta=0.1, epoch_length=2).to_json(),
        parameters={},
    ),
    "another graph": lambda h, _: h["problem"].update(graph=graphs.complete(4).to_json()),
    "many contexts": lambda h, _: h["problem"].update(contexts=10**12),
    "NaN": lambda _, a: a.update({"state.estimates": a["state.estimates"] * np.nan}),
    "short estimates": lambda _, a: a.update({"state.estimates": a["state.estimates"][:, :-1]}),
    "an index out of range": lambda _, a: a.update({"state.reference": np.array([10**9])}),
    "an unknown member": lambda _, a: a.update(extra=np.zeros(1)),
}


@pytest.mark.parametrize("craft", CRAFTED.values(), ids=CRAFTED.keys())
def test_crafted_bytes_are_refused(craft: Any, content: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"napshot"):
        Snapshot.from_bytes(rewritten(content, craft))


def test_damaged_bytes_are_refused_or_harmless(content: bytes) -> None:
    policy = Snapshot.from_bytes(content).policy(0)
    for wrong in (b"", b"text", content[:-30], content[30:], None, 3):
        with pytest.raises(CheckpointError, match="not a snapshot, or are damaged"):
            Snapshot.from_bytes(wrong)  # type: ignore[arg-type]
    refused = 0
    positions = range(0, len(content), 41)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        try:
            found = Snapshot.from_bytes(bytes(damaged))
        except CheckpointError:
            refused += 1
        else:
            np.testing.assert_array_equal(found.policy(0), policy)
    assert refused > 0.7 * len(positions)


# ------------------------------------------------------------------------------------------ merging


@pytest.mark.parametrize(
    "algorithm",
    [PerContextExp3(eta=0.2), CrossGraphKnown(eta=0.2, gamma=0.1, rho=0.1, beta=0.1)],
    ids=lambda one: one.id,
)
def test_two_merged_learners_are_one_that_learned_from_all(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    one, other, waiting = start(algorithm, DENSE, 1), start(algorithm, DENSE, 2), []
    for learner in (one, other):
        decisions = [learner.act(c) for c in contexts_of(DENSE)[:30]]
        for decision in decisions[:20]:
            learner.learn(decision, revealed(DENSE, decision))
        waiting += decisions[20:]
    estimates = one.state()["estimates"] + other.state()["estimates"]
    bias = one.state().get("bias", 0.0) + other.state().get("bias", 0.0)
    one.merge(other)
    np.testing.assert_array_equal(one.state()["estimates"], estimates)
    np.testing.assert_array_equal(one.state().get("bias", 0.0), bias)
    assert (one.round, one.pending) == (60, 20)
    for decision in waiting:
        one.learn(decision.token, revealed(DENSE, decision))
        with pytest.raises(LearnedBeforeError):
            one.learn(decision.token, revealed(DENSE, decision))
    assert (one.round, one.pending) == (60, 0)
    one.act(0)
    one.save(tmp_path / "learner")
    assert load(tmp_path / "learner").pending == 1
    for each in (other, one):
        with pytest.raises(InvalidParameterError, match="same learner, or was merged before"):
            one.merge(each)


def test_a_learner_that_remembers_pending_decisions_is_merged_after_their_feedback() -> None:
    """Both count rounds from 0, so what each remembers of a round cannot stand side by side."""
    problem = Problem(graphs.complete(3), contexts=2, horizon=100)
    one, other = (Exp3Set().start(problem, seed=seed) for seed in (1, 2))
    decision = other.act(0)
    with pytest.raises(InvalidParameterError, match="without pending decisions"):
        one.merge(other)
    other.learn(decision, np.zeros((len(decision.revealed), 2)))
    one.merge(other)
    with pytest.raises(LearnedBeforeError):
        one.learn(decision, np.zeros((len(decision.revealed), 2)))


def test_what_cannot_be_merged_is_refused() -> None:
    adaptive = [CrossGraphAdaptive().start(DENSE.problem, seed=0) for _ in range(2)]
    with pytest.raises(InvalidParameterError, match="CrossGraphAdaptive cannot be merged"):
        adaptive[0].merge(adaptive[1])
    learner = PerContextExp3(eta=0.2).start(DENSE.problem, seed=0)
    others: list[Any] = [
        PerContextExp3(eta=0.3).start(DENSE.problem, seed=0),
        PerContextExp3(eta=0.2).start(table(asymmetric(), 80, 5, seed=1).problem, seed=0),
        adaptive[0],
        None,
    ]
    for other in others:
        with pytest.raises(InvalidParameterError, match="'other' parameter of merge"):
            learner.merge(other)


# ------------------------------------------------------------------------------------------ threads


def together(*jobs: Callable[[], None]) -> None:
    """Run jobs in threads of their own, and raise what one of them raised."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


EACH = 150
ROWS = np.full((5, 4), 0.5)


def decide(learner: Learner, queue: list[Decision]) -> None:
    snapshot = learner.snapshot()
    for t in range(EACH):
        queue.append((snapshot if t % 3 == 0 else learner).act(t % 4))
        assert np.isfinite(learner.policy(t % 4)).all()


def learn(learner: Learner, queue: list[Decision]) -> None:
    for t in range(EACH):
        while len(queue) <= t:
            time.sleep(1e-4)
        token = queue[t].token if t % 2 else queue[t]
        learner.learn(token, ROWS[list(queue[t].revealed)])


def save(learner: Learner, path: Path) -> None:
    for _ in range(10):
        learner.save(path)
        load(path).check_state()


@every_free_algorithm
def test_four_threads_decide_and_four_learn(algorithm: Algorithm, tmp_path: Path) -> None:
    """Each decision counts once, and the sums are those of some order of all the steps."""
    learner = start(algorithm, DENSE)
    queues: list[list[Decision]] = [[] for _ in range(4)]
    together(
        *(partial(decide, learner, queue) for queue in queues),
        *(partial(learn, learner, queue) for queue in queues),
        partial(save, learner, tmp_path / "learner"),
    )
    assert (learner.round, learner.pending) == (4 * EACH, 0)
    learner.check_state()
    everything = [decision for queue in queues for decision in queue]
    for decision in everything:
        with pytest.raises(LearnedBeforeError):
            learner.expects(decision)
    if learner.additive_state:  # the sum of all weighted losses does not depend on the order
        expected = np.zeros(5)
        for decision in everything:
            made: Any = decision
            own = list(decision.revealed)
            expected[own] += 0.5 * made.weights[own]
        estimates = learner.state()["estimates"]
        contexts = len(estimates) if estimates.ndim == 2 or len(estimates) > 1 else 1
        found = estimates.reshape(contexts, 5, -1)[:, :, 0].sum(axis=0)  # one for each, or one
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_learner_that_remembers_works_with_threads_as_well() -> None:
    learner = start(CrossGraph(eta=0.1, gamma=0.1, rho=0.1, beta=0.1, epoch_length=4), DENSE)

    def work() -> None:
        for t in range(200):
            decision = learner.act(t % 4)
            learner.learn(decision, ROWS[list(decision.revealed)])

    together(*[work] * 4)
    assert (learner.round, learner.pending) == (800, 0)
    learner.check_state()
