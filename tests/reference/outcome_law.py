"""A conditional law, written out from its formulas: one node after the other, in plain Python."""

import math
from dataclasses import dataclass, field

import numpy as np

from .common import Floats

SPLIT, MATURE, BLOCKS, COVERED, TRIED = 512, 32, 8, 8, 32
DEPTH, RECENT = 8, 5
HALF_LIVES = (math.inf, 2.0**14, 2.0**12)
SHARE = 1e-4


@dataclass
class Node:
    """Counts in risk order (low columns are those that may be hidden), and the law from them."""

    told: Floats
    hidden: Floats
    law: Floats
    spread: Floats
    visits: float = 0.0
    since: int = 0
    evidence: list[float] = field(default_factory=lambda: [0.0] * 6)


class Reference:
    """Without classes. feedback: "after-loss", "after-win", "always" or "won-lost"."""

    def __init__(
        self, amounts: Floats, low: float, high: float, feedback: str, probing: float = 1.0
    ) -> None:
        self.a, self.K = amounts, len(amounts)
        self.low, self.high, self.probing = low, high, probing
        self.feedback, self.mirrored = feedback, feedback == "after-win"
        self.odds = feedback == "won-lost"
        self.lowest = int(amounts[0] == 0)  # the lowest amount that means to bid
        self.half_lives = (math.inf, 2.0**15) if self.odds else HALF_LIVES
        self.cuts = np.linspace(low, high, 2**DEPTH + 1)[1:-1]
        self.nodes: dict[tuple[int, int, int], Node] = {}
        self.totals: dict[tuple[int, int], list[float]] = {}
        self.scale = [1.0] * len(self.half_lives)
        self.weights = [1 / len(self.half_lives)] * len(self.half_lives)
        self.rounds = 0
        self.asked = {(d, i): np.zeros(self.K) for d in range(3) for i in range(2**d)}
        self.reached = {key: np.zeros(self.K) for key in self.asked}

    def flat(self) -> tuple[Floats, Floats]:
        j = np.arange(self.K + 1.0)
        if self.odds:
            return np.log((j + 1) / np.maximum(self.K - j, 1)), np.ones(self.K + 1)
        return 1 / (j + 1), np.ones(self.K + 1)

    def node(self, m: int, depth: int, index: int) -> Node:
        if (m, depth, index) not in self.nodes:
            zeros = np.zeros(self.K + 1)
            self.nodes[m, depth, index] = Node(zeros.copy(), zeros.copy(), *self.flat())
        return self.nodes[m, depth, index]

    def deepest(self, m: int, band: int, limit: int) -> int:
        depth = 0
        while depth < limit:
            parent = self.node(m, depth, band >> (DEPTH - depth))
            child = self.node(m, depth + 1, band >> (DEPTH - depth - 1))
            if parent.visits < SPLIT * self.scale[m] or child.visits < MATURE * self.scale[m]:
                break
            depth += 1
        return depth

    def laws(self, band: int) -> tuple[list[Floats], list[Floats]]:
        """Return the chances of P(column <= k) by each memory, and their variances."""
        d0 = self.deepest(0, band, DEPTH)
        pool = self.node(0, d0, band >> (DEPTH - d0))
        chances, spreads = [], []
        for m in range(len(self.half_lives)):
            law, spread = pool.law.copy(), pool.spread.copy()
            if m > 0:
                d = self.deepest(m, band, min(RECENT, d0))
                own = self.node(m, d, band >> (DEPTH - d))
                same = self.node(0, d, band >> (DEPTH - d))
                if self.odds:
                    law = law + own.law - same.law
                else:
                    law = law * ((own.law + 1e-9) / (same.law + 1e-9))
                spread = own.spread
            if self.odds:
                rising = np.maximum.accumulate(np.maximum(law[:-1], -30))
                chances.append(1 / (1 + np.array([math.exp(-x) for x in rising])))
                spreads.append(spread[:-1].copy())
                continue
            h = np.minimum(law[1:], 0.999)
            chances.append(np.cumprod((1 - h)[::-1])[::-1])
            spreads.append(np.cumsum((spread[1:] * (h / (1 - h)))[::-1])[::-1])
        return chances, spreads

    def band(self, value: float) -> int:
        return int(np.searchsorted(self.cuts, value, side="right"))

    def decide(self, value: float, u: Floats) -> int:
        band = self.band(value)
        chances, spreads = self.laws(band)
        F, V = np.zeros(self.K), np.zeros(self.K)
        for w, f, s in zip(self.weights, chances, spreads, strict=True):
            F, V = F + w * f, V + w * s
        if self.lowest > 0:  # a bid of 0 means not to bid: it does not win
            never = self.K - 1 if self.mirrored else 0
            F[never], V[never] = (1.0 if self.mirrored else 0.0), 0.0
        radius, angle = math.sqrt(-2 * math.log(1 - u[0])), 2 * math.pi * u[1]
        z = {"always": 0.0, "after-loss": 0.5}.get(self.feedback, 1.0) * radius * math.cos(angle)
        z = z if self.odds else max(z, 0.0)
        last = max(int(np.searchsorted(self.a, value, "right")) - 1, 0)
        best, most = 0, -math.inf
        for k in range(last + 1):
            column = self.K - 1 - k if self.mirrored else k
            f = F[column]
            if z != 0 and self.feedback != "always":
                move = (-1 if self.mirrored else 1) * z * math.sqrt(V[column])
                move = move if self.odds else move / (1 - f + 1e-3)
                f = f / (f + (1 - f) * math.exp(-move))
            f = 1 - f if self.mirrored else f
            if (value - self.a[k]) * f > most:
                best, most = k, (value - self.a[k]) * f
        if self.odds:
            found = [self.totals.get((0, d), [0.0, 0.0])[:2] for d in range(1, DEPTH + 1)]
            differs = sum(max(x, 0.0) / w for x, w in found if w > 0)
            if differs <= 0 or best < self.lowest:
                return best
            visits = self.node(0, *self.leaf(band)).visits
            width = 0.25 * self.probing * (1 + visits) ** -0.25 * min(3 * math.sqrt(differs), 1.0)
            step = abs(radius * math.sin(angle)) * width * (best + 1)
            return int(min(math.floor(best + step + 0.5), last))
        return self.tries(band, best, value, F, u[2]) if self.feedback == "after-loss" else best

    def leaf(self, band: int) -> tuple[int, int]:
        depth = self.deepest(0, band, DEPTH)
        return depth, band >> (DEPTH - depth)

    def tries(self, band: int, best: int, value: float, F: Floats, u: float) -> int:
        most = (value - self.a[best]) * F[best]
        for depth in (1, 2):
            index = band >> (DEPTH - depth)
            if most <= 0 or self.node(0, depth, index).visits <= 0:
                continue
            amount, possible = self.candidate(depth, index, best, value, most, F[best])
            if amount < best:
                cost = most - (value - self.a[amount]) * F[amount]
                allowed = self.probing * min(possible - most, 2 * most) / 128
                if u < (1 / 8 if allowed >= cost / 8 else allowed / cost):
                    return amount
        return best

    def candidate(
        self, depth: int, index: int, best: int, value: float, most: float, highest: float
    ) -> tuple[int, float]:
        asked, reached = self.asked[depth, index], self.reached[depth, index]
        often = np.flatnonzero(np.cumsum(asked) >= TRIED)
        tried = often[0] if len(often) else self.K
        if tried > best / 2:
            possible = (value - self.a[0]) * highest
            return (max(best // 2, self.lowest) if possible >= 2 * most else best), possible
        upper = 0.0
        for low in range(tried + 1):
            n, wins = asked[low : tried + 1].sum(), reached[low : tried + 1].sum()
            if n >= 16:
                p = wins / n
                upper = max(upper, p + 2 * math.sqrt(p * (1 - p) / n))
        upper = min(upper, 1.0)
        amount = max(tried, self.lowest)
        possible = (value - self.a[amount]) * upper
        if asked[: tried + 1].sum() < 128 and possible >= 1.2 * most:
            return amount, possible
        possible, amount = (value - self.a[0]) * upper, max(tried // 2, self.lowest)
        return (amount if amount < tried and possible >= 1.2 * most else best), possible

    def learn(self, value: float, played: int, cell: int) -> None:
        """Learn what `feedback` shows of a cell to who has played an amount."""
        band, reached = self.band(value), cell <= played
        chances, _ = self.laws(band)
        shown = self.feedback == "always" or (
            not self.odds and reached == (self.feedback == "after-win")
        )
        if not shown and played < self.lowest:
            return
        if shown:
            column = self.K - cell if self.mirrored else cell
        else:
            column = self.K - 1 - played if self.mirrored else played
        below = reached != self.mirrored
        likely = []
        for f in chances:
            if shown:
                p = (f[column] if column < self.K else 1.0) - (f[column - 1] if column else 0.0)
            else:
                p = f[column] if below else 1 - f[column]
            likely.append(max(p, 1e-9))
        total = sum(w * p for w, p in zip(self.weights, likely, strict=True))
        n = len(self.weights)
        self.weights = [
            (1 - SHARE) * (w * p) / total + SHARE / n
            for w, p in zip(self.weights, likely, strict=True)
        ]
        self.rounds += 1
        for m in range(n):
            self.scale[m] *= 2.0 ** (1 / self.half_lives[m])
            for depth in range((DEPTH if m == 0 else RECENT) + 1):
                index = band >> (DEPTH - depth)
                node = self.node(m, depth, index)
                counts = node.told if shown or (self.odds and below) else node.hidden
                counts[column] += self.scale[m]
                node.visits += self.scale[m]
                node.since += 1
                if m == 0 and depth < 3:
                    asked = self.K - 1 - played if self.mirrored else played
                    self.asked[depth, index][asked] += 1
                    self.reached[depth, index][asked] += reached
                if depth > 0:
                    parent = self.node(m, depth - 1, index >> 1)
                    if parent.visits < SPLIT * self.scale[m]:
                        continue
                    if node.visits < MATURE * self.scale[m]:
                        continue
                if node.since >= node.visits / 32 / self.scale[m]:
                    self.refresh(m, depth, index)

    def refresh(self, m: int, depth: int, index: int) -> None:
        node = self.node(m, depth, index)
        node.since = 0
        if m == 0 and depth == 0:
            law, spread = self.flat()
        elif depth == 0:
            pool = self.node(0, 0, 0)
            law, spread = pool.law.copy(), pool.spread.copy()
        else:
            parent = self.node(m, depth - 1, index >> 1)
            law, spread = parent.law.copy(), parent.spread.copy()
            here, above = self.node(0, depth, index), self.node(0, depth - 1, index >> 1)
            if m > 0 and here.visits >= MATURE:
                if self.odds:
                    law = law + (here.law - above.law)
                else:
                    ratio = (here.law + 1e-9) / (above.law + 1e-9)
                    law = np.minimum(0.999, law * ratio)
        unit = 1 / self.scale[m]
        noise = 1 - 0.5 * min(1.0, self.rounds * math.log(2) / self.half_lives[m])
        totals = self.totals.setdefault((m, depth), [0.0] * 6)
        root = m == 0 and depth == 0
        if self.odds:
            self.shrink_odds(node, unit, noise, root, law, spread, totals)
        else:
            self.shrink(node, unit, noise, root, law, spread, totals)
        node.law, node.spread = law, spread

    def differs(
        self, node: Node, totals: list[float], at: int, new: tuple[float, float, float], top: float
    ) -> float:
        for i in range(3):
            totals[at + i] += new[i] - node.evidence[at + i]
            node.evidence[at + i] = new[i]
        usual = max(totals[at], 0.0) / totals[at + 1] if totals[at + 1] > 0 else 0.0
        pull = math.sqrt(2 * max(new[2], 0.0)) / max(usual, 1e-3)
        own = (max(new[0], 0.0) + usual * pull) / (new[1] + pull + 1e-9)
        return min(max(own, 0.0), top)

    def blocks(self, mean: Floats, limit: float) -> list[range]:
        """Cut columns K, ..., 1 where a block's mean reaches the limit."""
        found, j = [], self.K
        while j >= 1:
            top, total = j, 0.0
            while j >= 1 and total < limit:
                total += mean[j]
                j -= 1
            found.append(range(top, j, -1))
        return found

    def shrink(
        self,
        node: Node,
        unit: float,
        noise: float,
        root: bool,
        h: Floats,
        V: Floats,
        totals: list[float],
    ) -> None:
        n = node.told * unit
        r = np.zeros(self.K + 1)
        total = 0.0
        for j in range(self.K + 1):
            total += node.told[j] + node.hidden[j]
        for j in range(self.K, 0, -1):
            total -= node.hidden[j]
            r[j] = max(total, 0.0) * unit
            total -= node.told[j]
        if root:
            for j in range(1, self.K + 1):
                g = 1 / (1 + r[j])
                h[j], V[j] = (n[j] + h[j]) * g, g + g * g * V[j]
            return
        mean = r * h
        expected = 0.0
        for j in range(1, self.K + 1):
            expected += mean[j]
        blocks = [range(self.K, 0, -1)]
        if expected > 0:
            X = R = J = 0.0
            parts = []
            for block in self.blocks(mean, expected / BLOCKS):
                count = mu = var = 0.0
                for j in block:
                    count, mu, var = count + n[j], mu + mean[j], var + mean[j] * (1 - h[j])
                parts.append((block, count, mu, var))
                if var > 1e-9:
                    w = var / (var + 1)
                    X, R = (
                        X + w * ((count - mu) * (count - mu) / var - noise),
                        R + w * mu * mu / var,
                    )
                    J += w * w
            d = self.differs(node, totals, 0, (X, R, J), 1.0)
            blocks = [block for block, *_ in parts]
            for block, count, mu, var in parts if d > 1e-9 else []:
                for j in block:
                    if var > 1e-9 and r[j] >= COVERED:
                        h[j] = min(0.999, h[j] * ((count * d + 1) / (mu * d + 1)))
        X, R, J = self.columns(range(1, self.K + 1), n, r, h, noise)
        d = self.differs(node, totals, 3, (X, R, J), 1.0)
        for block in blocks:
            X, R, J = self.columns(block, n, r, h, noise)
            local = d
            if 5 * math.sqrt(2 * J) < X:
                local = min(max(d, X / (R + 1e-9)), 1.0)
            for j in block:
                g = 1 / (1 + r[j] * local)
                if local > 0:
                    h[j], V[j] = (n[j] * local + h[j]) * g, g * local + g * g * V[j]

    def columns(
        self, block: range, n: Floats, r: Floats, h: Floats, noise: float
    ) -> tuple[float, float, float]:
        X = R = J = 0.0
        for j in block:
            var = r[j] * h[j] * (1 - h[j])
            if var > 1e-12:
                w = var / (var + 1)
                gap = n[j] - r[j] * h[j]
                X, R = X + w * (gap * gap / var - noise), R + w * max(r[j] - noise, 0.0)
                J += w * w
        return X, R, J

    def shrink_odds(
        self,
        node: Node,
        unit: float,
        noise: float,
        root: bool,
        law: Floats,
        spread: Floats,
        totals: list[float],
    ) -> None:
        wins = node.told[:-1] * unit
        plays = (node.told[:-1] + node.hidden[:-1]) * unit
        for step in range(2):
            p = 1 / (1 + np.array([math.exp(-x) for x in law[:-1]]))
            size = max(self.K // BLOCKS, 1) if step == 0 else 1
            X = R = J = 0.0
            for k in range(0, self.K, size):
                gap = var = 0.0
                for i in range(k, min(k + size, self.K)):
                    gap += wins[i] - plays[i] * p[i]
                    var += plays[i] * p[i] * (1 - p[i])
                if var > 1e-9:
                    w = var / (var + 1)
                    X, R, J = X + w * (gap * gap / var - noise), R + w * var, J + w * w
            d = self.differs(node, totals, 3 * step, (X, R, J), 16.0)
            d = 4.0 if root and step == 0 else d
            if d > 1e-9:
                fading = math.exp(-1 / (0.04 * self.K)) if step == 0 else 0.0
                weight = fading ** np.abs(np.subtract.outer(np.arange(self.K), np.arange(self.K)))
                near, count, mean = weight @ wins, weight @ plays, weight @ (plays * p)
                for k in range(self.K):
                    if count[k] <= 1e-12:
                        spread[k] += d
                        continue
                    q = min(max(mean[k] / count[k], 1e-6), 1 - 1e-6)
                    c = 1 / (d * q * (1 - q))
                    odds = (near[k] + c * q) / (max(count[k] - near[k], 0.0) + c * (1 - q))
                    law[k] = min(max(law[k] + math.log(odds * (1 - q) / q), -12), 12)
                    g = 1 / (1 + d * count[k] * q * (1 - q))
                    spread[k] = d * g + g * g * spread[k]
        highest = np.maximum.accumulate(law[:-1])
        lowest = np.minimum.accumulate(law[:-1][::-1])[::-1]
        law[:-1] = 0.5 * (highest + lowest)
