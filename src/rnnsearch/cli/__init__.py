"""The command `rnnsearch`: a file for each subcommand, which parses, calls one function and prints. `app`
ties them together."""

from rnnsearch.cli.app import app, main

__all__ = ["app", "main"]
