# cython: infer_types=True
"""The arithmetic that the cores of graph learners share: contexts, losses, graphs, distributions.

Losses come as *rows*: one row per arm and round, one column per number that a learner keeps of an
arm. A context reads the row of arm `a` by

    loss = sum_v row[offset + v] * coefficients[a, v].

Dense losses have a column per context, and context c reads with `offset = c, coefficients = [[1]]`.
Linear losses have a column per feature, and a context reads with `offset = 0` and its features as
coefficients. So both forms of losses share all code.

Nothing here checks its arguments: shapes and indices are checked where they come from.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from math import exp
    from math import inf as INFINITY  # noqa: N812

import numpy as np

_SHORT = cython.declare(cython.Py_ssize_t, 16)  # longer rows are worth adding as vectors


@cython.cclass
class Contexts:
    """How the contexts of a batch read rows, and which arms each may play."""

    def __init__(self, offset, entry, table, available) -> None:
        self.offset, self.entry, self.table = offset, entry, table
        self.available = available.view(np.uint8)
        self.restricted = available.shape[1] > 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def may_play(self, i: cython.Py_ssize_t, a: cython.Py_ssize_t) -> cython.bint:
        return not self.restricted or self.available[i, a] != 0


@cython.cclass
class Ranges:
    """Neighbourhoods as ranges of consecutive arms, of one graph or of several in turn.

    Arm `a` owns the ranges `starts[a] : starts[a + 1]`; range j has the arms from `first[j]` to
    `last[j]`. The arms of graph g of several begin at `shift = g * K`.
    """

    def __init__(self, ranges) -> None:
        self.starts, self.first, self.last = ranges

    def has_self_loop(self, shift, a):
        for j in range(self.starts[shift + a], self.starts[shift + a + 1]):
            if self.first[j] <= a <= self.last[j]:
                return True
        return False


@cython.cclass
class Losses:
    """The rows of all arms in n rounds.

    row[i, a, :] = base[i, a, :] + sum_k coefficients[i, a, k] * features[k, :],
    limited to [low, high]: [0, 1] if the losses are clipped. base: (n or 1, K, columns).
    """

    def __init__(self, losses) -> None:
        self.base, self.coefficients, self.features, clip = losses
        # As variables, the limits are applied by two instructions on vectors. The constants 0 and 1
        # would be applied by branches.
        self.low = 0.0 if clip else -INFINITY
        self.high = 1.0 if clip else INFINITY


@cython.cclass
class Batch:
    """Rounds to be played: contexts, losses, graphs, and the arms to be filled in."""

    def __init__(self, rounds) -> None:
        contexts, graphs = rounds.contexts, rounds.graphs
        self.contexts = Contexts(*contexts)
        self.losses = Losses(rounds.losses)
        self.arms, self.numbers = rounds.arms, rounds.numbers
        self.graph = graphs.entry
        self.out_ranges = Ranges(graphs.out_ranges)
        self.in_ranges = Ranges(graphs.in_ranges)


@cython.cclass
class EstimateCore:
    """Sums of weighted losses for each arm, and the arithmetic on them.

    `rows` are vectors with a number for each arm; methods take the number of a row, because passing
    a row itself would cost more than most of them do.
    """

    def __init__(self, estimates, bias, rows, shape, apart=False) -> None:
        self.arms, self.columns = estimates.shape[1], estimates.shape[2]
        self.single = estimates.dtype == np.float32
        if self.single:
            self.narrow = estimates
        else:
            self.estimates = estimates
        self.bias, self.rows = bias, rows
        self.sums = np.zeros((2, self.arms + 1))
        self.revealed = np.zeros(self.arms, dtype=np.int64)
        self.apart, self.arrays = apart, {}
        self.now_offset, self.now_table = np.zeros(1, dtype=np.int64), np.ones((1, *shape))
        self.now_available = np.ones((1, self.arms), dtype=np.uint8)
        self.now = Contexts(
            np.asarray(self.now_offset),
            np.zeros(1, dtype=np.int64),
            np.asarray(self.now_table),
            np.asarray(self.now_available),
        )

    def __reduce__(self):
        return type(self), self.made_of, self.arrays

    def __setstate__(self, arrays) -> None:
        for name, array in arrays.items():
            self.arrays[name][...] = array

    def keep(self, name, array):
        """Make an array a part of the state; return it."""
        self.arrays[name] = array
        return array

    def state(self) -> dict:
        """Return the arrays that hold everything learned, by name: themselves, not copies."""
        return self.arrays

    def read_context(self, reading):
        """Set `now` to the context of a single round.

        reading: the first column that the context reads; the factors of that column and those after
        it, None if it reads one column as it is; which arms may be played, None if all may.
        """
        offset, coefficients, available = reading
        self.now_offset[0] = offset
        if coefficients is not None:
            np.asarray(self.now_table)[0] = coefficients
        self.now.restricted = available is not None
        if available is not None:
            np.asarray(self.now_available)[0] = available

    def read_feedback(self, weights, out, arms, rows):
        """Set row `out` to weights (K,), and `revealed` to arms; return their losses."""
        row: cython.Py_ssize_t = out
        found: cython.const[cython.longlong][::1] = arms
        losses: Losses = Losses((rows[None], np.empty((1, len(arms), 0)), np.empty((0, 1)), False))
        if weights.shape[0] != self.arms or found.shape[0] > self.arms:
            raise ValueError("there must be a weight for each arm, and no more arms than there are")
        if losses.base.shape[1] != found.shape[0]:
            raise ValueError("there must be a row for each revealed arm")
        for a in range(found.shape[0]):
            if not 0 <= found[a] < self.arms:
                raise ValueError("there is no such arm")
            self.revealed[a] = found[a]
        for a in range(self.arms):
            self.rows[row, a] = weights[a]
        return losses

    def read(self, copy, contexts, i, out):
        """Set a row to the scores of context `i`; return the least of an available arm."""
        least: cython.double = INFINITY
        offset: cython.Py_ssize_t = contexts.offset[i]
        entry: cython.Py_ssize_t = contexts.entry[i]
        step: cython.Py_ssize_t = 0 if contexts.table.shape[1] == 1 else 1
        width: cython.Py_ssize_t = contexts.table.shape[2]
        apart: cython.bint = self.apart
        single: cython.bint = self.single
        estimate: cython.double
        if apart:
            offset, width = 0, 1
        for a in range(self.arms):
            score: cython.double = self.bias[copy, a]
            for v in range(width):
                if single:
                    estimate = self.narrow[copy, a, offset + v]
                else:
                    estimate = self.estimates[copy, a, offset + v]
                score += estimate if apart else estimate * contexts.table[entry, step * a, v]
            self.rows[out, a] = score
            if score < least and contexts.may_play(i, a):
                least = score
        return least

    def weigh(self, copy, contexts, i, eta, rho, out):
        """Set a row to (1 - rho) * softmax(-eta * scores) + rho / K over the available arms."""
        least: cython.double = self.read(copy, contexts, i, out)
        self.normalise(contexts, i, least, eta, rho, out)

    def normalise(self, contexts, i, least, eta, rho, out):
        """Turn a row of scores into exponential weights. The least score is that of available arms.

        It is subtracted, so the largest exponential is 1.
        """
        total: cython.double = 0.0
        count: cython.double = 0.0
        for a in range(self.arms):
            weight = 0.0
            if contexts.may_play(i, a):
                weight = exp(-eta * (self.rows[out, a] - least))
                count += 1.0
            self.rows[out, a] = weight
            total += weight
        share: cython.double = (1.0 - rho) / total
        floor: cython.double = rho / count
        for a in range(self.arms):
            if contexts.may_play(i, a):
                self.rows[out, a] = share * self.rows[out, a] + floor

    def draw(self, row, uniform):
        """Return the smallest arm whose cumulative probability exceeds `uniform`.

        If rounding leaves none, return the last arm with a positive probability.
        """
        cumulative: cython.double = 0.0
        for a in range(self.arms):
            cumulative += self.rows[row, a]
            if uniform < cumulative:
                return a
        for a in range(self.arms - 1, 0, -1):
            if self.rows[row, a] > 0.0:
                return a
        return 0

    def heaviest(self, arms, row):
        """Return which of `arms` (at least one) has the most mass; ties go to the first."""
        best: cython.Py_ssize_t = arms[0]
        for j in range(1, arms.shape[0]):
            if self.rows[row, arms[j]] > self.rows[row, best]:
                best = arms[j]
        return best

    def combine(self, arm, keep, out, weight, copy):
        """Scale an arm's estimates in copy `out` by `keep`; add `weight` times those in `copy`.

        The two copies may be the same.
        """
        self.bias[out, arm] = keep * self.bias[out, arm] + weight * self.bias[copy, arm]
        if self.single:
            for m in range(self.columns):
                self.narrow[out, arm, m] *= keep
                self.narrow[out, arm, m] += weight * self.narrow[copy, arm, m]
        else:
            for m in range(self.columns):
                self.estimates[out, arm, m] *= keep
                self.estimates[out, arm, m] += weight * self.estimates[copy, arm, m]

    def copy_row(self, row, out):
        for a in range(self.arms):
            self.rows[out, a] = self.rows[row, a]

    def add_row(self, row, out):
        for a in range(self.arms):
            self.rows[out, a] += self.rows[row, a]

    def masses(self, ranges, shift, row, out):
        """Set `out[a]` to the mass of arm a's neighbourhood, in time of arms plus ranges.

        A range that touches an end needs one sum. A range in the middle is a difference of two
        sums, limited from below by the mass of its two end arms: rounding must not turn a small
        positive mass into 0.
        """
        arms: cython.Py_ssize_t = self.arms
        below: cython.double = 0.0
        above: cython.double = 0.0
        self.sums[0, 0] = 0.0
        self.sums[1, arms] = 0.0
        for a in range(arms):
            below += self.rows[row, a]
            above += self.rows[row, arms - 1 - a]
            self.sums[0, a + 1] = below
            self.sums[1, arms - 1 - a] = above
        for a in range(arms):
            total: cython.double = 0.0
            for j in range(ranges.starts[shift + a], ranges.starts[shift + a + 1]):
                first = ranges.first[j]
                last = ranges.last[j]
                if first == last:
                    total += self.rows[row, first]
                elif first == 0:
                    total += self.sums[0, last + 1]
                elif last == arms - 1:
                    total += self.sums[1, first]
                else:
                    total += max(
                        self.sums[0, last + 1] - self.sums[0, first],
                        self.rows[row, first] + self.rows[row, last],
                    )
            self.rows[out, a] = total

    def list_common(self, known, true, shift, arm):
        """List in `revealed` the arms that are neighbours of `arm` in both, ascending."""
        count: cython.Py_ssize_t = 0
        j: cython.Py_ssize_t = known.starts[arm]
        end: cython.Py_ssize_t = known.starts[arm + 1]
        k: cython.Py_ssize_t = true.starts[shift + arm]
        true_end: cython.Py_ssize_t = true.starts[shift + arm + 1]
        while j < end and k < true_end:
            last, true_last = known.last[j], true.last[k]
            for b in range(max(known.first[j], true.first[k]), min(last, true_last) + 1):
                self.revealed[count] = b
                count += 1
            if last <= true_last:
                j += 1
            if true_last <= last:
                k += 1
        return count

    def list_neighbors(self, ranges, shift, arm):
        """List in `revealed` the neighbours of `arm`, ascending; return how many there are."""
        count: cython.Py_ssize_t = 0
        for j in range(ranges.starts[shift + arm], ranges.starts[shift + arm + 1]):
            for b in range(ranges.first[j], ranges.last[j] + 1):
                self.revealed[count] = b
                count += 1
        return count

    def add_revealed(self, copy, losses, i, weights, count, by_arm):
        """Add its weight times its row in round i to the estimates of each of `count` arms.

        by_arm: whether the losses have a row for every arm; if not, those of `revealed` are the
        rows from `place` on.
        """
        for j in range(count):
            b = self.revealed[j]
            place = b if by_arm else j
            weight = self.rows[weights, b]
            self.add_loss_row(copy, b, losses, i, place, weight)

    def add_loss_row(self, copy, arm, losses, i, place, weight):
        """Add `weight` times row `place` of round i to the estimates of an arm."""
        t: cython.Py_ssize_t = min(i, losses.base.shape[0] - 1)
        if losses.coefficients.shape[2] > 0 or self.columns > _SHORT or self.single:
            self.add_long_row(copy, arm, losses, i, place, weight)
        else:
            for m in range(self.columns):
                self.estimates[copy, arm, m] += weight * losses.base[t, place, m]

    def add_long_row(self, copy, arm, losses, i, place, weight):
        """Add a row of many columns, or one that is a sum of terms."""
        terms: cython.Py_ssize_t = losses.coefficients.shape[2]
        t: cython.Py_ssize_t = min(i, losses.base.shape[0] - 1)
        if self.single:
            for m in range(self.columns):
                self.narrow[copy, arm, m] += weight * loss_in_column(losses, i, place, m)
            return
        base: cython.const[cython.double][::1] = losses.base[t, place]
        out: cython.double[::1] = self.estimates[copy, arm]
        features: cython.const[cython.double][:, ::1] = losses.features
        if terms == 0:
            for m in range(self.columns):
                out[m] += weight * base[m]
            return
        # Losses with a phase have two features, and most of the time of a simulation is spent here.
        # One pass over memory takes half the time of the general loop.
        low: cython.double = losses.low
        high: cython.double = losses.high
        last: cython.Py_ssize_t = terms - 1
        x: cython.double = losses.coefficients[i, place, 0]
        y: cython.double = losses.coefficients[i, place, 1] if last >= 1 else 0.0
        if terms <= 2:
            for m in range(self.columns):
                loss: cython.double = base[m] + x * features[0, m] + y * features[last, m]
                out[m] += weight * min(max(loss, low), high)
        elif terms <= 4:
            z: cython.double = losses.coefficients[i, place, 2]
            w: cython.double = losses.coefficients[i, place, 3] if last >= 3 else 0.0
            for m in range(self.columns):
                loss = base[m] + x * features[0, m] + y * features[1, m]
                loss = loss + z * features[2, m] + w * features[last, m]
                out[m] += weight * min(max(loss, low), high)
        else:
            for m in range(self.columns):
                out[m] += weight * loss_in_column(losses, i, place, m)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def loss_of(
    losses: Losses,
    t: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    arm: cython.Py_ssize_t,
    contexts: Contexts,
    i: cython.Py_ssize_t,
) -> cython.double:
    """Return the loss of `arm` that context i reads from row number `place` of round t."""
    own: cython.Py_ssize_t = min(arm, contexts.table.shape[1] - 1)
    offset: cython.Py_ssize_t = contexts.offset[i]
    entry: cython.Py_ssize_t = contexts.entry[i]
    total: cython.double = 0.0
    for v in range(contexts.table.shape[2]):
        total += loss_in_column(losses, t, place, offset + v) * contexts.table[entry, own, v]
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def loss_in_column(
    losses: Losses, i: cython.Py_ssize_t, place: cython.Py_ssize_t, m: cython.Py_ssize_t
) -> cython.double:
    loss: cython.double = losses.base[min(i, losses.base.shape[0] - 1), place, m]
    for k in range(losses.coefficients.shape[2]):
        loss += losses.coefficients[i, place, k] * losses.features[k, m]
    return min(max(loss, losses.low), losses.high)
