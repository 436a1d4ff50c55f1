"""Dense losses in linear form, if possible. The time then does not depend on the contexts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.checking import checked_block
from crossbandit.environments.environment import BlockEnvironment, batches, row_block
from crossbandit.kernels.rows import may_clip
from crossbandit.losses import DenseForm
from crossbandit.problem import Problem

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.kernels.ranges import GraphBlock
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Booleans, Floats

_MOST_TERMS = 8
_MOST_NUMBERS = 2**26  # of features, 512 MB
_KEPT_NUMBERS = 2**23  # rows up to this size are made once and kept, 64 MB


class FactoredLosses(BlockEnvironment):
    """A fixed table plus few time-varying terms that never reach a limit, in linear form.

        l_{t,c}(a)  =  base_{c,a} + sum_k x_{t,a,k} f_{c,k}

    is linear in the features (base_{c,a}, f_{c,1}, ..., f_{c,k}) of context c and arm a, with the
    coefficients (1, x_{t,a,1}, ..., x_{t,a,k}).
    """

    def __init__(self, dense: BlockEnvironment, base: Floats, features: Floats) -> None:
        shared = np.broadcast_to(features.T[:, None], (*base.T.shape, len(features)))
        table = np.concatenate([base.T[:, :, None], shared], axis=2)
        given = dense.problem
        self.problem = Problem(
            given.graph,
            features=table,
            horizon=given.horizon,
            graph_kind=given.graph_kind,
            graph_by_context=given.graph_by_context,
            grants_own_loss=given.grants_own_loss,
        )
        if given.graph_kind != "fixed":
            self.graph = getattr(dense, "graph", None)
        self.context_distribution = dense.context_distribution
        self._dense = dense

    def available(self, contexts: npt.NDArray[Any]) -> Booleans | None:
        return self._dense.available(contexts)

    def graphs(self, start: int, contexts: npt.NDArray[Any]) -> GraphBlock:
        return self._dense.graphs(start, contexts)

    def block(self, start: int, stop: int) -> LossBlock:
        horizon, form = self.problem.horizon or 0, self.problem.form
        if horizon * self.problem.arms * form.columns <= _KEPT_NUMBERS:
            return row_block(self._all_rows[start:stop])
        return row_block(self._rows(start, stop))

    @cached_property
    def _all_rows(self) -> Floats:
        return np.concatenate([self._rows(start, stop) for start, stop in batches(self._dense)])

    def _rows(self, start: int, stop: int) -> Floats:
        coefficients = self._dense.block(start, stop).coefficients
        return np.concatenate([np.ones((*coefficients.shape[:2], 1)), coefficients], axis=2)


def factored(environment: BlockEnvironment) -> FactoredLosses | None:
    """Return dense losses in linear form; None if that is not possible or takes too much memory."""
    form = environment.problem.form
    if not isinstance(form, DenseForm) or form.dtype != np.float64:
        return None
    first: LossBlock | None = None
    for start, stop in batches(environment):
        block = checked_block(environment, start, stop)
        first = block if first is None else first
        terms = len(block.features)
        numbers = form.columns * environment.problem.arms * (1 + terms)
        if (
            len(block.base) != 1
            or not _is_same(block.base, first.base)
            or not _is_same(block.features, first.features)
            or not 0 < terms <= _MOST_TERMS
            or numbers > _MOST_NUMBERS
            or any(
                may_clip(block, stop - start, a, np.empty(terms))
                for a in range(environment.problem.arms)
            )
        ):
            return None
    return None if first is None else FactoredLosses(environment, first.base[0], first.features)


def _is_same(one: Floats, other: Floats) -> bool:
    """Return whether two arrays share their memory. Comparing their numbers would take longer."""
    return one.shape == other.shape and one.ctypes.data == other.ctypes.data
