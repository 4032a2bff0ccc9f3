"""Arguments and options that several commands share, and how a command speaks to the person at the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rnnsearch.cli.renamed import current_options
from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.system.progress import QUIET, note
from rnnsearch.system.version import package_version

DEBUG = "RNNSEARCH_DEBUG"
"""The environment variable that `--debug` sets."""


def _set(variable: str, value: bool) -> None:
    if value:
        os.environ[variable] = "1"


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"rnnsearch {package_version()}")
        raise typer.Exit


def _settings_like(beginning: str) -> Iterator[str]:
    """For the shell's completion of --set."""
    from rnnsearch.config import Settings

    for section in Settings.model_fields:
        for key in type(getattr(Settings(), section)).model_fields:
            if f"{section}.{key}=".startswith(beginning):
                yield f"{section}.{key}="


def recipes_like(beginning: str) -> list[str]:
    """For the shell's completion of a recipe's name."""
    from rnnsearch.config import recipe_names

    return [name for name in recipe_names() if name.startswith(beginning)]


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=lambda value: _set(QUIET, value),
        is_eager=True,
        expose_value=False,
        help="Show only results and errors: no progress, warnings or notes.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", callback=lambda value: _set(DEBUG, value), expose_value=False, help="Show the traceback of an error."),
]
Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, expose_value=False, help="Show the version and exit.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        autocompletion=_settings_like,
        help="Change a setting; may be repeated. `rnnsearch settings` lists all settings.",
    ),
]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Allow the run to import Python code from outside rnnsearch, if you trust its author.")
]
Device = Annotated[str, typer.Option(help="Device: cpu, cuda or cuda:N.")]
Threads = Annotated[int, typer.Option(min=0, max=1_024, help="CPU threads; 0 = one per core.")]
Columns = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="SRC TGT", help="Columns, keys or languages of source and target in bilingual files, if they are not the usual ones."
    ),
]
Format = Annotated[
    str,
    typer.Option("--format", help="Format of the files, if their names do not show it: lines, tsv, csv, tmx, jsonl, parquet or dataset."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, with tokens, score and alignment matrix.")]


class Command(TyperCommand):
    """A command that takes the options of all commands after its name, too: `rnnsearch -q prepare` is `rnnsearch prepare -q`.

    It also knows the old names of its options.
    """

    EVERYWHERE = ("quiet", "debug")

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *(option for option in ctx.find_root().command.params if option.name in self.EVERYWHERE)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, current_options(ctx.info_name, args))


class SeveralValues(Command):
    """A command some of whose options take as many values as there are up to the next option: `--dev A B` is `--dev A --dev B`."""

    SPREAD = ("--dev", "--links", "--in-domain", "--pool", "--test", "--hyp", "--run", "--system", "--gold")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        for word in args:
            if word.startswith("-") and word != "-":
                name = word.partition("=")[0]
                option = name if name in self.SPREAD else ""
            elif option and spread[-1:] != [option]:
                spread.append(option)
            spread.append(word)
        return super().parse_args(ctx, spread)


def progress_bar() -> Any:
    """A context whose value is called with (what is being done, how many are done, of how many)."""
    from rnnsearch.system.progress import ProgressBar

    return ProgressBar()


def say(text: str) -> None:
    """A warning or a note: what is neither a result nor an error."""
    note(text)


def one_of(word: str, option: str, allowed: Iterable[str]) -> str:
    """The word, if it is one of the allowed ones. Raises InputError else."""
    allowed = tuple(allowed)
    if word not in allowed:
        raise InputError(
            f"{option} does not know '{word}'", remedy=f"{did_you_mean(word, allowed)} use one of: {', '.join(allowed)}".strip()
        )
    return word
