"""The report on a study: the paper's claims, charts, tables, comparisons, and how it was made."""

from crossbandit.studies.page.paper import Claim, Status
from crossbandit.studies.page.report import (
    WRITTEN,
    Failure,
    Report,
    claims_table,
    compose,
    page,
    write,
)

__all__ = [
    "WRITTEN",
    "Claim",
    "Failure",
    "Report",
    "Status",
    "claims_table",
    "compose",
    "page",
    "write",
]
