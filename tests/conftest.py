"""Settings for all tests: reproducible Hypothesis, no window system."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
