"""Which statements of the paper are machine-checked, and where: data, kept in step by a test."""

from __future__ import annotations

import re
from typing import NamedTuple


class Proof(NamedTuple):
    """A theorem of the Coq development in `proofs/`."""

    file: str
    theorem: str

    def __str__(self) -> str:
        return f"proofs/{self.file}: {self.theorem}"


_PROOFS: dict[str, tuple[Proof, ...]] = {}


def proofs_of(statement: str) -> tuple[Proof, ...]:
    """Return the machine-checked theorems about a statement of the paper.

    Args:
        statement: A statement by its number, as in "Lemma 9 (joint product stability)".

    Returns:
        The theorems; none if the statement is not machine-checked.
    """
    found: list[Proof] = []
    for number, proofs in _PROOFS.items():
        if re.match(re.escape(number) + r"\b", statement):
            found += proofs
    return tuple(found)
