"""The act-reveal-learn loop, compiled and plain, and what it records."""

from crossbandit.core.blocks import Rounds
from crossbandit.environments.simulation.run import Run
from crossbandit.environments.simulation.simulate import simulate, simulate_many

__all__ = ["Rounds", "Run", "simulate", "simulate_many"]
