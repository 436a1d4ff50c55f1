"""Environments and distributions of contexts by name, so that a study file can ask for them."""

from __future__ import annotations

from crossbandit.registry import Registry

_ENVIRONMENTS = Registry("environment")
register = _ENVIRONMENTS.register
registered = _ENVIRONMENTS.registered
build = _ENVIRONMENTS.build

_DISTRIBUTIONS = Registry("context distribution")
register_distribution = _DISTRIBUTIONS.register
registered_distributions = _DISTRIBUTIONS.registered
build_distribution = _DISTRIBUTIONS.build
