"""Plan a grid of runs, run it on any number of machines, and store its results.

study = Study.from_toml("study.toml")
summary = run(study, "results/study")
frame = load("results/study")
"""

from crossbandit.core import extras

extras.require(
    "duckdb",
    "jinja2",
    "joblib",
    "matplotlib",
    "pandas",
    "scipy",
    extra="studies",
    owner="crossbandit.studies",
)

from crossbandit.core.modules import load_modules
from crossbandit.studies.execute import (
    ChangedModulesWarning,
    FailedCellsWarning,
    MixedProvenanceWarning,
    RunSummary,
    StudyProgress,
    StudyWarning,
    display,
    run,
)
from crossbandit.studies.plan import Cell, Study, shipped, shipped_names, template
from crossbandit.studies.store import differences, export, failures, load

__all__ = [
    "Cell",
    "ChangedModulesWarning",
    "FailedCellsWarning",
    "MixedProvenanceWarning",
    "RunSummary",
    "Study",
    "StudyProgress",
    "StudyWarning",
    "differences",
    "display",
    "export",
    "failures",
    "load",
    "load_modules",
    "run",
    "shipped",
    "shipped_names",
    "template",
]
