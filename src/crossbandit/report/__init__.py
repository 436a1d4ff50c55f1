"""Tables, figures and the page; reads results, never runs anything."""

from crossbandit.report.claims import Status, Verdict
from crossbandit.report.content import Report, compose
from crossbandit.report.write import write

__all__ = ["Report", "Status", "Verdict", "compose", "write"]
