# cython: infer_types=True
"""The core of a guard: compares a law of prices with a learner that assumes nothing."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.crossbandit.laws.law_core import LawCore
    from cython.cimports.libc.math import INFINITY, exp, log, sqrt
else:
    from math import exp, log, sqrt
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.laws.law_core import LawCore

AFTER_LOSS = cython.declare(cython.Py_ssize_t, 0)
AFTER_WIN = cython.declare(cython.Py_ssize_t, 1)
ALWAYS = cython.declare(cython.Py_ssize_t, 2)
LEAST = cython.declare(cython.double, 0.25)  # over sqrt(rounds): the least chance of an expert


@cython.final
@cython.cclass
class GuardCore:
    """What a guard has learned, and its steps."""

    def __init__(self, law: LawCore, state, top: cython.double) -> None:
        self.made_of = (law, state, top)
        self.law, self.top = law, top
        self.wins, self.spent, self.gains = state.wins, state.spent, state.gains
        self.chances, self.seen = state.chances, state.seen

    def __reduce__(self):
        return type(self), self.made_of

    # --- what Python calls ---------------------------------------------------------------------

    def law_weight(self) -> float:
        """Return the probability that the law is followed."""
        return self.weight_of_law()

    def decide(
        self,
        context: cython.double,
        slots: cython.const[cython.longlong][::1],
        worth: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        uniforms: cython.const[cython.double][::1],
    ):
        """Return the amount to play, the amount of the law, and the weight of the law.

        Changes only the learner's policy and what it shows. uniforms: (5,).
        """
        self.law.check(first, last, uniforms)
        if uniforms.shape[0] < 5:
            raise IndexError("there are too few random numbers")
        self.law.set_keys(slots)
        self.law.set_uniforms(uniforms)
        self.x, self.y = uniforms[3], uniforms[4]
        amount: cython.Py_ssize_t = self.choose(
            self.law.read_to_choose(context), worth, first, last
        )
        return amount, self.bid, self.weight

    def see(self, weight: cython.double, bid: cython.Py_ssize_t) -> None:
        """Set what is shown, for a weight of the law and its amount, by the learner's policy."""
        self.set_seen(weight, bid)

    def learn(
        self,
        worth: cython.double,
        bid: cython.Py_ssize_t,
        played: cython.Py_ssize_t,
        cell: cython.Py_ssize_t,
    ) -> None:
        """Add what an outcome says, with the policy and what it shows of the decision."""
        self.learn_outcome(worth, bid, played, cell)

    def play(
        self,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        worths: cython.const[cython.double][::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        cells: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        out: cython.longlong[::1],
    ) -> None:
        """Decide and learn in n rounds. slots: (n, width). uniforms: (n, 5). Other arrays: (n,)."""
        with cython.nogil:
            for i in range(contexts.shape[0]):
                out[i] = -1
                if firsts[i] > lasts[i]:
                    continue
                self.take_row(slots, uniforms, i)
                band = self.law.read_to_choose(contexts[i])
                out[i] = self.choose(band, worths[i], firsts[i], lasts[i])
                if self.law.shows_nothing(out[i], cells[i]):
                    continue
                self.learn_outcome(worths[i], self.bid, out[i], cells[i])
                # The law tries untried amounts itself: the learner's do not count as its tries.
                self.law.absorb_cell(band, out[i], cells[i], out[i] if out[i] == self.bid else -1)

    # --- steps ---------------------------------------------------------------------------------

    def take_row(self, slots, uniforms, i):
        self.law.take_row(slots, uniforms, i)
        self.x, self.y = uniforms[i, 3], uniforms[i, 4]

    def set_policy(self, worth, last):
        """Set the learner's policy on the amounts up to `last`: exponential weights.

        The estimate of what amount k would have earned at this worth is (worth - a_k) * wins[k].
        """
        size: cython.double = self.law.size
        rate: cython.double = sqrt(log(size) / (1.0 + self.spent[0]))
        most: cython.double = -INFINITY
        total: cython.double = 0.0
        for k in range(last + 1):
            self.chances[k] = rate * (worth - self.law.amounts[k]) / self.top * self.wins[k]
            most = max(most, self.chances[k])
        for k in range(last + 1):
            self.chances[k] = exp(self.chances[k] - most)
            total += self.chances[k]
        for k in range(self.law.size):
            self.chances[k] = self.chances[k] / total if k <= last else 0.0

    def weight_of_law(self):
        """Return the probability that the law is followed.

        The weights begin with K : 1 for the law, because the learner has K amounts, one of which
        may be right by chance, and the law is one choice. So the learner must have gained
        log(K) / rate more before it is followed.
        """
        size: cython.double = self.law.size
        rate: cython.double = sqrt(log(2.0) / (1.0 + self.spent[1]))
        lead: cython.double = rate * (self.gains[0] - self.gains[1]) + log(size)
        weight: cython.double = 1.0 / (1.0 + exp(-min(max(lead, -500.0), 500.0)))
        least: cython.double = min(0.5, LEAST / sqrt(1.0 + self.spent[2]))
        return min(max(weight, least), 1.0 - least)

    def set_seen(self, weight, bid):
        """Set `seen` from `chances`, for this weight of the law and its amount `bid`."""
        total: cython.double = 0.0
        if self.law.feedback == AFTER_LOSS:
            for k in range(self.law.size):
                total += (1.0 - weight) * self.chances[k] + (weight if k == bid else 0.0)
                self.seen[k] = total
        elif self.law.feedback == AFTER_WIN:
            for k in range(self.law.size - 1, -1, -1):
                total += (1.0 - weight) * self.chances[k] + (weight if k == bid else 0.0)
                self.seen[k] = total
        else:
            for k in range(self.law.size):
                own = (1.0 - weight) * self.chances[k] + (weight if k == bid else 0.0)
                self.seen[k] = 1.0 if self.law.feedback == ALWAYS else own

    def choose(self, band, worth, first, last):
        """Return the amount to play, by the law that was read last; set `bid` and `weight`."""
        self.bid = self.law.choose(band, worth, 0.0, first, last)
        self.set_policy(worth, last)
        self.weight = self.weight_of_law()
        self.set_seen(self.weight, self.bid)
        return max(self.draw(last), first)

    def draw(self, last):
        """Return the law's amount, or one that is drawn from the learner's policy."""
        total: cython.double = 0.0
        if self.x < self.weight:
            return self.bid
        for k in range(last + 1):
            total += self.chances[k]
            if self.y < total:
                return k
        return last

    def lower(self, cap):
        """Move the chances of all amounts above `cap` to `cap`, which is bid instead of them."""
        for k in range(cap + 1, self.law.size):
            self.chances[cap] += self.chances[k]
            self.chances[k] = 0.0

    def learn_outcome(self, worth, bid, played, cell):
        """Add what an outcome says about all amounts that it shows, and update both gains.

        cell: any cell for which the shown amounts win and lose as they did.
        """
        shown: cython.bint
        feedback: cython.Py_ssize_t = self.law.feedback
        least: cython.double = LEAST / sqrt(1.0 + self.spent[2])
        mean: cython.double = 0.0
        square: cython.double = 0.0
        law: cython.double = 0.0
        for k in range(self.law.size):
            if feedback == AFTER_LOSS:
                shown = k >= played
            elif feedback == AFTER_WIN:
                shown = k <= played
            else:
                shown = feedback == ALWAYS or k == played
            if not shown or cell > k:
                continue
            win = 1.0 / (self.seen[k] + least)
            self.wins[k] += win
            gain = win * (worth - self.law.amounts[k]) / self.top
            mean += self.chances[k] * gain
            square += self.chances[k] * gain * gain
            if k == bid:
                law = gain
        self.gains[0] += law
        self.gains[1] += mean
        self.spent[0] += max(square - mean * mean, 0.0)
        self.spent[1] += (law - mean) * (law - mean)
        self.spent[2] += 1.0
