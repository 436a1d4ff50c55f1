"""The certified learner of `proofs/Learner.v` plays and measures what the library's learner does.

Both get the same contexts, losses, uniform numbers and lots. A difference in one arm, or in one
probability or certificate by more than rounding, is a failure.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from crossbandit import CrossGraphCertified, FeedbackGraph, Problem, graphs
from crossbandit.algorithms.tuning import exploring_arms
from crossbandit.core.types import Booleans, Floats, Integers
from crossbandit.verify.checks.enumeration import ScriptedGenerator, policies_of
from tests.proofs.extraction import (
    PROOFS,
    CertifiedScript,
    build,
    build_with_mistake,
    require_coq,
    run_certified,
)
from tests.reference.cross_graph_certified import lot

ROUNDS, CONTEXTS = 128, 3
TOLERANCE = 1e-9
WEAK = FeedbackGraph(
    [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
)


class Setting(NamedTuple):
    """The graph, or that of each context or round by turns; and options of the learner."""

    graphs: tuple[FeedbackGraph, ...]
    kind: str
    options: dict[str, Any]

    @property
    def problem(self) -> Problem:
        if self.kind == "fixed":
            return Problem(self.graphs[0], contexts=CONTEXTS)
        common = np.logical_and.reduce([one.adjacency for one in self.graphs])
        by_context = self.kind == "by context"
        return Problem(
            FeedbackGraph(common),
            contexts=CONTEXTS,
            graph_kind="informed",
            graph_by_context=by_context,
        )

    def graph(self, t: int, context: int) -> FeedbackGraph:
        number = {"fixed": 0, "by round": t, "by context": context}[self.kind]
        return self.graphs[number % len(self.graphs)]

    def adjacency(self) -> Booleans:
        count = {"fixed": 1, "by round": ROUNDS, "by context": CONTEXTS}[self.kind]
        return np.array([self.graph(i, i).adjacency for i in range(count)])


LOOPLESS = (graphs.loopless_clique(3), graphs.complete(3), graphs.singletons(3))
SETTINGS = {
    "threshold": Setting((graphs.threshold(4),), "fixed", {}),
    "singletons": Setting((graphs.singletons(3),), "fixed", {"block": 2, "slots": 4}),
    "loopless clique": Setting((graphs.loopless_clique(4),), "fixed", {"block": 3, "slots": 5}),
    "apple tasting": Setting((graphs.apple_tasting(),), "fixed", {"slots": 4}),
    "weak": Setting((WEAK,), "fixed", {"block": 3, "slots": 6}),
    "revealing": Setting((graphs.revealing_action(3),), "fixed", {}),
    "by context": Setting(LOOPLESS, "by context", {"block": 3, "slots": 5}),
    "by round": Setting(LOOPLESS, "by round", {"block": 4, "slots": 6}),
}


class Run(NamedTuple):
    """A run of the library's learner, and the script that repeats it."""

    script: CertifiedScript
    arms: Integers
    certificates: Floats
    policies: Floats
    blocks: Floats  # of each round: first round, size, whether chains follow, exploration


def play(setting: Setting, seed: int) -> Run:
    rng, problem = np.random.default_rng([len(setting.options), seed]), setting.problem
    learner: Any = CrossGraphCertified(**setting.options).start(problem, seed=seed)
    losses = rng.random((ROUNDS, CONTEXTS, problem.arms)) * rng.random(problem.arms)
    losses[ROUNDS // 2 :] = losses[ROUNDS // 2 :, :, ::-1]
    contexts = rng.choice(CONTEXTS, ROUNDS, p=rng.dirichlet(np.ones(CONTEXTS)))
    uniforms, key = rng.random((ROUNDS, 2)), int(learner.state()["key"][0])
    uniforms[:, 1] = [lot(key, t) for t in range(ROUNDS)]
    arms, certificates, policies, blocks = [], [], [], []
    for t, context in enumerate(contexts.tolist()):
        given = {} if setting.kind == "fixed" else {"graph": setting.graph(t, context)}
        policies.append(policies_of(learner, CONTEXTS))
        learner.generator = ScriptedGenerator([uniforms[t, 0]])
        decision = learner.act(context, **given)
        learner.learn(decision, losses[t].T[list(decision.revealed)])
        arms.append(decision.arm)
        certificates.append(learner.certificate())
        state = learner.state()
        slot, constants = (state[key][state["counts"][0]] for key in ("slot", "constants"))
        blocks.append([slot[1], slot[2], slot[4], constants[1]])
    script = CertifiedScript(
        learner.parameters,
        np.logical_and.reduce(setting.adjacency()).diagonal(),
        exploring_arms(problem.graph) if setting.kind == "fixed" else [],
        setting.adjacency(),
        contexts,
        uniforms,
        losses,
    )
    return Run(script, *map(np.array, (arms, certificates, policies, blocks)))


def differs(executable: Path, setting: Setting, seed: int) -> bool:
    run = play(setting, seed)
    arms, certificates, policies = run_certified(executable, run.script)
    return not (
        np.array_equal(arms, run.arms)
        and np.abs(policies - run.policies).max() <= TOLERANCE
        and np.abs(certificates - run.certificates).max() <= TOLERANCE
    )


@pytest.fixture(scope="module")
def extracted() -> Path:
    require_coq()
    return build(PROOFS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_certified_learner_is_the_one_of_the_theorem(extracted: Path, name: str) -> None:
    assert not differs(extracted, SETTINGS[name], 0)


MISTAKES = {
    "a round weighs its own eighth": (
        "threshold",
        "| part n i < part n j]%N",
        "| part n i <= part n j]%N",
    ),
    "what chains leave out is not taken off": (
        "revealing",
        "- base (how b) c a * left_out a)",
        "- 0 * left_out a)",
    ),
    "delay has no price": (
        "threshold",
        "((leader (home (r t)) c a - leader cur c a) * paid t c a)",
        "((leader cur c a - leader cur c a) * paid t c a)",
    ),
    "a block that is drawn stands for itself alone": (
        "revealing",
        "(if drawn then every (how b) else 0)",
        "(if drawn then 1 else 0)",
    ),
    "chains of a round use the graph of another": (
        "by round",
        "1 - mass b t (x j) a",
        "1 - mass b j (x j) a",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_definition_is_caught(name: str, tmp_path: Path) -> None:
    require_coq()
    setting, old, new = MISTAKES[name]
    wrong = build_with_mistake(tmp_path, old, new, file="Learner.v")
    assert any(differs(wrong, SETTINGS[setting], seed) for seed in range(2))


def test_the_settings_reach_every_rule() -> None:
    """Blocks that grow, blocks that no chain follows, and exploration of both kinds."""
    rules: dict[str, set[str]] = {"grown": set(), "alone": set(), "explored": set()}
    for name, setting in SETTINGS.items():
        first, size, followed, rho = play(setting, 0).blocks.T
        rules["grown"] |= {name} if (size > 1 + (first + 1) // 32).any() else set()
        rules["alone"] |= {name} if (followed[1:] == 0).any() else set()
        rules["explored"] |= {name} if (rho > 0).any() else set()
    assert {"singletons", "weak", "by context"} <= rules["grown"]
    assert {"singletons", "weak", "by context", "by round"} <= rules["alone"]
    assert {"loopless clique", "weak", "by context", "by round"} <= rules["explored"]
    assert "threshold" not in rules["explored"]
