"""Names of algorithms and settings: one rule for all reports.

An algorithm or an environment has its name in the study file: its label, or else its id. If two
have the same name, the parameters in which they differ follow in parentheses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crossbandit.studies.page.summaries import Summary

MethodKey = tuple[str, tuple[tuple[str, str], ...]]


def method_key(summary: Summary) -> MethodKey:
    """Return what tells two methods apart: the name and the parameters of the algorithm."""
    parameters = ((name, str(value)) for name, value in summary.parameters.items())
    return summary.algorithm, tuple(sorted(parameters))


def method_labels(summaries: Iterable[Summary]) -> dict[MethodKey, str]:
    """Return a label for every method."""
    first = {method_key(summary): summary for summary in summaries}
    labels = {}
    for key, summary in first.items():
        alike = [other for other in first.values() if other.algorithm == summary.algorithm]
        differing = varying([other.parameters for other in alike])
        labels[key] = with_parameters(summary.algorithm, summary.parameters, differing)
    return labels


def setting_labels(summaries: Sequence[Summary]) -> list[str]:
    """Return a label for the environment of each summary."""
    labels = []
    for summary in summaries:
        alike = [s.setting for s in summaries if s.environment == summary.environment]
        differing = [name for name in varying(alike) if name != "name"]
        labels.append(with_parameters(summary.environment, summary.setting, differing))
    return labels


def with_parameters(name: str, values: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Return a name with some parameters; those without a value are left out.

    >>> with_parameters("cross-graph", {"eta": 0.1, "horizon": 2000}, ["eta", "horizon"])
    'cross-graph (eta=0.1, horizon=2,000)'
    """
    own = [f"{key}={as_text(values[key])}" for key in shown if values.get(key) is not None]
    return f"{name} ({', '.join(own)})" if own else name


def as_text(value: object) -> str:
    """Return a parameter for reading.

    >>> as_text(10000), as_text(0.5), as_text("ring")
    ('10,000', '0.5', 'ring')
    """
    return f"{value:,}" if isinstance(value, int) else str(value)


def varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values are not the same everywhere."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return [name for name in names if len({str(setting.get(name)) for setting in settings}) > 1]
