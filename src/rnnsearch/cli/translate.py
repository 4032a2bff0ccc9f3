"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import Device, Json, Threads, TrustCode, say
from rnnsearch.cli.output import also_written
from rnnsearch.cli.runs import load
from rnnsearch.errors import InputError
from rnnsearch.system.progress import ProgressBar

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.records import Translation


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
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the translations here; after Ctrl-C or a crash the same command goes on where it was."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it is there.")] = False,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Translate text line by line: the N-th line out belongs to the N-th line in."""
    from rnnsearch.cli.output import as_json, as_nbest
    from rnnsearch.config import changed
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.answers import AnswerFile, answers_key
    from rnnsearch.translation.long_lines import long_lines_noted
    from rnnsearch.translation.unknown_source_words import unknown_words_noted

    file = "-" if runs[-1].is_dir() or (len(runs) == 1 and str(runs[0]) != "-") else str(runs.pop())
    if out and samples:
        raise InputError("--out goes on where it was ended, and drawn translations cannot", remedy="write them with > FILE")
    translator = load(runs, device, threads, trust_code, dictionary, candidates)
    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"precision": precision, "frequent_candidates": frequent_candidates, "candidates_per_word": candidates_per_word}
    search |= {"min_length_ratio": min_length_ratio, "max_length_ratio": max_length_ratio}
    search |= {"no_unk": no_unk or None, "replace_unk": replace_unk or bool(dictionary) or None}
    search = {key: value for key, value in search.items() if value is not None}
    if samples:
        search["nbest"] = 1
    settings, several = changed(translator.search, search), (samples or nbest) > 1

    def answer(number: int, result: Translation) -> str:
        return as_json(result) if json else as_nbest(number, result) if several else result.text

    results: Iterable[Translation]
    with ProgressBar(shown=out is not None) as bar:
        if samples:
            results = translator.sample(read_lines(file), samples=samples, temperature=temperature, seed=seed, **search)
        elif out:
            form, aligned = "json" if json else "nbest" if several else "text", bool(links or alignment_plots)
            used = [path for path in (candidates, dictionary) if path]
            answers = AnswerFile(out, answers_key(runs, settings, f"{form}, aligned" if aligned else form, used))
            answers.begin(overwrite, say)
            results = answers.translated(translator, read_lines(file), settings, answer, aligned=aligned, done=speed(bar, file))
        else:
            results = translator.stream(read_lines(file), **search)
        results = unknown_words_noted(long_lines_noted(results, settings.max_source_length, say), translator.source, say)
        number = -1
        try:
            for number, result in enumerate(also_written(results, links, alignment_plots)):
                if not out:
                    print(answer(number, result))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"the same command goes on after line {number + 1:,}" if out else "") from None


def speed(bar: ProgressBar, file: str) -> Callable[[int, int], None]:
    """What shows lines, words a second and time left when it is told how many lines are done and how many words were written."""
    from rnnsearch.text.formats.lines import read_lines

    lines = sum(1 for _ in read_lines(file)) if Path(file).is_file() else None  # what comes through a pipe can be read only once
    begun = time.monotonic()
    return lambda done, words: bar("translating", done, lines, f"{words / (time.monotonic() - begun):,.0f} words/s")
