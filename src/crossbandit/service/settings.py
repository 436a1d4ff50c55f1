"""The settings of a bidder of the service, and the file with the bidders of `crossbandit serve`."""

from __future__ import annotations

import logging
import secrets
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.bidding.campaigns import CAMPAIGN
from crossbandit.core.validation import reject
from crossbandit.errors import InvalidInputError, InvalidParameterError
from crossbandit.limits import Budget, CostPer, ReturnOnSpend
from crossbandit.service.causes import BidderExistsError, UnknownCampaignError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crossbandit.service.node import Node


_MOST_BIDS = 15_000
_LONGEST_NAME = 200
_SHOWN = 20  # names in a message
_CHANGEABLE = {"budget", "target", "campaigns"}  # of the settings of a bidder that has learned


class Seconds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A period of some seconds, which begins with the first auction.

    Attributes:
        seconds: The length of the period.
    """

    seconds: float


Period = str | int | Seconds | None


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a limit: those of a class of `crossbandit.limits` that JSON can hold."""

    made: ClassVar[type[Budget | ReturnOnSpend | CostPer]]

    def limit(self) -> Any:
        """Return the limit."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        per = given["per"]
        if isinstance(per, Seconds):
            given["per"] = timedelta(seconds=max(-1.0, min(per.seconds, 1e9)))
        return self.made(**given)


class BudgetSettings(LimitSettings, frozen=True, forbid_unknown_fields=True):
    """A budget; see `crossbandit.limits.Budget`.

    Attributes:
        amount: The money that may be spent in each period.
        per: "hour", "day", "week" or "month"; `{"seconds": n}`; a number of auctions; or None for
            all time.
        pacing: "traffic", "even" or "asap".
        timezone: The time zone in which days begin.
        worst_case: The share of the amount by which it is exceeded if all open bids win.
        begins: When the flight begins, in seconds since 1970; None if it has begun.
        ends: When the flight ends; None if it does not.
    """

    made: ClassVar[type[Budget]] = Budget
    amount: float
    per: Period = "day"
    pacing: str = "traffic"
    timezone: str = "UTC"
    worst_case: float = 1.0
    begins: float | None = None
    ends: float | None = None


class _Target(LimitSettings, frozen=True, kw_only=True, tag_field="kind"):
    """What the settings of all targets share."""

    keep: str = "always"
    aim: str = "value"
    per: Period = None
    timezone: str = "UTC"


class ReturnOnSpendSettings(
    _Target, frozen=True, forbid_unknown_fields=True, tag="return-on-spend"
):
    """A target; see `crossbandit.limits.ReturnOnSpend`.

    Attributes:
        ratio: The least sum of values won per unit of money spent.
        keep: "always" or "long-run".
        aim: "value" or "surplus".
        per: As for `BudgetSettings`.
        timezone: As for `BudgetSettings`.
    """

    made: ClassVar[type[ReturnOnSpend]] = ReturnOnSpend
    ratio: float


class CostPerSettings(_Target, frozen=True, forbid_unknown_fields=True, tag="cost-per"):
    """A target; see `crossbandit.limits.CostPer`.

    Attributes:
        amount: The most money to spend per win, click or sale.
        worth: What a click or sale is worth; None to count wins.
        keep: "always" or "long-run".
        aim: "value" or "surplus".
        per: As for `BudgetSettings`.
        timezone: As for `BudgetSettings`.
    """

    made: ClassVar[type[CostPer]] = CostPer
    amount: float
    worth: float | None = None


TargetSettings = ReturnOnSpendSettings | CostPerSettings
Budgets = BudgetSettings | list[BudgetSettings] | None
Targets = ReturnOnSpendSettings | CostPerSettings | list[TargetSettings] | None


class CampaignSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a campaign: its own limits.

    Attributes:
        budget: A budget, several budgets, or None.
        target: A target, several targets, or None.
        paused: Whether it bids nothing.
    """

    budget: Budgets = None
    target: Targets = None
    paused: bool = False

    @property
    def limited(self) -> bool:
        """Whether there is a budget or a target."""
        return bool(self.budget or self.target)


class CampaignChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New settings of a campaign. What is left out does not change.

    Attributes:
        budget: A budget, several budgets, or null for none.
        target: A target, several targets, or null for none.
        paused: Whether it bids nothing.
    """

    budget: Budgets | msgspec.UnsetType = msgspec.UNSET
    target: Targets | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def given(self) -> dict[str, Any]:
        """What is not left out."""
        found = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: one for name, one in found.items() if one is not msgspec.UNSET}


class BidderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a bidder of the service: those of `FirstPriceBidder` that JSON can hold.

    Attributes:
        value_range: The lowest and the highest value to come; None without a grid of bids.
        bids: The amounts that may be bid, or their number; by default 100, without a grid None.
        feedback: When the highest competing bid is told; see `FirstPriceBidder`.
        reserve: The reserve price.
        ties: "win" or "lose": what happens to a bid that equals the highest competing bid.
        at_most_value: Whether bids above the value are never made.
        classes: Names of categorical features.
        guarded: Whether to guard the law with a learner that assumes nothing about prices.
        tick_size: The smallest unit of money.
        max_bid: The highest amount to bid.
        missing: What to do if outcomes of wins, or of losses, are missing more often: "refuse" does
            not learn and shows an alert, "warn" shows an alert, "accept" shows none.
        budget: A budget, several budgets, or None.
        target: A target, several targets, or None.
        campaigns: In place of both, the settings of campaigns by name. Each keeps limits of its
            own, and all learn one law. Decisions then take the name as the class "campaign".
        expires: After how many seconds a bid without an outcome counts as lost; None for never.
        horizon: The number of auctions to come, for budgets without a period.
        seed: The seed of random choices; None for a new one.

    >>> settings = BidderSettings(value_range=(0, 10), bids=11)
    >>> settings.build().bids.size
    11
    """

    value_range: tuple[float, float] | None = None
    bids: int | list[float] | None = None
    feedback: str = "after-loss"
    reserve: float = 0.0
    ties: str = "win"
    at_most_value: bool = True
    classes: tuple[str, ...] = ()
    guarded: bool = False
    tick_size: float | None = None
    max_bid: float | None = None
    missing: str = "refuse"
    budget: Budgets = None
    target: Targets = None
    campaigns: dict[str, CampaignSettings] | None = None
    expires: float | None = None
    horizon: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.bids is None and self.value_range is not None:
            msgspec.structs.force_setattr(self, "bids", 100)
        if self.campaigns is not None and CAMPAIGN not in self.classes:
            msgspec.structs.force_setattr(self, "classes", (CAMPAIGN, *self.classes))

    @property
    def limited(self) -> bool:
        """Whether the bidder has a budget or a target, or campaigns, which may get one."""
        return self.campaigns is not None or self.sets[""].limited

    @property
    def sets(self) -> dict[str, CampaignSettings]:
        """The sets of limits by campaign; without campaigns there is one, whose name is empty."""
        if self.campaigns is not None:
            return self.campaigns
        return {"": CampaignSettings(self.budget, self.target)}

    def build(self) -> FirstPriceBidder:
        """Return a new bidder with these settings.

        Raises:
            InvalidParameterError: A setting is not valid.
        """
        # Checked before the array is made.
        if isinstance(self.bids, int) and self.bids > _MOST_BIDS:
            reject("BidderSettings", "bids", f"at most {_MOST_BIDS}", self.bids)
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        given |= limits_of(self)
        given["seed"] = secrets.randbits(63) if self.seed is None else self.seed
        return FirstPriceBidder(**given)


def campaign_of(bidder: str, settings: BidderSettings, name: object) -> CampaignSettings:
    """Return the settings of a campaign of a bidder; raise if it has none of this name."""
    known = settings.campaigns or {}
    if not isinstance(name, str) or name not in known:
        raise UnknownCampaignError(
            f"The bidder {bidder!r} has no campaign {name!r}. Existing campaigns: {_named(known)}."
        )
    return known[name]


def changed(
    name: str, settings: BidderSettings, new: Mapping[str, CampaignChanges]
) -> BidderSettings:
    """Return the settings of a bidder with other limits; raise if it cannot keep them from now on.

    new: what changes, by campaign; without campaigns, of an empty name.
    """
    sets = dict(settings.sets)
    for campaign, changes in new.items():
        before, whose = sets.get(campaign), _of(name, campaign)
        if (campaign == "") != (settings.campaigns is None):
            raise InvalidParameterError(
                f"The bidder {name!r} has no campaigns, and they cannot be added later. Create "
                "another bidder with campaigns={}."
                if campaign
                else f"The limits of the bidder {name!r} are those of its campaigns. Change "
                f"these: {_named(sets)}."
            )
        if before is None:
            sets[campaign] = CampaignSettings(**changes.given)
            continue
        after = sets[campaign] = msgspec.structs.replace(before, **changes.given)
        if before.limited != after.limited:
            raise InvalidParameterError(
                f"The limits of the {whose} can be changed, but not removed. Give it a high "
                "budget instead, or create another one."
                if before.limited
                else f"The {whose} was created without limits, and limits cannot be added later. "
                "Create another one with a budget or a target."
            )
    if settings.campaigns is not None:
        return msgspec.structs.replace(settings, campaigns=sets)
    return msgspec.structs.replace(settings, budget=sets[""].budget, target=sets[""].target)


