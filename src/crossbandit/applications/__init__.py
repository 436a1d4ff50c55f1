"""Learners behind interfaces in the terms of a domain, one file each.

The applications are in `first_price`, `seller`, `newsvendor`, `recommender`, `sleeping` and
`spam_filter`. All of them use `application` (the base class), `action` (what they return, and its
token) and `application_files`. The first three also use `hidden_number` and `money`, and can learn
by a law (`law_learner`). The others name their arms and contexts (`labels`). `bidding` has the
parts of the bidder.
"""

from crossbandit.applications.action import Action
from crossbandit.applications.application import Application
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.bidding.views import ShadingCurve
from crossbandit.applications.first_price import FirstPriceBidder
from crossbandit.applications.newsvendor import Newsvendor, Order
from crossbandit.applications.recommender import Recommendation, Recommender
from crossbandit.applications.seller import Offer, PostedPriceSeller
from crossbandit.applications.sleeping import ArmChoice, SleepingArms
from crossbandit.applications.spam_filter import MailDecision, SpamFilter
from crossbandit.environments.amounts import bids_for_values, geometric_bids

__all__ = [
    "Action",
    "Application",
    "ArmChoice",
    "Bid",
    "Bids",
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
    "bids_for_values",
    "geometric_bids",
]
