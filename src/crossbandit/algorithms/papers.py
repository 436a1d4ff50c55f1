"""Where each algorithm is published, with its theorem and rates, and what is ours: papers.toml."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Published(NamedTuple):
    """What is known of the origin of an algorithm; "" for what does not apply."""

    paper: str = ""
    place: str = ""  # the algorithm in the paper
    theorem: str = ""
    rates: str = ""  # those of the tuning rule
    ours: str = ""  # what this package adds or changes
    is_ours: str = ""  # "always", "cross_learning" if that makes it ours, or ""


@lru_cache
def papers() -> Mapping[str, Published]:
    """Return the origins of all algorithms of this package, by their ids."""
    text = resources.files("crossbandit.algorithms").joinpath("papers.toml").read_text("utf-8")
    return {id_: Published(**found) for id_, found in tomllib.loads(text).items()}


def is_ours(parameters: Mapping[str, Any]) -> bool:
    """Return whether tables call an algorithm ours, by its id and parameters.

    >>> is_ours({"id": "best-of-both-worlds"}), is_ours({"id": "exp3-g", "cross_learning": False})
    (True, False)
    """
    known = papers().get(str(parameters.get("id")), Published())
    return known.is_ours == "always" or bool(known.is_ours and parameters.get(known.is_ours, True))
