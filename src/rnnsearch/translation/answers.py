"""`translate --out`, `align --out`: a file of answers, whole or absent, with a hidden journal beside it.

The same command goes on with the journal. It is an outputs file (translation/outputs_file.py). The text may have
any length: no more than a block of it is in memory.
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
from rnnsearch.system.checksums import checksum
from rnnsearch.system.files import free, written_whole
from rnnsearch.system.version import package_version
from rnnsearch.text.formats.opening import is_on_disk
from rnnsearch.translation.long_lines import cut
from rnnsearch.translation.outputs import run_checksum
from rnnsearch.translation.outputs_file import FORMAT, Header, OutputLine, completed, discard, read_header, read_outputs
from rnnsearch.translation.translator import END, Translator


class SourceLine(NamedTuple):
    """number: from 0. words: those that will be its translation's source tokens. ids: how many it has."""

    number: int
    text: str
    words: list[str]
    ids: int


def answers_key(runs: Sequence[Path], search: SearchSettings, form: str, files: Sequence[Path]) -> str:
    """A checksum of all that answers follow from, but for the text. form: of the answers. files: lexical table and dictionary, if any.

    Raises InputError as `check_files` does.
    """
    check_files(files)
    return checksum(str(FORMAT), form, search.model_dump_json(), *(run_checksum(Run.open(run)) for run in runs), *files)


def check_files(files: Sequence[Path]) -> None:
    """Raises InputError for what is no file on disk: it has been read, and later nothing could tell whether it is the same."""
    for file in files:
        if not is_on_disk(file):
            raise InputError("a pipe cannot be read again to go on with --out", file=file, remedy="write it to a file first")


@dataclass(frozen=True)
class AnswerFile:
    """The file at `path`, and its journal. key: of all that the answers follow from, but for the text. work: what makes them, done."""

    path: Path
    key: str
    work: str = "translated"

    @property
    def journal(self) -> Path:
        return self.path.with_name(f".{self.path.name}.journal")

    def begin(self, overwrite: bool, say: Callable[[str], None]) -> None:
        """Looks at what is there. Raises InputError for a file that is there without a journal that this command goes on with."""
        before = read_header(self.journal)
        if self.path.exists() and not self.path.is_file():
            raise InputError("is not a regular file", file=self.path, remedy="name another file")
        if before.get("key") != self.key:
            free(self.path, overwrite)
            if before:
                say(f"{self.path}: was begun with another run or other settings; {self.work} anew")
                discard(self.journal)

    def header(self, about: Header) -> Header:
        """The journal's. about: what it says beside the key."""
        return {"format": FORMAT, "key": self.key, **about, "rnnsearch": package_version()}

    def finish(self) -> None:
        """Of a journal with all answers, which this command still has for itself, makes the file."""
        with written_whole(self.path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{output.answer}\n" for output in read_outputs(self.journal))
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
        """The translations in the order of the lines; after the last one the file is there, and the journal is not.

        answer: what the file gets for a line of this number. aligned: False if nobody asks for the alignments of the translations.
        done: told after each batch how many lines are translated, and how many words this call has written. Of a journal of other lines
        what stands before the first block that differs is used.
        """
        lines_done = words_written = 0

        def read() -> Iterator[SourceLine]:
            for number, text in enumerate(lines):
                sentence = translator.source.encode(text)
                parts = cut(sentence, translator.source, search.max_source_length, number + 1)
                yield SourceLine(number, text, [*(word for part in parts for word in part.words), END], len(sentence.ids))

        def work(batch: Sequence[SourceLine]) -> list[OutputLine]:
            nonlocal lines_done, words_written
            results = translator.translate([line.text for line in batch], **search.model_dump())
            lines_done += len(batch)
            words_written += sum(len(each.tokens) for each in results)
            done(lines_done, words_written)
            # Of a journal without links most would be weights that nobody reads.
            stored = results if aligned else [replace(each, alignment=np.zeros_like(each.alignment)) for each in results]
            made = zip(batch, results, stored, strict=True)
            return [OutputLine(line.number, each, answer=answer(line.number, result)) for line, result, each in made]

        def fits(line: SourceLine, output: OutputLine) -> bool:
            return line.words == output.translation.source_tokens

        header = self.header({"kind": "answers", "search": search.model_dump()})
        for output in completed(self.journal, header, read(), search.batch_size, attrgetter("ids"), work, fits, self.finish):
            lines_done = max(lines_done, output.number + 1)
            yield output.translation
