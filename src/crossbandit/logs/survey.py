"""Read a whole log once: counts, ranges, bad lines, and signs that a column is the wrong one."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.faults import first_faults
from crossbandit.logs.source import rejected_records

if TYPE_CHECKING:
    from crossbandit.logs.faults import Fault
    from crossbandit.logs.log import AuctionLog

_NEARLY_ALL = 0.99
VALUE_BINS = 32  # of values, in each range from an amount to twice the amount
_RATIOS = 1000  # number of different ratios of price to value, from 0 to 1


class PriceSigns(NamedTuple):
    """Numbers of auctions with signs that a price is not the highest bid of the others."""

    zero: int = 0  # the price is 0
    own_bid: int = 0  # the price equals the log's own bid
    one_ratio: int = 0  # the price is the same share of the value, to three digits and up to 1
    ratio: float = 0.0  # that share


class Results(NamedTuple):
    """Numbers of auctions that were won and lost, and of those whose price is known."""

    won: int
    lost: int
    won_known: int
    lost_known: int

    @property
    def feedback(self) -> str:
        """Who was told the price: nearly all (99 %) or nearly none of the winners and losers."""
        winners, losers = (
            count > 0 and known >= _NEARLY_ALL * count
            for count, known in ((self.won, self.won_known), (self.lost, self.lost_known))
        )
        if winners and losers:
            return "always"
        if winners:
            return "after-win" if self.lost else "always"
        if losers:
            return "after-loss" if self.won else "always"
        return "won-lost"


class Survey(NamedTuple):
    """What one reading of the whole log finds."""

    auctions: int
    bad: int
    highest_value: float
    highest_price: float
    median_value: float  # of those above 0, approximately
    median_price: float  # likewise
    own_bids: int  # auctions with an own bid above 0
    faults: tuple[Fault, ...]  # the first ten
    reasons: dict[str, int]  # number of bad rows for each reason, the most frequent first
    signs: PriceSigns
    value_counts: dict[int, int]  # of those above 0, by floor(VALUE_BINS * log2(value))
    results: Results | None = None  # if the log says who won

    @property
    def without_price(self) -> int:
        """The number of auctions whose price is not known."""
        return 0 if self.results is None else self.auctions - sum(self.results[2:])

    @property
    def feedback(self) -> str | None:
        """To whom the price was told; None if the log does not say who won."""
        return None if self.results is None else self.results.feedback

    @property
    def lines(self) -> int:
        """The number of lines, good and bad."""
        return self.auctions + self.bad

    @property
    def main_reason(self) -> str:
        """The reason of more than half of the bad lines, or an empty text."""
        reason, count = next(iter(self.reasons.items()), ("", 0))
        return reason if 2 * count > self.bad else ""


def survey_log(log: AuctionLog) -> Survey:
    """Return the survey of a log; raise LogError if it has no lines at all."""
    good = "fault IS NULL"
    has_bids, has_results = "bid" in log.places, "won" in log.places
    results = ["won_", "NOT won_", "won_ AND price_ >= 0", "NOT won_ AND price_ >= 0"]
    counts = [f"count(*) FILTER ({good} AND {result})" for result in results]
    query = f"""
        SELECT count(*) FILTER ({good}), count(fault),
            max(value_) FILTER ({good}), max(price_) FILTER ({good}),
            approx_quantile(value_, 0.5) FILTER ({good} AND value_ > 0),
            approx_quantile(price_, 0.5) FILTER ({good} AND price_ > 0),
            count(*) FILTER ({good} AND {"bid_ > 0" if has_bids else "false"}),
            histogram(fault),
            count(*) FILTER ({good} AND price_ = 0),
            count(*) FILTER ({good} AND price_ > 0 AND {"bid_ = price_" if has_bids else "false"}),
            histogram(TRY_CAST(round({_RATIOS} * price_ / value_) AS INTEGER))
                FILTER ({good} AND price_ > 0 AND price_ <= value_),
            histogram(TRY_CAST(floor({VALUE_BINS} * log2(value_)) AS INTEGER))
                FILTER ({good} AND value_ > 0),
            {", ".join(counts) if has_results else "NULL, NULL, NULL, NULL"}
        FROM ({log.checked_sql()})
    """
    with log.source.connect(log.timezone) as connection:
        row = log.source.memory.fetch(connection, query)[0]
        auctions, bad, *amounts, own_bids, reasons, zero, own_bid, ratios, bins = row[:-4]
        rejected = rejected_records(log.source, connection)
        faults = first_faults(log, connection, rejected) if bad or rejected else ()
    bad += len(rejected) + sum(fault.lines - 1 for fault in faults)
    if not auctions and not bad:
        why = " ".join(log.remarks) or "It has only a header."
        raise LogError(f"{log.source.name} has no auctions. {why}")
    ratio, shared = max((ratios or {0: 0}).items(), key=itemgetter(1))
    value, price, median_value, median_price = (amount or 0.0 for amount in amounts)
    return Survey(
        auctions=auctions,
        bad=bad,
        highest_value=value,
        highest_price=price,
        median_value=median_value,
        median_price=median_price,
        own_bids=own_bids,
        faults=faults,
        reasons=dict(sorted((reasons or {}).items(), key=itemgetter(1), reverse=True)),
        signs=PriceSigns(zero, own_bid, shared, ratio / _RATIOS),
        value_counts=dict(bins or {}),
        results=Results(*row[-4:]) if has_results else None,
    )


def survey_with_prices(log: AuctionLog) -> tuple[AuctionLog, Survey]:
    """Return a log and its survey. A few lines without a price, after wins and losses, are bad."""
    survey = survey_log(log)
    if 0 < survey.without_price <= log.max_bad and survey.feedback == "always":
        log = log.with_prices()
        survey = survey_log(log)
    return log, survey
