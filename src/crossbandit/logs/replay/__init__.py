"""Replay a log of first-price auctions: what would each strategy have earned?"""

from crossbandit.errors import LogWarning
from crossbandit.logs.log import AuctionLog
from crossbandit.logs.replay.play import ReplayRules, ReplaySet, replay, replay_by
from crossbandit.logs.replay.results import Replay, StrategyResult
from crossbandit.logs.replay.strategies import Chunk, Shading, Strategy
from crossbandit.logs.survey import Fault
from crossbandit.logs.synthetic import make_log

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
