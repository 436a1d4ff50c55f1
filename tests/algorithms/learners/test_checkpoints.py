"""A learner in one file resumes exactly; a file that is damaged or crafted is refused."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, Decision, FeedbackGraph, Problem, graphs, load, tuning
from crossbandit.algorithms import (
    Algorithm,
    CrossGraphKnown,
    Learner,
)
from crossbandit.algorithms.learners.files import VERSION
from crossbandit.environments import BlockEnvironment
from crossbandit.errors import CheckpointError, DecisionError
from tests.cases import PAIRED, asymmetric, every_algorithm, linear, name, table
from tests.drivers import assert_same_state, contexts_of, play, revealed, start

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


@pytest.mark.parametrize("algorithm", PAIRED[:2], ids=name)
def test_a_held_and_an_open_round_are_kept(algorithm: Algorithm, tmp_path: Path) -> None:
    learner: Any = start(algorithm, DENSE)
    decisions = [learner.act(context) for context in contexts_of(DENSE)[:41]]
    held = [d for d in decisions if learner._pending[d.round].weights is not None]
    for decision in (held[0], decisions[-1]):
        learner.learn(decision, revealed(DENSE, decision))
    again: Any = resumed(learner, tmp_path)
    assert [ticket.round for ticket in again._held] == [held[0].round, 40]
    assert again._open.round == 40
    assert again._open is again._held[1]
    context = contexts_of(DENSE)[41]
    assert again.act(context)._replace(learner="") == learner.act(context)._replace(learner="")
    assert_same_state(again, learner)


@pytest.mark.parametrize("algorithm", PAIRED[:1], ids=name)
def test_several_held_rounds_keep_their_own_rows(algorithm: Algorithm, tmp_path: Path) -> None:
    environment = table(graphs.threshold(5), 400, 3, seed=1)
    learner: Any = start(algorithm, environment)
    decisions = [learner.act(context) for context in contexts_of(environment)[:121]]
    weighted = [d for d in decisions if learner._pending[d.round].weights is not None]
    for decision in weighted:
        learner.learn(decision, revealed(environment, decision))
    assert len({len(d.revealed) for d in weighted}) > 2  # rows of several lengths
    again: Any = resumed(learner, tmp_path)
    assert [one.round for one in again._held] == [d.round for d in weighted]
    for one, decision in zip(again._held, weighted, strict=True):
        np.testing.assert_array_equal(one.rows, revealed(environment, decision))


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


@pytest.mark.parametrize("algorithm", PAIRED, ids=name)
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
    with pytest.raises(CheckpointError, match=r"no space left on device\. Save to another file"):
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


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("nowhere/learner", r"cannot write '.*': there is no folder '.*nowhere'\. Make it first"),
        ("", r"cannot write '.*': Is a directory\. Save to another file"),
        ("a\0b", r"cannot write '.*': .*embedded null .*\. Save to another file"),
        (300 * "x", "cannot write '.*': File name too long. Save to another file"),
    ],
)
def test_a_file_that_cannot_be_written_is_a_checkpoint_error(
    file: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=rf"Learner\.save {message}"):
        start(CrossGraph(), DENSE).save(tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="it is not a regular file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="it is not a regular file"):
        load(tmp_path / "pipe")


# ------------------------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a small checkpoint with pending decisions of every kind."""
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
        assert pending(learner) == pending(intact)
    assert passed < 0.25 * len(positions)


