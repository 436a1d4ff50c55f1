"""The shipped checks: every built-in passes, and each check catches the mistake it is for."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from crossbandit import FeedbackGraph, PerContextExp3, Problem, graphs, simulate
from crossbandit.algorithms import Algorithm, Learner, register, registered
from crossbandit.core.types import Floats
from crossbandit.environments import (
    BlockEnvironment,
    FiniteContexts,
    LossBlock,
    UniformVectors,
    from_coefficients,
    from_table,
    paper_benchmark,
    row_block,
    switching,
)
from crossbandit.environments.simulation import Rounds
from crossbandit.errors import CheckFailedError, InvalidLossesError
from crossbandit.verify.checks import check_algorithm, check_environment
from tests.cases import ALGORITHMS, asymmetric, environments, name
from tests.drivers import PerContextLearner

GRAPHS = {
    "the default": None,
    "asymmetric": asymmetric(),
    "loopless": graphs.loopless_clique(3),
    "apple tasting": graphs.apple_tasting(),
    "paper ring": graphs.paper_ring(6, 1),
    "random": graphs.random_strongly_observable(5, 0.4, seed=2),
}


def title(value: Any) -> str:
    """Return the name of a class; messages stay out of a test's id."""
    return getattr(value, "__name__", "")


# ------------------------------------------------------------------------------- the built-in ones


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name)
def test_every_algorithm_passes_on_every_kind_of_graph(
    algorithm: Algorithm, graph: FeedbackGraph | None
) -> None:
    assert type(algorithm) in registered().values()
    check_algorithm(algorithm, graph)


