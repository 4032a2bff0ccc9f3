"""The development pairs: few enough for memory; all of them are kept, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.text.codec import Codec, Side
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.preparing.encoding import id_dtype
from rnnsearch.text.preparing.preparation_report import SideReport, TextReport
from rnnsearch.text.store.store import write_rows
from rnnsearch.text.vocabulary import UNK


@dataclass(frozen=True, slots=True)
class Development:
    """lines: of each side, of all texts."""

    lines: dict[Side, list[str]]
    texts: list[TextReport]


def read_dev(texts: Sequence[ParallelText]) -> Development:
    """Raises InputError as the texts do, and if they are empty."""
    pairs, reports = [], []
    for text in texts:
        here = list(text.pairs())
        if not here:
            raise InputError(f"{text.name}: the development files are empty", remedy="give files with one sentence per line, or no --dev")
        reports.append(TextReport(text.name, len(here), len(here), text.source_warnings, text.target_warnings))
        pairs += here
    return Development({"source": [left for left, _ in pairs], "target": [right for _, right in pairs]}, reports)


def encode_dev(dev: Development, folder: Path, codecs: dict[Side, Codec]) -> dict[Side, SideReport]:
    """Writes ids and text of every side."""
    reports: dict[Side, SideReport] = {}
    for side, codec in codecs.items():
        sentences = [codec.tokeniser.words(line) for line in dev.lines[side]]
        ids = [codec.encode_words(words).ids for words in sentences]
        unknown = [row.count(UNK) for row in ids]
        reports[side] = SideReport(
            sentences=len(sentences),
            words=sum(map(len, sentences)),
            distinct_words=len(set(chain.from_iterable(sentences))),
            longest=max(map(len, sentences)),
            tokens=sum(map(len, ids)) - len(ids),
            known_tokens=sum(map(len, ids)) - len(ids) - sum(unknown),
            known_sentences=unknown.count(0),
        )
        values = np.fromiter(chain.from_iterable(ids), dtype=np.int64)
        write_rows(folder, f"dev.{side}", np.array(list(map(len, ids))), [values], id_dtype(codec))
        (folder / f"dev.{side}.txt").write_bytes("".join(f"{line}\n" for line in dev.lines[side]).encode("utf-8"))
    return reports
