"""Wrong implementations on purpose: the real core of Algorithm 2 with one mistake in it."""

import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import crossbandit
from crossbandit.algorithms import CrossGraph, cross_graph
from tests.sources import from_sources


@dataclass(frozen=True)
class Mistake:
    """Lines that occur once in the core, and what to put in their place."""

    name: str
    changes: tuple[tuple[str, str], ...]


def install(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CrossGraph:
    """Let every learner of Algorithm 2 run the changed core, interpreted; return a subject.

    The subject's class is new, so that nothing remembered about another one is taken for its own.
    """
    source = Path(crossbandit.__file__).with_name("algorithms") / "epoch_core.py"
    text = source.read_text(encoding="utf-8")
    for old, new in mistake.changes:
        assert text.count(old) == 1, f"The core no longer says {old!r}: change the mutant."
        text = text.replace(old, new)
    path = folder / "changed_core.py"
    path.write_text(text, encoding="utf-8")
    spec = spec_from_file_location("changed_core", path)
    assert spec is not None
    assert spec.loader is not None
    changed = module_from_spec(spec)
    with from_sources():  # a core that is interpreted cannot derive from one that is compiled
        spec.loader.exec_module(changed)
    monkeypatch.setitem(sys.modules, "changed_core", changed)  # copies of cores look it up
    monkeypatch.setattr(cross_graph, "EpochCore", changed.EpochCore)
    wrong: type[CrossGraph] = type("Mutant", (CrossGraph,), {})
    return wrong()


NO_MISTAKE = Mistake("no mistake", ())

LATE_SNAPSHOT = Mistake(
    "a snapshot delayed by one epoch more",
    (
        ("return 1 + epoch % 2", "return 1 + epoch % 3"),
        (
            "following: cython.Py_ssize_t = slot(self.epoch[0] + 1)",
            "following = slot(self.epoch[0] + 2)",
        ),
        # Room for one more snapshot: a late one has to wait somewhere.
        (
            "RoundCore.__init__(self, estimates,",
            "estimates = np.zeros((4, *estimates.shape[1:])); RoundCore.__init__(self, estimates,",
        ),
    ),
)
UNMIXED_SNAPSHOT = Mistake(
    "r_e without uniform mixing",
    (("i, self.eta, self.rho, out)", "i, self.eta, self.rho if copy == LIVE else 0.0, out)"),),
)
SELECTOR_ON_FREQUENCY_SAMPLE = Mistake(
    "the selector computed on the frequency sample",
    (
        (
            "special one\n            self.set_upcoming(self.loss_side",
            "special one\n            self.set_upcoming(1 - self.loss_side",
        ),
    ),
)
RETAINS_TOO_MUCH = Mistake(
    "retention without its factor of a half",
    (("/ (2.0 * self.probability)", "/ self.probability"),),
)
LITTLE_EXPLORATION = Mistake(
    "gamma in place of 3/2 gamma", (("/ length + 1.5 * self.gamma", "/ length + self.gamma"),)
)
NO_FALLBACK = Mistake(
    "no fallback", (("if 2.0 * self.rows[out, a] < self.rows[snapshot, a]:", "if False:"),)
)

# These are right as long as an epoch has one pair.
COUNTS_THE_LAST_PAIR_ONLY = Mistake(
    "samples of the last pair in place of all pairs",
    (
        (
            "self.add_row(SNAPSHOT, FREQUENCY)\n        if self.loopless",
            "self.copy_row(SNAPSHOT, FREQUENCY)\n        if self.loopless",
        ),
        (
            "self.add_row(SNAPSHOT, MASS)\n        if self.epoch",
            "self.copy_row(SNAPSHOT, MASS)\n        if self.epoch",
        ),
    ),
)
DIVIDES_BY_TWO = Mistake(
    "what divided by 2 in place of L",
    (("/ length + 1.5 * self.gamma", "/ 2.0 + 1.5 * self.gamma"),),
)
CORRECTS_ONCE = Mistake(
    "the correction in the first pair of an epoch only",
    (
        (
            "        if special >= 0:",
            "        if special >= 0 and self.number % self.epoch_length == 1:",
        ),
    ),
)

# This is in the loop of a simulation, which `act` and `learn` do not use.
LEARNS_THE_OTHER_ROUND = Mistake(
    "a loop that learns the losses of the other round",
    (("i - 1 + self.loss_side", "i - self.loss_side"),),
)

NO_NUMBERS = Mistake(
    "denominators that are not numbers",
    (("/ length + 1.5 * self.gamma", "* float('nan')"),),
)
