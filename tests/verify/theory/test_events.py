import math
from dataclasses import replace

import numpy as np
import pytest

from crossbandit import CrossGraph, graphs
from crossbandit.algorithms.epoch_core import EpochParameters
from crossbandit.algorithms.tuning import theorem
from crossbandit.core.types import Floats
from crossbandit.environments import from_table, paper_benchmark
from crossbandit.verify.theory import runs
from crossbandit.verify.theory.definition import Moment
from crossbandit.verify.theory.runs import (
    EVENTS,
    EpochMeasurement,
    Events,
    GraphBenchmark,
    PlayedPair,
    _concentration,
    follow,
    good_events_hold,
    measure_events,
    snapshots_are_stable,
    view_environment,
)
from crossbandit.verify.theory.statements import Effort
from tests import cases
from tests.verify.theory.test_decomposition import MissingTwo, run, wrong

SHORT = CrossGraph(eta=0.2, gamma=0.05, rho=0.1, beta=0.05, epoch_length=8)


@pytest.fixture(scope="module")
def events() -> Events:
    return measure_events(SHORT, cases.table(cases.asymmetric(), 206, 4, seed=1), range(3))


def epochs_of(events: Events, seed: int) -> list[list[PlayedPair]]:
    view = view_environment("test", cases.table(cases.asymmetric(), 206, 4, seed=1))
    epochs: dict[int, list[PlayedPair]] = {}
    for pair in follow(SHORT, view, seed):
        epochs.setdefault(pair.moment.epoch, []).append(pair)
    del epochs[1]
    assert len(epochs) == events.measured.shape[1]
    return list(epochs.values())


def holds(event: str, epoch: Moment, sums: Floats, iota: float) -> bool:
    """Return whether an event holds, by the paper's inequality."""
    length, gamma = 8, 0.05
    if event == "frequency":
        allowed = 2 * np.maximum(np.sqrt(epoch.w * iota / length), iota / length)
        return bool((np.abs(epoch.w_hat - epoch.w) <= allowed).all())
    if event == "selector":
        return bool(np.abs(epoch.selector_mass - epoch.m).max() <= math.sqrt(iota / length))
    return bool(sums.max() <= length + iota / gamma)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("event", EVENTS)
def test_an_event_holds_from_its_critical_iota_on(events: Events, event: str, seed: int) -> None:
    """Just above the critical value the paper's inequality holds; just below it does not."""
    for e, pairs in enumerate(epochs_of(events, seed)):
        epoch = pairs[0].moment
        sums = np.sum([pair.observed / epoch.u * pair.doubled for pair in pairs], axis=0)
        critical = events.all(event)[seed, e]
        assert holds(event, epoch, sums, critical + 1e-9)
        if critical > 1e-9 or event == "loss":
            assert not holds(event, epoch, sums, critical - 1e-9 * max(1.0, abs(critical)))


def test_fallbacks_drift_and_ratios_are_those_of_the_follow(events: Events) -> None:
    for e, pairs in enumerate(epochs_of(events, 1)):
        view = view_environment("test", cases.table(cases.asymmetric(), 206, 4, seed=1))
        share = np.mean([pair.moment.fallback @ view.nu for pair in pairs])
        ratio = pairs[0].moment.u / pairs[0].moment.denominators
        factors = [
            np.exp(np.abs(np.log(moment.p / pair.moment.snapshot)).max())
            for pair in pairs
            for moment in (pair.moment, pair.ideal)
        ]
        assert events.all("fallback")[1, e] == pytest.approx(share)
        assert events.all("drift")[1, e] == pytest.approx(max(factors))
        assert events.all("least_ratio")[1, e] == pytest.approx(ratio.min())
        assert events.all("largest_ratio")[1, e] == pytest.approx(ratio.max())
    assert events.all("fallback").max() > 0  # or else the share was not tested


def test_bounds_by_hand(events: Events) -> None:
    assert events.iota == pytest.approx(2 * math.log(4 * 5 * 206))
    assert events.bound("frequency", 3.0) == pytest.approx(10 * math.exp(-3))
    assert events.bound("loss", 4.0) == pytest.approx(20 * math.exp(-4))
    assert events.bound("selector", 0.0) == 1.0
    assert events.good_bound == pytest.approx(1 - 26 * 40 * math.exp(-events.iota))
    assert events.good == 1.0


