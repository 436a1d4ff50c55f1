"""Checks of means, the pair reduction and translations, over all branches of tiny instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.theory.exact.enumeration import play_retained, weighted_sum
from crossbandit.theory.exact.laws import NU, trees
from crossbandit.theory.statements import CheckResult, Differences, Effort, Subject, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.types import Floats


@statement(25, "Section 3.3: lhat and b", "Lemma 11 (proof): mean of the population estimate")
def estimates_have_their_means(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """E[lhat + b] = 2 l w_e / W_e + b of a selected round; E[ltilde] = w_e / u_e times 2 l."""
    fed, ideal, identity = Differences(), Differences(), Differences()
    for tree in trees(subject, effort):
        for node in tree.inner:
            moment, losses = node.moment, tree.pair_losses(node)
            if moment.epoch == 1:
                fed.compare(sum(np.abs(b.fed) for b in node.branches), np.zeros(losses[0].shape))
                continue
            mean = weighted_sum(((b.mass, b.fed) for b in node.branches), losses[0].shape)
            ideally = moment.ideal().estimate
            doubled = losses.sum(axis=0)  # 2 l of a round that is selected with probability 1/2
            fed.compare(mean, doubled * moment.w / moment.denominators + moment.correction)
            population = weighted_sum(
                ((b.mass, ideally(b.draws, losses)) for b in node.branches),
                losses[0].shape,
            )
            ideal.compare(population, doubled * moment.w / moment.u)
            theta = moment.u / moment.denominators
            for b in node.branches[:: max(1, len(node.branches) // 16)]:
                tilde = ideally(b.draws, losses)
                identity.compare(b.fed - moment.correction, theta * tilde)
    yield fed.result(
        "Section 3 (loss estimate lhat, correction b)",
        "mean over all branches of what FTRL is fed, against 2 l w_e / W_e + b; nothing in epoch 1",
    )
    yield ideal.result(
        "Lemma 11, proof (population estimate)",
        "mean over all branches of ltilde, against (w_e / u_e) l with the doubled loss l",
    )
    yield identity.result(
        "Lemma 12, proof (ltilde - lhat = phi I l / u)",
        "what FTRL is fed without the correction, against (1 - phi) ltilde, phi = 1 - u_e / W_e",
    )


@statement(28, "Section 4: pair reduction")
def pairs_reduce_to_their_loss_round(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """E[R_t + R_{t+1}] = 2 E[R_{t_l}], and E[R_t] = E[sum_c nu(c) <q_c - pi_c, l_c>]."""
    reduction, marginal = Differences(), Differences()
    for tree in trees(subject, effort):
        arms = tree.definition.graph.arms
        for node, comparator in product(tree.inner, product(range(arms), repeat=NU.size)):
            losses = tree.pair_losses(node)
            both = selected = Fraction(0)
            for branch in node.branches:
                regret = [
                    _regret(table, c, comparator[c], losses[i])
                    for i, (table, c) in enumerate(
                        zip((node.policies, branch.between), branch.draws.contexts, strict=True)
                    )
                ]
                both += branch.mass * (regret[0] + regret[1])
                selected += branch.mass * regret[branch.draws.loss_side]
            reduction.compare(float(both), float(2 * selected))
            population = sum(
                NU[c] * float(_regret(node.moment.q, c, comparator[c], losses[i]))
                for i, c in product((0, 1), range(NU.size))
            )
            marginal.compare(float(both), population)
    yield reduction.result(
        "Section 4 (pair reduction)",
        "E[R_t + R_(t+1)] against 2 E[R_loss], every branch, against every policy",
    )
    yield marginal.result(
        "Section 4 (counterfactual contexts)",
        "E[R_t + R_(t+1)] against the sum over c of nu(c) <q_c - pi_c, l_c>",
    )


def _regret(table: Floats, c: int, best: int, losses: Floats) -> Fraction:
    return Fraction(float(table[c] @ losses[c] - losses[c, best]))


@statement(29, "Section 4: translation invariance")
def policies_do_not_see_translations(subject: Subject, effort: Effort) -> Iterator[CheckResult]:
    """Adding the same number to every arm's input of FTRL changes no policy."""
    same, shift = Differences(), 0.3
    for tree in trees(subject, effort):
        sees_all = [a for a in range(tree.definition.graph.arms) if tree.definition.into[a].all()]
        for node in tree.all:
            if not node.opens_epoch or not sees_all:
                continue
            base = np.full(node.policies.shape, 0.3)
            base[:, 0] = 0.5
            moved = base + shift * node.moment.denominators / 2
            plain = play_retained(node, sees_all[0], base)
            translated = play_retained(node, sees_all[0], moved)
            same.compare(translated.fed - plain.fed, np.full_like(plain.fed, shift))
            same.compare(translated.policies, plain.policies)
    yield same.result(
        "Section 4 (translation invariance)",
        f"policies after inputs, against policies after the same inputs + {shift} on every arm",
    )
