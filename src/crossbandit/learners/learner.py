"""The methods of a learner that its user calls: `act`, `learn`, `policy`, `save` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.learners.feedback import checked_graph, checked_rows, listed_arms, neighbors
from crossbandit.learners.learner_base import AlgorithmT
from crossbandit.learners.records import DecisionRecords
from crossbandit.notebook import card, counted

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.learners.decisions import Decision
    from crossbandit.learners.snapshots import Snapshot
    from crossbandit.streams import Seed
    from crossbandit.types import Floats

_SAMPLES = 1000  # from which the policy of a learner that only samples is estimated


class Learner(DecisionRecords[AlgorithmT]):
    """A running algorithm: `act` on a context, then `learn` from what was revealed.

    Feedback may arrive late and out of order. The weight of a round's feedback is fixed when the
    round is played, so a delay changes when a loss counts, never how much. A decision, or its
    token, carries everything that `learn` needs, so `learn` works in another process and after a
    restart. `learned_from` remembers which decisions were learned from, so that each counts once.
    If the algorithm has `needs_memory`, the latest `max_pending` decisions are remembered as well,
    and older ones expire.

    Any number of threads may use a learner. One lock makes each call of `act`, `learn`, `policy`,
    `expects`, `snapshot`, `merge`, `act_many` and `learn_many` one step; `save` holds it only while
    it copies the state. `snapshot` returns an object that decides elsewhere.

    Feedback may also be missing. Whether it is missing must then depend neither on the losses nor
    on the arm that was played: most learners count a missing loss as 0, so they would prefer arms
    whose feedback is missing. A learner that notices such arms warns with `MissingFeedbackWarning`.
    `CrossGraphAdaptive` measures losses against their mean, so a missing loss counts as average: it
    is not misled by feedback that is missing more often after some arms.

    To write an algorithm, derive from `Learner[YourAlgorithm]` and override

    - `distribution`, the policy of one context; or `sample`, with `samples_only = True`, if arms
      can only be drawn, as in Thompson sampling;
    - `update`, which learns from the rows of losses that a decision revealed;
    - `state`, the arrays that hold everything learned;
    - `play`, only if losses need weights;
    - `check_state` and `tuned`, only if the state has indices or a rule sets parameters;
    - `count_round`, `changed_by_play` and `additive_state`, only for snapshots and for `merge`.

    These may use `algorithm`, `problem`, `graph`, `generator`, `round`, `readout`, `reveals`,
    `revealed`, `add`, `feedback` and `call`. `crossbandit.checks.check_algorithm` tests the result.

    Args:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        seed: An int, a SeedSequence or a Generator (`crossbandit.streams.Seed`).
        graph: What plays reveal; the graph of the problem if None.

    Attributes:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        graph: What plays reveal to this learner. If graphs change: what every round reveals.
        graph_kind: The problem's `graph_kind`; "fixed" if the algorithm ignores the graph.
        generator: The random numbers of this learner. Use no others.
        round: The number of rounds played, which is the number of the next round.
        parameters: The parameters that it runs with, as kernels take them; None if it has none.
        call: Calls a kernel, `call(kernel, *arguments)`, without looking up the types of the
            arguments each time. They must have the same types in every call.
        id: A name that is stored with its decisions.
        learned_from: Which decisions were learned from. Its `window`, `limit` and `clock` may be
            set.
        samples_only: Whether arms can be drawn, but their probabilities are not known.
        needs_all_feedback: Whether feedback that is missing more often for some arms misleads it.
        changed_by_play: The arrays of the state that `play` changes, other than scratch arrays. A
            snapshot undoes these changes.
        additive_state: The arrays of the state that are sums over rounds. If all others are scratch
            arrays, `merge` can add them.
    """

    def act(self, context: Any, available: Any = None, graph: Any = None) -> Decision:
        """Choose an arm.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each. No other arm is played. It is a
                part of the context. None means all arms.
            graph: The graph of the round, if the problem's `graph_kind` is "informed".

        Returns:
            The decision: its arm, and what `learn` needs later.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
        """
        plain, readout = self._read(context, available)
        known = self._graph_of_round("act", graph)
        with self._lock:
            pending = self._new_decision(plain, readout)
            pending.graph = known
            probability = self.play(pending)
            if known is not None:
                pending.revealed = neighbors(known, pending.arm)
            self._record(pending)
        return self._decision(pending, probability)

    def learn(self, decision: Decision | bytes | str, losses: Any, graph: Any = None) -> None:
        """Learn from the losses that a decision revealed.

        Args:
            decision: What `act` returned, of this learner or one of its snapshots; or its token, as
                bytes or text. Each decision counts once.
            losses: One row per arm of `decision.revealed`, in that order: a number per context
                (dense losses) or a coefficient per feature (linear losses). Or a mapping from each
                revealed arm to its row. If graphs are unknown, it must be such a mapping.
            graph: The graph of the round, if the problem's `graph_kind` is "uninformed". The rows
                are then those of the arms that it reveals, ascending.

        Raises:
            LearnedBeforeError: The decision was learned from before.
            ExpiredDecisionError: The decision is older than what is remembered.
            ForeignDecisionError: Another learner made the decision.
            DamagedTokenError: The token is damaged or forged.
            DecisionError: It is not a decision, or was changed.
            InvalidGraphError: The graph of the round is missing, or the algorithm cannot play it.
            InvalidLossesError: Losses have another shape, are masked, not finite, or not in [0, 1].
                The learner is then unchanged.
        """
        with self._lock:
            pending = self._expected(decision)
            known = self._graph_of_round("learn", graph)
            revealed = self.revealed(pending)
            if known is not None:
                revealed = neighbors(known, pending.arm)
            elif self.graph_kind == "unknown":
                revealed = listed_arms(losses, self.problem.arms)
            rows = checked_rows(self.problem.form, pending, revealed, losses)
            pending = self._mark_and_count(pending)
            if self.graph_kind in {"uninformed", "unknown"}:
                pending.graph, pending.revealed = known, revealed
            self.update(pending, rows)

    def expects(self, decision: Decision | bytes | str) -> None:
        """Check that `learn` would accept a decision now. Changes nothing.

        Args:
            decision: What `act` returned, or its token.

        Raises:
            DecisionError: As `learn` would raise it.
        """
        with self._lock:
            self._expected(decision)

    def act_many(self, contexts: Any, available: Any = None) -> Sequence[Decision]:
        """Choose an arm in each of many contexts, as `act` would one after the other.

        If the algorithm has compiled code for it, this is one call of that code.

        Args:
            contexts: The contexts: numbers (n,), or feature vectors (n, features).
            available: Which arms may be chosen in each (n, arms); None means all arms.

        Returns:
            The decisions. `learn_many` takes them, and `learn` takes each.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available. The
                learner is then unchanged.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        from crossbandit.learners.batches import act_many

        return act_many(self, contexts, available)

    def learn_many(self, decisions: Sequence[Decision | bytes | str], losses: Any) -> None:
        """Learn from the losses that many decisions revealed, as `learn` would one by one.

        If the algorithm has compiled code for it, this is one call of that code.

        Args:
            decisions: What `act_many` returned; or a list of decisions and tokens.
            losses: An entry for each decision, as `learn` takes it. Or one array with the rows of
                all decisions, one after the other.

        Raises:
            DecisionError: As `learn` would raise it for one of them. The learner is then unchanged.
            InvalidLossesError: Losses are not valid. The learner is then unchanged.
        """
        from crossbandit.learners.batches import learn_many

        learn_many(self, decisions, losses)

    def policy(self, context: Any, available: Any = None) -> Floats:
        """Return the distribution from which `act` would draw now. Changes nothing.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each; None means all arms.

        Returns:
            A probability for each arm. If `samples_only` is set, these are frequencies among 1,000
            samples.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        plain, readout = self._read(context, available)
        with self._lock:
            if not self.samples_only:
                return self.distribution(plain, readout)
            generator = np.random.default_rng(0)
            arms = [self.sample(plain, readout, generator) for _ in range(_SAMPLES)]
        return np.bincount(arms, minlength=self.problem.arms) / _SAMPLES

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file. `crossbandit.load` returns a learner that resumes exactly.

        The key of tokens is not written. Other threads wait only while the state is copied, and the
        pending decisions if the algorithm needs memory.

        Args:
            path: Where to write it; an existing file is replaced in one step.
        """
        from crossbandit.learners.checkpoints import save

        save(self, path)

    def snapshot(self, seed: Seed | None = None) -> Snapshot:
        """Return an object that decides as this learner would now, in any thread or process.

        This learner can learn from the decisions of all its snapshots. Each decision keeps the
        weights that were set when it was made.

        Args:
            seed: The seed of its random numbers. If None, they differ from those of all others.

        Returns:
            The snapshot.

        Raises:
            InvalidParameterError: The algorithm needs memory, so only the learner itself can
                decide.
        """
        from crossbandit.learners.snapshots import Snapshot

        return Snapshot.of(self, seed)

    def _graph_of_round(self, call: str, graph: Any) -> FeedbackGraph | None:
        if self.graph_kind == "fixed" and (graph is None or self.algorithm.needs_own_loss):
            return None
        return checked_graph(call, self.graph_kind, self.algorithm, self.problem.arms, graph)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.algorithm.id}, {self.round} rounds played)"

    def _repr_html_(self) -> str:
        problem = self.problem
        facts = [
            (self.algorithm.id, repr(self.algorithm)),
            (counted(self.round, "round"), "how many were played"),
            (f"{self.pending:,} pending", "decisions without feedback so far"),
            (counted(problem.arms, "arm"), repr(problem)),
            (f"observability: {self.graph.observability}", self.graph.observability_reason),
        ]
        return card(type(self).__name__, facts)
