"""Which statements of the paper are machine-checked, and where.

A test checks that each theorem exists in `proofs/`.
"""

from __future__ import annotations

from typing import NamedTuple

PROVED_BOUND = "Theorem 1 (machine-checked bound)"
"""The name of the line of `verify` that gives the bound as a number."""


class Proof(NamedTuple):
    """A theorem of the Coq development in `proofs/`.

    Attributes:
        file: The file, such as "Stability.v".
        theorem: The name of the theorem in it.
    """

    file: str
    theorem: str

    def __str__(self) -> str:
        return f"proofs/{self.file}, {self.theorem}"


# By the beginning of the line of `verify`. Some are proved in a corrected or stronger form:
# proofs/README.md has the differences.
_PROOFS: dict[str, tuple[Proof, ...]] = {
    "Theorem 1 (machine-checked": (Proof("Main.v", "theorem1_explicit"),),
    "Theorem 1, in T (theorem's rule)": (Proof("Tuning.v", "theorem_tuning"),),
    "Proposition 2": (Proof("Main.v", "proposition2"),),
    "Equation 2": (Proof("Ftrl.v", "equation2_softmax_argmin"),),
    "Equation 3": (Proof("Retention.v", "equation3_retained"),),
    "Appendix A (retained output)": (Proof("Retention.v", "equation3_retained"),),
    "Appendix A (independent samples)": (Proof("FrequencyBlock.v", "defer"),),
    "Section 4 (pair reduction)": (Proof("PairReduction.v", "pair_step"),),
    "Lemma 3": (Proof("Concentration.v", "lemma3_freedman"),),
    "Lemma 4": (Proof("GraphInverse.v", "lemma4_printed"),),
    "Lemma 5": (Proof("Stability.v", "lemma5_exp3_update"),),
    "Lemma 6": (Proof("Selector.v", "lemma6_selector"),),
    "Lemma 7": (Proof("Snapshots.v", "lemma7_special_odds"),),
    "Equation 4": (Proof("RandomDenominators.v", "equation4_ratio_first"),),
    "Equation 5": (Proof("RandomDenominators.v", "equation5_ratio_second"),),
    "Appendix C (frequency event)": (Proof("GoodEvents.v", "P_F"),),
    "Appendix C (loss event)": (Proof("GoodEvents.v", "P_L"),),
    "Appendix C (selector event)": (Proof("GoodEvents.v", "P_S"),),
    "Appendix C (clipping": (Proof("GoodEvents.v", "good_F"),),
    "Equation 7": (Proof("GoodEvents.v", "good_L"),),
    "Lemma 8 (snapshot stability)": (Proof("Stability.v", "lemma8_snapshot"),),
    "Lemma 8 (the fallback": (Proof("Snapshots.v", "lemma8_no_fallback"),),
    "Appendix E": (Proof("Snapshots.v", "appendixE_graph_sum"),),
    "Lemma 9 (joint product stability), first display": (Proof("Stability.v", "lemma9_product"),),
    "Lemma 9 (joint product stability), Equation 9": (
        Proof("Stability.v", "lemma9_special_first"),
    ),
    "Lemma 9 (joint product stability), Equation 11": (Proof("Stability.v", "lemma9_special"),),
    "Lemma 9 (joint product stability), Equation 12": (Proof("Stability.v", "lemma9_crude"),),
    "Lemma 10": (Proof("OnePair.v", "lemma10_bias1"),),
    "Lemma 11": (Proof("Biases.v", "lemma11_bias2_regular"),),
    "Lemma 12": (Proof("Biases.v", "lemma12_bias3_regular"),),
    "Lemma 13 (": (Proof("Biases.v", "lemma13_bias4_regular"),),
    "Lemma 13, proof": (Proof("Corrections.v", "lemma13_last_step_fails"),),
    "Lemma 14": (Proof("Biases.v", "lemma14_bias4_special"),),
    "Lemma 15 (": (Proof("Biases.v", "lemma15_cancellation"),),
    "Lemma 15, proof (Delta": (
        Proof("Corrections.v", "lemma15_sign_fails"),
        Proof("Corrections.v", "lemma15_signs"),
    ),
    "Lemma 15, proof (comparator)": (Proof("Corrections.v", "lemma15_signs"),),
    "Lemma 15, proof (cancellation)": (Proof("Biases.v", "lemma15_cancellation"),),
    "Lemma 16": (Proof("Ftrl.v", "lemma16_ftrl_shift"),),
    "Appendix K (away-mass": (Proof("LocalNorms.v", "quad_mean"),),
    "Appendix L": (Proof("Assembly.v", "algorithm2_regret"),),
}


def proofs_of(statement: str) -> tuple[Proof, ...]:
    """Return the machine-checked theorems about a statement of the paper.

    Args:
        statement: The name of a line of `verify`, such as "Lemma 4 (graph inverse)".

    Returns:
        The theorems; none if the statement is not machine-checked.
    """
    return tuple(
        proof
        for beginning, proofs in _PROOFS.items()
        if statement.startswith(beginning) and not statement[len(beginning) :][:1].isdigit()
        for proof in proofs
    )
