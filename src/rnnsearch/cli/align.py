"""`rnnsearch align`: word links of given pairs, by forced decoding."""

from __future__ import annotations

import json as json_
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rnnsearch.cli.on_ray import Ray, RayOptions, Workers, layout_of, runs_and_corpora, work_on_ray
from rnnsearch.cli.options import (
    Columns,
    Device,
    GoldFrom,
    Json,
    Out,
    Overwrite,
    Set,
    Threads,
    TrustCode,
    changes,
    load,
    one_of,
    runs_and_texts,
    say,
    say_if_empty,
)
from rnnsearch.cli.output import LineProgress, write
from rnnsearch.errors import InputError
from rnnsearch.installed import is_name
from rnnsearch.system.extras import need
from rnnsearch.system.files import writing
from rnnsearch.system.progress import show

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.text.links import LinkWords
    from rnnsearch.translation.translator import Translator
    from rnnsearch.translation.word_aligner import Aligned, WordAligner
    from rnnsearch.word_links import GoldLinks


PHARAOH, TMX = "pharaoh", "tmx"
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN... SRC TGT",
        help="Trained runs (several make an ensemble), the source text and its translations.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Link every word pair with at least this weight; default: link each target word to its source "
        "word of largest weight.",
    ),
]
Posterior = Annotated[
    bool,
    typer.Option(
        "--posterior",
        help="Use the alignment posterior, which also uses the target word, instead of the attention "
        "weights.",
    ),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Use float32 products, and with --posterior estimate nothing: many times slower, with nearly "
        "the same links.",
    ),
]
ReverseRun = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN",
        help="A run from target to source; its links are symmetrised with the others. Repeat the option "
        "for an ensemble.",
    ),
]
Symmetrise = Annotated[
    str,
    typer.Option(
        help="How to symmetrise: a method of `rnnsearch links`, or `product` of the weights of both "
        "directions."
    ),
]
Words = Annotated[
    str,
    typer.Option(
        help="Words that the links refer to: `tokenised` words, words as `given` (split at spaces), or "
        "`auto`: the words of --gold."
    ),
]
LinksFormat = Annotated[
    str,
    typer.Option(
        help="Write the links as pharaoh (`0-0 1-2`), as jsonl (the pair, its words, links and their "
        "probabilities; without --posterior α) or as tmx (the pair, with Pharaoh links in a property)."
    ),
]
Picture = Annotated[
    bool, typer.Option("--picture", help="Draw each alignment in the terminal instead of printing links.")
]
Gold = Annotated[
    str,
    typer.Option(metavar="FILE", help="Gold links for pictures, measures and page, as for `aer`."),
]
Measures = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write a table for each pair and for all: entropy, coverage, monotone jumps, agreement, AER.",
    ),
]
Page = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write an HTML page to browse the alignments.")
]
AlignmentPlots = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Draw the alignment of each pair into this folder.")
]
PlotFormat = Annotated[str, typer.Option(help="File format of --alignment-plots: png, svg or pdf.")]
Compare = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN", help="Another run to show next to the first in pictures and page; may be repeated."
    ),
]


