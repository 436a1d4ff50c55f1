"""Domain words over a learner: one file per application."""

from crossbandit.applications.first_price import Bid, FirstPriceBidder
from crossbandit.applications.shading import ShadingCurve
from crossbandit.environments.auctions import geometric_bids

__all__ = ["Bid", "FirstPriceBidder", "ShadingCurve", "geometric_bids"]
