"""Replay a log of first-price auctions: what would each strategy have earned?"""

from crossbandit import extras

extras.require(
    "duckdb",
    "jinja2",
    "joblib",
    "matplotlib",
    "pandas",
    "scipy",
    extra="replay",
    owner="crossbandit.replay",
)

from crossbandit.errors import LogWarning
from crossbandit.logs.log import AuctionLog
from crossbandit.logs.survey import Fault
from crossbandit.logs.synthetic import make_log
from crossbandit.replay.play import ReplayRules, ReplaySet, replay, replay_by
from crossbandit.replay.results import Replay, StrategyResult
from crossbandit.replay.strategies import Chunk, Shading, Strategy

__all__ = [
    "AuctionLog",
    "Chunk",
    "Fault",
    "LogWarning",
    "Replay",
    "ReplayRules",
    "ReplaySet",
    "Shading",
    "Strategy",
    "StrategyResult",
    "make_log",
    "replay",
    "replay_by",
]
