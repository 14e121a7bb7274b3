"""`python -m convert` is the console script `prebake`."""

from convert.cli import main

if __name__ == "__main__":
    main()