ENVIRONMENTS = {
    **dict(environments()),
    "paper benchmark": paper_benchmark(10_000, alpha=4),
    "its linear form": paper_benchmark(10_000, alpha=4).factored(),
    "many switches": switching(graphs.complete(4), 500, switches=400),
    "one round": from_table([[[0.0, 1.0]]], graphs.complete(2)),
    "vectors": from_coefficients(
        np.full((20, 3, 2), 0.5), graphs.complete(3), UniformVectors([1, 0], [1, 1])
    ),
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_every_environment_passes(environment: BlockEnvironment) -> None:
    assert environment.problem.horizon
    check_environment(environment)


# ------------------------------------------------------------------------------ broken algorithms


class Spoiled(PerContextLearner):
    """A learner to be broken in one place."""

    @classmethod
    def of(cls, problem: Problem, seed: Any) -> Learner:
        return cls(Broken(), problem, graphs.singletons(problem.arms), 0.1, seed)


class Unseeded(Spoiled):
    def play(self, pending: Any) -> float:
        self.generator = np.random.default_rng()
        return super().play(pending)


class Greedy(Spoiled):
    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        super().learn(decision, losses, graph)
        losses[:] = 0.0


class Unnormalised(Spoiled):
    def policy(self, context: Any, available: Any = None) -> Floats:
        return 2 * super().policy(context, available)


class Impure(Spoiled):
    def policy(self, context: Any, available: Any = None) -> Floats:
        policy = super().policy(context, available)
        self.state()["estimates"][context, 0] += 1.0
        return policy


class Dishonest(Spoiled):
    def play(self, pending: Any) -> float:
        return super().play(pending) / 2


class Trusting(Spoiled):
    """Believes that losses are what they should be."""

    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        super().learn(decision, np.nan_to_num(np.array(losses, dtype=float)).clip(0, 1), graph)


class Forgetful(Spoiled):
    """Takes the same decision as often as it comes."""

    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        pending = self._expected(decision)
        super().learn(decision, losses, graph)
        self._pending[pending.round] = pending


class Gullible(Spoiled):
    """Takes anybody's decision for its own."""

    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        if decision.learner == self.id:
            super().learn(decision, losses, graph)


class Hasty(Spoiled):
    """Counts first, validates later."""

    def learn(self, decision: Any, losses: Any, graph: Any = None) -> None:
        self.state()["estimates"][decision.context] += [5.0, 0.0, 0.0, 0.0]
        super().learn(decision, losses, graph)
        self.state()["estimates"][decision.context] -= [5.0, 0.0, 0.0, 0.0]


class Impatient(Spoiled):
    """Divides by how recent a round is; late feedback is divided by nothing."""

    def update(self, pending: Any, rows: Floats) -> None:
        recent = float(pending.round == self.round - 1)
        with np.errstate(divide="ignore"):
            pending.weights = pending.weights / np.array(recent)
        super().update(pending, np.maximum(rows, 0.1))


class Amnesiac(Spoiled):
    """Keeps something out of its state."""

    seen = 0

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        self.seen += 1
        self.state()["estimates"][:, self.seen % 4] += 0.3 * self.seen
        return probability


class Shortsighted(Spoiled):
    """Looks a loss up by the number of its context, whatever the columns are."""

    def update(self, pending: Any, rows: Floats) -> None:
        context = pending.context
        own = self.state()["estimates"][context]
        self.add(own[:, None], pending, np.ascontiguousarray(rows[:, [context]]))


class Standing(Spoiled):
    """Does not count its rounds."""

    def act(self, context: Any, available: Any = None, graph: Any = None) -> Any:
        decision = super().act(context, available, graph)
        self.round = 0
        return decision


class Deficient(Spoiled):
    """Draws from a policy that does not sum to 1, which NumPy refuses."""

    def policy(self, context: Any, available: Any = None) -> Floats:
        return 0.9 * super().policy(context, available)

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        policy = self.policy(pending.context)
        self.generator.choice(policy.size, p=policy)
        return probability


class Short(Spoiled):
    """Asks for the policy without saying what is available."""

    def policy(self, context: Any) -> Floats:  # type: ignore[override]
        return super().policy(context)


class Adding(Spoiled):
    """Learns by `add`, as an algorithm of one's own would."""

    def update(self, pending: Any, rows: Floats) -> None:
        losses = pending.readout.losses(rows, self.reveals(pending.arm))
        self.add(self.state()["estimates"][pending.context][:, None], pending, losses[:, None])


class Sparing(Adding):
    """Weighs the arms that are revealed, and no other."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        pending.weights = pending.weights[list(self.reveals(pending.arm))]
        return probability


class Listing(Adding):
    """Has its weights in a list."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        pending.weights = pending.weights.tolist()
        return probability


class Whole(Adding):
    """Has integers for weights."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        pending.weights = pending.weights.astype(int)
        return probability


class Cramped(Spoiled):
    """Adds to estimates that lack an arm."""

    def update(self, pending: Any, rows: Floats) -> None:
        self.add(np.zeros((self.problem.arms - 1, rows.shape[1])), pending, rows)


class Narrow(Spoiled):
    """Adds rows that lack a column."""

    def update(self, pending: Any, rows: Floats) -> None:
        self.add(np.zeros((self.problem.arms, rows.shape[1])), pending, rows[:, :-1])


class TwoFaced(Spoiled):
    """Its compiled loop plays something else."""

    def simulate(self, rounds: Rounds) -> None:
        super().simulate(rounds)
        rounds.arms[:] = 0


class Deaf(Spoiled):
    """Its compiled loop does not listen to what is available."""

    def simulate(self, rounds: Rounds) -> None:
        everything = np.empty((rounds.arms.size, 0), dtype=np.bool_)
        deaf = rounds.contexts._replace(available=everything)
        super().simulate(rounds._replace(contexts=deaf))


class Stubborn(Spoiled):
    """Its compiled loop plays the first arm that is available, where not all are."""

    def simulate(self, rounds: Rounds) -> None:
        super().simulate(rounds)
        if rounds.contexts.available.size:
            rounds.arms[:] = rounds.contexts.available.argmax(axis=1)


@register
@dataclass(frozen=True, kw_only=True)
class Broken(Algorithm):
    """Starts whatever learner is under test."""

    id: ClassVar[str] = "broken"
    needs_memory: ClassVar[bool] = False
    learner: ClassVar[type[Spoiled]] = Spoiled

    def start(self, problem: Problem, *, seed: Any) -> Learner:
        return self.learner.of(problem, seed)


def test_the_learner_that_is_broken_below_is_sound() -> None:
    assert Broken.learner is Spoiled
    check_algorithm(Broken())


class Attached(Spoiled):
    """Keeps what it needs outside of the decision."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        vars(self).setdefault("_kept", set()).add(id(pending))
        return probability

    def update(self, pending: Any, rows: Floats) -> None:
        if id(pending) in vars(self).get("_kept", ()):
            super().update(pending, rows)


class Drifting(Spoiled):
    """Changes its estimates when it plays, and does not say so."""

    def play(self, pending: Any) -> float:
        probability = super().play(pending)
        self.state()["estimates"][:, 0] += 0.1
        return probability


BROKEN = {
    Attached: "Learning from tokens gave the policy .* although needs_memory is False. update may",
    Drifting: "After 1 decisions, a snapshot has the policy",
    Unseeded: "The same seed gave different arms. Does the learner draw from anything but its own",
    Greedy: "learn changed the losses that it was given. Copy before",
    Unnormalised: "In round 0, policy is not a distribution over the arms",
    Impure: "In round 0, asking for the policy changed it",
    Dishonest: "In round 0, act played arm . with probability .*, but policy had said",
    Trusting: "learn accepted losses of NaN. It must raise InvalidLossesError",
    Forgetful: "learn accepted the same decision twice. It must raise DecisionError",
    Gullible: "learn accepted another learner's decision. It must raise DecisionError",
    Hasty: "Rejected feedback changed which arms were played later",
    Impatient: "After late, unordered and missing feedback the policy is",
    Amnesiac: "A learner that was saved and loaded played other arms",
    Shortsighted: "led to different arms in linear form and in dense form. Read estimates through",
    Standing: "After 1 rounds were played, round is 0. It is the number of rounds played",
    Deficient: "In round 0, policy is not a distribution over the arms",
    Short: r"policy does not take .* Its signature is policy\(self, context, available=None\)",
    Sparing: r"a float for each of the 4 arms, revealed or not: .* Got an array of shape \(1,\)",
    Listing: "a float for each of the 4 arms, revealed or not: .* Got a list",
    Whole: "a float for each of the 4 arms, revealed or not: .* and type int64",
    Cramped: r"a row for each of the 4 arms. Got an array of shape \(3, 4\)",
    Narrow: r"The rows that Narrow adds must be an array of shape \(1, 4\).*shape \(1, 3\)",
    TwoFaced: "The compiled and the plain simulation played different arms",
    Deaf: "Broken played arm . in round .*, but only .* were available",
    Stubborn: "The compiled and the plain simulation played different arms",
}


@pytest.mark.parametrize(("learner", "message"), BROKEN.items(), ids=title)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_broken_learner_is_caught(
    learner: type[Spoiled], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broken, "learner", learner)
    with pytest.raises(CheckFailedError, match=message):
        check_algorithm(Broken())


def test_an_algorithm_that_is_not_registered_is_caught() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Unregistered(PerContextExp3):
        id: ClassVar[str] = "unregistered"

    with pytest.raises(
        CheckFailedError, match=r"cannot be made again from its JSON form.*registered"
    ):
        check_algorithm(Unregistered())


def test_an_algorithm_without_equality_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "__eq__", object.__eq__)
    with pytest.raises(CheckFailedError, match=r"which is not equal to it.*a frozen dataclass\?"):
        check_algorithm(Broken())


