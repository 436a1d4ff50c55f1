"""Graphs by name, for study files."""

from __future__ import annotations

from crossbandit.registry import Registry

_GRAPHS = Registry("graph")
register = _GRAPHS.register
registered = _GRAPHS.registered
build = _GRAPHS.build
