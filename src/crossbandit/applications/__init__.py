"""Domain words over a learner: one file per application."""

from crossbandit.applications.application import Application
from crossbandit.applications.first_price import Bid, FirstPriceBidder
from crossbandit.applications.newsvendor import Newsvendor, Order
from crossbandit.applications.recommender import Recommender, Shown
from crossbandit.applications.seller import Offer, PostedPriceSeller
from crossbandit.applications.shading import ShadingCurve
from crossbandit.applications.sleeping import Choice, SleepingArms
from crossbandit.applications.spam_filter import SpamFilter, Verdict
from crossbandit.environments.auctions import geometric_bids

__all__ = [
    "Application",
    "Bid",
    "Choice",
    "FirstPriceBidder",
    "Newsvendor",
    "Offer",
    "Order",
    "PostedPriceSeller",
    "Recommender",
    "ShadingCurve",
    "Shown",
    "SleepingArms",
    "SpamFilter",
    "Verdict",
    "geometric_bids",
]
