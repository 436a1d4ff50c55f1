"""Notice outcomes that are missing more often after some decisions than after others.

`FeedbackWatch` compares the arms of a learner with a feedback graph, `OutcomeWatch` the amounts of
a learner of a law.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from crossbandit.algorithms.learners.decisions import SCALE, TOP
from crossbandit.algorithms.learners.seen_core import WatchCounts
from crossbandit.core import record
from crossbandit.core.steps import at_once
from crossbandit.errors import CheckpointError, MissingFeedbackWarning, MissingOutcomesError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Floats

_FIRST = 1024
_LEAST_MISSING = 30
_LEAST_EXPECTED = 5.0
_LEVEL = 1e-9  # the probability of a warning if missing feedback does not depend on the arm
_MOST_COHORTS = 64

_MADE, _ANSWERED = 0, 1
_FIELDS = {"watch": record.Field(low=0, rows="cohorts")}


class FeedbackWatch(WatchCounts):
    """Warns a learner's user, once, if the feedback of some arms is missing more often.

    It counts the decisions of each arm, and how many of them were answered. Rounds are counted in
    cohorts: the first `first`, then as many as there were before. So the memory does not grow with
    the rounds. The two latest cohorts are left out of tests: their answers may still come.

    >>> watch = FeedbackWatch(arms=2, first=1000)
    >>> for round_ in range(2001):
    ...     watch.count_decision(round_, round_ % 2)
    ...     if round_ % 20 != 0 and round_ % 10 != 1:
    ...         watch.count_answer(round_, round_ % 2)
    >>> watch.missing()[1]
    array([0.1, 0.2])
    """

    def __init__(self, arms: int, start: int = 0, first: int = _FIRST) -> None:
        self._arms, self._start, self._first = arms, start, first
        self._active = True
        self._cohorts = []
        self._begin, self._end = 0, 0  # the latest cohort, counted from the start

    def count_decision(self, round_: int, arm: int) -> None:
        """Count a decision, and test if it is the first of a cohort."""
        number = round_ - self._start
        if self._begin <= number < self._end:  # the usual case
            self._cohorts[-1][_MADE][arm] += 1
            return
        cohort = (number // self._first).bit_length()
        new = cohort >= len(self._cohorts)
        while len(self._cohorts) <= cohort:
            self._cohorts.append(([0] * self._arms, [0] * self._arms))
        self._cohorts[cohort][_MADE][arm] += 1
        self._set_latest()
        if new and self._active:
            p_value, shares = self.missing()
            if p_value < _LEVEL:
                self._active = False
                _warn(shares)

    def count_answer(self, round_: int, arm: int) -> None:
        """Count a decision whose feedback has come."""
        at_once(*self.answering([(round_, arm)]))

    def answering(self, answers: Sequence[tuple[int, int]]) -> list[Callable[[], Any]]:
        """Return the steps that count decisions whose feedback has come; see `at_once`."""
        counts: dict[tuple[int, int], int] = {}
        for round_, arm in answers:
            number = round_ - self._start
            cohort = (number // self._first).bit_length()
            if number >= 0 and cohort < len(self._cohorts):
                counts[cohort, arm] = counts.get((cohort, arm), 0) + 1
        steps: list[Callable[[], Any]] = []
        for (cohort, arm), count in counts.items():
            answered = self._cohorts[cohort][_ANSWERED]
            steps.append(partial(answered.__setitem__, arm, answered[arm] + count))
        return steps

    def missing(self) -> tuple[float, Floats]:
        """Test whether the feedback of some arms is missing more often than that of others.

        Arms for which fewer than 5 missing or 5 answered decisions are expected are left out.
        """
        counts = np.array(self._cohorts[:-2]).reshape(-1, 2, self._arms).sum(axis=0)
        made = counts[_MADE]
        absent = made - counts[_ANSWERED]
        shares = np.full(self._arms, np.nan)
        if absent.sum() < _LEAST_MISSING or absent.sum() >= made.sum():
            return 1.0, shares
        share = absent.sum() / made.sum()
        large = made * min(share, 1.0 - share) >= _LEAST_EXPECTED
        made, absent = made[large], absent[large]
        shares[large] = absent / made
        distance = ((absent - made * share) ** 2 / (made * share * (1.0 - share))).sum()
        return _tail(float(distance), made.size - 1), shares

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes, without the counts, in a form that `json` can write."""
        return {"start": self._start, "active": self._active}

    def counts(self) -> npt.NDArray[np.int64]:
        """Return all counts: (cohorts, 2, arms), decisions made and decisions answered."""
        return np.array(self._cohorts, dtype=np.int64).reshape(-1, 2, self._arms)

    def restore(self, state: Mapping[str, Any], counts: npt.NDArray[Any]) -> None:
        """Restore what `state` and `counts` returned."""
        start = state["start"]
        if set(state) != {"start", "active"} or type(start) is not int or start < 0:
            raise ValueError(f"the counts of its decisions start at {start!r}")
        model = np.zeros((_MOST_COHORTS, 2, self._arms), dtype=np.int64)
        record.check({"watch": model}, {"watch": counts}, _FIELDS, "learner")
        if (counts[:, _ANSWERED] > counts[:, _MADE]).any():
            raise ValueError("more of its decisions were answered than were made")
        self._start, self._active = start, bool(state["active"])
        self._cohorts = [(made.tolist(), answered.tolist()) for made, answered in counts]
        self._set_latest()

    def _set_latest(self) -> None:
        """Note the rounds of the latest cohort, k: 2^(k - 1) to 2^k times the first."""
        latest = len(self._cohorts) - 1
        self._begin = self._first << (latest - 1) if latest > 0 else 0
        self._end = self._first << latest if latest >= 0 else 0


