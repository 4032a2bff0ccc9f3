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
        typer.Argument(
            metavar="RUN... [FILE]", help="Trained runs (several make an ensemble), then the text; without FILE, or with -, it is stdin."
        ),
    ],
    beam: Annotated[int | None, typer.Option(help="Beam size (hypotheses per sentence); default: that of the run's settings.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations of each line; with more than one, the output is a Moses n-best list.")] = 1,
    normalise: Annotated[str | None, typer.Option(help="Length normalisation: none, length or gnmt.")] = None,
    coverage: Annotated[float | None, typer.Option(help="Weight of GNMT's coverage penalty.")] = None,
    no_unk: Annotated[bool, typer.Option("--no-unk", help="Never write the unknown word UNK.")] = False,
    replace_unk: Annotated[
        bool, typer.Option("--replace-unk", help="Replace each UNK by the source word with the greatest attention weight.")
    ] = False,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            help="For --replace-unk: a file of lines `source<TAB>target`; a source word found in it is replaced by its target word."
        ),
    ] = None,
    lexical_shortlist: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Search only likely target words, by this table from `rnnsearch lexicon`: faster."),
    ] = None,
    lexical_shortlist_frequent: Annotated[
        int | None, typer.Option(metavar="N", help="With --lexical-shortlist: always search the N most frequent target words.")
    ] = None,
    lexical_shortlist_per_word: Annotated[
        int | None, typer.Option(metavar="N", help="With --lexical-shortlist: search the N best translations of each source word.")
    ] = None,
    min_length_ratio: Annotated[float | None, typer.Option(help="Minimum length, relative to the source (the authors' code: 0.5).")] = None,
    max_length_ratio: Annotated[float | None, typer.Option(help="Maximum length, relative to the source.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Sample this many translations at random instead of searching for the best.")] = 0,
    temperature: Annotated[float, typer.Option(help="Temperature of --samples.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Random seed of --samples.")] = 1,
    json: Json = False,
    links: Annotated[Path | None, typer.Option(help="Also write word links to this file, in Pharaoh format.")] = None,
    alignment_plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the alignment of each line into this folder, as PNG.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sentences translated together.")] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Number format of the matrix products: float32, bfloat16 (for CPUs that support it) or int8 (the fastest)."),
    ] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Translate text line by line: output line N is the translation of input line N."""
    from rnnsearch.cli.output import as_json, as_nbest
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.unknown_source_words import unknown_words_noted

    file = "-" if runs[-1].is_dir() or (len(runs) == 1 and str(runs[0]) != "-") else str(runs.pop())
    translator = load(runs, device, threads, trust_code, dictionary, lexical_shortlist)
    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"precision": precision, "lexical_shortlist_frequent": lexical_shortlist_frequent}
    search |= {"lexical_shortlist_per_word": lexical_shortlist_per_word}
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
