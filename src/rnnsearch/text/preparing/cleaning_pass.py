"""The first pass of `prepare`: cleans the texts, and says which pairs stay. Its blocks of words go into a working folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES
from rnnsearch.text.formats.lines import InputWarnings, RawInputWarnings
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links.words import LinkWords
from rnnsearch.text.preparing.cleaning import CleanedChunk, Cleaner, chunks
from rnnsearch.text.preparing.dropped import CleanedCorpus
from rnnsearch.text.preparing.duplicates import Duplicates
from rnnsearch.text.preparing.filters import active_filters, governing_setting, reason
from rnnsearch.text.preparing.preparation_report import Dropped, TextReport

_FIRST_CHUNKS = 3  # a text with fewer is cleaned before worker processes would have started


def clean(
    texts: Sequence[ParallelText],
    links: Sequence[str | Path],
    links_are: tuple[bool, LinkWords | Literal["auto"]],
    settings: DataSettings,
    work: Path,
    workers: int,
    progress: Progress,
) -> CleanedCorpus:
    """Writes the blocks of the pairs that stay and says what became of the others. links_are: (written target-source, what they count)."""
    filters = active_filters(settings)
    dropped = [Dropped(reason(drops), governing_setting(drops)) for drops in filters]
    reports = [TextReport(text.name) for text in texts]
    if settings.drop_control_characters:  # the filter has to see them
        for text in texts:
            text.source_warnings, text.target_warnings = RawInputWarnings(), RawInputWarnings()
    with ExitStack() as stack:
        names = [*SIDES, "outcomes", *(["links"] if links else [])]
        files = {name: stack.enter_context((work / name).open("wb")) for name in names}
        duplicates = stack.enter_context(Duplicates(work)) if settings.drop_duplicates else None
        done = 0
        for place, count, cleaned in _cleaned(texts, links, Cleaner(settings, *links_are), workers):
            for name, packed in cleaned.packed.items():
                files[name].write(packed)
            if duplicates is not None:
                duplicates.add(cleaned.digests)
            _tally(cleaned, reports[place], dropped)
            reports[place].link_words = count if links else ""
            done += cleaned.pairs
            progress("tokenising", done, None)
        repeated = None if duplicates is None else duplicates.repetitions()
    for text_report, text in zip(reports, texts, strict=True):
        text_report.source_warnings, text_report.target_warnings = _copied(text.source_warnings), _copied(text.target_warnings)
    if repeated is not None:
        dropped.append(Dropped("duplicate", "data.drop_duplicates", int(repeated.sum())))
    kept = sum(report.pairs_kept for report in reports) - (0 if repeated is None else int(repeated.sum()))
    _check_not_empty(reports, kept, dropped)
    return CleanedCorpus(kept, reports, dropped, repeated)


def _cleaned(
    texts: Sequence[ParallelText], links: Sequence[str | Path], cleaner: Cleaner, workers: int
) -> Iterator[tuple[int, LinkWords, CleanedChunk]]:
    given = cleaner.recognised(chunks(texts, links))
    beginning = list(itertools.islice(given, _FIRST_CHUNKS))
    for chunk, cleaned in ordered_map(cleaner, itertools.chain(beginning, given), workers if len(beginning) == _FIRST_CHUNKS else 1):
        yield chunk.text, chunk.link_words, cleaned


def _tally(cleaned: CleanedChunk, report: TextReport, dropped: list[Dropped]) -> None:
    report.pairs_read += cleaned.pairs
    report.pairs_kept += cleaned.kept
    for tally, pairs in zip(dropped, cleaned.dropped, strict=True):
        tally.pairs += pairs
    for pair in cleaned.examples:
        dropped[pair.reason].show(report.name, pair.number, pair.source, pair.target)


def _copied(warnings: InputWarnings) -> InputWarnings:
    return replace(warnings, lines=dict(warnings.lines), first=dict(warnings.first))


def _check_not_empty(reports: list[TextReport], kept: int, dropped: list[Dropped]) -> None:
    names = ", ".join(report.name for report in reports)
    if not any(report.pairs_read for report in reports):
        raise InputError(f"{names}: the texts are empty", remedy="give files with one sentence per line")
    if not kept:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in dropped if tally.pairs)
        raise InputError(f"all pairs of {names} were dropped ({reasons})", remedy="check the files and the [data] settings")
