"""`rnnsearch align` and `rnnsearch score`: word links and log p of given pairs, by forced decoding."""

from __future__ import annotations

import json as json_
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.answers import (
    Place,
    RayWorkers,
    Runs,
    Task,
    Work,
    answer_on_ray,
    answered,
    as_json,
)
from rnnsearch.cli.options import (
    Cores,
    GoldFrom,
    Strings,
    describe,
    one_of,
    refuse,
    say,
    say_if_empty,
    search_changes,
)
from rnnsearch.errors import InputError
from rnnsearch.installed import is_name, need
from rnnsearch.system.files import write_text, writing

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.translation.aligner import AlignedPair
    from rnnsearch.word_links import GoldLinks


@describe(
    """
    runs RUN... SRC TGT: Trained runs (several make an ensemble), the source text and its translations.
    threshold: Link every word pair with at least this weight; default: link each target word to its source
    word of largest weight.
    posterior: Use the alignment posterior, which also uses the target word, instead of the attention weights.
    exact: Use float32 products, and with --posterior estimate nothing: many times slower, with nearly the
    same links.
    reverse_run RUN: A run from target to source; its links are symmetrised with the others. Repeat the option
    for an ensemble.
    symmetrise: How to symmetrise: a method of `rnnsearch links`, or `product` of the weights of both
    directions.
    words: Words that the links refer to: `tokenised` words, words as `given` (split at spaces), or `auto`:
    the words of --gold.
    links_format: Write the links as pharaoh (`0-0 1-2`), or as jsonl (the pair, its words, links and their
    probabilities; without --posterior α).
    picture: Draw each alignment in the terminal instead of printing links.
    gold FILE: Gold links for pictures, measures and page, as for `aer`.
    measures FILE: Write a table for each pair and for all: entropy, coverage, monotone jumps, agreement, AER.
    page FILE: Write an HTML page to browse the alignments.
    alignment_plots DIR: Draw the alignment of each pair into this folder, as PNG.
    """
)
def align(
    runs: list[str],
    *,
    threshold: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None,
    posterior: bool = False,
    exact: bool = False,
    reverse_run: list[Path] | None = None,
    symmetrise: str = "grow-diag-final-and",
    words: str = "auto",
    json: bool = False,
    links_format: str = "pharaoh",
    picture: bool = False,
    gold: str = "",
    gold_from: GoldFrom = None,
    measures: Path | None = None,
    page: Path | None = None,
    alignment_plots: Path | None = None,
    out: str | None = None,
    overwrite: bool = False,
    threads: Cores = 0,
    set_: Strings = None,
    device: str = "cpu",
    trust_code: bool = False,
    ray: str | None = None,
    workers: RayWorkers = None,
) -> None:
    """Align the words of sentence pairs by forced decoding. Print Pharaoh links `i-j` (source-target, from
    0), or matrices with --json."""
    from rnnsearch.run import Run
    from rnnsearch.translation.aligner import counted_by

    one_of(words, "--words", ("auto", "tokenised", "given"))
    form = output_format(json, picture, links_format)
    how: dict[str, Any] = {"batch_size": 256, **search_changes(set_, only=("batch_size",))}
    how |= {"threshold": threshold, "method": symmetrise, "posterior": posterior, "exact": exact}
    how |= {"scored": bool(json or measures or page), "words": "given" if words == "given" else "tokenised"}
    place = Place(out, overwrite, device, threads, trust_code, ray, workers)
    reverse = reverse_run or []
    check_directions(symmetrise, runs, reverse)
    if ray or out is not None:
        shown = {"--picture": picture, "--measures": measures, "--page": page, "--gold": ray and gold}
        shown["--alignment-plots"] = alignment_plots
        refuse(shown, f"cannot be used with {'--ray' if ray else '--out'}")
    if ray:
        paths = [run if is_name(run) else run.resolve() for run in reverse]
        return answer_on_ray(place, runs, 2, Aligning(form, how, paths))
    refuse({"--workers": workers}, "needs --ray", "add --ray local")
    names, source, target = runs_and_texts(runs)
    pairs, truths = read_texts(source, target, gold, gold_from)
    if truths and words == "auto":
        run = Run.open(names[0])
        how["words"] = counted_by(truths, list(pairs), (run.source, run.target))
    sides = [names, reverse] if reverse else []
    titles = [" + ".join(run.resolve().name for run in some) for some in sides] or [""]
    task = Aligning(form, how, reverse, dict(enumerate(truths)), [Path(gold)] if gold else [], titles)
    about = f"Word alignments: {source} – {target}", f"Run: {names[0]}"
    results = answered(place, task, names, source, pairs)
    return observe(results, task, measures, page, alignment_plots, about)