def pending(learner: Any) -> str:
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
    "no pending decisions": lambda header, _: header.pop("pending"),
    "no estimates": lambda _, arrays: arrays.pop("state.estimates"),
    "short estimates": cut("state.estimates"),
    "short rows of held feedback": cut("pending.rows"),
    "short weights": cut("pending.weights"),
    "an unknown algorithm": set_in("algorithm", "id", to="cross-graf"),
    "a parameter out of range": set_in("algorithm", "rho", to=7.0),
    "an unknown parameter": set_in("algorithm", "kappa", to=1.0),
    "another graph": set_in("problem", "graph", to=graphs.complete(3).to_json()),
    "no graph": set_in("problem", "graph", to=[]),
    "another generator": set_in("generator", to={"bit_generator": "MT19937"}),
    "a generator out of range": set_in("generator", "state", "state", to=1 << 200),
    "a decision out of range": set_in("pending", "roles", "open", to=[10_000]),
    "a decision from the end": set_in("pending", "roles", "open", to=[-1]),
    "a decision that is a truth value": set_in("pending", "roles", "open", to=[True]),
    "another role": set_in("pending", "roles", "shut", to=[]),
    "an entry too many": set_in("more", to=1),
    "a bound on pending decisions that is no integer": set_in("max_pending", to=1.5),
    "an id too few": set_in("ids", to=None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_checkpoint_that_is_inconsistent_is_refused(
    change: Callable[[dict[str, Any], dict[str, Any]], None], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "learner"
    path.write_bytes(rewritten(content, lambda *_: None))
    assert load(path).round == 31
    path.write_bytes(rewritten(content, change))
    with pytest.raises(CheckpointError, match=r"learner.*(is inconsistent|damaged)"):
        load(path)


@pytest.mark.parametrize("version", [1, VERSION - 1, VERSION + 1])
def test_a_checkpoint_of_another_version_says_so(
    version: int, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "learner"
    path.write_bytes(rewritten(content, set_in("version", to=version)))
    message = (
        f"The checkpoint '{path}' has format {version}, and this version of Crossbandit reads "
        f"format {VERSION}. Load it with the version that wrote it, or start a new learner."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load(path)


def test_a_graph_of_many_arms_is_saved_small(tmp_path: Path) -> None:
    graph = FeedbackGraph.from_ranges(5_000, [(a, a, 4_999) for a in range(5_000)])
    problem = Problem(graph, features=2, horizon=10_000)
    path = tmp_path / "learner"
    CrossGraph().start(problem, seed=0).save(path)
    assert path.stat().st_size < 2_000_000
    assert load(path).problem.graph == graph


# ------------------------------------------------------------------------------------ crafted files


def member(array: Any) -> bytes:
    """Return an array as a member of an archive."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def repacked(
    content: bytes, changed: dict[str, bytes], compression: int = zipfile.ZIP_STORED
) -> bytes:
    """Return a checkpoint with valid checksums and other bytes in some of its members."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", compression) as new,
    ):
        members = {name: old.read(name) for name in old.namelist()}
        for name, member_content in {**members, **changed}.items():
            new.writestr(name, member_content)
    return buffer.getvalue()


def with_value(name: str, value: float) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return a change of one number in an array."""

    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[-1] = value

    return change


def claim(**sizes: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        header["problem"] |= sizes

    return change


def decision(position: int, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return a change of one entry of all pending decisions: round, context, arm, and so on."""

    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        for entry in header["pending"]["decisions"]:
            entry[position] = value

    return change


HUGE = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }".ljust(117) + b"\n"
)
NESTED = np.frombuffer(b"[" * 1_000_000, dtype=np.uint8)

CRAFTED: dict[str, Callable[[bytes], bytes]] = {
    "deflated": lambda content: repacked(content, {}, zipfile.ZIP_DEFLATED),
    "LZMA": lambda content: repacked(content, {}, zipfile.ZIP_LZMA),
    "bzip2": lambda content: repacked(content, {}, zipfile.ZIP_BZIP2),
    "a bomb": lambda content: repacked(
        content, {"state.bias.npy": member(np.zeros(10**7))}, zipfile.ZIP_DEFLATED
    ),
    "a shape of 10^13": lambda content: repacked(content, {"state.bias.npy": HUGE}),
    "deep JSON": lambda content: repacked(content, {"header.npy": member(NESTED)}),
    "an unknown member": lambda content: repacked(content, {"more.npy": member(np.zeros(3))}),
    "a member that is no array": lambda content: repacked(content, {"more.txt": b"text"}),
    "an array of text": lambda content: repacked(
        content, {"state.bias.npy": member(np.array(["a"]))}
    ),
    "an unknown array of the state": lambda content: repacked(
        content, {"state.more.npy": member(np.zeros(3))}
    ),
    **{
        name: lambda content, change=change: rewritten(content, change)  # type: ignore[misc]
        for name, change in {
            "10^7 arms": claim(graph={"arms": 10**7, "ranges": []}),
            "10^7 arms, complete": claim(graph={"arms": 10**7, "ranges": [[0, 0, 10**7 - 1]]}),
            "10^12 contexts": claim(contexts=10**12),
            "10^12 features": claim(contexts=None, features=10**12),
            "10^30 contexts": claim(contexts=10**30),
            "9,999 contexts": claim(contexts=9_999),
            "no arms": claim(graph={"arms": None, "ranges": []}),
            "NaN estimates": with_value("state.estimates", np.nan),
            "infinite estimates": with_value("state.estimates", np.inf),
            "NaN bias": with_value("state.bias", np.nan),
            "NaN rows": with_value("pending.rows", np.nan),
            "NaN weights": with_value("pending.weights", np.nan),
            "infinite weights": with_value("pending.weights", np.inf),
            "a NaN baseline": decision(6, float("nan")),
            "an infinite baseline": decision(6, float("inf")),
            "a baseline of 10^400": decision(6, 10**400),
            "a negative round": decision(0, -1),
            "a round to come": decision(0, 31),
            "a round that is a number": decision(0, 1.0),
            "a negative arm": decision(2, -1),
            "an arm too large": decision(2, 2),
            "an arm that is text": decision(2, "0"),
            "weights from the end": decision(4, -1),
            "weights of 10^12": decision(4, 10**12),
            "a negative count of rows": decision(5, -1),
            "masks that are missing": decision(7, True),
            "a context too large": decision(1, 2),
            "another round": set_in("round", to=7),
            "a negative bound": set_in("max_pending", to=-1),
        }.items()
    },
}


