"""Open a log: find its files, its format and its columns; join and sort it where that is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.errors import LogError
from crossbandit.logs.columns import ROLES
from crossbandit.logs.formats import EXCHANGES, find_format, with_names
from crossbandit.logs.layout import KINDS, recognize_file
from crossbandit.logs.notices import JOINED, join_notices
from crossbandit.logs.recognize import recognize
from crossbandit.logs.staging import sorted_copy
from crossbandit.validation import reject

if TYPE_CHECKING:
    from crossbandit.logs.columns import Columns
    from crossbandit.logs.formats import Format
    from crossbandit.logs.log import AuctionLog
    from crossbandit.logs.source import Source


class OpenedSource(NamedTuple):
    """A source, and where its columns are.

    Attributes:
        source: The files, or a copy of them.
        places: The indices of columns by their roles.
        class_places: The indices of class columns by their names.
        order: The indices of the columns "by" and "sort_by".
        remarks: What the format made of the lines.
        ties: What the format says about a bid that equals the price.
    """

    source: Source
    places: dict[str, int]
    class_places: dict[str, int]
    order: dict[str, int]
    remarks: tuple[str, ...] = ()
    ties: str | None = None

    def moved(self, source: Source, kept: Sequence[int], first: int = 0) -> OpenedSource:
        """Return this for a copy that has the columns `kept`, from the index `first` on."""
        new = {place: first + i for i, place in enumerate(kept)}
        places, class_places, order = (
            {name: new[place] for name, place in some.items()}
            for some in (self.places, self.class_places, self.order)
        )
        return OpenedSource(source, places, class_places, order, self.remarks, self.ties)


def open_log(log: AuctionLog) -> OpenedSource:
    """Return the source of a log and the places of its columns.

    Args:
        log: The log, whose arguments have been checked.

    Returns:
        What is needed to read it.

    Raises:
        LogError: A file is missing or unreadable, or a column is not found.
        InvalidParameterError: The data or the classes are invalid.
    """
    kind = log.format if log.format in KINDS else None
    source = recognize(log.data, kind, partitions=log.partitions)
    form = find_format(log.format, source)
    if form is None:
        _refuse_options_of_exchanges(log, source)
        columns = source.columns
        opened = OpenedSource(
            source, _roles(log, columns), _classes(log, columns), _order(log, columns)
        )
    else:
        opened = _join(log, form, source)
    if not opened.order:
        return opened
    kept = _unique(opened.places, opened.class_places, opened.order)
    by, sort = opened.order.get("by"), opened.order.get("sort_by")
    copied = sorted_copy(opened.source, kept, by=by, sort=sort, timezone=log.timezone)
    return opened.moved(copied, kept)


def _refuse_options_of_exchanges(log: AuctionLog, source: Source) -> None:
    given = [name for name in ("currency", "price_losses") if getattr(log, name) is not None]
    if given:
        option = {"currency": "--currency", "price_losses": "--price-loss"}[given[0]]
        raise LogError(
            f"{source.name} is not read as notices of an exchange, so {option} ({given[0]}=... in "
            f"Python) means nothing. Leave it out, or give the format: {', '.join(EXCHANGES)}."
        )


def _join(log: AuctionLog, form: Format, source: Source) -> OpenedSource:
    """Read the lines of an exchange, and go on with a copy that has one row per auction."""
    if source.frame is None and "url" in form.fields:
        files = (recognize_file(file.path, notices=True) for file in source.files)
        source = replace(source, files=tuple(files))
    source = replace(source, files=tuple(map(with_names, source.files)), lenient=True)
    columns = source.columns
    asked = {role: columns.find(one, role) for role, one in log.columns.items()}
    further = {role: place for role, place in asked.items() if role not in JOINED}
    opened = OpenedSource(source, further, _classes(log, columns), _order(log, columns))
    kept = _unique(further, opened.class_places, opened.order)
    joined = join_notices(
        source,
        form,
        own={role: place for role, place in asked.items() if role in JOINED},
        kept=kept,
        price_codes=None if log.price_losses is None else [str(one) for one in log.price_losses],
        currency=log.currency,
        timezone=log.timezone,
    )
    moved = opened.moved(joined.source, kept, len(JOINED))
    places = {role: i for i, role in enumerate(JOINED) if role in joined.found}
    return moved._replace(places=places | moved.places, remarks=joined.remarks, ties=joined.ties)


def _roles(log: AuctionLog, columns: Columns) -> dict[str, int]:
    asked = {role: columns.find(log.columns[role], role) for role in ROLES if role in log.columns}
    places = {"value": asked["value"] if "value" in asked else columns.find(None, "value")}
    price = asked.get("price", columns.guess("price") if "won" in asked else None)
    if price is not None or "won" not in asked:
        places["price"] = columns.find(None, "price") if price is None else price
    places |= {role: place for role, place in asked.items() if role not in places}
    for (one, place), (other, same) in combinations(places.items(), 2):
        if place == same:
            raise LogError(
                f"The {ROLES[one]} and the {ROLES[other]} cannot both be column "
                f"{columns.label(place)}."
            )
    return places


def _classes(log: AuctionLog, columns: Columns) -> dict[str, int]:
    classes: object = log.classes
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        reject(type(log).__name__, "classes", "a list of columns", classes)
    found = [columns.find(one, "class") for one in classes]
    if len(set(found)) < len(found):
        reject(type(log).__name__, "classes", "different columns", classes)
    return {columns.shown(place): place for place in found}


def _order(log: AuctionLog, columns: Columns) -> dict[str, int]:
    wanted = {"by": log.by, "sort_by": log.sort_by}
    return {name: columns.find(one, name) for name, one in wanted.items() if one is not None}


def _unique(*places: Mapping[str, int]) -> list[int]:
    """Return all columns that are named, each once."""
    return list(dict.fromkeys(place for some in places for place in some.values()))
