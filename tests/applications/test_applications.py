"""All applications have one shape, learn the true losses, and refuse bad input."""

import inspect
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, Decision, graphs, load
from crossbandit.algorithms.learners import files
from crossbandit.applications import (
    Action,
    Application,
    ArmChoice,
    Bid,
    FirstPriceBidder,
    MailDecision,
    Newsvendor,
    Offer,
    Order,
    PostedPriceSeller,
    Recommendation,
    Recommender,
    SleepingArms,
    SpamFilter,
)
from crossbandit.applications.newsvendor import SALES_FEEDBACK
from crossbandit.applications.seller import REPORTS
from crossbandit.core.types import Floats
from crossbandit.errors import (
    CheckpointError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)

ORDERS, DEMANDS = (0.0, 2.0, 3.0, 7.0), (0, 1, 2, 2.5, 3, 5, 7, 9)
PRICES, WILLING = (2.0, 3.0, 5.0), (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
ITEMS = {"tent": [1, 0], "tarp": [1, 0.2], "stove": [0, 1]}
SEGMENTS = {"thrifty": [3, 1], "picky": [0, 1]}
MAILBOXES = {"orders": (1, 20), "info": (5, 2)}


def masked(values: Any, mask: Any) -> Any:
    """Return an array with masked entries."""
    return np.ma.array(values, mask=np.asarray(mask, dtype=np.bool_))


def bidder(**options: Any) -> FirstPriceBidder:
    """Return a bidder that learns by its feedback graph, unless `options` say otherwise."""
    given = {"bids": (0, 1, 2, 3), "value_range": (0, 4), "algorithm": CrossGraphAdaptive()}
    return FirstPriceBidder(**{**given, "seed": 0, **options})


def newsvendor(**options: Any) -> Newsvendor:
    given = {"orders": ORDERS, "price_range": (2, 6), "cost_range": (1, 3), "seed": 0}
    return Newsvendor(**{**given, **options})


def seller(**options: Any) -> PostedPriceSeller:
    return PostedPriceSeller(**{"prices": PRICES, "cost_range": (1, 4), "seed": 0, **options})


def sleeping(**options: Any) -> SleepingArms:
    return SleepingArms(**{"arms": ["a", "b", "c"], "loss_range": (-1, 3), "seed": 0, **options})


def recommender(**options: Any) -> Recommender:
    given = {"items": ITEMS, "similarity": 0.9, "segments": SEGMENTS, "rating_range": (1, 5)}
    return Recommender(**{**given, "seed": 0, **options})


def spam_filter(**options: Any) -> SpamFilter:
    return SpamFilter(**{"mailboxes": MAILBOXES, "seed": 0, **options})


def until(arm: int, play: Callable[[], Action]) -> Any:
    """Return the first play of `arm`."""
    for _ in range(10_000):
        made = play()
        if made.decision is not None and made.decision.arm == arm:
            return made
    raise AssertionError(f"arm {arm} was never played")


def learned(application: Application, settle: Callable[[], None]) -> dict[int, Floats]:
    """Settle a play and return what the learner was told: the row of each revealed arm."""
    told: list[tuple[Decision, Any]] = []
    application.learner.learn = lambda *arguments: told.append(arguments)
    try:
        settle()
    finally:
        del application.learner.learn
    ((decision, rows),) = told
    return dict(zip(decision.revealed, np.asarray(rows), strict=True))


# ------------------------------------------------------------------------------- what is learned


@pytest.mark.parametrize("feedback", SALES_FEEDBACK)
def test_what_the_newsvendor_learns_is_true(feedback: str) -> None:
    """For every order and every demand: the losses of all revealed orders, at all prices, costs."""
    shop = newsvendor(feedback=feedback)
    for arm, demand in product(range(4), DEMANDS):
        order = until(arm, lambda: shop.order(4, 2))
        assert order.quantity == ORDERS[arm]
        sold = min(order.quantity, demand)
        told = demand if feedback == "demand" and sold == order.quantity else None
        rows = learned(shop, lambda: shop.settle(order, sold=sold, demand=told))  # noqa: B023
        assert list(rows) == list(range(4) if feedback == "demand" else range(arm + 1))
        for b, price, cost in product(rows, (2, 4.4, 6), (1, 1.7, 3)):
            profit = price * min(ORDERS[b], demand) - cost * ORDERS[b]
            loss = (7 * 5 - profit) / (7 * 5 + 7 * 3)
            assert rows[b] @ [1, price, cost] == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("reports", REPORTS)
@pytest.mark.parametrize("at_least_cost", [True, False])
def test_what_the_seller_learns_is_true(reports: str, at_least_cost: bool) -> None:
    """For every price and every buyer: the losses of all revealed prices, at all costs."""
    shop = seller(reports=reports, at_least_cost=at_least_cost)
    scale = 4 if at_least_cost else 6
    revealed: dict[str, Callable[[int], list[int]]] = {
        "never": lambda arm: [arm],
        "after-sale": lambda arm: list(range(arm, 3)),
        "after-refusal": lambda arm: list(range(arm + 1)),
        "always": lambda _: [0, 1, 2],
    }
    for arm, willing in product(range(3), WILLING):
        offer = until(arm, lambda: shop.price(1.5))
        sold = willing >= PRICES[arm]
        tells = {"never": False, "after-sale": sold, "after-refusal": not sold, "always": True}
        told = willing if tells[reports] else None
        rows = learned(shop, lambda: shop.settle(offer, sold=sold, willingness=told))  # noqa: B023
        assert list(rows) == revealed[reports](arm)
        for b, cost in product(rows, (1, 2.2, 4)):
            profit = (PRICES[b] - cost) * (willing >= PRICES[b])
            loss = rows[b] @ shop.rules.contexts(cost)
            assert loss == pytest.approx((4 - profit) / scale, abs=1e-12)


def test_what_sleeping_arms_learn_is_true() -> None:
    couriers = sleeping(graph=graphs.ring(3, 1))
    losses = {"a": -1.0, "b": 0.0, "c": 3.0}
    for arm in range(3):
        choice = until(arm, couriers.choose)
        assert choice.revealed == ("abca"[arm], "abca"[arm + 1]) or arm == 2
        shown = {name: losses[name] for name in choice.revealed}
        rows = learned(couriers, lambda: couriers.settle(choice, losses=shown))  # noqa: B023
        assert {b: row.tolist() for b, row in rows.items()} == {
            b: [(losses["abc"[b]] + 1) / 4] for b in {arm, (arm + 1) % 3}
        }


def test_what_the_recommender_learns_is_true() -> None:
    """The loss in a segment is what is missing to the best rating, by the segment's weights."""
    shop = recommender()
    ratings = {"tent": [2, 5], "tarp": [5, 1], "stove": [3, 4]}
    beside = {"tent": ("tarp",), "tarp": ("tent",), "stove": ()}
    for arm in range(3):
        shown = until(arm, lambda: shop.show("picky"))
        assert shown.beside == beside[shown.item]
        rated = {item: ratings[item] for item in (shown.item, *shown.beside)}
        rows = learned(shop, lambda: shop.settle(shown, ratings=rated))  # noqa: B023
        for b in rows:
            price, quality = ratings[shop.items[b]]
            thrifty, picky = np.asarray(shop.learner.problem.features)
            assert thrifty @ rows[b] == pytest.approx((5 - (3 * price + quality) / 4) / 4)
            assert picky @ rows[b] == pytest.approx((5 - quality) / 4)


def test_what_the_spam_filter_learns_is_true() -> None:
    """Harms are in parts of the greatest, 20. Blocked messages teach nothing, whatever is said."""
    guard = spam_filter()
    harms = np.asarray(guard.learner.problem.features)
    assert harms.tolist() == [[1 / 20, 20 / 20], [5 / 20, 2 / 20]]
    for spam in (True, False):
        decision = until(1, lambda: guard.decide("info"))
        assert decision.deliver
        rows = learned(guard, lambda: guard.settle(decision, spam=spam))  # noqa: B023
        assert (harms @ rows[1]).tolist() == ([1 / 20, 5 / 20] if spam else [0, 0])
        assert (harms @ rows[0]).tolist() == ([0, 0] if spam else [1, 2 / 20])
        decision = until(0, lambda: guard.decide("info"))
        assert not decision.deliver
        assert learned(guard, lambda: guard.settle(decision, spam=spam)) == {}  # noqa: B023


def test_no_price_is_below_the_cost() -> None:
    shop = seller(cost_range=(0, 9))
    assert {shop.price(2.5).price for _ in range(200)} == {3.0, 5.0}
    assert {shop.price(5).price for _ in range(50)} == {5.0}
    assert shop.policy(6).tolist() == [0.0, 0.0, 0.0]
    rounds, offer = shop.rounds, shop.price(6)
    assert (offer.price, offer.decision, shop.rounds) == (None, None, rounds)
    assert Offer.from_json(json.loads(json.dumps(offer.to_json()))) == offer
    shop.settle(offer, sold=False)
    with pytest.raises(InvalidLossesError, match="No offer was made"):
        shop.settle(offer, sold=True)
    free = seller(cost_range=(0, 9), at_least_cost=False)
    assert {free.price(6).price for _ in range(200)} == set(PRICES)


@pytest.mark.parametrize("base", [1e4, 1e8])
def test_a_seller_with_high_prices_learns(base: float) -> None:
    """Prices and costs in a narrow band far from 0: every outcome can be settled."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        low = base + rng.random()
        shop = seller(
            prices=base + 1 + 3 * rng.random(4),
            cost_range=(low, low + 0.5),
            reports="always",
            seed=seed,
        )
        for _ in range(10):
            shop.settle(shop.price(low), sold=True, willingness=base + 10)
        assert (shop.rounds, shop.pending) == (10, 0)


@pytest.mark.parametrize("base", [1e4, 1e8])
def test_a_newsvendor_with_high_prices_learns(base: float) -> None:
    shop = newsvendor(price_range=(base + 2, base + 4), cost_range=(base, base + 1))
    rng = np.random.default_rng(0)
    for _ in range(300):
        order = shop.order(base + rng.uniform(2, 4), base + rng.uniform(0, 1))
        shop.settle(order, sold=min(order.quantity, float(rng.integers(9))))
    assert shop.pending == 0


def test_an_arm_that_sleeps_is_never_chosen() -> None:
    couriers = sleeping()
    assert {couriers.choose(["a", "c"]).arm for _ in range(200)} == {"a", "c"}
    assert couriers.choose("b").arm == "b"
    assert couriers.policy(["b", "c"])[0] == 0


# ------------------------------------------------------------------------------ all applications


def settle_truly(application: Any, play: Any, rng: np.random.Generator) -> None:
    """Settle a play with some outcome that is possible."""
    if isinstance(play, Bid):
        price = rng.uniform(0, 4)
        won = float(play) >= price
        application.settle(play, won=won, highest_competing_bid=None if won else price)
    elif isinstance(play, Order):
        application.settle(play, sold=min(play.quantity, int(rng.integers(9))))
    elif isinstance(play, Offer):
        application.settle(play, sold=bool(rng.random() < 0.5))
    elif isinstance(play, ArmChoice):
        losses = {arm: float(rng.uniform(-1, 3)) for arm in play.revealed}
        application.settle(play, losses=losses)
    elif isinstance(play, Recommendation):
        items = (play.item, *play.beside)
        application.settle(play, ratings={item: rng.uniform(1, 5, size=2) for item in items})
    else:
        application.settle(play, spam=bool(rng.random() < 0.5))


PLAYS: dict[str, tuple[Callable[..., Any], Callable[[Any, int], Any]]] = {
    "bidder": (bidder, lambda shop, t: shop.bid(2 + t % 3)),
    "newsvendor": (newsvendor, lambda shop, t: shop.order(2 + t % 5, 1 + t % 3)),
    "seller": (seller, lambda shop, t: shop.price(1 + t % 4)),
    "sleeping": (sleeping, lambda arms, t: arms.choose(list(["abc", "ab", "c"][t % 3]))),
    "recommender": (recommender, lambda shop, t: shop.show(list(SEGMENTS)[t % 2])),
    "spam filter": (spam_filter, lambda guard, t: guard.decide(list(MAILBOXES)[t % 2])),
}

every_application = pytest.mark.parametrize(("make", "play"), PLAYS.values(), ids=PLAYS.keys())


@every_application
@pytest.mark.parametrize("algorithm", [None, CrossGraph()], ids=["adaptive", "cross-graph"])
def test_a_saved_application_resumes_exactly(
    make: Callable[..., Any], play: Callable[[Any, int], Any], algorithm: Any, tmp_path: Path
) -> None:
    application = make(algorithm=algorithm, horizon=500)
    rng = np.random.default_rng(1)
    pending = []
    for t in range(150):
        pending.append(play(application, t))
        if t % 3:
            settle_truly(application, pending.pop(int(rng.integers(len(pending)))), rng)
    application.save(tmp_path / "file")
    resumed = type(application).load(tmp_path / "file")
    assert resumed.settings() == application.settings()
    assert resumed.rounds == application.rounds == 150
    assert resumed.pending == application.pending == len(pending) == 50
    plays = []
    for one in (application, resumed):
        rng = np.random.default_rng(2)
        for late in pending[::2]:
            settle_truly(one, late, rng)
        made = []
        for t in range(100):
            made.append(play(one, t))
            settle_truly(one, made[-1], rng)
        plays.append([later.decision.arm for later in made])
    assert plays[0] == plays[1]
    assert len(set(plays[0])) > 1


@every_application
def test_an_action_survives_json(make: Callable[..., Any], play: Callable[[Any, int], Any]) -> None:
    application, rng = make(), np.random.default_rng(0)
    made = play(application, 0)
    back = type(made).from_json(json.loads(json.dumps(made.to_json())))
    assert back == made
    assert hash(back) == hash(made)
    settle_truly(application, back, rng)
    assert application.pending == 0
    with pytest.raises(DecisionError, match="learned from before"):
        settle_truly(application, made, rng)


@every_application
def test_another_file_is_refused(
    make: Callable[..., Any], play: Callable[[Any, int], Any], tmp_path: Path
) -> None:
    application = make()
    play(application, 0)
    other = spam_filter() if not isinstance(application, SpamFilter) else newsvendor()
    other.save(tmp_path / "other")
    with pytest.raises(CheckpointError, match=f"{type(application).__name__}.load needs a file"):
        type(application).load(tmp_path / "other")


# ------------------------------------------------------------------------------------- one shape

# The method that decides, what it returns, and the property with the arms in the order of `policy`.
SHAPES: dict[type[Application], tuple[str, type[Action], str | None]] = {
    FirstPriceBidder: ("bid", Bid, "bids"),
    Newsvendor: ("order", Order, "orders"),
    PostedPriceSeller: ("price", Offer, "prices"),
    SleepingArms: ("choose", ArmChoice, "arms"),
    Recommender: ("show", Recommendation, "items"),
    SpamFilter: ("decide", MailDecision, None),
}

every_shape = pytest.mark.parametrize("kind", SHAPES)


def parameters(method: Any) -> list[inspect.Parameter]:
    """Return the parameters of a method but for self."""
    return list(inspect.signature(method).parameters.values())[1:]


@every_shape
def test_what_is_decided_and_its_policy_take_the_same(kind: Any) -> None:
    decide = getattr(kind, SHAPES[kind][0])
    assert parameters(kind.policy) == parameters(decide)
    assert inspect.get_annotations(kind.policy)["return"] == "Floats"
    assert inspect.get_annotations(decide)["return"] == SHAPES[kind][1].__name__


@every_shape
def test_an_outcome_is_told_by_name(kind: Any) -> None:
    play, *outcome = parameters(kind.settle)
    assert (play.kind, play.annotation) == (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        f"{SHAPES[kind][1].__name__} | bytes | str",
    )
    assert {parameter.kind for parameter in outcome} == {inspect.Parameter.KEYWORD_ONLY}


@every_shape
def test_settings_are_told_by_name_and_end_alike(kind: Any) -> None:
    given = parameters(kind.__init__)
    assert {parameter.kind for parameter in given} == {inspect.Parameter.KEYWORD_ONLY}
    assert [parameter.name for parameter in given[-3:]] == ["horizon", "algorithm", "seed"]
    assert given[-1].default is inspect.Parameter.empty
    make = next(make for make, _ in PLAYS.values() if isinstance(make(), kind))
    assert list(make().settings()) == [parameter.name for parameter in given[:-2]]


@every_application
def test_a_policy_has_a_probability_for_each_arm(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    """It is what is drawn from, and looking at it changes nothing."""
    application, rng = make(), np.random.default_rng(0)
    decide, _, arms = SHAPES[type(application)]
    for t in range(20):
        vars(application)[decide] = application.policy  # which takes the same
        policy = play(application, t)
        del vars(application)[decide]
        assert application.rounds == t
        assert len(policy) == (2 if arms is None else len(getattr(application, arms)))
        assert policy.sum() == pytest.approx(1)
        made = play(application, t)
        assert made.decision.probability == policy[made.decision.arm]
        settle_truly(application, made, rng)


def test_contexts_have_names() -> None:
    assert recommender().segments == list(SEGMENTS)
    assert spam_filter().mailboxes == list(MAILBOXES)


def test_a_filter_delivers_by_its_policy() -> None:
    guard, rng = spam_filter(), np.random.default_rng(0)
    for t in range(50):
        settle_truly(guard, guard.decide(list(MAILBOXES)[t % 2]), rng)
    block, deliver = guard.policy("info")
    assert 0 < block < 1
    assert guard.delivers("info") == deliver


@every_application
def test_its_repr_shows_counts_and_algorithm(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    application = make()
    play(application, 0)
    settle_truly(application, play(application, 1), np.random.default_rng(0))
    name = type(application).__name__
    amounts = {"FirstPriceBidder", "Newsvendor", "PostedPriceSeller"}
    used = "adaptive" if name in amounts else "certified"
    scope = "values 0 to 4, 4 bids, " if name == "FirstPriceBidder" else ""
    assert repr(application) == f"{name}({scope}2 decisions made, 1 pending, cross-graph-{used})"


def test_the_repr_of_a_bidder_says_what_it_takes() -> None:
    assert repr(FirstPriceBidder(seed=1)) == (
        "FirstPriceBidder(any value, any bid, 0 decisions made, 0 pending, law)"
    )


@pytest.mark.parametrize("make", [make for make, _ in PLAYS.values()], ids=PLAYS.keys())
def test_a_subclass_is_named_in_errors(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(make())
    monkeypatch.setitem(make.__globals__, kind.__name__, type("Own", (kind,), {}))
    with pytest.raises(InvalidParameterError, match="'algorithm' parameter of Own must be"):
        make(algorithm=3)


# ------------------------------------------------------------------------------- state of its own


class BudgetBidder(FirstPriceBidder):
    """A bidder that counts what it has spent, and which prices it has met."""

    kind = "budget-bidder"

    def __init__(self, *, purse: float, **settings: Any) -> None:
        self.purse = purse
        super().__init__(**settings)
        self._spent = 0.0
        self._last: str | None = None
        self._prices = np.zeros((2, 5), dtype=np.int64)
        self._won = np.zeros(3, dtype=np.bool_)

    @property
    def left(self) -> float:
        """What is left in the purse."""
        return self.purse - self._spent

    def settings(self) -> dict[str, Any]:
        return {"purse": self.purse, **super().settings()}

    def state(self) -> dict[str, Any]:
        arrays = {"prices": self._prices, "won": self._won}
        return {"spent": np.float64(self._spent), "last": self._last, "count": 3, **arrays}

    def restore(self, state: Any) -> None:
        if not 0 <= state["spent"] <= self.purse:
            raise ValueError(f"{state['spent']} was spent of a purse of {self.purse}")
        self._spent, self._last = state["spent"], state["last"]
        self._prices[...] = state["prices"]
        self._won[...] = state["won"]

    def spend(self, amount: float) -> None:
        self._spent += amount
        self._last = "spent"
        self._prices[1, int(amount)] += 7
        self._won[2] = True


def budget_bidder(**options: Any) -> BudgetBidder:
    given = {"bids": (0, 1, 2, 3), "value_range": (0, 4), "seed": 0, "purse": 10.0}
    return BudgetBidder(**{**given, "algorithm": CrossGraphAdaptive(), **options})


@pytest.mark.parametrize("algorithm", ["law", CrossGraphAdaptive()])
def test_state_of_its_own_is_saved_and_restored(algorithm: Any, tmp_path: Path) -> None:
    own = budget_bidder(algorithm=algorithm)
    own.spend(2.5)
    bid = own.bid(3)
    own.save(tmp_path / "file")
    again = BudgetBidder.load(tmp_path / "file")
    assert (again.left, again._last, again.pending) == (7.5, "spent", 1)
    assert again._prices.dtype == np.int64
    np.testing.assert_array_equal(again._prices, own._prices)
    np.testing.assert_array_equal(again._won, own._won)
    again.settle(bid, won=False, highest_competing_bid=3.5)
    again.spend(1.0)
    again.save(tmp_path / "file")
    assert BudgetBidder.load(tmp_path / "file").left == 6.5
    assert own.left == 7.5


def test_state_that_does_not_fit_the_settings_is_refused(tmp_path: Path) -> None:
    own = budget_bidder()
    own.spend(4.0)
    vars(own)["purse"] = 3.0
    own.save(tmp_path / "file")
    with pytest.raises(CheckpointError, match=r"is inconsistent: 4\.0 was spent of a purse of 3"):
        BudgetBidder.load(tmp_path / "file")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"spent": math.nan}, "cannot write this state: Out of range float"),
        ({"spent": [1, {"x": math.inf}]}, "cannot write this state: Out of range float"),
        ({"spent": {1, 2}}, "cannot write this state: .*set is not JSON serializable"),
        ({"prices": np.array([1.0, math.nan])}, r"the array 'application\.prices' holds nan"),
        ({"prices": np.array([object()])}, r"'application\.prices' has the type object"),
        ({"prices": np.array(["a"])}, r"'application\.prices' has the type <U1"),
        ({"pri/ces": np.zeros(2)}, "is not a name of letters"),
    ],
)
def test_state_that_cannot_be_kept_is_refused(
    state: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = budget_bidder()
    monkeypatch.setattr(BudgetBidder, "state", lambda _: state)
    with pytest.raises(CheckpointError, match=rf"BudgetBidder\.save .*{message}"):
        own.save(tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_state_of_another_shape_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, plain = budget_bidder(), bidder()
    for state in ({}, {"spent": 1.0}, {"spent": np.zeros(2), "last": None, "won": 1, "prices": 2}):
        monkeypatch.setattr(BudgetBidder, "state", lambda _, state=state: state)
        own.save(tmp_path / "file")
        monkeypatch.undo()
        with pytest.raises(
            CheckpointError, match=r"it keeps the values .* where .*'spent'.* belong"
        ):
            BudgetBidder.load(tmp_path / "file")
    monkeypatch.setattr(FirstPriceBidder, "state", lambda _: {"spent": 1.0})
    plain.save(tmp_path / "file")
    with pytest.raises(CheckpointError, match="FirstPriceBidder keeps no state of its own"):
        FirstPriceBidder.load(tmp_path / "file")


class TreeOfArms(SleepingArms):
    """Arms that are the leaves of a tree; its constructor goes through the tree."""

    kind = "tree-of-arms"

    def __init__(self, *, tree: Any, **settings: Any) -> None:
        self.tree = tree
        super().__init__(arms=self._leaves(tree), **settings)

    def _leaves(self, tree: Any) -> list[str]:
        if isinstance(tree, str):
            return [tree]
        return list(chain.from_iterable(self._leaves(branch) for branch in tree))

    def settings(self) -> dict[str, Any]:
        settings = super().settings()
        del settings["arms"]
        return {"tree": self.tree, **settings}


def test_settings_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    """JSON can hold them, and a constructor that goes through them ends with a RecursionError."""
    own = TreeOfArms(tree=["van", ["bike"]], seed=0)
    for _ in range(sys.getrecursionlimit() // 2):  # each takes two calls
        vars(own)["tree"] = [own.tree]
    own.save(tmp_path / "file")
    snapshot = TreeOfArms(tree=["van", ["bike"]], seed=0).snapshot()
    vars(snapshot)["tree"] = own.tree
    with pytest.raises(CheckpointError, match="is inconsistent: maximum recursion depth"):
        TreeOfArms.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="is inconsistent: maximum recursion depth"):
        TreeOfArms.from_bytes(snapshot.to_bytes())


def test_the_learner_alone_can_be_loaded_from_the_file(tmp_path: Path) -> None:
    own = budget_bidder()
    own.bid(3)
    own.save(tmp_path / "file")
    assert load(tmp_path / "file").round == 1


@every_application
def test_public_attributes_cannot_be_set(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    application = make()
    play(application, 0)
    name = type(application).__name__
    before = application.settings()
    settable = {"token_key"}
    public = [key for key in dir(application) if not key.startswith("_") and key not in settable]
    assert {"learner", "rounds", "settle", "save"} < set(public)
    for key in [*public, *before, "feedbak"]:
        with pytest.raises(AttributeError, match=f"'{key}' of a {name} cannot be set: what was "):
            setattr(application, key, 1)
    assert application.settings() == before
    assert application.learner.round == 1


# ------------------------------------------------------------------------------------- bad files


@every_application
def test_a_missing_folder_is_named(
    make: Callable[..., Any],
    play: Callable[[Any, int], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application = make()
    play(application, 0)
    monkeypatch.chdir(tmp_path)
    name = type(application).__name__
    with pytest.raises(CheckpointError) as error:
        application.save("no/where/file")
    assert str(error.value) == (
        f"{name}.save cannot write 'no/where/file': there is no folder 'no/where'. Make it first."
    )
    (tmp_path / "no" / "where").mkdir(parents=True)
    application.save("no/where/file")
    assert type(application).load("no/where/file").pending == 1
    with pytest.raises(CheckpointError, match="there is no folder 'no/where/file'"):
        application.save(Path("no/where/file/below"))
    with pytest.raises(CheckpointError, match=r"cannot write 'no': Is a directory\. Save to"):
        application.save("no")
    assert sorted(tmp_path.rglob("*")) == [
        tmp_path / x for x in ("no", "no/where", "no/where/file")
    ]
    with pytest.raises(CheckpointError, match="cannot write ''"):
        application.save("")


WRONG: list[Any] = [None, True, -1, 0, 10**30, 1e300, "x", [], {}, [[1], [2, 3]], [None], {"a": 1}]


def _noted(notes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return notes, {}


@every_application
def test_settings_changed_in_the_file_are_refused_or_possible(
    make: Callable[..., Any], play: Callable[[Any, int], Any], tmp_path: Path
) -> None:
    """Whatever a file says, loading it raises CheckpointError or returns an application."""
    application = make()
    play(application, 0)
    application.save(tmp_path / "file")
    file = files.read(tmp_path / "file")
    learner, notes = files.graph_learner(*file[1:]), file.header["notes"]
    refused = 0
    for name, wrong in [*product(notes["settings"], WRONG), ("more", 1)]:
        changed = {**notes, "settings": {**notes["settings"], name: wrong}}
        files.save(learner, tmp_path / "file", partial(_noted, changed), "test")
        try:
            type(application).load(tmp_path / "file")
        except CheckpointError as error:
            assert "is inconsistent" in str(error)  # noqa: PT017 - or nothing is raised
            refused += 1
    assert refused > 0.8 * len(notes["settings"]) * len(WRONG)
    settings: Any
    for settings in (None, [], "x", 1):
        changed = {**notes, "settings": settings}
        files.save(learner, tmp_path / "file", partial(_noted, changed), "test")
        with pytest.raises(CheckpointError, match="is inconsistent"):
            type(application).load(tmp_path / "file")


def test_a_disk_that_is_full_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    shop = newsvendor()
    shop.save(tmp_path / "shop")
    shop.order(4, 2)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointError, match=r"shop': No space left on device\. Save to another"):
        shop.save(tmp_path / "shop")
    assert Newsvendor.load(tmp_path / "shop").rounds == 0


# ------------------------------------------------------------------------------------- bad input

WRONG_ACTIONS: list[tuple[Any, str]] = [
    (
        "text",
        r"'data' .* a dict that to_json returned; read text with json.loads first. Got 'text'",
    ),
    (b"{}", "read text with json.loads first"),
    (None, "Got None"),
    ([], r"Got \[\]"),
    ({}, r"a dict with the keys 'decision', .* Got one with \[\]"),
    ({"decision": None}, r"with the keys 'decision', .* Got one with \['decision'\]"),
]


@every_application
@pytest.mark.parametrize(("data", "message"), WRONG_ACTIONS)
def test_an_action_is_not_made_of_other_data(
    make: Callable[..., Any], play: Callable[[Any, int], Any], data: Any, message: str
) -> None:
    kind = type(play(make(), 0))
    with pytest.raises(InvalidParameterError, match=f"of {kind.__name__}.from_json must be"):
        kind.from_json(data)
    with pytest.raises(InvalidParameterError, match=message):
        kind.from_json(data)


@every_application
def test_an_action_needs_all_its_parts(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    made = play(make(), 0)
    kind, data = type(made), made.to_json()
    for key in data:
        if key not in ("reserve", "classes", "reason"):  # which not every round has
            with pytest.raises(InvalidParameterError, match=f"the keys .*'{key}'.* Got one with"):
                kind.from_json({name: data[name] for name in data if name != key})
    with pytest.raises(InvalidParameterError, match=r"Got one with .*'more'"):
        kind.from_json({**data, "more": 1})
    decision = data["decision"]
    wrong: list[Any] = ["text", 3, [], {}, {**decision, "more": 1}]
    parts = [key for key in decision if key != "token"]  # which earlier versions do not have
    wrong += [{k: decision[k] for k in decision if k != key} for key in parts]
    wrong += [{**decision, "round": "0"}, {**decision, "learner": []}]
    for other in wrong:
        with pytest.raises(InvalidParameterError, match=r"'decision' .* the keys 'round', "):
            kind.from_json({**data, "decision": other})


@every_application
def test_the_json_form_of_an_action_is_not_an_action(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    application = make()
    made = play(application, 0)
    with pytest.raises(DecisionError, match=f"{type(made).__name__}.from_json makes one of it"):
        application.settle(made.to_json(), **OUTCOMES[make])
    assert application.pending == 1


TENT, INFO = {"tent": [1, 2]}, {"info": (1, 2)}

BAD_SETTINGS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (newsvendor, {"orders": [1]}, "'orders' .* at least 2 different"),
    (newsvendor, {"orders": 5}, "'orders' .* Got 5"),
    (newsvendor, {"feedback": "x"}, "'feedback' .* Got 'x'"),
    (newsvendor, {"horizon": 0}, "'horizon' .* at least 1"),
    (seller, {"prices": [0, -1]}, "'prices' .* Got -1.0 among them"),
    (seller, {"cost_range": (3, 1)}, "'cost_range' .* lower one first"),
    (seller, {"at_least_cost": 1}, "'at_least_cost' .* True or False"),
    (sleeping, {"arms": ["a"]}, "'arms' .* at least 2 different names"),
    (sleeping, {"arms": ["a", "a"]}, "'arms' .* at least 2 different names"),
    (sleeping, {"arms": "ab"}, "'arms' .* at least 2 different names"),
    (sleeping, {"arms": ["a", 3]}, "'arms' .* Got 3 among them"),
    (sleeping, {"loss_range": (1, 1)}, "'loss_range' .* lowest < highest"),
    (sleeping, {"graph": graphs.complete(4)}, "'graph' .* of 3 arms.* Got one of 4 arms"),
    (recommender, {"items": TENT}, "'items' .* at least 2"),
    (recommender, {"items": {**TENT, "x": [0, 0]}}, "'items' .* of Recommender .* for item 1"),
    (recommender, {"items": {**TENT, "x": [1]}}, "'items' .* of Recommender .* Got"),
    (recommender, {"items": ["tent", "tarp"]}, "'items' .* a mapping from names"),
    (recommender, {"segments": ["all"]}, "'segments' .* a mapping from names"),
    (recommender, {"graph": graphs.complete(4)}, "'graph' .* of 3 arms.* Got one of 4 arms"),
    (recommender, {"similarity": 1.5}, "'similarity' .* at most 1"),
    (recommender, {"segments": {}}, "'segments' .* at least 1"),
    (recommender, {"segments": {"x": [1, -1]}}, "'segments' .* for segment 0"),
    (recommender, {"segments": {"x": [0, 0]}}, "'segments' .* for segment 0"),
    (recommender, {"rating_range": "ab"}, "'rating_range' .* a pair"),
    (spam_filter, {"mailboxes": {}}, "'mailboxes' .* at least 1"),
    (spam_filter, {"mailboxes": {"x": (1, 0)}}, "'mailboxes' .* above 0.* among them"),
    (spam_filter, {"mailboxes": {"x": 3}}, "'mailboxes' .* a pair"),
    (spam_filter, {"mailboxes": {"x": "12"}}, "'mailboxes' .* a pair .* Got '12'"),
    (spam_filter, {"mailboxes": {"x": (True, "3")}}, "'mailboxes' .* Got True among them"),
    (spam_filter, {"mailboxes": {"x": (1e-300, 1)}}, "'mailboxes' .* from 1e-100"),
    (spam_filter, {"mailboxes": ["a", "b"]}, "'mailboxes' .* a mapping from names"),
    (newsvendor, {"orders": masked([1, 2, 3], [0, 0, 1])}, "Got masked among them"),
    (recommender, {"items": {**TENT, "x": masked([1, 2], [0, 1])}}, "masked entries"),
    (recommender, {"segments": {"x": masked([1, 2], [0, 1])}}, "masked entries"),
    (bidder, {"bids": 2**62}, "'bids' .* of at least 2 and of at most 1000000. Got 4611686"),
    (bidder, {"bids": 10**30}, "'bids' .* of at least 2 and of at most 1000000. Got 10000"),
    (bidder, {"horizon": 10**30}, "'horizon' parameter of Problem .* at most 4611686018427387904"),
    (newsvendor, {"orders": ["1", "2"]}, "'orders' .* of Newsvendor .* Got '1' among them"),
    (newsvendor, {"price_range": (0, 10**400)}, "'price_range' .* a pair"),
    (newsvendor, {"feedback": "x"}, "'feedback' parameter of Newsvendor"),
    (seller, {"prices": [1, True]}, "'prices' .* of PostedPriceSeller .* Got True among them"),
    (seller, {"reports": "x"}, "'reports' parameter of PostedPriceSeller"),
    (sleeping, {"loss_range": (-1e308, 1e308)}, "'loss_range' .* up to 1e\\+100 in size"),
    (sleeping, {"algorithm": CrossGraph}, r"'algorithm' .* such as CrossGraph\(\). Got <class"),
    (seller, {"algorithm": "cross-graphs"}, "There is no algorithm 'cross-graphs'"),
    (newsvendor, {"algorithm": 3}, "'algorithm' .* of Newsvendor .* Got 3"),
    (recommender, {"algorithm": 3}, "'algorithm' .* of Recommender .* Got 3"),
    (spam_filter, {"algorithm": 3}, "'algorithm' .* of SpamFilter .* Got 3"),
]


@pytest.mark.parametrize(("make", "options", "message"), BAD_SETTINGS)
def test_a_bad_setting_is_refused(
    make: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make(**options)


BAD_CONTEXTS: list[tuple[Callable[..., Any], Callable[[Any], Any], str]] = [
    (bidder, lambda shop: shop.bid(math.nan), "'value' parameter of bid .* Got nan"),
    (bidder, lambda shop: shop.policy(5), "'value' parameter of policy .* at most 4. Got 5"),
    (bidder, lambda shop: shop.shading_curve([None]), "of shading_curve .* Got None"),
    (
        bidder,
        lambda shop: shop.shading_curve(masked([1.0, 2.0], [0, 1])),
        "'values' parameter of shading_curve .* masked entries",
    ),
    (bidder, lambda shop: shop.bid(2, reserve=-1), "'reserve' parameter of bid .* Got -1"),
    (bidder, lambda shop: shop.policy(2, reserve="1"), "'reserve' .* of policy .* Got '1'"),
    (newsvendor, lambda shop: shop.order(None, 2), "'price' parameter of order .* Got None"),
    (newsvendor, lambda shop: shop.order(4, math.nan), "'cost' parameter of order .* Got nan"),
    (seller, lambda shop: shop.policy(-1), "'cost' parameter of policy .* Got -1"),
    (sleeping, lambda arms: arms.choose([None]), "'available' .* Got None"),
    (recommender, lambda shop: shop.policy(None), "'segment' parameter of policy .* Got None"),
    (spam_filter, lambda guard: guard.policy(math.nan), "'mailbox' parameter of policy .* Got nan"),
    (spam_filter, lambda guard: guard.delivers(None), "'mailbox' parameter of delivers .* None"),
    (newsvendor, lambda shop: shop.order(7, 2), "'price' parameter of order .* Got 7"),
    (newsvendor, lambda shop: shop.policy(4, 0), "'cost' parameter of policy .* Got 0"),
    (seller, lambda shop: shop.price("2"), "'cost' parameter of price .* Got '2'"),
    (sleeping, lambda arms: arms.choose([]), r"'available' .* at least one arm. Got \[\]"),
    (sleeping, lambda arms: arms.choose(5), "'available' .* names of arms. Got 5"),
    (sleeping, lambda arms: arms.choose(["d"]), "'available' .* must name 'a', 'b', 'c'. Got 'd'"),
    (recommender, lambda shop: shop.show("thrify"), "Did you mean 'thrifty'?"),
    (spam_filter, lambda guard: guard.decide(0), "'mailbox' .* Got 0"),
]


@pytest.mark.parametrize(("make", "play", "message"), BAD_CONTEXTS)
def test_a_bad_context_is_refused(
    make: Callable[..., Any], play: Callable[[Any], Any], message: str
) -> None:
    application = make()
    with pytest.raises(InvalidContextError, match=message):
        play(application)
    assert application.rounds == 0


BAD_OUTCOMES: list[tuple[Callable[[], Any], int, dict[str, Any], str]] = [
    (newsvendor, 2, {"sold": 4}, "'sold' .* at most 3. Got 4"),
    (newsvendor, 2, {"sold": -1}, "'sold' .* at least 0"),
    (newsvendor, 2, {"sold": 2, "demand": 5}, "order of 3 at a demand of 5 sells 3"),
    (newsvendor, 2, {"sold": 3, "demand": 1}, "at a demand of 1 sells 1. Got sold=3"),
    (lambda: newsvendor(feedback="demand"), 2, {"sold": 3}, "sold-out order of 3 and no dem"),
    (newsvendor, 2, {"sold": math.nan}, "'sold' .* a finite number .* Got nan"),
    (newsvendor, 2, {"sold": None}, "'sold' .* a finite number .* Got None"),
    (newsvendor, 2, {"sold": 2, "demand": math.nan}, "'demand' .* a finite number .* Got nan"),
    (newsvendor, 2, {"sold": 2, "demand": -1}, "'demand' .* at least 0. Got -1"),
    (seller, 1, {"sold": None}, "'sold' .* True or False. Got None"),
    (seller, 1, {"sold": True, "willingness": math.nan}, "'willingness' .* finite .* Got nan"),
    (seller, 1, {"sold": False, "willingness": -1}, "'willingness' .* at least 0. Got -1"),
    (bidder, 1, {"won": None}, "'won' .* True or False. Got None"),
    (bidder, 1, {"won": True, "reserve": math.nan}, "'reserve' .* finite .* Got nan"),
    (seller, 1, {"sold": 2}, "'sold' .* True or False. Got 2"),
    (seller, 1, {"sold": True, "willingness": 2.9}, "price of 3 cannot have been sold to"),
    (seller, 1, {"sold": False, "willingness": 3}, "price of 3 cannot have been refused by"),
    (lambda: seller(reports="after-sale"), 1, {"sold": True}, "who have bought tell. Got sold"),
    (lambda: seller(reports="always"), 1, {"sold": False}, "all buyers tell. Got sold=False"),
    (sleeping, 1, {"losses": {}}, r"a mapping that has 'b' and no other name. Got \[\]"),
    (sleeping, 1, {"losses": {"b": 4}}, "'losses' .* numbers from -1 to 3. Got 4 for 'b'"),
    (sleeping, 1, {"losses": {"b": math.nan}}, "'losses' .* numbers .* Got nan for 'b'"),
    (sleeping, 1, {"losses": {"b": None}}, "'losses' .* numbers .* Got None for 'b'"),
    (sleeping, 1, {"losses": {"b": "1"}}, "'losses' .* numbers .* Got '1' for 'b'"),
    (sleeping, 1, {"losses": {"b": True}}, "'losses' .* numbers .* Got True for 'b'"),
    (sleeping, 1, {"losses": {"b": 1, "c": 1}}, r"'b' and no other name. Got \['b', 'c'\]"),
    (sleeping, 1, {"losses": 0.5}, "'losses' .* a mapping .* Got 0.5"),
    (sleeping, 1, {"losses": None}, "'losses' .* a mapping .* Got None"),
    (recommender, 2, {"ratings": {"stove": [1, 6]}}, "2 numbers from 1 to 5 .* for 'stove'"),
    (recommender, 2, {"ratings": {"stove": [1, math.nan]}}, r"Got \[1, nan\] for 'stove'"),
    (recommender, 2, {"ratings": {"stove": [1, None]}}, r"Got \[1, None\] for 'stove'"),
    (recommender, 2, {"ratings": {"stove": ["1", "2"]}}, r"Got \['1', '2'\] for 'stove'"),
    (recommender, 2, {"ratings": {"stove": [True, True]}}, r"Got \[True, True\] for 'stove'"),
    (recommender, 2, {"ratings": {"stove": [[1], [2, 3]]}}, "'ratings' .* 2 numbers from 1 to 5"),
    (recommender, 2, {"ratings": {"stove": masked([1, 2], [0, 1])}}, "masked entries"),
    (sleeping, 1, {"losses": {"b": np.ma.masked}}, "'losses' .* numbers .* masked entries"),
    (newsvendor, 2, {"sold": np.ma.masked}, "'sold' .* a finite number .* Got masked"),
    (recommender, 2, {"ratings": {"stove": 3}}, "'ratings' .* 2 numbers from 1 to 5"),
    (recommender, 2, {"ratings": {"stove": "good"}}, "'ratings' .* Got 'good'"),
    (recommender, 2, {"ratings": None}, "'ratings' .* a mapping .* Got None"),
    (recommender, 0, {"ratings": TENT}, r"'tent', 'tarp' and no other .* Got \['tent'\]"),
    (spam_filter, 1, {}, "'spam' .* True or False for a message that was delivered. Got None"),
    (spam_filter, 1, {"spam": 1}, "for a message that was delivered. Got 1"),
    (spam_filter, 0, {"spam": "no"}, "'spam' .* True or False. Got 'no'"),
]


@pytest.mark.parametrize(("make", "arm", "outcome", "message"), BAD_OUTCOMES)
def test_a_bad_outcome_is_refused_and_nothing_is_lost(
    make: Callable[[], Any], arm: int, outcome: dict[str, Any], message: str
) -> None:
    application = make()
    play = {type(other()): made for other, made in PLAYS.values()}[type(application)]
    made = until(arm, lambda: play(application, 4))
    waiting = application.pending
    with pytest.raises(InvalidLossesError, match=message):
        application.settle(made, **outcome)
    assert application.pending == waiting


def test_messages_show_money_to_the_last_digit() -> None:
    shop = seller(prices=[1234567.25, 2345678.5], reports="always")
    offer = until(0, lambda: shop.price(2))
    with pytest.raises(InvalidLossesError, match=r"of 1234567\.25 .* have paid 1234568\.25"):
        shop.settle(offer, sold=False, willingness=1234568.25)
    with pytest.raises(InvalidContextError, match=r"at most 1234567\.25. Got 1234568"):
        seller(prices=[1, 2345678], cost_range=(0, 1234567.25)).price(1234568)


def test_a_recommender_is_loaded_with_the_graph_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where cosines come out a little different, an item's neighbours are still the same."""
    shop = recommender(similarity=np.float32(0.9))
    shop.save(tmp_path / "file")
    other: Callable[..., Any] = lambda *_, **__: graphs.complete(3)  # noqa: E731
    monkeypatch.setattr("crossbandit.applications.recommender.similar_items", other)
    again = Recommender.load(tmp_path / "file")
    assert again.learner.problem.graph == shop.learner.problem.graph
    assert again.settings() == shop.settings()
    with_graph = recommender(graph=graphs.complete(3))
    assert len(with_graph.show("picky").beside) == 2


def test_a_rating_costs_the_same_for_any_number_of_segments() -> None:
    """Ratings and weights in their ranges make losses in theirs: no segment need be looked at."""
    shop = recommender()
    shown = shop.show("picky")
    form: Any = shop.learner.problem.form
    form.table = np.full((2, 1, 2), np.nan)  # whoever looks there sees no losses
    shop.settle(shown, ratings={item: [1, 1] for item in (shown.item, *shown.beside)})
    assert form.first_bad(np.full((3, 2), 0.6), np.arange(3)) == (-1, -1)
    assert form.first_bad(np.full((3, 2), 1.1), np.arange(3)) == (0, 0)


OUTCOMES: dict[Callable[..., Any], dict[str, Any]] = {
    bidder: {"won": False},
    newsvendor: {"sold": 0},
    seller: {"sold": True},
    sleeping: {"losses": {}},
    recommender: {"ratings": {}},
    spam_filter: {},
}


@every_application
def test_only_its_own_actions_can_be_settled(
    make: Callable[..., Any], play: Callable[[Any, int], Any]
) -> None:
    application, rng = make(), np.random.default_rng(0)
    with pytest.raises(DecisionError, match="made by another learner"):
        settle_truly(application, play(make(), 0), rng)
    other, other_play = PLAYS["seller" if make is newsvendor else "newsvendor"]
    wrong = other_play(other(), 0)
    with pytest.raises(DecisionError, match=f"settle takes the {type(play(make(), 0)).__name__} "):
        application.settle(wrong, **OUTCOMES[make])
    nothing = replace(play(make(), 0), decision=None)
    if not isinstance(nothing, Offer | Bid):
        with pytest.raises(DecisionError, match="nothing to settle"):
            application.settle(nothing, **OUTCOMES[make])


def test_an_action_of_another_problem_is_refused_as_foreign_first() -> None:
    """Its arm may be none of ours, and its outcome a contradiction here."""
    large, bad = (newsvendor(), seller(), sleeping(), recommender()), cast("Any", "bad")
    order = until(3, lambda: large[0].order(4, 2))
    with pytest.raises(DecisionError, match="another learner"):
        newsvendor(orders=[0, 1]).settle(order, sold=5)
    offer = until(2, lambda: large[1].price(1))
    with pytest.raises(DecisionError, match="another learner"):
        seller(prices=[1, 2], cost_range=(0, 1)).settle(offer, sold=bad)
    choice = until(2, large[2].choose)
    with pytest.raises(DecisionError, match="another learner"):
        sleeping(arms=["x", "y"]).settle(choice, losses={"c": 9.0})
    shown = until(2, lambda: large[3].show("picky"))
    with pytest.raises(DecisionError, match="another learner"):
        recommender(items={"x": [1, 0], "y": [0, 1]}).settle(shown, ratings=bad)
