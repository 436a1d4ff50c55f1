"""Read the file with the bidders of `crossbandit serve`, and create these bidders."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crossbandit.errors import InvalidInputError, InvalidParameterError
from crossbandit.service.causes import BidderExistsError
from crossbandit.service.settings import BidderSettings, checked_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.service.node import Node

_log = logging.getLogger("crossbandit.service")

EXAMPLE = {"example": BidderSettings(value_range=(0.0, 10.0))}
_FORM = "A bidder is a table such as: [bidders.example] value_range = [0, 10]"


def read_bidders(path: str | Path) -> dict[str, BidderSettings]:
    """Return the settings of the bidders of a file, by name.

    The file is TOML, with a table `[bidders.NAME]` for each bidder, whose keys are the fields of
    `BidderSettings`.

    Args:
        path: The file.

    Raises:
        InvalidParameterError: The file is not valid. The message names the file, the table and
            the key.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidParameterError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidParameterError(f"{file} is not UTF-8 text. {_FORM}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameterError(f"{file} is not valid TOML: {error}.") from None
    tables = content.pop("bidders", None)
    if content:
        raise InvalidParameterError(f"{file} has an unknown key {next(iter(content))!r}. {_FORM}")
    if not isinstance(tables, dict) or not tables:
        raise InvalidParameterError(f"{file} has no bidders. {_FORM}")
    return {name: _settings(file, name, tables[name]) for name in tables}


def _settings(file: Path, name: str, table: object) -> BidderSettings:
    where = f"{file}, table [bidders.{name}]"
    try:
        checked_name("bidders", name)
        settings = msgspec.convert(table, BidderSettings)
        settings.build()  # check the whole file before anything is stored
    except msgspec.ValidationError as error:
        # msgspec names a place like this: "... - at `$.budget.amount`".
        message, _, place = str(error).partition(" - at `$.")
        key = f", key {place.rstrip('`')!r}" if place else ""
        raise InvalidParameterError(f"{where}{key}: {message}.") from None
    except InvalidInputError as error:
        raise InvalidParameterError(f"{where}: {error}") from None
    return settings


def add_bidders(
    node: Node, wanted: Mapping[str, BidderSettings], *, limits_from_file: bool = False
) -> list[str]:
    """Create the bidders that are not in the store yet.

    The limits of a bidder in the store may have been changed while it ran. So by default the limits
    in the store are kept.

    Args:
        node: The node. It must have been started.
        wanted: The settings of bidders, by name.
        limits_from_file: Whether to change the limits in the store to these.

    Returns:
        The names of the bidders that were created.

    Raises:
        InvalidParameterError: A bidder is in the store with other settings.
    """
    created = []
    there = set(node.names())
    for name, settings in wanted.items():
        if name not in there:
            try:
                node.create(name, settings)
                created.append(name)
                continue
            except BidderExistsError:  # another node has just created it
                node.directory.refresh()
        known = node.settings(name)
        others = [
            field
            for field in settings.__struct_fields__
            if getattr(settings, field) != getattr(known, field)
        ]
        if not set(others) <= {"budget", "target"}:
            raise InvalidParameterError(
                f"The bidder {name!r} is in the store with another {others[0]!r}: "
                f"{getattr(known, others[0])!r}. It has learned with this setting. Change the file "
                "back, give the new bidder another name, or delete the old one."
            )
        for field in others:
            message = (
                "The %s of the bidder %r is now %s, as in the file. It was %s."
                if limits_from_file
                else "The %s of the bidder %r is %s in the file and %s in the store. The one in "
                "the store is used. To use the one in the file, start with --limits-from-file."
            )
            _log.warning(message, field, name, getattr(settings, field), getattr(known, field))
        if others and limits_from_file:
            node.change(name, **{field: getattr(settings, field) for field in others})
    return created
