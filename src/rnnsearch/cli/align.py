"""`rnnsearch align`: word links of given pairs, by forced decoding."""

from __future__ import annotations

import json as json_
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from rnnsearch.installed import is_name, need
from rnnsearch.system.files import writing
from rnnsearch.system.progress import show

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.text.links import LinkWords
    from rnnsearch.translation.aligner import Aligned, WordAligner
    from rnnsearch.translation.translator import Translator
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
    from rnnsearch.translation.aligner import WordAligner, check_reverse

    reverse, others = reverse_run or [], compare or []
    form = "json" if json else links_format
    outputs = AlignOutputs(picture, measures, page, alignment_plots, plot_format)
    _check_words(symmetrise, words, plot_format, links_format, bool(reverse))
    _check_forms({"--json": json, "--links-format": links_format != PHARAOH, "--picture": picture})
    refused = outputs.beside() | {"--gold": bool(gold), "--compare": bool(others)}
    refused["--links-format tmx"] = form == TMX
    where = RayOptions(ray, workers, out, overwrite, device, threads, refused)
    how: dict[str, Any] = changes("search", set_, only=("batch_size",))
    how = {"batch_size": 256, "threshold": threshold, "method": symmetrise} | how
    how |= {"posterior": posterior, "exact": exact}
    options = AlignOptions(form, how, reverse, trust_code, where)
    if ray:
        how |= {"words": "given" if words == "given" else "tokenised", "scored": json}
        return align_on_ray(options, runs, columns or ("", ""))
    where.check_unused({"--columns": columns is not None})
    _check_pictures(outputs, out, bool(others))
    names, source, target = runs_and_texts(runs)
    corpus = TextPairs.read(source, target, gold, gold_from)
    translator, back = options.load(names), options.load(reverse) if reverse else None
    if reverse:
        check_reverse(translator, back, reverse[0])
    how |= {"scored": bool(json or measures or page), "words": corpus.counted(words, translator)}
    aligner = WordAligner(translator, back, [options.load([one]) for one in others], **how)
    if out is not None:
        _into_file(options, aligner, corpus, names)
    else:
        _show(aligner, corpus, form, outputs, _titles(names, reverse, others), names[0])


@dataclass(frozen=True)
class AlignOptions:
    """The options of the command line. form: json, pharaoh, jsonl or tmx. how: options of WordAligner.
    reverse: runs from target to source."""

    form: str
    how: dict[str, Any]
    reverse: list[Path]
    trust_code: bool
    where: RayOptions

    def load(self, runs: Sequence[Path]) -> Translator:
        """Returns the translator of these runs."""
        return load(runs, self.where.device, self.where.threads, self.trust_code)

    def key(self, runs: Sequence[Path], more: str, files: Sequence[Path] = ()) -> str:
        """Returns the key of the answers. files: gold links, if any."""
        from rnnsearch.run import answers_key

        how = f"align {self.how} {len(self.reverse)} {more}"
        return answers_key([*runs, *self.reverse], how, self.form, files)


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
        from rnnsearch.translation.aligner import counted_by

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
    from rnnsearch.translation.aligner import PRODUCT, WAYS

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


def _check_pictures(outputs: AlignOutputs, out: str | None, compares: bool) -> None:
    """Raises InputError for pictures that cannot be made."""
    if compares and not (outputs.picture or outputs.page or outputs.plots):
        remedy = "add --picture, --page FILE or --alignment-plots FOLDER"
        raise InputError("--compare needs pictures or a page", remedy=remedy)
    if out is not None and any(outputs.beside().values()):
        what = "pictures, measures and pages cannot be made with --out"
        raise InputError(what, remedy="print the links with > FILE")
    if outputs.plots:
        need("plot")


