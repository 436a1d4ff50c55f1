"""Logs of first-price auctions: formats, columns, bad lines, and synthetic ones."""

from crossbandit import extras

extras.require("duckdb", "pandas", extra="replay", owner="crossbandit.logs")

from crossbandit.logs.auctions import Auctions
from crossbandit.logs.faults import Fault
from crossbandit.logs.log import AuctionLog
from crossbandit.logs.synthetic import make_log

__all__ = ["AuctionLog", "Auctions", "Fault", "make_log"]
