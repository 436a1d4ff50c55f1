"""Runs of the learner under test, with the definition of Algorithm 2 computed beside it.

The learner plays with `act` and `learn`. The definition gets the same contexts, losses and uniform
numbers. It also computes the population quantities and the ideal trajectory, which no learner can
know. Every probability that the learner reports must agree with the definition, so a wrong learner
fails at its first deviation.

The compiled simulation, which makes all tables and figures, is also compared with the definition.
`GraphBenchmark` is the environment on which statements about whole runs are checked.

**Events.** Each good event of the analysis is a comparison with a deviation that grows with iota.
So an epoch has a *critical* iota: the least at which the event holds. One run then tests the bound
on the probability of failure for every iota: the critical iota of an epoch exceeds x with
probability at most 2K e^-x (frequency and selector) or MK e^-x (losses), whatever happened before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.tuning import Constants
from crossbandit.core.forms import LinearForm
from crossbandit.core.streams import fixed, stream
from crossbandit.core.validation import reject, verbatim
from crossbandit.environments import BlockEnvironment, Environment, paper_benchmark
from crossbandit.environments.environment import horizon_of
from crossbandit.environments.simulation import simulate
from crossbandit.errors import CheckFailedError
from crossbandit.graphs import loopless_clique, paper_ring, random_strongly_observable
from crossbandit.verify.checks.enumeration import policies_of
from crossbandit.verify.theory.definition import Definition, Moment, PairDraws, drawn_arm
from crossbandit.verify.theory.exact import TWO_LOOPLESS
from crossbandit.verify.theory.statements import (
    CheckResult,
    Differences,
    Effort,
    Figure,
    Series,
    Subject,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.algorithms import CrossGraph, Decision, Learner
    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.forms import LossForm
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.environments.simulation import Run
    from crossbandit.graphs import FeedbackGraph

TOLERANCE = 1e-9  # of probabilities: both sides round differently, in long sums
_PANEL = 16  # in so many contexts, whole policies are compared at each new epoch
_SEEDS = {Effort.QUICK: range(2), Effort.FULL: range(10)}


class RoundLosses(NamedTuple):
    """The losses of all arms in one round."""

    rows: Floats  # (K, columns), as a learner is given them
    table: Floats  # (M, K)


class EnvironmentView(NamedTuple):
    """The context distribution, the comparator and all losses, which no learner knows."""

    environment: Environment
    horizon: int
    nu: Floats  # (M,): the context distribution
    comparator: Integers  # (M,): pi
    losses: Callable[[int], RoundLosses]  # of a round


def view_environment(owner: str, environment: Environment) -> EnvironmentView:
    """Return the view of an environment, which must have a list of contexts."""
    if not isinstance(environment, Environment):
        expected = "an Environment: something with problem, context_distribution and losses"
        reject(owner, "environment", expected, environment)
    nu = environment.context_distribution.probabilities
    if nu is None or environment.problem.contexts is None:
        expected = "an Environment with a list of contexts, each with its probability"
        reject(owner, "environment", expected, verbatim("continuous contexts"))

    @lru_cache(maxsize=2)  # a pair of rounds: runs that play it together share the work
    def losses(round_: int) -> RoundLosses:
        rows = environment.losses(round_)
        return RoundLosses(rows, _in_all_contexts(environment.problem.form, rows))

    horizon = horizon_of(environment)
    if isinstance(environment, BlockEnvironment):
        comparator = environment.best_arms
    else:
        comparator = np.argmin(sum(losses(t).table for t in range(horizon)), axis=1)
    return EnvironmentView(environment, horizon, nu, comparator, losses)


def _in_all_contexts(form: LossForm, rows: Floats) -> Floats:
    """Return the losses of a round as a table (M, K)."""
    if isinstance(form, LinearForm) and form.table is not None:
        read: Floats = np.einsum("caf,af->ca", form.table, rows)
        return read
    return rows.T


class GraphBenchmark(BlockEnvironment):
    """The losses of the paper's benchmark on any graph, in linear form: no cost grows with M.

    In the first `favoured` rounds (in all, if None), the losses of arm 0 are multiplied by
    `favour`. With a small factor, arm 0 is the best arm in nearly all contexts. If it has no
    self-loop, it becomes the special arm, which is rarely observed. If the advantage ends before
    the horizon, the learner plays arm 0 more than the comparator does. The pessimistic correction
    is made for this case.
    """

    def __init__(
        self,
        graph: FeedbackGraph,
        horizon: int,
        contexts: int,
        *,
        favour: float = 1.0,
        favoured: int | None = None,
        table_seed: int = 0,
    ) -> None:
        benchmark = paper_benchmark(
            horizon, radius=0, arms=graph.arms, contexts=contexts, table_seed=table_seed
        )
        self._linear = benchmark.factored()
        self._favour = favour
        self._favoured = horizon if favoured is None else favoured
        self.problem = self._linear.problem.with_graph(graph)
        self.context_distribution = self._linear.context_distribution

    def block(self, start: int, stop: int) -> LossBlock:
        block = self._linear.block(start, stop)
        count = min(stop, self._favoured) - start
        if self._favour == 1.0 or count <= 0:
            return block
        rows = block.base.copy()
        rows[:count, 0] *= self._favour
        return block._replace(base=rows)


class PlayedPair(NamedTuple):
    """Two rounds that were played from one policy."""

    first: int  # the first of the two rounds
    moment: Moment  # Algorithm 2 before the pair
    ideal: Moment  # the same on the ideal trajectory, which has u_e in place of W_e
    draws: PairDraws
    losses: Floats  # (2, M, K)

    @property
    def observed(self) -> Floats:
        """I_{t,a}: 1 for the arms whose losses are observed and kept, else 0; (K,)."""
        return self.moment.observed(self.draws)

    @property
    def played_losses(self) -> Floats:
        """The losses of the two arms that were played: (2,)."""
        played: Floats = self.losses[[0, 1], self.draws.contexts, self.draws.arms]
        return played

    @property
    def doubled(self) -> Floats:
        """Twice the losses of the loss-estimation round, as in the analysis: (M, K)."""
        result: Floats = 2.0 * self.losses[self.draws.loss_side]
        return result


def follow(algorithm: CrossGraph, view: EnvironmentView, seed: Seed) -> Iterator[PlayedPair]:
    """Play `algorithm` to the horizon and yield every pair. An odd last round is left out.

    Raises CheckFailedError as soon as the learner departs from Algorithm 2.
    """
    root = fixed(seed)
    problem = view.environment.problem
    learner = algorithm.start(problem, seed=root)
    contexts = view.environment.context_distribution.draw(stream(root, "contexts"), view.horizon)
    uniforms = stream(root, "learner").random(2 * view.horizon)  # four per pair of rounds
    moment = Definition(problem.graph, view.nu, algorithm.parameters(problem)).first()
    ideal = moment
    for first in range(0, view.horizon - 1, 2):
        if moment.pair == 0:
            ideal = moment.ideal()
            _compare_policies(learner, moment.q, first)
        arms, tables = [], []
        for i in range(2):
            context = int(contexts[first + i])
            rows, table = view.losses(first + i)
            decision = learner.act(context)
            arms.append(_expected_arm(decision, moment.q[context], uniforms[2 * first + i]))
            learner.learn(decision, rows[list(decision.revealed)])
            tables.append(table)
        split, coin = uniforms[2 * first + 2 : 2 * first + 4]
        side = 0 if split < 0.5 else 1
        both = (int(contexts[first]), int(contexts[first + 1]))
        kept = bool(coin < moment.retention(both[side], arms[side]))
        draws = PairDraws(both, (arms[0], arms[1]), side, kept)
        pair = PlayedPair(first, moment, ideal, draws, np.array(tables))
        yield pair
        moment, ideal = moment.after(draws, pair.losses), ideal.after(draws, pair.losses)


def _expected_arm(decision: Decision, policy: Floats, uniform: float) -> int:
    """Return the arm that Algorithm 2 draws; raise if the decision differs from it."""
    expected = drawn_arm(policy, uniform)
    same = decision.arm == expected
    if not (same and abs(decision.probability - policy[expected]) <= TOLERANCE):
        raise CheckFailedError(
            f"In round {decision.round}, context {decision.context}, the learner played arm "
            f"{decision.arm} with probability {decision.probability:.12g}. Algorithm 2 plays arm "
            f"{expected} with probability {policy[expected]:.12g}."
        )
    return expected


def _compare_policies(learner: Learner, policy: Floats, first: int) -> None:
    """Compare whole policies in some contexts, other ones in each epoch."""
    contexts = len(policy)
    for context in {(first + i * max(1, contexts // _PANEL)) % contexts for i in range(_PANEL)}:
        shown = learner.policy(context)
        gaps = np.abs(shown - policy[context])
        if not gaps.max() <= TOLERANCE:
            arm = int(gaps.argmax())
            raise CheckFailedError(
                f"Before round {first}, the learner would play arm {arm} in context {context} with "
                f"probability {shown[arm]:.12g}. Algorithm 2 plays it with probability "
                f"{policy[context, arm]:.12g}."
            )


# --- the compiled simulation -------------------------------------------------------------------


def _instances(subject: Subject) -> tuple[tuple[CrossGraph, Environment], ...]:
    """Return both forms of losses, several kinds of graph, and epochs that do not fit T."""
    steep = replace(subject, eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6)
    experiment = replace(subject, tuning="experiment")
    random = random_strongly_observable(6, density=0.4, seed=3)
    return (
        (experiment, paper_benchmark(1_000, alpha=4, contexts=20)),
        (steep, paper_benchmark(500, alpha=2, contexts=7)),
        (steep, GraphBenchmark(loopless_clique(4), 500, 7)),
        (steep, GraphBenchmark(TWO_LOOPLESS, 502, 5, favour=0.5)),
        (steep, GraphBenchmark(random, 300, 11)),
    )


def _simulate_and_keep(
    algorithm: CrossGraph, environment: Environment, seed: int
) -> tuple[Run, Learner]:
    """Simulate, and return the learner as well, in its last state."""
    kept: list[Learner] = []

    def start(self: Any, *arguments: Any, **options: Any) -> Learner:
        kept.append(type(algorithm).start(self, *arguments, **options))
        return kept[-1]

    keeping = type(type(algorithm).__name__, (type(algorithm),), {"start": start})
    same = keeping(**{field.name: getattr(algorithm, field.name) for field in fields(algorithm)})
    run = simulate(same, environment, seed=seed, show_progress=False)
    return run, kept[0]


def compiled_loop_is_algorithm_2(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Arms, losses and last policies of `simulate` are those of the definition."""
    arms, losses, last = Differences(), Differences(), Differences()
    for algorithm, environment in _instances(subject):
        view = view_environment("verify", environment)
        for seed in _SEEDS[effort]:
            run, learner = _simulate_and_keep(algorithm, environment, seed)
            pairs = list(follow(algorithm, view, seed))
            arms.compare(run.arms, np.ravel([pair.draws.arms for pair in pairs]))
            losses.compare(run.losses, np.ravel([pair.played_losses for pair in pairs]))
            end = pairs[-1].moment.after(pairs[-1].draws, pairs[-1].losses)
            last.compare(policies_of(learner, view.nu.size), end.q)
    yield arms.result(
        "Algorithm 2, compiled simulation (arms)",
        "the arms that `simulate` plays, against the definition on the same random numbers",
    )
    yield losses.result(
        "Algorithm 2, compiled simulation (losses)",
        "the losses that `simulate` records, against those of the arms of the definition",
    )
    yield last.result(
        "Algorithm 2, compiled simulation (last policies)",
        "the policies after the last round, in every context, against the definition",
    )


