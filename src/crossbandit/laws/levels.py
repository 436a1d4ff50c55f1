"""Which classes there are: levels of categorical features, numbered as they come."""

from __future__ import annotations

import re
import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.types import Integers

Label = str | int | bool
_MOST_KEPT = 10_000
JOINT = -1  # the number that stands for all features together
_LONGEST = 7  # bytes of a text that stands for itself
_HASH = re.compile("#[0-9a-f]{16}")


def short(label: Label) -> Label:
    """Return a label under which a level is kept: itself, or a hash of 8 bytes if it is longer.

    Args:
        label: The label, perhaps such a hash already.

    >>> short("phone"), short("www.example.com") == short(short("www.example.com"))
    ('phone', True)
    """
    if not isinstance(label, str) or len(label.encode()) <= _LONGEST or _HASH.fullmatch(label):
        return label
    return "#" + blake2b(label.encode(), digest_size=8).hexdigest()


class Levels:
    """Numbers for the levels of some features, and for their combinations.

    Every level of a feature has a *slot*, given when it is first learned from. There is room for
    `limit` of them; later levels share slots with others, chosen by a hash of their names. Long
    names are kept as hashes, as tokens carry them.

    >>> levels = Levels("example", ["site", "device"], limit=100)
    >>> levels.slots(("a.com", "phone"))
    array([-1, -1, -1])
    >>> levels.slots(("a.com", "phone"), new=True)
    array([0, 1, 2])
    """

    def __init__(self, owner: str, features: Sequence[str], limit: int) -> None:
        self._owner = owner
        self.features = tuple(features)
        self.limit = limit
        self._slots: dict[tuple[int, tuple[Label, ...]], int] = {}
        self._whole: dict[tuple[Label, ...], Integers] = {}  # slots that will not change
        for name in self.features:
            if not str(name).isidentifier():
                reject(owner, "classes", "names of features", name)
        if len(set(self.features)) < len(self.features):
            reject(owner, "classes", "different names", list(features))

    @property
    def width(self) -> int:
        """How many slots a round has: one per feature, and one for all together if several."""
        return len(self.features) + (len(self.features) > 1)

    def labels(self, owner: str, given: Mapping[str, object]) -> tuple[Label, ...]:
        """Return the labels of a round in the order of the features."""
        if not given and not self.features:
            return ()
        if set(given) != set(self.features):
            reject(owner, "classes", self._expected(), given, error=InvalidContextError)
        return tuple(self._label(owner, name, given[name]) for name in self.features)

    def _expected(self) -> str:
        if not self.features:
            return "left out: this one has none"
        return f"a label for each of {', '.join(self.features)}"

    def _label(self, owner: str, name: str, label: object) -> Label:
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, str | int):
            reject(owner, name, "a text or an integer", label, error=InvalidContextError)
        if isinstance(label, int):
            if not -(2**63) <= label < 2**63:
                reject(owner, name, "an integer of 64 bits", label, error=InvalidContextError)
        elif not label.isascii() and any("\ud800" <= one <= "\udfff" for one in label):
            reject(owner, name, "a text that UTF-8 can hold", label, error=InvalidContextError)
        return label

    def slots(self, labels: tuple[Label, ...], *, new: bool = False) -> Integers:
        """Return the slots of a round, -1 where a level has none; with `new`, it is given one.

        The array must not be changed: it may be returned again.
        """
        whole = self._whole.get(labels)
        if whole is not None:
            return whole
        out = np.full(max(self.width, 1), -1)
        kept = tuple(map(short, labels))
        for i in range(len(kept)):
            out[i] = self._slot(i, kept[i : i + 1], new=new)
        if len(kept) > 1:
            out[len(kept)] = self._slot(JOINT, kept, new=new)
        if not labels or (out >= 0).all():
            if len(self._whole) >= _MOST_KEPT:
                self._whole.clear()
            self._whole[labels] = out
        return out

    def _slot(self, feature: int, labels: tuple[Label, ...], *, new: bool) -> int:
        slot = self._slots.get((feature, labels))
        if slot is not None:
            return slot
        if len(self._slots) >= self.limit:
            return zlib.crc32(repr((feature, labels)).encode()) % self.limit
        if not new:
            return -1
        self._slots[feature, labels] = len(self._slots)
        return len(self._slots) - 1

    def table(
        self, columns: Mapping[str, npt.ArrayLike], count: int, *, new: bool = True
    ) -> Integers:
        """Return the slots of many rounds, (count, width).

        With `new`, levels that have none are given slots, in the order of the rounds.
        """
        if set(columns) != set(self.features):
            reject("play", "classes", self._expected(), sorted(columns))
        if not self.features:
            return np.full((count, 1), -1)
        codes, names = [], []
        for feature in self.features:
            column = np.asarray(columns[feature])
            if column.shape != (count,):
                reject("play", feature, f"an array of {count} labels", column.shape)
            found, code = np.unique(column, return_inverse=True)
            names.append([self._label("play", feature, label) for label in found])
            codes.append(code)
        combined = np.stack(codes, axis=1)
        kinds, first, inverse = np.unique(combined, axis=0, return_index=True, return_inverse=True)
        rows = np.empty((len(kinds), self.width), dtype=np.int64)
        for i in np.argsort(first):
            labels = tuple(names[f][code] for f, code in enumerate(kinds[i]))
            rows[i] = self.slots(labels, new=new)
        table: Integers = rows[inverse.reshape(-1)]
        return table

    def entries(self) -> list[tuple[int, list[Label]]]:
        """Return the levels in the order of their slots, in a form that JSON can hold."""
        return [(feature, list(labels)) for feature, labels in self._slots]

    def restore(self, entries: Sequence[tuple[int, Sequence[Label]]]) -> None:
        """Take over levels from `entries()`."""
        if len(entries) > self.limit:
            reject(self._owner, "levels", f"at most {self.limit} levels", len(entries))
        self._slots = {}
        self._whole = {}
        for feature, labels in entries:
            size = len(self.features) if feature == JOINT else 1
            known = feature == JOINT or 0 <= feature < len(self.features)
            if not known or len(labels) != size:
                reject(self._owner, "levels", "levels of the features", (feature, labels))
            self._slots[feature, tuple(map(short, labels))] = len(self._slots)

    def matched(self, other: Levels) -> Integers:
        """Return, for each slot of `other`, the slot of the same level here; new ones are given."""
        return np.array(
            [self._slot(feature, labels, new=True) for feature, labels in other._slots],
            dtype=np.int64,
        )

    def copy(self) -> Levels:
        """Return the same levels, to be added to independently."""
        made = Levels(self._owner, self.features, self.limit)
        made._slots = dict(self._slots)
        return made
