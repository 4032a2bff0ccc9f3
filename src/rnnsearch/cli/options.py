"""Arguments and options that several commands share, and how a command speaks to the person at the terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rnnsearch.errors import InputError

SourceFile = Annotated[str, typer.Argument(metavar="SRC", help="Source text, one sentence a line; .gz is read as is, - is stdin.")]
TargetFile = Annotated[str, typer.Argument(metavar="TGT", help="Target text, line by line.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting of the recipe; may be repeated.")
]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Import the code outside rnnsearch that the run names.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]
Threads = Annotated[int, typer.Option(min=0, help="Processor threads; 0 = as many as there are cores.")]
Columns = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="SRC TGT", help="Columns, keys or languages of the two sides in bilingual files, if not the usual ones."),
]
Format = Annotated[str, typer.Option("--format", help="lines, tsv, csv, tmx, jsonl, parquet or dataset, if the names do not say it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, with tokens, score and alignment matrix.")]


class SeveralValues(TyperCommand):
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
    """Everything that is not a result goes to stderr; if nobody can be told, it stays unsaid."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def one_of(word: str, option: str, allowed: Iterable[str]) -> str:
    """The word, if it is one of the allowed ones. Raises InputError else."""
    allowed = tuple(allowed)
    if word not in allowed:
        raise InputError(f"{option} knows no '{word}'", remedy=f"one of: {', '.join(allowed)}")
    return word
