"""The part of its files that a study uses, written out as plain text: what other tools are trained on to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.studies.study import Plan
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts

Row = tuple[str, ...]
"""Source, target, and links if the corpus has any"""

_REPORTED = 1000


def write_subset(plan: Plan, folder: Path, progress: Progress) -> None:
    """Writes the first `corpus.pairs` pairs of at most `corpus.max_words` words per side, and the first `corpus.dev_pairs` of dev.

    train.<language>, dev.<language> and train.links, as they stand in the files. Raises InputError if there are not so many pairs.
    """
    corpus, data = plan.study.corpus, plan.data
    layout = Layout(source_language=data.source_language, target_language=data.target_language)
    texts = parallel_texts([str(plan.path(name)) for name in corpus.train], layout=layout)
    links = [str(plan.path(name)) for name in corpus.links]
    if links and len(links) != len(texts):
        raise InputError(f"{len(links)} files of links for {len(texts)} corpora", remedy="give one for each corpus, in the same order")
    sides = [data.source_language, data.target_language]
    names = [f"train.{kind}" for kind in (*sides, *(["links"] if links else []))]
    wanted = islice(_short_enough(_rows(texts, links), plan), corpus.pairs)
    written = _write(folder, names, wanted, lambda done: progress("writing the subset", done, corpus.pairs))
    if corpus.pairs and written < corpus.pairs:
        what = f"corpus.pairs = {corpus.pairs:,}, and only {written:,} pairs of the files fit"
        raise InputError(what, file=plan.name, remedy="ask for fewer, or for all by leaving `pairs` out")
    if corpus.dev:
        dev = parallel_texts([str(plan.path(name)) for name in corpus.dev], layout=layout)
        pairs = chain.from_iterable(text.pairs() for text in dev)
        _write(folder, [f"dev.{side}" for side in sides], islice(pairs, corpus.dev_pairs), lambda done: None)


def _rows(texts: list[ParallelText], links: list[str]) -> Iterator[Row]:
    """All pairs. Raises InputError for a file of links with fewer or more lines than its text."""
    for number, text in enumerate(texts):
        if not links:
            yield from text.pairs()
            continue
        lines = read_lines(links[number])
        for place, pair in enumerate(text.pairs(), 1):
            line = next(lines, None)
            if line is None:
                raise InputError(f"ends before pair {place:,} of {text.name}", file=links[number], remedy="give one line for each pair")
            yield (*pair, line)
        if next(lines, None) is not None:
            raise InputError(f"has more lines than {text.name} has pairs", file=links[number], remedy="give one line for each pair")


def _short_enough(rows: Iterator[Row], plan: Plan) -> Iterator[Row]:
    """Those whose sides have 1 to `corpus.max_words` words."""
    limit = plan.study.corpus.max_words
    if limit is None:
        yield from rows
        return
    source, target = side_tokeniser("source", plan.data), side_tokeniser("target", plan.data)
    for row in rows:
        if 1 <= len(source.words(row[0])) <= limit and 1 <= len(target.words(row[1])) <= limit:
            yield row


def _write(folder: Path, names: list[str], rows: Iterator[Row], report: Callable[[int], None]) -> int:
    """A file for each column; the number of rows."""
    written = 0
    with ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n")) for name in names]
        for row in rows:
            for file, text in zip(files, row, strict=True):
                file.write(f"{text}\n")
            written += 1
            if written % _REPORTED == 0:
                report(written)
    return written
