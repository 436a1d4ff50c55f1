"""The report on a study: the paper's claims, charts, tables, comparisons, and how it was made."""

from crossbandit.studies.page.claims import Claim, Status
from crossbandit.studies.page.report import WRITTEN, Failure, Report, compose, page, write

__all__ = ["WRITTEN", "Claim", "Failure", "Report", "Status", "compose", "page", "write"]
