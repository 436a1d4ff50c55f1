"""Bidding under limits, as literally as possible: exact money, one dictionary per limit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any


def literal_pacing(
    rows: list[tuple[float, float]],
    amounts: list[float],
    limits: list[dict[str, Any]],
    *,
    surplus: bool,
    highest: float,
) -> list[dict[str, Any]]:
    """Bid the highest amount up to half of the pseudo-value, in auctions (value, price).

    A limit is {"budget": B, "auctions": N} or {"credit": (a, b)}, always kept. Outcomes are known
    at once. Returns what happened in each auction.
    """
    for limit in limits:
        limit.update(s=0.0, squares=0.0, spent=Fraction(0), earned=Fraction(0), count=0)
        if "credit" in limit and surplus:
            credit = limit["credit"][0] + limit["credit"][1] * highest / 2
            if credit < highest / 4:
                limit["s"] = math.log(credit / (highest / 2 - credit))
    happened = []
    for value, price in rows:
        for limit in limits:
            if "budget" in limit and limit["count"] == limit["auctions"]:
                limit.update(count=0, spent=Fraction(0), squares=limit["squares"] / 2)
            if "budget" in limit:
                left = Fraction(str(limit["budget"])) - limit["spent"]
                limit["planned"] = left / (limit["auctions"] - limit["count"])
                if limit["squares"] == 0:  # it sets out
                    lowest = math.log(min(a for a in amounts if a > 0) / highest)
                    limit["s"] = max(0.5 * math.log(4 * limit["planned"] / value), lowest)
                    limit["s"] = min(limit["s"], 0.0) if surplus else limit["s"]
                    limit["squares"] = _worth(limit, value, surplus=surplus, highest=highest) ** 2
            limit["count"] += 1
        worths = [_worth(limit, value, surplus=surplus, highest=highest) for limit in limits]
        worth = min([*worths, value]) if surplus else min(worths)
        may = [k for k, amount in enumerate(amounts) if amount <= min(worth, value)]
        wanted = max(k for k, amount in enumerate(amounts) if amount <= min(worth, value) / 2)
        free = [k for k in may if all(_free(limit, amounts[k], value) for limit in limits)]
        amount = min(wanted, free[-1])
        blocked = amounts[free[-1]] == 0 and value >= min(a for a in amounts if a > 0)
        won, would = amounts[amount] >= price, amounts[wanted] >= price
        for limit, own in zip(limits, worths, strict=True):
            paid = Fraction(str(amounts[amount])) if won and not blocked else Fraction(0)
            limit["spent"] += paid
            if "budget" in limit:
                gradient = float(paid - limit["planned"])
                if limit["planned"] == 0:
                    continue
            else:
                credit = limit["credit"][0] + limit["credit"][1] * value
                limit["earned"] += Fraction(credit) if won and not blocked else 0
                if not would or blocked:
                    continue
                gradient = amounts[wanted] - credit
            limit["squares"] += gradient**2
            if gradient > 0 or own <= math.e * worth:
                size = math.sqrt(limit["squares"])
                if "budget" in limit:
                    left = Fraction(str(limit["budget"])) - limit["spent"]
                    planned = Fraction(str(limit["budget"])) * limit["count"] / limit["auctions"]
                    size = max(size, float(min(limit["spent"], planned, left)) / 2)
                step = gradient / size if gradient else 0.0
                lowest = math.log(min(a for a in amounts if a > 0) / highest)
                limit["s"] = max(limit["s"] - step, lowest if "budget" in limit else -7.0)
                if surplus:
                    limit["s"] = min(limit["s"], 0.0)
        happened.append({"amount": -1 if blocked else amount, "worth": worth})
    return happened


def _worth(limit: dict[str, Any], value: float, *, surplus: bool, highest: float) -> float:
    factor: float = math.exp(limit["s"])
    base: float
    slope: float
    if "budget" in limit:
        return value * factor
    base, slope = limit["credit"]
    credit = base + slope * value
    if surplus:
        return credit + (value - credit) * factor
    return credit + value * (slope + base / (highest / 2)) * factor


def _free(limit: dict[str, Any], amount: float, value: float) -> bool:
    """Whether a win at this amount keeps the limit."""
    exact = Fraction(str(amount))
    if "budget" in limit:
        return bool(limit["spent"] + exact <= Fraction(str(limit["budget"])))
    credit = Fraction(limit["credit"][0] + limit["credit"][1] * value)
    slack = limit["earned"] - limit["spent"] + credit - exact
    return bool(slack >= 0)


class LiteralMoney:
    """The money of one budget whose outcomes are late, as literally as possible.

    Args:
        amount: The budget.
        worst_case: By which share it may be exceeded if all bids win.
        amounts: What may be bid.
    """

    def __init__(self, amount: str, worst_case: str, amounts: list[str]) -> None:
        self.amount, self.most = Fraction(amount), Fraction(amount) * (1 + Fraction(worst_case))
        self.amounts = [Fraction(one) for one in amounts]
        self.risk = 1722.17 / float(amount) if float(worst_case) else math.inf
        self.spent = Fraction(0)
        self.open: dict[int, tuple[Fraction, float, float, float]] = {}
        self.seen: list[tuple[int, float, bool]] = []
        self.doubts = [0.0] * 5

    def group(self, price: Fraction) -> int:
        return 16 * self.amounts.index(price) // len(self.amounts)

    def likely(self, price: Fraction, chance: float) -> float:
        """The chance, times the wins of bids of this group divided by their chances."""
        own = [(p, won) for group, p, won in self.seen if group == self.group(price)]
        wins, foretold = sum(won for _, won in own), sum(p for p, _ in own)
        return min(max(chance * (wins + 1) / (foretold + 1), 1e-6), 1.0)

    def counts(self, price: Fraction, likely: float) -> float:
        """The certainty equivalent of a cost that is the price with this probability."""
        if self.risk == math.inf:
            return float(price)
        return math.log1p(likely * math.expm1(self.risk * float(price))) / self.risk

    def factor(self) -> float:
        """By how much open bids count more, as bids win more often than was said."""
        strong = [2.0 ** (j + 1) for j, doubt in enumerate(self.doubts) if doubt >= math.log(100)]
        return max(strong, default=1.0)

    def free(self) -> float:
        """The highest price that may be bid."""
        full = sum((one[0] for one in self.open.values()), Fraction(0))
        counted = min(self.factor() * sum(one[3] for one in self.open.values()), float(full))
        return min(float(self.amount - self.spent) - counted, float(self.most - self.spent - full))

    def bid(self, key: int, amount: int, chance: float) -> None:
        price = self.amounts[amount]
        likely = self.likely(price, chance)
        self.open[key] = price, chance, likely, self.counts(price, likely)

    def settle(self, key: int, *, won: bool) -> None:
        price, chance, likely, _ = self.open.pop(key)
        self.spent += price if won else 0
        self.seen.append((self.group(price), chance, won))
        for j in range(5):
            step = (math.log(2) if won else 0.0) - 2**j * likely
            self.doubts[j] = min(max(self.doubts[j] + step, 0.0), 2 * math.log(100))
