"""Checkpoints of format 3, which did not say which decisions were learned from."""

from __future__ import annotations

from typing import Any

from crossbandit.learners.seen import LIMIT, WINDOW


def upgraded(header: dict[str, Any]) -> dict[str, Any]:
    """Return the header of a file as the present version would write it.

    All decisions that can be learned from are pending ones.
    """
    return {
        **header,
        "ids": [(former, header["round"]) for former in header["ids"]],
        "waiting": len(header["pending"]["roles"]["pending"]),
        "expired": header["round"],
        "seen": {"window": WINDOW, "limit": LIMIT},
        "watch": None,
    }
