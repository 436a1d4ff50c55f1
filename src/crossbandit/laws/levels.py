"""Give numbers to the levels of categorical features, in the order in which they first occur."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidContextError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.types import Integers

Label = str | int | bool
_MOST_KEPT = 10_000
_HELD = 2**61  # more than any number of uses: the place is not given away
JOINT = -1  # the number that stands for all features together
_LONGEST = 7  # bytes; a longer text is stored as a hash
_HASH = re.compile("#[0-9a-f]{16}")
_Level = tuple[int, tuple[Label, ...]]  # the feature, or JOINT, and the labels


def short(label: Label) -> Label:
    """Return the label under which a level is stored: a text of more than 7 bytes becomes a hash.

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

    A level is given a *place* when it is first learned from. There are `limit` places. If all are
    taken, a new level gets the place of the level that has been used least, and its count of uses
    is that of the old level plus one (the "space saving" algorithm). So each level with more than
    N / limit of N uses has a place, and a level that is not used any more loses its place to new
    ones. The *number* of a level is its place, plus `limit` for each level that had the place
    before.

    Long names are stored as hashes, as in tokens.

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
        self._numbers: dict[_Level, int] = {}
        self._levels: list[_Level] = []  # by place
        self._uses = np.zeros(limit, dtype=np.int64)
        self._given: list[int] = []  # the number of each place
        self._whole: dict[
            tuple[Label, ...], tuple[Integers, list[int]]
        ] = {}  # by all labels of a round
        for name in self.features:
            if not str(name).isidentifier():
                reject(owner, "classes", "names of features", name)
        if len(set(self.features)) < len(self.features):
            reject(owner, "classes", "different names", list(features))

    @property
    def width(self) -> int:
        """How many slots a round has: one per feature, and one for the combination of several."""
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
        """Return the numbers of a round, -1 where a level has none.

        With `new`, the round is learned from: levels without a place are given one, and all count
        as used. The array must not be changed: it may be returned again.
        """
        kept = self._whole.get(labels)
        if kept is not None and all(self._given[n % self.limit] == n for n in kept[1]):
            if new:
                for number in kept[1]:
                    self._uses[number % self.limit] += 1
            return kept[0]
        whole = np.full(max(self.width, 1), -1)
        levels = self._of(labels)
        whole[: len(levels)] = [self._numbers.get(level, -1) for level in levels]
        if new:
            self._use(levels, whole)
        numbers = whole.tolist() if labels else []
        if min(numbers, default=0) >= 0:
            if len(self._whole) >= _MOST_KEPT:
                self._whole.clear()
            self._whole[labels] = whole, numbers
        return whole

    def _of(self, labels: tuple[Label, ...]) -> list[_Level]:
        """Return the levels of a round, and their combination if there are several."""
        kept = tuple(map(short, labels))
        found: list[_Level] = [(i, (label,)) for i, label in enumerate(kept)]
        return [*found, (JOINT, kept)] if len(kept) > 1 else found

    def _use(self, levels: list[_Level], numbers: Integers) -> None:
        """Count the levels of a round as used; those without a place are given one, in `numbers`.

        Levels of the same round do not take places from each other.
        """
        if len(levels) == 1:
            numbers[0] = self._number(levels[0], 1)
            return
        held = [number % self.limit for number in numbers.tolist() if number >= 0]
        self._uses[held] += _HELD + 1
        for i, level in enumerate(levels):
            if numbers[i] < 0:
                numbers[i] = self._number(level, 1)
                if numbers[i] >= 0:
                    held.append(int(numbers[i]) % self.limit)
                    self._uses[held[-1]] += _HELD
        self._uses[held] -= _HELD

    def _number(self, level: _Level, uses: int | None) -> int:
        """Return the number of a level, or -1.

        uses: how many uses are added. A level without a place is given one; with 0 uses, only
        while there is room. None: the number is only looked up, and nothing changes.
        """
        number = self._numbers.get(level, -1)
        if uses is None:
            return number
        if number < 0:
            place = len(self._levels)
            if place == self.limit:
                place = int(self._uses.argmin())
                if uses == 0 or self._uses[place] >= _HELD:
                    return -1
            number = self._give(place, level)
        self._uses[number % self.limit] += uses
        return number

    def _give(self, place: int, level: _Level) -> int:
        """Give a place to a level, and return its number."""
        number = place
        if place == len(self._levels):
            self._levels.append(level)
            self._given.append(number)
        else:
            number = self._numbers.pop(self._levels[place]) + self.limit
            self._levels[place], self._given[place] = level, number
        self._numbers[level] = number
        return number

    def table(
        self,
        columns: Mapping[str, npt.ArrayLike],
        count: int,
        *,
        new: bool = True,
        used: bool = True,
    ) -> Integers:
        """Return the numbers of many rounds, (count, width).

        With `new`, levels without a number are given one, in the order of the rounds. If the rounds
        are not `used`, this is done only while there is room.
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
        kinds, first, inverse, rounds = np.unique(
            combined, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        labels = [tuple(names[f][code] for f, code in enumerate(kind)) for kind in kinds]
        inverse = inverse.reshape(-1)
        if new and used and not self._has_room(labels):
            one_by_one = [self.slots(labels[kind], new=True) for kind in inverse.tolist()]
            return np.array(one_by_one, dtype=np.int64)
        rows = np.empty((len(kinds), self.width), dtype=np.int64)
        for i in np.argsort(first):
            uses = (int(rounds[i]) if used else 0) if new else None
            rows[i] = [self._number(level, uses) for level in self._of(labels[i])]
        table: Integers = rows[inverse]
        return table

    def _has_room(self, labels: Sequence[tuple[Label, ...]]) -> bool:
        """Return whether there are places for all levels of some rounds."""
        if len(self._levels) + self.width * len(labels) <= self.limit:
            return True
        found = {level for one in labels for level in self._of(one)}
        return len(self._levels) + len(found - self._numbers.keys()) <= self.limit

    def entries(self) -> list[tuple[int, list[Label], int, int]]:
        """Return feature, labels, number and uses of all places, in a form that JSON can hold."""
        return [
            (level[0], list(level[1]), self._numbers[level], int(self._uses[place]))
            for place, level in enumerate(self._levels)
        ]

    def restore(self, entries: Sequence[Sequence[Any]]) -> None:
        """Replace the levels by those that `entries()` returned."""
        if len(entries) > self.limit:
            reject(self._owner, "levels", f"at most {self.limit} levels", len(entries))
        self._numbers, self._levels, self._given, self._whole = {}, [], [], {}
        self._uses[:] = 0
        for place, entry in enumerate(entries):
            if len(entry) != 4:
                reject(self._owner, "levels", "feature, labels, number and uses", entry)
            feature, labels, number, uses = entry
            size = len(self.features) if feature == JOINT else 1
            known = feature == JOINT or 0 <= feature < len(self.features)
            level = (feature, tuple(map(short, labels)))
            right = isinstance(number, int) and isinstance(uses, int) and 0 <= uses < _HELD
            if not known or len(labels) != size or level in self._numbers or not right:
                reject(self._owner, "levels", "levels of the features", entry)
            if number % self.limit != place or not 0 <= number < _HELD:
                reject(self._owner, "levels", "numbers that tell the place", number)
            self._levels.append(level)
            self._given.append(number)
            self._numbers[level] = number
            self._uses[place] = uses

    def matched(self, other: Levels) -> Integers:
        """Return the number here of each level of `other`, by its place; -1 if there is no room."""
        found = [self._number(level, 0) for level in other._levels]
        return np.array(found, dtype=np.int64)

    @property
    def features_of_places(self) -> Integers:
        """The feature of the level at each place; of a combination, the number of features."""
        found = [len(self.features) if one == JOINT else one for one, _ in self._levels]
        return np.array(found + [0] * (self.limit - len(found)), dtype=np.int64)

    @property
    def numbers(self) -> Integers:
        """The number of the level at each place."""
        return np.array(self._given, dtype=np.int64)

    def merge(self, other: Levels) -> tuple[Integers, Integers]:
        """Add the uses of other levels. If there are too few places, the most used levels stay.

        Returns:
            The new numbers of these levels, and those of the other levels, each by the place that
            the level had before; -1 for a level without a place.
        """
        before = list(self._levels)
        total = {level: int(self._uses[place]) for place, level in enumerate(before)}
        for place, level in enumerate(other._levels):
            total[level] = total.get(level, 0) + int(other._uses[place])
        kept = set(sorted(total, key=lambda level: -total[level])[: self.limit])
        free = [place for place, level in enumerate(before) if level not in kept]
        free += range(len(before), self.limit)
        for level in total:
            if level in kept and level not in self._numbers:
                self._give(free.pop(0), level)
        self._uses[: len(self._levels)] = [total[level] for level in self._levels]
        mine, theirs = (
            np.array([self._numbers.get(level, -1) for level in levels], dtype=np.int64)
            for levels in (before, other._levels)
        )
        return mine, theirs

    def copy(self) -> Levels:
        """Return an independent copy."""
        made = Levels(self._owner, self.features, self.limit)
        made._numbers, made._levels = dict(self._numbers), list(self._levels)
        made._given, made._uses = list(self._given), self._uses.copy()
        return made
