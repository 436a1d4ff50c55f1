"""The regret of runs, split into the terms of the paper or of any FTRL algorithm.

With the policy q, the distribution p of FTRL, losses l, the best arm e of a context, what FTRL is
fed lhat, and anything x in between, each round has

    <q - e, l>  =  <q - p, l> + <p - e, l - x> + <p - e, x - lhat> + <p - e, lhat>.

**Algorithm 2** has, over the loss-estimation rounds after the warm-up and with doubled losses,

    Reg = Bias 1 + Bias 2 + Bias 3 + Bias 4 + FTRL - Bias 5,

where x is the estimate with the population's denominators. The third summand is split in two along
the ideal trajectory, and the last into the FTRL term and its pessimistic correction. Each term is
averaged over all contexts with their true probabilities. The special arm of the epoch is kept apart
from the regular ones, as in the paper's lemmas.

**Any other algorithm that declares its estimator** has the declared expectation of lhat as x. The
four summands are exploration, bias, noise (zero in expectation), and the regret on the estimates.
With the rate eta of the round and Z = sum_a p(a) exp(-eta lhat(a)), the last is the sum of

    <p, lhat> + log(Z) / eta,       stability: at most eta / 2 <p, lhat^2> if lhat >= 0
    -log(Z) / eta - <e, lhat>,      penalty: adds up to at most log(K) / (last eta), if no rate is
                                    above the one before it.

The penalty telescopes: with F(L, eta) = -log(mean_a exp(-eta L(a))) / eta, -log(Z) / eta is
F(L + lhat, eta) - F(L, eta); F falls in eta, F(0, eta) = 0 and F(L, eta) <= L(e) + log(K) / eta.
For an algorithm that learns from pairs of rounds, a pair takes the place of a round, and l is the
sum of its losses. With cross-learning, each term is averaged over all contexts with their
probabilities. Without it, only the context of a round counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from crossbandit.algorithms import Algorithm, CrossGraph
from crossbandit.algorithms.tuning import required_alpha, required_horizon
from crossbandit.checks.enumeration import Route, declared_on, policies_of
from crossbandit.errors import CheckFailedError
from crossbandit.report.statistics import half_width
from crossbandit.streams import fixed, stream
from crossbandit.theory.runs import follow, view_environment
from crossbandit.validation import choice, reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt
    import pandas as pd

    from crossbandit.algorithms import Estimator, Learner
    from crossbandit.algorithms.epoch_core import EpochParameters
    from crossbandit.environments import Environment
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.theory.runs import EnvironmentView, PlayedPair
    from crossbandit.types import Floats, Integers

TERMS = ("bias_1", "bias_2", "bias_3", "bias_4", "bias_5", "ftrl")
SIGNS = {"bias_5": -1.0}
_TOLERANCE = 1e-8

_SUMMANDS = {
    "warm_up": "epoch 1: uniform play, nothing is learned",
    "bias_1": "uniform exploration, and the fallback to the snapshot",
    "bias_2": "implicit exploration: estimates divide by w + gamma, not by w",
    "bias_3": "estimated denominators W_e in place of w + gamma, on the ideal trajectory",
    "bias_4": "how far estimated denominators move the learner off the ideal trajectory",
    "ftrl": "the regret of FTRL on its own inputs",
    "-bias_5": "what the pessimistic correction of the special arm takes away",
}
_TOTAL = "regret: the sum of the rows above"
_DETAILS = {
    "bias_2_regular": "bias_2 on all arms but the special one",
    "bias_2_special": "bias_2 on the special arm",
    "bias_3_regular": "bias_3 on all arms but the special one",
    "bias_3_special": "bias_3 on the special arm",
    "bias_4_regular": "bias_4 on all arms but the special one",
    "bias_4_special": "bias_4 on the special arm",
    "special": "bias_2 + bias_3 + bias_4 on the special arm, less bias_5",
    "selected_regret": "the total of table(): warm-up, and twice the loss-estimation rounds",
    "pseudo_regret": "the regret of all rounds, averaged over contexts and arms; the same mean",
    "realised_regret": "the regret that the run had, as `simulate` reports it; the same mean",
}


DECLARED_TERMS = {
    "exploration": "playing q in place of the distribution p of FTRL",
    "bias": "estimates that are too small or too large in expectation",
    "noise": "the difference between estimates and their expectation; zero in expectation",
    "stability": "the effect of one round; at most eta / 2 times the second moment of estimates",
    "penalty": "the start from equal weights; at most log(K) / (last eta) if rates fall",
}


def mean_interval(values: npt.ArrayLike) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval by Student's t.

    >>> mean, half_width = mean_interval([1.0, 2.0, 3.0])
    >>> mean, round(half_width, 3)
    (2.0, 2.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.mean()), half_width(sample)


def _residual(terms: Floats, regret: Floats) -> float:
    """Return the largest gap between regret and the sum of its terms, relative to all of them."""
    gap = np.abs(terms.sum(axis=0) - regret)
    return float((gap / np.maximum(np.abs(terms).sum(axis=0), 1.0)).max())


def _frame(rows: Sequence[tuple[object, ...]], *more: str) -> pd.DataFrame:
    import pandas as pd

    columns = ["part", "mean", "half_width", *more, "meaning"]
    return pd.DataFrame(rows, columns=columns).set_index("part")


@dataclass(frozen=True, eq=False, kw_only=True)
class Decomposition:
    """The terms of one algorithm on one environment, for every seed.

    Attributes:
        algorithm: The algorithm that was run.
        environment: The environment that it was run on.
        parameters: The parameters that the algorithm chose for it.
        orders: What the paper bounds each term by, with 1 in place of every constant.
        rounds: The number of rounds at the end of each epoch after the warm-up.
        curves: Shape (seeds, epochs, parts), in the order of `Parts`: each part, summed from epoch
            2 to the end of each epoch.
        warm_up: Shape (seeds,): the regret of epoch 1, averaged over contexts and arms.
        pseudo_regret: Shape (seeds,): the same for all rounds.
        realised_regret: Shape (seeds,): the regret of the arms that were played.
    """

    algorithm: CrossGraph
    environment: Environment
    parameters: EpochParameters
    orders: Orders
    rounds: Integers
    curves: Floats
    warm_up: Floats
    pseudo_regret: Floats
    realised_regret: Floats

    def values(self, name: str) -> Floats:
        """Return a part of the regret at the horizon, for each seed.

        Args:
            name: A field of `Parts`; one of the six terms, such as "bias_2", on all arms;
                "-bias_5"; "special", which is Bias 2 to 4 on the special arm less Bias 5;
                "warm_up", "selected_regret", "pseudo_regret" or "realised_regret"; or "total",
                which is "pseudo_regret".

        Returns:
            One number for each seed.

        Raises:
            InvalidParameterError: If there is no such part.
        """
        if name in {"warm_up", "selected_regret", "pseudo_regret", "realised_regret"}:
            values: Floats = getattr(self, name)
            return values
        return self.pseudo_regret if name == "total" else self.curve(name)[:, -1]

    def curve(self, name: str) -> Floats:
        """Return a part of the regret after each epoch.

        Args:
            name: As for `values`, but nothing that includes the warm-up.

        Returns:
            An array (seeds, epochs).

        Raises:
            InvalidParameterError: If there is no such part.
        """
        if name == "-bias_5":
            return -self.curve("bias_5")
        if name == "special":
            parts = [f"bias_{i}_special" for i in (2, 3, 4)]
            rest: Floats = np.sum([self.curve(part) for part in parts], axis=0)
            return rest - self.curve("bias_5")
        choice("Decomposition", "name", name, (*Parts._fields, "bias_2", "bias_3", "bias_4"))
        own = [part == name or part.startswith(f"{name}_") for part in Parts._fields]
        result: Floats = self.curves[:, :, own].sum(axis=2)
        return result

    def order(self, name: str) -> float:
        """Return what the paper bounds the mean of `values(name)` by, with every constant 1.

        Args:
            name: As for `values`.

        Returns:
            The order, or NaN if the paper has no bound for this part alone.
        """
        eta, gamma, _, _, length = self.parameters
        horizon = float(self.rounds[-1])
        if name == "warm_up":
            return float(length)
        if name.endswith("regret"):
            return self.orders.total
        if name == "bias_3_special":
            return gamma * (float(self.values("ideal_excess").mean()) + horizon)
        if name == "ideal_excess":
            return float(self.values("excess").mean()) + eta * length * horizon
        return float(getattr(self.orders, name, math.nan))

    @cached_property
    def residual(self) -> float:
        """The largest gap between regret and the sum of its terms, relative to all of them."""
        terms = np.array([SIGNS.get(name, 1.0) * self.values(name) for name in TERMS])
        return _residual(terms, self.values("regret"))

    @property
    def selected_regret(self) -> Floats:
        """Warm-up and doubled loss-estimation rounds: regret after the pair reduction."""
        return self.warm_up + self.values("regret")

    def table(self) -> pd.DataFrame:
        """Return the summands of the regret and their total.

        Returns:
            One row for each summand, and the row "total". Columns: `mean` over the seeds;
            `half_width` of its 95 % interval; `order`, as `order` returns it; `meaning`, in words.
            The means of the summands add up to that of the total.
        """
        rows = self._rows(_SUMMANDS)
        rows.append(("total", *mean_interval(self.selected_regret), self.orders.total, _TOTAL))
        return _frame(rows, "order")

    def details(self) -> pd.DataFrame:
        """Return the parts of Bias 2 to 5 by kind of arm, and three ways to measure the regret.

        Returns:
            A table with the columns of `table`. Its rows do not add up.
        """
        return _frame(self._rows(_DETAILS), "order")

    def _rows(self, meanings: Mapping[str, str]) -> list[tuple[str, float, float, float, str]]:
        return [
            (name, *mean_interval(self.values(name)), self.order(name), meaning)
            for name, meaning in meanings.items()
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredDecomposition:
    """The terms of an algorithm that declares its estimator, for every seed.

    Attributes:
        algorithm: The algorithm that was run.
        environment: The environment that it was run on.
        terms: The sum of each term over all rounds, by name: an array with a number for each seed.
        pseudo_regret: The regret of the policies, averaged as the terms are: (seeds,).
    """

    algorithm: Algorithm
    environment: Environment
    terms: dict[str, Floats]
    pseudo_regret: Floats

    @property
    def residual(self) -> float:
        """The largest gap between regret and the sum of its terms, relative to all of them."""
        return _residual(np.array(list(self.terms.values())), self.pseudo_regret)

    def table(self) -> pd.DataFrame:
        """Return the terms and their total.

        Returns:
            One row for each term, and the row "total". Columns: `mean` over the seeds, `half_width`
            of its 95 % interval, and `meaning`.
        """
        rows = [
            (name, *mean_interval(self.terms[name]), meaning)
            for name, meaning in DECLARED_TERMS.items()
        ]
        rows.append(("total", *mean_interval(self.pseudo_regret), "regret: the sum of the rows"))
        return _frame(rows)


@overload
def decompose(
    algorithm: CrossGraph, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition: ...


@overload
def decompose(
    algorithm: Algorithm, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition | DeclaredDecomposition: ...


def decompose(
    algorithm: Algorithm, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition | DeclaredDecomposition:
    """Play an algorithm once for each seed, and split its regret into terms.

    The terms of Algorithm 2 are those of the paper. Any other algorithm of the FTRL kind that
    declares its estimator (`Algorithm.estimator`) has the terms exploration, bias, noise, stability
    and penalty: see `DeclaredDecomposition`.

    Args:
        algorithm: A `CrossGraph`, or an algorithm derived from it; or one that declares its
            estimator.
        environment: An environment with a list of contexts and a horizon.
        seeds: The seeds of the runs; at least one.

    Returns:
        The terms for every seed.

    Raises:
        CheckFailedError: The learner's policies are not those of Algorithm 2, or not FTRL on
            declared estimates.
        InvalidParameterError: An argument is not valid.

    >>> from crossbandit import CrossGraph, environments
    >>> environment = environments.paper_benchmark(1_000, alpha=4, contexts=20)
    >>> parts = decompose(CrossGraph(), environment, range(2))
    >>> parts.residual < 1e-12
    True
    >>> means = parts.table()["mean"]
    >>> bool(abs(means[:-1].sum() - means["total"]) < 1e-9)
    True
    """
    if not isinstance(algorithm, Algorithm):
        expected = "a CrossGraph, or an algorithm that declares its estimator"
        reject("decompose", "algorithm", expected, algorithm)
    try:
        roots = [fixed(seed) for seed in seeds]
    except TypeError:
        roots = []
    if not roots:
        reject("decompose", "seeds", "a list of at least one seed", seeds)
    view = view_environment("decompose", environment)
    if not isinstance(algorithm, CrossGraph):
        return _decompose_declared(algorithm, view, roots)
    parameters = algorithm.parameters(environment.problem)
    runs = [_RunParts(view, parameters) for _ in roots]
    # The same pair of all seeds together, so that the runs share its losses.
    for pairs in zip(*(follow(algorithm, view, seed) for seed in roots), strict=True):
        for run, pair in zip(runs, pairs, strict=True):
            run.add(pair)
    length = parameters.epoch_length
    ends = np.minimum(np.arange(2 * length, view.horizon + length, length), view.horizon)
    return Decomposition(
        algorithm=algorithm,
        environment=environment,
        parameters=parameters,
        orders=orders(environment.problem, parameters),
        rounds=ends,
        curves=np.cumsum([run.parts for run in runs], axis=1),
        warm_up=np.array([run.warm_up for run in runs]),
        pseudo_regret=np.array([run.pseudo_regret for run in runs]),
        realised_regret=np.array([run.realised_regret for run in runs]),
    )


# --- the terms of Algorithm 2 --------------------------------------------------------------------


class Parts(NamedTuple):
    """What a loss-estimation round contributes to regret, its terms, and what bounds them."""

    regret: float
    bias_1: float
    bias_2_regular: float
    bias_2_special: float
    bias_3_regular: float
    bias_3_special: float
    bias_4_regular: float
    bias_4_special: float
    bias_5: float
    ftrl: float
    excess: float  # V: how much more than pi plays j_e, over u_e(j_e)
    ideal_excess: float  # Vtilde: the same on the ideal trajectory
    norm: float  # sum of p (y - z)^2: the shifted local norm
    regular_norm: float  # sum of p lhat^2 over regular arms
    away_norm: float  # sum of p z^2 over all arms but j_e


class _RunParts:
    """The sums of one run, pair by pair."""

    def __init__(self, view: EnvironmentView, parameters: EpochParameters) -> None:
        epochs = -(-view.horizon // parameters.epoch_length) - 1
        self._nu = view.nu
        self._best = np.eye(view.environment.problem.arms)[view.comparator]  # (M, K)
        self.parts = np.zeros((epochs, len(Parts._fields)))
        self.warm_up = self.pseudo_regret = self.realised_regret = 0.0

    def add(self, pair: PlayedPair) -> None:
        """Add a pair to the sums of its epoch."""
        moment = pair.moment
        regret = float((self._nu @ ((moment.q - self._best) * pair.losses.sum(axis=0))).sum())
        self.pseudo_regret += regret
        for table, c, arm in zip(pair.losses, pair.draws.contexts, pair.draws.arms, strict=True):
            self.realised_regret += float(table[c, arm] - self._best[c] @ table[c])
        if moment.epoch == 1:
            self.warm_up += regret
        else:
            self.parts[moment.epoch - 2] += self._parts(pair)

    def _parts(self, pair: PlayedPair) -> Parts:
        """Return what the loss-estimation round contributes."""
        moment, losses, best = pair.moment, pair.doubled, self._best
        p, ideal, special = moment.p, pair.ideal.p, moment.special
        tilde = losses * (pair.observed / moment.u)
        real = losses * (pair.observed / moment.denominators)
        fed = real + moment.correction
        regular = np.arange(len(moment.u)) != (-1 if special is None else special)
        bias_2 = self._by_arm(p - best, losses - tilde)
        bias_3 = self._by_arm(ideal - best, tilde - real)
        bias_4 = self._by_arm(p - ideal, tilde - real)
        # The special arm's own input is subtracted from every arm's: z in the paper.
        shift = (
            np.zeros_like(fed) if special is None else np.broadcast_to(fed[:, [special]], fed.shape)
        )
        excess, ideal_excess = (
            np.maximum(0.0, self._nu @ (policy - best)) / moment.u for policy in (p, ideal)
        )
        return Parts(
            regret=self._by_arm(moment.q - best, losses).sum(),
            bias_1=self._by_arm(moment.q - p, losses).sum(),
            bias_2_regular=bias_2[regular].sum(),
            bias_2_special=bias_2[~regular].sum(),
            bias_3_regular=bias_3[regular].sum(),
            bias_3_special=bias_3[~regular].sum(),
            bias_4_regular=bias_4[regular].sum(),
            bias_4_special=bias_4[~regular].sum(),
            bias_5=self._by_arm(p - best, moment.correction).sum(),
            ftrl=self._by_arm(p - best, fed).sum(),
            excess=excess[~regular].sum(),
            ideal_excess=ideal_excess[~regular].sum(),
            norm=self._by_arm(p, (fed - shift) ** 2).sum(),
            regular_norm=self._by_arm(p, real**2)[regular].sum(),
            away_norm=self._by_arm(p, shift**2)[regular].sum(),
        )

    def _by_arm(self, weights: Floats, values: Floats) -> Floats:
        """Return sum_c nu(c) weights(c, a) values(c, a) for each arm: (K,)."""
        return np.asarray(self._nu @ (weights * values))


class Orders(NamedTuple):
    """One order for each bound of the appendix, for given parameters."""

    graph_sum: float  # A_G = alpha log(K^2 / (alpha rho)) + 1
    bias_1: float  # rho T
    bias_2_regular: float  # gamma A_G T
    bias_3_regular: float  # A_G (gamma + 1 / L) T
    bias_4_regular: float  # the same
    bias_4_special: float  # eta A_G (1 + L gamma) T
    special: float  # the order of Bias 2, 3 and 4 on the special arm less Bias 5
    regular_norm: float  # A_G T
    away_norm: float  # T
    ftrl: float  # log K / eta + eta A_G T + eta T
    total: float  # the assembly: Theorem 1 before the parameters are chosen


def orders(problem: Problem, parameters: EpochParameters) -> Orders:
    """Return the orders for `problem` when Algorithm 2 runs with `parameters`.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    >>> round(orders(problem, CrossGraph().parameters(problem)).total)
    3965
    """
    alpha = required_alpha("orders", problem)
    horizon = required_horizon("orders", problem)
    arms = problem.arms
    eta, gamma, rho, beta, length = parameters
    graph_sum = alpha * math.log(arms**2 / (alpha * rho)) + 1.0
    random_denominator = graph_sum * (gamma + 1.0 / length) * horizon
    trajectory = eta * graph_sum * (1.0 + length * gamma) * horizon
    special = (beta + gamma) * horizon + trajectory
    ftrl = math.log(arms) / eta + eta * graph_sum * horizon + eta * horizon
    return Orders(
        graph_sum=graph_sum,
        bias_1=rho * horizon,
        bias_2_regular=gamma * graph_sum * horizon,
        bias_3_regular=random_denominator,
        bias_4_regular=random_denominator,
        bias_4_special=trajectory,
        special=special,
        regular_norm=graph_sum * horizon,
        away_norm=horizon,
        ftrl=ftrl,
        total=length
        + rho * horizon
        + math.log(arms) / eta
        + eta * graph_sum * horizon
        + random_denominator
        + special,
    )


# --- the terms of declared estimates -------------------------------------------------------------


def _decompose_declared(
    algorithm: Algorithm, view: EnvironmentView, seeds: Sequence[Seed]
) -> DeclaredDecomposition:
    problem = view.environment.problem
    if algorithm.needs_context_distribution:
        problem = problem.with_distribution(view.nu)
    learners = [algorithm.start(problem, seed=seed) for seed in seeds]
    declared = declared_on(algorithm, learners[0], problem.graph)
    if declared is None or problem.graph_kind == "unknown" or problem.graph_by_context:
        expected = "a CrossGraph, or an algorithm that declares its estimator for such graphs"
        reject("decompose", "algorithm", expected, algorithm)
    runs = [
        _run(algorithm, learner, view, seed) for learner, seed in zip(learners, seeds, strict=True)
    ]
    sums = np.array(runs).T
    return DeclaredDecomposition(
        algorithm=algorithm,
        environment=view.environment,
        terms=dict(zip(DECLARED_TERMS, sums[:-1], strict=True)),
        pseudo_regret=sums[-1],
    )


def _run(algorithm: Algorithm, learner: Learner, view: EnvironmentView, seed: Seed) -> Floats:
    """Return the sums of the terms and of the regret over all rounds."""
    contexts = view.environment.context_distribution.draw(stream(seed, "contexts"), view.horizon)
    total = np.zeros(len(DECLARED_TERMS) + 1)
    first = 0
    while first < view.horizon:
        graphs, declared = _declared(algorithm, learner, view, first)
        before = FtrlState.of(learner, declared[0])
        before.require_policies(learner)
        rounds = range(first, min(first + declared[0].rounds, view.horizon))
        losses = [view.losses(t) for t in rounds]
        for t, graph, own in zip(rounds, graphs, losses, strict=False):
            route = Route("", graph, kind=learner.problem.graph_kind)
            route.learn(learner, route.act(learner, int(contexts[t])), own.rows)
        crosses = declared[0].cross_learning
        counts = view.nu if crosses else np.eye(len(view.nu))[int(contexts[first])]
        tables = np.array([own.table for own in losses])
        mean = np.zeros_like(tables[0])
        if len(rounds) == declared[0].rounds:  # nothing is learned from a last round without a pair
            mean = expected_input(declared, before.policies, counts, tables)
        best = np.eye(tables.shape[2])[view.comparator]
        total += before.terms(best, tables, mean, declared[0].estimates(learner)) @ counts
        first = rounds[-1] + 1
    return total


def _declared(
    algorithm: Algorithm, learner: Learner, view: EnvironmentView, first: int
) -> tuple[Sequence[FeedbackGraph], Sequence[Estimator]]:
    """Return the graphs of a round and of the one after it, and what is declared for them."""
    graphs = [learner.graph] * 2
    if learner.problem.graph_kind != "fixed":
        environment: Any = view.environment
        graphs = [environment.graph(t) for t in (first, min(first + 1, view.horizon - 1))]
    declared = [declared_on(algorithm, learner, graph) for graph in graphs]
    known = [one.of_round(learner) for one in declared if one is not None]
    if len(known) < len(graphs):
        graph = graphs[declared.index(None)]
        raise CheckFailedError(f"{type(algorithm).__name__} declares no estimator for {graph}.")
    return graphs, known


def expected_input(
    declared: Sequence[Estimator], policies: Floats, counts: Floats, losses: Floats
) -> Floats:
    """Return the declared expectation of what is added, also over contexts (contexts, arms).

    `counts` are the probabilities of the contexts, `losses` those of each round (rounds, contexts,
    arms); `declared` is for each of these rounds.
    """
    mean = [
        share * one.mean(policies, int(c), table)
        for one, table in zip(declared, losses, strict=False)
        for c, share in enumerate(counts)
        if share > 0
    ]
    return np.asarray(np.sum(mean, axis=0) / len(losses))


class FtrlState(NamedTuple):
    """The state before a round, or a pair."""

    declared: Estimator
    estimates: Floats  # (contexts, arms): the sums of estimates
    rates: Floats  # (contexts,): the learning rates
    weights: Floats  # (contexts, arms): the distributions p of FTRL
    policies: Floats  # (contexts, arms): q

    @classmethod
    def of(cls, learner: Learner, declared: Estimator) -> FtrlState:
        """Return the state before the next round of a learner."""
        estimates = declared.estimates(learner)
        contexts = len(estimates)
        rates = np.broadcast_to(declared.rate(learner), contexts)
        weights, policies = declared.ftrl(learner), policies_of(learner, contexts)
        return cls(declared, estimates, rates, weights, policies)

    def expected_policies(self, learner: Learner) -> Floats:
        """Return the policies that follow from FTRL and the declaration (contexts, arms).

        If the declaration has no policy, the policies must mix FTRL with one distribution. Its
        weight and the distribution are those that fit the first context best.
        """
        if self.declared.policy is not None:
            return self.declared.policy(learner, self.weights)
        differences = self.weights - self.weights[0]
        scale = float((differences**2).sum())
        if scale > _TOLERANCE**2:
            kept = float(((self.policies - self.policies[0]) * differences).sum()) / scale
        else:  # FTRL is the same in all contexts: take the largest possible weight
            kept = float((self.policies[0] / self.weights[0]).min())
        mixed = np.clip(self.policies[0] - kept * self.weights[0], 0.0, None)
        expected: Floats = kept * self.weights + mixed
        return expected

    def require_policies(self, learner: Learner) -> None:
        """Raise CheckFailedError unless the policies are those that are declared."""
        gap = np.abs(self.policies - self.expected_policies(learner)).max()
        if not gap <= _TOLERANCE:
            raise CheckFailedError(
                f"The policies of {type(learner.algorithm).__name__} in round {learner.round} are "
                "not FTRL with the rate, the estimates and the exploration that it declares. So "
                "their regret cannot be split into these terms."
            )

    def terms(self, best: Floats, losses: Floats, mean: Floats, after: Floats) -> Floats:
        """Return each term, and the regret, in each context (terms + 1, contexts).

        `losses` are those of each round (rounds, contexts, arms), `mean` the declared expectation
        of what is added, and `after` the sums of estimates after the rounds.
        """
        p, q = self.weights, self.policies
        summed, added = losses.sum(axis=0), after - self.estimates
        gap, normaliser = p - best, self._normaliser(added)
        return np.array(
            [
                ((q - p) * summed).sum(axis=1),
                (gap * (summed - mean)).sum(axis=1),
                (gap * (mean - added)).sum(axis=1),
                (p * added).sum(axis=1) + normaliser,
                -normaliser - (best * added).sum(axis=1),
                ((q - best) * summed).sum(axis=1),
            ]
        )

    def _normaliser(self, added: Floats) -> Floats:
        """Return log(Z) / eta; its limit where eta is 0."""
        least = added.min(axis=1, keepdims=True)
        rates = self.rates[:, None]
        z = (self.weights * np.exp(-rates * (added - least))).sum(axis=1)
        limit = -(self.weights * added).sum(axis=1)
        safe = np.where(self.rates > 0, self.rates, 1.0)
        normaliser: Floats = np.where(self.rates > 0, np.log(z) / safe - least[:, 0], limit)
        return normaliser
