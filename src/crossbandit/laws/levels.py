"""Give numbers to the levels of categorical features, in the order in which they first occur."""

from __future__ import annotations

import re
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.steps import at_once
from crossbandit.core.validation import reject
from crossbandit.errors import InvalidContextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.core.types import Integers

Label = str | int | bool
_MOST_KEPT = 10_000
_MOST_USES = 2**61  # more than there are
JOINT = -1  # the number that stands for all features together
_LONGEST = 7  # bytes; a longer text is stored as a hash
_HASH = re.compile("#[0-9a-f]{16}")
_Level = tuple[int, tuple[Label, ...]]  # the feature, or JOINT, and the labels


def short(label: Label) -> Label:
    """Return the label under which a level is stored: a text of more than 7 bytes becomes a hash.

    >>> short("phone"), short("www.example.com") == short(short("www.example.com"))
    ('phone', True)
    """
    if not isinstance(label, str) or len(label.encode()) <= _LONGEST or _HASH.fullmatch(label):
        return label
    return "#" + blake2b(label.encode(), digest_size=8).hexdigest()


def checked_label(owner: str, name: str, label: object) -> Label:
    """Return a label that can be kept in a token and in a file."""
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
        self.uses = np.zeros(limit, dtype=np.int64)
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
        return tuple(checked_label(owner, name, given[name]) for name in self.features)

    def _expected(self) -> str:
        if not self.features:
            return "left out: this one has none"
        return f"a label for each of {', '.join(self.features)}"

    def slots(self, labels: tuple[Label, ...], *, new: bool = False, used: bool = True) -> Integers:
        """Return the numbers of a round, -1 where a level has none.

        With `new`, the round is learned from: levels without a place are given one, and all count
        as `used`, unless a kernel counts them. The array must not be changed: it may be returned
        again.
        """
        kept = self._whole.get(labels)
        if kept is not None and all(self._given[n % self.limit] == n for n in kept[1]):
            if new and used:
                for number in kept[1]:
                    self.uses[number % self.limit] += 1
            return kept[0]
        whole = np.full(max(self.width, 1), -1)
        levels = self._of(labels)
        whole[: len(levels)] = [self._numbers.get(level, -1) for level in levels]
        if new:
            held = self._place(levels, whole)
            self.uses[held] += int(used)
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

    def _place(self, levels: list[_Level], numbers: Integers) -> list[int]:
        """Give places to the levels of a round that have none, in `numbers`; return all places.

        Levels of the same round do not take places from each other.
        """
        held = [number % self.limit for number in numbers.tolist() if number >= 0]
        for i, level in enumerate(levels):
            if numbers[i] < 0:
                place = len(self._levels)
                if place == self.limit:
                    uses = self.uses.copy()
                    uses[held] = _MOST_USES
                    place = int(uses.argmin())
                if place not in held:
                    numbers[i] = self._give(place, level)
                    held.append(place)
        return held

    def _number(self, level: _Level, *, new: bool) -> int:
        """Return the number of a level, or -1. If it is `new`, it is given a place if one is free.

        A new level has no uses. They are counted later, so that an interrupt between the two does
        not count any twice.
        """
        number = self._numbers.get(level, -1)
        if number < 0 and new and len(self._levels) < self.limit:
            number = self._give(len(self._levels), level)
        return number

    def _give(self, place: int, level: _Level) -> int:
        """Give a place to a level, and return its number."""
        if place == len(self._levels):
            number = place
            at_once(
                partial(self._levels.append, level),
                partial(self._given.append, number),
                partial(self._numbers.__setitem__, level, number),
            )
            return number
        old = self._levels[place]
        number = self._numbers[old] + self.limit
        at_once(
            partial(self._numbers.pop, old),
            partial(self._levels.__setitem__, place, level),
            partial(self._given.__setitem__, place, number),
            partial(self._numbers.__setitem__, level, number),
        )
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
        table, later = self.planned(columns, count, new=new, used=used)
        if later is not self:
            at_once(*self.taking(later))
        elif new and used:
            self.uses += np.bincount(table[table >= 0] % self.limit, minlength=self.limit)
        return table

    def planned(
        self,
        columns: Mapping[str, npt.ArrayLike],
        count: int,
        *,
        new: bool = True,
        used: bool = True,
    ) -> tuple[Integers, Levels]:
        """Return what `table` returns, without counting uses.

        If there are too few places, who gets one depends on the uses. Then these are counted in a
        copy of the levels, and that is returned, too; `taking` takes it over. Otherwise these
        levels themselves are returned.
        """
        if set(columns) != set(self.features):
            reject("play", "classes", self._expected(), sorted(columns))
        if not self.features:
            return np.full((count, 1), -1), self
        codes, names = [], []
        for feature in self.features:
            column = np.asarray(columns[feature])
            if column.shape != (count,):
                reject("play", feature, f"an array of {count} labels", column.shape)
            found, code = _numbered(column)
            names.append([checked_label("play", feature, label) for label in found])
            codes.append(code)
        combined = np.stack(codes, axis=1)
        kinds, first, inverse = np.unique(combined, axis=0, return_index=True, return_inverse=True)
        labels = [tuple(names[f][code] for f, code in enumerate(kind)) for kind in kinds]
        inverse = inverse.reshape(-1)
        if new and used and not self._has_room(labels):
            later = self.copy()
            one_by_one = [later.slots(labels[kind], new=True) for kind in inverse.tolist()]
            return np.array(one_by_one, dtype=np.int64), later
        rows = np.empty((len(kinds), self.width), dtype=np.int64)
        for i in np.argsort(first):
            rows[i] = [self._number(level, new=new) for level in self._of(labels[i])]
        table: Integers = rows[inverse]
        return table, self

    def taking(self, other: Levels) -> list[Callable[[], Any]]:
        """Return the steps that take over the levels and uses of a copy; see `at_once`."""
        names = ("_numbers", "_levels", "_given")
        return [
            partial(vars(self).update, {name: vars(other)[name] for name in names}),
            partial(self.uses.__setitem__, slice(None), other.uses),
        ]

    def _has_room(self, labels: Sequence[tuple[Label, ...]]) -> bool:
        """Return whether there are places for all levels of some rounds."""
        if len(self._levels) + self.width * len(labels) <= self.limit:
            return True
        found = {level for one in labels for level in self._of(one)}
        return len(self._levels) + len(found - self._numbers.keys()) <= self.limit

    def entries(self) -> list[tuple[int, list[Label], int, int]]:
        """Return feature, labels, number and uses of all places, in a form that JSON can hold."""
        return [
            (level[0], list(level[1]), self._numbers[level], int(self.uses[place]))
            for place, level in enumerate(self._levels)
        ]

    def restore(self, entries: Sequence[Sequence[Any]]) -> None:
        """Replace the levels by those that `entries()` returned."""
        if len(entries) > self.limit:
            reject(self._owner, "levels", f"at most {self.limit} levels", len(entries))
        self._numbers, self._levels, self._given, self._whole = {}, [], [], {}
        self.uses[:] = 0
        for place, entry in enumerate(entries):
            if len(entry) != 4:
                reject(self._owner, "levels", "feature, labels, number and uses", entry)
            feature, labels, number, uses = entry
            size = len(self.features) if feature == JOINT else 1
            known = feature == JOINT or 0 <= feature < len(self.features)
            level = (feature, tuple(map(short, labels)))
            right = isinstance(number, int) and isinstance(uses, int) and 0 <= uses < _MOST_USES
            if not known or len(labels) != size or level in self._numbers or not right:
                reject(self._owner, "levels", "levels of the features", entry)
            if number % self.limit != place or not 0 <= number < _MOST_USES:
                reject(self._owner, "levels", "numbers that tell the place", number)
            self._levels.append(level)
            self._given.append(number)
            self._numbers[level] = number
            self.uses[place] = uses

    def matched(self, other: Levels) -> Integers:
        """Return the number here of each level of `other`, by its place; -1 if there is no room."""
        found = [self._number(level, new=True) for level in other._levels]
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
        """Add the uses of other levels. If there are too few places, the most used levels stay."""
        before = list(self._levels)
        total = {level: int(self.uses[place]) for place, level in enumerate(before)}
        for place, level in enumerate(other._levels):
            total[level] = total.get(level, 0) + int(other.uses[place])
        kept = set(sorted(total, key=lambda level: -total[level])[: self.limit])
        free = [place for place, level in enumerate(before) if level not in kept]
        free += range(len(before), self.limit)
        for level in total:
            if level in kept and level not in self._numbers:
                self._give(free.pop(0), level)
        self.uses[: len(self._levels)] = [total[level] for level in self._levels]
        mine, theirs = (
            np.array([self._numbers.get(level, -1) for level in levels], dtype=np.int64)
            for levels in (before, other._levels)
        )
        return mine, theirs

    def copy(self) -> Levels:
        """Return an independent copy."""
        made = Levels(self._owner, self.features, self.limit)
        made._numbers, made._levels = dict(self._numbers), list(self._levels)
        made._given, made.uses = list(self._given), self.uses.copy()
        return made


def _numbered(column: npt.NDArray[Any]) -> tuple[Sequence[Any], Integers]:
    """Return the different labels of a column, and the place of each row's label among them."""
    if column.dtype != object:
        found, codes = np.unique(column, return_inverse=True)
        return found.tolist(), np.asarray(codes, dtype=np.int64)
    given: dict[Label, int] = {}
    places = np.array([given.setdefault(label, len(given)) for label in column], dtype=np.int64)
    return list(given), places
