"""`translate --out`, `align --out`: a file of answers, whole or absent, with a hidden journal beside it.

If the command is ended, the same command continues from the journal, which is an outputs file
(translation/outputs_file.py). The text may have any length: only one block of it is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import checksum, free, written_whole
from rnnsearch.text.formats.opening import is_on_disk
from rnnsearch.translation.outputs import run_checksum
from rnnsearch.translation.outputs_file import (
    FORMAT,
    Header,
    OutputLine,
    completed,
    discard,
    read_header,
    read_outputs,
)
from rnnsearch.translation.sentence_search import END
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import Aligned, WordAligner

NO_WEIGHTS = np.zeros((0, 2), dtype=np.float32)


class SourceLine(NamedTuple):
    """number: counted from 0. words: the source tokens of its translation. ids: how many it has."""

    number: int
    text: str
    words: list[str]
    ids: int


def answers_key(runs: Sequence[Path], search: SearchSettings, form: str, files: Sequence[Path]) -> str:
    """Returns a checksum of everything that the answers depend on, except the text. form: that of the
    answers. files: lexical table and dictionary, if any.

    Raises InputError as `check_files` does.
    """
    check_files(files)
    return checksum(
        str(FORMAT), form, search.model_dump_json(), *(run_checksum(Run.open(run)) for run in runs), *files
    )


def check_files(files: Sequence[Path]) -> None:
    """Raises InputError for a pipe: a later command could not tell whether its content is the same."""
    for file in files:
        if not is_on_disk(file):
            raise InputError(
                "a pipe cannot be read again to go on with --out",
                file=file,
                remedy="write it to a file first",
            )


@dataclass(frozen=True)
class AnswerFile:
    """The file at `path`, and its journal.

    key: checksum of everything that the answers depend on, except the text. work: how messages call what
    was done with the text. head, tail: of the file, before and after all answers.
    """

    path: Path
    key: str
    work: str = "translated"
    head: str = ""
    tail: str = ""

    @property
    def journal(self) -> Path:
        return self.path.with_name(f".{self.path.name}.journal")

    def begin(self, overwrite: bool, say: Callable[[str], None]) -> None:
        """Discards a journal of another key. Raises InputError if the file exists and this command has no
        journal to continue."""
        before = read_header(self.journal)
        if self.path.exists() and not self.path.is_file():
            raise InputError("is not a regular file", file=self.path, remedy="name another file")
        if before.get("key") != self.key:
            free(self.path, overwrite)
            if before:
                say(f"{self.path}: was begun with another run or other settings; {self.work} anew")
                discard(self.journal)

    def header(self, about: Header) -> Header:
        """Returns the header of the journal. about: what it says beside the key."""
        return {"format": FORMAT, "key": self.key, **about, "rnnsearch": package_version()}

    def finish(self) -> None:
        """Writes the file from the complete journal, whose lock must still be held."""
        with (
            written_whole(self.path) as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.write(self.head)
            file.writelines(f"{output.answer}\n" for output in read_outputs(self.journal))
            file.write(self.tail)
        self.journal.unlink()

    def translated(
        self,
        translator: Translator,
        lines: Iterable[str],
        search: SearchSettings,
        answer: Callable[[int, Translation], str],
        *,
        aligned: bool,
        done: Callable[[int, int], None],
    ) -> Iterator[Translation]:
        """Yields the translations in the order of the lines; after the last one the file is there, and the
        journal is not.

        answer: what the file gets for a line of this number. aligned: False leaves the alignments out of the
        journal. done: told after each batch how many lines are translated, and how many words this call has
        written. A journal of other lines is used up to the first block that differs.
        """
        lines_done = words_written = 0

        def read() -> Iterator[SourceLine]:
            for number, text in enumerate(lines):
                parts = translator.parts(text, number + 1, search)
                yield SourceLine(
                    number,
                    text,
                    [*(word for part in parts for word in part.words), END],
                    sum(len(part.ids) for part in parts),
                )

        def work(batch: Sequence[SourceLine]) -> list[OutputLine]:
            nonlocal lines_done, words_written
            results = translator.translate([line.text for line in batch], **search.model_dump())
            lines_done += len(batch)
            words_written += sum(len(each.tokens) for each in results)
            done(lines_done, words_written)
            # Most of the journal would be weights, and without links nobody reads them.
            stored = (
                results
                if aligned
                else [replace(each, alignment=np.zeros_like(each.alignment)) for each in results]
            )
            made = zip(batch, results, stored, strict=True)
            return [
                OutputLine(line.number, each, answer=answer(line.number, result))
                for line, result, each in made
            ]

        def fits(line: SourceLine, output: OutputLine) -> bool:
            return line.words == output.translation.source_tokens

        header = self.header({"kind": "answers", "search": search.model_dump()})
        for output in completed(
            self.journal, header, read(), search.batch_size, attrgetter("ids"), work, fits, self.finish
        ):
            lines_done = max(lines_done, output.number + 1)
            yield output.translation


class NumberedPair(NamedTuple):
    """number: from 0."""

    number: int
    source: str
    target: str


def links_key(
    runs: Sequence[Path], reverse: Sequence[Path], aligner: WordAligner, form: str, files: Sequence[Path]
) -> str:
    """Returns a checksum of everything that the links depend on, except the text. form: that of the answers.
    files: others that they depend on.

    Raises InputError as `check_files` does.
    """
    check_files(files)
    options = (
        aligner.threshold,
        aligner.method,
        aligner.words,
        aligner.batch_size,
        aligner.posterior,
        aligner.exact,
        aligner.scored,
    )
    checksums = [[run_checksum(Run.open(run)) for run in some] for some in (runs, reverse)]
    return checksum(str(FORMAT), "links", form, repr(options), repr(checksums), *files)


def aligned_into(
    answers: AnswerFile,
    aligner: WordAligner,
    pairs: Iterable[tuple[str, str]],
    answer: Callable[[int, Aligned], str],
    done: Callable[[int], None],
) -> Iterator[int]:
    """Aligns the pairs into the file. Yields the number of each, from 0, once it is on disk.

    answer: what the file gets for a pair of this number.
    done: told after each batch how many are aligned.

    The journal keeps a pair's two lines and its answer. A journal of other lines is used up to the first
    block that differs.
    """
    count = 0

    def work(batch: Sequence[NumberedPair]) -> list[OutputLine]:
        nonlocal count
        try:
            found = list(aligner.align((pair.source, pair.target) for pair in batch))
        except InputError:
            for pair in batch:  # a batch is not in the order of the text: which pair was it?
                list(aligner.align([(pair.source, pair.target)], first=pair.number + 1))
            raise
        count += len(batch)
        done(count)
        return [
            OutputLine(pair.number, _pair_lines(pair), answer=answer(pair.number, one))
            for pair, one in zip(batch, found, strict=True)
        ]

    def fits(pair: NumberedPair, output: OutputLine) -> bool:
        kept = output.translation
        return (kept.source_tokens, kept.text) == ([pair.source, END], pair.target)

    def length(pair: NumberedPair) -> int:
        return max(len(pair.source), len(pair.target))

    numbered = (NumberedPair(number, *pair) for number, pair in enumerate(pairs))
    header = answers.header({"kind": "links"})
    for output in completed(
        answers.journal, header, numbered, aligner.batch_size, length, work, fits, answers.finish
    ):
        count = max(count, output.number + 1)
        yield output.number


def _pair_lines(pair: NumberedPair) -> Translation:
    """Returns a pair as the journal keeps it: whole lines instead of words, and no weights."""
    return Translation(pair.target, [], [pair.source, END], 0.0, [], NO_WEIGHTS)
