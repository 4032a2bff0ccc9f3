"""The work on the lines of a shard: translating, scoring or aligning, as on one machine. Tasks are sent to
workers; models are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.files import checksum
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.text.formats.records import Layout
from rnnsearch.text.nbest import is_nbest
from rnnsearch.translation.answers import runs_key
from rnnsearch.translation.faithful import read_dictionary
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import WordAligner

Work = Callable[[int, Sequence[Any]], Iterable[str]]
"""(index of the first line in the shard, consecutive lines or pairs) → an answer for each."""


@dataclass(frozen=True)
class Models:
    """The models of a task, loaded in each worker. runs: several form an ensemble. threads: of a worker."""

    runs: tuple[Path, ...]
    device: str = "cpu"
    threads: int = 1
    trust_code: bool = False
    dictionary: Path | None = None

    def load(self) -> Translator:
        """Loads the models into this process, and sets its number of threads."""
        set_up_cpu(self.threads)
        return Translator.load(
            *self.runs,
            device=self.device,
            trust_code=self.trust_code,
            dictionary=read_dictionary(self.dictionary) if self.dictionary else None,
        )

    def key(self) -> str:
        """Returns a checksum of the runs and of the files that are read with them."""
        return runs_key(self.runs, [self.dictionary] if self.dictionary else [])


@dataclass(frozen=True)
class Task:
    """Work on lines or pairs.

    command: the rnnsearch command. doing: the verb in messages. batch_size: lines worked on together. answer:
    turns a result into an answer. form: of the answers: text (one or more lines) or json (one object).
    """

    command: ClassVar[str]
    doing: ClassVar[str]
    models: Models
    batch_size: int
    answer: Callable[..., str]
    form: str
    layout: Layout

    def key(self) -> str:
        """Returns a checksum of all that determines the answers, except the text. Raises InputError for runs
        that cannot be opened."""
        settings = repr((self.doing, self.form, self.batch_size, self.layout, self._options()))
        return checksum(settings, self.models.key())

    def _options(self) -> object:
        """Returns what else determines the answers, as an object whose repr shows it."""
        return None

    def load(self) -> Work:
        """Loads the models, and returns the function that does the work. Raises InputError as `key` does."""
        raise NotImplementedError


@dataclass(frozen=True)
class Translating(Task):
    """The task of translating lines. search: settings that differ from the run's. answer: takes the index of
    a line in its shard and its translation."""

    command, doing = "translate", "translating"
    search: dict[str, Any] = field(default_factory=dict)

    def _options(self) -> object:
        return changed(Run.open(self.models.runs[0]).settings.search, self.search).model_dump()

    def load(self) -> Work:
        translator = self.models.load()

        def work(first: int, lines: Sequence[str]) -> Iterable[str]:
            try:
                results = translator.translate(lines, **self.search)
            except InputError as error:  # its line number counts from `first`, not from the shard's beginning
                numbered = re.sub(
                    r"\bline (\d+)\b", lambda n: f"line {int(n[1]) + first}", str(error), count=1
                )
                raise InputError(numbered) from None
            return map(self.answer, range(first, first + len(results)), results)

        return work


class Scoring(Task):
    """The task of scoring pairs."""

    command, doing = "score", "scoring"

    def load(self) -> Work:
        translator = self.models.load()

        def work(first: int, pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
            if not first and pairs and is_nbest(pairs[0][1]):
                what = "line 1 belongs to an n-best list, which --ray does not support"
                raise InputError(what, remedy="rerank it without --ray")
            return map(self.answer, translator.force(pairs, self.batch_size, first=first + 1))

        return work


@dataclass(frozen=True)
class Aligning(Task):
    """The task of aligning pairs. options: of WordAligner. reverse: runs from target to source, if any."""

    command, doing = "align", "aligning"
    reverse: Models | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def _options(self) -> object:
        return sorted(self.options.items()), self.reverse and self.reverse.key()

    def load(self) -> Work:
        reverse = self.reverse.load() if self.reverse else None
        aligner = WordAligner(self.models.load(), reverse, batch_size=self.batch_size, **self.options)
        return lambda first, pairs: map(self.answer, aligner.align(pairs, first + 1))
