"""The file that describes bidders for `crossbandit serve`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from crossbandit.errors import InvalidInputError, InvalidParameterError
from crossbandit.service.settings import BidderSettings, checked_name

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
        # "... - at `$.budget.amount`" is how msgspec names a place.
        message, _, place = str(error).partition(" - at `$.")
        key = f", key {place.rstrip('`')!r}" if place else ""
        raise InvalidParameterError(f"{where}{key}: {message}.") from None
    except InvalidInputError as error:
        raise InvalidParameterError(f"{where}: {error}") from None
    return settings
