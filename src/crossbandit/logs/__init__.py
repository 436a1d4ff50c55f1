"""Logs of first-price auctions: reading them in several formats, checking them, making them up.

`crossbandit.logs.replay` plays strategies on a log that has all prices. `crossbandit.logs.evaluate`
estimates what they would have earned on one that has not.
"""

from crossbandit.core import extras
from crossbandit.core import lazy as _lazy

extras.require(
    *("duckdb", "jinja2", "joblib", "matplotlib", "pandas", "scipy"),
    extra="replay",
    owner="crossbandit.logs",
)

from crossbandit.logs.log import AuctionLog, Auctions
from crossbandit.logs.survey import Fault
from crossbandit.logs.synthetic import make_log

__all__ = ["AuctionLog", "Auctions", "Fault", "make_log"]

_lazy.load_on_use(__name__, {"crossbandit.logs": "evaluate replay"})
