"""The conditional law of one hidden number per round, learned from censored outcomes.

The hidden number is the highest competing bid of an auction, the demand of a day, or the valuation
of a buyer. Playing an amount reveals the number, or only whether the number is above or below the
amount. `OutcomeLaw` learns the law of the number given a context and classes, and chooses amounts.
`IndependenceTest` tests whether the number depends on the context, and whether it depends on the
class. `GuardedLaw` follows either a law or a learner that assumes nothing: the one that earns more.
"""

from typing import TYPE_CHECKING

from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.laws.guard import GuardedAmountChoice, GuardedLaw
    from crossbandit.laws.independence import Diagnosis, IndependenceTest
    from crossbandit.laws.outcome_law import OutcomeLaw
    from crossbandit.laws.rounds import AmountChoice
    from crossbandit.laws.view import LawView

__all__ = [
    "AmountChoice",
    "Diagnosis",
    "GuardedAmountChoice",
    "GuardedLaw",
    "IndependenceTest",
    "LawView",
    "OutcomeLaw",
]

_lazy.load_on_use(
    __name__,
    {
        "crossbandit.laws.guard": "GuardedAmountChoice GuardedLaw",
        "crossbandit.laws.independence": "Diagnosis IndependenceTest",
        "crossbandit.laws.outcome_law": "OutcomeLaw",
        "crossbandit.laws.rounds": "AmountChoice",
        "crossbandit.laws.view": "LawView",
    },
)