def align(
    runs: Runs,
    threshold: Threshold = None,
    posterior: Posterior = False,
    exact: Exact = False,
    reverse_run: ReverseRun = None,
    symmetrise: Symmetrise = "grow-diag-final-and",
    words: Words = "auto",
    json: Json = False,
    links_format: LinksFormat = PHARAOH,
    picture: Picture = False,
    gold: Gold = "",
    gold_from: GoldFrom = None,
    measures: Measures = None,
    page: Page = None,
    alignment_plots: AlignmentPlots = None,
    plot_format: PlotFormat = "png",
    compare: Compare = None,
    out: Out = None,
    overwrite: Overwrite = False,
    threads: Threads = 0,
    set_: Set = None,
    device: Device = "cpu",
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: Workers = None,
    columns: Columns = None,
) -> None:
    """Align the words of sentence pairs by forced decoding. Print Pharaoh links `i-j` (source-target, from
    0), or matrices with --json."""
    from rnnsearch.translation.word_aligner import WordAligner, check_reverse

    reverse, others = reverse_run or [], compare or []
    form = "json" if json else links_format
    shown = AlignOutputs(picture, measures, page, alignment_plots, plot_format)
    _check_words(symmetrise, words, plot_format, links_format, bool(reverse))
    _check_forms({"--json": json, "--links-format": links_format != PHARAOH, "--picture": picture})
    refused = shown.beside() | {"--gold": bool(gold), "--compare": bool(others)}
    refused["--links-format tmx"] = form == TMX
    batch_size = changes("search", set_, only=("batch_size",)).get("batch_size", 256)
    options = RayOptions(ray, workers, out, overwrite, device, threads, refused)
    how: dict[str, Any] = {"threshold": threshold, "method": symmetrise}
    how |= {"posterior": posterior, "exact": exact}
    if ray:
        how |= {"words": "given" if words == "given" else "tokenised", "scored": json}
        align_on_ray(runs, options, columns, form, batch_size, trust_code, reverse, how)
        return
    options.check_unused({"--columns": columns is not None})
    _check_pictures(shown, out, bool(others))
    names, source, target = runs_and_texts(runs)
    corpus = TextPairs.read(source, target, gold, gold_from)
    loaded = partial(load, device=device, threads=threads, trust_code=trust_code)
    translator, back = loaded(names), loaded(reverse) if reverse else None
    if reverse:
        check_reverse(translator, back, reverse[0])
    how |= {"scored": bool(json or measures or page), "words": corpus.counted(words, translator)}
    aligner = WordAligner(translator, back, [loaded([one]) for one in others], batch_size=batch_size, **how)
    if out is not None:
        _into_file(aligner, corpus, names, reverse, options, form)
    else:
        _show(aligner, corpus, form, shown, _titles(names, reverse, others), names[0])


@dataclass(frozen=True)
class TextPairs:
    """Pairs to align, and their gold links, if any. source, target, gold: names of files."""

    source: str
    target: str
    gold: str
    pairs: Iterable[tuple[str, str]]
    truths: Sequence[GoldLinks]

    @classmethod
    def read(cls, source: str, target: str, gold: str, gold_from: int | None) -> TextPairs:
        """Opens the files. Raises InputError where the two texts cannot be pairs."""
        from rnnsearch.evaluation.alignment_error import read_gold
        from rnnsearch.text.formats.lines import check_pairs, read_pairs

        check_pairs(source, target)
        say_if_empty(source, target)
        pairs = read_pairs(source, target)
        if not gold:
            return cls(source, target, gold, pairs, [])
        known = list(pairs)
        return cls(source, target, gold, known, read_gold(gold, first=gold_from, pairs=known))

    def counted(self, words: str, translator: Translator) -> LinkWords:
        """Returns the words that links refer to; with `auto`, those of the gold links."""
        from rnnsearch.translation.word_aligner import counted_by

        likely = counted_by(self.truths, list(self.pairs), translator) if self.gold else "tokenised"
        return likely if words == "auto" else "given" if words == "given" else "tokenised"

    def truth(self, number: int) -> GoldLinks | None:
        """Returns the gold links of a pair, counted from 0."""
        return self.truths[number] if self.gold else None


class AlignOutputs(NamedTuple):
    """Outputs other than lines: shown instead of them, or written in addition."""

    picture: bool
    measures: Path | None
    page: Path | None
    plots: Path | None
    plot_format: str

    def beside(self) -> dict[str, bool]:
        """Returns option → whether it was given, for the outputs that --out cannot resume."""
        options = ("--picture", "--measures", "--page", "--alignment-plots")
        return dict(zip(options, map(bool, self[:-1]), strict=True))


