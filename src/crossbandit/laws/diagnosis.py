"""What a test of independence has found, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ENOUGH = 100.0  # evidence; a false alarm has at most the inverse of it as its probability
_WORTHWHILE = 0.01


@dataclass(frozen=True)
class Diagnosis:
    """What a test has found.

    Attributes:
        log_evidence: The logarithm of the evidence that the number depends on the context: among
            rounds of the same class, if there are classes. The probability that it ever exceeds
            log(100) without reason is about 1 %.
        gain: An estimate of how much more is earned by the law at each context and its classes
            than by the law of all rounds; 0.05 is 5 %. NaN where it is not known.
        rounds: How many outcomes were looked at.
        words: What numbers and contexts are called, and what choosing by context is.
        class_log_evidence: The same as `log_evidence` for the class, among rounds with nearly the
            same context. NaN if there are no classes.
    """

    log_evidence: float
    gain: float
    rounds: int
    words: tuple[str, str, str] = ("outcomes", "the context", "choosing by context")
    class_log_evidence: float = math.nan

    @property
    def depends(self) -> bool:
        """Whether the evidence is enough to say that the number depends on the context.

        With classes: given the class. For the class itself, see `depends_on_class`.
        """
        return self.log_evidence >= math.log(_ENOUGH)

    @property
    def depends_on_class(self) -> bool:
        """Whether the evidence is enough to say that the number depends on the class.

        That is, given the context. It is False if there are no classes.
        """
        return self.class_log_evidence >= math.log(_ENOUGH)

    def __str__(self) -> str:
        numbers, contexts, choosing = self.words
        if math.isnan(self.class_log_evidence):
            found = f"go with {contexts} here" if self.depends else ""
            return self._sentence(found, f"go with {contexts}", choosing)
        doing, _, by = choosing.partition(" by ")
        given, of_class = f"go with {contexts}, given the class", "go with the class"
        if self.depends and self.depends_on_class:
            found = f"go with {contexts} here, given the class, and with the class"
            return self._sentence(found, "", f"{doing} by {by} and class")
        if self.depends:
            first = self._sentence(f"{given}, here", "", choosing)
            return f"{first} Nothing shows that {numbers} {of_class}."
        if self.depends_on_class:
            first = self._sentence(f"{of_class} here", "", f"{doing} by class")
            return f"{first} Nothing shows that {numbers} {given}."
        return self._sentence("", f"go with {contexts} or with the class", "")

    def _sentence(self, found: str, sought: str, choosing: str) -> str:
        """Return what was found and what it is worth; if nothing was, what was looked for."""
        numbers, rounds = self.words[0], f"{self.rounds:,} rounds"
        if not found:
            return (
                f"There is no evidence so far, in {rounds}, that {numbers} {sought}. "
                "With few rounds this does not show that they are independent."
            )
        found = f"{numbers.capitalize()} {found}"
        if math.isnan(self.gain):
            return f"{found} ({rounds})."
        if self.gain < _WORTHWHILE:
            return (
                f"{found} ({rounds}), but knowing it "
                f"earns an estimated {100 * self.gain:.1f} % more: it hardly matters."
            )
        return f"{found}: {choosing} earns an estimated {100 * self.gain:.0f} % more ({rounds})."