def _tail(distance: float, freedom: int) -> float:
    """Return the probability that a chi-squared number is larger than `distance`.

    That is a sum of (distance / 2)^s exp(-distance / 2) / Gamma(s + 1) over s = 0, 1, ... below
    freedom / 2, for an even number of degrees of freedom; for an odd one over s = 1/2, 3/2, ...,
    after erfc(sqrt(distance / 2)).
    """
    half = distance / 2.0
    if freedom < 1 or half <= 0.0:
        return 1.0
    first = 0.0 if freedom % 2 == 0 else 0.5
    terms = (
        math.exp(s * math.log(half) - half - math.lgamma(s + 1.0))
        for s in (first + i for i in range(freedom // 2))
    )
    return math.fsum(terms) + (math.erfc(math.sqrt(half)) if freedom % 2 else 0.0)


def _warn(shares: Floats) -> None:
    most, least = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    warnings.warn(
        f"Feedback is missing for {shares[most]:.0%} of the decisions that played arm {most}, and "
        f"for {shares[least]:.0%} of those that played arm {least}. This learner counts a missing "
        "loss as 0, so it prefers arms whose feedback is missing. Send the feedback of every "
        "decision, or use CrossGraphAdaptive.",
        MissingFeedbackWarning,
        stacklevel=4,
    )


# ------------------------------------------------------------------------ outcomes of a law

COHORT = 512  # the number of consecutive decisions of one decider in a cohort; see `watched`
Missing = Literal["refuse", "warn", "accept"]
MISSING: tuple[Missing, ...] = get_args(Missing)
_EVERY = 16  # the least number of outcomes between two checks
_GROWTH = 16  # or one such part of all outcomes that are kept
_KEPT = 64  # the number of cohorts that are kept
_PATIENCE = 2.0  # a cohort is complete if it is older than this many of the longest delays
_DOUBT, _ALARM = 1e-3, 1e-5  # the probabilities of a false warning and of a false error
# The ratio of the shares of outcomes that come, of high and low amounts: worth a warning, and such
# that learning misleads.
_NOTABLE, _MATERIAL = 1.1, 1.25
_FEWEST = 8  # the least number of outcomes of a cohort that is judged
_ALIKE = 32  # so many outcomes of one kind are an alarm if most outcomes are missing
_VERDICTS = ("no sign", "doubtful", "biased")
_DOUBTFUL, _BIASED = 1, 2
_REMEDY = (
    "Report every outcome, also losses, as soon as it is certain: count a decision without an "
    "answer as lost after a fixed time. If outcomes come late, learning goes on by itself once "
    "both kinds come. Only if you know that nothing is wrong, set missing='accept'."
)


@dataclass(frozen=True)
class MissingOutcomes:
    """What is known of decisions whose outcomes never came; `print` shows it in words.

    Wins and losses without an outcome cannot be counted separately: which is which is unknown. But
    the higher an amount, the more often it wins. So if losses are missing, outcomes come more often
    for high amounts, and if wins are missing, for low ones. If all losses are missing, bids fall
    until nearly all are lost. Then outcomes are few, and all of them are wins.
    """

    decisions: int  # how many decisions were looked at: a sample, all of them old enough
    outcomes: int  # how many of these have an outcome
    low_share: float
    high_share: float  # The same for the others. Both are 1 as long as no decision was looked at.
    verdict: str
    missing: str | None
    refused: bool  # whether outcomes are not learned from now
    alike: int = 0  # how many outcomes are of one kind while most are missing; 0 if that is not so

    @property
    def share(self) -> float:
        """The share of decisions without an outcome, of those looked at; NaN if none was."""
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


class _Alike(NamedTuple):
    """The last outcomes, all of one kind: how many, of how many decisions, and of which kind."""

    outcomes: int
    made: int
    reached: bool

    @property
    def share(self) -> float:
        """The share of the decisions that have an outcome."""
        return self.outcomes / self.made


class _Judgement(NamedTuple):
    """What the cohorts that are old enough show."""

    level: int  # the number of the verdict: 0, `_DOUBTFUL` or `_BIASED`
    exponent: float  # the logarithm of one over the probability of such a difference by chance
    shares: tuple[float, float]  # the shares of outcomes that have come for low and for high scores
    alike: _Alike | None


class OutcomeWatch:
    """Compares decisions whose outcomes came with all decisions that were made at the same time.

    The higher an amount, the more often it reaches the number. This does not depend on what the law
    believes, which may be misled already. So if outcomes of missed numbers (lost auctions) are
    missing, high amounts have outcomes more often than low ones. The same holds for the chances
    that the law computes, as far as the law is right. They show more where prices do not depend on
    contexts. Every decision carries two scores, its place among the amounts that were possible and
    its chance, and the sums of the scores before it. From the first and the last decision of a
    cohort the mean scores of all decisions in between are known, also of those without outcome, and
    wherever they were made.

    A cohort is judged when it is older than twice the longest delay of an outcome so far. If those
    that miss come later than those that reach, it is judged too early, and rightly so: learning
    from wins alone misleads the law at once. As the late ones come, the cohort is judged again.

    Without bias, the decisions with an outcome are a random part of a cohort. The excess of their
    scores is compared with Bennett's bound, with the variance of those that came. Each score is
    tested by itself, at half the level. The probabilities of all checks add up to about 0.001 at
    most for a warning, and 0.00001 for an error.

    If all losses are missing, the law believes that every bid wins, and bids fall within some
    dozens of auctions: chances are all alike then, and so are places. But only a small share of
    outcomes comes, all of them wins. So outcomes are refused, too, if the last ones are all of one
    kind and more than half are missing. This rule has no error probability: in a market where all
    bids win, and where more than half of all outcomes are missing at random, it refuses without
    reason.
    """

    def __init__(self, missing: str, words: tuple[str, str], clock: Callable[[], float]) -> None:
        self.missing = missing
        self.misled, self.warns = False, True
        self.biased = False
        self._words = words
        self.clock = clock
        self._cohorts: dict[tuple[str, int], Cohort] = {}
        self._delay = 0.0
        self._waiting = 0
        self._checks = 0
        self._warned = False
        self._warning: str | None = None
        self._shares = (1.0, 1.0)
        self._alike: _Alike | None = None

    def add(
        self, decider: str, number: int, time: float, score: int, total: int, *, reached: bool
    ) -> None:
        """Count the outcome of a decision that is watched, and check whenever it is time."""
        key = (decider, number // COHORT)
        cohort = self._cohorts.get(key)
        if cohort is None:
            if not self._has_room():
                return
            cohort = Cohort.of(number, time, score, total, reached=reached)
        else:
            cohort = cohort.with_one(number, time, score, total, reached=reached)
        self._cohorts[key] = cohort
        self._delay = max(self._delay, self.clock() - time)
        self._waiting += 1
        kept = 0 if self.misled else sum(one.outcomes for one in self._cohorts.values())
        if self._waiting >= max(_EVERY, kept // _GROWTH):
            self._check()

    def copy(self) -> OutcomeWatch:
        """Return a copy, to see outcomes that are not learned yet; `taking` takes it over."""
        made = OutcomeWatch.__new__(OutcomeWatch)
        vars(made).update(vars(self), _cohorts=self._cohorts.copy())
        return made

    def taking(self, other: OutcomeWatch) -> Callable[[], Any]:
        """Return the step that takes over what a copy has seen; see `at_once`."""
        return partial(vars(self).update, vars(other))

    def warn(self) -> None:
        """Give the warning that a check has found to be due, if there is one."""
        if self._warning is not None:
            text, self._warning = self._warning, None
            warnings.warn(text, MissingFeedbackWarning, stacklevel=4)

    def _has_room(self) -> bool:
        """Make room for a cohort; the oldest complete one may go. Return whether it fits."""
        if len(self._cohorts) < _KEPT:
            return True
        oldest = next(iter(self._cohorts))
        if self._cohorts[oldest].newest > self.clock() - _PATIENCE * self._delay:
            return False  # many deciders make more cohorts than are kept; a part is enough
        del self._cohorts[oldest]
        return True

    def _check(self) -> None:
        self._waiting = 0
        self._checks += not self.misled  # a check that can only end an alarm is not counted
        judged = self._judged(self._checks)
        self._shares, self._alike = judged.shares, judged.alike
        self.biased = judged.level == _BIASED
        self.misled = self.biased and self.missing == "refuse"
        if judged.level >= _DOUBTFUL and not self._warned:
            self._warned = True
            if self.missing != "accept" and not self.misled and self.warns:
                self._warning = f"{self.reason} {_REMEDY}"
        elif judged.exponent <= 0.0:
            self._warned = False

    def _judged(self, checks: int) -> _Judgement:
        """Judge the cohorts that are old enough, by the score that shows the larger difference.

        checks: how many there were; they share the probability of a false alarm, as both scores and
        both directions do.
        """
        old = self._old()
        complete = [one.both for one in old if one.outcomes >= _FEWEST]
        level, exponent, shares = 0, -math.inf, (1.0, 1.0)
        for scores in zip(*complete, strict=True):
            shown = exponent_of([*scores]) - math.log(4 * max(checks, 1) * (checks + 1))
            low, high = shares_of([*scores])
            ratio, reached = max(low, high) / min(low, high), 0
            if ratio > _NOTABLE and shown > math.log(1 / _DOUBT):
                reached = _DOUBTFUL
            if ratio > _MATERIAL and shown > math.log(1 / _ALARM):
                reached = _BIASED
            if (reached, shown) > (level, exponent):
                level, exponent, shares = reached, shown, (low, high)
        # Outcomes of one instant may arrive sorted by kind; the other kind then follows at once.
        before = self.clock() - _PATIENCE * self._delay
        last = _Alike(*alike_at_last([one for one in old if one.newest < before]))
        if last.outcomes >= _ALIKE and last.share < 1 / 2:
            return _Judgement(_BIASED, math.inf, shares, last)
        return _Judgement(level, exponent, shares, None)

    def _old(self) -> list[Cohort]:
        """Return the cohorts that are old enough to be judged."""
        before = self.clock() - _PATIENCE * self._delay
        return [one for one in self._cohorts.values() if one.newest <= before]

    def found(self) -> MissingOutcomes:
        """Return what is known by now. This changes nothing."""
        old = self._old()
        complete = [one for one in old if one.outcomes >= _FEWEST]
        judged = self._judged(self._checks + 1)
        (low, high), alike = judged.shares, judged.alike
        verdict = _VERDICTS[judged.level] if complete or alike else "unknown"
        if self.biased and max(low, high) > _MATERIAL * min(low, high):
            verdict = "biased"
        suspected = verdict in ("doubtful", "biased")
        counted = old if alike else complete
        return MissingOutcomes(
            decisions=sum(one.made for one in counted),
            outcomes=sum(one.outcomes for one in counted),
            low_share=low,
            high_share=high,
            verdict=verdict,
            missing=self._word((low, high), alike) if suspected else None,
            refused=self.misled,
            alike=alike.outcomes if alike else 0,
        )

    def _word(self, shares: tuple[float, float], alike: _Alike | None) -> str:
        """Return the word for the decisions whose outcomes are missing, such as "lost"."""
        misses = alike.reached if alike else shares[1] > shares[0]
        return self._words[1 if misses else 0]

    def error(self, count: int = 1) -> MissingOutcomesError:
        """Return the error for outcomes that were not learned from."""
        what = "Nothing was learned" if count == 1 else f"{count} outcomes were not learned"
        return MissingOutcomesError(f"{self.reason} {what}. {_REMEDY}")

    @property
    def reason(self) -> str:
        """Why the last check has found outcomes to be missing with a bias."""
        few, (low, high) = self._word(self._shares, self._alike), self._shares
        if self._alike:
            seen = (
                f"Outcomes have come for {self._alike.share:.0%} of the decisions, and the last "
                f"{self._alike.outcomes:,} are all of one kind"
            )
        else:
            seen = (
                f"Outcomes have come for about {low:.0%} of the low amounts and {high:.0%} of the "
                "high ones, which is beyond chance"
            )
        return (
            f"{seen}: those that {few} are missing, or come later. Learning from the others alone "
            "would mislead."
        )

    def settings(self) -> dict[str, Any]:
        """Return everything in a form that `json` can write."""
        cohorts = [[*key, *one.to_list()] for key, one in self._cohorts.items()]
        return {
            "delay": self._delay,
            "checks": self._checks,
            "waiting": self._waiting,
            "warned": self._warned,
            "cohorts": cohorts,
            "biased": self.biased,
            "shares": list(self._shares),
            "alike": list(self._alike) if self._alike else None,
        }

    def restore(self, settings: Any) -> None:
        """Take over what `settings` returned."""
        try:
            delay, checks = float(settings["delay"]), int(settings["checks"])
            found = {
                (str(decider), int(number)): Cohort.from_list(whole)
                for decider, number, *whole in settings["cohorts"]
            }
            right = delay >= 0 and checks >= 0 and all(one.possible for one in found.values())
            biased, warned = settings["biased"], settings["warned"]
            low, high = (float(one) for one in settings["shares"])
            waiting = int(settings["waiting"])
            right &= isinstance(biased, bool) and isinstance(warned, bool) and waiting >= 0
            right &= 0 < low <= 1 and 0 < high <= 1
            given = settings["alike"]
            alike = None if given is None else _Alike(int(given[0]), int(given[1]), bool(given[2]))
            right &= alike is None or 0 < alike.outcomes <= alike.made
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"Its watch over missing outcomes is impossible: {error}"
            ) from None
        if not right or len(found) > _KEPT:
            raise CheckpointError("Its watch over outcomes is impossible.")
        self._delay, self._checks, self._cohorts = delay, checks, found
        self.biased, self._shares, self._alike = biased, (low, high), alike
        self._waiting, self._warned = waiting, warned
        self.misled = biased and self.missing == "refuse"


# ---------------------------------------------------------------------------------------- cohorts


class Scores(NamedTuple):
    """One score of the decisions of a cohort, from the first to the last with an outcome."""

    made: int  # how many decisions there are
    outcomes: int  # how many of them have an outcome
    scores: int  # the sum of the scores of those with an outcome
    squares: int  # the sum of their squares
    total: int  # the sum of the scores of all

    @property
    def mean(self) -> float:
        """The mean score of the decisions that were made."""
        return self.total / self.made

    @property
    def excess(self) -> float:
        """The sum of the scores of those with an outcome, minus what is expected from the mean."""
        return self.scores - self.outcomes * self.mean

    @property
    def variance(self) -> float:
        """The variance of the excess if whether an outcome is missing does not depend on it."""
        each = self.squares / self.outcomes - (self.scores / self.outcomes) ** 2
        return self.outcomes * (1 - self.outcomes / self.made) * max(each, 0.0)


class Sums(NamedTuple):
    """Sums of one score over decisions of a cohort."""

    scores: int  # the sum over the decisions with an outcome
    squares: int  # the sum of the squares of the same scores
    before: int  # the sum over all decisions before the first with an outcome
    up_to: int  # the sum over all decisions up to the last with an outcome, including that one

    def with_one(self, score: int, total: int, *, early: bool, late: bool) -> Sums:
        """Return the sums with one outcome more."""
        return Sums(
            self.scores + score,
            self.squares + score * score,
            total if early else self.before,
            total + score if late else self.up_to,
        )


_NO_SUMS = Sums(0, 0, 0, 0)


class Cohort(NamedTuple):
    """The outcomes of some decisions in a row of one decider."""

    outcomes: int  # how many came
    reached: int  # how many of them reached the number
    first: int  # the number of the first decision with an outcome
    last: int  # the number of the last decision with an outcome
    newest: float  # when the latest of them was made
    base: int  # the decider's sum of scores at which the sums begin
    places: Sums  # the sums of the places of the amounts
    chances: Sums  # the sums of the chances of reaching the number

    @classmethod
    def of(cls, number: int, time: float, score: int, total: int, *, reached: bool) -> Cohort:
        """Return the cohort of one outcome."""
        none = cls(0, 0, number + 1, number - 1, time, total, _NO_SUMS, _NO_SUMS)
        return none.with_one(number, time, score, total, reached=reached)

    def with_one(
        self, number: int, time: float, score: int, total: int, *, reached: bool
    ) -> Cohort:
        """Return the cohort with one outcome more."""
        early, late = number < self.first, number > self.last
        chance, place = divmod(score, SCALE)
        apart = total - self.base
        places = _signed(apart)
        chances = _signed((apart - places) // SCALE)
        return Cohort(
            self.outcomes + 1,
            self.reached + reached,
            number if early else self.first,
            number if late else self.last,
            max(self.newest, time),
            self.base,
            self.places.with_one(place, places, early=early, late=late),
            self.chances.with_one(chance, chances, early=early, late=late),
        )

    @property
    def made(self) -> int:
        """How many decisions were made from the first to the last with an outcome."""
        return self.last - self.first + 1

    @property
    def both(self) -> tuple[Scores, Scores]:
        """The places and the chances."""
        one, other = (
            Scores(self.made, self.outcomes, sums.scores, sums.squares, sums.up_to - sums.before)
            for sums in (self.places, self.chances)
        )
        return one, other

    @property
    def possible(self) -> bool:
        """Whether there can be such a cohort.

        The sums of scores may contradict each other: after a backup was restored, two decisions
        may have one number, and without a key tokens can be made up.
        """
        counts = (self.first, *self.places[:2], *self.chances[:2])
        return (
            all(number >= 0 for number in counts)
            and 1 <= self.outcomes <= self.made <= COHORT
            and 0 <= self.reached <= self.outcomes
            and math.isfinite(self.newest)
        )

    def to_list(self) -> list[Any]:
        """Return its numbers, for a file."""
        return [*self[:-2], *self.places, *self.chances]

    @classmethod
    def from_list(cls, parts: list[Any]) -> Cohort:
        """Return the cohort that `to_list` wrote."""
        outcomes, reached, first, last = (int(one) for one in parts[:4])
        newest, base, sums = float(parts[4]), int(parts[5]), [int(one) for one in parts[6:]]
        both = Sums(*sums[:4]), Sums(*sums[4:])
        return cls(outcomes, reached, first, last, newest, base, *both)


def _signed(difference: int) -> int:
    """Return the number in [-SCALE / 2, SCALE / 2) that is equal to `difference` modulo SCALE."""
    return (difference + SCALE // 2) % SCALE - SCALE // 2


def exponent_of(cohorts: list[Scores]) -> float:
    """Return minus the logarithm of Bennett's bound on the probability of such an excess."""
    excess = abs(sum(one.excess for one in cohorts))
    variance = sum(one.variance for one in cohorts)
    if excess <= 0.0 or variance <= 0.0:
        return 0.0
    furthest = max(max(one.mean, TOP - one.mean) for one in cohorts)
    ratio = excess * furthest / variance
    return variance / furthest**2 * ((1 + ratio) * math.log1p(ratio) - ratio)


def shares_of(cohorts: list[Scores]) -> tuple[float, float]:
    """Return the shares of outcomes that come: one standard deviation below the mean, and above."""
    made, outcomes = sum(one.made for one in cohorts), sum(one.outcomes for one in cohorts)
    share = outcomes / made
    squares = sum(one.squares - one.mean * (one.scores + one.excess) for one in cohorts)
    spread = math.sqrt(max(squares / outcomes, 1.0))
    slope = sum(one.excess for one in cohorts) / (made * spread * spread)
    low, high = share - slope * spread, share + slope * spread
    return min(max(low, 1e-3), 1.0), min(max(high, 1e-3), 1.0)


def alike_at_last(cohorts: list[Cohort]) -> tuple[int, int, bool]:
    """Count outcomes and decisions of the last cohorts whose outcomes are all of one kind."""
    outcomes, made, kind = 0, 0, None
    for one in reversed(cohorts):
        all_reached = one.reached == one.outcomes
        if (one.reached != 0 and not all_reached) or (kind is not None and kind != all_reached):
            break
        kind = all_reached
        outcomes, made = outcomes + one.outcomes, made + one.made
    return outcomes, made, bool(kind)
