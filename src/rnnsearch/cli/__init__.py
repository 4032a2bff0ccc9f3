"""The command `rnnsearch`: a file for each subcommand, which parses, calls one function and prints.
`commands` ties them together."""

import sys


def main() -> None:
    """Runs the command line and exits, as `commands.run_program`. A module of a command can be
    imported by itself, as workers on other machines do: `commands` would import all others."""
    try:
        from rnnsearch.cli import commands
    except KeyboardInterrupt:
        print("rnnsearch: interrupted", file=sys.stderr)
        sys.exit(130)
    commands.run_program()