def _answer(
    aligned: Aligned, truth: GoldLinks | None, form: str, languages: tuple[str, str] = ("", "")
) -> str:
    """Returns the line of a pair: links, JSON, or a unit of TMX."""
    from rnnsearch.cli.output import as_aligned_json
    from rnnsearch.evaluation.alignment_error import shares
    from rnnsearch.report.alignments import measure_pair
    from rnnsearch.text.formats.tmx import tmx_unit
    from rnnsearch.translation.aligner import AlignedPair
    from rnnsearch.word_links import format_links

    if form == "json":
        return as_aligned_json(aligned, shares(measure_pair(aligned, truth)))
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
    aligner: WordAligner, corpus: TextPairs, form: str, outputs: AlignOutputs, titles: list[str], run: Path
) -> None:
    """Prints a line or a picture of each pair, and writes the other files."""
    from rnnsearch.drawing.alignments import comparison_figure, comparison_text
    from rnnsearch.evaluation.alignment_error import shares, summed
    from rnnsearch.report.alignments import (
        alignment_page,
        browsed,
        measure_pair,
        measures_of_pairs,
        panels,
    )

    for folder in (
        outputs.plots,
        outputs.measures and outputs.measures.parent,
        outputs.page and outputs.page.parent,
    ):
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
            if outputs.plots:
                file = outputs.plots / f"{number:06d}.{outputs.plot_format}"
                comparison_figure(panels(aligned, titles), file, truth)
            if outputs.measures:
                rows.append(measure_pair(aligned, truth))
            if outputs.page:
                sentences.append(browsed(number, aligned, titles, truth))
            if outputs.picture:
                print(f"{comparison_text(panels(aligned, titles), width, truth)}\n")
            else:
                show(_answer(aligned, truth, form, languages))
            progress(number, 1)
    print(tail, end="")
    if outputs.measures:
        write(outputs.measures, "".join(f"{line}\n" for line in measures_of_pairs(rows)))
    if outputs.page:
        runs = f"Runs: {', '.join(title for title in titles if title) or run}"
        title = f"Word alignments: {corpus.source} – {corpus.target}"
        write(outputs.page, alignment_page(sentences, title, runs))
    if rows:
        say("  ".join(f"{name} {value:.4g}" for name, value in shares(summed(rows)).items()))


def _into_file(options: AlignOptions, aligner: WordAligner, corpus: TextPairs, runs: Sequence[Path]) -> None:
    """Aligns the pairs into the file of --out. The same command resumes it."""
    from rnnsearch.system.line_file import LineFile

    languages, head, tail = _tmx_parts(options.form, aligner)
    key = options.key(runs, "", [Path(corpus.gold)] if corpus.gold else [])
    out = LineFile(Path(options.where.out or ""), key, head=head, tail=tail)
    out.begin(options.where.overwrite)
    with out, LineProgress("aligning", "pairs", corpus.source, "the same command goes on") as progress:
        for block in out.blocks(corpus.pairs, aligner.batch_size):
            aligned = enumerate(aligner.align(block, out.done + 1), out.done)
            out.append(block, [_answer(one, corpus.truth(n), options.form, languages) for n, one in aligned])
            progress(out.done, len(block))
        out.finish()


def align_on_ray(options: AlignOptions, words: list[str], columns: tuple[str, str]) -> None:
    """Aligns the shards of a corpus."""
    from rnnsearch.run import Run
    from rnnsearch.translation.aligner import check_reverse

    options.where.check()
    runs, corpora = runs_and_corpora(words, 2)
    back = [run if is_name(run) else run.resolve() for run in options.reverse]
    if back:
        check_reverse(Run.open(runs[0]), Run.open(back[0]), back[0])
    where = options.where._replace(threads=options.where.threads or 1)
    options = replace(options, reverse=back, where=where)
    suffix = ".txt" if options.form == PHARAOH else ".jsonl"
    find_key = partial(options.key, runs, str(columns))
    work_on_ray(where, corpora, layout_of(runs[0], columns), partial(_work, options, runs), find_key, suffix)


def _work(
    options: AlignOptions, runs: Sequence[Path]
) -> Callable[[Iterator[tuple[str, str]]], Iterable[str]]:
    """Returns the work on the pairs of a shard."""
    from rnnsearch.translation.aligner import WordAligner

    back = options.load(options.reverse) if options.reverse else None
    aligner = WordAligner(options.load(runs), back, **options.how)
    return lambda pairs: (_answer(one, None, options.form) for one in aligner.align(pairs))


def _titles(runs: list[Path], reverse: list[Path], others: list[Path]) -> list[str]:
    """Returns the names of a pair's pictures; one picture by itself needs none."""
    if not (reverse or others):
        return [""]
    ensembles = [runs, *([reverse] if reverse else []), *([one] for one in others)]
    return [" + ".join(run.resolve().name for run in ensemble) for ensemble in ensembles]
