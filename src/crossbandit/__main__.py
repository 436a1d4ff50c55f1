"""`python -m crossbandit` is `crossbandit`."""

from crossbandit.cli import main

main()
