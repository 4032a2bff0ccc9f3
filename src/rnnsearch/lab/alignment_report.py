"""A report on word alignments that `align --format matrices` has written, of one run or several
side by side: measures as a table, and a page to browse the alignments (one HTML file that works
offline)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, ValidationError, model_validator

from rnnsearch.config import first_fault
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import read_gold
from rnnsearch.figure3 import Panel, comparison_figure, matrix_of
from rnnsearch.lab.gold_checks import require_words, warn_if_misread
from rnnsearch.lab.link_measures import Behaviour, behaviour, link_errors, shares, summed
from rnnsearch.lab.metrics import OF_PAIRS
from rnnsearch.lab.page import PAGE, Browser, Document, as_html, begin_folder
from rnnsearch.lab.test_set import file_stem, split_name
from rnnsearch.records import Translation
from rnnsearch.system.files import file_name, write_text, writing
from rnnsearch.system.progress import note
from rnnsearch.text.formats.lines import raw_lines
from rnnsearch.text.vocabulary import END
from rnnsearch.translation.aligner import AlignedPair
from rnnsearch.word_links import GoldLinks, Link

PICTURES = 100
"""Pairs that are also drawn as PNG, the first ones."""


LARGEST_WEIGHT = 1.001
"""A weight may be more than 1 by rounding."""


class Matrices(BaseModel):
    """A line of `align --format matrices`."""

    tokens: list[str]
    source_tokens: list[str] = Field(min_length=1)
    score: FiniteFloat
    alignment: list[list[float]]
    links: list[Link]
    forward_links: list[Link] | None = None
    reverse_links: list[Link] | None = None
    reverse_alignment: list[list[float]] | None = None

    @model_validator(mode="after")
    def _fit(self) -> Matrices:
        """Raises ValueError for weights and links that do not fit the words."""
        source, target = len(self.source_tokens) - 1, len(self.tokens)
        sides = [("alignment", self.alignment, target, source + 1)]
        if self.reverse_alignment is not None:
            sides.append(("reverse_alignment", self.reverse_alignment, source, target + 1))
        for name, rows, height, width in sides:
            if [len(row) for row in rows] != [width] * height:
                raise ValueError(f"{name} needs {height} lists of {width} numbers")
            if not all(0 <= weight <= LARGEST_WEIGHT for row in rows for weight in row):
                raise ValueError(f"{name} needs numbers from 0 to 1")
        every = [*self.links, *(self.forward_links or ()), *(self.reverse_links or ())]
        if not all(0 <= j < source and 0 <= i < target for j, i in every):
            raise ValueError("a link is outside the sentence")
        return self

    def aligned(self) -> AlignedPair:
        """Returns the pair."""
        source = self.source_tokens[:-1]
        own = self._result(self.tokens, self.source_tokens, self.alignment)
        forward = self.links if self.forward_links is None else self.forward_links
        pair = AlignedPair(" ".join(source), own.text, own, self.links, forward)
        if self.reverse_alignment is None:
            return pair
        back = self._result(source, [*self.tokens, END], self.reverse_alignment)
        return replace(pair, reverse=back, reverse_links=self.reverse_links or [])

    def _result(self, tokens: list[str], source: list[str], rows: list[list[float]]) -> Translation:
        weights = np.array(rows, dtype=np.float32).reshape(len(tokens), len(source))
        return Translation(" ".join(tokens), tokens, source, self.score, [], weights)


def read_matrices(file: str | Path) -> list[AlignedPair]:
    """Reads what `align --format matrices` has written. Raises InputError, with the line, for
    anything else."""
    pairs = []
    for number, line in enumerate(raw_lines(file), 1):
        try:
            pairs.append(Matrices.model_validate_json(line).aligned())
        except ValidationError as error:
            remedy = "write the file with `rnnsearch align --format matrices`"
            raise InputError(first_fault(error), remedy, file=file, line=number) from None
    if not pairs:
        raise InputError("is empty", "a report has at least one pair", file=file)
    return pairs


def measure_pair(aligned: AlignedPair, gold: GoldLinks | None) -> Behaviour:
    """Returns the counts behind the measures of one pair, by their keys in OF_PAIRS. `shares` makes
    the measures of them, and `summed` those of several pairs: long pairs weigh more, and numbers of
    words are means.

    The log-probability is per target word, its end included. The agreement compares the links of
    the two directions.
    """
    result = aligned.result
    counts = behaviour(result.alignment, aligned.forward_links, aligned.reverse_links)
    source_words, target_words = len(result.source_tokens) - 1, len(result.tokens)
    counts |= {"source_words": (source_words, 1), "target_words": (target_words, 1)}
    counts["log_probability"] = result.score, target_words + 1
    return counts | (link_errors(aligned.links, gold) if gold else {})


def measures_of_pairs(pairs: Sequence[Behaviour]) -> Iterator[str]:
    """Yields lines of TSV: the columns' names, a line for each pair, and `all`. A measure that a
    pair lacks is left empty."""
    yield "\t".join(["pair", *OF_PAIRS])
    rows = [(str(number), pair) for number, pair in enumerate(pairs, 1)]
    for name, pair in [*rows, ("all", summed(pairs))] if pairs else []:
        values = shares(pair)
        cells = (
            f"{values[one]:.5f}".rstrip("0").rstrip(".") if one in values else ""
            for one in OF_PAIRS
        )
        yield "\t".join([name, *cells])


def browsed(
    number: int, runs: Sequence[tuple[str, AlignedPair]], gold: GoldLinks | None
) -> dict[str, Any]:
    """Returns a pair as the page shows it. runs: names and alignments. The page sorts by the
    first run. A run shows the combined links, its reverse run its own."""
    shown = []
    for name, aligned in runs:
        panel, *back = aligned.panels(name)
        shown.append(browsed_run(panel, aligned.links, measure_pair(aligned, gold), gold))
        for other in back:
            links = aligned.reverse_links or []
            shown.append(browsed_run(other, links, link_errors(links, gold) if gold else {}, gold))
    known = gold and {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    return {"number": number, "gold": known, "runs": shown}


def browsed_run(
    panel: Panel, links: Sequence[Link], counts: Behaviour, gold: GoldLinks | None = None
) -> dict[str, Any]:
    """Returns one run's alignment of a sentence as the page shows it. links: made from its weights.
    Raises InputError as `alignment_figure` does."""
    weights = np.nan_to_num(matrix_of(*panel[1:], gold))
    shades = np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8)
    measures = shares(counts)
    return {
        "title": panel.title,
        "source": list(panel.source_tokens),
        "target": list(panel.target_tokens),
        "weights": b64encode(shades.tobytes()).decode("ascii"),
        "links": sorted(links),
        "measures": {
            name: round(float(measures[name]), 4) for name in OF_PAIRS if name in measures
        },
    }


def alignment_page(sentences: Sequence[dict[str, Any]], title: str, note: str = "") -> str:
    """Returns the page: a list of sentences, as `browsed` returns them, that can be sorted and
    searched, and the matrices of one sentence.

    A page of a thousand sentences of 25 words has about a megabyte.
    """
    used = {name for sentence in sentences for run in sentence["runs"] for name in run["measures"]}
    names = {key: metric.heading for key, metric in OF_PAIRS.items()}
    measures = [metric[:2] for key, metric in OF_PAIRS.items() if key in used]
    data = {"measures": names, "sentences": list(sentences)}
    gold = any(sentence["gold"] for sentence in sentences)
    return as_html(Document(title, note, browser=Browser(data, measures, gold)))


def report_alignments(
    files: Sequence[str], out: Path, gold: str = "", gold_from: int | None = None, title: str = ""
) -> Path:
    """Writes a page of the alignments of one or several runs, pictures of the first pairs, and for
    each run a table of measures. Returns the path of the page.

    files: `[NAME=]FILE`, as `read_matrices` reads them. gold: file of gold links. Raises InputError
    for files of different numbers of pairs, gold links that do not fit, and a folder that holds
    files that no report made.
    """
    runs = {name or file_stem(file): file for name, file in map(split_name, files)}
    if len(set(map(file_name, runs))) < len(files):
        raise InputError("two files have the same name", "--alignments NAME=FILE")
    found = {name: read_matrices(file) for name, file in runs.items()}
    leader, first = next(iter(found.items()))
    texts = [(one.source, one.target) for one in first]
    truths: list[Any] = [None] * len(first)
    if gold:
        truths = read_gold(gold, first=gold_from, pairs=texts)
    counts = {runs[name]: len(pairs) for name, pairs in found.items()} | {gold: len(truths)}
    for file, number in counts.items():
        if number != len(first):
            what = f"has {number:,} sentences, but {runs[leader]} has {len(first):,}"
            raise InputError(what, "line n must belong to line n of the first file", file=file)
    if gold:
        words = [(source.split(), target.split()) for source, target in texts]
        require_words(truths, words, runs[leader])
    named = [list(zip(found, pairs, strict=True)) for pairs in zip(*found.values(), strict=True)]
    sentences = list(map(browsed, count(1), named, truths))
    tables = ["*.tsv"] if (out / PAGE).exists() else [f"{file_name(name)}.tsv" for name in found]
    begin_folder(out, ["pictures", *tables])
    with writing(out):
        (out / "pictures").mkdir(exist_ok=True)
    for name, pairs in found.items():
        rows = list(map(measure_pair, pairs, truths))
        write_text(
            out / f"{file_name(name)}.tsv", "".join(f"{line}\n" for line in measures_of_pairs(rows))
        )
        values = (f"{key} {value:.4g}" for key, value in shares(summed(rows)).items())
        note(f"{name}: {'  '.join(values)}")
        if gold:
            warn_if_misread([one.links for one in pairs], truths, gold)
    for number, (runs_of_pair, truth) in enumerate(zip(named[:PICTURES], truths, strict=False), 1):
        panels = [panel for name, one in runs_of_pair for panel in one.panels(name)]
        comparison_figure(panels, out / "pictures" / f"{number:06d}.png", truth)
    page = out / PAGE
    write_text(
        page, alignment_page(sentences, title or "Word alignments", ", ".join(runs.values()))
    )
    return page