# --- the good events -----------------------------------------------------------------------------

_LEAST = 1e-300  # smaller weights count as this, so that ratios are finite

# A check fails if the observed failures have a smaller probability under the bound.
_RARE = 1e-6
_EVENTS = {
    "frequency": "Good event: denominators concentrate",
    "loss": "Good event: cumulative losses stay bounded",
    "selector": "Good event: selector masses concentrate",
}
EVENTS = tuple(_EVENTS)


class EpochMeasurement(NamedTuple):
    """The measurements of one epoch."""

    frequency: float  # critical iota of |what_e - w_e| <= 2 max(sqrt(w_e iota / L), iota / L)
    loss: float  # critical iota of: sum of I l / u_e <= L + iota / gamma
    selector: float  # critical iota of |mhat_e - m_e| <= sqrt(iota / L)
    least_ratio: float  # the least u_e / W_e over arms
    largest_ratio: float
    drift: float  # the largest factor between p_t, or ptilde_t, and s_e
    fallback: float  # share of rounds and contexts, the latter by their probabilities


@dataclass(frozen=True, eq=False, kw_only=True)
class Events:
    """The good events of one algorithm on one environment, in each epoch after the warm-up."""

    parameters: EpochParameters
    arms: int
    contexts: int
    iota: float  # C log(MKT) with the C of the theorem's rule, whichever rule is in use
    measured: Floats  # (seeds, epochs, fields of EpochMeasurement)

    def all(self, name: str) -> Floats:
        """Return one field of `EpochMeasurement` in all epochs, (seeds, epochs)."""
        result: Floats = self.measured[:, :, EpochMeasurement._fields.index(name)]
        return result

    def failures(self, event: str) -> float:
        """Return the share of epochs in which an event does not hold at `iota`."""
        return float((self.all(event) > self.iota).mean())

    def bound(self, event: str, iota: float) -> float:
        """Return the bound on the probability that an event fails in an epoch, at most 1."""
        sides = self.contexts if event == "loss" else 2
        return min(1.0, sides * self.arms * math.exp(-iota))

    @property
    def good(self) -> float:
        """The share of seeds for which all events held in all epochs: Q."""
        held = np.logical_and.reduce([self.all(event) <= self.iota for event in EVENTS])
        return float(held.all(axis=1).mean())

    @property
    def good_bound(self) -> float:
        """The bound on the probability of Q, at least 0."""
        epochs = self.measured.shape[1] + 1
        sides = 4 * self.arms + self.contexts * self.arms
        return float(max(0.0, 1.0 - epochs * sides * math.exp(-self.iota)))

    @property
    def strain(self) -> float:
        """The left side of the snapshot lemma's last condition; the right side is log 2."""
        eta, gamma, _, beta, length = self.parameters
        inputs = length + self.iota / gamma + length * beta / gamma
        return float(eta * Constants().stability * inputs)


