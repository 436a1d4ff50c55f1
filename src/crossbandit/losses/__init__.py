"""The two forms of losses: what a learner stores for an arm, and how a context reads it."""

from crossbandit.core.blocks import Readout
from crossbandit.losses.forms import Context, DenseForm, LinearForm, LossForm

__all__ = ["Context", "DenseForm", "LinearForm", "LossForm", "Readout"]
