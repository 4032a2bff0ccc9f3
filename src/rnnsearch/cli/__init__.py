"""The command `rnnsearch`: a file for each subcommand, which parses, calls one function and prints.
`commands` ties them together."""


def main() -> None:
    """Runs the command line and exits, as `commands.run_program`. A module of a command can be
    imported by itself, as workers on other machines do: `commands` would import all others."""
    from rnnsearch.cli import commands

    commands.run_program()
