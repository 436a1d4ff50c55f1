"""Learners behind interfaces in the terms of a domain, one file each.

The applications are in `first_price`, `tender`, `seller`, `newsvendor`, `recommender`, `sleeping`
and `spam_filter`. All of them use `application` (the base class) and `action` (what they return,
and its token). The first four also use `hidden_number` and `money`, and can learn by a law. The
others name their arms and contexts (`labels`). `bidding` has the parts of the bidder.
"""

from typing import TYPE_CHECKING

from crossbandit.core import lazy as _lazy

if TYPE_CHECKING:
    from crossbandit.applications.action import Action
    from crossbandit.applications.application import Application
    from crossbandit.applications.bidding.auctions import bids_for_values, geometric_bids
    from crossbandit.applications.bidding.bids import Bid, Bids
    from crossbandit.applications.bidding.campaigns import Campaign
    from crossbandit.applications.bidding.views import Explanation, ShadingCurve
    from crossbandit.applications.first_price import FirstPriceBidder
    from crossbandit.applications.newsvendor import Newsvendor, Order
    from crossbandit.applications.recommender import Recommendation, Recommender
    from crossbandit.applications.seller import Offer, PostedPriceSeller
    from crossbandit.applications.sleeping import ArmChoice, SleepingArms
    from crossbandit.applications.spam_filter import MailDecision, SpamFilter
    from crossbandit.applications.tender import TenderBidder

__all__ = [
    "Action",
    "Application",
    "ArmChoice",
    "Bid",
    "Bids",
    "Campaign",
    "Explanation",
    "FirstPriceBidder",
    "MailDecision",
    "Newsvendor",
    "Offer",
    "Order",
    "PostedPriceSeller",
    "Recommendation",
    "Recommender",
    "ShadingCurve",
    "SleepingArms",
    "SpamFilter",
    "TenderBidder",
    "bids_for_values",
    "geometric_bids",
]

_lazy.load_on_use(
    __name__,
    {
        "crossbandit.applications.action": "Action",
        "crossbandit.applications.application": "Application",
        "crossbandit.applications.bidding.bids": "Bid Bids",
        "crossbandit.applications.bidding.campaigns": "Campaign",
        "crossbandit.applications.bidding.views": "Explanation ShadingCurve",
        "crossbandit.applications.first_price": "FirstPriceBidder",
        "crossbandit.applications.newsvendor": "Newsvendor Order",
        "crossbandit.applications.recommender": "Recommendation Recommender",
        "crossbandit.applications.seller": "Offer PostedPriceSeller",
        "crossbandit.applications.sleeping": "ArmChoice SleepingArms",
        "crossbandit.applications.spam_filter": "MailDecision SpamFilter",
        "crossbandit.applications.tender": "TenderBidder",
        "crossbandit.applications.bidding.auctions": "bids_for_values geometric_bids",
    },
)
