"""One file, written atomically: a resumed learner plays on arm for arm; a damaged file says so."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, Decision, FeedbackGraph, Problem, graphs, load, tuning
from crossbandit.algorithms import Algorithm, CrossGraphKnown, Learner
from crossbandit.algorithms.checkpoints import VERSION
from crossbandit.environments import BlockEnvironment
from crossbandit.errors import CheckpointError, DecisionError
from tests.cases import PAIRED, asymmetric, every_algorithm, linear, name, table
from tests.learners import assert_same_state, contexts_of, play, revealed, start

DENSE = table(asymmetric(), 60, 4, seed=1)
LINEAR = linear(asymmetric(), 60, 7, seed=2)

FORMS = pytest.mark.parametrize("environment", [DENSE, LINEAR], ids=["dense", "linear"])


def straggling(
    learner: Learner, environment: BlockEnvironment, rounds: range, out: list[Decision]
) -> list[int]:
    """Play `rounds`; each round's feedback comes three rounds late, every fifth one's never.

    At an odd delay, old feedback arrives while a pair is open, and is held.
    """
    arms = []
    for context in contexts_of(environment)[rounds.start : rounds.stop]:
        decision = learner.act(context)
        arms.append(decision.arm)
        out.append(decision)
        late = out[-4] if len(out) >= 4 else None
        if late is not None and late.round % 5:
            learner.learn(late, revealed(environment, late))
    return arms


def resumed(learner: Learner, folder: Path) -> Learner:
    learner.save(folder / "learner")
    return load(folder / "learner")


# ------------------------------------------------------------------------------------ resuming


@FORMS
@every_algorithm
def test_a_resumed_learner_plays_on_exactly(
    algorithm: Algorithm, environment: BlockEnvironment, tmp_path: Path
) -> None:
    """Stopped at every round, in and between pairs and epochs, with feedback pending and held."""
    for stop in range(25):
        learner = start(algorithm, environment)
        out: list[Decision] = []
        straggling(learner, environment, range(stop), out)
        again = resumed(learner, tmp_path)
        assert_same_state(again, learner)
        assert (again.round, again.pending) == (stop, learner.pending)
        assert again.id != learner.id
        rest = range(stop, 60)
        out_again = list(out)
        assert straggling(again, environment, rest, out_again) == straggling(
            learner, environment, rest, out
        )
        assert_same_state(again, learner)


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
def test_a_held_and_an_open_round_are_kept(algorithm: Algorithm, tmp_path: Path) -> None:
    learner: Any = start(algorithm, DENSE)
    decisions = [learner.act(context) for context in contexts_of(DENSE)[:41]]
    held = [d for d in decisions if learner._pending[d.round].weights is not None]
    for decision in (held[0], decisions[-1]):
        learner.learn(decision, revealed(DENSE, decision))
    again: Any = resumed(learner, tmp_path)
    assert [held.round for held in again._held] == [held[0].round, 40]
    assert again._open.round == 40
    assert again._open is again._held[1]
    context = contexts_of(DENSE)[41]
    assert again.act(context)._replace(learner="") == learner.act(context)._replace(learner="")
    assert_same_state(again, learner)


@every_algorithm
def test_a_loaded_learner_knows_its_old_decisions_and_no_others(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    learner = start(algorithm, DENSE)
    learned, pending = (learner.act(context) for context in contexts_of(DENSE)[:2])
    learner.learn(learned, revealed(DENSE, learned))
    again = resumed(learner, tmp_path)
    again.learn(pending, revealed(DENSE, pending))
    for decision in (learned, pending):
        with pytest.raises(DecisionError, match="learned from before"):
            again.learn(decision, revealed(DENSE, decision))
    stranger = start(algorithm, DENSE)
    with pytest.raises(DecisionError, match="another learner"):
        again.learn(stranger.act(0), revealed(DENSE, learned))


@every_algorithm
def test_a_decision_made_after_the_checkpoint_is_not_the_resumed_learners(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    learner = start(algorithm, DENSE)
    path = tmp_path / "checkpoint"
    learner.save(path)
    stale = learner.act(0)
    again = load(path)
    own = again.act(0)
    assert own.arm == stale.arm
    with pytest.raises(DecisionError, match="after the checkpoint"):
        again.learn(stale, revealed(DENSE, stale))
    again.learn(own, revealed(DENSE, own))


def test_parameters_come_back_whatever_the_rule_says_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner: Any = start(CrossGraph(), DENSE)
    path = tmp_path / "checkpoint"
    learner.max_pending = 7
    learner.save(path)
    monkeypatch.setattr(tuning, "experiment_rate", lambda _: 0.123)
    assert CrossGraph().parameters(DENSE.problem).eta == 0.123
    again: Any = load(path)
    assert again.parameters == learner.parameters
    assert again.algorithm == CrossGraph()
    assert again.max_pending == 7


@FORMS
@every_algorithm
def test_the_algorithm_and_the_problem_come_back(
    algorithm: Algorithm, environment: BlockEnvironment, tmp_path: Path
) -> None:
    learner = start(algorithm, environment)
    again = resumed(learner, tmp_path)
    assert again.algorithm == algorithm
    assert again.problem == learner.problem
    assert type(again) is type(learner)


def test_a_problem_of_vectors_without_horizon_comes_back(tmp_path: Path) -> None:
    algorithm = CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=4)
    learner = algorithm.start(Problem(graphs.threshold(3), features=2), seed=1)
    for t in range(9):
        decision = learner.act([1.0, t / 9])
        learner.learn(decision, np.full((len(decision.revealed), 2), 0.3))
    late = learner.act((1.0, 0.5))
    again = resumed(learner, tmp_path)
    for other in (learner, again):
        other.learn(late, np.full((len(late.revealed), 2), 0.3))
    np.testing.assert_array_equal(again.policy([1.0, 0.7]), learner.policy([1.0, 0.7]))
    assert_same_state(again, learner)


def test_the_law_of_the_contexts_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    law = np.random.default_rng(0).dirichlet(np.ones(50))
    problem = Problem(graphs.complete(3), contexts=50, horizon=10, context_distribution=law)
    again = resumed(CrossGraphKnown().start(problem, seed=0), tmp_path)
    np.testing.assert_array_equal(np.asarray(again.problem.context_distribution), law)


def test_saving_changes_nothing(tmp_path: Path) -> None:
    learner, twin = start(CrossGraph(), DENSE), start(CrossGraph(), DENSE)
    play(learner, DENSE, 31)
    play(twin, DENSE, 31)
    learner.save(tmp_path / "learner")
    assert_same_state(learner, twin)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_may_be_text(as_text: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "learner.ckpt") if as_text else tmp_path / "learner.ckpt"
    start(CrossGraph(), DENSE).save(path)
    assert load(path).round == 0


# ----------------------------------------------------------------------------------- the file


def test_the_file_is_plain_arrays_and_json(tmp_path: Path) -> None:
    learner = start(CrossGraph(), DENSE)
    straggling(learner, DENSE, range(31), [])
    learner.save(tmp_path / "learner")
    with np.load(tmp_path / "learner", allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    assert all(array.dtype.kind in "fiub" for array in arrays.values())
    header = json.loads(arrays["header"].tobytes())
    assert (header["format"], header["version"]) == ("crossbandit-learner", VERSION)


def test_a_file_that_holds_a_pickle_is_refused_unopened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "bare").write_bytes(pickle.dumps(Trap()))
    np.savez(tmp_path / "packed.npz", header=np.array([Trap()], dtype=object))
    for file in ("bare", "packed.npz"):
        with pytest.raises(CheckpointError):
            load(tmp_path / file)
    assert not (tmp_path / "sprung").exists()


def fail(*_: Any) -> None:
    raise OSError("no space left on device")


@pytest.mark.parametrize("broken", ["fsync", "replace", "rename"])
def test_a_write_that_fails_leaves_the_old_file(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learner"
    learner = start(CrossGraph(), DENSE)
    learner.save(path)
    before = path.read_bytes()
    play(learner, DENSE, 20)
    if broken == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:  # whichever of the two moves the file into place
        monkeypatch.setattr(os, "replace", fail)
        monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="no space left"):
        learner.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    learner.save(path)
    assert load(path).round == 20


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "learner"
    learner = start(CrossGraph(), DENSE)
    learner.save(path)
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert load(path).round == 0


def test_a_folder_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start(CrossGraph(), DENSE).save(tmp_path / "nowhere" / "learner")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


# ------------------------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a small checkpoint with tickets of every kind in it."""
    environment = table(graphs.loopless_clique(2), 40, 2, seed=0)
    algorithm = CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=2)
    learner: Any = start(algorithm, environment)
    decisions = [learner.act(context) for context in contexts_of(environment)[:31]]
    kept = [d for d in decisions if learner._pending[d.round].weights is not None]
    for decision in (*kept[:2], decisions[-1]):
        learner.learn(decision, revealed(environment, decision))
    assert learner._held
    assert learner._open is not None
    path = tmp_path_factory.mktemp("checkpoint") / "learner"
    learner.save(path)
    return path.read_bytes()


