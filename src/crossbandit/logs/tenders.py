"""What is found on a log of tenders, which is read as auctions, in the words of tenders."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crossbandit.core.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.core.types import Floats
    from crossbandit.logs.evaluate.evaluation import Evaluation
    from crossbandit.logs.log import AuctionLog
    from crossbandit.logs.replay.results import Replay, StrategyResult

_WORDS = {  # longer texts first
    "the highest competing bid is 0: nobody else has bid": "nobody else has bid, or only above "
    "the highest markup",
    "the highest competing bid is at or above the value": "the lowest competing bid is at or below "
    "the cost",
    "value minus payment": "payment minus cost",
    "first-price auctions": "tenders",
    "highest competing bid": "lowest competing bid",
    "fixed fractions of the value": "fixed markups on the cost",
    "fixed fractions": "fixed markups",
    "fixed fraction": "fixed markup",
    "fraction": "markup",
    "highest bid of the others": "lowest bid of the others",
    "no bid above value": "no bid below cost",
    "truthful": "cost + 0 %",
    "bids the value": "bids the cost",
    "auctions": "tenders",
    "auction": "tender",
    "values": "costs",
    "value": "cost",
    "spend": "revenue",
}
_FRACTION = r"(\d[\d.]*) % of value"
# Names in quotes, options and names of files are left as they are.
_FOUND = re.compile(
    rf"'[^']*'|(?<![-\w])(?:{_FRACTION}|{'|'.join(_WORDS)})(?![-\w]|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True)
class TenderWords:
    """Says in the words of tenders what is said of auctions.

    >>> TenderWords(0.5)("Values of 'value', 30 % of value")
    "Costs of 'value', cost + 35 %"
    """

    max_markup: float

    def __call__(self, text: str) -> str:
        return _FOUND.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        text, fraction = found[0], found[1]
        if fraction:
            return f"cost + {self.max_markup * (100.0 - float(fraction)):.6g} %"
        said = _WORDS.get(text.lower(), text)
        return said.capitalize() if text[0].isupper() and said != text else said


def check_tenders(
    log: AuctionLog, reserve: float, bidders: Iterable[object] = (), **others: object
) -> None:
    """Raise for options that mean nothing for tenders."""
    if not log.lowest_wins:
        return
    strange = any(getattr(one, "max_markup", None) != log.max_markup for one in bidders)
    why = {
        "reserve": "with a reserve for all tenders: name a column of them",
        "limits": "with limits: the winner of a tender is paid, so there is no spend to limit",
        "bids": "with a list of bids: bids follow from the costs, so give their number",
        "bidders": "with bidders that are no TenderBidder of the same max_markup",
    }
    for name, given in {"reserve": reserve, "bidders": strange, **others}.items():
        if given:
            reject("AuctionLog", "lowest_wins", f"False {why[name]}", log.lowest_wins)


def replayed(result: Replay, log: AuctionLog) -> Replay:
    """Return a replay with the costs, bids and payments of tenders, if its log is one of them."""
    if not log.lowest_wins:
        return result
    say, markup = TenderWords(log.max_markup), log.max_markup

    def paid(surplus: Floats, spend: Floats) -> Floats:
        return (surplus + spend) / markup + surplus  # the cost of what was won, and the surplus

    def told(one: StrategyResult) -> StrategyResult:
        by_class = [one.copy() for one in one.by_class]
        for table in by_class:
            table[1] = paid(table[0], table[1])
        return replace(
            one,
            strategy=say(one.strategy),
            note=say(one.note),
            spend=paid(one.surplus, one.spend),
            bids=(1.0 + markup) / markup * result.values - one.bids,
            by_class=tuple(by_class),
        )

    return replace(
        result,
        values=result.values / markup,
        outcomes=tuple(map(told, result.outcomes)),
        comparator=say(result.comparator),
        notes=tuple(map(say, result.notes)),
        warnings=tuple(map(say, result.warnings)),
        say=say,
    )


def evaluated(result: Evaluation, log: AuctionLog) -> Evaluation:
    """Return an evaluation in the words of tenders, if its log is one of them."""
    if not log.lowest_wins:
        return result
    say = TenderWords(log.max_markup)
    results = tuple(
        replace(one, strategy=say(one.strategy), note=say(one.note)) for one in result.results
    )
    return replace(result, results=results, notes=tuple(map(say, result.notes)), say=say)