def _check_words(symmetrise: str, words: str, plot_format: str, links_format: str, has_reverse: bool) -> None:
    """Raises InputError for unknown values of options."""
    from rnnsearch.translation.word_aligner import PRODUCT, WAYS

    one_of(symmetrise, "--symmetrise", WAYS)
    if symmetrise == PRODUCT and not has_reverse:
        what = "--symmetrise product needs a run from target to source"
        raise InputError(what, remedy="add --reverse-run RUN")
    one_of(words, "--words", ("auto", "tokenised", "given"))
    one_of(plot_format, "--plot-format", ("png", "svg", "pdf"))
    one_of(links_format, "--links-format", (PHARAOH, "jsonl", TMX))


def _check_forms(forms: dict[str, bool]) -> None:
    """Raises InputError if two forms of output were asked for. forms: option → whether it was given."""
    given = [option for option, is_given in forms.items() if is_given]
    if len(given) > 1:
        what = f"{given[0]} and {given[1]} cannot be used together"
        raise InputError(what, remedy="remove one of them")


def _check_pictures(shown: AlignOutputs, out: str | None, compares: bool) -> None:
    """Raises InputError for pictures that cannot be made."""
    if compares and not (shown.picture or shown.page or shown.plots):
        remedy = "add --picture, --page FILE or --alignment-plots FOLDER"
        raise InputError("--compare needs pictures or a page", remedy=remedy)
    if out is not None and any(shown.beside().values()):
        what = "pictures, measures and pages cannot be made with --out"
        raise InputError(what, remedy="print the links with > FILE")
    if shown.plots:
        need("plot")


def _answer(
    aligned: Aligned, truth: GoldLinks | None, form: str, languages: tuple[str, str] = ("", "")
) -> str:
    """Returns the line of a pair: links, JSON, or a unit of TMX."""
    from rnnsearch.cli.output import as_aligned_json
    from rnnsearch.report.alignments import measure_pair
    from rnnsearch.text.formats.tmx import tmx_unit
    from rnnsearch.translation.aligner import AlignedPair
    from rnnsearch.word_links import format_links

    if form == "json":
        return as_aligned_json(aligned, measure_pair(aligned, truth).values())
    if form == TMX:
        return tmx_unit(aligned.lines, languages, aligned.links)
    if form == PHARAOH:
        return format_links(aligned.links)
    return json_.dumps(AlignedPair.of(aligned).to_dict(), ensure_ascii=False)


def _tmx_parts(form: str, aligner: WordAligner) -> tuple[tuple[str, str], str, str]:
    """Returns the languages of a run, and the head and the end of a TMX file."""
    from rnnsearch.text.formats.tmx import TMX_END, tmx_head

    data = aligner.translator.settings.data  # type: ignore[union-attr]  # a loaded run has settings
    languages = data.source_language, data.target_language
    return (languages, tmx_head(languages[0]), TMX_END) if form == TMX else (languages, "", "")


def _show(
    aligner: WordAligner, corpus: TextPairs, form: str, shown: AlignOutputs, titles: list[str], run: Path
) -> None:
    """Prints a line or a picture of each pair, and writes the other files."""
    from rnnsearch.drawing.alignments import comparison_figure, comparison_text
    from rnnsearch.report.alignments import (
        alignment_page,
        browsed,
        measure_pair,
        measure_together,
        measures_of_pairs,
        panels,
    )

    for folder in (shown.plots, shown.measures and shown.measures.parent, shown.page and shown.page.parent):
        with writing(folder):
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
    rows, sentences = [], []
    width = shutil.get_terminal_size((100, 24)).columns
    languages, head, tail = _tmx_parts(form, aligner)
    print(head, end="")
    watched = sys.stderr.isatty() and not sys.stdout.isatty()
    with LineProgress("aligning", "pairs", corpus.source, shown=watched) as progress:
        for number, aligned in enumerate(aligner.align(corpus.pairs), 1):
            truth = corpus.truth(number - 1)
            if shown.plots:
                file = shown.plots / f"{number:06d}.{shown.plot_format}"
                comparison_figure(panels(aligned, titles), file, truth)
            if shown.measures:
                rows.append(measure_pair(aligned, truth))
            if shown.page:
                sentences.append(browsed(number, aligned, titles, truth))
            if shown.picture:
                print(f"{comparison_text(panels(aligned, titles), width, truth)}\n")
            else:
                show(_answer(aligned, truth, form, languages))
            progress(number, 1)
    print(tail, end="")
    if shown.measures:
        write(shown.measures, "".join(f"{line}\n" for line in measures_of_pairs(rows)))
    if shown.page:
        runs = f"Runs: {', '.join(title for title in titles if title) or run}"
        title = f"Word alignments: {corpus.source} – {corpus.target}"
        write(shown.page, alignment_page(sentences, title, runs))
    if rows:
        say("  ".join(f"{name} {value:.4g}" for name, value in measure_together(rows).values().items()))


