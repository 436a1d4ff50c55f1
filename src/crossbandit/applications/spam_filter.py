"""A spam filter: deliver a message and learn what it was, or block it and learn nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.applications.application import Application, started
from crossbandit.applications.names import Names, by_name
from crossbandit.applications.play import Play, played
from crossbandit.environments.amounts import pair
from crossbandit.environments.spam import DELIVER, mail_rows
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.graphs import apple_tasting
from crossbandit.problem import Problem
from crossbandit.validation import boolean, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.algorithms import Algorithm
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@dataclass(frozen=True)
class Verdict(Play):
    """What to do with one message; hand it to `settle` once its reader has spoken."""

    deliver: bool
    mailbox: str


class SpamFilter(Application):
    """Learns whether messages of one kind are to be delivered.

    `mailboxes` has, by name, the harm that is done there by spam that is delivered, and by a good
    message that is blocked; both in any unit, say minutes. A message that is delivered shows what
    it was, which counts in every mailbox. A message that is blocked shows nothing: to block is an
    arm without self-loop, and the filter now and then delivers a message to learn what comes.

    All messages are taken to be alike but for their mailbox. Where senders differ in how much spam
    they send, make a filter for each kind of sender.

    `algorithm` is the parameter-free learner unless given; others may need the `horizon`, which is
    the number of messages to come.

    >>> mailboxes = {"orders": (1, 20), "info": (5, 2)}  # minutes lost by spam, by lost mail
    >>> spam_filter = SpamFilter(mailboxes=mailboxes, seed=1)
    >>> for spam in np.random.default_rng(0).random(2_000) < 0.5:
    ...     for mailbox in mailboxes:
    ...         verdict = spam_filter.decide(mailbox)
    ...         spam_filter.settle(verdict, spam=spam if verdict.deliver else None)
    >>> spam_filter.delivers("orders") > 0.9, spam_filter.delivers("info") < 0.1
    (True, True)
    """

    kind: ClassVar[str] = "spam-filter"

    def __init__(
        self,
        *,
        mailboxes: Mapping[str, tuple[float, float]],
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        mailboxes = by_name(owner, "mailboxes", mailboxes)
        self._mailboxes = Names(owner, "mailboxes", mailboxes, at_least=1)
        meaning = "the harm of spam, and of a lost message"
        self._harms = {
            name: pair(owner, "mailboxes", harms, meaning) for name, harms in mailboxes.items()
        }
        table = np.array(list(self._harms.values()))
        problem = Problem(apple_tasting(), features=table / table.max(), horizon=horizon)
        self.learner = started(owner, algorithm, problem, seed)

    @property
    def mailboxes(self) -> list[str]:
        """The names of the mailboxes."""
        return list(self._mailboxes)

    def settings(self) -> dict[str, Any]:
        mailboxes = {name: list(harms) for name, harms in self._harms.items()}
        return {"mailboxes": mailboxes, "horizon": self.learner.problem.horizon}

    def decide(self, mailbox: str) -> Verdict:
        """Decide about a message to `mailbox`."""
        decision = self.learner.act(self._mailbox("decide", mailbox))
        return Verdict(decision, decision.arm == DELIVER, mailbox)

    def settle(self, verdict: Verdict, *, spam: bool | None = None) -> None:
        """Learn whether a delivered message was spam; late, and in any order.

        A delivered message may be left if chance alone decides which one is. Where readers report
        spam but not good messages, whatever is not reported must be settled as good: leaving it
        would teach the filter that all is spam.

        A blocked message is settled without `spam`. What is known of it by other ways does not
        count: the filter's weights rest on blocked messages being unseen.
        """
        decision = played(verdict, Verdict, self.learner)
        if decision.arm == DELIVER:
            if not isinstance(spam, bool | np.bool_):
                expected = "True or False for a message that was delivered"
                reject("settle", "spam", expected, spam, error=InvalidLossesError)
            self.learner.learn(decision, mail_rows([spam])[0])
            return
        if spam is not None:
            boolean("settle", "spam", spam, error=InvalidLossesError)
        self.learner.learn(decision, [])

    def policy(self, mailbox: str) -> Floats:
        """Return the probabilities with which a message would be blocked and delivered now."""
        return self.learner.policy(self._mailbox("policy", mailbox))

    def delivers(self, mailbox: str) -> float:
        """Return the probability with which a message to `mailbox` would be delivered now."""
        return float(self.learner.policy(self._mailbox("delivers", mailbox))[DELIVER])

    def _mailbox(self, owner: str, mailbox: object) -> int:
        return self._mailboxes.number(owner, "mailbox", mailbox, InvalidContextError)