def test_two_algorithms_cannot_have_one_id() -> None:
    class Usurper(PerContextExp3):
        id: ClassVar[str] = "cross-graph"

    with pytest.raises(ValueError, match="'cross-graph' belongs to CrossGraph"):
        register(Usurper)


# ---------------------------------------------------------------------------- broken environments


class Nature:
    """A plain environment to be broken in one place."""

    def __init__(self) -> None:
        self.problem = Problem(graphs.complete(3), contexts=2, horizon=30)
        self.context_distribution: Any = FiniteContexts(2)

    def losses(self, round_: int) -> Floats:
        return np.full((3, 2), round_ / 30)


class Law:
    """A law of contexts to be broken in one place."""

    probabilities: Any = None

    def draw(self, generator: np.random.Generator, count: int) -> Any:
        return (2 * generator.random(count)).astype(int)


class Stingy(Law):
    def draw(self, generator: np.random.Generator, count: int) -> Any:
        return super().draw(generator, count)[:-1]


class Foreign(Law):
    def draw(self, generator: np.random.Generator, count: int) -> Any:
        return 5 + super().draw(generator, count)


class Fractional(Law):
    def draw(self, generator: np.random.Generator, count: int) -> Any:
        return super().draw(generator, count).astype(float)


class Sorted(Law):
    """All at once, so that a shorter run is no beginning of a longer one."""

    def draw(self, generator: np.random.Generator, count: int) -> Any:
        return np.sort(super().draw(generator, count))


class Miscounted(Law):
    probabilities = np.full(3, 1 / 3)


LAWS = {
    Stingy: r"context_distribution.draw\(generator, 30\) returned 29 contexts",
    Foreign: "The context distribution drew something that is not a context.* from 0 to 1. Got",
    Fractional: "The context distribution drew something that is not a context.* from 0 to 1. Got",
    Sorted: "Contexts drawn in two pieces differ from contexts drawn at once",
    Miscounted: "The context distribution has 3 probabilities. The problem has 2 contexts",
}


@pytest.mark.parametrize(("law", "message"), LAWS.items(), ids=title)
def test_a_broken_law_is_caught(law: type[Law], message: str) -> None:
    environment = Nature()
    environment.context_distribution = Law()
    check_environment(environment)
    environment.context_distribution = law()
    with pytest.raises(CheckFailedError, match=message):
        check_environment(environment)


class Transposed(Nature):
    def losses(self, round_: int) -> Floats:
        return super().losses(round_).T


