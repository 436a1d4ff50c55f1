"""Decisions carry what learning needs: learned from anywhere, at any time, in any order, once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Decision, Problem, graphs, load
from crossbandit.algorithms import Algorithm, Learner, PerContextExp3, registered
from crossbandit.algorithms.learners.seen import new_id
from crossbandit.algorithms.learners.tokens import GRAPH, LAW, Token
from crossbandit.errors import (
    DamagedTokenError,
    DecisionError,
    ExpiredDecisionError,
    ForeignDecisionError,
    InvalidParameterError,
    LearnedBeforeError,
)
from tests.cases import asymmetric, every_algorithm, every_free_algorithm, linear, table
from tests.drivers import (
    assert_same_but_for_scratch,
    assert_same_state,
    contexts_of,
    revealed,
    start,
)

DENSE = table(asymmetric(), 60, 4, seed=1)
LINEAR = linear(asymmetric(), 60, 7, seed=2)
FORMS = pytest.mark.parametrize("environment", [DENSE, LINEAR], ids=["dense", "linear"])


def mask(algorithm: Algorithm, t: int) -> Any:
    """Return which arms are available in a round: all in every other round."""
    if not algorithm.takes_availability or t % 2:
        return None
    return np.array([True, t % 3 != 0, True, True, t % 5 != 0])


# ------------------------------------------------------------------------------------------ tokens


@FORMS
@every_algorithm
def test_a_token_is_learned_from_like_its_decision(algorithm: Algorithm, environment: Any) -> None:
    """To the last bit, late and out of order, as bytes, as text and through JSON."""
    learner, twin = start(algorithm, environment), start(algorithm, environment)
    out = []
    for t, context in enumerate(contexts_of(environment)):
        available = mask(algorithm, t)
        decision, same = learner.act(context, available), twin.act(context, available)
        kept = json.loads(json.dumps(decision.to_json()))
        tokens: list[Any] = [
            decision.token,
            decision.text,
            Decision.from_json(kept),
            bytearray(decision.token),
        ]
        out.append((tokens[t % 4], same))
        if t % 3 == 2:
            token, late = out.pop(len(out) // 2)
            learner.learn(token, revealed(environment, late))
            twin.learn(late, revealed(environment, late))
            with pytest.raises(LearnedBeforeError, match=f"round {late.round} .* counts once"):
                learner.learn(token, revealed(environment, late))
    for token, late in reversed(out):
        learner.expects(token)
        learner.learn(token, revealed(environment, late))
        twin.learn(late, revealed(environment, late))
    assert_same_state(learner, twin)
    assert learner.pending == twin.pending == 0


@every_free_algorithm
def test_nothing_is_remembered_of_a_decision_that_carries_all(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    learner = start(algorithm, DENSE)
    first, *others = contexts_of(DENSE)
    decisions = [learner.act(first)]
    learner.save(tmp_path / "first")
    decisions += [learner.act(context) for context in others]
    learner.save(tmp_path / "second")
    assert learner.pending == 60
    assert learner.remembered() == {"pending": []}
    sizes = [(tmp_path / name).stat().st_size for name in ("first", "second")]
    assert sizes[1] < sizes[0] + 100  # numbers in the header grow by a few digits
    learner.learn(decisions[7], revealed(DENSE, decisions[7]))
    assert learner.pending == 59


def test_the_algorithms_that_need_memory_say_so() -> None:
    known: dict[str, Any] = dict(registered())
    shipped = {name: one for name, one in known.items() if one.__module__.startswith("crossbandit")}
    needing = {name for name, algorithm in shipped.items() if algorithm.needs_memory}
    assert needing == {
        "cross-graph",
        "cross-graph-varying",
        "cross-graph-weak",
        "exp3-edges",
        "exp3-ix",
        "exp3-set",
        "schneider-zimmert",
    }


LATER = """
import json, sys
import numpy as np
from crossbandit import load
learner = load(sys.argv[1])
for text, rows in json.loads(sys.argv[2]):
    learner.learn(text, rows)
