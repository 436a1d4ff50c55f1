"""A service for bidders: it decides, learns from outcomes, and logs all outcomes durably.

A `Node` is one process of the service. `open_store` opens its store, an SQLite file or a
PostgreSQL database.
"""

from typing import TYPE_CHECKING

from crossbandit.core import extras
from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.service.causes import (
        BidderExistsError,
        HeldElsewhereError,
        NotReadyError,
        OverloadedError,
        PausedError,
        ServiceError,
        StoreError,
        UnknownBidderError,
        UnknownCampaignError,
        cause_of,
    )
    from crossbandit.service.contents import Decided, Outcome, Reported, RowError
    from crossbandit.service.figures import (
        BidderFigures,
        CampaignFigures,
        DiagnosisFigures,
        LimitFigures,
    )
    from crossbandit.service.node import Node
    from crossbandit.service.settings import (
        BidderSettings,
        BudgetSettings,
        CampaignChanges,
        CampaignSettings,
        CostPerSettings,
        ReturnOnSpendSettings,
        settings_from,
    )
    from crossbandit.service.store import Store, open_store
    from crossbandit.service.threads import NodeOptions

__all__ = [
    "BidderExistsError",
    "BidderFigures",
    "BidderSettings",
    "BudgetSettings",
    "CampaignChanges",
    "CampaignFigures",
    "CampaignSettings",
    "CostPerSettings",
    "Decided",
    "DiagnosisFigures",
    "HeldElsewhereError",
    "LimitFigures",
    "Node",
    "NodeOptions",
    "NotReadyError",
    "Outcome",
    "OverloadedError",
    "PausedError",
    "Reported",
    "ReturnOnSpendSettings",
    "RowError",
    "ServiceError",
    "Store",
    "StoreError",
    "UnknownBidderError",
    "UnknownCampaignError",
    "cause_of",
    "open_store",
    "settings_from",
]


def _require() -> None:
    extras.require(
        *("httptools", "msgspec", "psycopg", "starlette", "uvicorn"),
        extra="serve",
        owner="crossbandit.service",
    )


# The client is a part of this package and needs NumPy only.
_lazy.load_on_use(
    __name__,
    {
        "crossbandit.service": "client",
        "crossbandit.service.causes": "BidderExistsError HeldElsewhereError NotReadyError "
        "OverloadedError PausedError ServiceError StoreError UnknownBidderError "
        "UnknownCampaignError cause_of",
        "crossbandit.service.contents": "Decided Outcome Reported RowError",
        "crossbandit.service.figures": "BidderFigures CampaignFigures DiagnosisFigures "
        "LimitFigures",
        "crossbandit.service.node": "Node",
        "crossbandit.service.threads": "NodeOptions",
        "crossbandit.service.settings": "BidderSettings BudgetSettings CampaignChanges "
        "CampaignSettings CostPerSettings ReturnOnSpendSettings settings_from",
        "crossbandit.service.store": "Store open_store",
    },
    before=_require,
)