def test_the_theorems_rule_is_as_strained_as_its_condition_allows() -> None:
    environment = GraphBenchmark(graphs.complete(2), 3_000, 3)
    algorithm = CrossGraph(tuning="theorem")
    measured = measure_events(algorithm, environment, [0])
    condition = theorem(environment.problem).conditions[-1]
    assert measured.strain == pytest.approx(condition.left)
    assert measured.strain == pytest.approx(math.log(2))
    assert measured.all("fallback").max() == 0.0
    assert measured.all("drift").max() < 2.0


def fabricated(critical: float, share: float) -> Events:
    """Return events of which a share of epochs has a critical iota that is hardly possible."""
    measured = np.zeros((1, 1_000, len(EpochMeasurement._fields)))
    measured[0, : int(1_000 * share)] = critical
    parameters = SHORT.parameters(paper_benchmark(100, alpha=1).problem)
    return Events(parameters=parameters, arms=2, contexts=2, iota=20.0, measured=measured)


@pytest.mark.parametrize("event", EVENTS)
def test_too_many_failures_fail_the_statement(event: str) -> None:
    bound = fabricated(5.0, 0.0).bound(event, 5.0)
    likely, unlikely = fabricated(5.0, bound), fabricated(5.0, 4 * bound)
    assert _concentration(event, (("likely", likely),)).passed
    assert not _concentration(event, (("unlikely", unlikely),)).passed


def test_an_event_that_fails_makes_a_run_bad() -> None:
    assert fabricated(21.0, 0.01).good == 0.0
    assert fabricated(21.0, 0.01).failures("loss") == pytest.approx(0.01)


def test_a_bad_run_fails_the_probability_of_q(monkeypatch: pytest.MonkeyPatch) -> None:
    for critical, passed in ((0.0, True), (21.0, False)):
        found = (("good", fabricated(0.0, 0.0)), ("judged", fabricated(critical, 0.01)))
        monkeypatch.setattr(runs, "_measured", lambda *_, found=found: found)
        *_, result = good_events_hold(CrossGraph(), Effort.QUICK)
        assert result.statement == "Probability of Q"
        assert result.passed is passed


STABLE = EpochMeasurement(
    0.0, 0.0, 0.0, least_ratio=0.5, largest_ratio=2.0, drift=2.0, fallback=0.0
)


@pytest.mark.parametrize(
    ("changed", "passed"),
    [
        ({}, True),
        ({"least_ratio": 0.499}, False),
        ({"largest_ratio": 2.001}, False),
        ({"drift": 2.001}, False),
        ({"fallback": 1e-6}, False),
    ],
    ids=["stable", "least ratio", "largest ratio", "drift", "fallback"],
)
def test_one_epoch_that_is_not_stable_fails_lemma_8(
    changed: dict[str, float], passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its condition holds; where it does not, nothing is judged."""
    measured = np.array([[STABLE, STABLE._replace(**changed), STABLE]])
    slow, fast = (
        replace(
            fabricated(0.0, 0.0),
            parameters=EpochParameters(eta, 0.05, 0.05, 0.05, 8),
            measured=measured,
        )
        for eta in (1e-6, 1.0)
    )
    found = (("theorem", slow), ("experiment", fast))
    monkeypatch.setattr(runs, "_measured", lambda *_: found)
    theorems, experiments = snapshots_are_stable(CrossGraph(), Effort.QUICK)
    assert (theorems.judged, theorems.passed) == (True, passed)
    assert (experiments.judged, experiments.passed) == (False, True)


def test_quick_statements_pass_for_the_shipped_learner_alone() -> None:
    results = [*good_events_hold(CrossGraph(), Effort.QUICK)]
    results += snapshots_are_stable(CrossGraph(), Effort.QUICK)
    assert [result.passed for result in results] == [True] * 6
    unjudged = [result.statement for result in results if not result.judged]
    assert unjudged == ["Lemma 8 (snapshot stability), experiment's rule"]
    assert all(result.instances > 0 for result in results)
    for check in (good_events_hold, snapshots_are_stable):
        failed = run(check, wrong(MissingTwo))
        assert [result.passed for result in failed] == [False]


def test_weights_that_vanish_leave_no_infinite_drift() -> None:
    losses = np.zeros((200, 1, 2))
    losses[:, :, 1] = 1.0
    algorithm = replace(SHORT, eta=50.0)
    measured = measure_events(algorithm, from_table(losses, graphs.complete(2)), [0])
    assert np.isfinite(measured.measured).all()
