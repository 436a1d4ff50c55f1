"""What a learner knows before the first round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crossbandit.core.forms import DenseForm, LinearForm, LossForm
from crossbandit.core.validation import array, boolean, choice, integer, reject, verbatim
from crossbandit.errors import InvalidParameterError
from crossbandit.graphs import FeedbackGraph
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.types import Floats

PROBABILITY_TOLERANCE = 1e-9

Precision = Literal["float64", "float32"]
GraphKind = Literal["fixed", "informed", "uninformed", "unknown"]
# What a learner knows of the graph, and when. The words are used in messages.
GRAPH_KINDS: dict[str, str] = {
    "fixed": "the same in all rounds",
    "informed": "given to act before each round",
    "uninformed": "revealed to learn after each round",
    "unknown": "never revealed: a mapping from arm to row is all that learn gets",
}
_LONGEST = 2**62  # the longest horizon, because rounds are counted in 64 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """What a learner knows before the first round: graph, contexts, form of the losses, horizon.

    Give either `contexts` or `features`. With `contexts`, losses are *dense*: a loss for each
    context. With `features`, losses are *linear* in the features of a context.

    Args:
        graph: The feedback graph, or its matrix of 0 and 1, of at least 2 arms. If `graph_kind` is
            not "fixed": the edges that every round has, as far as they are known in advance. A
            graph without edges promises nothing.
        contexts: The number of contexts. A context is then a number from 0.
        features: The number of features; a context is then a feature vector. Or a table of shape
            (contexts, features), or (contexts, arms, features) if features differ between arms; a
            context is then the number of a table entry.
        horizon: The number of rounds, if it is known.
        precision: "float64", or "float32" for half the memory with dense losses. A sum of n
            weighted losses then has a relative error of up to n times 6e-8.
        context_distribution: A probability for each context, for algorithms that need it.
        context_sample: Feature vectors of shape (vectors, features) that represent the distribution
            of continuous contexts, for algorithms that need it.
        graph_kind: What is known of the graph, and when: "fixed" (the graph is the same in all
            rounds), "informed" (each round has a graph, which `act` is given), "uninformed" (which
            `learn` is given) or "unknown" (which is never given).
        graph_by_context: Whether the graph of a round is a function of its context: each context
            always has the same graph. If not, it may depend on the round, but not on the context.
        grants_own_loss: Whether an algorithm that ignores the graph and says so
            (`Algorithm.needs_own_loss`) is shown the loss of the arm that it plays, also if that
            arm has no self-loop. The paper's evaluation does so. Runs and tables show it.

    Attributes:
        form: How losses are stored and read; set from `contexts` and `features`.

    Raises:
        InvalidParameterError: A parameter is out of range, or parameters do not fit together.

    >>> from crossbandit import graphs
    >>> Problem(graphs.threshold(100), features=2, horizon=10_000)
    Problem(100 arms, contexts of 2 features, horizon 10000)
    """

    graph: FeedbackGraph = field(kw_only=False)
    contexts: int | None = None
    features: int | npt.ArrayLike | None = None
    horizon: int | None = None
    precision: Precision = "float64"
    context_distribution: npt.ArrayLike | None = None
    context_sample: npt.ArrayLike | None = None
    graph_kind: GraphKind = "fixed"
    graph_by_context: bool = False
    grants_own_loss: bool = True
    form: LossForm = field(init=False)

    def __post_init__(self) -> None:
        set_fields(self, graph=as_graph("Problem", self.graph))
        if self.graph.arms < 2:
            got = verbatim(f"{self.graph.arms} arm, which leaves nothing to decide")
            reject("Problem", "graph", "a FeedbackGraph of at least 2 arms", got)
        choice("Problem", "graph_kind", self.graph_kind, tuple(GRAPH_KINDS))
        boolean("Problem", "graph_by_context", self.graph_by_context)
        if self.graph_by_context and self.graph_kind == "fixed":
            got = verbatim("True for a graph that is the same in all rounds")
            reject("Problem", "graph_by_context", "False, or graph_kind not 'fixed'", got)
        boolean("Problem", "grants_own_loss", self.grants_own_loss)
        form = self._form()
        set_fields(self, form=form, contexts=form.contexts)
        if isinstance(form, LinearForm):
            set_fields(self, features=form.features)
        if self.horizon is not None:
            horizon = integer("Problem", "horizon", self.horizon, at_least=1, at_most=_LONGEST)
            set_fields(self, horizon=horizon)
        if self.context_distribution is not None:
            if form.contexts is None:
                got = verbatim("one for continuous contexts; give context_sample instead")
                reject("Problem", "context_distribution", "None unless features is a table", got)
            distribution = probabilities(
                "Problem", "context_distribution", self.context_distribution, form.contexts
            )
            set_fields(self, context_distribution=distribution)
        if self.context_sample is not None:
            set_fields(self, context_sample=self._sample(self.context_sample))

    def _sample(self, vectors: Any) -> Floats:
        expected = f"an array of finite feature vectors of shape (any, {self.form.columns})"
        if self.contexts is not None:
            got = verbatim("one for a problem whose contexts are numbered")
            reject("Problem", "context_sample", "None unless features is a number", got)
        sample = array("Problem", "context_sample", expected, vectors)
        if sample.ndim != 2 or sample.shape[1] != self.form.columns or sample.size == 0:
            got = verbatim(f"an array of shape {sample.shape}")
            reject("Problem", "context_sample", expected, got)
        if not np.isfinite(sample).all():
            reject("Problem", "context_sample", expected, verbatim("numbers that are not finite"))
        sample.flags.writeable = False
        return sample

    def _form(self) -> LossForm:
        choice("Problem", "precision", self.precision, ("float64", "float32"))
        if self.contexts is not None and self.features is None:
            return DenseForm(self.contexts, self.precision)
        if self.features is not None and self.contexts is None:
            if self.precision != "float64":
                expected = "'float64' if losses are linear: there is no table to make smaller"
                reject("Problem", "precision", expected, self.precision)
            return LinearForm(self.features, self.graph.arms)
        got = "neither" if self.features is None else "both"
        raise InvalidParameterError(
            "Problem needs either 'contexts', the number of contexts, for a separate loss in each; "
            f"or 'features', for losses that are linear in features. Got {got}."
        )

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return self.graph.arms

    def with_distribution(self, distribution: npt.ArrayLike) -> Problem:
        """Return this problem with a known distribution of the contexts.

        Args:
            distribution: A probability for each context.
        """
        return self._replace(context_distribution=distribution)

    def with_sample(self, vectors: npt.ArrayLike) -> Problem:
        """Return this problem with a sample of its continuous contexts.

        Args:
            vectors: Feature vectors of shape (vectors, features).
        """
        return self._replace(context_sample=vectors)

    def with_graph(
        self, graph: FeedbackGraph, graph_kind: GraphKind | None = None, *, by_context: bool = False
    ) -> Problem:
        """Return this problem with another graph.

        Args:
            graph: A feedback graph.
            graph_kind: What is known of it, and when; as before if None.
            by_context: The new `graph_by_context`, if `graph_kind` is given.
        """
        if graph_kind is None:
            return self._replace(graph=graph)
        return self._replace(graph=graph, graph_kind=graph_kind, graph_by_context=by_context)

    def _replace(self, **changes: Any) -> Problem:
        contexts = None if isinstance(self.form, LinearForm) else self.contexts
        return replace(self, **{"contexts": contexts, **changes})

    def __repr__(self) -> str:
        if self.contexts is None:
            contexts = f"contexts of {self.form.columns} features"
        elif isinstance(self.form, LinearForm):
            contexts = f"{self.contexts} contexts of {self.form.columns} features"
        else:
            contexts = f"{self.contexts} contexts"
        horizon = "no horizon" if self.horizon is None else f"horizon {self.horizon}"
        kind = "" if self.graph_kind == "fixed" else f", {self.graph_kind} graphs"
        return f"Problem({self.arms} arms, {contexts}, {horizon}{kind})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.graph, self.contexts, self.form.columns, self.horizon))

    def parts(self) -> dict[str, Any]:
        """Return the constructor's arguments: the graph in its JSON form, arrays unchanged."""
        linear = isinstance(self.form, LinearForm)
        return {
            "graph": self.graph.to_json(),
            "contexts": None if linear else self.contexts,
            "features": self.features,
            "horizon": self.horizon,
            "precision": self.precision,
            "context_distribution": self.context_distribution,
            "context_sample": self.context_sample,
            "graph_kind": self.graph_kind,
            "graph_by_context": self.graph_by_context,
            "grants_own_loss": self.grants_own_loss,
        }

    def to_json(self) -> dict[str, Any]:
        """Return a form that `json` can write and `from_json` can read."""
        return {name: _plain(part) for name, part in self.parts().items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Problem:
        """Return the problem that `to_json` wrote.

        Args:
            data: What `to_json` returned.
        """
        return cls(**{**data, "graph": FeedbackGraph.from_json(data["graph"])})


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def probabilities(owner: str, name: str, values: npt.ArrayLike, count: int | None) -> Floats:
    """Return `values` as a read-only distribution over `count` contexts (any number if None)."""
    expected = "a vector of probabilities" if count is None else f"{count} probabilities"
    result = array(owner, name, expected, values)
    if result.ndim != 1 or result.size == 0 or (count is not None and result.size != count):
        reject(owner, name, expected, verbatim(f"an array of shape {result.shape}"))
    if not (result >= 0).all() or not np.isfinite(result).all():
        bad = int(np.flatnonzero(~((result >= 0) & np.isfinite(result)))[0])
        reject(owner, name, expected, verbatim(f"{result[bad]} for context {bad}"))
    total = float(result.sum())
    if abs(total - 1.0) > PROBABILITY_TOLERANCE:
        reject(owner, name, f"{expected} that sum to 1", verbatim(f"a sum of {total!r}"))
    result.flags.writeable = False
    return result


def set_fields(instance: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass, in its `__post_init__`."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
