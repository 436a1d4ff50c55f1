"""Environments and context laws by name, so that a study file can ask for them."""

from __future__ import annotations

from crossbandit.graphs.registry import Registry

_ENVIRONMENTS = Registry("environment")
register = _ENVIRONMENTS.register
registered = _ENVIRONMENTS.registered
build = _ENVIRONMENTS.build

_LAWS = Registry("context law")
register_law = _LAWS.register
registered_laws = _LAWS.registered
build_law = _LAWS.build
