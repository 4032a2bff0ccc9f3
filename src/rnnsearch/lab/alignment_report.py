"""A report on word alignments that `align --format matrices` has written, of one run or several
side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat, ValidationError, model_validator

from rnnsearch.config import first_fault
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import read_gold
from rnnsearch.figure3 import comparison_figure
from rnnsearch.lab.alignment_page import alignment_page, browsed, measure_pair, measures_of_pairs
from rnnsearch.lab.gold_checks import require_words, warn_if_misread
from rnnsearch.lab.link_measures import shares, summed
from rnnsearch.lab.test_set import split_name
from rnnsearch.records import Translation
from rnnsearch.system.files import file_name, write_text, writing
from rnnsearch.system.progress import note
from rnnsearch.text.formats.lines import raw_lines
from rnnsearch.text.vocabulary import END
from rnnsearch.translation.aligner import AlignedPair
from rnnsearch.word_links import Link

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
            raise InputError(first_fault(error), file=file, line=number, remedy=remedy) from None
    if not pairs:
        raise InputError("is empty", file=file, remedy="a report has at least one pair")
    return pairs


def report_alignments(
    files: Sequence[str], out: Path, gold: str = "", gold_from: int | None = None, title: str = ""
) -> Path:
    """Writes a page of the alignments of one or several runs, pictures of the first pairs, and for
    each run a table of measures. Returns the path of the page.

    files: `[NAME=]FILE`, as `read_matrices` reads them. gold: file of gold links. Raises InputError
    for files of different numbers of pairs, and gold links that do not fit.
    """
    runs = {
        name or Path(file).name.partition(".")[0]: file for name, file in map(split_name, files)
    }
    if len(set(map(file_name, runs))) < len(files):
        raise InputError("two files have the same name", remedy="--alignments NAME=FILE")
    found = {name: read_matrices(file) for name, file in runs.items()}
    first = next(iter(found.values()))
    texts = [(one.source, one.target) for one in first]
    truths: list[Any] = [None] * len(first)
    if gold:
        truths = read_gold(gold, first=gold_from, pairs=texts)
    for file, number in [
        *zip(runs.values(), map(len, found.values()), strict=True),
        (gold, len(truths)),
    ]:
        if number != len(first):
            what = f"has {number:,} sentences, but {runs[next(iter(runs))]} has {len(first):,}"
            raise InputError(
                what, file=file, remedy="line n must belong to line n of the first file"
            )
    if gold:
        words = [(source.split(), target.split()) for source, target in texts]
        require_words(truths, words, runs[next(iter(runs))])
    sentences = [
        browsed(number, list(zip(found, pairs, strict=True)), truth)
        for number, (truth, *pairs) in enumerate(zip(truths, *found.values(), strict=True), 1)
    ]
    with writing(out):
        (out / "pictures").mkdir(parents=True, exist_ok=True)
    for name, pairs in found.items():
        rows = list(map(measure_pair, pairs, truths))
        write_text(
            out / f"{file_name(name)}.tsv", "".join(f"{line}\n" for line in measures_of_pairs(rows))
        )
        values = "  ".join(f"{key} {value:.4g}" for key, value in shares(summed(rows)).items())
        note(f"{name}: {values}")
        if gold:
            warn_if_misread([one.links for one in pairs], truths, gold)
    for number, (truth, *pairs) in enumerate(
        zip(truths[:PICTURES], *found.values(), strict=False), 1
    ):
        panels = [
            panel for name, one in zip(found, pairs, strict=True) for panel in one.panels(name)
        ]
        comparison_figure(panels, out / "pictures" / f"{number:06d}.png", truth)
    page = out / "index.html"
    write_text(
        page, alignment_page(sentences, title or "Word alignments", ", ".join(runs.values()))
    )
    return page
