"""The act-reveal-learn loop, compiled and plain, and what it records."""

from crossbandit.simulation.many import simulate_many
from crossbandit.simulation.run import Run
from crossbandit.simulation.simulate import simulate

__all__ = ["Run", "simulate", "simulate_many"]
