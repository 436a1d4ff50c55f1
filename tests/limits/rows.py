"""What a pacer remembers of a bid without an outcome."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from crossbandit.limits.state import BID_FOR, COSTS

if TYPE_CHECKING:
    from crossbandit.limits import Pacer


def held(pacer: Pacer, key: int) -> SimpleNamespace:
    row, table = pacer.reserved.rows[key], pacer.reserved.table
    value, price = float(table.held[row, BID_FOR]), int(table.prices[row, COSTS])
    return SimpleNamespace(value=value, price=price, ticket=table.tickets[row].copy())
