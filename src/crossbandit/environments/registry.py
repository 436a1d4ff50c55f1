"""Environments and context distributions by name, for study files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from crossbandit.registry import Registry

_ENVIRONMENTS = Registry("environment")
_RANDOM_LOSSES: set[str] = set()
_Builder = TypeVar("_Builder", bound=Callable[..., Any])


def register(name: str, *, random_losses: bool = False) -> Callable[[_Builder], _Builder]:
    """Return a decorator that registers an environment by name.

    Args:
        name: The name that study files use.
        random_losses: Whether the losses are random, and drawn from a parameter `table_seed`. In a
            study, such an environment draws other losses for each seed unless its `table_seed` is
            given. Otherwise, all seeds have the losses of the default `table_seed`.

    Returns:
        The decorator; it returns the function or class unchanged.

    Raises:
        InvalidParameterError: Another function or class has this name.
    """
    if random_losses:
        _RANDOM_LOSSES.add(name)
    return _ENVIRONMENTS.register(name)


def has_random_losses(name: str) -> bool:
    """Return whether the environment was registered with `random_losses`.

    Args:
        name: A registered name.
    """
    return name in _RANDOM_LOSSES


registered = _ENVIRONMENTS.registered
build = _ENVIRONMENTS.build

_DISTRIBUTIONS = Registry("context distribution")
register_distribution = _DISTRIBUTIONS.register
registered_distributions = _DISTRIBUTIONS.registered
build_distribution = _DISTRIBUTIONS.build