learner.save(sys.argv[1])
"""


def test_another_process_learns_from_tokens(tmp_path: Path) -> None:
    """Each process has what was saved and the texts of tokens, and nothing else."""
    learner, twin = (start(CrossGraphAdaptive(half_life=30), DENSE) for _ in range(2))
    path = tmp_path / "learner"
    decisions = [(learner.act(c), twin.act(c)) for c in contexts_of(DENSE)[:20]]
    learner.save(path)
    for part in (decisions[10:], decisions[:10]):
        texts = [[one.text, revealed(DENSE, one).tolist()] for one, _ in part]
        arguments = [sys.executable, "-c", LATER, str(path), json.dumps(texts)]
        subprocess.run(arguments, check=True, capture_output=True)
        for _, same in part:
            twin.learn(same, revealed(DENSE, same))
    again = load(path)
    assert_same_state(again, twin)
    assert again.pending == 0
    for one, _ in decisions:
        with pytest.raises(LearnedBeforeError):
            again.expects(one.token)


@every_free_algorithm
def test_what_came_after_the_last_checkpoint_is_learned_from_the_log(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    """A learner that was lost resumes from a file and the tokens and losses since."""
    learner = start(algorithm, DENSE)
    log = []
    for t, context in enumerate(contexts_of(DENSE)):
        decision = learner.act(context)
        learner.learn(decision, revealed(DENSE, decision))
        if t == 29:
            learner.save(tmp_path / "learner")
        if t >= 30:
            log.append((decision.token, revealed(DENSE, decision)))
    again = load(tmp_path / "learner")
    for token, rows in log:
        again.learn(token, rows)
    assert again.round == learner.round
    assert_same_but_for_scratch(again, learner)
    with pytest.raises(LearnedBeforeError):
        again.learn(*log[0])


def test_a_bidders_token_has_at_most_a_kilobyte() -> None:
    problem = Problem(graphs.threshold(100, reveals="higher"), features=2)
    learner = CrossGraphAdaptive().start(problem, seed=0)
    available = np.ones(100, dtype=bool)
    tokens = [learner.act((1.0, 0.5), available).token for _ in range(200)]
    assert max(map(len, tokens)) == 42 + 13 + 16 + 13 + 800  # no baseline before the first loss
    decision = learner.act((1.0, 0.5), available)
    learner.learn(decision, np.full((len(decision.revealed), 2), 0.2))
    assert max(len(learner.act((1.0, 0.5), available).token) for _ in range(200)) <= 1000


def test_a_decision_without_a_token_says_what_to_do() -> None:
    learner = CrossGraphAdaptive().start(DENSE.problem, seed=0)
    data = learner.act(0).to_json()
    del data["token"]
    bare = Decision.from_json(data)
    with pytest.raises(
        DecisionError, match=r"has no token: it was read from JSON .* itself to learn\."
    ):
        bare.token  # noqa: B018 - it raises
    with pytest.raises(ExpiredDecisionError, match="round 0"):
        learner.learn(bare, revealed(DENSE, bare))


# ------------------------------------------------------------------------------------------ errors


def adaptive() -> Learner:
    return CrossGraphAdaptive().start(DENSE.problem, seed=0)


def test_each_reason_has_its_own_error() -> None:
    learner, other = adaptive(), adaptive()
    now = [1_000.0]
    learner.learned_from.clock = lambda: now[0]
    learner.learned_from.window = 60.0
    decision = learner.act(0)
    rows = revealed(DENSE, decision)
    with pytest.raises(ForeignDecisionError, match="made by another learner"):
        other.learn(decision.token, rows)
    with pytest.raises(ForeignDecisionError, match="made by another learner"):
        other.learn(decision, rows)
    with pytest.raises(DamagedTokenError):
        learner.learn(decision.text[:-1], rows)
    now[0] += 61.0
    with pytest.raises(ExpiredDecisionError, match="61 seconds ago"):
        learner.learn(decision.token, rows)
    now[0] -= 30.0  # the clock goes back
    learner.learn(decision.token, rows)
    with pytest.raises(LearnedBeforeError):
        learner.learn(decision, rows)
    assert learner.pending == 0


def test_with_a_key_forged_tokens_are_refused(tmp_path: Path) -> None:
    learner = adaptive()
    learner.token_key = b"secret"
    decision = learner.act(0)
    rows = revealed(DENSE, decision)
    honest = Token.decode(decision.token, b"secret")
    for key, found in ((None, "made without a key"), (b"guess", "digest is wrong")):
        with pytest.raises(DamagedTokenError, match=found):
            learner.learn(honest.encode(key), rows)
    path = tmp_path / "learner"
    learner.save(path)
    assert b"secret" not in path.read_bytes()
    again = load(path)
    with pytest.raises(DamagedTokenError):
        again.learn(decision.token, rows)
    again.token_key = b"secret"
    again.learn(decision.token, rows)
    with pytest.raises(InvalidParameterError, match="'token_key' parameter of Learner"):
        again.token_key = b""


def payload_of(learner: Learner, decision: Decision, payload: bytes, kind: int = GRAPH) -> bytes:
    token = Token.decode(decision.token)
    return token._replace(kind=kind, payload=payload, learner=learner.id).encode()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p: p[:0],
        lambda p: p[:-1],
        lambda p: p + b"\0",
        lambda p: b"\xff" + p[1:],  # unknown flags
        lambda p: p[:1] + b"\xff" * 8 + p[9:],  # a negative round
        lambda p: p[:9] + b"\x05" + p[10:],  # an arm too large
        lambda p: p[:9] + b"\xff" * 4 + p[13:],  # a negative arm
        lambda p: p[:13] + b"\x04" + p[14:],  # a context too large
        lambda p: p[:21] + np.array([np.nan]).tobytes() + p[29:],  # a weight
        lambda p: p[:21] + np.array([1e200]).tobytes() + p[29:],  # a weight
    ],
)
def test_a_token_with_a_valid_digest_is_checked_all_the_same(wrong: Any) -> None:
    """Compiled code does not check its indices; and no NaN may get into the state."""
    learner = adaptive()
    decision = learner.act(0)
    payload = Token.decode(decision.token).payload
    with pytest.raises(DamagedTokenError, match="about the problem of the learner"):
        learner.learn(payload_of(learner, decision, wrong(payload)), revealed(DENSE, decision))
    with pytest.raises(DamagedTokenError, match="Got one of kind 2"):
        learner.learn(payload_of(learner, decision, payload, LAW), revealed(DENSE, decision))
    learner.check_state()
    learner.learn(decision.token, revealed(DENSE, decision))


def test_numbers_that_would_break_the_state_are_refused() -> None:
    """A round far in the future would count 2^(round / half_life) times: infinitely often."""
    learner = CrossGraphAdaptive(half_life=2.0).start(DENSE.problem, seed=0)
    for context in (0, 1):
        decision = learner.act(context)
        learner.learn(decision, revealed(DENSE, decision))
    decision = learner.act(2)
    payload = Token.decode(decision.token).payload
    late = payload[:1] + (10**9).to_bytes(8, "little") + payload[9:]
    with pytest.raises(DamagedTokenError, match="its round as its counter, 2"):
        learner.learn(payload_of(learner, decision, late), revealed(DENSE, decision))
    huge = payload[:-8] + np.array([1e300]).tobytes()
    with pytest.raises(DamagedTokenError, match=r"the baseline 1e\+300"):
        learner.learn(payload_of(learner, decision, huge), revealed(DENSE, decision))
    elsewhere = Token.decode(decision.token)._replace(payload=late, decider=new_id())
    learner.learn(elsewhere.encode(), revealed(DENSE, decision))  # as if a snapshot had made it
    learner.check_state()
    assert np.isfinite(learner.policy(0)).all()


def test_the_arm_that_was_played_was_available() -> None:
    learner = adaptive()
    decision = learner.act(0, np.array([True, True, True, False, True]))
    payload = bytearray(Token.decode(decision.token).payload)
    payload[21] = 1 << 7 if decision.arm else 1 << 6  # one bit per arm, arm 0 first
    with pytest.raises(DamagedTokenError, match="which was played, was not available"):
        learner.expects(payload_of(learner, decision, bytes(payload)))


def test_a_token_of_a_learner_that_must_remember_names_its_decision() -> None:
    learner = start(CrossGraph(), DENSE)
    learner.max_pending = 2
    tokens = [learner.act(0) for _ in range(4)]
    with pytest.raises(ExpiredDecisionError, match="older than the 2 decisions"):
        learner.learn(tokens[0].token, revealed(DENSE, tokens[0]))
    learner.learn(tokens[3].token, revealed(DENSE, tokens[3]))
    with pytest.raises(LearnedBeforeError):
        learner.learn(tokens[3], revealed(DENSE, tokens[3]))
    assert "token" not in tokens[2].to_json()


def test_ids_of_many_restarts_are_kept_within_bounds(tmp_path: Path) -> None:
    learner = PerContextExp3(eta=0.1).start(DENSE.problem, seed=0)
    learner._former_ids = {new_id(): 0 for _ in range(3000)}
    learner.save(tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert len(again._former_ids) == 1000
    assert learner.id in again._former_ids
