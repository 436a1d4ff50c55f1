"""The environments of the applications: the shipped checks, prefixes, seeds, bad parameters."""

import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive, graphs, simulate
from crossbandit.environments import (
    BlockEnvironment,
    first_price,
    first_price_budget,
    lower_bound,
    misleading,
    newsvendor,
    posted_price,
    recommendation,
    registered,
    sleeping,
    spam,
    stochastic,
    switching,
    zipf,
)
from crossbandit.errors import InvalidParameterError
from crossbandit.verify.checks import check_environment

K4 = graphs.complete(4)
ENVIRONMENTS: dict[str, Callable[..., BlockEnvironment]] = {
    "stochastic": partial(stochastic, graphs.paper_ring(9, 1)),
    "newsvendor": newsvendor,
    "newsvendor, demand seen": partial(newsvendor, orders=7, feedback="demand", season=1.0),
    "posted price": posted_price,
    "posted price, drifting": partial(posted_price, reports="after-sale", drift=0.8),
    "posted price, below cost": partial(
        posted_price, prices=5, at_least_cost=False, cost_range=(0.3, 1.5)
    ),
    "sleeping": partial(sleeping, graphs.singletons(8)),
    "sleeping, mostly": partial(sleeping, graphs.ring(6, 2), awake=0.05),
    "recommendation": recommendation,
    "spam": spam,
    "first price, budget": partial(first_price_budget, bids=20),
}

BUILDERS: dict[str, Callable[..., Any]] = {
    "first_price": first_price,
    "first_price_budget": first_price_budget,
    "lower_bound": lower_bound,
    "misleading": misleading,
    "newsvendor": newsvendor,
    "posted_price": posted_price,
    "recommendation": recommendation,
    "sleeping": sleeping,
    "spam": spam,
    "stochastic": stochastic,
    "switching": switching,
}

every_environment = pytest.mark.parametrize("build", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())


@every_environment
def test_it_passes_the_checks(build: Callable[..., BlockEnvironment]) -> None:
    environment = build(20_000)
    check_environment(environment)
    assert environment.problem.horizon == 20_000


@every_environment
def test_a_shorter_horizon_is_the_beginning_of_a_longer_one(
    build: Callable[..., BlockEnvironment],
) -> None:
    short, long = build(40), build(20_000)
    for t in (0, 1, 17, 39):
        np.testing.assert_array_equal(short.losses(t), long.losses(t))
    assert short.problem.graph == long.problem.graph


