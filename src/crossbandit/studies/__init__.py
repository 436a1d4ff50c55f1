"""Plan a grid of runs, execute it anywhere, keep its results.

study = Study.from_toml("study.toml")
outcome = run(study, "results/study")
frame = load("results/study")
"""

from crossbandit.studies.build import load_modules
from crossbandit.studies.display import display
from crossbandit.studies.execute import ChangedModulesWarning, Outcome, Progress, run
from crossbandit.studies.library import shipped, shipped_names, template
from crossbandit.studies.plan import Cell, Study
from crossbandit.studies.results import export, failures, load

__all__ = [
    "Cell",
    "ChangedModulesWarning",
    "Outcome",
    "Progress",
    "Study",
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
