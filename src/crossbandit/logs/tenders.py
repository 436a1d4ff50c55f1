"""What is found on a log of tenders, which is read as auctions, in the words of tenders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossbandit.core.validation import reject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.logs.log import AuctionLog

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
