"""`python -m crossbandit` is `crossbandit`."""

from crossbandit.cli import main

if __name__ == "__main__":
    main()
