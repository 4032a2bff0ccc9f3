"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.on_ray import Ray, RayOptions, ShardFormat, Workers, absolute, runs_and_corpora, work_on_ray
from rnnsearch.cli.options import Device, Json, Threads, TrustCode, say
from rnnsearch.cli.output import also_written
from rnnsearch.cli.runs import is_run, load
from rnnsearch.errors import InputError
from rnnsearch.system.progress import ProgressBar

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.records import Translation


def translate(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [FILE]", help="Trained runs (several make an ensemble), then the text; without FILE, or with -, it is stdin."
        ),
    ],
    beam: Annotated[int | None, typer.Option(help="Beam size (hypotheses per sentence); default: that of the run's settings.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations of each line; with more than one, the output is a Moses n-best list.")] = 1,
    normalise: Annotated[str | None, typer.Option(help="Length normalisation: none, length or gnmt.")] = None,
    coverage: Annotated[float | None, typer.Option(help="Weight of GNMT's coverage penalty.")] = None,
    no_unk: Annotated[bool, typer.Option("--no-unk", help="Never write UNK, the symbol for unknown words.")] = False,
    replace_unk: Annotated[
        bool, typer.Option("--replace-unk", help="Replace each UNK (unknown word) by the source word with the largest attention weight.")
    ] = False,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            help="For --replace-unk: a file of lines `source<TAB>target`; a source word found in it is replaced by its target word."
        ),
    ] = None,
    lexical_shortlist: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Search only target words that are likely by this table (made by `rnnsearch lexicon`); this is faster."
        ),
    ] = None,
    lexical_shortlist_frequent: Annotated[
        int | None, typer.Option(metavar="N", help="With --lexical-shortlist: always search the N most frequent target words.")
    ] = None,
    lexical_shortlist_per_word: Annotated[
        int | None, typer.Option(metavar="N", help="With --lexical-shortlist: search the N best translations of each source word.")
    ] = None,
    min_length_ratio: Annotated[float | None, typer.Option(help="Minimum length, relative to the source (the authors' code: 0.5).")] = None,
    max_length_ratio: Annotated[float | None, typer.Option(help="Maximum length, relative to the source.")] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=1_000, help="Sample this many translations at random instead of searching for the best.")
    ] = 0,
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
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the translations here; after Ctrl-C or a crash, the same command resumes. With --ray: a folder or URL.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it is there.")] = False,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: Workers = None,
    format: ShardFormat = "",
    column: Annotated[
        str, typer.Option(metavar="NAME", help="With --ray: key or column of the text in JSON lines and Parquet, if it is not a usual one.")
    ] = "",
) -> None:
    """Translate text line by line: output line N is the translation of input line N."""
    from rnnsearch.cli.output import as_json, as_nbest
    from rnnsearch.cli.typing_lines import is_typed, typed_lines
    from rnnsearch.config import changed
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.long_lines import long_lines_noted
    from rnnsearch.translation.unknown_source_words import unknown_words_noted

    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"precision": precision, "lexical_shortlist_frequent": lexical_shortlist_frequent}
    search |= {"lexical_shortlist_per_word": lexical_shortlist_per_word}
    search |= {"min_length_ratio": min_length_ratio, "max_length_ratio": max_length_ratio}
    search |= {"no_unk": no_unk or None, "replace_unk": replace_unk or bool(dictionary) or None}
    search = {key: value for key, value in search.items() if value is not None}
    refused = {"--samples": samples > 0, "--links": links is not None, "--alignment-plots": alignment_plots is not None}
    options = RayOptions(ray, workers, out, overwrite, format, device, threads, refused)
    if ray:
        models = (trust_code, dictionary and absolute(dictionary), lexical_shortlist and absolute(lexical_shortlist))
        translate_on_ray(runs, options, models, search, json, column)
        return
    options.check_unused({"--column": bool(column)})
    file = "-" if is_run(Path(runs[-1])) or (len(runs) == 1 and runs[0] != "-") else runs.pop()
    if out and samples:
        raise InputError("samples cannot be written with --out, which resumes", remedy="write them with > FILE")
    places = [Path(run) for run in runs]
    translator = load(places, device, threads, trust_code, dictionary, lexical_shortlist)
    if samples:
        search["nbest"] = 1
    settings, several = changed(translator.search, search), (samples or nbest) > 1

    def answer(number: int, result: Translation) -> str:
        return as_json(result) if json else as_nbest(number, result) if several else result.text

    results: Iterable[Translation]
    typed = is_typed(file)
    shown = out is not None or (sys.stderr.isatty() and not (typed or sys.stdout.isatty()))
    with ProgressBar(shown) as bar:
        done = speed(bar, file) if shown else no_speed
        if samples:
            results = translator.sample(read_lines(file), samples=samples, temperature=temperature, seed=seed, **search)
        elif out:
            from rnnsearch.translation.answers import AnswerFile, answers_key

            form, aligned = "json" if json else "nbest" if several else "text", bool(links or alignment_plots)
            used = [path for path in (lexical_shortlist, dictionary) if path]
            answers = AnswerFile(Path(out), answers_key(places, settings, f"{form}, aligned" if aligned else form, used))
            answers.begin(overwrite, say)
            results = answers.translated(translator, read_lines(file), settings, answer, aligned=aligned, done=done)
        elif typed:  # the prompt comes after the answer to the line before
            results = (result for line in typed_lines(say) for result in translator.translate([line], **search))
        else:
            results = translator.stream(read_lines(file), full_batches=is_whole(file), **search)
        results = unknown_words_noted(long_lines_noted(results, settings.max_source_length, say), translator.source, say)
        number, words = -1, 0
        try:
            for number, result in enumerate(also_written(results, links, alignment_plots)):
                if not out:
                    print(answer(number, result), flush=True)  # whoever waits for it, and Ctrl-C, find it there
                    words += len(result.tokens)
                    done(number + 1, words)
        except KeyboardInterrupt:
            if typed or samples:
                raise
            what = "the same command goes on after line" if out else "with --out FILE the same command would go on after line"
            raise KeyboardInterrupt(f"{what} {number + 1:,}") from None