def output_format(json: bool, picture: bool, links_format: str) -> str:
    """Returns pharaoh, jsonl, json or picture. Raises InputError for several at once."""
    one_of(links_format, "--links-format", ("pharaoh", "jsonl"))
    if json + picture + (links_format != "pharaoh") > 1:
        raise InputError("--json, --picture and --links-format are different outputs", remedy="give one")
    return "json" if json else "picture" if picture else links_format


def check_directions(symmetrise: str, runs: Sequence[str], reverse: Sequence[Path]) -> None:
    """Raises InputError for an unknown way to symmetrise, and for runs that are not opposite."""
    from rnnsearch.run import Run
    from rnnsearch.translation.aligner import PRODUCT, WAYS, check_reverse

    one_of(symmetrise, "--symmetrise", WAYS)
    if symmetrise == PRODUCT and not reverse:
        what = "--symmetrise product needs a run from target to source"
        raise InputError(what, remedy="add --reverse-run RUN")
    if reverse:
        check_reverse(Run.open(runs[0]), Run.open(reverse[0]), reverse[0])


@dataclass(frozen=True)
class Aligning(Task):
    """The alignment of pairs. form: pharaoh, jsonl, json or picture. how: options of Aligner. reverse:
    runs from target to source. truths: gold links by number of the pair, from 0; those of gold_files. titles:
    names of a pair's pictures; one picture by itself needs none."""

    how: dict[str, Any]
    reverse: list[Path]
    truths: Mapping[int, GoldLinks] = field(default_factory=dict)
    gold_files: Sequence[Path] = ()
    titles: Sequence[str] = ("",)
    doing = "aligning"

    def load(self, place: Place, runs: Runs) -> Work:
        from rnnsearch.translation.aligner import Aligner

        translator, back = place.load(runs), place.load(self.reverse) if self.reverse else None
        how = dict(self.how)
        each = {name: how.pop(name) for name in ("threshold", "batch_size")}
        answer = partial(Aligner(translator, back, **how).stream, **each)
        return Work(answer, self.line, each["batch_size"])

    def key(self, runs: Runs) -> str:
        from rnnsearch.run import answers_key

        how = f"align {self.how} {len(self.reverse)}"
        return answers_key([*runs, *self.reverse], how, self.form, self.gold_files)

    def line(self, number: int, aligned: AlignedPair) -> str:
        """Returns the line of a pair, or its picture."""
        from rnnsearch.evaluation.alignment_error import shares
        from rnnsearch.figure3 import comparison_text
        from rnnsearch.lab.alignment_page import measure_pair, panels

        if self.form == "pharaoh":
            return aligned.pharaoh()
        if self.form == "picture":
            width = shutil.get_terminal_size((100, 24)).columns
            return f"{comparison_text(panels(aligned, self.titles), width, self.truths.get(number))}\n"
        if self.form == "jsonl":
            return json_.dumps(aligned.to_dict(), ensure_ascii=False)
        values = shares(measure_pair(aligned, self.truths.get(number)))
        whole = aligned.result.to_dict()
        del whole["alternatives"], whole["confidence"], whole["doubtful_numbers"]
        whole |= {"links": aligned.links, "measures": {name: round(one, 5) for name, one in values.items()}}
        if aligned.reverse is not None:
            whole["reverse_alignment"] = aligned.reverse.to_dict()["alignment"]
        return json_.dumps(whole, ensure_ascii=False)


def read_texts(
    source: str, target: str, gold: str, first: int | None
) -> tuple[Iterable[tuple[str, str]], Sequence[GoldLinks]]:
    """Returns the pairs, and their gold links, if any. Raises InputError where the texts cannot be pairs, and
    if pairs and gold differ in number."""
    from rnnsearch.evaluation.alignment_error import read_gold
    from rnnsearch.text.formats.lines import check_pairs, warned_pairs

    check_pairs(source, target)
    say_if_empty(source, target)
    pairs = warned_pairs(source, target)
    if not gold:
        return pairs, []
    known = list(pairs)
    truths = read_gold(gold, first=first, pairs=known)
    if len(truths) != len(known):
        what = f"has {len(truths):,} sentences, but {source} and {target} have {len(known):,} pairs"
        raise InputError(what, file=gold, remedy="sentence n of the gold file must belong to line n")
    return known, truths


