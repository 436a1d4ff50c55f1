"""Logs of first-price auctions: reading them in several formats, checking them, making them up."""

from crossbandit import extras

extras.require("duckdb", "pandas", extra="replay", owner="crossbandit.logs")

from crossbandit.logs.log import AuctionLog, Auctions
from crossbandit.logs.survey import Fault
from crossbandit.logs.synthetic import make_log

__all__ = ["AuctionLog", "Auctions", "Fault", "make_log"]
