"""Write the golden files of a version that is not released: `python -m tests.golden 0.3.0`."""

import sys

from tests.golden.files import write

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the version that comes next, such as: python -m tests.golden 0.3.0")
    write(sys.argv[1])
