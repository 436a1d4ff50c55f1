"""The arrays of a law: counts by node, and laws computed from them.

The hidden number of a round is seen on a grid of K amounts: its *cell* is the number of the lowest
amount that reaches it, or K if none does. So amount k reaches the number iff the cell is at most k.

Every *node* counts outcomes of some rounds. There are three kinds of nodes, one per row:

- pool: a full binary tree over bands of the context, in the order of a heap (row 0 is the root);
- recent: such a tree, less deep, for every half-life: its counts are discounted;
- class: a tree for every level of a categorical feature, grown where there are many rounds.

Counts are in *risk order*: with feedback that hides high cells, cell j is kept in column K - j and
amount k in column K - 1 - k ("mirrored"). Then in all cases only low columns are ever hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

# What amount a earns with a worth w and a cost c: w - a if it reaches the number, minus c * a in
# any case; a - c if it does not reach the number; w * min(number, a) - c * a.
FIRST_PRICE, POSTED_PRICE, NEWSVENDOR = range(3)
# What an outcome says: the cell; that the cell is at most an amount; that it is above an amount.
TOLD, AT_MOST, ABOVE = range(3)

LEVELS = 10  # more than any tree is deep
BROAD = 7  # the nodes of the pool in which amounts are tried: the root and two levels below it

SPLIT = 512.0  # a node with fewer rounds has no children
MATURE = 32.0  # a child, or a class, with fewer rounds is not used
FRESH = 1 / 32  # a law is computed again when its rounds have grown by this share
NUMBER_OF_BLOCKS = 8  # of columns, each with the same expected number of outcomes
COVERED = 8.0  # a block's ratio holds for columns with this many rounds at risk
CERTAIN = 0.999  # no hazard is larger
TINY = 1e-9  # added to hazards in ratios; also the least likelihood of an outcome
TRIED = 32.0  # lower amounts with fewer rounds than this, in a broad node, count as untried


class LawRules(NamedTuple):
    """The settings of a law, which do not change. M memories."""

    amounts: Floats  # (K,), ascending
    cuts: Floats  # (2**depth - 1,), ascending: the upper ends of the bands of the context
    depth: int  # of the pool's tree
    recent_depth: int  # of the trees of recent rounds
    growth: Floats  # (M,): the weight of a round relative to the one before; growth[0] = 1
    half_lives: Floats  # (M,); half_lives[0] = inf
    share: float  # of the weights that is spread evenly over all experts, each round
    feedback: int  # a constant of `feedback.py`
    payoff: int
    mirrored: bool
    strict: bool  # whether an amount reaches only numbers below it, not one that equals it
    features: int  # the number of categorical features, without their combination
    optimism: float  # of a choice, in standard deviations of the law
    probing: float  # how often far lower amounts are tried, relative to the usual


class LawState(NamedTuple):
    """The state of a law. R rows (nodes), M memories, E experts."""

    told: Floats  # (R, K + 1): rounds by told cell; with WON_LOST, rounds reached, by amount
    hidden: Floats  # (R, K + 1): other rounds, by amount
    visits: Floats  # (R,)
    since: Floats  # (R,): rounds since the node's law was computed
    law: Floats  # (R, K + 1): P(cell = j | cell <= j); with WON_LOST, log odds of being reached
    spread: Floats  # (R, K + 1): the law's variance: of the log odds, or relative to the hazard
    evidence: Floats  # (R, 6): how much a node differs from its parent
    totals: Floats  # (groups * LEVELS, 6): sums of `evidence` over nodes of a kind and depth
    scale: Floats  # (M,): the present weight of a round
    weights: Floats  # (E,): the weights of the experts
    asked: Floats  # (BROAD, K): rounds by the amount played
    untried: Floats  # (BROAD,): 1 + the lowest amount up to which there are TRIED rounds
    reached: Floats  # (BROAD, K): the rounds of `asked` in which the amount reached the number
    children: Integers  # (R, 2): of a class's node; -1 if it has none
    roots: Integers  # (slots,): the node of the class at a place; -1 if it has none
    owners: Integers  # (slots,): the number of that class, see `nodes.py`; -1 if there is none
    born: Floats  # (R,): of a class's node, the round in which it got its row; -1 if it is free
    used: Integers  # (2,): rows that are in use or were, and how many of these are children
    rounds: Floats  # (1,): the number of rounds learned from


class Scratch(NamedTuple):
    """Scratch arrays for one computation."""

    work: Floats  # (5, K + 1)
    chances: Floats  # (E + 1, K): of reaching the number, by expert; last, their mixture
    spreads: Floats  # (E + 1, K)
    rows: Integers  # (M + features + 1, 2): nodes of a context, and those of the pool they refer to
