"""`rnnsearch select`: the part of a pool that is like a given corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Columns, Format, Set, WorkerProcesses, progress_bar
from rnnsearch.errors import InputError

InDomain = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SRC TGT", help="Text of the domain: a source and a target file, or a bilingual file."
    ),
]
Pool = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SRC TGT",
        help="Text to select from: source and target files alternating, or bilingual files.",
    ),
]
Words = Annotated[
    int | None,
    typer.Option(min=1, max=10**15, help="Select the best pairs, with at most this many target words."),
]
Share = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Or select this share (0 to 1) of the pool's target words."),
]
Pairs = Annotated[int | None, typer.Option(min=1, max=10**15, help="Or select this many pairs.")]
Out = Annotated[
    str,
    typer.Option(
        metavar="PREFIX",
        help="Write the files PREFIX.SOURCE and PREFIX.TARGET, named after the languages: PREFIX.en, "
        "PREFIX.fr.",
    ),
]
Scores = Annotated[
    Path | None,
    typer.Option(
        help="Save the scores of all pairs in this file, so that another amount can be selected later."
    ),
]
FromScores = Annotated[
    Path | None, typer.Option(help="Select by the scores in this file, without scoring again.")
]
Recipe = Annotated[
    str,
    typer.Option(help="Use the languages and the tokeniser of this recipe: a built-in name or a TOML file."),
]
Order = Annotated[int, typer.Option(min=1, max=9, help="Order of the n-gram language models.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Random seed of the sample of the pool.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]


def select(
    in_domain: InDomain = None,
    pool: Pool = None,
    words: Words = None,
    share: Share = None,
    pairs: Pairs = None,
    out: Out = "",
    scores: Scores = None,
    from_scores: FromScores = None,
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    order: Order = 4,
    seed: Seed = 1,
    overwrite: Overwrite = False,
    workers: WorkerProcesses = 0,
) -> None:
    """Select the pairs of a pool that are most similar to a domain, by bilingual cross-entropy difference
    (Axelrod et al. 2011)."""
    from rnnsearch.config import load_config
    from rnnsearch.system.files import prepare_output
    from rnnsearch.system.workers import core_count
    from rnnsearch.text.formats.readers import Layout
    from rnnsearch.text.selection import Scores, output_files, score_pool
    from rnnsearch.text.selection import select as select_pairs

    amounts = [
        (n, unit) for n, unit in ((words, "words"), (share, "share"), (pairs, "pairs")) if n is not None
    ]
    faults = {
        "a domain and a pool; give --in-domain and --pool, or --from-scores": not (
            from_scores or (in_domain and pool)
        ),
        "--from-scores without --in-domain and --scores": from_scores and (in_domain or scores),
        "--out PREFIX, or --scores to compute scores only": not out and (from_scores or not scores),
        "an amount together with --out; give --out and one of --words, --share and --pairs": len(amounts)
        != bool(out),
    }
    for needed in filter(faults.get, faults):
        raise InputError(f"select needs {needed}")
    settings = load_config(recipe, tuple(set_ or ())).data
    languages = settings.source_language, settings.target_language
    layout = Layout(format_, *(columns or ("", "")), *languages)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        if from_scores:
            scored = Scores.open(from_scores)
        else:
            # Check that the output files can be written before the long work.
            if out:
                output_files(out, layout, overwrite)
            if scores:
                prepare_output(scores, overwrite)
            scored = score_pool(
                in_domain or [],
                pool or [],
                settings=settings,
                layout=layout,
                order=order,
                seed=seed,
                workers=workers or core_count(),
                progress=progress,
            )
            if scores:
                scored.save(scores)
        if not out:
            return
        report = select_pairs(
            scored, out, *amounts[0], pool=pool or [], overwrite=overwrite, progress=progress
        )
    print(report, end="")
