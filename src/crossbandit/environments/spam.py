"""A spam filter: a delivered message reveals whether it was spam, a blocked one does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.environments.contexts import UniformVectors
from crossbandit.environments.environment import BlockEnvironment, check_rounds, row_block
from crossbandit.environments.registry import register
from crossbandit.graphs import apple_tasting
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import uniforms
from crossbandit.validation import integer, number

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats

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


@register("spam", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Spam(BlockEnvironment):
    """Messages, some of them spam. Arm 0 blocks a message, arm 1 delivers it.

    A context is (harm of delivering spam, harm of blocking a good message), both uniform in [0, 1].

    Args:
        horizon: The number of rounds.
        share: The mean share of spam, from 0 to 1.
        campaigns: The amount by which the share moves up and down, from 0 to 1.
        period: The number of rounds in which the share moves up and down once.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = spam(1_000)
    >>> environment.problem.graph.arms_without_self_loop
    (0,)
    """

    horizon: int = field(kw_only=False)
    share: float = 0.4
    campaigns: float = 0.2
    period: int = 2000
    table_seed: int = 0
    problem: Problem = field(init=False, repr=False)
    context_distribution: UniformVectors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_rounds("spam", self.horizon, self.table_seed)
        integer("spam", "period", self.period, at_least=1)
        number("spam", "share", self.share, at_least=0, at_most=1)
        number("spam", "campaigns", self.campaigns, at_least=0, at_most=1)
        problem = Problem(apple_tasting(), features=2, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=UniformVectors([0, 0], [1, 1]))

    def junk(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Return which messages of consecutive rounds are spam.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        noise = uniforms(self.table_seed, "losses", start, stop, 1)[:, 0]
        wave = np.sin(2 * np.pi * np.arange(start, stop) / self.period)
        junk: npt.NDArray[np.bool_] = noise < self.share + self.campaigns * wave
        return junk

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(mail_rows(self.junk(start, stop)))


spam = Spam
