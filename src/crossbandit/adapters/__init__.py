"""Use Crossbandit inside other packages, with one module for each of them.

- `crossbandit.adapters.coba`: learners and environments for coba.
- `crossbandit.adapters.river`: policies for River's bandit interface.
- `crossbandit.adapters.obp`: the data format of Open Bandit Pipeline, in and out.

Import the module that you need. The first two need their package; the last needs none.
"""

__all__: list[str] = []