def _into_file(
    aligner: WordAligner,
    corpus: TextPairs,
    runs: list[Path],
    reverse: list[Path],
    options: RayOptions,
    form: str,
) -> None:
    """Aligns the pairs into the file of --out. After Ctrl-C, says where the same command continues."""
    from rnnsearch.system.line_file import LineFile
    from rnnsearch.translation.answers import answers_key

    files = [Path(corpus.gold)] if corpus.gold else []
    languages, head, tail = _tmx_parts(form, aligner)
    key = answers_key([*runs, *reverse], f"{aligner} {len(reverse)}", form, files)
    out = LineFile(Path(options.out or ""), key, head=head, tail=tail)
    out.begin(options.overwrite)
    with out, LineProgress("aligning", "pairs", corpus.source, "the same command goes on") as progress:
        for block in out.blocks(corpus.pairs, aligner.batch_size):
            aligned = enumerate(aligner.align(block, out.done + 1), out.done)
            out.append(block, [_answer(one, corpus.truth(n), form, languages) for n, one in aligned])
            progress(out.done, len(block))
        out.finish()


def align_on_ray(
    words: list[str],
    options: RayOptions,
    columns: tuple[str, str] | None,
    form: str,
    batch_size: int,
    trust_code: bool,
    reverse_run: list[Path],
    how: dict[str, Any],
) -> None:
    """Aligns the shards of a corpus. how: options of WordAligner."""
    from rnnsearch.run import Run
    from rnnsearch.translation.answers import answers_key
    from rnnsearch.translation.word_aligner import check_reverse

    options.check()
    runs, corpora = runs_and_corpora(words, 2)
    back = [run if is_name(run) else run.resolve() for run in reverse_run]
    if back:
        check_reverse(Run.open(runs[0]), Run.open(back[0]), back[0])
    find_key = partial(
        answers_key, [*runs, *back], f"align {how} {batch_size} {columns} {len(back)}", form, []
    )
    loaded = partial(load, device=options.device, threads=options.threads or 1, trust_code=trust_code)
    work = partial(_work, partial(loaded, runs), partial(loaded, back) if back else None, form, how)
    suffix = ".txt" if form == PHARAOH else ".jsonl"
    work_on_ray(
        options,
        corpora,
        layout_of(runs[0], columns or ("", "")),
        partial(work, batch_size=batch_size),
        find_key,
        suffix,
    )


def _work(
    loaded: Callable[[], Translator],
    reverse: Callable[[], Translator] | None,
    form: str,
    how: dict[str, Any],
    batch_size: int,
) -> Callable[[Iterator[tuple[str, str]]], Iterable[str]]:
    """Returns the work on the pairs of a shard."""
    from rnnsearch.translation.word_aligner import WordAligner

    aligner = WordAligner(loaded(), reverse and reverse(), batch_size=batch_size, **how)
    return lambda pairs: (_answer(one, None, form) for one in aligner.align(pairs))


def _titles(runs: list[Path], reverse: list[Path], others: list[Path]) -> list[str]:
    """Returns the names of a pair's pictures; one picture by itself needs none."""
    if not (reverse or others):
        return [""]
    ensembles = [runs, *([reverse] if reverse else []), *([one] for one in others)]
    return [" + ".join(run.resolve().name for run in ensemble) for ensemble in ensembles]
