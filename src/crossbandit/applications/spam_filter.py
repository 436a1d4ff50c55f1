"""A spam filter: a delivered message shows what it was, a blocked one shows nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications.action import Action, pending_decision
from crossbandit.applications.application import Application, start_learner
from crossbandit.applications.labels import Labels, require_mapping
from crossbandit.applications.money import pair
from crossbandit.core.validation import boolean, reject
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.graphs import apple_tasting

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats


BLOCK, DELIVER = 0, 1  # as in the graph of apple tasting


def mail_rows(spam: npt.ArrayLike) -> Floats:
    """Return the losses of blocking and of delivering, (n, 2, 2), for n messages, spam or not.

    A context is (harm of delivering spam, harm of blocking a good message), as shares of the
    greatest harm. The right arm does no harm.

    >>> mail_rows([True])[0]
    array([[0., 0.],
           [1., 0.]])
    """
    junk = np.asarray(spam, dtype=np.float64)
    rows = np.zeros((junk.size, 2, 2))
    rows[:, DELIVER, 0] = junk
    rows[:, BLOCK, 1] = 1.0 - junk
    return rows


@dataclass(frozen=True)
class MailDecision(Action):
    """What to do with one message. Pass it to `settle` when its reader has answered.

    Attributes:
        decision: The learner's decision.
        deliver: Whether to deliver the message; otherwise block it.
        mailbox: The name of the mailbox.
    """

    deliver: bool
    mailbox: str


class SpamFilter(Application):
    """Learns whether to deliver messages of one kind.

    A message that is delivered shows what it was, which counts in every mailbox. A message that is
    blocked shows nothing: blocking is an arm without self-loop, and the filter delivers a message
    now and then to learn about the others.

    The filter assumes that messages differ only in their mailbox. If senders differ in how much
    spam they send, make a filter for each kind of sender.

    Args:
        mailboxes: For each mailbox, by name, the harm of delivering spam and the harm of blocking a
            good message; both in the same unit, such as minutes.
        horizon: The number of messages to come. The default algorithm does not need it.
        algorithm: The algorithm; None for the parameter-free default.
        seed: The seed of the random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> mailboxes = {"orders": (1, 20), "info": (5, 2)}  # minutes lost by spam, by lost mail
    >>> spam_filter = SpamFilter(mailboxes=mailboxes, seed=1)
    >>> for spam in np.random.default_rng(0).random(2_000) < 0.5:
    ...     for mailbox in mailboxes:
    ...         decision = spam_filter.decide(mailbox)
    ...         spam_filter.settle(decision, spam=spam if decision.deliver else None)
    >>> spam_filter.delivers("orders") > 0.9, spam_filter.delivers("info") < 0.1
    (True, True)
    """

    listed = "decide delivers mailboxes settle"
    kind: ClassVar[str] = "spam-filter"
    learner: Learner

    def __init__(
        self,
        *,
        mailboxes: Mapping[str, tuple[float, float]],
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        mailboxes = require_mapping(owner, "mailboxes", mailboxes)
        self._mailboxes = Labels(owner, "mailboxes", mailboxes, at_least=1)
        meaning = "the harm of delivering spam, and of blocking a good message"
        self._harms = {
            name: pair(owner, "mailboxes", harms, meaning) for name, harms in mailboxes.items()
        }
        table = np.array(list(self._harms.values()))
        problem = Problem(apple_tasting(), features=table / table.max(), horizon=horizon)
        self.learner = start_learner(owner, algorithm, problem, seed)

    @property
    def mailboxes(self) -> list[str]:
        """The names of the mailboxes."""
        return list(self._mailboxes)

    def settings(self) -> dict[str, Any]:
        mailboxes = {name: list(harms) for name, harms in self._harms.items()}
        return {"mailboxes": mailboxes, "horizon": self.learner.problem.horizon}

    def decide(self, mailbox: str) -> MailDecision:
        """Decide about a message.

        Args:
            mailbox: The name of the mailbox to which it was sent.

        Returns:
            The decision. Its `deliver` says what to do; pass it to `settle` afterwards.

        Raises:
            InvalidContextError: There is no such mailbox.
        """
        decision = self.learner.act(self._mailbox("decide", mailbox))
        return MailDecision(decision, decision.arm == DELIVER, mailbox)

    def settle(self, decision: MailDecision | bytes | str, *, spam: bool | None = None) -> None:
        """Learn whether a delivered message was spam.

        Messages may be settled late and in any order. An answer may be missing by chance: whether
        it is missing must not depend on the message. If readers report spam but not good messages,
        settle whatever is not reported as good. To leave it out would teach the filter that all
        messages are spam.

        A blocked message is settled without `spam`. What is known about it from other sources is
        not used: the weights of the filter assume that blocked messages are not seen.

        Args:
            decision: What `decide` returned, or its token.
            spam: Whether the message was spam. Required if it was delivered.

        Raises:
            DecisionError: The decision is not one of this filter's, or was settled before.
            InvalidLossesError: `spam` is missing, or is not True or False. Nothing is learned, and
                the message can still be settled.
        """
        _, made = pending_decision(decision, MailDecision, self.learner)
        if made.arm == DELIVER:
            if not isinstance(spam, bool | np.bool_):
                expected = "True or False for a message that was delivered"
                reject("settle", "spam", expected, spam, error=InvalidLossesError)
            self.learner.learn(made, mail_rows([spam])[0])
            return
        if spam is not None:
            boolean("settle", "spam", spam, error=InvalidLossesError)
        self.learner.learn(made, [])

    def policy(self, mailbox: str) -> Floats:
        """Return the probabilities with which a message would be blocked and delivered now.

        Args:
            mailbox: The name of the mailbox.

        Raises:
            InvalidContextError: There is no such mailbox.
        """
        return self.learner.policy(self._mailbox("policy", mailbox))

    def delivers(self, mailbox: str) -> float:
        """Return the probability with which a message would be delivered now.

        Args:
            mailbox: The name of the mailbox.

        Raises:
            InvalidContextError: There is no such mailbox.
        """
        return float(self.learner.policy(self._mailbox("delivers", mailbox))[DELIVER])

    def _mailbox(self, owner: str, mailbox: object) -> int:
        return self._mailboxes.index(owner, "mailbox", mailbox, InvalidContextError)
