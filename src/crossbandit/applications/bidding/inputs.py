"""Check what a caller passes about one auction or many: outcomes, amounts and labels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.applications.money import amount_of, flag_of, in_tick
from crossbandit.core.types import Feedback
from crossbandit.core.validation import as_array, reject, verbatim
from crossbandit.errors import InvalidContextError, InvalidInputError, InvalidLossesError
from crossbandit.laws.levels import checked_label
from crossbandit.laws.state import TOLD_AFTER
from crossbandit.limits.state import EXACT, money_up_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    import numpy.typing as npt

    from crossbandit.applications.bidding.bids import Bid
    from crossbandit.core.types import Booleans, Floats
    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label

# Two amounts that differ by less than this share of them differ by rounding.
_ROUNDING = 1e-9
_GOLDEN = 0.6180339887498949  # its multiples are evenly spread modulo 1


class BidBounds(NamedTuple):
    """What bids of any amount are possible in an auction.

    share: the lowest bid, as a share of the pseudo-value. up: whether equal bids lose, so that a
    bid is rounded up.
    """

    value: float
    share: float
    reserve: float
    highest: float
    tick: Decimal | None
    up: bool

    def under(self, worth: float, left: Decimal | None) -> tuple[float, float, float]:
        """Return the lowest and the highest amount to bid for a worth, and the most in any case.

        left: what limits leave; None if there are none.
        """
        low = max(min(worth, self.value) * self.share, self.reserve)
        high = min(worth, self.value, self.highest)
        if self.tick is None:
            return low, high, math.inf if left is None else money_up_to(left)
        most = (
            math.inf
            if left is None
            else float(EXACT.multiply(EXACT.divide_int(left, self.tick), self.tick))
        )
        return in_tick(low, self.tick, 1), in_tick(high, self.tick, -1), most

    def rounded(self, amount: float, low: float, high: float) -> float:
        """Return an amount in whole ticks."""
        if self.tick is None:
            return amount
        return min(max(in_tick(amount, self.tick, 1 if self.up else 0), low), high)


def rules_of(rules: AuctionRules, bid: Bid, reserve: object) -> AuctionRules:
    """Return the rules of an auction whose reserve price is given when it is settled."""
    told = amount_of("settle", "reserve", reserve, error=InvalidLossesError)
    if bid.reserve is None:
        return replace(rules, reserve=told)
    if not _equal_to_rounding(told, bid.reserve):
        raise InvalidLossesError(
            f"The bid was made for a reserve price of {bid.reserve}. Got "
            f"reserve={told:.15g}. Nothing was learned; correct it, or leave the bid unsettled."
        )
    return rules


def price_of(
    rules: AuctionRules, feedback: Feedback, amount: float, told: object, *, won: bool
) -> float:
    """Return a competing bid for which all revealed bids win or lose as they would have.

    A competing bid that equals the bid to rounding is taken as a tie that was decided as `won`
    says: it is moved to the other side of the bid by the least that a float can be moved.
    """
    if won:
        if amount == 0:
            raise _contradiction(amount, "a bid of 0 means not to bid, so it cannot have won")
        if amount < rules.reserve and not _equal_to_rounding(amount, rules.reserve):
            raise _contradiction(amount, f"it is below the reserve price, {rules.reserve:.15g}")
    if told is None:
        if won in TOLD_AFTER[feedback]:
            raise InvalidLossesError(
                f"The bidder's feedback is {feedback!r}: {FEEDBACK[feedback].split(':')[0]}. Got "
                f"won={won} and no highest_competing_bid. Give it: 0 if nobody else bid, or "
                "math.nan if it is not known for once. If it is often not known, make a bidder "
                "with feedback 'won-lost'."
            )
        return -math.inf if won else math.inf
    price = amount_of("settle", "highest_competing_bid", told, error=InvalidLossesError)
    wins = amount >= price if rules.ties == "win" else amount > price
    if won == (wins and amount >= rules.reserve and amount > 0):
        return price
    if _equal_to_rounding(amount, price) and (won or amount > 0):
        if won:
            return amount if rules.ties == "win" else math.nextafter(amount, -math.inf)
        return math.nextafter(amount, math.inf) if rules.ties == "win" else amount
    outcome = "won" if won else "lost"
    raise _contradiction(
        amount, f"it cannot have {outcome} against a highest competing bid of {price:.15g}"
    )


def possible_price(
    law: OutcomeLaw, rules: AuctionRules, bid: Bid, placed: float, *, won: bool
) -> float:
    """Return a competing bid that a law deems possible, given an outcome of the amount placed.

    It is the quantile of the law above or below the amount at a fraction that the number of the
    decision determines, so that these fractions are evenly spread over decisions.
    """
    decision: Any = bid.decision
    low, high = law.context_range
    law.core.read(min(max(bid.value, low), high), law.levels.slots(bid.classes))
    amounts, strict = law.amounts_at(bid.value), rules.ties == "lose"
    chances = np.array([law.core.chance(k) for k in range(amounts.size)])
    beaten = int(np.searchsorted(amounts, placed, "right"))
    own = float(chances[beaten - 1]) if beaten > 0 else 0.0
    share = decision.round * _GOLDEN % 1.0
    # The lowest amount that wins against the price. An equal price is beaten, or is not if strict.
    if won:
        cell = int(np.searchsorted(chances, share * own)) - strict
        highest = math.nextafter(placed, 0.0) if strict else placed
        return min(float(amounts[cell]), highest) if cell >= 0 else 0.0
    cell = int(np.searchsorted(chances, own + share * (1.0 - own), "right")) - strict
    lowest = placed if strict else math.nextafter(placed, math.inf)
    above = math.nextafter(float(amounts[-1]), math.inf)
    return max(float(amounts[cell]) if cell < amounts.size else above, lowest)


def numbers_to_reach(rules: AuctionRules, prices: npt.ArrayLike) -> Floats:
    """Return the number that a bid has to reach to win against each price.

    It is the price, or what a higher reserve price asks for; see `AuctionRules.least`.
    """
    found: Floats = np.maximum(np.asarray(prices, dtype=float), rules.least)
    return found


def column_of(
    owner: str,
    name: str,
    values: Any,
    count: int | None,
    error: type[InvalidInputError],
    *,
    low: float = 0.0,
    high: float = np.inf,
) -> Floats:
    """Return a column of amounts; one amount for all rows is repeated, None becomes NaN."""
    optional = count is not None
    if optional and (values is None or np.ndim(values) == 0):
        one = np.nan if values is None else amount_of(owner, name, values, error=error)
        column = np.full(count or 0, one)
    else:
        expected = "a column of amounts"
        given = as_array(owner, name, expected, values, error=error)
        if given.dtype == object:  # decimals, or None
            listed = [np.nan if one is None else _float(one) for one in given.ravel().tolist()]
            given = np.array(listed, dtype=float).reshape(given.shape)
        if given.dtype.kind not in "iuf" or given.ndim != 1:
            reject(owner, name, expected, values, error=error)
        column = given.astype(np.float64)
    if optional and column.size != count:
        reject(owner, name, f"{count} amounts", verbatim(f"{column.size}"), error=error)
    wrong = ~((column >= low) & (column <= high) & np.isfinite(column))
    if optional:
        wrong &= ~np.isnan(column)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        expected = f"amounts from {low:.15g}" + (f" to {high:.15g}" if np.isfinite(high) else "")
        got = verbatim(f"{column[i]} in row {i}; {int(wrong.sum())} rows are wrong")
        reject(owner, name, expected, got, error=error)
    return column


def flags_of(owner: str, name: str, values: Any, count: int) -> Booleans:
    """Return a column of True and False, or of 1 and 0."""
    expected = f"True or False for each of {count} bids"
    given = as_array(owner, name, expected, values, error=InvalidLossesError)
    if given.shape != (count,):
        reject(owner, name, expected, verbatim(f"shape {given.shape}"), error=InvalidLossesError)
    if given.dtype != np.bool_:
        given = np.array([flag_of(owner, name, one) for one in given.tolist()], dtype=bool)
    return given


def label_columns(
    names: Sequence[str], classes: Mapping[str, Any], count: int
) -> tuple[dict[str, npt.NDArray[Any]], list[tuple[Any, ...]]]:
    """Return a column of labels for every class, and the labels of every row."""
    if set(classes) != set(names):
        expected = f"given for each of {', '.join(names)}" if names else "left out: there are none"
        reject("bid_many", "classes", expected, sorted(classes), error=InvalidContextError)
    columns = {name: _label_column(name, classes[name], count) for name in names}
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    return columns, rows


def _label_column(name: str, given: Any, count: int) -> npt.NDArray[Any]:
    """Return a column of labels, checked. A text array of NumPy would change some labels of lists.

    It turns integers that are among texts into texts, and drops null characters at an end.
    """
    if given is None or isinstance(given, str | int | float):
        return np.full(count, checked_label("bid_many", name, given), dtype=object)
    column = given if isinstance(given, np.ndarray) else np.empty(len(given), dtype=object)
    if column is not given:
        column[:] = given
    if column.shape != (count,):
        expected = f"one label, or {count} labels"
        reject("bid_many", name, expected, given, error=InvalidContextError)
    if column.dtype.kind == "f" and np.isfinite(column).all():
        return column
    seen: set[Label] = set()
    labels = column.tolist()
    for i, label in enumerate(labels):
        if type(label) not in (str, int) or label not in seen:
            labels[i] = checked_label("bid_many", f"{name}[{i}]", label)
            if type(label) in (str, int):
                seen.add(label)
    if column.dtype.kind in "Of":  # None in place of NaN
        column = np.empty(count, dtype=object)
        column[:] = labels
    return column


def is_column(values: Any, kind: Any, shape: tuple[int]) -> bool:
    """Return whether these are values that compiled code takes as they are."""
    is_array = type(values) is np.ndarray and values.dtype == kind
    return is_array and values.shape == shape and values.flags.c_contiguous


def _equal_to_rounding(one: float, other: float) -> bool:
    """Return whether two amounts differ by no more than rounding does."""
    return abs(one - other) <= _ROUNDING * max(abs(one), abs(other))


def _contradiction(amount: float, why: str) -> InvalidLossesError:
    return InvalidLossesError(
        f"The outcome of the bid of {amount:.15g} contradicts itself: {why}. Nothing was learned; "
        "correct the outcome (if the auction had a reserve price of its own, give it as 'reserve')."
    )


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.inf  # the check of the range refuses it