class Moody(Nature):
    calls = 0

    def losses(self, round_: int) -> Floats:
        self.calls += 1
        return super().losses(round_) / self.calls


class Unscaled(Nature):
    def losses(self, round_: int) -> Floats:
        return 5 * super().losses(round_)


class Holed(Nature):
    def losses(self, round_: int) -> Floats:
        losses = super().losses(round_)
        losses[1, 1] = np.nan
        return losses


class Endless(Nature):
    def __init__(self) -> None:
        super().__init__()
        self.problem = Problem(graphs.complete(3), contexts=2)


class Steep(Nature):
    """Linear losses that leave [0, 1] in some contexts."""

    def __init__(self) -> None:
        super().__init__()
        self.problem = Problem(graphs.complete(3), features=[[0.5, 0.5], [1.0, 1.0]], horizon=30)


NATURES = {
    Transposed: r"losses\(0\) has shape \(2, 3\). It must have shape \(3, 2\): arms by contexts",
    Moody: r"losses\(\d+\) gave different answers when asked twice. Losses must depend on",
    Unscaled: r"Losses of round \d+ range from .* They must lie in \[0, 1\]: scale and shift",
    Holed: "Losses of round 0 range from nan to nan",
    Endless: "a Problem with a horizon",
    Steep: r"Losses of round \d+ range from .* They must lie in \[0, 1\]",
}


@pytest.mark.parametrize(("nature", "message"), NATURES.items(), ids=title)
def test_a_broken_environment_is_caught(nature: type[Nature], message: str) -> None:
    check_environment(Nature())
    with pytest.raises(CheckFailedError, match=message):
        check_environment(nature())


def test_what_is_no_environment_is_caught() -> None:
    with pytest.raises(CheckFailedError, match="is not an Environment: it needs the attributes"):
        check_environment(graphs.complete(3))  # type: ignore[arg-type]


class Blocks(BlockEnvironment):
    """A block environment to be broken in one place."""

    def __init__(self) -> None:
        self.problem = Problem(graphs.complete(3), contexts=2, horizon=30)
        self.context_distribution = FiniteContexts(2)
        self._rows = np.random.default_rng(0).random((30, 3, 2))

    def block(self, start: int, stop: int) -> LossBlock:
        count = stop - start
        return LossBlock(
            self._rows[start:stop], np.zeros((count, 3, 0)), np.zeros((0, 2)), clip=False
        )


class Curtailed(Blocks):
    def block(self, start: int, stop: int) -> LossBlock:
        return super().block(start, max(start + 1, stop - 1))


class Bare(Blocks):
    """Returns losses as they are."""

    def block(self, start: int, stop: int) -> LossBlock:
        return self._rows[start:stop]  # type: ignore[return-value]


class Loose(Blocks):
    """Has a list where an array should be."""

    def block(self, start: int, stop: int) -> LossBlock:
        return super().block(start, stop)._replace(features=[])  # type: ignore[arg-type]


class Astray(Blocks):
    """Every block begins with the first round of all."""

    def block(self, start: int, stop: int) -> LossBlock:
        return super().block(0, stop - start)


class Gap(Blocks):
    """A hole in a round that is not among those looked at one by one."""

    def __init__(self) -> None:
        super().__init__()
        self._rows[13, 1, 1] = np.nan


BLOCKS = {
    Curtailed: r"block\(0, 30\) must hold a base of shape",
    Bare: r"Bare.block\(0, 1\) must return a LossBlock. Got a ndarray.* return row_block\(losses\)",
    Loose: r"The features of Loose.block\(0, 1\) must be an array of numbers. Got list",
    Astray: r"Round \d+ has other losses in block\(15, 30\) than in block\(",
    Gap: "Got nan in round 13, for arm 1 in context 1",
}


@pytest.mark.parametrize(("nature", "message"), BLOCKS.items(), ids=title)
def test_a_broken_block_is_caught(nature: type[Blocks], message: str) -> None:
    check_environment(Blocks())
    with pytest.raises(CheckFailedError, match=message):
        check_environment(nature(), rounds=3)


def test_a_simulation_refuses_what_is_no_block() -> None:
    with pytest.raises(InvalidLossesError, match="must return a LossBlock"):
        simulate(PerContextExp3(), Bare(), seed=1)


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), [[[0.0, "high"]]]], ids=["flat", "text"])
def test_rows_that_are_none_are_refused(rows: Any) -> None:
    with pytest.raises(
        InvalidLossesError, match=r"'rows' parameter of row_block .*\(rounds, arms,"
    ):
        row_block(rows)


def test_rows_may_be_whole_numbers() -> None:
    assert row_block([[[0, 1]]]).base.dtype == np.float64
