"""The pages of the reference: what a reader looks for, and which names answer it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page of the reference.

    Args:
        stem: The name of its file.
        title: What a reader looks for.
        text: What is on it.
        sources: Packages, whose `__all__` is shown, and single names.
    """

    stem: str
    title: str
    text: str
    sources: tuple[str, ...]


# An object is on the first page that names it. A package that is not here gets a page of its own.
PAGES = (
    Page(
        "learners",
        "Learners",
        "A problem, a learner that plays it, and the decisions that it makes.",
        (
            "crossbandit.Problem",
            "crossbandit.algorithms.Algorithm",
            "crossbandit.algorithms.Learner",
            "crossbandit.algorithms.Decision",
            "crossbandit.algorithms.Snapshot",
            "crossbandit.algorithms.load",
        ),
    ),
    Page(
        "algorithms",
        "Algorithms",
        "All algorithms, their bounds and their parameters, and the rules that set these.",
        (
            "crossbandit.algorithms.CrossGraph",
            "crossbandit.algorithms.CrossGraphAdaptive",
            "crossbandit.algorithms.CrossGraphKnown",
            "crossbandit.algorithms",
        ),
    ),
    Page("graphs", "Graphs", "Feedback graphs, and how to make them.", ("crossbandit.graphs",)),
    Page(
        "environments",
        "Environments",
        "What nature does: contexts, losses and graphs of all rounds.",
        (
            "crossbandit.environments.Environment",
            "crossbandit.environments.paper_benchmark",
            "crossbandit.environments.stochastic",
            "crossbandit.environments.from_table",
            "crossbandit.environments",
        ),
    ),
    Page(
        "simulation",
        "Simulation",
        "One algorithm on one environment with one seed.",
        (
            "crossbandit.environments.simulation.simulate",
            "crossbandit.environments.simulation.simulate_many",
            "crossbandit.environments.simulation",
        ),
    ),
    Page(
        "applications",
        "Applications",
        "A bidder, a seller, a newsvendor and others. They take and return money.",
        (
            "crossbandit.applications.FirstPriceBidder",
            "crossbandit.applications.Newsvendor",
            "crossbandit.applications.PostedPriceSeller",
            "crossbandit.applications.Recommender",
            "crossbandit.applications.SleepingArms",
            "crossbandit.applications.SpamFilter",
            "crossbandit.applications.TenderBidder",
            "crossbandit.applications",
        ),
    ),
    Page(
        "limits",
        "Limits",
        "Budgets and targets of a bidder, and leases for several processes.",
        ("crossbandit.limits",),
    ),
    Page(
        "laws",
        "Laws",
        "The conditional distribution of a hidden number, learned from censored outcomes.",
        ("crossbandit.laws.OutcomeLaw", "crossbandit.laws"),
    ),
    Page("logs", "Logs", "Logs of auctions: formats, columns, bad lines.", ("crossbandit.logs",)),
    Page(
        "replay",
        "Replay",
        "What strategies would have earned on a log that has all prices.",
        (
            "crossbandit.logs.replay.replay",
            "crossbandit.logs.replay.replay_by",
            "crossbandit.logs.replay",
        ),
    ),
    Page(
        "evaluate",
        "Evaluate",
        "What can be known from a log that lacks prices, and from logged decisions.",
        (
            "crossbandit.logs.evaluate.evaluate",
            "crossbandit.logs.evaluate.evaluate_policy",
            "crossbandit.logs.evaluate",
        ),
    ),
    Page(
        "service",
        "Service",
        "Bidders in a process of their own, with a store that loses nothing.",
        ("crossbandit.service.Node", "crossbandit.service.open_store", "crossbandit.service"),
    ),
    Page(
        "client",
        "Client of the service",
        "Decides in its own process from a snapshot, and reports outcomes in the background.",
        ("crossbandit.service.client.Client", "crossbandit.service.client"),
    ),
    Page(
        "studies",
        "Studies",
        "Grids of runs: plan, run, load.",
        ("crossbandit.studies.Study", "crossbandit.studies.run", "crossbandit.studies"),
    ),
    Page(
        "theory",
        "Theory",
        "The statements of the paper, checked; the regret of a run, split into terms.",
        (
            "crossbandit.verify.theory.verify",
            "crossbandit.verify.theory.decompose",
            "crossbandit.verify.theory",
        ),
    ),
    Page(
        "checks",
        "Checks",
        "What an algorithm or an environment of your own must pass.",
        ("crossbandit.verify.checks",),
    ),
    Page(
        "gymnasium",
        "Gymnasium",
        "The environments for agents that are written for Gymnasium.",
        ("crossbandit.adapters.gymnasium.BanditEnv",),
    ),
    Page(
        "adapters",
        "Adapters",
        "Learners and environments inside coba and River, and the data of Open Bandit Pipeline.",
        (
            "crossbandit.adapters.coba",
            "crossbandit.adapters.river",
            "crossbandit.adapters.obp",
        ),
    ),
    Page(
        "errors",
        "Errors",
        "All errors and warnings. A bad argument raises before anything has changed.",
        ("crossbandit.errors",),
    ),
    Page("report", "Report", "Tables, charts and pages.", ("crossbandit.core.report",)),
    Page(
        "extending",
        "Extending",
        "What an algorithm of your own is written with: rows and readouts, checks of arguments,"
        " random streams.",
        (
            "crossbandit.core.forms",
            "crossbandit.core.validation",
            "crossbandit.core.streams.stream",
            "crossbandit.core.streams.fixed",
        ),
    ),
)