def test_a_truncated_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "learner"
    lengths = {*range(0, len(content), 97), *range(100), *range(len(content) - 100, len(content))}
    for length in sorted(lengths):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="learner"):
            load(path)


def test_a_flipped_bit_is_refused_or_does_not_matter(content: bytes, tmp_path: Path) -> None:
    """The container has a few bytes without meaning, such as dates; nothing else may pass."""
    path = tmp_path / "learner"
    path.write_bytes(content)
    intact: Any = load(path)
    passed = 0
    positions = range(0, len(content), 7)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            learner: Any = load(path)
        except CheckpointError:
            continue
        passed += 1
        assert_same_state(learner, intact)
        assert tickets(learner) == tickets(intact)
    assert passed < 0.25 * len(positions)


def tickets(learner: Any) -> str:
    return repr(learner.remembered()) + repr(learner.problem.to_json())


def archive(header: Any, **arrays: Any) -> bytes:
    """Return a file in the right container, with a header of one's own."""
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, header=encoded, **arrays)
    return buffer.getvalue()


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for member, text in members.items():
            file.writestr(member, text)
    return buffer.getvalue()


def bare_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


FOREIGN: dict[str, bytes] = {
    "empty": b"",
    "text": b"round,arm\n0,1\n",
    "zeros": bytes(1000),
    "json": b'{"format": "crossbandit-learner", "version": 1}',
    "an array": bare_array(),
    "an empty zip": zipped(),
    "a zip of text": zipped(header="hello"),
    "a zip of arrays": archive({"some": "thing"}),
    "a header that is no mapping": archive(["crossbandit-learner", 1]),
    "another format": archive({"format": "crossbandit-study", "version": 1}),
    "no version": archive({"format": "crossbandit-learner"}),
    "a version of words": archive({"format": "crossbandit-learner", "version": "1"}),
    "a version before the first": archive({"format": "crossbandit-learner", "version": 0}),
    "nothing but a header": archive({"format": "crossbandit-learner", "version": VERSION}),
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN.keys())
def test_what_is_not_a_checkpoint_is_refused(foreign: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some file"
    path.write_bytes(foreign)
    with pytest.raises(CheckpointError, match="some file"):
        load(path)


def rewritten(content: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """Return a checkpoint with a valid checksum in which something was changed."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    return archive(header, **arrays)


def set_in(*keys: str, to: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


def cut(key: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[key] = arrays[key][:-1]

    return change


CHANGES = {
    "no problem": lambda header, _: header.pop("problem"),
    "no tickets": lambda header, _: header.pop("tickets"),
    "no estimates": lambda _, arrays: arrays.pop("state.estimates"),
    "short estimates": cut("state.estimates"),
    "short rows of held feedback": cut("tickets.rows"),
    "short weights": cut("tickets.weights"),
    "an unknown algorithm": set_in("algorithm", "id", to="cross-graf"),
    "a parameter out of range": set_in("algorithm", "rho", to=7.0),
    "an unknown parameter": set_in("algorithm", "kappa", to=1.0),
    "another graph": set_in("problem", "graph", to=graphs.complete(3).to_json()),
    "no graph": set_in("problem", "graph", to=[]),
    "another generator": set_in("generator", to={"bit_generator": "MT19937"}),
    "a generator out of range": set_in("generator", "state", "state", to=1 << 200),
    "tickets out of range": set_in("tickets", "roles", "open", to=[10_000]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_checkpoint_that_does_not_hold_together_is_refused(
    change: Callable[[dict[str, Any], dict[str, Any]], None], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "learner"
    path.write_bytes(rewritten(content, lambda *_: None))
    assert load(path).round == 31
    path.write_bytes(rewritten(content, change))
    with pytest.raises(CheckpointError, match=r"learner.*(does not hold together|damaged)"):
        load(path)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (VERSION + 1, r"by a newer version .* or a newer one\."),
        (VERSION - 1, r"by an earlier version .* or start a new learner\."),
    ],
)
def test_a_checkpoint_of_another_version_says_so(
    version: int, message: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "learner"
    path.write_bytes(rewritten(content, set_in("version", to=version)))
    with pytest.raises(CheckpointError, match=f"was written {message}"):
        load(path)


def test_a_graph_of_many_arms_is_saved_small(tmp_path: Path) -> None:
    graph = FeedbackGraph.from_ranges(5_000, [(a, a, 4_999) for a in range(5_000)])
    problem = Problem(graph, features=2, horizon=10_000)
    path = tmp_path / "learner"
    CrossGraph().start(problem, seed=0).save(path)
    assert path.stat().st_size < 2_000_000
    assert load(path).problem.graph == graph
