"""What the constructors of environments share."""

from __future__ import annotations

from typing import Any

from crossbandit.validation import integer


def check_rounds(owner: str, horizon: object, table_seed: object) -> None:
    """Raise unless a horizon and the seed of random losses are possible.

    Args:
        owner: The name of the environment, for the message.
        horizon: The number of rounds.
        table_seed: The seed of everything random in the losses.
    """
    integer(owner, "horizon", horizon, at_least=1)
    integer(owner, "table_seed", table_seed, at_least=0, at_most=None)


def set_fields(instance: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass, in its `__post_init__`.

    Args:
        instance: The instance.
        **fields: The values, by name.
    """
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
