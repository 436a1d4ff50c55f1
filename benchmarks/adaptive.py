"""The adaptive and the certified learner: regret against tuned learners, and cost."""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks import adaptive_environments as worlds
from benchmarks.clipping import Clipping
from benchmarks.measure import Result, medians, seconds
from crossbandit import (
    CrossGraph,
    CrossGraphAdaptive,
    CrossGraphCertified,
    environments,
    graphs,
    simulate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit import Algorithm, Environment, FeedbackGraph
    from crossbandit.environments import ContextDistribution
    from crossbandit.environments.applied import FirstPrice
    from crossbandit.environments.synthetic import Stochastic

SEEDS = 10
ETAS = tuple(4.0**k for k in range(-4, 6))  # ten fixed learning rates


class Case(NamedTuple):
    """An environment, the first of its seeds, and the bar for the ratio to cross-graph."""

    name: str
    make: Callable[[], Environment]
    bar: float
    seed: int = 0


def bars() -> Iterator[Case]:
    """Yield every environment that has a bar."""
    ring = graphs.paper_ring(9, radius=1)
    for horizon in (2000, 4000, 6000, 8000, 10_000):
        yield Case(
            f"paper, alpha 4, T {horizon}",
            partial(environments.paper_benchmark, horizon, alpha=4),
            0.05,
            200,
        )
    for alpha in (1, 2, 3, 4, 8):
        yield Case(
            f"paper, T 10000, alpha {alpha}",
            partial(environments.paper_benchmark, 10_000, alpha=alpha),
            0.05,
            100,
        )
    for horizon in (10_000, 100_000):
        for switches in (2, 5, 20, 50):
            yield Case(
                f"switching, {switches} switches, T {horizon}",
                partial(environments.switching, ring, horizon, switches=switches),
                1.0,
            )
    yield Case("stochastic, gap 0.02, T 100000", lambda: gaps(ring, 100_000, 10, 0.02), 0.3)
    tasting, clique = graphs.apple_tasting(), graphs.loopless_clique(10)
    yield Case("apple tasting", lambda: gaps(tasting, 10_000, 4, 0.2, best=0), 0.5)
    yield Case("loopless clique of 10", lambda: gaps(clique, 10_000, 4, 0.2, best=3), 0.5)
    yield Case("auctions", partial(environments.first_price, 100_000), 0.3)
    drifting = partial(environments.first_price, 100_000, prices="drifting")
    yield Case("auctions, drifting", drifting, 0.3)
    yield Case(
        "Zipf contexts, M 10000",
        partial(environments.zipf_benchmark, 10_000, alpha=4, contexts=10_000),
        0.3,
    )


def trials() -> Iterator[Case]:
    """Yield environments without a bar of their own, on which the rule may fail."""
    single, clique, ring = graphs.singletons(9), graphs.loopless_clique(9), graphs.paper_ring(9, 1)
    tasting = graphs.apple_tasting()
    late = worlds.late
    yield Case("one context, gap 0.1", lambda: gaps(single, 10_000, 1, 0.1), 1)
    yield Case("one context, gap 0.02, T 100000", lambda: gaps(single, 100_000, 1, 0.02), 1)
    yield Case("late best arm", lambda: late(single, 10_000), 1)
    yield Case("late best arm, no noise", lambda: late(single, 10_000, noisy=False), 1)
    yield Case("the same, T 100000", lambda: late(single, 100_000, noisy=False), 1)
    yield Case("late best arm, ring", lambda: late(ring, 10_000), 1)
    yield Case("the same, 9 contexts", lambda: late(ring, 10_000, contexts=9), 1)
    yield Case("late best arm, loopless clique", lambda: late(clique, 10_000), 1)
    yield Case("loopless arm turns bad, clique", lambda: worlds.turning_bad(clique, 10_000), 1)
    yield Case("loopless arm turns bad, tasting", lambda: worlds.turning_bad(tasting, 10_000), 1)
    yield Case("alternating every round", lambda: worlds.Alternating(10_000, 1), 1)
    yield Case("alternating every 100", lambda: worlds.Alternating(10_000, 100), 1)
    yield Case("alternating every 1000", lambda: worlds.Alternating(10_000, 1000), 1)
    yield Case("100 arms, one context", lambda: gaps(graphs.singletons(100), 10_000, 1, 0.3), 1)
    yield Case("300 arms, 10 contexts", lambda: gaps(graphs.singletons(300), 5000, 10, 0.4), 1)
    yield Case(
        "threshold of 50, the blind arm best",
        lambda: gaps(graphs.threshold(50), 20_000, 1, 0.2, best=49),
        1,
    )
    yield Case("contexts that wander", lambda: _wandering(20_000, 100), 1)


def gaps(
    graph: FeedbackGraph,
    horizon: int,
    contexts: int,
    gap: float,
    *,
    best: int | None = None,
    law: ContextDistribution | None = None,
) -> Stochastic:
    """Return `environments.stochastic`, the shorter to write."""
    return environments.stochastic(
        graph, horizon, contexts=contexts, gap=gap, best=best, context_distribution=law
    )


def _wandering(horizon: int, contexts: int) -> Stochastic:
    law = worlds.Wandering(contexts, horizon)
    return gaps(graphs.paper_ring(9, radius=1), horizon, contexts, 0.2, law=law)


def results() -> Iterator[Result]:
    """Measure every bar."""
    for case in bars():
        yield Result(case.name, ratio(case, CrossGraphAdaptive(), SEEDS), case.bar, "of the regret")
    for prices in ("stationary", "drifting"):
        world = environments.first_price(100_000, prices=prices)
        value = surplus(world) / max(surplus(world, eta=eta) for eta in ETAS)
        name = f"auctions, {prices}: surplus"
        yield Result(name, value, 0.99, "of the best fixed eta's", at_least=True)
    yield from _cost()
    yield from certified()


def certified() -> Iterator[Result]:
    """Measure the certified learner: regret, its own bound, and its cost."""
    ours, adaptive, rival = CrossGraphCertified(), CrossGraphAdaptive(), CrossGraph()
    paper = [case for case in bars() if case.name.startswith("paper")]
    found = [[mean_regret(case, one, SEEDS) for one in (ours, adaptive, rival)] for case in paper]
    name = "certified, paper, the largest of ten points"
    yield Result(name, max(a / c for a, _, c in found), 0.02, "of the regret")
    beyond = [f"{case.name}: {a / b:.1f}" for case, (a, b, _) in zip(paper, found, strict=True)]
    note = f"as a mean of the points; of each, {'; '.join(beyond)}"
    mean = statistics.fmean(a / b for a, b, _ in found)
    yield Result("certified, paper", mean, 2.5, "times the adaptive learner's regret", note=note)
    strong = [(name, graph) for name, graph in STRONG.items() if name != "apple tasting"]
    for horizon, seeds in ((10_000, SEEDS), (100_000, 3)):
        cases = [
            Case(
                f"misleading, {name}, T {horizon}",
                partial(environments.misleading, graph, horizon, contexts=20),
                0.5,
            )
            for name, graph in strong
        ]
        worst = max(ratio(case, ours, seeds) for case in cases)
        name = f"certified, misleading, T {horizon}, the largest of {len(cases)} graphs"
        yield Result(name, worst, 0.5, "of the regret")
    yield from _hardest()
    yield from _certificates()
    benchmark = environments.paper_benchmark(10_000, alpha=4)
    new, old = medians(*(partial(simulate, one, benchmark, seed=1) for one in (ours, adaptive)))
    yield Result("certified, cost of a round, the paper's benchmark", new / old, 3.0, "times")


STRONG = {
    "ring": graphs.ring(9, radius=2),
    "threshold": graphs.threshold(9),
    "loopy star": graphs.loopy_star(9),
    "random": graphs.random_strongly_observable(9, density=0.3, seed=1),
    "apple tasting": graphs.apple_tasting(),
}


def _hardest() -> Iterator[Result]:
    """Measure how regret grows where the gap shrinks: one context, gap 1.5 sqrt(9 / T)."""
    horizons = (2500, 10_000, 40_000, 160_000)
    for name, graph in (("singletons", graphs.singletons(9)), ("ring", STRONG["ring"])):
        means: dict[str, list[float]] = {"ours": [], "cross-graph": []}
        for horizon in horizons:
            for label, algorithm in (
                ("ours", CrossGraphCertified()),
                ("cross-graph", CrossGraph()),
            ):
                pseudo = []
                for seed in range(SEEDS):
                    world = environments.stochastic(
                        graph, horizon, contexts=1, gap=1.5 * (9 / horizon) ** 0.5, table_seed=seed
                    )
                    run = simulate(algorithm, world, seed=seed, show_progress=False)
                    pseudo.append(float(run.pseudo_regret[-1]))
                means[label].append(statistics.fmean(pseudo))
        slope = np.polyfit(np.log(horizons), np.log(means["ours"]), 1)[0]
        yield Result(f"certified, hardest gap, {name}: exponent of T", slope, 0.55, "")
        shares = [a / b for a, b in zip(*means.values(), strict=True)]
        yield Result(
            f"certified, hardest gap, {name}, to T 160000", max(shares), 0.8, "of the regret"
        )


def _certificates() -> Iterator[Result]:
    """Measure certificates in parts of the regret, on the strong graphs of the study `graphs`."""
    shares = {}
    for horizon in (1000, 10_000):
        for name, graph in STRONG.items():
            worlds_here = {
                "stochastic": environments.stochastic(graph, horizon, contexts=20),
                "late": environments.stochastic(graph, horizon, contexts=20, late=0.3),
                "misleading": environments.misleading(graph, horizon, contexts=20),
            }
            for kind, world in worlds_here.items():
                runs = [
                    simulate(CrossGraphCertified(), world, seed=seed, show_progress=False)
                    for seed in range(20)
                ]
                regret = statistics.fmean(run.final_regret for run in runs)
                bound = statistics.fmean(run.certificate or 0.0 for run in runs)
                shares[f"{name}, {kind}, T {horizon}"] = (regret, bound)
    positive = [bound / regret for regret, bound in shares.values() if regret > 0]
    within = statistics.fmean(bound >= regret for regret, bound in shares.values())
    name = f"certified, mean certificate at least the mean regret, {len(shares)} environments"
    yield Result(name, within, 1.0, "of them", at_least=True)
    note = f"where regret is positive: {len(positive)} environments"
    value = statistics.median(positive)
    yield Result("certified, certificate, median", value, 4.0, "times the regret", note=note)


def ratio(case: Case, algorithm: Algorithm, seeds: int) -> float:
    """Return the mean final regret, in parts of that of cross-graph on the same runs."""
    return mean_regret(case, algorithm, seeds) / mean_regret(case, CrossGraph(), seeds)


def mean_regret(case: Case, algorithm: Algorithm, seeds: int) -> float:
    """Return the mean final regret over `seeds` seeds."""
    return statistics.fmean(regrets(case.name, case.make, algorithm, case.seed, seeds))


_KEPT: dict[tuple[str, Algorithm, int], float] = {}


def regrets(
    name: str, make: Callable[[], Environment], algorithm: Algorithm, first: int, seeds: int
) -> list[float]:
    """Return the final regret under each seed; a run that was made before is not repeated."""
    world = None
    for seed in range(first, first + seeds):
        if (name, algorithm, seed) not in _KEPT:
            world = make() if world is None else world
            run = simulate(algorithm, world, seed=seed, record="thin", show_progress=False)
            _KEPT[name, algorithm, seed] = run.final_regret
    return [_KEPT[name, algorithm, seed] for seed in range(first, first + seeds)]


def surplus(world: FirstPrice, eta: float | None = None) -> float:
    """Return what bidding earns on average over the seeds, with the learner's own rate or `eta`."""
    algorithm = CrossGraphAdaptive(eta=eta)
    runs = (simulate(algorithm, world, seed=seed, show_progress=False) for seed in range(SEEDS))
    return statistics.fmean(float(world.rules.earned(run.losses).sum()) for run in runs)


def _cost() -> Iterator[Result]:
    """Measure a run against the same run of cross-graph."""
    benchmark = environments.paper_benchmark(10_000, alpha=4)
    auctions = environments.first_price(20_000)
    for name, world, anchored in (
        ("the paper's benchmark", benchmark, False),
        ("auctions, 100 bids", auctions, False),
        ("auctions, 100 bids, anchored", auctions, True),
    ):
        ours, theirs = _seconds(world, anchored=anchored)
        yield Result(f"cost of a round, {name}", ours / theirs, 1.5, "times cross-graph's")
    ours, theirs = _seconds(benchmark, factored=False)
    name = "the same, a number per context (dense store)"
    yield Result(name, ours / theirs, 1.5, "times cross-graph's")
    clipping = Clipping(10_000)
    ours, theirs = _seconds(clipping)
    totals = statistics.median(seconds(lambda: Clipping(10_000).totals) for _ in range(9))
    yield Result(
        "the same, losses that are clipped, with the comparator",
        (ours + totals) / (theirs + totals),
        1.5,
        "times cross-graph's",
        note=f"without it, that is from the second run on one environment: {ours / theirs:.2f}. "
        "Every round is learned from, and each loss has to be limited and added by itself",
    )


def _seconds(
    world: Environment, *, factored: bool | None = None, anchored: bool = False
) -> list[float]:
    algorithm = CrossGraphAdaptive(anchored=anchored)
    return medians(
        lambda: simulate(algorithm, world, seed=1, factored=factored),
        lambda: simulate(CrossGraph(), world, seed=1, factored=factored),
    )
