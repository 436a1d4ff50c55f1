"""The two forms of losses: what a learner stores for an arm, and how a context reads it."""

from crossbandit.kernels.rounds import Readout
from crossbandit.losses.forms import Context, DenseForm, LossForm
from crossbandit.losses.linear import LinearForm

__all__ = ["Context", "DenseForm", "LinearForm", "LossForm", "Readout"]
