"""Learners and environments for coba.

    from coba import Experiment
    from crossbandit.adapters.coba import CobaEnvironment, CobaLearner

    auctions = CobaEnvironment(environments.first_price(2_000), seed=1)
    learners = [CobaLearner(problem=auctions.problem), VowpalLearner()]
    result = Experiment([auctions], learners).run()

A learner of coba is shown one number, the reward of its action. `CobaEnvironment` returns a reward
that is this number, and also holds the losses that the action revealed in every context. A
`CobaLearner` with the `problem` of the environment learns from them, by its feedback graph and
across contexts, and plays the same arms as in `simulate`. Learners of coba see a plain number.

In an environment of coba, nothing but the reward is revealed. There, leave out `problem`: each
context then has a learner of its own, without feedback graph and without cross-learning.

Install coba with `pip install "crossbandit[coba]"`.
"""

from crossbandit.extras import require

require("coba", extra="coba", owner="crossbandit.adapters.coba")

from crossbandit.adapters.coba.environment import CobaEnvironment, RevealedReward
from crossbandit.adapters.coba.learner import CobaLearner

__all__ = ["CobaEnvironment", "CobaLearner", "RevealedReward"]
