"""Bid under limits in many auctions of one time, and account for many bids at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.pace_steps import settle_all
from crossbandit.kernels.paced_laws import paced_decide_all
from crossbandit.kernels.pacing import OF_PERIOD, PERIOD

if TYPE_CHECKING:
    from crossbandit.laws import OutcomeLaw
    from crossbandit.limits.pacer import Pacer
    from crossbandit.types import Booleans, Floats, Integers


class PacedChoices(NamedTuple):
    """What was chosen in the auctions of a batch.

    Attributes:
        bids: (n,), by number; -1 where nothing could be bid.
        chances: (n,), the probabilities of winning with these bids, by the law.
        usable: (n,), the highest amounts up to the pseudo-value.
        pseudo_values: (n,), what was bid for.
        tightest: (n, 3). Where nothing could be bid: the number of the limit that leaves least, the
            units that it leaves, and those that it has reserved.
        rows: (n,), the rows of these bids in `Pacer.reserved`. If nothing was bid, the row is not
            used.
    """

    bids: Integers
    chances: Floats
    usable: Integers
    pseudo_values: Floats
    tightest: Integers
    rows: Integers


def choose_many(
    pacer: Pacer,
    law: OutcomeLaw,
    slots: Integers,
    values: Floats,
    now: float,
    firsts: Integers,
    lasts: Integers,
) -> PacedChoices:
    """Do what `Pacer.choose` does in many auctions of one time. Call `hold_many` next.

    Args:
        pacer: The pacer. It reserves the money of the bids.
        law: The law of prices, with the same amounts.
        slots: (n, width). The classes of each auction, as the law numbers them.
        values: (n,). What winning is worth.
        now: The time, in seconds since 1970.
        firsts: (n,). The lowest amount that may be bid without limits, by number.
        lasts: (n,). The highest one.

    Returns:
        The bids, and what the limits need to know about them.
    """
    count, reserved = values.size, pacer.reserved
    bids, usable, rows = np.empty((3, count), dtype=np.int64)
    found = PacedChoices(
        bids=bids,
        chances=np.empty(count),
        usable=usable,
        pseudo_values=np.empty(count),
        tightest=np.full((count, 3), -1),
        rows=rows,
    )
    uniforms = law.uniforms.rows(firsts <= lasts, 3)
    columns = (values, slots, firsts, lasts, uniforms, rows, *found[:-1])
    now = max(now, pacer.periods.now)
    for start, stop in pacer.periods.pieces(np.full(count, now)):
        if start == 0 and pacer.expires is not None:
            pacer.expire(now - pacer.expires)
        if start == 0:
            rows[:] = reserved.take(count)
        state = (*law.parts, pacer.rules, pacer.state, reserved.table)
        parts = (one[start:stop] for one in columns)
        law.code[paced_decide_all](*state, now, *parts)
    return found


def hold_many(pacer: Pacer, keys: Integers, chosen: PacedChoices) -> None:
    """Remember the bids that `choose_many` has just reserved money for.

    Args:
        pacer: The pacer.
        keys: (n,). A unique number for each bid; ignored where none was made.
        chosen: What `choose_many` returned.
    """
    made, reserved = chosen.bids >= 0, pacer.reserved
    if pacer.periods.begun and made.any():
        own, tickets = keys[made], reserved.table.tickets[chosen.rows[made]]
        for i in pacer.periods.begun:
            present = tickets[:, i, OF_PERIOD] == pacer.state.times[i, PERIOD]
            pacer.firsts[i] = own[present].min(initial=own[-1] + 1)
        pacer.forget()
    reserved.hold_many(keys, chosen.rows, made)


def settle_many(
    pacer: Pacer,
    keys: Integers,
    values: Floats,
    amounts: Floats,
    won: Booleans,
    least: Floats,
) -> None:
    """Account for many bids whose outcomes are known, as `Pacer.settle` does for each.

    Args:
        pacer: The pacer.
        keys: (n,). The numbers of the bids.
        values: (n,). What winning was worth.
        amounts: (n,). The amounts, as money.
        won: (n,). Whether each won.
        least: (n,). The lowest amounts that would have won; infinite where that is not known.
    """
    reserved = pacer.reserved
    pop = reserved.rows.pop
    rows = np.array([pop(key, -1) for key in keys.tolist()], dtype=np.int64)
    known = rows >= 0
    given = (rows[known], won[known], least[known], len(reserved.rows))
    pacer.code[settle_all](pacer.rules, pacer.state, reserved.table, *given)
    for i in np.flatnonzero(won & ~known).tolist():  # they had expired
        pacer.settle(int(keys[i]), float(values[i]), float(amounts[i]), won=True, least=0.0)
    reserved.free.extend(given[0].tolist())
    if len(reserved.free) > reserved.spare:
        reserved.resize()
