"""Read checkpoints of earlier formats.

Format 2 packed several numbers into one array. Format 3 did not say which decisions were learned
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.learners.seen import LIMIT, WINDOW

if TYPE_CHECKING:
    import numpy.typing as npt

_RENAMED = {
    "tickets.available": "pending.available",
    "tickets.rows": "pending.rows",
    "tickets.weights": "pending.weights",
    "state.lumps": "state.pooled",
    "state.pair_values": "state.pair_coefficients",
    "state.revealed": "state.losses",
}

# Arrays whose entries have become arrays of their own, by name and number of entries.
_SPLIT = {
    ("state.counters", 1): ("round",),
    ("state.counters", 2): ("round", "reference"),
    ("state.counters", 5): ("round", "epoch", "special", "pair_offset", "pair_restricted"),
    ("state.numbers", 6): ("counted", "gap", "least", "largest", "lost", "lost_weight"),
}

# Weights were computed from these when they were needed.
_WEIGHTS = {"state.frequency": 2.0, "state.mean": 1.0}


def upgraded(
    header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a file of format 2 or 3 in the present format.

    The header keeps its version. Scratch arrays are missing if format 2 did not have them.
    """
    if header["version"] == 2:
        header, arrays = _from_format_2(header, arrays)
    now = {
        **header,
        "ids": [(former, header["round"]) for former in header["ids"]],
        "waiting": len(header["pending"]["roles"]["pending"]),  # no others can be learned from
        "expired": header["round"],
        "seen": {"window": WINDOW, "limit": LIMIT},
        "watch": None,
    }
    return now, arrays


def _from_format_2(
    header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    pending = header.pop("tickets")
    header["pending"] = {"decisions": pending["tickets"], "roles": pending["roles"]}
    if "state.counters" not in arrays:  # an algorithm that the package does not have
        raise ValueError("format 2 did not keep the round of this algorithm")
    header["round"] = int(arrays["state.counters"][0])
    result: dict[str, npt.NDArray[Any]] = {}
    for name, array in arrays.items():
        names = _SPLIT.get((name, array.size))
        if names is None:
            result[_RENAMED.get(name, name)] = array
        else:
            parts = zip(names, array.reshape(-1, 1), strict=True)
            result |= {f"state.{part}": entry for part, entry in parts if part != "round"}
    observed = result.pop("state.observed", None)
    for mark, factor in _WEIGHTS.items():
        if mark in result:
            observed = result["state.denominators"] / factor
    if observed is not None:
        weights = np.divide(1.0, observed, out=np.zeros_like(observed), where=observed > 0)
        result["state.weights"] = weights
    return header, result
