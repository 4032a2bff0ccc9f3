"""The service without HTTP: its models, and translations and alignments within the limits."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import HTTPException

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.installed import model_names
from rnnsearch.pretrained.card import examples_of
from rnnsearch.records import Choice, Translation
from rnnsearch.run import Run
from rnnsearch.serve.paragraphs import Paragraphs, Translated, by_line, split_paragraphs
from rnnsearch.serve.work_queue import (
    USUAL_WORDS,
    WORDS,
    QueuedTask,
    WorkQueue,
    check_limit,
)
from rnnsearch.text.language_codes import base
from rnnsearch.training.loss import needs_links
from rnnsearch.translation.beginning import retyped
from rnnsearch.translation.faithful import Glossary
from rnnsearch.translation.source_lines import joined
from rnnsearch.translation.translator import Translator

LONGEST_PART = 128
"""Largest number of subwords in a part of a sentence. A batch takes as many steps as its longest
part, and goes on while any client waits for it."""
POSTERIOR = 4
"""Times that the posterior of a pair takes longer than its attention weights."""


class ModelPlace(NamedTuple):
    """A model as named on the command line. name: the part before `=`, or empty."""

    name: str
    run: str

    @classmethod
    def parse(cls, word: str) -> ModelPlace:
        """Reads `RUN`, `NAME=RUN` or `SRC-TGT=RUN`. Raises InputError for an invalid name."""
        name, equals, run = word.partition("=")
        if not equals or Path(word).exists():  # a folder's own name may contain `=`
            return cls("", word)
        if not run or not re.fullmatch(r"[\w.-]{1,80}", name):
            remedy = (
                "write RUN, NAME=RUN or SRC-TGT=RUN; names have letters, digits, points and hyphens"
            )
            raise InputError(f"{word!r} names no model", remedy)
        return cls(name, run)

    def copied(self, folder: Path) -> ModelPlace:
        """Copies the model into a folder; returns its place there."""
        run = Run.open(self.run).path.resolve()
        copy = shutil.copytree(run, folder / run.name, ignore=shutil.ignore_patterns("checkpoints"))
        return self._replace(run=str(copy))


@dataclass(frozen=True)
class Options:
    """The settings of the service; picklable.

    places: of the models. search: search settings that replace those of the runs. threads: CPU
    threads of each process; 0: all cores, divided by `workers`. keys: digests of valid API keys;
    without any, everybody may use the service. origins: other sites whose pages may use it (CORS).
    hosts: accepted names in the Host header; empty for any.

    Limits of a request: characters and sentences in all; words of one sentence, or of one side of a
    pair; beam; deadline, in seconds, after which it is given up. queue: sentences that may wait;
    one client may have half of them.
    """

    places: Sequence[ModelPlace] = ()
    device: str = "cpu"
    search: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 0
    workers: int = 1
    keys: Collection[str] = ()
    origins: Sequence[str] = ()
    hosts: Collection[str] = ()
    characters: int = 20_000
    sentences: int = 500
    words: int = 1_000
    beam: int = 50
    deadline: float = 60.0
    queue: int = 4_000

    @property
    def body(self) -> int:
        """Bytes of a request's body. A character takes at most 12, escaped in JSON or a form; pairs
        have two texts."""
        return 64 * 1024 + 2 * 12 * self.characters

    @property
    def numbers(self) -> int:
        """Numbers in the alignment matrices of an answer: as many as the longest sentence has."""
        return max(1_000_000, self.words**2)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model of the service.

    name: unique in the service. source, target: language codes; empty if unknown. examples:
    sentences that the page offers. taught_links: whether it was trained with word links.
    """

    name: str
    source: str
    target: str
    translator: Translator
    examples: list[str]
    taught_links: bool

    @property
    def described(self) -> str:
        """Name and languages, for messages."""
        return f"{self.name} ({self.source or '?'} to {self.target or '?'})"


