"""Checks of what an environment returns: losses, and which arms are available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.kernels.rounds import LossBlock, read_only
from crossbandit.kernels.rows import first_outside
from crossbandit.losses import LinearForm
from crossbandit.losses.forms import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.environments.environment import BlockEnvironment, Environment
    from crossbandit.types import Booleans, Floats


def availability(environment: Environment, contexts: npt.NDArray[Any]) -> Booleans | None:
    """Return the checked `available(contexts)` of an environment; None if it has none."""
    rule = getattr(environment, "available", None)
    available = None if rule is None else rule(contexts)
    if available is None:
        return None
    mask = np.asarray(available)
    expected = (len(contexts), environment.problem.arms)
    if mask.shape != expected or mask.dtype != np.bool_:
        raise InvalidContextError(
            f"{type(environment).__name__}.available must return None, or booleans of shape "
            f"{expected}: contexts by arms. Got shape {mask.shape} and type {mask.dtype}."
        )
    if not mask.any(axis=1).all():
        context = contexts[int(np.argmin(mask.any(axis=1)))]
        raise InvalidContextError(
            f"{type(environment).__name__}.available must leave an arm in every context. Got none "
            f"in context {context}."
        )
    return mask


def checked_block(environment: BlockEnvironment, start: int, stop: int) -> LossBlock:
    """Return the environment's block; raise if its arrays do not have the expected shapes."""
    block = environment.block(start, stop)
    call = f"{type(environment).__name__}.block({start}, {stop})"
    _check_arrays(call, block)
    rounds, terms = stop - start, block.coefficients.shape[-1]
    row = (environment.problem.arms, environment.problem.form.columns)
    if (
        block.base.shape not in {(1, *row), (rounds, *row)}
        or block.coefficients.shape != (rounds, row[0], terms)
        or block.features.shape != (terms, row[1])
    ):
        raise InvalidLossesError(
            f"{call} must hold a base of shape {(rounds, *row)} or {(1, *row)}, coefficients of "
            f"shape {(rounds, row[0], 'k')} and features of shape {('k', row[1])}. Got "
            f"{block.base.shape}, {block.coefficients.shape} and {block.features.shape}."
        )
    return read_only(block)


def _check_arrays(call: str, block: object) -> None:
    """Raise unless `block` is a LossBlock of arrays of numbers, of any shapes."""
    if not isinstance(block, LossBlock):
        raise InvalidLossesError(
            f"{call} must return a LossBlock. Got a {type(block).__name__}. To make one of losses "
            "of shape (rounds, arms, contexts), or of coefficients of shape (rounds, arms, "
            "features), return row_block(losses)."
        )
    parts: dict[str, Any] = block._asdict()
    for name in ("base", "coefficients", "features"):
        part = parts[name]
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.dtype.kind not in "fiu":
            kind = f"type {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise InvalidLossesError(
                f"The {name} of {call} must be an array of numbers. Got {kind}."
            )


def checked_rows(environment: Any, round_: int, *arms: Sequence[int]) -> Floats:
    """Return the environment's losses of a round; raise unless they are finite and fit.

    An adaptive environment also takes the arms that were played before.
    """
    rows = np.ascontiguousarray(environment.losses(round_, *arms), dtype=np.float64)
    expected = (environment.problem.arms, environment.problem.form.columns)
    if rows.shape != expected or not np.isfinite(rows).all():
        got = f"shape {rows.shape}" if rows.shape != expected else "numbers that are not finite"
        raise InvalidLossesError(
            f"{type(environment).__name__}.losses must return finite numbers of shape {expected}, "
            f"arms by {environment.problem.form.column_name}s. Got {got} in round {round_}."
        )
    return rows


def listed_availability(environment: BlockEnvironment) -> Booleans | None:
    """Return which arms are available in each listed context of a linear form; otherwise None.

    Dense losses are given for each context, and must be in [0, 1] in all of them.
    """
    form = environment.problem.form
    if not isinstance(form, LinearForm) or form.contexts is None:
        return None
    return availability(environment, form.listed())


def check_range(
    environment: BlockEnvironment, block: LossBlock, start: int, available: Booleans | None
) -> None:
    """Raise unless all losses of the block are in [0, 1], as far as contexts can be listed.

    Linear losses may be outside [0, 1] in contexts in which their arm is not `available`
    (contexts, K).
    """
    form = environment.problem.form
    rounds, arms, columns = block.base.shape
    if block.clip or block.coefficients.shape[2] > 0:
        return  # clipped, or checked when they occur
    rows = np.ascontiguousarray(block.base).reshape(rounds * arms, columns)
    bad, context = -1, -1
    if isinstance(form, LinearForm):
        bad, context = form.first_bad(rows, np.tile(np.arange(arms), rounds), available)
    else:
        found = first_outside(rows, -ROUNDING, 1.0 + ROUNDING)
        if found >= 0:
            bad, context = divmod(found, columns)
    if bad >= 0:
        round_, arm = divmod(bad, arms)
        loss = form.readout(context).losses(rows[bad : bad + 1], [arm])[0]
        raise InvalidLossesError(
            f"The losses of {type(environment).__name__} must lie in [0, 1]. Got {loss} in round "
            f"{start + round_}, for arm {arm} in context {context}."
        )
