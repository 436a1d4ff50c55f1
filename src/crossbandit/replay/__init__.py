"""What would this have earned? A log of first-price auctions, played again by many strategies."""

from crossbandit.replay.log import Fault
from crossbandit.replay.outcomes import Outcome, Replay
from crossbandit.replay.play import replay
from crossbandit.replay.synthetic import make_log

__all__ = ["Fault", "Outcome", "Replay", "make_log", "replay"]
