"""The conditional law of one hidden number per round, learned from censored outcomes.

An auction has a highest competing bid, a day has a demand, a buyer has a valuation. An amount is
played, and shows the number, or only on which side of the amount it lies. `OutcomeLaw` learns the
law of the number given a context and classes, and chooses amounts. `IndependenceTest` tells
whether the number depends on the context, and whether it depends on the class. `GuardedLaw` follows
a law, or a learner that assumes nothing, whichever earns more.
"""

from crossbandit.laws.guard import GuardedAmountChoice, GuardedLaw
from crossbandit.laws.independence import Diagnosis, IndependenceTest
from crossbandit.laws.learning import AmountChoice
from crossbandit.laws.outcome_law import OutcomeLaw
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
