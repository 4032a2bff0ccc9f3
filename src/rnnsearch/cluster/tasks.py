"""The work on the lines of a shard: translating, scoring or aligning, as on one machine. A task travels; its
models do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.files import checksum
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.text.formats.records import Layout
from rnnsearch.text.lexicon import read_dictionary
from rnnsearch.text.nbest import is_nbest
from rnnsearch.translation.answers import answers_key
from rnnsearch.translation.outputs import run_checksum
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import Aligned, WordAligner

Form = Literal["text", "json"]
"""Of an answer: text for people, of one line or several, or an object of JSON."""
Work = Callable[[int, Sequence[Any]], list[str]]
"""(number of the first line, from 0; lines or pairs that follow one another in a shard) → an answer for
each."""


@dataclass(frozen=True)
class Models:
    """Runs, an ensemble if there are several, as they are loaded in each worker. threads: of a worker."""

    runs: tuple[Path, ...]
    device: str = "cpu"
    threads: int = 1
    trust_code: bool = False
    dictionary: Path | None = None
    lexical_shortlist: Path | None = None

    def load(self) -> Translator:
        set_up_cpu(self.threads)
        entries = read_dictionary(self.dictionary) if self.dictionary else None
        return Translator.load(
            *self.runs,
            device=self.device,
            trust_code=self.trust_code,
            dictionary=entries,
            lexical_shortlist=self.lexical_shortlist,
        )

    def key(self) -> str:
        return checksum(*(run_checksum(Run.open(run)) for run in self.runs))


@dataclass(frozen=True)
class Translating:
    """The task of translating lines. search: settings that differ from the run's. answer: the line for a
    translation, given its number in the shard, from 0."""

    models: Models
    search: dict[str, Any]
    answer: Callable[[int, Translation], str]
    form: Form
    layout: Layout
    doing: str = "translating"

    @property
    def batch_size(self) -> int:
        return changed(Run.open(self.models.runs[0]).settings.search, self.search).batch_size

    def key(self) -> str:
        search = changed(Run.open(self.models.runs[0]).settings.search, self.search)
        files = [path for path in (self.models.lexical_shortlist, self.models.dictionary) if path]
        return checksum(answers_key(self.models.runs, search, self.form, files), repr(self.layout))

    def load(self) -> Work:
        translator = self.models.load()

        def work(first: int, lines: Sequence[str]) -> list[str]:
            try:
                results = translator.translate(lines, **self.search)
            except InputError as error:
                raise InputError(_numbered(str(error), first)) from None
            return [self.answer(number, result) for number, result in enumerate(results, first)]

        return work


@dataclass(frozen=True)
class Scoring:
    """The task of scoring pairs. answer: the line for a pair."""

    models: Models
    batch_size: int
    answer: Callable[[Translation], str]
    form: Form
    layout: Layout
    doing: str = "scoring"

    def key(self) -> str:
        return checksum(self.doing, self.form, str(self.batch_size), repr(self.layout), self.models.key())

    def load(self) -> Work:
        translator = self.models.load()

        def work(first: int, pairs: Sequence[tuple[str, str]]) -> list[str]:
            if not first and pairs and is_nbest(pairs[0][1]):
                raise InputError(
                    "line 1 belongs to an n-best list, which --ray does not support",
                    remedy="rerank it without --ray",
                )
            return [
                self.answer(result) for result in translator.force(pairs, self.batch_size, first=first + 1)
            ]

        return work


@dataclass(frozen=True)
class Aligning:
    """The task of aligning pairs. options: of WordAligner. reverse: runs from target to source, if any.
    answer: the line for a pair."""

    models: Models
    reverse: Models | None
    options: dict[str, Any]
    batch_size: int
    answer: Callable[[Aligned], str]
    form: Form
    layout: Layout
    doing: str = "aligning"

    def key(self) -> str:
        options = repr(sorted(self.options.items()))
        models = self.models.key(), self.reverse.key() if self.reverse else ""
        return checksum(self.doing, self.form, str(self.batch_size), repr(self.layout), options, *models)

    def load(self) -> Work:
        reverse = self.reverse.load() if self.reverse else None
        aligner = WordAligner(self.models.load(), reverse, batch_size=self.batch_size, **self.options)
        return lambda first, pairs: [self.answer(aligned) for aligned in aligner.align(pairs, first + 1)]


Task = Translating | Scoring | Aligning
"""`key` is a checksum of all that the answers follow from, but for the text; `load` returns the Work. Both
raise InputError for runs that cannot be opened. doing: the word for it in messages. batch_size: lines worked
on together."""


def _numbered(message: str, before: int) -> str:
    """Changes the line in the message of a translator, which counts the lines that it was given, to that of
    the shard."""
    return re.sub(r"\bline (\d+)\b", lambda match: f"line {int(match[1]) + before}", message, count=1)
