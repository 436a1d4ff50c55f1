"""What a law keeps: counts by node, and laws computed from them.

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

# What is told of the number: its cell if it is above the amount, if it is reached, always, never.
AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST = range(4)
# What amount a earns with a worth w and a cost c: (w - a) if it reaches the number, - c * a in any
# case; (a - c) if it does not; w * min(number, a) - c * a.
FIRST_PRICE, POSTED_PRICE, NEWSVENDOR = range(3)
# What an outcome says: the cell; that it is at most an amount; that it is above an amount.
TOLD, AT_MOST, ABOVE = range(3)

LEVELS = 10  # more than any tree is deep
BROAD = 7  # the nodes of the pool where untried amounts are looked for: the root and two levels

SPLIT = 512.0  # a node with fewer rounds has no children
MATURE = 32.0  # a child, or a class, with fewer rounds is not used
FRESH = 1 / 32  # a law is computed anew when its rounds have grown by this share
NUMBER_OF_BLOCKS = 8  # of columns, each with the same expected number of outcomes
COVERED = 8.0  # a block's ratio holds for columns with this many rounds at risk
CERTAIN = 0.999  # no hazard is larger
TINY = 1e-9  # added to hazards in ratios; no outcome is taken to be less likely
TRIED = 32.0  # rounds in which a broad node has to have seen amounts far below its usual ones


class LawRules(NamedTuple):
    """What does not change."""

    amounts: Floats  # (K,), ascending
    cuts: Floats  # (2**depth - 1,), ascending: where one band of the context ends
    depth: int  # of the pool's tree
    recent_depth: int  # of the trees of recent rounds
    growth: Floats  # (M,): by how much a round counts more than the one before; growth[0] = 1
    half_lives: Floats  # (M,); half_lives[0] = inf
    share: float  # of the weights that goes to all experts alike, each round
    feedback: int
    payoff: int
    mirrored: bool
    strict: bool  # an amount reaches only numbers below it, not the one that equals it
    features: int  # categorical ones; with two or more, their combination counts as one more
    optimism: float  # of a choice, in standard deviations of the law
    probing: float  # how often far lower amounts are tried, relative to the usual


class LawState(NamedTuple):
    """All that changes. R rows (nodes), M memories, E experts."""

    told: Floats  # (R, K + 1): rounds by told cell; with WON_LOST, rounds reached, by amount
    hidden: Floats  # (R, K + 1): other rounds, by amount
    visits: Floats  # (R,)
    since: Floats  # (R,): rounds since the node's law was computed
    law: Floats  # (R, K + 1): P(cell = j | cell <= j); with WON_LOST, log odds of being reached
    spread: Floats  # (R, K + 1): the law's variance: of the log odds, or relative to the hazard
    evidence: Floats  # (R, 6): how much a node differs from its parent
    totals: Floats  # (groups * LEVELS, 6): sums of `evidence` over nodes of a kind and depth
    scale: Floats  # (M,): what a round counts now
    weights: Floats  # (E,): of memories, times classes used or not
    asked: Floats  # (BROAD, K): rounds by amount
    untried: Floats  # (BROAD,): lower amounts were asked in fewer than TRIED rounds
    reached: Floats  # (BROAD, K): those of these rounds in which it reached the number
    children: Integers  # (R, 2): of a class's node; -1 if it has none
    roots: Integers  # (slots,): the node of the class at a place; -1 if it has none
    owners: Integers  # (slots,): the number of that class, see `nodes.py`; -1 if there is none
    born: Floats  # (R,): of a class's node, the round in which it got its row; -1 if it is free
    used: Integers  # (2,): rows that are in use or were, and how many of these are of children
    rounds: Floats  # (1,): learned from


class Scratch(NamedTuple):
    """Room for one computation; what is in it does not matter."""

    work: Floats  # (5, K + 1)
    chances: Floats  # (E + 1, K): of reaching the number, by expert; the last row mixes them
    spreads: Floats  # (E + 1, K)
    rows: Integers  # (M + features + 1, 2): nodes of a context, and those of the pool they refer to
