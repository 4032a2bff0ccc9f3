"""The command `rnnsearch`: a file for each subcommand, which parses, calls one function and prints.
`commands` ties them together."""

from rnnsearch.cli.commands import app, main

__all__ = ["app", "main"]
