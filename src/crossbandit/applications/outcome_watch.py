"""Notice outcomes that are missing more often after a loss, or after a win."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.cohorts import (
    COHORT,
    Cohort,
    cohort_of,
    exponent_of,
    possible,
    shares_of,
)
from crossbandit.errors import CheckpointError, MissingFeedbackWarning, MissingOutcomesError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.types import Booleans, Integers

MISSING = ("refuse", "warn", "accept")
_DENSE = 16  # the first cohorts, all of which are looked at; then those with powers of two
_SPARSE = 1 << 16  # from here on, one cohort of so many decisions is looked at
_RARE = _SPARSE // COHORT - 1
_EVERY = 16  # outcomes between two checks, at least
_GROWTH = 16  # or this share of all outcomes that are kept
_KEPT = 64  # cohorts
_PATIENCE = 2.0  # a cohort is complete if it is older than this many of the longest delays
_DOUBT, _ALARM = 1e-3, 1e-5  # the probability that it is ever noticed without reason
# The ratio of the shares of outcomes that come, of high and low amounts: worth a warning, and such
# that learning misleads.
_NOTABLE, _MATERIAL = 1.1, 1.25
_FEWEST = 8  # outcomes of a cohort


def is_watched(number: int) -> bool:
    """Return whether the watch looks at a decision: at fewer and fewer cohorts, as time goes on.

    Args:
        number: The number of the decision, as its decider counts.
    """
    if number >= _SPARSE:  # most of the time
        return number % _SPARSE < COHORT
    cohort = number // COHORT
    return cohort < _DENSE or cohort & (cohort - 1) == 0


def watched(numbers: Integers) -> Booleans:
    """Return what `is_watched` returns for many decisions.

    Args:
        numbers: Their numbers.
    """
    if numbers.size and (numbers >= _SPARSE).all():
        return numbers & (_SPARSE - 1) < COHORT  # most of the time; division would take long
    cohorts = numbers // COHORT
    mask = np.where(numbers < _SPARSE, cohorts - 1, _RARE)
    found: Booleans = (cohorts < _DENSE) | (cohorts & mask == 0)
    return found


@dataclass(frozen=True)
class MissingOutcomes:
    """What is known of decisions whose outcomes never came; `print` shows it in words.

    Wins and losses without an outcome cannot be counted separately: which is which is unknown. But
    the higher an amount, the more often it wins. So if losses are missing, outcomes come more often
    for high amounts, and if wins are missing, for low ones.

    Attributes:
        decisions: How many decisions were looked at: a sample, all of them old enough.
        outcomes: How many of these have an outcome.
        low_share: The share of outcomes that have come for low amounts, about.
        high_share: The same for high amounts. Both are 1 as long as no decision was looked at.
        verdict: "unknown" if too few were looked at; "no sign" if the shares are equal, or differ
            by no more than chance; "doubtful" if that is unlikely; "biased" if it is beyond chance.
        missing: Which of them are missing, if the verdict is "doubtful" or "biased", such as "won"
            or "lost"; otherwise None.
        refused: Whether outcomes are not learned from now.
    """

    decisions: int
    outcomes: int
    low_share: float
    high_share: float
    verdict: str
    missing: str | None
    refused: bool

    @property
    def share(self) -> float:
        """The share of the decisions that were looked at that has no outcome; NaN if none was."""
        return 1 - self.outcomes / self.decisions if self.decisions else math.nan

    def __str__(self) -> str:
        if self.verdict == "unknown":
            return "Too few decisions are old enough to say which outcomes are missing."
        text = (
            f"{self.share:.1%} of {self.decisions:,} decisions have no outcome. Outcomes have come "
            f"for about {self.low_share:.0%} of the low amounts and {self.high_share:.0%} of the "
            "high ones"
        )
        if self.missing is None:
            return f"{text}: no more different than by chance, or by too little to mislead."
        sure = "which is beyond chance" if self.verdict == "biased" else "which is unlikely"
        refused = " Nothing is learned now." if self.refused else ""
        return f"{text}, {sure}: those that {self.missing} are missing, or come later.{refused}"


class OutcomeWatch:
    """Compares decisions whose outcomes came with all decisions that were made at the same time.

    The higher an amount, the more often it reaches the number: whatever the law believes, which may
    be misled already. So if outcomes of missed numbers (lost auctions) are missing, high amounts
    have outcomes more often than low ones. Every decision carries its score, which is where its
    amount lies among those that were possible, and the sum of the scores before it. From the first
    and the last decision of a cohort the mean score of all decisions in between is known, also of
    those without outcome, and wherever they were made.

    A cohort is judged when it is older than twice the longest delay of an outcome so far. If those
    that miss come later than those that reach, it is judged too early, and rightly so: learning
    from wins alone misleads the law at once. As the late ones come, the cohort is judged again.

    Without bias, the decisions with an outcome are a random part of a cohort. The excess of their
    scores is compared with Bennett's bound, with the variance of those that came. The probabilities
    of all checks add up to about 0.001 at most for a warning, and 0.00001 for an error.

    Args:
        missing: "refuse" to learn where the law would be misled, "warn", or "accept".
        words: What a decision did that reached the number, and one that missed it.
        clock: Returns the time in seconds.

    Attributes:
        misled: Whether outcomes must not be learned from now.
        warns: Whether to give warnings; may be set.
    """

    def __init__(self, missing: str, words: tuple[str, str], clock: Callable[[], float]) -> None:
        self.missing = missing
        self.misled, self.warns = False, True
        self._biased = False  # as `misled`, whatever `missing` says
        self._words = words
        self.clock = clock
        self._cohorts: dict[tuple[str, int], Cohort] = {}
        self._delay = 0.0
        self._waiting = 0
        self._checks = 0
        self._warned = False
        self._shares = (1.0, 1.0)

    def add(self, decider: str, number: int, time: float, score: int, total: int) -> None:
        """Count the outcome of a decision that is watched, and check whenever it is time.

        Args:
            decider: The id of what made the decision.
            number: The number of the decision.
            time: When it was made.
            score: Its score.
            total: The sum of the scores of its decider before.
        """
        key = (decider, number // COHORT)
        cohort = self._cohorts.get(key)
        if cohort is None:
            if not self._has_room():
                return
            square = score * score
            cohort = Cohort(1, score, square, number, total, number, total + score, time)
        else:
            cohort = cohort.with_one(number, time, score, total)
        self._cohorts[key] = cohort
        self._delay = max(self._delay, self.clock() - time)
        self._waiting += 1
        kept = 0 if self.misled else sum(one.outcomes for one in self._cohorts.values())
        if self._waiting >= max(_EVERY, kept // _GROWTH):
            self._check()

    def _has_room(self) -> bool:
        """Make room for a cohort, if need be in place of the oldest one that is complete."""
        if len(self._cohorts) < _KEPT:
            return True
        oldest = next(iter(self._cohorts))
        if self._cohorts[oldest].newest > self.clock() - _PATIENCE * self._delay:
            return False  # a fleet makes more cohorts than are kept: some of them are enough
        del self._cohorts[oldest]
        return True

    def _check(self) -> None:
        self._waiting = 0
        complete = self._complete()
        exponent = exponent_of(complete)
        self._checks += not self.misled  # what only ends an alarm cannot raise one
        exponent -= math.log(2 * self._checks * (self._checks + 1))
        self._shares = shares_of(complete) if complete else (1.0, 1.0)
        ratio = max(self._shares) / min(self._shares)
        self._biased = ratio > _MATERIAL and exponent > math.log(1 / _ALARM)
        self.misled = self._biased and self.missing == "refuse"
        if ratio > _NOTABLE and exponent > math.log(1 / _DOUBT) and not self._warned:
            self._warned = True
            if self.missing != "accept" and not self.misled and self.warns:
                warnings.warn(f"{self._found()} {_REMEDY}", MissingFeedbackWarning, stacklevel=5)
        elif exponent <= 0.0:
            self._warned = False

    def _complete(self) -> list[Cohort]:
        """Return the cohorts that are old enough to be judged."""
        before = self.clock() - _PATIENCE * self._delay
        kept = self._cohorts.values()
        return [one for one in kept if one.newest <= before and one.outcomes >= _FEWEST]

    def found(self) -> MissingOutcomes:
        """Return what is known by now. Changes nothing."""
        complete = self._complete()
        low, high = shares_of(complete) if complete else (1.0, 1.0)
        exponent = exponent_of(complete) - math.log(2 * (self._checks + 1) * (self._checks + 2))
        verdict = "no sign" if complete else "unknown"
        ratio = max(low, high) / min(low, high)
        if ratio > _NOTABLE and exponent > math.log(1 / _DOUBT):
            verdict = "doubtful"
        if ratio > _MATERIAL and (exponent > math.log(1 / _ALARM) or self._biased):
            verdict = "biased"
        suspected = verdict in ("doubtful", "biased")
        return MissingOutcomes(
            decisions=sum(one.made for one in complete),
            outcomes=sum(one.outcomes for one in complete),
            low_share=low,
            high_share=high,
            verdict=verdict,
            missing=self._words[1 if high > low else 0] if suspected else None,
            refused=self.misled,
        )

    def error(self, count: int = 1) -> MissingOutcomesError:
        """Return the error for outcomes that were not learned from.

        Args:
            count: How many.
        """
        what = "Nothing was learned" if count == 1 else f"{count} outcomes were not learned"
        return MissingOutcomesError(f"{self._found()} {what}. {_REMEDY}")

    def _found(self) -> str:
        low, high = self._shares
        reached, missed = self._words
        few = missed if high > low else reached
        return (
            f"Outcomes have come for about {low:.0%} of the low amounts and {high:.0%} of the high "
            f"ones, which is beyond chance: those that {few} are missing, or come later. Learning "
            "from the others alone would mislead."
        )

    def settings(self) -> dict[str, Any]:
        """Return everything in a form that `json` can write."""
        cohorts = [[*key, *one] for key, one in self._cohorts.items()]
        return {
            "delay": self._delay,
            "checks": self._checks,
            "waiting": self._waiting,
            "warned": self._warned,
            "cohorts": cohorts,
            "biased": self._biased,
            "shares": list(self._shares),
        }

    def restore(self, settings: Any) -> None:
        """Take over what `settings` returned.

        Args:
            settings: What it returned.

        Raises:
            CheckpointError: It is impossible.
        """
        try:
            delay, checks = float(settings["delay"]), int(settings["checks"])
            found = {
                (str(decider), int(number)): cohort_of(whole)
                for decider, number, *whole in settings["cohorts"]
            }
            right = delay >= 0 and checks >= 0 and all(possible(one) for one in found.values())
            biased = settings.get("biased", False)  # earlier versions do not say all of it
            low, high = (float(one) for one in settings.get("shares", (1.0, 1.0)))
            waiting = int(settings.get("waiting", 0))
            warned = settings.get("warned", False)
            right &= isinstance(biased, bool) and isinstance(warned, bool) and waiting >= 0
            right &= 0 < low <= 1 and 0 < high <= 1
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"Its watch over missing outcomes is impossible: {error}"
            ) from None
        if not right or len(found) > _KEPT:
            raise CheckpointError("Its watch over outcomes is impossible.")
        self._delay, self._checks, self._cohorts = delay, checks, found
        self._biased, self._shares = biased, (low, high)
        self._waiting, self._warned = waiting, warned
        self.misled = biased and self.missing == "refuse"


_REMEDY = (
    "Report every outcome, also losses, as soon as it is certain: count a decision without an "
    "answer as lost after a fixed time. If outcomes come late, learning goes on by itself once "
    "both kinds come. Only if you know that nothing is wrong, set missing='accept'."
)
