"""What an action reveals, and what it loses: every action against every outcome, by brute force."""

from collections.abc import Callable, Hashable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

from crossbandit import FeedbackGraph
from crossbandit.applications.newsvendor import SALES_FEEDBACK, NewsvendorRules, SalesFeedback
from crossbandit.applications.recommender import similar_items
from crossbandit.applications.seller import REPORTS, SellerRules
from crossbandit.applications.spam_filter import BLOCK, DELIVER, mail_rows
from crossbandit.graphs import apple_tasting

ORDERS, DEMANDS = [1, 3, 4, 7], range(10)
PRICES, WILLING = [2.0, 3.0, 5.0], [1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0]


def sales(order: float, demand: float) -> dict[str, Hashable]:
    """Return what is seen of a demand after an order, by kind of feedback."""
    return {"sales": min(order, demand), "demand": demand}


def report(price: float, willing: float) -> dict[str, Hashable]:
    """Return what is seen of a buyer after a price, by kind of report."""
    sold = willing >= price
    told = (sold, willing)
    return {
        "never": sold,
        "after-sale": told if sold else sold,
        "after-refusal": sold or told,
        "always": told,
    }


def assert_reveals_what_is_known(
    graph: FeedbackGraph,
    outcomes: Iterable[Any],
    seen: Callable[[int, Any], Hashable],
    rows: Callable[[Any], Any],
) -> None:
    """Arm a reveals b if and only if what is seen after a always determines the row of b."""
    for arm in range(graph.arms):
        worlds: dict[Hashable, list[Any]] = {}
        for outcome in outcomes:
            worlds.setdefault(seen(arm, outcome), []).append(rows(outcome))
        known = [
            all((world[b] == group[0][b]).all() for group in worlds.values() for world in group)
            for b in range(graph.arms)
        ]
        assert np.flatnonzero(known).tolist() == graph.out_neighbors(arm).tolist()


@pytest.mark.parametrize("feedback", SALES_FEEDBACK)
def test_an_order_reveals_exactly_what_sales_determine(feedback: SalesFeedback) -> None:
    rules = NewsvendorRules(orders=ORDERS, price_range=(2, 6), cost_range=(1, 3))
    assert_reveals_what_is_known(
        rules.graph(feedback),
        DEMANDS,
        lambda arm, demand: sales(ORDERS[arm], demand)[feedback],
        lambda demand: rules.rows([demand])[0],
    )


@pytest.mark.parametrize("reports", REPORTS)
def test_a_price_reveals_exactly_what_a_buyer_shows(reports: str) -> None:
    rules = SellerRules(prices=PRICES, cost_range=(0, 4))
    assert_reveals_what_is_known(
        rules.graph(reports),
        WILLING,
        lambda arm, willing: report(PRICES[arm], willing)[reports],
        lambda willing: rules.rows([willing])[0],
    )


def test_a_delivered_message_reveals_both_and_a_blocked_one_nothing() -> None:
    assert_reveals_what_is_known(
        apple_tasting(),
        [True, False],
        lambda arm, spam: spam if arm == DELIVER else None,
        lambda spam: mail_rows([spam])[0],
    )


def test_the_loss_of_an_order_is_its_profit_in_parts_of_the_range() -> None:
    rules = NewsvendorRules(orders=ORDERS, price_range=(2, 6), cost_range=(1, 3))
    losses = []
    for demand, price, cost in product(DEMANDS, (2, 3.5, 6), (1, 2.2, 3)):
        for order, row in zip(ORDERS, rules.rows([demand])[0], strict=True):
            loss = float(row @ [1, price, cost])
            profit = price * min(order, demand) - cost * order
            assert loss == pytest.approx((7 * (6 - 1) - profit) / (7 * (6 - 1) + 7 * 3), abs=1e-12)
            assert rules.profit(price, cost, order, demand) == profit
            assert rules.earned(loss) == pytest.approx(profit, abs=1e-12)
            losses.append(loss)
    assert min(losses) == 0
    assert max(losses) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("at_least_cost", "least"), [(True, 0), (False, -2)])
def test_the_loss_of_a_price_is_its_profit_in_parts_of_the_range(
    at_least_cost: bool, least: float
) -> None:
    rules = SellerRules(prices=PRICES, cost_range=(1, 4), at_least_cost=at_least_cost)
    losses = []
    for willing, cost in product(WILLING, (1, 2.5, 4)):
        available = rules.available([cost])
        for arm, row in enumerate(rules.rows([willing])[0]):
            loss = float(row @ rules.contexts(cost))
            profit = (PRICES[arm] - cost) * (willing >= PRICES[arm])
            assert loss == pytest.approx((4 - profit) / (4 - least), abs=1e-12)
            assert rules.profit(cost, PRICES[arm], willing) == profit
            assert rules.earned(loss) == pytest.approx(profit, abs=1e-12)
            if available is None or available[0, arm]:
                losses.append(loss)
    assert min(losses) == 0
    assert max(losses) == pytest.approx(1, abs=1e-12)


def test_prices_below_the_cost_are_out_of_reach() -> None:
    rules = SellerRules(prices=PRICES, cost_range=(1, 9))
    available = rules.available([1, 2, 2.1, 5, 5.1])
    assert available is not None
    assert available.tolist() == [
        [True, True, True],
        [True, True, True],
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    assert rules.scale == 5 - 1
    contexts = rules.contexts([1, 2.5, 9])
    np.testing.assert_allclose(rules.costs(contexts), [1, 2.5, 9], rtol=1e-15)
    assert SellerRules(prices=PRICES, cost_range=(1, 9), at_least_cost=False).available([1]) is None


@pytest.mark.parametrize("base", [1e4, 1e8, 1e12])
def test_prices_far_from_nothing_keep_their_digits(base: float) -> None:
    """A narrow band of prices: losses are as if the money below it were not there."""
    far = SellerRules(prices=base + np.array(PRICES), cost_range=(base + 1, base + 4))
    near = SellerRules(prices=PRICES, cost_range=(1, 4))
    for willing in WILLING:
        np.testing.assert_array_equal(far.rows([base + willing]), near.rows([willing]))
    for cost in (1, 2.5, 4):
        np.testing.assert_array_equal(far.contexts(base + cost), near.contexts(cost))


def test_a_message_harms_where_it_is_treated_wrongly() -> None:
    for spam, spam_harm, lost_harm in product((True, False), (0, 0.3, 1), (0, 0.6, 1)):
        rows = mail_rows([spam])[0]
        assert float(rows[DELIVER] @ [spam_harm, lost_harm]) == (spam_harm if spam else 0)
        assert float(rows[BLOCK] @ [spam_harm, lost_harm]) == (0 if spam else lost_harm)


def test_items_are_similar_by_the_cosine_of_their_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 3))
    graph = similar_items(vectors, similarity=0.5)
    for a, b in product(range(12), repeat=2):
        cosine = (
            vectors[a] @ vectors[b] / np.sqrt(vectors[a] @ vectors[a] * (vectors[b] @ vectors[b]))
        )
        assert graph.adjacency[a, b] == (a == b or cosine >= 0.5)
    assert 12 < len(graph.edges()) < 144


def test_parallel_vectors_are_similar_whatever_rounding_does() -> None:
    vectors = [[1, 1, 1], [2, 2, 2], [3, 3, 3], [0.1, 0.1, 0.1], [1, 1, 1.001]]
    expected = np.ones((5, 5), dtype=bool)
    expected[4, :4] = expected[:4, 4] = False
    np.testing.assert_array_equal(similar_items(vectors, 1.0).adjacency, expected)
