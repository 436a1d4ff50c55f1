"""What an algorithm or an environment must pass, and the statements of the paper.

- `crossbandit.verify.checks`: checks for your own algorithms and environments. They need NumPy
  only.
- `crossbandit.verify.theory`: the statements of the paper, checked against the implementation.
"""

from crossbandit.core import lazy as _lazy

_lazy.load_on_use(__name__, {"crossbandit.verify": "checks theory"})