def load_models(options: Options) -> list[ServedModel]:
    """Loads the models, and translates and aligns a word with each, so that weights are converted
    and libraries loaded before the first request. A user's own code is never executed. Raises
    InputError for a run that cannot be served."""
    given = [place.name for place in options.places]
    runs = [Run.open(place.run) for place in options.places]
    pairs = [(run.settings.data.source_language, run.settings.data.target_language) for run in runs]
    for number, name in enumerate(given):
        if named := re.fullmatch("([a-z]{2,3})-([a-z]{2,3})", name):
            pairs[number] = named[1], named[2]
    names = model_names(given, pairs, [run.path for run in runs])
    models = []
    for name, (source, target), run in zip(names, pairs, runs, strict=True):
        translator = Translator.load(run.path, device=options.device, trust_code=False)
        settings = changed(translator.settings, options.search)
        most = min(settings.translation.max_source_length, LONGEST_PART)
        translator.settings = changed(settings, {"translation.max_source_length": most})
        split_paragraphs("a.", source)
        translator.translate(["a"])
        pair = translator.source.encode("a"), translator.target.encode("a")
        for posterior in (False, True):
            translator.scorer(posterior, exact=not posterior, scored=False).force_encoded([pair])
        taught = needs_links(run.settings.known_alignments)
        models.append(ServedModel(name, source, target, translator, examples_of(run.path), taught))
    return models


class Group(NamedTuple):
    """The settings that tasks must share to be worked on together. beam: 0 if the translations are
    given.
    choices: number of next words wanted, instead of translations."""

    model: ServedModel
    beam: int = 0
    nbest: int = 1
    posterior: bool = False
    choices: int = 0