def measure_events(
    algorithm: CrossGraph, environment: Environment, seeds: Sequence[Seed]
) -> Events:
    """Play `algorithm` once for each seed and measure the good events in every epoch.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=20)
    >>> events = measure_events(CrossGraph(), environment, range(2))
    >>> [events.failures(event) for event in EVENTS]
    [0.0, 0.0, 0.0]
    """
    view = view_environment("measure_events", environment)
    parameters = algorithm.parameters(environment.problem)
    arms, contexts = environment.problem.arms, view.nu.size
    measured = [
        [
            _measure(view.nu, parameters, pairs)
            for number, pairs in groupby(
                follow(algorithm, view, seed), lambda pair: pair.moment.epoch
            )
            if number > 1
        ]
        for seed in seeds
    ]
    return Events(
        parameters=parameters,
        arms=arms,
        contexts=contexts,
        iota=Constants().iota * math.log(contexts * arms * view.horizon),
        measured=np.array(measured),
    )


def _measure(
    nu: Floats, parameters: EpochParameters, pairs: Iterator[PlayedPair]
) -> EpochMeasurement:
    """Measure one epoch, which is not empty."""
    first = next(pairs)
    epoch, population = first.moment, first.moment.u
    sums = np.zeros_like(epoch.p)
    drift, fallback, count = 1.0, 0.0, 0
    for pair in chain([first], pairs):
        sums += pair.observed / population * pair.doubled
        drift = max(drift, *(_factor(p, epoch.snapshot) for p in (pair.moment.p, pair.ideal.p)))
        fallback += float(pair.moment.fallback @ nu)
        count += 1
    length = parameters.epoch_length
    error = np.abs(epoch.w_hat - epoch.w)
    frequency = np.minimum(length * error**2 / (4.0 * epoch.w), length * error / 2.0)
    ratio = population / epoch.denominators
    return EpochMeasurement(
        frequency=float(frequency.max()),
        loss=parameters.gamma * (float(sums.max()) - length),
        selector=length * float(np.abs(epoch.selector_mass - epoch.m).max()) ** 2,
        least_ratio=float(ratio.min()),
        largest_ratio=float(ratio.max()),
        drift=drift,
        fallback=fallback / count,
    )


