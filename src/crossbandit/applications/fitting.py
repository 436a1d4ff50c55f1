"""Make a bidder from a log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.logs import AuctionLog
    from crossbandit.streams import Seed


class LogFitting(ABC):
    """The part of a bidder that chooses its settings by a log, and learns from it."""

    @abstractmethod
    def warm_up(
        self,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        bids: npt.ArrayLike | None = None,
        won: npt.ArrayLike | None = None,
        **classes: npt.ArrayLike,
    ) -> None:
        """Learn from a log of auctions."""

    @classmethod
    def fit(cls, log: AuctionLog, *, seed: Seed, **settings: Any) -> Self:
        """Make a bidder that has learned from a log; then embed it.

        Settings that are not given are chosen from the log: the range of values with some room
        above, the feedback by where prices are known, ties, classes, and a grid of bids.

        Args:
            log: The log, with a column of own bids and of who won unless all prices are known.
            seed: The seed of the bidder's random choices.
            **settings: Any settings of the bidder.

        Returns:
            The bidder.

        Raises:
            LogError: The log cannot be read, or the auctions that were won or lost are missing.
            InvalidParameterError: A setting is not possible.
            InvalidLossesError: The log contradicts itself.

        Warns:
            LogWarning: Values and bids seem to be in different units.

        >>> import pandas as pd
        >>> from crossbandit.applications import FirstPriceBidder
        >>> from crossbandit.logs import AuctionLog
        >>> frame = pd.DataFrame({"value": [8.0] * 60, "bid": [2.0, 3.0, 4.0] * 20})
        >>> frame["won"] = frame["bid"] > 2.5
        >>> log = AuctionLog(frame, columns={"bid": "bid", "won": "won"})
        >>> bidder = FirstPriceBidder.fit(log, bids=[0, 2, 3, 4], seed=1)
        >>> bidder.feedback
        'won-lost'
        >>> float(bidder.price_law(8.0).chances[2]) > 0.8
        True
        """
        from crossbandit.applications.fitting_log import fitting_log  # it takes long to load

        found = fitting_log(log, settings)
        construct: Callable[..., Self] = cls
        bidder = construct(**found.settings, seed=seed)
        bidder.warm_up(**found.columns)
        return bidder
