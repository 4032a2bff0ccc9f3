"""`rnnsearch align`: word links of given pairs, by forced decoding."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.on_ray import (
    PairColumns,
    Ray,
    RayOptions,
    ShardFormat,
    Workers,
    absolute,
    pair_layout,
    runs_and_corpora,
    work_on_ray,
)
from rnnsearch.cli.options import Device, Json, Threads, TrustCode, one_of, say
from rnnsearch.cli.output import faults_named, write
from rnnsearch.cli.runs import check_reverse, load, runs_and_texts
from rnnsearch.errors import InputError
from rnnsearch.system.progress import ProgressBar

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.text.links.words import LinkWords
    from rnnsearch.translation.answers import AnswerFile
    from rnnsearch.translation.word_aligner import Aligned, WordAligner


def align(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN... SRC TGT", help="Trained runs (several make an ensemble), the source text and its translations."),
    ],
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Link every word pair with at least this weight; default: link each target word to its source word of largest weight.",
        ),
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option("--posterior", help="Use the alignment posterior, which knows the target word, instead of the attention weights."),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="With --posterior: estimate nothing and use float32 products; many times slower, with nearly the same links."
        ),
    ] = False,
    reverse_run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN", help="A run from target to source; its links are symmetrised with the others. Repeat the option for an ensemble."
        ),
    ] = None,
    symmetrise: Annotated[
        str, typer.Option(help="How to symmetrise: a method of `rnnsearch links`, or `product` of the weights of both directions.")
    ] = "grow-diag-final-and",
    words: Annotated[
        str,
        typer.Option(
            help="Which words links refer to: `tokenised` words, words as `given` (split at spaces), or `auto`: the words of --gold."
        ),
    ] = "auto",
    json: Json = False,
    picture: Annotated[bool, typer.Option("--picture", help="Draw each alignment in the terminal instead of printing links.")] = False,
    gold: Annotated[str, typer.Option(metavar="FILE", help="Gold links for pictures, measures and page: Pharaoh or NAACL .wa.")] = "",
    measures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a table for each pair and for all: entropy, coverage, monotone jumps, agreement, AER."),
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page to browse the alignments.")] = None,
    alignment_plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the alignment of each pair into this folder.")] = None,
    plot_format: Annotated[str, typer.Option(help="File format of --alignment-plots: png, svg or pdf.")] = "png",
    compare: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Another run to show next to the first in pictures and page; may be repeated."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, max=10_000, help="Sentence pairs processed together.")] = 256,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the links here, with --ray into a folder or URL; after Ctrl-C or a crash, the same command resumes.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out names if it is there.")] = False,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: Workers = None,
    format: ShardFormat = "",
    columns: PairColumns = None,
) -> None:
    """Align the words of sentence pairs by forced decoding. Print Pharaoh links `i-j` (source-target, from 0), or matrices with --json."""
    from rnnsearch.cli.output import as_aligned_json
    from rnnsearch.drawing.alignment_figure import comparison_figure
    from rnnsearch.drawing.alignment_text import comparison_text
    from rnnsearch.evaluation.alignment_page import alignment_page
    from rnnsearch.evaluation.gold_links import read_gold
    from rnnsearch.text.formats.lines import check_pairs, read_pairs
    from rnnsearch.translation.alignment_measures import browsed, measured, panels, table, together
    from rnnsearch.translation.answers import AnswerFile
    from rnnsearch.translation.link_answers import links_key
    from rnnsearch.translation.word_aligner import PRODUCT, WAYS, WordAligner, counted_by
    from rnnsearch.word_links import format_links

    one_of(symmetrise, "--symmetrise", WAYS)
    if symmetrise == PRODUCT and not reverse_run:
        raise InputError("--symmetrise product needs a run from target to source", remedy="add --reverse-run RUN")
    one_of(words, "--words", ("auto", "tokenised", "given"))
    one_of(plot_format, "--plot-format", ("png", "svg", "pdf"))
    if json and picture:
        raise InputError("--json and --picture cannot be used together", remedy="remove one of them")
    refused = {"--picture": picture, "--gold": bool(gold), "--measures": measures is not None, "--page": page is not None}
    refused |= {"--alignment-plots": alignment_plots is not None, "--compare": bool(compare)}
    options = RayOptions(ray, workers, out, overwrite, format, device, threads, refused)
    if ray:
        counted_words = "given" if words == "given" else "tokenised"
        how = {"threshold": threshold, "method": symmetrise, "words": counted_words, "posterior": posterior}
        how |= {"exact": exact, "scored": json}
        align_on_ray(runs, options, columns, json, batch_size, trust_code, reverse_run or [], how)
        return
    options.check_unused({"--columns": columns is not None})
    if compare and not (picture or page or alignment_plots):
        raise InputError("--compare is for pictures", remedy="add --picture, --page FILE or --alignment-plots FOLDER")
    if out and (picture or measures or page or alignment_plots):
        raise InputError("pictures, measures and pages cannot be made with --out, which resumes", remedy="print the links with > FILE")
    names, source, target = runs_and_texts(runs)
    check_pairs(source, target)
    titles = _titles(names, reverse_run or [], compare or [])
    translator, *others = (load(run, device, threads, trust_code) for run in (names, *([one] for one in compare or [])))
    reverse = load(reverse_run, device, threads, trust_code) if reverse_run else None
    if reverse_run:
        check_reverse(translator, reverse, reverse_run[0])
    pairs: Iterable[tuple[str, str]] = read_pairs(source, target)
    known: list[Any] = []
    if gold:
        known, pairs = read_gold(gold), list(pairs)
        counted = counted_by(known, pairs, translator)
        words = counted if words == "auto" else words
    count: LinkWords = "given" if words == "given" else "tokenised"
    scored = bool(json or measures or page)
    aligner = WordAligner(translator, reverse, others, threshold, symmetrise, count, batch_size, posterior, exact, scored)

    def answer(number: int, aligned: Aligned) -> str:
        truth = known[number] if known else None
        return as_aligned_json(aligned, measured(aligned, truth).values()) if json else format_links(aligned.links)

    if out:
        form, files = "json" if json else "links", [Path(gold)] if gold else []
        answers = AnswerFile(Path(out), links_key(names, reverse_run or [], aligner, form, files), "aligned")
        answers.begin(overwrite, say)
        _into_file(answers, aligner, pairs, answer, source)
        return
    for folder in (alignment_plots, measures and measures.parent, page and page.parent):  # before the work
        with faults_named(folder):
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
    rows, sentences = [], []
    width = shutil.get_terminal_size((100, 24)).columns
    with ProgressBar(sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        done = _speed(bar, source)
        for number, aligned in enumerate(aligner.align(pairs), 1):
            truth = known[number - 1] if known else None
            if alignment_plots:
                comparison_figure(panels(aligned, titles), alignment_plots / f"{number:06d}.{plot_format}", truth)
            if measures:
                rows.append(measured(aligned, truth))
            if page:
                sentences.append(browsed(number, aligned, titles, truth))
            print(f"{comparison_text(panels(aligned, titles), width, truth)}\n" if picture else answer(number - 1, aligned))
            done(number)
    if measures:
        write(measures, "".join(f"{line}\n" for line in table(rows)))
    if page:
        runs_said = f"Runs: {', '.join(title for title in titles if title) or names[0]}"
        write(page, alignment_page(sentences, f"Word alignments: {source} – {target}", runs_said))
    if rows:
        say("  ".join(f"{name} {value:.4g}" for name, value in together(rows).values().items()))


def _into_file(answers: AnswerFile, aligner: WordAligner, pairs: Iterable[tuple[str, str]], answer: Any, source: str) -> None:
    """Aligns the pairs into the file of --out, and says after Ctrl-C where the same command goes on."""
    from rnnsearch.translation.link_answers import aligned_into

    number = -1
    with ProgressBar() as bar:
        try:
            for number in aligned_into(answers, aligner, pairs, answer, _speed(bar, source)):  # noqa: B007
                pass
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"the same command goes on after line {number + 1:,}") from None


def _speed(bar: ProgressBar, source: str) -> Callable[[int], None]:
    """What shows pairs, pairs per second and time left when it is told how many pairs are done."""
    from rnnsearch.text.formats.lines import count_lines

    lines = count_lines(source) if bar.bar is not None else None
    begun, before = time.monotonic(), 0

    def show(done: int) -> None:
        nonlocal before
        before = before or done  # what stood in the journal took no time
        bar("aligning", done, lines, f"{(done - before) / max(time.monotonic() - begun, 1e-9):,.0f} pairs/s")

    return show


def align_on_ray(
    words: list[str],
    options: RayOptions,
    columns: tuple[str, str] | None,
    json: bool,
    batch_size: int,
    trust_code: bool,
    reverse_run: list[Path],
    how: dict[str, Any],
) -> None:
    """how: options of WordAligner."""
    from rnnsearch.cli.output import as_aligned_json
    from rnnsearch.cluster.shards import pair_shards
    from rnnsearch.cluster.tasks import Aligning, Models
    from rnnsearch.run import Run
    from rnnsearch.translation.alignment_measures import measured
    from rnnsearch.word_links import format_links

    options.check()
    runs, corpora = runs_and_corpora(words, 2)
    if reverse_run:
        check_reverse(Run.open(runs[0]), Run.open(reverse_run[0]), reverse_run[0])

    def answer(aligned: Aligned) -> str:
        return as_aligned_json(aligned, measured(aligned, None).values()) if json else format_links(aligned.links)

    there, back = (
        Models(tuple(map(absolute, some)), options.device, options.threads or 1, trust_code) if some else None
        for some in (runs, reverse_run)
    )
    assert there is not None
    task = Aligning(there, back, how, batch_size, answer, "json" if json else "text", pair_layout(runs[0], columns))
    about = {"command": "align", "runs": [str(run) for run in runs], "corpus": corpora, "reverse_runs": [str(run) for run in reverse_run]}
    work_on_ray(task, pair_shards(corpora, options.shard_format), options, about | {"options": how})


def _titles(runs: list[Path], reverse: list[Path], others: list[Path]) -> list[str]:
    """What the pictures of a pair are called; one picture by itself needs no name."""
    if not (reverse or others):
        return [""]
    ensembles = [runs, *([reverse] if reverse else []), *([one] for one in others)]
    return [" + ".join(run.resolve().name for run in ensemble) for ensemble in ensembles]
