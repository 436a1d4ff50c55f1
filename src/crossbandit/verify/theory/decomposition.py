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
The last is the sum of stability and penalty: see `declared`.

The six terms of Algorithm 2 add up to regret. Their bounds are proved, and depend on the definition
only, so they are not checked here. Three sentences of the proofs of Lemmas 13 and 15 are false as
printed; each is shown with a counterexample and with what is proved in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from crossbandit.algorithms import Algorithm, CrossGraph
from crossbandit.algorithms.tuning import required_alpha, required_horizon
from crossbandit.core.report import Chart, Series, Shape
from crossbandit.core.report.statistics import half_width
from crossbandit.core.streams import fixed
from crossbandit.core.validation import choice, reject
from crossbandit.graphs import loopless_clique, paper_ring
from crossbandit.verify.theory.declared import declared_terms
from crossbandit.verify.theory.implementation import GraphBenchmark, follow, view_environment
from crossbandit.verify.theory.statements import CheckResult, Effort, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms.epoch_core import EpochParameters
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.environments import Environment
    from crossbandit.verify.theory.implementation import EnvironmentView, PlayedPair

_ALGORITHM_2 = {
    "warm_up": "epoch 1: uniform play, nothing is learned",
    "bias_1": "uniform exploration, and the fallback to the snapshot",
    "bias_2": "implicit exploration: estimates divide by w + gamma, not by w",
    "bias_3": "estimated denominators W_e in place of w + gamma, on the ideal trajectory",
    "bias_4": "how far estimated denominators move the learner off the ideal trajectory",
    "ftrl": "the regret of FTRL on its own inputs",
    "-bias_5": "what the pessimistic correction of the special arm takes away",
}
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
_DECLARED = {
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Decomposition:
    """The terms of the regret of one algorithm on one environment, for every seed.

    Attributes:
        algorithm: The algorithm that was run.
        environment: The environment that it was run on.
        rounds: The number of rounds after which parts were summed: at the end of each epoch after
            the warm-up for Algorithm 2, and of each step of learning for others.
        parts: Every part of the regret by name, summed from the first round: (seeds, points).
        summands: The parts that add up to "total", with their meanings.
        orders: What the paper bounds a part by at the horizon, with 1 in place of every constant.
    """

    algorithm: Algorithm
    environment: Environment
    rounds: Integers
    parts: Mapping[str, Floats]
    summands: Mapping[str, str]
    orders: Mapping[str, float]

    def values(self, name: str) -> Floats:
        """Return a part of the regret at the horizon, for each seed.

        Args:
            name: A row of `table` or `details`; a term on all arms, such as "bias_5"; or "regret",
                the total without the warm-up.

        Returns:
            One number for each seed.

        Raises:
            InvalidParameterError: If there is no such part.
        """
        return self.curve(name)[:, -1]

    def curve(self, name: str) -> Floats:
        """Return a part of the regret after the rounds `rounds`.

        Args:
            name: As for `values`.

        Returns:
            An array (seeds, points).

        Raises:
            InvalidParameterError: If there is no such part.
        """
        return self.parts[choice("Decomposition", "name", name, tuple(self.parts))]

    def order(self, name: str) -> float:
        """Return what the paper bounds the mean of `values(name)` by, with every constant 1.

        Args:
            name: As for `values`.

        Returns:
            The order, or NaN if the paper has no bound for this part alone.
        """
        return self.orders.get("total" if name.endswith("regret") else name, math.nan)

    @property
    def terms(self) -> dict[str, Floats]:
        """The terms that add up to the regret, each at the horizon for each seed."""
        return {name: self.values(name) for name in self.summands}

    @property
    def pseudo_regret(self) -> Floats:
        """The regret of the policies in all rounds, averaged as the terms are, for each seed."""
        return self.values("pseudo_regret")

    @property
    def selected_regret(self) -> Floats:
        """Warm-up and doubled loss-estimation rounds of Algorithm 2, for each seed."""
        return self.values("selected_regret")

    @property
    def realised_regret(self) -> Floats:
        """The regret of the arms that Algorithm 2 played, for each seed."""
        return self.values("realised_regret")

    @cached_property
    def residual(self) -> float:
        """The largest gap between regret and the sum of its terms, relative to all of them."""
        terms = np.array(list(self.terms.values()))
        gap = np.abs(terms.sum(axis=0) - self.values("total"))
        return float((gap / np.maximum(np.abs(terms).sum(axis=0), 1.0)).max())

    def table(self) -> pd.DataFrame:
        """Return the summands of the regret and their total.

        Returns:
            One row for each summand, and the row "total". Columns: `mean` over the seeds;
            `half_width` of its 95 % interval; `order`, as `order` returns it, for Algorithm 2; and
            `meaning`, in words. The means of the summands add up to that of the total.
        """
        return self._frame({**self.summands, "total": "regret: the sum of the rows above"})

    def details(self) -> pd.DataFrame:
        """Return the parts of Bias 2 to 5 by kind of arm, and three ways to measure the regret.

        Returns:
            A table with the columns of `table`. Its rows do not add up. It has no rows for
            algorithms other than Algorithm 2.
        """
        return self._frame({name: x for name, x in _DETAILS.items() if name in self.orders})

    def _frame(self, meanings: Mapping[str, str]) -> pd.DataFrame:
        rows = {
            name: (*mean_interval(self.values(name)), self.order(name), meaning)
            for name, meaning in meanings.items()
        }
        columns = ["mean", "half_width", "order", "meaning"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("part")
        return frame if self.orders else frame.drop(columns="order")


def decompose(
    algorithm: Algorithm, environment: Environment, seeds: Iterable[Seed]
) -> Decomposition:
    """Play an algorithm once for each seed, and split its regret into terms.

    The terms of Algorithm 2 are those of the paper. Any other algorithm of the FTRL kind that
    declares its estimator (`Algorithm.estimator`) has the terms exploration, bias, noise, stability
    and penalty.

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
    if isinstance(algorithm, CrossGraph):
        parameters = algorithm.parameters(environment.problem)
        sums = np.zeros((len(roots), -(-view.horizon // parameters.epoch_length), _PARTS, 2))
        # The same pair of all seeds together, so that the runs share its losses.
        for pairs in zip(*(follow(algorithm, view, seed) for seed in roots), strict=True):
            for run, pair in zip(sums, pairs, strict=True):
                run[pair.moment.epoch - 1] += _pair_parts(view, pair)
        parts = _named_parts(np.cumsum(sums, axis=1)[:, 1:])
        ends = np.arange(2, sums.shape[1] + 1) * parameters.epoch_length
        bounds = dict(orders(environment.problem, parameters))
        excess = float(parts["ideal_excess"][:, -1].mean())
        bounds["bias_3_special"] = parameters.gamma * (excess + view.horizon)
        summands = _ALGORITHM_2
    else:
        ends, steps = declared_terms(algorithm, view, roots)
        names = (*_DECLARED, "total")
        parts = dict(zip(names, np.cumsum(steps, axis=1).transpose(2, 0, 1), strict=True))
        parts["pseudo_regret"] = parts["total"]
        bounds, summands = {}, _DECLARED
    return Decomposition(
        algorithm=algorithm,
        environment=environment,
        rounds=np.minimum(ends, view.horizon),
        parts=parts,
        summands=summands,
        orders=bounds,
    )


# --- the terms of Algorithm 2 --------------------------------------------------------------------

# Each with a part on the regular arms and one on the special arm. The last three are of all rounds,
# those before of loss-estimation rounds after the warm-up.
_LEARNED = ("regret", "bias_1", "bias_2", "bias_3", "bias_4", "bias_5", "ftrl", "ideal_excess")
_NAMES = (*_LEARNED, "warm_up", "pseudo_regret", "realised_regret")
_PARTS = len(_NAMES)


def _pair_parts(view: EnvironmentView, pair: PlayedPair) -> Floats:
    """Return what a pair of rounds contributes to each part, on regular and special arms."""
    moment, losses = pair.moment, pair.doubled
    best, special = np.eye(len(moment.u))[view.comparator], moment.special
    parts = np.zeros((_PARTS, 2))
    parts[-2, 0] = (view.nu @ ((moment.q - best) * pair.losses.sum(axis=0))).sum()
    for table, c, own in zip(pair.losses, pair.draws.contexts, pair.played_losses, strict=True):
        parts[-1, 0] += own - best[c] @ table[c]
    if moment.epoch == 1:
        parts[-3] = parts[-2]
        return parts
    p, ideal = moment.p, pair.ideal.p
    tilde = losses * (pair.observed / moment.u)
    real = losses * (pair.observed / moment.denominators)
    products = (
        (moment.q - best) * losses,
        (moment.q - p) * losses,
        (p - best) * (losses - tilde),
        (ideal - best) * (tilde - real),
        (p - ideal) * (tilde - real),
        (p - best) * moment.correction,
        (p - best) * (real + moment.correction),
    )
    by_arm = [view.nu @ one for one in products]
    # Vtilde: how much more than pi plays j_e on the ideal trajectory, over u_e(j_e)
    by_arm.append(np.maximum(0.0, view.nu @ (ideal - best)) / moment.u)
    is_special = np.arange(len(moment.u)) == (-1 if special is None else special)
    parts[: len(by_arm)] = np.array(by_arm) @ np.stack([~is_special, is_special], axis=1)
    return parts


def _named_parts(sums: Floats) -> dict[str, Floats]:
    """Return the parts by name (seeds, points); `sums` (seeds, points, parts, kinds of arm)."""
    parts = {}
    for i, name in enumerate(_NAMES):
        parts[name] = sums[:, :, i].sum(axis=2)
        if name in {"bias_2", "bias_3", "bias_4", "ideal_excess"}:
            parts[f"{name}_regular"], parts[f"{name}_special"] = sums[:, :, i, 0], sums[:, :, i, 1]
    parts["ideal_excess"] = parts["ideal_excess_special"]
    parts["-bias_5"] = -parts["bias_5"]
    on_special = [parts[f"bias_{i}_special"] for i in (2, 3, 4)]
    parts["special"] = np.sum(on_special, axis=0) - parts["bias_5"]
    parts["total"] = parts["selected_regret"] = parts["warm_up"] + parts["regret"]
    return parts


def orders(problem: Problem, parameters: EpochParameters) -> dict[str, float]:
    """Return one order for each bound of the appendix when Algorithm 2 runs with `parameters`.

    `special` bounds Bias 2, 3 and 4 on the special arm less Bias 5; `total` is the assembly:
    Theorem 1 before the parameters are chosen. NaN where the paper has no bound for a part alone.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=10_000)
    >>> round(orders(problem, CrossGraph().parameters(problem))["total"])
    3965
    """
    alpha, horizon = required_alpha("orders", problem), required_horizon("orders", problem)
    arms = problem.arms
    eta, gamma, rho, beta, length = parameters
    graph_sum = alpha * math.log(arms**2 / (alpha * rho)) + 1.0  # A_G
    random_denominator = graph_sum * (gamma + 1.0 / length) * horizon
    trajectory = eta * graph_sum * (1.0 + length * gamma) * horizon
    special = (beta + gamma) * horizon + trajectory
    learning = math.log(arms) / eta + eta * graph_sum * horizon
    bounds = {
        "warm_up": float(length),
        "bias_1": rho * horizon,
        "bias_2_regular": gamma * graph_sum * horizon,
        "bias_3_regular": random_denominator,
        "bias_4_regular": random_denominator,
        "bias_4_special": trajectory,
        "special": special,
        "ftrl": learning + eta * horizon,
        "total": length + rho * horizon + learning + random_denominator + special,
    }
    return dict.fromkeys((*_ALGORITHM_2, *_DETAILS), math.nan) | bounds


# --- checks of the terms -------------------------------------------------------------------------

_ROUNDING = 1e-9
_SURPRISE = 1e-5  # the probability of such a mean difference if the true one is zero
_RADIUS = {1: 8, 2: 3, 3: 2, 4: 1, 8: 0}  # the radius of the paper's ring of 9 arms, by alpha


def terms_add_up(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """The six terms add up to regret on every path; selected rounds represent all rounds."""
    by_horizon, by_alpha, special = _decompositions(subject, effort)
    every = (*by_horizon, *by_alpha, *special)
    axes = (("T", "the horizon", by_horizon, every), ("alpha", "alpha", by_alpha, by_alpha))
    for axis, name, drawn, judged in axes:
        residual = max(one.residual for one in judged)
        yield CheckResult(
            statement="Regret decomposition" + (" over alpha" if axis == "alpha" else ""),
            checked="Bias 1 + 2 + 3 + 4 + FTRL - Bias 5 against regret, on every path",
            instances=sum(one.pseudo_regret.size for one in judged),
            worst=f"largest relative difference {residual:.1e}",
            passed=residual <= _ROUNDING,
            note="Every probability that the learner reported was that of Algorithm 2.",
            figure=stacked_terms(f"Regret and its terms over {name}", axis, drawn),
        )
    for statement, regret in (
        ("Pair reduction, on runs", "selected_regret"),
        ("Realised regret", "realised_regret"),
    ):
        gaps = [one.values(regret) - one.pseudo_regret for one in every]
        chances = [float(ttest_1samp(gap, 0.0).pvalue) * len(gaps) for gap in gaps]
        mean, half = mean_interval(gaps[int(np.argmin(chances))])
        yield CheckResult(
            statement=statement,
            checked="its mean over seeds, against that of the regret averaged over contexts and "
            "arms",
            instances=sum(gap.size for gap in gaps),
            worst=f"mean difference {mean:.3g} ± {half:.3g}",
            passed=min(chances) > _SURPRISE,
        )


def _decompositions(subject: Subject, effort: Effort) -> tuple[list[Decomposition], ...]:
    """Return decompositions at several horizons, on several graphs, and in two further cases.

    In these the best arm has no self-loop: always, and at first.
    """
    full = effort is Effort.FULL
    horizons = (1_000, 2_000, 4_000, 8_000) if full else (1_000, 2_000)
    alphas = tuple(_RADIUS) if full else (1, 8)
    rounds, long, seeds = (4_000, 20_000, range(8)) if full else (1_000, 4_000, range(3))
    experiment, theorem = (replace(subject, tuning=one) for one in ("experiment", "theorem"))

    def on_ring(horizon: int, alpha: int) -> Decomposition:
        environment = GraphBenchmark(paper_ring(9, _RADIUS[alpha]), horizon, 100)
        return decompose(experiment, environment, seeds)

    special = []
    for algorithm, graph, horizon in (
        (experiment, loopless_clique(5), rounds),
        (theorem, loopless_clique(3), long),
    ):
        for favoured in (horizon, horizon // 3):
            environment = GraphBenchmark(graph, horizon, 20, favour=0.2, favoured=favoured)
            special.append(decompose(algorithm, environment, seeds[: len(seeds) // 2 + 1]))
    by_horizon = [on_ring(horizon, 4) for horizon in horizons]
    return by_horizon, [on_ring(rounds, alpha) for alpha in alphas], special


# --- sentences that are false as printed ---------------------------------------------------------


# --- figures -------------------------------------------------------------------------------------

# The largest term comes first, so that it is at the bottom.
_STACKED = {
    "ftrl": "FTRL",
    "bias_1": "Bias 1",
    "bias_2": "Bias 2",
    "bias_3": "Bias 3",
    "bias_4": "Bias 4",
    "-bias_5": "− Bias 5",
}


def stacked_terms(title: str, axis: str, decompositions: Sequence[Decomposition]) -> Chart:
    """Return the terms, stacked, and the order of their sum, drawn through the first point.

    `axis` is "T" or "alpha": the number in which the decompositions differ.
    """
    x = [
        float(one.rounds[-1] if axis == "T" else one.environment.problem.graph.independence_number)
        for one in decompositions
    ]
    series = []
    for term, label in _STACKED.items():
        found = (mean_interval(one.values(term)) for one in decompositions)
        means, halves = zip(*found, strict=True)
        series.append(Series(name=label, x=x, y=means, half_widths=halves))
    scale = float(decompositions[0].values("regret").mean()) / decompositions[0].order("total")
    order = tuple(scale * one.order("total") for one in decompositions)
    series.append(Series(name="predicted order", x=x, y=order, reference=True))
    return Chart(
        title=title,
        x_label=axis,
        y_label="regret after the warm-up",
        series=tuple(series),
        shape=Shape.STACKED,
    )
