"""EXP3.CL and EXP3.CL-U (Balseiro et al. 2019), with losses: known and unknown contexts."""

from typing import Any

from .common import Bools, Floats, Ints, Losses, Reference, Trace, mix, run_rounds, softmax


def run_known(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    nu: Floats,
    alpha: float,
    beta: float,
) -> Trace:
    """p_i(c) = (1 - K alpha) w_i(c) / sum_j w_j(c) + alpha; of the adjacency nothing is used."""
    K = len(adjacency)

    def policy(cumulative: Floats, c: int) -> Floats:
        return mix(softmax(cumulative[c], beta), K * alpha)

    def learn(cumulative: Floats, p: Floats, c: int, I: int, loss: Floats) -> None:  # noqa: E741
        del p, c
        every = mix(softmax(cumulative, beta), K * alpha)
        played = sum(nu[other] * every[other, I] for other in range(len(nu)))
        # w_I(c) is multiplied by exp(-beta l_I(c) / sum_c' Pr[c'] p_I(c')), for every c
        cumulative[:, I] += loss[:, I] / played

    return run_rounds(losses, contexts, uniforms, policy, learn)


def run_unknown(
    adjacency: Bools,
    losses: Losses,
    contexts: Ints,
    uniforms: Floats,
    *,
    alpha: float,
    beta: float,
) -> Trace:
    """p_i(c) = (1 - alpha) w_i(c) / sum_j w_j(c) + alpha / K; divided by p_I(c_t)."""
    del adjacency

    def policy(cumulative: Floats, c: int) -> Floats:
        return mix(softmax(cumulative[c], beta), alpha)

    def learn(cumulative: Floats, p: Floats, c: int, I: int, loss: Floats) -> None:  # noqa: E741
        del c
        cumulative[:, I] += loss[:, I] / p[I]

    return run_rounds(losses, contexts, uniforms, policy, learn)


def known(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run_known`."""
    rates = algorithm.parameters(problem)
    return {"nu": nu, "alpha": rates.rho / problem.arms, "beta": rates.eta}


def unknown(algorithm: Any, problem: Any, nu: Floats) -> dict[str, Any]:
    """Return the parameters of `run_unknown`."""
    del nu
    rates = algorithm.parameters(problem)
    return {"alpha": rates.rho, "beta": rates.eta}


REFERENCES = {
    "exp3-cl": Reference(run_known, known, {"eta": 0.3, "rho": 0.2}),
    "exp3-cl-u": Reference(run_unknown, unknown, {"eta": 0.3, "rho": 0.2}),
}