def checked_name(owner: str, name: str) -> str:
    """Return the name of a bidder, checked: it is part of addresses."""
    possible = 1 <= len(name) <= _LONGEST_NAME and name.isprintable() and "/" not in name
    if not possible or name in {".", ".."}:  # browsers and proxies remove these two from a path
        expected = f"1 to {_LONGEST_NAME} printable characters without '/', and not '.' or '..'"
        reject(owner, "name", expected, name)
    return name


def settings_from(content: bytes | str) -> BidderSettings:
    """Return settings from JSON.

    Args:
        content: The JSON of a `BidderSettings`.

    Raises:
        InvalidParameterError: The JSON is not valid. The message names the place.
    """
    try:
        return msgspec.json.decode(content, type=BidderSettings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidParameterError(f"The settings of a bidder are not valid: {error}.") from None


def limits_of(given: Any) -> dict[str, Any]:
    """Return the limits of settings, or of a change of them, as `FirstPriceBidder` takes them."""
    if getattr(given, "campaigns", None) is not None:
        return {"campaigns": {name: limits_of(one) for name, one in given.campaigns.items()}}
    return {"budget": _several(given.budget), "target": _several(given.target)}


def _several(given: Budgets | Targets) -> list[Any] | None:
    limits = given if isinstance(given, list) else [given]
    return [one.limit() for one in limits if one is not None] or None


def _named(names: Iterable[str]) -> str:
    """Return some names for a message."""
    found = sorted(names)
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return (", ".join(found[:_SHOWN]) or "none") + more


# --- the file with the bidders -------------------------------------------------------------------


_log = logging.getLogger("crossbandit.service")

EXAMPLE = {"example": BidderSettings(value_range=(0.0, 10.0))}
_FORM = "A bidder is a table such as: [bidders.example] value_range = [0, 10]"


def read_bidders(path: str | Path) -> dict[str, BidderSettings]:
    """Return the settings of the bidders of a file, by name.

    The file is TOML, with a table `[bidders.NAME]` for each bidder, whose keys are the fields of
    `BidderSettings`.
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
    """Create the bidders, and the campaigns of bidders, that are not in the store yet.

    The limits of a bidder in the store may have been changed while it ran. So by default the limits
    in the store are kept.
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
        changes = _changes(name, settings, node.settings(name), changing=limits_from_file)
        if changes:
            node.change(name, campaigns=changes)
    return created


def _changes(
    name: str, wanted: BidderSettings, known: BidderSettings, *, changing: bool
) -> dict[str, CampaignChanges]:
    """Return how the limits of a bidder in the store are changed, by campaign.

    changing: whether the limits of the file are used where they differ.
    """
    for field in wanted.__struct_fields__:
        if field not in _CHANGEABLE and getattr(wanted, field) != getattr(known, field):
            raise InvalidParameterError(
                f"The bidder {name!r} is in the store with another {field!r}: "
                f"{getattr(known, field)!r}. It has learned with this setting. Change the file "
                "back, give the new bidder another name, or delete the old one."
            )
    message = (
        "The %s of the %s is now %s, as in the file. It was %s."
        if changing
        else "The %s of the %s is %s in the file and %s in the store. The one in the store is "
        "used. To use the one in the file, start with --limits-from-file."
    )
    found = {}
    for campaign, one in wanted.sets.items():
        before, given = known.sets.get(campaign), msgspec.structs.asdict(one)
        if before is not None:
            given = {
                field: given[field]
                for field in ("budget", "target")
                if given[field] != getattr(before, field)
            }
            for field, value in given.items():
                _log.warning(message, field, _of(name, campaign), value, getattr(before, field))
        if before is None or (given and changing):
            found[campaign] = CampaignChanges(**given)
    return found


def _of(bidder: str, campaign: str) -> str:
    return f"campaign {campaign!r} of the bidder {bidder!r}" if campaign else f"bidder {bidder!r}"
