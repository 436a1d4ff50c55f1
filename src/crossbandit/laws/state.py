"""The arrays of a law, of its test and of its guard, and the numbers that stand for choices.

`law_core.py` explains what they hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.core.types import Feedback

if TYPE_CHECKING:
    from crossbandit.core.types import Floats, Integers

# After which outcomes the hidden number is told: if the amount did not reach it, if the amount
# reached it, always, never.
AFTER_LOSS, AFTER_WIN, ALWAYS, WON_LOST = range(4)
FEEDBACK_CODES: dict[Feedback, int] = {
    "after-loss": AFTER_LOSS,
    "after-win": AFTER_WIN,
    "always": ALWAYS,
    "won-lost": WON_LOST,
}
# By name, the outcomes after which the number is told: True if the amount has reached it.
TOLD_AFTER: dict[str, tuple[bool, ...]] = {
    "after-loss": (False,),
    "after-win": (True,),
    "always": (False, True),
    "won-lost": (),
}
FIRST_PRICE, POSTED_PRICE, NEWSVENDOR = range(3)  # what an amount earns
TOLD, AT_MOST, ABOVE = range(3)  # what an outcome says of the cell
FIRST_CODE = 4  # the code of an outcome is 4 times its index, plus its kind, plus this

LEVELS = 10  # more than any tree is deep
BROAD = 7  # the nodes of the pool in which amounts are tried: the root and two levels below it
KNOTS, BLOCKS, PAIRS, SETTLED = 8, 64, 15, 128  # see `effect_core.py`
BANDS, BROAD_BANDS = 32, 8  # of a number
TRIED = 32.0  # lower amounts with fewer rounds than this, in a broad node, count as untried
RANKS = 256  # bins of contexts, from which ranks are computed
STRATA = 512  # the largest number of classes that have a stratum
_COARSE = 3  # if only one column is seen, a pair of rounds has one of 2**3 bands


class LawRules(NamedTuple):
    """The settings of a law, which do not change. M memories."""

    amounts: Floats  # (K,), ascending
    cuts: Floats  # (2**depth - 1,), ascending: the upper ends of the bands of the context
    depth: int  # of the pool's tree
    recent_depth: int  # of the trees of recent rounds
    growth: Floats  # (M,): the weight of a round relative to the one before; growth[0] = 1
    half_lives: Floats  # (M,); half_lives[0] = inf
    share: float  # of the weights that is spread evenly over all experts, each round
    feedback: int  # AFTER_LOSS, AFTER_WIN, ALWAYS or WON_LOST
    payoff: int
    mirrored: bool
    strict: bool  # whether an amount reaches only numbers below it, not one that equals it
    features: int  # how many there are
    optimism: float  # of a choice, in standard deviations of the law
    probing: float  # how often far lower amounts are tried, relative to the usual
    # Amounts are in units of context ** power. This is 0 unless the law lays its own grid.
    power: float = 0.0
    center: float = 0.0  # a usual worth in these units; 0 if the grid is given


class LawState(NamedTuple):
    """The state of a law. R rows (nodes), M memories, E experts: one for each memory."""

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
    rounds: Floats  # (1,): the number of rounds learned from
    # The effects of features, see `effect_core.py`: L levels, T terms, S of them single features,
    # B blocks, P pairs, F features. All are empty without features.
    owners: Integers  # (2 L,): the key of the level of a row, first of singles; -1 if it is free
    terms: Integers  # (2 L,): its term; -1 if it is free
    used: Floats  # (2 L,): its rounds, less what it was worn down
    scores: Floats  # (2 L, 9): g for all columns, and for each knot
    infos: Floats  # (2 L, 9): I for the same
    fine_scores: Floats  # (L, B): g for each block
    fine_infos: Floats  # (L, B)
    tau: Floats  # (T, 3): the variances of the effects of a term, by resolution
    mu: Floats  # (T, 9): their means
    fine_mu: Floats  # (S, B)
    stages: Floats  # (3,): the weights of the base, of single features, of pairs
    gains: Floats  # (2,): by how much a stage predicted better than the one below, in nats
    usual: Floats  # (1,): how much features usually raise the hazards, as a logarithm
    due: Floats  # (2,): the rounds after which variances are estimated; above 128 if blocks are set
    pairs: Integers  # (P,): the pairs that are tried, by number
    paired: Floats  # (P,): the round since which each is tried
    turn: Integers  # (1,): the pair that was begun last
    numbers: Integers  # (F, 256): the first numbers of a feature, ascending by key
    counted: Integers  # (F,): how many of them there are
    number_cuts: Integers  # (F, 31): the lowest key of each band but the first
    block: Integers  # (K + 1,): the block of each column
    knot: Integers  # (B,): the knot below the middle of a block, from 0 to 6
    part: Floats  # (B,): how far the middle is on the way to the next knot
    # The grid that a law has laid, and the N latest rounds, in money; empty if a grid is given.
    grid: Floats  # (K,): the amounts
    cuts: Floats  # as in `LawRules`
    units: Floats  # (2,): `power` and `center` of `LawRules`
    kept: Floats  # (N, 4): context, amount, number or 0, and 1 if reached plus 2 if tried
    kept_keys: Integers  # (N, F + 1): the keys of the features
    # (6,): rounds since a new start, new starts, the lowest and the highest context, and the range
    # around the contexts from which the bands were cut; elsewhere, the law starts again
    ring: Floats


class Scratch(NamedTuple):
    """Scratch arrays for one computation."""

    work: Floats  # (5, K + 1)
    chances: Floats  # (K,): of reaching the number, by the law that was read last
    spreads: Floats  # (K,)
    rows: Integers  # (M, 2): nodes of a context, and those of the pool they refer to
    flat: Floats  # (K + 1,): the law of a node that has seen nothing; it does not change


class TestState(NamedTuple):
    """What the tests have seen. Columns are in risk order .

    Row 0 of the strata stands for all rounds. With classes, a row for each of them follows.
    """

    told: Floats  # (strata, K + 1): rounds whose number was told at a column
    counts: Floats  # (strata, K + 1): rounds at risk at a column
    usual: Floats  # (strata, 2, K + 1): means of the two scores of rounds at risk
    shown: Floats  # (strata, 4): sums over pairs of a class, of two differences and their squares
    ranks: Floats  # (RANKS,): the number of contexts in each bin
    sums: Floats  # (2, 4): of deviations times scores, of contexts and of classes
    variances: Floats  # (2, 4)
    rows: Integers  # (slots,): the stratum of the class at a place; -1 if it has none
    owners: Integers  # (slots,): the key of that class; -1 if there is none
    used: Integers  # (1,): strata that are in use
    sides: Floats  # (K + 1,): from -1 for the lowest outcomes of all rounds to 1 for the highest
    expected: Floats  # (2, K + 2): sums from a column up of hazards, and of hazards times sides
    waiting: Integers  # (places, 4): rounds that wait for a partner
    risk: Floats  # (2, K + 1), scratch: hazards, in all rounds and in a stratum


class GuardState(NamedTuple):
    """The state of a guard."""

    wins: Floats  # (K,): estimates of how often each amount would have won, discounted
    spent: Floats  # (3,): sums of variances, of squared differences of gains, and of rounds
    gains: Floats  # (2,): estimates of what the law and the learner have earned, over `top`
    chances: Floats  # (K,): the learner's policy
    seen: Floats  # (K,): the probability that the outcome of each amount is shown


def waiting_rounds(feedback: int, bands: int, columns: int) -> int:
    """Return how many rounds can wait for a partner at the same time.

    feedback: by number. bands: the number of the finest bands of contexts.
    """
    return (bands >> _COARSE) * columns if feedback == WON_LOST else bands
