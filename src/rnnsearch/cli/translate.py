"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.options import Device, Json, Threads, TrustCode, say
from rnnsearch.cli.output import also_written
from rnnsearch.cli.runs import load


def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN... [FILE]", help="Trained runs (several make an ensemble), then the text; no FILE or - is stdin."),
    ],
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept; as the run's settings say if not given.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations of each line; more than one gives a Moses n-best list.")] = 1,
    normalise: Annotated[str | None, typer.Option(help="Length normalisation: none, length or gnmt.")] = None,
    coverage: Annotated[float | None, typer.Option(help="Weight of GNMT's coverage penalty.")] = None,
    no_unk: Annotated[bool, typer.Option("--no-unk", help="Never write the unknown word.")] = False,
    replace_unk: Annotated[bool, typer.Option("--replace-unk", help="Write the strongest aligned source word for an unknown one.")] = False,
    dictionary: Annotated[Path | None, typer.Option(help="For --replace-unk: `source<TAB>target` lines.")] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Search only the words that this lexical table (`rnnsearch lexicon`) allows a batch."),
    ] = None,
    frequent_candidates: Annotated[int | None, typer.Option(help="Of --candidates: first words of the target, for every batch.")] = None,
    candidates_per_word: Annotated[int | None, typer.Option(help="Of --candidates: best translations of each source word.")] = None,
    min_length_ratio: Annotated[
        float | None, typer.Option(help="At least this share of the source's words (released implementation: 0.5).")
    ] = None,
    max_length_ratio: Annotated[float | None, typer.Option(help="At most this many times the source's words.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Draw this many translations at random instead of searching the best.")] = 0,
    temperature: Annotated[float, typer.Option(help="Of --samples.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of --samples.")] = 1,
    json: Json = False,
    links: Annotated[Path | None, typer.Option(help="Write hard word links here, in Pharaoh format.")] = None,
    alignment_plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the alignment of every line here, as PNG.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sentences translated together.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Of the matrix products: float32, bfloat16 where the processor is made for it, or int8, the fastest.")
    ] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Translate text line by line: the N-th line out belongs to the N-th line in."""
    from rnnsearch.cli.output import as_json, as_nbest
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.unknown_source_words import unknown_words_noted

    file = "-" if runs[-1].is_dir() or (len(runs) == 1 and str(runs[0]) != "-") else str(runs.pop())
    translator = load(runs, device, threads, trust_code, dictionary, candidates)
    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"precision": precision, "frequent_candidates": frequent_candidates, "candidates_per_word": candidates_per_word}
    search |= {"min_length_ratio": min_length_ratio, "max_length_ratio": max_length_ratio}
    search |= {"no_unk": no_unk or None, "replace_unk": replace_unk or bool(dictionary) or None}
    search = {key: value for key, value in search.items() if value is not None}
    lines = read_lines(file)
    if samples:
        nbest = samples
        results: Iterable[Any] = translator.sample(lines, samples=samples, temperature=temperature, seed=seed, **(search | {"nbest": 1}))
    else:
        results = translator.stream(lines, **search)
    results = unknown_words_noted(results, translator.source, say)
    for number, result in enumerate(also_written(results, links, alignment_plots)):
        print(as_json(result) if json else as_nbest(number, result) if nbest > 1 else result.text)