@every_environment
def test_losses_depend_on_the_table_seed(build: Callable[..., BlockEnvironment]) -> None:
    one, same, other = (build(500, table_seed=seed).totals for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@every_environment
def test_it_can_be_learned(build: Callable[..., BlockEnvironment]) -> None:
    """After 20,000 rounds, the regret is below 15 % of what uniform play would have."""
    environment = build(20_000)
    run = simulate(CrossGraphAdaptive(), environment, seed=1, show_progress=False)
    idle = simulate(CrossGraphAdaptive(eta=1e-9), environment, seed=1, show_progress=False)
    assert run.final_regret < 0.15 * idle.final_regret


def test_demand_has_its_mean_and_its_season() -> None:
    """100 years: the mean is within 5 standard deviations, which is 1/2 of the mean each."""
    environment = newsvendor(36_500, demand=20.0, season=0.5, period=365)
    years = environment.demands(0, 36_500).reshape(100, 365)
    assert (years == np.rint(years)).all()
    assert abs(years.mean() - 20) < 5 * 0.6 * 20 / np.sqrt(36_500)
    assert years[:, 90].mean() > 27
    assert years[:, 273].mean() < 13


def test_willingness_drifts_between_one_and_one_less_the_drift() -> None:
    environment = posted_price(100_000, drift=0.6, period=1000)
    willing = environment.willingness(0, 100_000).reshape(100, 1000).mean(axis=0)
    assert willing[0] == pytest.approx(0.5 * 0.4, abs=0.05)
    assert willing[500] == pytest.approx(0.5, abs=0.12)
    assert willing.mean() == pytest.approx(0.5 * 0.7, abs=0.005)


def test_spam_comes_in_campaigns() -> None:
    environment = spam(200_000, share=0.5, campaigns=0.3, period=2000)
    share = environment.junk(0, 200_000).reshape(100, 8, 250).mean(axis=(0, 2))
    wave = 0.5 + 0.3 * np.sin(2 * np.pi * (np.arange(2000) / 2000)).reshape(8, 250).mean(axis=1)
    np.testing.assert_allclose(share, wave, atol=5 * 0.5 / np.sqrt(25_000))


def test_an_arm_of_every_set_is_awake() -> None:
    environment = sleeping(graphs.singletons(5), 100, sets=1000, awake=0.05)
    awake = environment.available(np.arange(1000))
    assert (awake.sum(axis=1) >= 1).all()
    assert awake.any(axis=0).all()
    best = np.where(awake, environment.totals[:, 0], np.inf).argmin(axis=1)
    np.testing.assert_array_equal(environment.best_arms, best)


def test_segments_weigh_what_was_rated() -> None:
    environment = recommendation(50, items=5, segments=7, aspects=3)
    weights, ratings = np.asarray(environment.problem.features), environment.ratings(0, 50)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    for t, segment, item in [(0, 0, 0), (31, 6, 4), (49, 3, 2)]:
        disliked = sum(weights[segment, k] for k in range(3) if ratings[t, item, k] == 0)
        reading = environment.problem.form.readout(segment)
        loss = reading.losses(environment.losses(t), range(5))[item]
        assert loss == pytest.approx(disliked, abs=1e-12)


@every_environment
def test_it_is_frozen_and_can_be_pickled(build: Callable[..., BlockEnvironment]) -> None:
    environment = build(300)
    copied = pickle.loads(pickle.dumps(environment))  # noqa: S301
    np.testing.assert_array_equal(copied.totals, environment.totals)
    with pytest.raises(FrozenInstanceError):
        environment.context_distribution = zipf(3)


@pytest.mark.parametrize("name", BUILDERS)
def test_only_graph_and_horizon_may_be_given_by_position(name: str) -> None:
    assert registered()[name.replace("_", "-")] is BUILDERS[name]
    parameters = inspect.signature(BUILDERS[name]).parameters
    by_position = [key for key, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
    assert by_position == [key for key in ("graph", "horizon") if key in parameters]


@pytest.mark.parametrize("name", BUILDERS)
def test_an_error_names_the_builder(name: str) -> None:
    graph = {"graph": K4} if "graph" in inspect.signature(BUILDERS[name]).parameters else {}
    with pytest.raises(InvalidParameterError, match=f"'table_seed' parameter of {name} must be"):
        BUILDERS[name](**graph, horizon=100, table_seed=-1)


@pytest.mark.parametrize("build", [first_price, newsvendor, posted_price, spam])
def test_continuous_contexts_have_no_list_of_best_arms(build: Callable[..., Any]) -> None:
    with pytest.raises(InvalidParameterError, match="continuous feature vectors"):
        _ = build(100).best_arms


def test_bids_from_0_are_needed_only_where_values_bind() -> None:
    grids: list[Any] = [[0.0, 0.5], [0.1, 0.5]]
    assert first_price(100, bids=grids[0]).rules.amounts.tolist() == [0, 0.5]
    assert first_price(100, bids=grids[1], at_most_value=False).problem.arms == 2


BAD: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (partial(stochastic, K4), {"gap": 0.6}, "'gap' .* above 0 and of at most 0.5. Got 0.6"),
    (partial(stochastic, K4), {"best": 4}, "'best' .* from 0 to 3. Got 4"),
    (partial(stochastic, K4), {"late": 1}, "'late' .* below 1. Got 1"),
    (partial(stochastic, K4), {"contexts": 0}, "'contexts' .* at least 1. Got 0"),
    (
        partial(stochastic, K4),
        {"context_distribution": zipf(3)},
        "'context_distribution' .* 10 probabilities",
    ),
    (partial(stochastic, cast("Any", None)), {}, "'graph' .* a FeedbackGraph, .* Got None"),
    (newsvendor, {"orders": 1}, "'orders' .* at least 2. Got 1"),
    (newsvendor, {"orders": [3, 3]}, r"'orders' .* 2 different .* Got \[3, 3\]"),
    (newsvendor, {"orders": [-1, 3]}, "'orders' .* Got -1.0 among them"),
    (newsvendor, {"price_range": (3, 2)}, "'price_range' .* the lower one first"),
    (newsvendor, {"price_range": "ab"}, "'price_range' .* a pair"),
    (newsvendor, {"cost_range": (5, 6)}, "'price_range' .* prices up to 4 and costs from 5"),
    (newsvendor, {"feedback": "none"}, "'feedback' .* 'sales', 'demand'. Got 'none'"),
    (newsvendor, {"season": 1.1}, "'season' .* at most 1"),
    (posted_price, {"prices": 1}, "'prices' .* at least 2. Got 1"),
    (posted_price, {"reports": "yes"}, "'reports' .* 'never'.* Got 'yes'"),
    (posted_price, {"cost_range": (1, 2)}, "'prices' .* prices up to 1 and costs from 1"),
    (posted_price, {"drift": -0.1}, "'drift' .* at least 0"),
    (posted_price, {"cost_range": (0, 2)}, "'cost_range' .* at most the highest price, 1; or"),
    (posted_price, {"at_least_cost": "no"}, "'at_least_cost' .* True or False. Got 'no'"),
    (first_price, {"at_most_value": "no"}, "'at_most_value' .* of first_price .* Got 'no'"),
    (first_price, {"bids": [0.1, 0.5]}, "'bids' .* such that one is 0.*Got bids from 0.1"),
    (first_price, {"bids": ["0", "1"]}, "'bids' .* Got '0' among them"),
    (partial(sleeping, K4), {"awake": 0}, "'awake' .* above 0"),
    (partial(sleeping, K4), {"sets": 0}, "'sets' .* at least 1"),
    (recommendation, {"items": 1}, "'items' .* at least 2"),
    (recommendation, {"similarity": 2}, "'similarity' .* at most 1"),
    (recommendation, {"aspects": 0}, "'aspects' .* at least 1"),
    (spam, {"share": 1.5}, "'share' .* at most 1"),
    (spam, {"period": 0}, "'period' .* at least 1"),
]


@pytest.mark.parametrize(("build", "parameters", "message"), BAD)
def test_a_bad_parameter_is_refused(
    build: Callable[..., Any], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        build(100, **parameters)


@every_environment
@pytest.mark.parametrize("name", ["horizon", "table_seed"])
def test_every_environment_checks_its_horizon_and_seed(
    build: Callable[..., Any], name: str
) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{name}' .* an integer of at least"):
        build(**{"horizon": 100, name: -1})
