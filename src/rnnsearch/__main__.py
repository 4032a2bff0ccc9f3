"""`python -m rnnsearch` is the command `rnnsearch`."""

from rnnsearch.cli import main

if __name__ == "__main__":
    main()