def translate_on_ray(
    words: list[str],
    options: RayOptions,
    models: tuple[bool, Path | None, Path | None],
    search: dict[str, Any],
    json: bool,
    column: str,
) -> None:
    """models: trust_code, dictionary, lexical_shortlist."""
    from rnnsearch.cli.output import as_json, as_nbest
    from rnnsearch.cluster.shards import text_shards
    from rnnsearch.cluster.tasks import Models, Translating
    from rnnsearch.run import Run
    from rnnsearch.text.formats.readers.layout import OneSide

    options.check()
    runs, (corpus,) = runs_and_corpora(words, 1)
    several = search.get("nbest", 1) > 1

    def answer(number: int, result: Translation) -> str:
        return as_json(result) if json else as_nbest(number, result) if several else result.text

    loaded = Models(tuple(map(absolute, runs)), options.device, options.threads or 1, *models)
    layout = OneSide(source=column, source_language=Run.open(runs[0]).settings.data.source_language)
    task = Translating(loaded, search, answer, "json" if json else "text", layout)
    shards = text_shards(corpus, options.shard_format)
    work_on_ray(task, shards, options, {"command": "translate", "runs": [str(run) for run in runs], "corpus": [corpus], "search": search})


def is_whole(file: str) -> bool:
    """Whether all lines of the text are there: those of a file on disk, and not of a pipe or a terminal."""
    from rnnsearch.text.formats.opening import STDIN, is_on_disk

    if file != STDIN:
        return is_on_disk(file)
    try:
        return stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # standard input is no file of the system
        return False


def speed(bar: ProgressBar, file: str) -> Callable[[int, int], None]:
    """What shows lines, words per second and time left when it is told how many lines are done and how many words were written."""
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.formats.opening import is_on_disk

    lines = sum(1 for _ in read_lines(file)) if is_on_disk(file) else None  # what comes through a pipe can be read only once
    begun = time.monotonic()
    return lambda done, words: bar("translating", done, lines, f"{words / (time.monotonic() - begun):,.0f} words/s")


def no_speed(done: int, words: int) -> None:
    """As what `speed` returns, where nobody watches."""