def observe(
    results: Iterator[AlignedPair],
    task: Aligning,
    measures: Path | None,
    page: Path | None,
    plots: Path | None,
    about: tuple[str, str],
) -> None:
    """Goes through the results, and writes the files about all of them: a table of measures, a page, and a
    folder of pictures. about: title and note of the page."""
    from rnnsearch.evaluation.alignment_error import shares, summed, warn_if_exchanged
    from rnnsearch.figure3 import comparison_figure
    from rnnsearch.lab.alignment_page import alignment_page, browsed, measure_pair, measures_of_pairs, panels

    if plots:
        need("plot")
    for folder in (plots, *(file and file.parent for file in (measures, page))):
        with writing(folder):
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
    rows, sentences, links = [], [], []
    for number, aligned in enumerate(results):
        truth = task.truths.get(number)
        links.append(aligned.links if truth else ())
        if plots:
            comparison_figure(panels(aligned, task.titles), plots / f"{number + 1:06d}.png", truth)
        if measures:
            rows.append(measure_pair(aligned, truth))
        if page:
            sentences.append(browsed(number + 1, aligned, task.titles, truth))
    for gold in task.gold_files:
        warn_if_exchanged(links, list(task.truths.values()), gold)
    if measures:
        write_text(measures, "".join(f"{line}\n" for line in measures_of_pairs(rows)))
    if page:
        write_text(page, alignment_page(sentences, *about))
    if rows:
        say("  ".join(f"{name} {value:.4g}" for name, value in shares(summed(rows)).items()))


@describe(
    """
    runs RUN... SRC TGT: Trained runs (several make an ensemble), the source text, and its translations or a
    Moses n-best list.
    """
)
def score(
    runs: list[str],
    *,
    json: bool = False,
    out: str | None = None,
    threads: Cores = 0,
    set_: Strings = None,
    overwrite: bool = False,
    device: str = "cpu",
    trust_code: bool = False,
    ray: str | None = None,
    workers: RayWorkers = None,
) -> None:
    """Print log p(y|x) of each sentence pair, in nats. An n-best list is printed again, sorted by these
    scores."""
    from rnnsearch.text.formats.lines import check_pairs, read_lines, warned_pairs
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.text.nbest import is_nbest, parse_nbest, rerank

    batch_size = search_changes(set_, only=("batch_size",)).get("batch_size", 64)
    place = Place(out, overwrite, device, threads, trust_code, ray, workers)
    task = Scoring("json" if json else "text", batch_size)
    if ray:
        answer_on_ray(place, runs, 2, task)
        return
    refuse({"--workers": workers}, "needs --ray", "add --ray local")
    names, source, target = runs_and_texts(runs)
    if is_on_disk(target) and is_nbest(next(read_lines(target), "")):
        if json or out is not None:
            what = "--json and --out cannot be used with an n-best list"
            raise InputError(what, file=target, remedy="write it with > FILE")
        score_pairs = partial(place.load(names).score, batch_size=batch_size)
        lines = list(read_lines(source))
        for line in rerank(score_pairs, lines, parse_nbest(read_lines(target), len(lines), target)):
            print(line)
        return
    check_pairs(source, target)
    say_if_empty(source, target)
    pairs = warned_pairs(source, target)
    first = list(islice(pairs, 1))
    if first and is_nbest(first[0][1]):
        what = "an n-best list cannot come through a pipe"
        raise InputError(what, file=target, line=1, remedy="write it to a file first")
    deque(answered(place, task, names, source, chain(first, pairs)), maxlen=0)


@dataclass(frozen=True)
class Scoring(Task):
    """The scores of pairs. form: json or text."""

    batch_size: int
    doing = "scoring"

    def load(self, place: Place, runs: Runs) -> Work:
        translator = place.load(runs)

        def answer(pairs: Any, first: int) -> Any:
            return translator.force(pairs, self.batch_size, first=first)

        write = as_json if self.form == "json" else lambda _, result: f"{result.score:.5f}"
        return Work(answer, write, self.batch_size)

    def key(self, runs: Runs) -> str:
        from rnnsearch.run import answers_key

        return answers_key(runs, f"score {self.batch_size}", self.form, [])


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """Returns the runs and the two texts of RUN... SRC TGT."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="give RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target
