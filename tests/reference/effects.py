"""The effects of features on a law, written out from their formulas: one effect after the other."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .common import Floats

KNOTS, BLOCKS, PAIRS = 8, 64, 15


@dataclass
class Effect:
    """What one level of one term has shown: g and I for all columns, the knots, and the blocks."""

    g: list[Floats]
    info: list[Floats]


@dataclass
class Effects:
    """Features are levels, of any type but float, or numbers. All have room."""

    K: int
    features: int
    feedback: str
    levels: dict[tuple[int, Any], Effect] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = min(BLOCKS, self.K)
        self.sizes = (1, KNOTS, self.blocks)
        self.singles = 1 + 3 * self.features
        self.pairs = [(a, b) for a in range(self.features) for b in range(a)][:PAIRS]
        self.count = self.singles + len(self.pairs)
        self.tau = np.zeros((self.count, 3))
        self.mu = [[np.zeros(n) for n in self.sizes] for _ in range(self.count)]
        self.stages, self.gains = np.full(3, 1 / 3), [0.0, 0.0]
        self.block = [max(j - 1, 0) for j in range(self.K + 1)]
        self.middle: list[float] = []
        self.due, self.usual, self.rounds = 16.0, 0.0, 0
        self.numbers: list[list[float]] = [[] for _ in range(self.features)]
        self.cuts: list[list[float]] = [[] for _ in range(self.features)]

    def zeros(self, t: int) -> list[Floats]:
        return [np.zeros(n) for n in (self.sizes if t < self.singles else self.sizes[:2])]

    # --- which effects a round has

    def band(self, f: int, x: Any, count: int) -> int:
        above: int = sum(cut >= x for cut in self.cuts[f])
        return above * count // 32

    def terms(self, labels: tuple[Any, ...]) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        names: list[Any] = []
        for f, x in enumerate(labels):
            if not isinstance(x, float):
                found.append((1 + f, x))
            elif self.cuts[f]:
                found.append((1 + self.features + f, self.band(f, x, 8)))
                found.append((1 + 2 * self.features + f, self.band(f, x, 32)))
            known = not isinstance(x, float) or bool(self.cuts[f])
            names.append((self.band(f, x, 8) if isinstance(x, float) else x,) if known else None)
        for i, (a, b) in enumerate(self.pairs):
            t = self.singles + i
            seen = self.tau[t, 0] + self.tau[t, 1] > 0 or (self.rounds + t) % 4 == 0
            if seen and names[a] is not None and names[b] is not None:
                found.append((t, (names[a], names[b])))
        return found

    def moments(self, t: int, level: Any) -> tuple[list[Floats], list[Floats]]:
        """Return means and variances of the effects of a level."""
        own = self.levels.get((t, level)) or Effect(self.zeros(t), self.zeros(t))
        V = [self.tau[t, z] / (1 + own.info[z] * self.tau[t, z]) for z in range(len(own.g))]
        M = [(own.g[z] - own.info[z] * self.mu[t][z]) * V[z] for z in range(len(own.g))]
        return M, V

    # --- the law of a round

    def spread(self, parts: list[Floats]) -> Floats:
        """Return sums over all, knots and blocks, by block."""
        total = np.full(self.blocks, float(parts[0][0]))
        if not self.middle:
            return total
        for q in range(self.blocks):
            x = min(KNOTS - 1.001, max(0.0, self.middle[q] * KNOTS - 0.5))
            m, a = int(x), x - int(x)
            total[q] += (1 - a) * parts[1][m] + a * parts[1][m + 1]
            if len(parts) > 2:
                total[q] += parts[2][q]
        return total

    def apply(self, base: Floats, labels: tuple[Any, ...]) -> Floats:
        """Set the laws of the three stages, from P(column <= k); return their mixture."""
        self.now = [
            [x for x in self.terms(labels) if (x[0] < self.singles) == (e == 1)] for e in (1, 2)
        ]
        self.laws, eta = [base], np.zeros(self.blocks)
        self.V = [self.zeros(0) for _ in range(2)]
        for e in range(2):
            M = self.zeros(0)
            for term in self.now[e]:
                mean, V = self.moments(*term)
                for z, m in enumerate(mean):
                    M[z], self.V[e][z] = M[z] + m, self.V[e][z] + V[z]
            eta = eta + np.clip(self.spread(M), -6, 6)
            self.laws.append(self.moved(base, np.exp(eta)))
        return self.mixture()

    def mixture(self) -> Floats:
        found: Floats = self.stages @ np.array(self.laws)
        return found

    def moved(self, base: Floats, R: Floats) -> Floats:
        if self.feedback == "won-lost":
            odds = np.array([R[self.block[k]] for k in range(self.K)]) * base
            return np.maximum.accumulate(odds / (odds + 1 - base))
        out, above, before = np.zeros(self.K), 1.0, 1.0
        for k in range(self.K - 1, -1, -1):
            h = 1 - base[k] / before
            above *= (1 - h) / (1 - h + h * R[self.block[k + 1]])
            out[k], before = above, base[k]
        return out

    # --- learning

    def likelihood(self, law: Floats, told: bool, column: int, below: bool) -> float:
        upper = law[column] if column < self.K else 1.0
        lower = law[column - 1] if column > 0 else 0.0
        return max(upper - lower if told else upper if below else 1 - upper, 1e-9)

    def score(self, law: Floats, told: bool, column: int, below: bool) -> tuple[Any, Any]:
        """Return the score and the information of an outcome: in all, by knot, by block."""
        s, i = self.zeros(0), self.zeros(0)
        if self.feedback == "won-lost":
            columns = [(self.block[column], law[column], float(below))]
        else:
            above = [*law[1:], 1.0]
            first = max(column if told else column + 1, 1)
            columns = [
                (self.block[j], 1 - law[j - 1] / above[j - 1], float(told and j == column))
                for j in range(first, self.K + 1)
            ]
        for q, h, y in columns:
            s[2][q], i[2][q] = s[2][q] + y - h, i[2][q] + h * (1 - h)
        for total in (s, i):
            total[0][0] = total[2].sum()
            for q in range(self.blocks if self.middle else 0):
                x = min(KNOTS - 1.001, max(0.0, self.middle[q] * KNOTS - 0.5))
                m, a = int(x), x - int(x)
                total[1][m] += (1 - a) * total[2][q]
                total[1][m + 1] += a * total[2][q]
        return s, i

    def counted(self, told: bool, column: int) -> float:
        """Return for how many rounds at risk a round counts in the base."""
        first = max(column if told else column + 1, 1) - 1
        if self.feedback in ("always", "won-lost") or first >= self.K:
            return 1.0
        base, found = (-math.log(max(f[first], 1e-9)) for f in (self.laws[0], self.mixture()))
        if min(base, found) <= 1e-9:
            return 1.0
        ratio = math.log(found / base)
        self.usual += max(1 / (self.rounds + 1), 0.005) * (ratio - self.usual)
        return math.exp(min(max(ratio - self.usual, -2), 2))

    def learn(self, told: bool, column: int, below: bool, labels: tuple[Any, ...]) -> None:
        likely = [self.likelihood(law, told, column, below) for law in self.laws]
        for e in range(2):
            self.gains[e] += math.log(likely[e + 1] / likely[e])
        w = self.stages * likely
        self.stages = (1 - 1e-4) * w / w.sum() + 1e-4 / 3
        for f, x in enumerate(labels):
            if isinstance(x, float) and len(self.numbers[f]) < 256:
                self.numbers[f] = sorted([*self.numbers[f], x], reverse=True)
                n = len(self.numbers[f])
                if n in (32, 64, 128, 256):
                    self.cuts[f] = [self.numbers[f][k * n // 32] for k in range(1, 32)]
        V = self.zeros(0)
        for e in range(2):
            for z in range(3):
                V[z] = V[z] + self.V[e][z]
            everywhere = [V[0], V[1] + V[0], self.spread(V)]
            s, i = self.score(self.laws[e + 1], told, column, below)
            for t, level in self.now[e]:
                self.step(t, level, s, i, everywhere)
        self.rounds += 1
        if self.rounds >= self.due:
            self.due = 1.15 * self.rounds + 1
            self.review()

    def step(self, t: int, level: Any, s: Any, i: Any, everywhere: list[Floats]) -> None:
        M, V = self.moments(t, level)
        own = self.levels.setdefault((t, level), Effect(self.zeros(t), self.zeros(t)))
        silent = not self.tau[t].any() and (self.rounds + t) % 4 > 0
        for z in range(len(own.g)):
            if (z > 0 and not self.middle) or (z == 2 and silent):
                continue
            u = 1 / (1 + i[z] * np.maximum(everywhere[z] - V[z], 0))
            own.g[z] = own.g[z] + u * (s[z] + i[z] * M[z])
            own.info[z] = own.info[z] + u * i[z]

    def settle(self, hazards: Floats) -> None:
        """Set blocks and knots by the law of all rounds; after 128 of them."""
        if self.feedback == "won-lost":
            self.block = [k * self.blocks // self.K for k in range(self.K)] + [self.blocks - 1]
        self.middle = [(q + 0.5) / self.blocks for q in range(self.blocks)]
        left = 1.0
        for j in range(self.K, 0, -1) if self.feedback != "won-lost" else ():
            mass, left = 1 - left + left * hazards[j] / 2, left * (1 - hazards[j])
            if self.blocks == self.K:
                self.block[j], self.middle[j - 1] = j - 1, mass
            else:
                self.block[j] = min(self.blocks - 1, int(mass * self.blocks))

    # --- estimates

    def review(self) -> None:
        forgotten = range(0)
        if self.gains[0] < -3:
            forgotten = range(self.count)
        elif self.gains[1] < -3:
            forgotten = range(self.singles, self.count)
        self.gains = [0.0, 0.0]
        for t in forgotten:
            self.tau[t], self.mu[t] = 0.0, [np.zeros(n) for n in self.sizes]
        self.levels = {key: one for key, one in self.levels.items() if key[0] not in forgotten}
        for t in range(1, self.count):
            mine = [one for (term, _), one in self.levels.items() if term == t]
            for z in range(3 if t < self.singles else 2):
                self.estimate(t, z, mine)

    def estimate(self, t: int, z: int, mine: list[Effect]) -> None:
        total = np.full(self.sizes[z], 1e-9) + sum(one.info[z] for one in mine)
        mean = sum(one.g[z] for one in mine) / total
        self.mu[t][z] = mean + np.zeros(self.sizes[z])
        above = below = 0.0
        for one in mine:
            for q in np.flatnonzero(one.info[z] > 1e-6):
                info = one.info[z][q]
                c, f = one.g[z][q] - info * self.mu[t][z][q], 1 - info / total[q]
                w = info / (1 + info * self.tau[t, z]) ** 2
                above, below = above + w * (c * c / info - f), below + w * info * f
        if below > 0:
            self.tau[t, z] = max(0.0, min(2 * self.tau[t, z] + 0.1, above / below))