class Service:
    """The models, in the order of the command line, behind a queue. Run `queue` in the event
    loop."""

    def __init__(self, models: Sequence[ServedModel], options: Options) -> None:
        self.models, self.options = models, options
        self.queue = WorkQueue(
            self._work, models[0].translator.settings.search.batch_size, options.queue
        )

    def choose(self, name: str | None, source: str | None, target: str | None) -> ServedModel:
        """Returns the model for a request: that of the name, or the first one with those languages,
        without their regions if no model has these. None stands for any value. Raises HTTPException
        if no model fits, or models of several pairs do."""
        fitting: list[ServedModel] = []
        for part in (str, base):  # of a language's code
            fitting = fitting or [
                model
                for model in self.models
                if name in (None, model.name)
                and (source is None or part(source) == part(model.source))
                and (target is None or part(target) == part(model.target))
            ]
        listed = ", ".join(model.described for model in fitting or self.models)
        if not fitting:
            named = f" {name[:40]!r}" if name else ""
            of, to = ((code or "any")[:40] for code in (source, target))
            what = f"there is no model{named} from {of!r} to {to!r}; there are {listed}"
            raise HTTPException(404, what)
        if len({(model.source, model.target) for model in fitting}) > 1:
            raise HTTPException(400, f"several models fit: name one of {listed}")
        return fitting[0]

    async def translate(
        self,
        model: ServedModel,
        texts: Sequence[str],
        beam: int | None = None,
        nbest: int = 1,
        glossary: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> list[Translated]:
        """Returns the sentences of each text with their translations. glossary: terms and their
        translations.
        prefix: the beginning of each text's translation; without any, none is kept. Raises
        HTTPException."""
        terms, most = glossary or {}, self.options.beam
        characters = sum(map(len, [*texts, *prefix, *terms, *terms.values()]))
        check_limit("the request", characters, "characters", self.options.characters)
        check_limit("the request", len(texts), "texts", self.options.sentences)
        if nbest > (beam or most) or (beam or 1) > most:
            raise HTTPException(422, f"beam may be {most} at most, and nbest at most the beam")
        group = Group(model, beam or max(model.translator.settings.search.beam, nbest), nbest)
        paragraphs: list[Paragraphs] = []

        def tasks() -> list[QueuedTask]:
            paragraphs.extend(split_paragraphs(text, model.source) for text in texts)
            count = sum(len(paragraph.sentences) for paragraph in paragraphs)
            check_limit("the request", count, "sentences", self.options.sentences)
            bound = (
                Glossary(model.translator.source, model.translator.target, terms) if terms else None
            )
            target = model.translator.target.tokeniser.language
            made = []
            for text, (paragraph, begun) in enumerate(
                zip(paragraphs, prefix or repeat(""), strict=False), 1
            ):
                typed = by_line(paragraph, begun, target)
                for number, pair in enumerate(zip(paragraph.sentences, typed, strict=True), 1):
                    made.append(
                        self._task(group, f"sentence {number} of text {text}", *pair, bound)
                    )
            return made

        results = iter(await self._results(tasks))
        return [
            (paragraph, [next(results) for _ in paragraph.sentences]) for paragraph in paragraphs
        ]

    async def choices(self, model: ServedModel, text: str, prefix: str, count: int) -> list[Choice]:
        """Returns the likeliest next words of the text's translation after a beginning. Raises
        HTTPException."""
        check_limit("the request", len(text) + len(prefix), "characters", self.options.characters)
        if count > self.options.beam:
            raise HTTPException(422, f"count may be {self.options.beam} at most")

        def tasks() -> list[QueuedTask]:
            task = self._task(Group(model, choices=count), "the text", text, f"{prefix} ")
            return [QueuedTask(task.group, (text, prefix), task.size)]

        found: list[Choice] = (await self._results(tasks))[0]
        return found

    async def align(
        self, model: ServedModel, pairs: Sequence[tuple[str, str]], posterior: bool
    ) -> list[Translation]:
        """Aligns the pairs. Raises HTTPException."""
        check_limit("the request", len(pairs), "pairs", self.options.sentences)
        characters = sum(len(line) for pair in pairs for line in pair)
        check_limit("the request", characters, "characters", 2 * self.options.characters)
        group = Group(model, posterior=posterior)
        return await self._results(
            lambda: [self._pair(group, *pair) for pair in enumerate(pairs, 1)]
        )

    def _pair(self, group: Group, number: int, pair: tuple[str, str]) -> QueuedTask:
        """Encodes a pair. Raises HTTPException if a line is too long."""
        codecs = group.model.translator.source, group.model.translator.target
        encoded = [codec.encode(line) for codec, line in zip(codecs, pair, strict=True)]
        source, target = (len(side.ids) for side in encoded)
        longest = max(source, target)
        check_limit(f"a line of pair {number}", longest, "words or subwords", self.options.words)
        size = max(target, source * target // USUAL_WORDS) * (POSTERIOR if group.posterior else 1)
        return QueuedTask(group, encoded, size, source * target)

    def _task(
        self, group: Group, where: str, sentence: str, typed: str, terms: Glossary | None = None
    ) -> QueuedTask:
        """Encodes a sentence in parts. Raises HTTPException if it, or its beginning, is too
        long."""
        translator = group.model.translator
        try:
            parts = translator.parts(sentence, glossary=terms, typed=typed)
        except InputError as error:
            raise HTTPException(413, f"{where}: {error}") from None
        subwords = sum(len(part.ids) for part in parts)
        words = sum(len(part.words) for part in parts)
        remedy = "divide it by full stops or line breaks"
        check_limit(where, max(words, subwords), "words or subwords", self.options.words, remedy)
        numbers = group.nbest * words**2  # a translation has about as many words
        usual = translator.settings.search.beam
        size = subwords * max(group.beam, 2 * group.choices, usual) // usual  # as `next_words`
        return QueuedTask(group, (parts, typed), size, numbers)

    async def _results(self, make: Callable[[], list[QueuedTask]]) -> list[Any]:
        """Makes tasks in another thread and returns their results. Whatever happens, no work is
        left. Raises HTTPException if the answer is expected to be too large."""
        tasks = await asyncio.to_thread(make)
        numbers = sum(task.numbers for task in tasks)
        remedy = "send less text, or ask for fewer translations"
        check_limit("the answer", numbers, "alignment weights", self.options.numbers, remedy)
        futures = self.queue.submit(tasks)
        try:
            return list(await asyncio.gather(*futures))
        finally:
            for future in futures:
                future.cancel()

    def _work(self, group: Group, tasks: Sequence[QueuedTask]) -> Sequence[Any]:
        """Works on a batch, in the models' thread. Raises AbandonedError once no client waits for
        it."""
        translator, items = group.model.translator, [task.item for task in tasks]
        each_step = partial(self.queue.let_overtake, tasks)
        if group.choices:
            found = []
            for text, prefix in items:
                each_step()
                found.append(translator.choices(text, prefix, group.choices))
            return found
        if not group.beam:
            scorer = translator.scorer(group.posterior, exact=not group.posterior, scored=False)
            return scorer.force_encoded(items, each_step=each_step)
        parts = [part for own, _ in items for part in own]
        asked = {
            "search.beam": group.beam,
            "search.nbest": group.nbest,
            "search.batch_size": len(parts),
        }
        settings = changed(translator.settings, asked)
        results = iter(translator.translate_parts(parts, settings=settings, each_step=each_step))
        target = translator.target
        translated = [
            retyped(joined([next(results) for _ in own], target.text), typed, target)
            for own, typed in items
        ]
        WORDS.labels(group.model.name).inc(sum(len(result.tokens) for result in translated))
        return translated
