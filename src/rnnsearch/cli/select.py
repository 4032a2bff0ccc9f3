"""`rnnsearch select`: the part of a pool that is like a given corpus."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Columns, Format, Set, progress_bar
from rnnsearch.errors import InputError


def select(
    in_domain: Annotated[
        list[str] | None, typer.Option(metavar="SRC TGT", help="Text of the domain: two files, line by line, or a bilingual file.")
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option(metavar="SRC TGT", help="Text to select from; several corpora by turns, or repeat the option.")
    ] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Keep the best pairs, at most this many words of their target side.")] = None,
    share: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Or this share of the pool's target words.")] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Or this many pairs.")] = None,
    out: Annotated[str, typer.Option(metavar="PREFIX", help="Write PREFIX.en and PREFIX.fr, or as the languages are.")] = "",
    scores: Annotated[Path | None, typer.Option(help="Keep the scores in this file, so that the cut can be moved.")] = None,
    from_scores: Annotated[Path | None, typer.Option(help="Cut by these scores; nothing is scored.")] = None,
    columns: Columns = None,
    format_: Format = "",
    recipe: Annotated[str, typer.Option(help="Take the languages and the tokeniser of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    order: Annotated[int, typer.Option(min=1, max=9, help="Words of the longest n-grams.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Of the random sample of the pool.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes that score; 0 = as many as there are cores.")] = 0,
) -> None:
    """Keep the pool's pairs that resemble a domain most, by bilingual cross-entropy difference (Axelrod et al. 2011)."""
    from rnnsearch.config import load_config
    from rnnsearch.system.files import free
    from rnnsearch.text.formats.readers import Layout
    from rnnsearch.text.selecting.select import Amount, output_files, score_pool
    from rnnsearch.text.selecting.select import select as cut

    amounts = [Amount(value, unit) for unit, value in (("words", words), ("share", share), ("pairs", pairs)) if value is not None]
    _check(from_scores, scores, in_domain, pool, out, len(amounts))
    settings = load_config(recipe, tuple(set_ or ())).data
    sides = columns or ("", "")
    layout = Layout(format_, *sides, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress, tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
        if from_scores is None:
            # What is in the way should come to light before the work.
            if out:
                output_files(out, layout, overwrite)
            if scores is not None:
                free(scores, overwrite)
            from_scores = scores or Path(folder) / "scores"
            score_pool(
                in_domain or [],
                pool or [],
                from_scores,
                settings=settings,
                layout=layout,
                order=order,
                seed=seed,
                workers=workers or len(os.sched_getaffinity(0)),
                progress=progress,
            )
        if not out:
            return
        report = cut(from_scores, out, amounts[0], pool=pool or [], overwrite=overwrite, progress=progress)
    print(report.text(), end="")


def _check(from_scores: Path | None, scores: Path | None, in_domain: object, pool: object, out: str, amounts: int) -> None:
    """What the options must have in common."""
    if from_scores is None and not (in_domain and pool):
        raise InputError("select needs a domain and a pool", remedy="give --in-domain and --pool, or --from-scores")
    if from_scores is not None and (in_domain or scores):
        raise InputError("--from-scores does not score", remedy="leave out --in-domain and --scores, or --from-scores")
    if not out and (from_scores is not None or scores is None):
        raise InputError("select does not know where to write", remedy="give --out, or --scores to score only")
    if amounts != bool(out):
        raise InputError("select needs to know how much to keep", remedy="give one of --words, --share and --pairs with --out")
