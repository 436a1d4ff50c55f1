"""Graphs by name, so that a study file can ask for them."""

from __future__ import annotations

from crossbandit.registry import Registry

_GRAPHS = Registry("graph")
register = _GRAPHS.register
registered = _GRAPHS.registered
build = _GRAPHS.build
