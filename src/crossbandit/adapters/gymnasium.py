"""Crossbandit's environments for Gymnasium. Importing this module registers them.

    import gymnasium
    import crossbandit.adapters.gymnasium

    env = gymnasium.make("crossbandit/FirstPrice-v0", horizon=1_000, bids=20)

A step is a round. The observation is the context and the action is the arm. The reward is the money
earned, or minus the loss where there is no money. An episode ends after the horizon.

`info` holds what a learner with graph feedback needs in addition. About the next round: `context`,
as `Learner.act` takes it; `action_mask`, 1 for each available arm; and `round`, its number. About
the round just played: `revealed`, 1 for each arm whose losses were revealed; and `losses`, a row
for each arm, infinite where nothing was revealed. `losses[list(decision.revealed)]` is what
`Learner.learn` takes. All have the same shape in every round, so environments can be vectorised.

An environment with a budget also shows which share of the budget and which share of the rounds are
left, and masks bids that are above what is left. With pacing="asap" its context is the value; with
pacing="even" it is a pseudo-value, which already follows the budget.

Install Gymnasium with `pip install "crossbandit[gymnasium]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.core.extras import require
from crossbandit.core.losses import write_rows
from crossbandit.core.validation import reject
from crossbandit.environments import BlockEnvironment, Environment, UniformVectors
from crossbandit.environments import environment as base
from crossbandit.environments.applied import Sleeping
from crossbandit.graphs.builders import build as build_graph

require("gymnasium", extra="gymnasium", owner="crossbandit.adapters.gymnasium")

import gymnasium
from gymnasium import spaces

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Floats
    from crossbandit.limits.pace_core import PacedAuctions

_BATCH = 256  # the number of rounds whose losses are computed at once

# The registered ids, each with the name of an environment and parameters that replace defaults.
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "crossbandit/FirstPrice-v0": {"name": "first-price"},
    "crossbandit/FirstPriceBudget-v0": {"name": "first-price-budget", "pacing": "asap"},
    "crossbandit/Newsvendor-v0": {"name": "newsvendor"},
    "crossbandit/PostedPrice-v0": {"name": "posted-price"},
    "crossbandit/Recommendation-v0": {"name": "recommendation"},
    "crossbandit/Sleeping-v0": {"name": "sleeping", "graph": {"name": "singletons", "arms": 10}},
    "crossbandit/Spam-v0": {"name": "spam"},
}


class BanditEnv(gymnasium.Env[Any, np.int64]):
    """A registered environment of Crossbandit as a Gymnasium environment.

    Losses depend on `table_seed`, contexts on the seed of `reset`. An action that is not available
    counts as a loss of 1 and reveals nothing.

    Args:
        name: The name under which the environment is registered.
        horizon: The number of rounds of an episode.
        **parameters: The other parameters of the environment. A graph may be given as a dict with
            its name and its parameters, as in a study file.

    Attributes:
        environment: The environment of Crossbandit.

    Raises:
        InvalidParameterError: There is no such environment, or a parameter is not possible.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(self, name: str, horizon: int = 10_000, **parameters: Any) -> None:
        if isinstance(parameters.get("graph"), dict):
            parameters["graph"] = build_graph(**parameters["graph"])
        self.environment: Environment = base.build(name, horizon=horizon, **parameters)
        if not isinstance(self.environment, Environment):
            reject("BanditEnv", "name", "the name of an Environment", self.environment)
        self.action_space = spaces.Discrete(self.environment.problem.arms)
        self.observation_space = _space(self.environment)
        self._round = 0
        self._batch: tuple[int, LossBlock] | None = None
        self._limits: base.RunLimits | None = None
        self._paced: PacedAuctions | None = None
        self._drawn: npt.NDArray[Any] = np.empty(0)  # the context before limits
        self._context: npt.NDArray[Any] = np.empty(0)
        self._available: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: The seed of the contexts; None to keep the generator of the last episode.
            options: Not used.

        Returns:
            The observation and the info of the first round.
        """
        super().reset(seed=seed, options=options)
        self._round = 0
        if isinstance(self.environment, BlockEnvironment):
            self._limits = self.environment.limits()
        self._draw()
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a round.

        Args:
            action: The arm.

        Returns:
            The observation of the next round, the reward, whether the episode terminated (never),
            whether it was truncated (after the last round), and the info.

        Raises:
            gymnasium.error.InvalidAction: The action is not an arm.
            gymnasium.error.ResetNeeded: The episode has not started, or is over.
        """
        horizon = base.horizon_of(self.environment)
        if self._round >= horizon or not self._available.size:
            raise gymnasium.error.ResetNeeded(
                f"There is no round to play: call reset first, and again after {horizon} rounds."
            )
        if not self.action_space.contains(action):
            arms = self.environment.problem.arms
            raise gymnasium.error.InvalidAction(
                f"An action must be an integer from 0 to {arms - 1}. Got {action!r}."
            )
        arm, loss, rows = int(action), 1.0, self._losses()
        revealed = np.zeros(self.environment.problem.arms, dtype=np.int8)
        if self._available[arm]:
            problem = self.environment.problem
            loss = float(problem.form.readout(self._drawn[0]).losses(rows[[arm]], [arm])[0])
            revealed[problem.graph.out_neighbors(arm)] = 1
        if self._paced is not None:
            self._paced.settle(0, arm if self._available[arm] else 0)
        rows[revealed == 0] = np.inf  # not NaN, which Gymnasium's checker finds unequal to itself
        feedback = {"revealed": revealed, "losses": rows}
        self._round += 1
        self._draw()
        over = self._round >= horizon
        rules = getattr(self.environment, "rules", None)
        reward = 0.0 - loss if rules is None else float(rules.earned(loss))
        return self._observation(), reward, False, over, {**self._info(), **feedback}

    def _losses(self) -> Floats:
        """Return the rows of all arms in the current round."""
        if not isinstance(self.environment, BlockEnvironment):
            return base.checked_rows(self.environment, self._round).copy()
        start = self._round - self._round % _BATCH
        if self._batch is None or self._batch[0] != start:
            stop = min(start + _BATCH, base.horizon_of(self.environment))
            self._batch = start, base.checked_block(self.environment, start, stop)
        rows = np.empty((self.environment.problem.arms, self.environment.problem.form.columns))
        write_rows(self._batch[1], self._round - start, rows)
        return rows

    def _draw(self) -> None:
        self._drawn = self._context = self.environment.context_distribution.draw(self.np_random, 1)
        mask = base.availability(self.environment, self._context)
        self._available = np.ones(self.environment.problem.arms, bool) if mask is None else mask[0]
        if self._limits is not None and self._round < base.horizon_of(self.environment):
            paced = self._limits.rounds(self._round, self._drawn)
            shown = self.environment.problem.form.block(self._drawn.copy(), self._available[None])
            self._paced = paced.core.auctions(paced, shown)
            self._paced.limit(0)
            self._context, self._available = shown.table[0], shown.available[0]

    def _observation(self) -> Any:
        if isinstance(self.environment, Sleeping):
            return self._available.astype(np.int8)
        if isinstance(self.observation_space, spaces.Discrete):
            return np.int64(self._context[0])
        low, high = _box(self.environment)
        if self._limits is None:
            return self._context[0, low < high]
        time_left = 1.0 - self._round / base.horizon_of(self.environment)
        return np.append(self._context[0, low < high], [self._limits.share_left, time_left])

    def _info(self) -> dict[str, Any]:
        return {
            "round": self._round,
            "context": self._context[0],
            "action_mask": self._available.astype(np.int8),
        }


def _space(environment: Environment) -> spaces.Space[Any]:
    """Return the space of contexts, without the features that never change."""
    if isinstance(environment, Sleeping):
        return spaces.MultiBinary(environment.problem.arms)
    if environment.problem.contexts is not None:
        return spaces.Discrete(environment.problem.contexts)
    low, high = _box(environment)
    low, high = low[low < high], high[low < high]
    if isinstance(environment, BlockEnvironment) and environment.limits() is not None:
        low, high = np.append(low, [0.0, 0.0]), np.append(high, [1.0, 1.0])
    return spaces.Box(low, high, dtype=np.float64)


def _box(environment: Environment) -> tuple[Floats, Floats]:
    """Return the bounds of feature vectors; infinite if the distribution of contexts has none."""
    distribution = environment.context_distribution
    if isinstance(distribution, UniformVectors):
        return np.asarray(distribution.low), np.asarray(distribution.high)
    infinite = np.full(environment.problem.form.columns, np.inf)
    return -infinite, infinite


for _id, _parameters in ENVIRONMENTS.items():
    gymnasium.register(
        _id, entry_point="crossbandit.adapters.gymnasium:BanditEnv", kwargs=_parameters
    )
