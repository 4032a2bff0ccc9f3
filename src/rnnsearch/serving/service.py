"""The service without HTTP: it translates texts and scores pairs, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.serving.languages import Identifier, split
from rnnsearch.serving.limits import Limits, RefusalError, busy, check_limit
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.served_models import ServedModel, ServedModels
from rnnsearch.serving.work_queue import USUAL_WORDS, QueuedTask, WorkQueue
from rnnsearch.text.codec import EncodedSentence
from rnnsearch.translation.source_lines import joined

LONGEST_PART = 128
"""Largest number of subwords in a part of a sentence. A batch takes as many steps as its longest part, and
goes on while any client waits for it."""


class Search(NamedTuple):
    """The settings that sentences must share to be searched together."""

    model: str
    beam: int
    nbest: int


class Forcing(NamedTuple):
    """The settings that pairs must share to be scored and aligned together."""

    model: str
    posterior: bool


class SentencePlace(NamedTuple):
    """Position of a sentence in a request: index of its text, and its index in that text."""

    text: int
    sentence: int


SentenceListener = Callable[[SentencePlace, Translation], None]


class BegunTranslation:
    """A translation that has begun: texts whose sentences are in the queue. places, sources: of each
    sentence. parts: the futures of its parts, usually one."""

    def __init__(self, model: ServedModel, texts: Sequence[str]) -> None:
        self.model = model
        self.paragraphs = [split(text, model.source) for text in texts]
        each = [
            (SentencePlace(text, number), sentence)
            for text, one in enumerate(self.paragraphs)
            for number, sentence in enumerate(one.sentences)
        ]
        self.places, self.sources = [place for place, _ in each], [sentence for _, sentence in each]
        self.parts: list[list[asyncio.Future[Translation]]] = []

    @property
    def futures(self) -> list[asyncio.Future[Translation]]:
        return [future for parts in self.parts for future in parts]

    def done(self) -> list[int]:
        """Returns the indices of the sentences whose parts are all done."""
        return [number for number, parts in enumerate(self.parts) if all(part.done() for part in parts)]

    def result(self, number: int) -> Translation:
        """Returns the translation of a sentence that is done."""
        return joined([future.result() for future in self.parts[number]], self.model.translator.target.text)

    def by_text(self, values: Sequence[Any]) -> list[list[Any]]:
        """Groups values, one for each sentence, by text."""
        rest = iter(values)
        return [[next(rest) for _ in one.sentences] for one in self.paragraphs]

    def joined(self, sentences: Sequence[str]) -> list[str]:
        """Returns each text with these translations in place of its sentences."""
        lines = self.by_text(sentences)
        return [one.joined(some) for one, some in zip(self.paragraphs, lines, strict=True)]


class Service:
    """The models behind a queue. Begin and end `queue` in the event loop."""

    def __init__(self, models: ServedModels, limits: Limits, metrics: Metrics) -> None:
        self.models, self.limits, self.metrics = models, limits, metrics
        self.identifier = Identifier(models.languages)
        self._by_name = {model.name: model for model in models}
        self.queue = WorkQueue(self._work, metrics, batch=limits.batch, capacity=limits.queue)

    def warm_up(self) -> None:
        """Translates and scores a word with each model and identifies its language, so that weights are
        converted and libraries loaded before the first request."""
        split("a.", "en")
        self.identifier.rank("a", self.models.languages)
        for model in self.models:
            for beam in {1, model.translator.search.beam}:
                model.translator.translate(["a"], beam=beam, nbest=1)
            list(model.translator.force([("a", "a")]))

    def begin_translation(
        self,
        model: ServedModel,
        texts: Sequence[str],
        beam: int | None,
        nbest: int | None,
        listener: SentenceListener | None = None,
    ) -> BegunTranslation:
        """Puts the sentences into the queue. listener: called in another thread with what greedy search has
        written so far. Raises RefusalError."""
        check_limit("the request", len(texts), "texts", self.limits.texts)
        check_limit("the request", sum(map(len, texts)), "characters", self.limits.characters)
        search = self._search(model, beam, nbest)
        begun = BegunTranslation(model, texts)
        check_limit("the request", len(begun.places), "sentences", self.limits.sentences)
        tasks = []
        for place, source in zip(begun.places, begun.sources, strict=True):
            parts = self._parts(model, source, place, len(texts))
            told = partial(listener, place) if listener and len(parts) == 1 else None
            tasks.append([QueuedTask(search, part, len(part.ids), told) for part in parts])
        futures = iter(self.queue.submit([task for some in tasks for task in some]))
        begun.parts = [[next(futures) for _ in some] for some in tasks]
        return begun

    def begin_forcing(
        self, model: ServedModel, sources: Sequence[str], targets: Sequence[str], *, posterior: bool
    ) -> list[asyncio.Future[Translation]]:
        """Puts the pairs into the queue. Raises RefusalError."""
        check_limit("the request", len(sources), "pairs", self.limits.sentences)
        characters = sum(map(len, [*sources, *targets]))
        check_limit("the request", characters, "characters", 2 * self.limits.characters)
        group = Forcing(model.name, posterior)
        codecs = model.translator.source, model.translator.target
        tasks = []
        for number, pair in enumerate(zip(sources, targets, strict=True), 1):
            sizes = [len(codec.encode(text).ids) for codec, text in zip(codecs, pair, strict=True)]
            check_limit(f"a line of pair {number}", max(sizes), "words or subwords", self.limits.words)
            tasks.append(QueuedTask(group, pair, max(sizes[1], sizes[0] * sizes[1] // USUAL_WORDS)))
        return self.queue.submit(tasks)

    async def translated(self, begun: BegunTranslation) -> list[Translation]:
        """Returns the translation of each sentence. Raises RefusalError as `finished` does."""
        await self.finished(begun.futures)
        return [begun.result(number) for number in range(len(begun.places))]

    async def finished(self, futures: Sequence[asyncio.Future[Translation]]) -> list[Translation]:
        """Returns the results of the futures. Raises RefusalError if the input is invalid, or the deadline
        has passed."""
        with self.awaiting(futures):
            async with asyncio.timeout(self.limits.deadline):
                return list(await asyncio.gather(*futures))

    @contextmanager
    def awaiting(self, futures: Sequence[asyncio.Future[Translation]]) -> Iterator[None]:
        """Turns errors of the block, which waits for the futures, into a RefusalError. At the end, removes
        their tasks from the queue."""
        try:
            yield
        except TimeoutError:
            raise busy(f"the request was not answered within {self.limits.deadline:g} s", 10) from None
        except InputError as error:
            raise RefusalError(422, str(error)) from None
        except MemoryError:
            raise RefusalError(413, "the request needs more memory than the service has") from None
        finally:
            for future in futures:
                future.cancel()

    def _search(self, model: ServedModel, beam: int | None, nbest: int | None) -> Search:
        usual = model.translator.search
        for name, value, most in (("beam", beam, self.limits.beam), ("nbest", nbest, self.limits.nbest)):
            if value is not None and value > most:
                raise RefusalError(422, f"{name} = {value} is more than {most}")
        nbest = nbest or 1
        if beam is not None and nbest > beam:
            raise RefusalError(422, f"nbest = {nbest} is more than beam = {beam}")
        return Search(model.name, beam or max(usual.beam, nbest), nbest)

    def _parts(
        self, model: ServedModel, sentence: str, place: SentencePlace, texts: int
    ) -> Sequence[EncodedSentence]:
        """Encodes a sentence in parts. Raises RefusalError if it is too long."""
        where = f"sentence {place.sentence + 1}" + (f" of text {place.text + 1}" if texts > 1 else "")
        try:
            usual = model.translator.search
            most = min(usual.max_source_length, LONGEST_PART)
            parts = model.translator.parts(sentence, settings=changed(usual, {"max_source_length": most}))
        except InputError as error:
            raise RefusalError(413, f"{where}: {error}") from None
        remedy = "divide it by full stops or line breaks"
        words = sum(len(part.words) for part in parts)
        check_limit(where, words, "words", self.limits.words, remedy=remedy)
        subwords = sum(len(part.ids) for part in parts)
        check_limit(where, subwords, "subwords", 2 * self.limits.words, remedy=remedy)
        return parts

    def _work(self, group: Search | Forcing, tasks: Sequence[QueuedTask]) -> list[Translation]:
        """Works on a batch, in the models' thread. Raises SearchStoppedError once no client waits for it."""
        translator = self._by_name[group.model].translator
        items = [task.item for task in tasks]
        if isinstance(group, Forcing):
            return list(translator.force(items, len(tasks), posterior=group.posterior))
        results = translator.translate_parts(
            items,
            listeners={n: task.listener for n, task in enumerate(tasks) if task.listener is not None},
            cancelled=lambda: all(task.future.done() for task in tasks),
            beam=group.beam,
            nbest=group.nbest,
            batch_size=len(tasks),
        )
        self.metrics.words.labels(group.model).inc(sum(len(result.tokens) for result in results))
        return results
