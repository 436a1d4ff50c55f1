"""What is known of decisions whose outcomes never came."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class MissingOutcomes:
    """What is known of decisions whose outcomes never came; `print` shows it in words.

    Wins and losses without an outcome cannot be counted separately: which is which is unknown. But
    the higher an amount, the more often it wins. So if losses are missing, outcomes come more often
    for high amounts, and if wins are missing, for low ones. If all losses are missing, bids fall
    until nearly all are lost. Then outcomes are few, and all of them are wins.

    Attributes:
        decisions: How many decisions were looked at: a sample, all of them old enough.
        outcomes: How many of these have an outcome.
        low_share: The share of outcomes that have come for low amounts, about; or, if that shows
            more, for amounts that the law held to be unlikely to win.
        high_share: The same for the others. Both are 1 as long as no decision was looked at.
        verdict: "unknown" if too few were looked at; "no sign" if the shares are equal, or differ
            by no more than chance; "doubtful" if that is unlikely; "biased" if it is beyond chance,
            or if the last outcomes are all of one kind and most are missing.
        missing: Which of them are missing, if the verdict is "doubtful" or "biased", such as "won"
            or "lost"; otherwise None.
        refused: Whether outcomes are not learned from now.
        alike: How many outcomes are of one kind while most are missing; 0 if that is not so.
    """

    decisions: int
    outcomes: int
    low_share: float
    high_share: float
    verdict: str
    missing: str | None
    refused: bool
    alike: int = 0

    @property
    def share(self) -> float:
        """The share of the decisions that were looked at that has no outcome; NaN if none was."""
        return 1 - self.outcomes / self.decisions if self.decisions else math.nan

    def __str__(self) -> str:
        if self.verdict == "unknown":
            return "Too few decisions are old enough to say which outcomes are missing."
        refused = " Nothing is learned now." if self.refused else ""
        if self.alike:
            return (
                f"{self.share:.1%} of {self.decisions:,} decisions have no outcome, and the last "
                f"{self.alike:,} outcomes are all of one kind: those that {self.missing} are "
                f"missing, or come later.{refused}"
            )
        text = (
            f"{self.share:.1%} of {self.decisions:,} decisions have no outcome. Outcomes have come "
            f"for about {self.low_share:.0%} of the low amounts and {self.high_share:.0%} of the "
            "high ones"
        )
        if self.missing is None:
            return f"{text}: no more different than by chance, or by too little to mislead."
        sure = "which is beyond chance" if self.verdict == "biased" else "which is unlikely"
        return f"{text}, {sure}: those that {self.missing} are missing, or come later.{refused}"
