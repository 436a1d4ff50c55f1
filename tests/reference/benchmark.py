"""The losses of Section "Experiments", the comparator and the regret."""

from dataclasses import dataclass

import numpy as np

from .common import Floats, Ints, Losses


@dataclass(frozen=True, eq=False)
class Benchmark:
    """l_{t,c}(a) = clip(B_{c,a} + 0.1 sin(2 pi (t+1)/2000 + phi_c + psi_a)), t from 0."""

    B: Floats  # (M, K)
    phi: Floats  # (M,)
    psi: Floats  # (K,)
    T: int

    def losses(self, t: int) -> Floats:
        """The (M, K) losses of round t."""
        angle = 2 * np.pi * (t + 1) / 2000 + self.phi[:, None] + self.psi[None, :]
        return np.clip(self.B + 0.1 * np.sin(angle), 0.0, 1.0)

    def comparator(self) -> Ints:
        """pi_c = argmin_a sum_t l_{t,c}(a), over the whole horizon."""
        return best_policy(self.losses, self.T)


def draw_benchmark(rng: np.random.Generator, K: int, M: int, T: int) -> Benchmark:
    """B ~ Unif[0.15, 0.85], phi and psi ~ Unif[0, 2 pi), all independent."""
    B = rng.uniform(0.15, 0.85, size=(M, K))
    phi = rng.uniform(0.0, 2 * np.pi, size=M)
    psi = rng.uniform(0.0, 2 * np.pi, size=K)
    return Benchmark(B, phi, psi, T)


def best_policy(losses: Losses, T: int) -> Ints:
    """pi_c = argmin_a sum_{t < T} l_{t,c}(a); the smallest arm among ties."""
    total = losses(0).copy()
    for t in range(1, T):
        total += losses(t)
    policy: Ints = total.argmin(axis=1).astype(np.int64)
    return policy


def regret(losses: Losses, contexts: Ints, incurred: Floats, policy: Ints) -> float:
    """sum_t l_{t,c_t}(a_t) - l_{t,c_t}(pi_{c_t}), on the contexts that occurred."""
    total = 0.0
    for t, c in enumerate(contexts):
        total += float(incurred[t] - losses(t)[c, policy[c]])
    return total