def _factor(weights: Floats, snapshot: Floats) -> float:
    """Return the largest factor between a trajectory and the snapshot, either way."""
    ratio = np.maximum(weights, _LEAST) / np.maximum(snapshot, _LEAST)
    return max(float(ratio.max()), 1.0 / float(ratio.min()))


# With few arms, few contexts and steep policies, samples spread as far as they can, and the bounds
# fall below 1 where failures still occur.
_SHORT_EPOCHS = EpochParameters(0.1, 0.05, 0.05, 0.05, epoch_length=10)


@lru_cache(maxsize=2)
def _measured(subject: Subject, effort: Effort) -> tuple[tuple[str, Events], ...]:
    """Measure runs under both rules; the theorem's needs long epochs, so it gets fewer of them."""
    full = effort is Effort.FULL
    ring, clique, two = paper_ring(9, 1), loopless_clique(3), loopless_clique(2)
    experiment, theorem = (replace(subject, tuning=rule) for rule in ("experiment", "theorem"))
    short = replace(subject, **_SHORT_EPOCHS._asdict())
    rounds, long, seeds = (8_000, 40_000, 8) if full else (2_000, 10_000, 2)
    return tuple(
        (name, measure_events(algorithm, environment, range(count)))
        for name, algorithm, environment, count in (
            ("short epochs", short, GraphBenchmark(two, 4_000, 4), seeds),
            ("experiment", experiment, GraphBenchmark(ring, rounds, 50), seeds),
            ("experiment", experiment, GraphBenchmark(ring, rounds, 50, favour=0.2), seeds),
            ("theorem", theorem, GraphBenchmark(clique, long, 20, favour=0.2), seeds // 2),
        )
    )


def good_events_hold(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """In every epoch, at every iota: failures are no more frequent than the bound says."""
    measured = _measured(subject, effort)
    for event in EVENTS:
        yield _concentration(event, measured)
    worst = min(measured, key=lambda pair: pair[1].good - pair[1].good_bound)[1]
    yield CheckResult(
        statement="Probability of Q",
        checked="the share of runs in which every event holds in every epoch, at iota = 2 log(MKT)",
        instances=sum(len(events.measured) for _, events in measured),
        worst=f"share {worst.good:.3g}; the bound is 1 - {1.0 - worst.good_bound:.1e}",
        passed=all(events.good >= events.good_bound for _, events in measured),
    )


def _concentration(event: str, measured: tuple[tuple[str, Events], ...]) -> CheckResult:
    chances: list[float] = []
    series: dict[str, list[Series]] = {}  # the last of the settings with the same name
    worst, text = 0.0, "no failure at any iota where the bound is below 1"
    for name, events in measured:
        critical = np.sort(np.maximum(events.all(event), 0.0), axis=None)
        shares = 1.0 - np.arange(critical.size) / critical.size  # of epochs that reach it
        bounds = np.array([events.bound(event, iota) for iota in critical])
        chances.append(_probability(shares * critical.size, bounds))
        series[name] = _curves(name, critical, shares, bounds)
        for share, bound, iota in zip(shares, bounds, critical, strict=True):
            if bound < 1.0 and share / bound > worst:
                worst = share / bound
                text = f"{share:.3g} of epochs at iota = {iota:.3g}; the bound is {bound:.3g}"
    failed = sum(int((events.all(event) > events.iota).sum()) for _, events in measured)
    return CheckResult(
        statement=_EVENTS[event],
        checked="how often the event fails in an epoch, at every iota, against the bound",
        instances=sum(events.all(event).size for _, events in measured),
        worst=text,
        passed=min(chances) > _RARE,
        note=f"At iota = 2 log(MKT) it failed in {failed} epochs.",
        figure=Figure(
            title=_EVENTS[event],
            x_label="iota",
            y_label="share of epochs in which it fails",
            series=tuple(line for lines in series.values() for line in lines),
            y_log=True,
        ),
    )


def _probability(counts: Floats, bounds: Floats) -> float:
    """Return the probability of so many failures if the bounds are exact, at the worst iota.

    Epochs depend on each other, but each fails with at most this probability given those before;
    so the number of failures is at most binomial.
    """
    from scipy.stats import binom

    return float(binom.sf(np.round(counts) - 1, counts.size, bounds).min() * counts.size)


def _curves(name: str, critical: Floats, shares: Floats, bounds: Floats) -> list[Series]:
    keep = np.unique(np.linspace(0, critical.size - 1, 60).astype(int))
    x = tuple(critical[keep].tolist())
    return [
        Series(name=name, x=x, y=tuple(float(share) for share in shares[keep])),
        Series(name=f"{name}: bound", x=x, y=tuple(float(b) for b in bounds[keep]), reference=True),
    ]


def snapshots_are_stable(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Under the theorem's rule, no trajectory leaves a factor of two, and nothing falls back."""
    measured = _measured(subject, effort)
    for rule in ("theorem", "experiment"):
        group = [events for name, events in measured if name == rule]
        drift = max(float(events.all("drift").max()) for events in group)
        fallback = [float(events.all("fallback").mean()) for events in group]
        ratios = [
            min(float(events.all("least_ratio").min()) for events in group),
            max(float(events.all("largest_ratio").max()) for events in group),
        ]
        strain = max(events.strain for events in group)
        stable = strain <= math.log(2) * (1 + 1e-9)
        outside = (
            " The lemma does not apply here: its condition asks for at most log 2 = 0.693, and "
            f"this rule has {strain:.3g}. So the measurement is not judged."
        )
        yield CheckResult(
            statement=f"Lemma 8 (snapshot stability), {rule}'s rule",
            checked="p and ptilde within a factor of two of s_e in all contexts; u_e / W_e within "
            "[1/2, 2], so that clipping does not act; no fallback",
            instances=sum(events.all("drift").size for events in group),
            worst=f"factor {drift:.3g}; fallback in {100 * max(fallback):.3g} % of rounds",
            passed=not stable
            or (drift <= 2.0 and max(fallback) == 0.0 and ratios[0] >= 0.5 and ratios[1] <= 2.0),
            judged=stable,
            note=(
                f"u_e / W_e stayed within [{ratios[0]:.3g}, {ratios[1]:.3g}]."
                + ("" if stable else outside)
            ),
        )
