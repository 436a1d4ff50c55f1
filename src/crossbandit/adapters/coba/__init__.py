"""Learners and environments for coba.

    from coba import Experiment
    from crossbandit.adapters.coba import CobaEnvironment, CobaLearner

    auctions = CobaEnvironment(environments.first_price(2_000), seed=1)
    learners = [CobaLearner(problem=auctions.problem), VowpalLearner()]
    result = Experiment([auctions], learners).run()

A learner of coba gets one number, the reward of its action. The reward that `CobaEnvironment`
returns is this number, and also has the losses that the action revealed in every context. A
`CobaLearner` with the `problem` of the environment learns from these losses, with the feedback
graph and across contexts. It plays the same arms as in `simulate`. Learners of coba use the reward
as a plain number.

Environments of coba reveal only the reward. For them, leave out `problem`. Each context then has
its own learner, without a feedback graph and without cross-learning.

Install coba with `pip install "crossbandit[coba]"`.
"""

from crossbandit.extras import require

require("coba", extra="coba", owner="crossbandit.adapters.coba")

from crossbandit.adapters.coba.environment import CobaEnvironment, RevealedReward
from crossbandit.adapters.coba.learner import CobaLearner

__all__ = ["CobaEnvironment", "CobaLearner", "RevealedReward"]
