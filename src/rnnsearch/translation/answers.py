"""The answer file of `translate --out` and `align --out`, and its hidden journal. The file appears only when
it is complete.

If the command is interrupted, the same command continues from the journal, which is an outputs file
(translation/outputs_file.py). If the text has changed, the journal is used up to the first block that
differs. The text may have any length: only one block of it is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.files import checksum, prepare_output, written_whole
from rnnsearch.text.formats.opening import is_on_disk
from rnnsearch.translation.outputs_file import (
    FORMAT,
    Done,
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

NO_WEIGHTS = np.zeros((0, 3), dtype=np.float32)


def runs_key(runs: Sequence[str | Path], files: Sequence[Path]) -> str:
    """Returns a checksum of runs, and of files that are read with them, such as a dictionary.

    Raises InputError for a pipe among them: a later command could not tell whether its content is the same.
    """
    for file in files:
        if not is_on_disk(file):
            what = "a pipe cannot be read again to go on with --out"
            raise InputError(what, file=file, remedy="write it to a file first")
    return checksum(*(Run.open(run).checksum for run in runs), *files)


def answers_key(runs: Sequence[str | Path], how: str, form: str, files: Sequence[Path]) -> str:
    """Returns a checksum of everything that the answers depend on, except the text. how: the settings. form:
    the output format. Raises InputError as `runs_key` does."""
    return checksum(str(FORMAT), form, how, runs_key(runs, files))


@dataclass(frozen=True)
class AnswerFile:
    """The file at `path`, and its journal.

    key: checksum of everything that the answers depend on, except the text. work: the word for this work in
    messages. head, tail: text before and after all answers.
    """

    path: Path
    key: str
    work: str = "translated"
    head: str = ""
    tail: str = ""

    @property
    def journal(self) -> Path:
        """Returns the path of the journal, a hidden file beside this one."""
        return self.path.with_name(f".{self.path.name}.journal")

    def begin(self, overwrite: bool, say: Callable[[str], None]) -> None:
        """Discards a journal of another key. Raises InputError if the file exists and this command has no
        journal to continue."""
        before = read_header(self.journal)
        if self.path.exists() and not self.path.is_file():
            raise InputError("is not a regular file", file=self.path, remedy="name another file")
        if before.get("key") != self.key:
            prepare_output(self.path, overwrite)
            if before:
                say(f"{self.path}: was begun with another run or other settings; {self.work} anew")
                discard(self.journal)

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


class Line(NamedTuple):
    """A line or a pair to be answered. number: counted from 0. words: the source tokens, by which the journal
    recognises it."""

    number: int
    given: Any
    words: list[str]
    length: int


def translated_into(
    answers: AnswerFile,
    translator: Translator,
    lines: Iterable[str],
    search: SearchSettings,
    answer: Callable[[int, Translation], str],
    *,
    aligned: bool,
    done: Done,
) -> Iterator[Translation]:
    """Yields the translations in the order of the lines. After the last one, the file exists and the journal
    is removed.

    answer: makes a line's text in the file; its first argument is the line number. aligned: False leaves the
    alignments out of the journal. done: called after each batch.
    """

    def read() -> Iterator[Line]:
        for number, text in enumerate(lines):
            parts = translator.parts(text, number + 1, search)
            words = [word for part in parts for word in part.words]
            yield Line(number, text, [*words, END], sum(len(part.ids) for part in parts))

    def work(batch: Sequence[Line]) -> list[OutputLine]:
        made = []
        results = translator.translate([line.given for line in batch], **search.model_dump())
        for line, result in zip(batch, results, strict=True):
            # Weights would fill most of the journal, and only links need them.
            weights = result.alignment if aligned else np.zeros_like(result.alignment)
            kept = replace(result, alignment=weights)
            made.append(OutputLine(line.number, kept, answer=answer(line.number, result)))
        return made

    about = {"kind": "answers", "search": search.model_dump()}
    outputs = _answered(answers, about, read(), search.batch_size, work, done)
    return (output.translation for output in outputs)


def aligned_into(
    answers: AnswerFile,
    aligner: WordAligner,
    pairs: Iterable[tuple[str, str]],
    answer: Callable[[int, Aligned], str],
    done: Done,
) -> Iterator[OutputLine]:
    """Aligns the pairs into the file. Yields what the journal keeps of each, once it is on disk.

    answer: makes a pair's text in the file; its first argument is the pair number. done: called after each
    batch.
    """

    def work(batch: Sequence[Line]) -> list[OutputLine]:
        try:
            found = list(aligner.align(line.given for line in batch))
        except InputError:
            for line in batch:  # find the pair at fault: a batch is not in text order
                list(aligner.align([line.given], first=line.number + 1))
            raise
        made = []
        for line, one in zip(batch, found, strict=True):  # weights are left out
            kept = Translation("", [], line.words, 0.0, [], NO_WEIGHTS)
            made.append(OutputLine(line.number, kept, answer=answer(line.number, one)))
        return made

    lines = (
        Line(number, pair, [*pair, END], max(map(len, pair))) for number, pair in enumerate(pairs)
    )  # the two lines stand for words
    return _answered(answers, {"kind": "links"}, lines, aligner.batch_size, work, done)


def _answered(
    answers: AnswerFile,
    about: Header,
    lines: Iterable[Line],
    batch_size: int,
    work: Callable[[Sequence[Line]], list[OutputLine]],
    done: Done,
) -> Iterator[OutputLine]:
    """Completes the journal, then the file. about: header fields besides the key."""

    def fits(line: Line, output: OutputLine) -> bool:
        return line.words == output.translation.source_tokens

    header = {"key": answers.key, **about}
    length = attrgetter("length")
    return completed(answers.journal, header, lines, batch_size, length, work, fits, done, answers.finish)
