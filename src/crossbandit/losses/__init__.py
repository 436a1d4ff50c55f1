"""The two forms of losses: what a learner keeps of an arm, and how a context reads it."""

from crossbandit.losses.forms import DenseForm, LossForm
from crossbandit.losses.linear import LinearForm
from crossbandit.losses.readout import Readout

__all__ = ["DenseForm", "LinearForm", "LossForm", "Readout"]
