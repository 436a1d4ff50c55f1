"""Give keys to the features of rounds: to levels of categories, and to numbers.

A key is an integer of 63 bits. That of a level, a text or an integer, is a hash, at least 0. That
of a number, a float, is below -1: the larger the number, the lower its key. Nothing is remembered,
so there may be any number of levels, and all learners and tokens give the same keys.
"""

from __future__ import annotations

import math
import re
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.validation import reject
from crossbandit.errors import InvalidContextError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Integers

Label = str | int | float | bool | None
NOTHING = -1  # in place of a key: as if there were no such feature
_MOST_KEPT = 10_000
_LONGEST = 4  # bytes; a longer text is stored as a hash
_HASH = re.compile("#[0-9a-f]{8}")
_FACTOR, _MASK = 1_000_003, 2**62 - 1
_HALF = 2**61
_DOUBLE, _WORD, _SINGLE = struct.Struct("<d"), struct.Struct("<q"), struct.Struct("<f")
_MOST = float(np.finfo(np.float32).max)


def short(label: Label) -> Label:
    """Return the label that a token has: a text of more than 4 bytes becomes a hash.

    A number is rounded to 32 bits.

    >>> short("tv"), short("www.example.com") == short(short("www.example.com"))
    ('tv', True)
    """
    if isinstance(label, float):
        return _rounded(label)
    if not isinstance(label, str) or len(label.encode()) <= _LONGEST or _HASH.fullmatch(label):
        return label
    return "#" + blake2b(label.encode(), digest_size=4).hexdigest()


def _rounded(number: float) -> float:
    return _SINGLE.unpack(_SINGLE.pack(min(max(number, -_MOST), _MOST)))[0]  # type: ignore[no-any-return]


def checked_label(owner: str, name: str, label: object) -> Label:
    """Return a level or a number that can be kept in a token and in a file; None for NaN."""
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or label != label:  # noqa: PLR0124 - NaN
        return None
    if not isinstance(label, str | int | float):
        expected = "a text, an integer, a float, or None"
        reject(owner, name, expected, label, error=InvalidContextError)
    if isinstance(label, float):
        if math.isinf(label):
            reject(owner, name, "a finite number", label, error=InvalidContextError)
    elif isinstance(label, int):
        if not -(2**63) <= label < 2**63:
            reject(owner, name, "an integer of 64 bits", label, error=InvalidContextError)
    elif not label.isascii() and any("\ud800" <= one <= "\udfff" for one in label):
        reject(owner, name, "a text that UTF-8 can hold", label, error=InvalidContextError)
    return label


def key_of(label: Label) -> int:
    """Return the key of a label.

    >>> key_of(2.5) < key_of(-0.5) < -1 < key_of("2.5"), key_of(1) == key_of(True)
    (True, True)
    """
    if isinstance(label, float):
        bits: int = _WORD.unpack(_DOUBLE.pack(_rounded(label)))[0]
        ordered = bits if bits >= 0 else -(bits & (2**63 - 1))
        return -2 - _HALF - (ordered >> 2)
    text = f"t{short(label)}" if isinstance(label, str) else f"{label if label is None else +label}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> 2


class Levels:
    """The features of a law, and the keys of their levels and numbers.

    >>> levels = Levels("example", ["site", "floor"])
    >>> keys = levels.slots(("a.com", 0.5))
    >>> bool(keys[0] >= 0), bool(keys[1] < -1), keys.size
    (True, True, 3)
    """

    def __init__(self, owner: str, features: Sequence[str]) -> None:
        self.features = tuple(features)
        self._names = frozenset(self.features)
        self._levels: dict[str, int] = {}  # keys of texts
        self._integers: dict[int, int] = {}
        for name in self.features:
            if not str(name).isidentifier():
                reject(owner, "classes", "names of features", name)
        if len(self._names) < len(self.features):
            reject(owner, "classes", "different names", list(features))

    def labels(self, owner: str, given: Mapping[str, object]) -> tuple[Label, ...]:
        """Return the labels of a round in the order of the features."""
        if not given and not self.features:
            return ()
        if given.keys() != self._names:
            reject(owner, "classes", self._expected(), given, error=InvalidContextError)
        return tuple(checked_label(owner, name, given[name]) for name in self.features)

    def _expected(self) -> str:
        if not self.features:
            return "left out: this one has none"
        return f"a level or a number for each of {', '.join(self.features)}; None if it is unknown"

    def named(self, labels: tuple[Label, ...]) -> tuple[Label, ...]:
        """Return the labels of a round with the texts of those that a token has as a hash.

        Only texts that were given here are known; the hashes of others stay.
        """
        hashes = {one for one in labels if isinstance(one, str) and _HASH.fullmatch(one)}
        texts: dict[Label, str] = {}
        if hashes:
            texts = {short(text): text for text in self._levels if text not in hashes}
        return tuple(texts.get(one, one) if one in hashes else one for one in labels)

    def slots(self, labels: tuple[Label, ...]) -> Integers:
        """Return the keys of a round, and last that of all levels together; (features + 1,)."""
        keys: list[int] = []
        together = 0
        for label in labels:
            key = self._key(label)
            keys.append(key)
            together = (together * _FACTOR ^ max(key, 0)) & _MASK
        return np.array([*keys, together if keys else -1], dtype=np.int64)

    def _key(self, label: Label) -> int:
        """Return the key of a label; those of the latest levels are kept."""
        if isinstance(label, float) or label is None:
            return key_of(label)
        kept: Any = self._levels if isinstance(label, str) else self._integers
        key: int | None = kept.get(label)
        if key is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            key = kept[label] = key_of(label)
        return key

    def table(self, columns: Mapping[str, npt.ArrayLike], count: int) -> Integers:
        """Return the keys of `count` rounds, (count, features + 1), from a column per feature."""
        if columns.keys() != self._names:
            reject("play", "classes", self._expected(), sorted(columns))
        table = np.full((count, len(self.features) + 1), -1)
        together = np.zeros(count, dtype=np.uint64)
        for i, feature in enumerate(self.features):
            column = np.asarray(columns[feature])
            if column.shape != (count,):
                reject("play", feature, f"an array of {count} labels", column.shape)
            table[:, i] = self._column(feature, column)
            known = np.maximum(table[:, i], 0).astype(np.uint64)
            together = (together * np.uint64(_FACTOR) ^ known) & np.uint64(_MASK)
        if self.features:
            table[:, -1] = together
        return table

    def _column(self, feature: str, column: npt.NDArray[Any]) -> Integers:
        if column.dtype.kind == "f":
            if np.isinf(column).any():
                reject("play", feature, "finite numbers", column, error=InvalidContextError)
            single = np.clip(column, -_MOST, _MOST).astype(np.float32)
            bits = single.astype(np.float64).view(np.int64)
            ordered = np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1)))
            keys: Integers = -2 - _HALF - (ordered >> 2)
            keys[np.isnan(column)] = key_of(None)
            return keys
        if column.dtype != object:
            found, codes = np.unique(column, return_inverse=True)
            names, places = found.tolist(), np.asarray(codes, dtype=np.int64)
        else:  # 1, 1.0 and True are different, but equal
            given: dict[Any, int] = {}
            pairs = ((type(label), label) for label in column)
            places = np.array([given.setdefault(one, len(given)) for one in pairs], dtype=np.int64)
            names = [label for _, label in given]
        labels = (checked_label("play", feature, name) for name in names)
        known = np.array([self._key(label) for label in labels], dtype=np.int64)
        return known[places]