@pytest.mark.parametrize("craft", CRAFTED.values(), ids=CRAFTED.keys())
def test_a_crafted_file_is_refused_quickly_and_in_little_memory(
    craft: Callable[[bytes], bytes], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "learner"
    path.write_bytes(craft(content))
    tracemalloc.start()
    started = time.perf_counter()
    try:
        with pytest.raises(CheckpointError, match=r"learner.*(is inconsistent|damaged)"):
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30e6 + 5 * path.stat().st_size
    assert time.perf_counter() - started < 5  # on a busy machine; 0.1 s otherwise


def test_a_number_that_is_too_large_for_a_float_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "learner"
    header = json.loads(np.load(io.BytesIO(content))["header"].tobytes())
    text = json.dumps(header | {"notes": {"x": 12345.5}}).replace("12345.5", "1e999")
    path.write_bytes(
        repacked(content, {"header.npy": member(np.frombuffer(text.encode(), dtype=np.uint8))})
    )
    with pytest.raises(CheckpointError, match="holds 1e999, which is not a finite number"):
        load(path)


def test_two_members_of_one_name_are_refused(content: bytes, tmp_path: Path) -> None:
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("header.npy", member(np.zeros(3)))
    (tmp_path / "learner").write_bytes(buffer.getvalue())
    with pytest.raises(CheckpointError, match="unexpected names"):
        load(tmp_path / "learner")


@pytest.mark.parametrize("value", [10**12, -2, 2, 2**62])
def test_an_index_in_the_state_is_checked(value: int, content: bytes, tmp_path: Path) -> None:
    """Compiled code would use it unchecked, and read and write outside of its arrays."""

    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays["state.special"][0] = value

    path = tmp_path / "learner"
    path.write_bytes(rewritten(content, change))
    with pytest.raises(CheckpointError, match="is inconsistent"):
        load(path)


def test_a_learner_checks_its_own_state(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Learner) -> None:
        raise ValueError("its index is wrong")

    path = tmp_path / "learner"
    path.write_bytes(content)
    monkeypatch.setattr(type(load(path)), "check_state", refuse)
    with pytest.raises(CheckpointError, match="is inconsistent: its index is wrong"):
        load(path)


# --------------------------------------------------------------------------------- NaN is not saved


@FORMS
@every_algorithm
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_state_that_is_not_finite_is_not_saved(
    algorithm: Algorithm, environment: BlockEnvironment, value: float, tmp_path: Path
) -> None:
    learner = start(algorithm, environment)
    play(learner, environment, 8)
    path = tmp_path / "learner"
    learner.save(path)
    before = path.read_bytes()
    learner.state()["estimates"].flat[1] = value
    with pytest.raises(
        CheckpointError, match=f"the array 'state.estimates' holds {value}. Nothing"
    ):
        learner.save(path)
    assert path.read_bytes() == before


def test_feedback_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    learner: Any = start(CrossGraph(), DENSE)
    decisions = [learner.act(context) for context in contexts_of(DENSE)[:41]]
    learner.learn(decisions[-1], revealed(DENSE, decisions[-1]))
    learner._held[0].rows[0, 0] = np.nan
    with pytest.raises(CheckpointError, match=r"'pending\.rows' holds nan"):
        learner.save(tmp_path / "learner")
    learner = start(CrossGraph(), DENSE)
    learner.act(0)
    learner._pending[0].weights = np.full(learner.problem.arms, np.inf)
    with pytest.raises(CheckpointError, match="the weights of round 0 are not finite"):
        learner.save(tmp_path / "learner")
    learner._pending[0].weights = None
    learner._pending[0].baseline = float("nan")
    with pytest.raises(CheckpointError, match="cannot write this state: Out of range float"):
        learner.save(tmp_path / "learner")
    assert list(tmp_path.iterdir()) == []


def test_weights_of_arms_that_were_not_revealed_do_not_matter(tmp_path: Path) -> None:
    """An arm of probability 0 has an infinite weight, which is never used."""
    problem = Problem(graphs.singletons(3), contexts=2, horizon=100)
    learner: Any = CrossGraph().start(problem, seed=0)
    decision = learner.act(0)
    weights = np.ones(3)
    weights[(decision.arm + 1) % 3] = np.inf
    learner._pending[0].weights = weights
    again: Any = resumed(learner, tmp_path)
    np.testing.assert_array_equal(again._pending[0].weights, weights)


# ------------------------------------------------------------------------------------------- faults


def test_random_damage_is_refused_or_does_not_matter(content: bytes, tmp_path: Path) -> None:
    """Bytes changed, removed, repeated and exchanged: a clean error, or the same state."""
    path = tmp_path / "learner"
    path.write_bytes(content)
    intact: Any = load(path)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            at, length = int(rng.integers(len(content))), int(rng.integers(1, 40))
            piece = damaged[at : at + length]
            other = rng.integers(0, 256, len(piece), dtype=np.uint8).tobytes()
            damaged[at : at + length] = (other, b"", piece + piece, piece[::-1])[rng.integers(4)]
        path.write_bytes(damaged)
        try:
            learner: Any = load(path)
        except CheckpointError:
            refused += 1
            continue
        assert_same_state(learner, intact)
        assert pending(learner) == pending(intact)
    assert refused > 300


def test_random_numbers_in_a_valid_archive_are_refused_or_harmless(
    content: bytes, tmp_path: Path
) -> None:
    """Checksums are right, and one float is not: no learner plays with a probability of NaN."""
    path = tmp_path / "learner"
    with np.load(io.BytesIO(content)) as file:
        floats = [name for name in file.files if file[name].dtype.kind == "f" and file[name].size]
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(200):
        value = rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-300, 1e30])
        name = floats[rng.integers(len(floats))]
        path.write_bytes(rewritten(content, with_value(name, value)))
        try:
            learner = load(path)
        except CheckpointError:
            refused += 1
            continue
        assert np.isfinite(value)
        policy = learner.policy(0)
        assert np.isfinite(policy).all(), (name, value)
    assert refused >= 60


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from crossbandit import CrossGraphAdaptive, Problem, graphs, load

folder = Path(sys.argv[1])
path = folder / "learner"
problem = Problem(graphs.threshold(10), contexts=20_000)
states = []
for rounds in (0, 3):
    learner = CrossGraphAdaptive().start(problem, seed=1)
    for t in range(rounds):
        learner.act(t)
    states.append(learner)
states[0].save(path)
random.seed(0)
left = 0
for kill in range(60):
    child = os.fork()
    if child == 0:
        while True:
            for learner in states:
                learner.save(path)
    time.sleep(random.uniform(0.002, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = load(path)
    expected = states[found.round > 0]
    for name, array in expected.state().items():
        np.testing.assert_array_equal(found.state()[name], array)
    now = len(list(folder.iterdir())) - 1
    assert now <= 1, "what an earlier kill left behind was not deleted"
    left += now
states[1].save(path)
assert list(folder.iterdir()) == [path], "temporary files were left"
print(kill + 1, left)
"""


def test_a_save_that_is_killed_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLS, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kills, left = map(int, done.stdout.split())
    assert kills == 60
    assert left > 10  # kills that hit a save half done: without them, nothing was tested


def test_a_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    learner = start(CrossGraph(), DENSE)
    learner.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    play(learner, DENSE, 5)
    learner.save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert load(target).round == 5
