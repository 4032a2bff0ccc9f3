"""What the service does, without HTTP: texts and pairs in, results out, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.serving.limits import Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.paragraphs import Paragraphs, split
from rnnsearch.serving.refusal import RefusalError, busy
from rnnsearch.serving.served_models import Models, ServedModel
from rnnsearch.serving.work_queue import Task, WorkQueue


class Search(NamedTuple):
    """What sentences must have in common to be searched together."""

    model: str
    beam: int
    nbest: int


class Forcing(NamedTuple):
    """The same, of pairs that are scored and aligned."""

    model: str
    posterior: bool


class Place(NamedTuple):
    """A sentence of a request: the number of its text, and its own in that text."""

    text: int
    sentence: int


class Begun(NamedTuple):
    """Texts whose sentences wait in the queue. futures: of all sentences, in order; places: where each belongs."""

    paragraphs: list[Paragraphs]
    places: list[Place]
    futures: list[asyncio.Future[Translation]]

    def by_text(self, results: Sequence[Any]) -> list[list[Any]]:
        """One list for each text."""
        every: list[list[Any]] = [[] for _ in self.paragraphs]
        for place, result in zip(self.places, results, strict=True):
            every[place.text].append(result)
        return every


class Service:
    """models: those that are served. The queue must be begun in the event loop, and ended."""

    def __init__(self, models: Models, limits: Limits, metrics: Metrics) -> None:
        self.models, self.limits, self.metrics = models, limits, metrics
        self._by_name = {model.name: model for model in models}
        self.queue = WorkQueue(self._work, batch=limits.batch, capacity=limits.queue, observer=metrics)

    def warm_up(self) -> None:
        """Translates and scores a word with each model: weights are converted and libraries loaded before the first request."""
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
        listener: Callable[[Place, Translation], None] | None = None,
    ) -> Begun:
        """Puts the sentences into the queue. listener: is told, by another thread, what greedy search has written. Raises RefusalError."""
        self._check_texts(texts)
        search = self._search(model, beam, nbest)
        paragraphs = [split(text, model.source) for text in texts]
        places = [Place(number, n) for number, one in enumerate(paragraphs) for n in range(len(one.sentences))]
        if len(places) > self.limits.sentences:
            raise RefusalError(413, f"the request has {len(places):,} sentences, and {self.limits.sentences:,} are the most")
        tasks = [
            Task(search, line, len(line), None if listener is None else _told(listener, place))
            for place in places
            for line in [paragraphs[place.text].sentences[place.sentence]]
        ]
        return Begun(paragraphs, places, self.queue.submit(tasks))

    def begin_forcing(
        self, model: ServedModel, sources: Sequence[str], targets: Sequence[str], *, posterior: bool
    ) -> list[asyncio.Future[Translation]]:
        """Puts the pairs into the queue. Raises RefusalError."""
        self._check_texts([*sources, *targets], pairs=True)
        pairs = zip(sources, targets, strict=True)
        return self.queue.submit([Task(Forcing(model.name, posterior), pair, len(pair[1])) for pair in pairs])

    async def finished(self, futures: Sequence[asyncio.Future[Translation]]) -> list[Translation]:
        """Their results. Raises RefusalError where the input cannot be worked on, or the deadline has passed."""
        with self.places_of(futures):
            async with asyncio.timeout(self.limits.deadline):
                return list(await asyncio.gather(*futures))

    @contextmanager
    def places_of(self, futures: Sequence[asyncio.Future[Translation]]) -> Iterator[None]:
        """However it is left, none of the futures keeps a place in the queue. What went wrong becomes a RefusalError."""
        try:
            yield
        except TimeoutError:
            raise busy(f"the request was not answered within {self.limits.deadline:g} s", 10) from None
        except InputError as error:
            raise RefusalError(422, str(error)) from None
        except MemoryError:
            raise RefusalError(413, "the request needs more memory than there is") from None
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

    def _check_texts(self, texts: Sequence[str], pairs: bool = False) -> None:
        factor = 2 if pairs else 1
        if len(texts) > factor * (self.limits.sentences if pairs else self.limits.texts):
            most = self.limits.sentences if pairs else self.limits.texts
            what = "pairs" if pairs else "texts"
            raise RefusalError(413, f"the request has {len(texts) // factor:,} {what}, and {most:,} are the most")
        characters = sum(map(len, texts))
        if characters > factor * self.limits.characters:
            raise RefusalError(413, f"the request has {characters:,} characters, and {factor * self.limits.characters:,} are the most")

    def _work(self, group: Search | Forcing, tasks: Sequence[Task]) -> list[Translation]:
        """In the thread of the models."""
        model = self._by_name[group.model]
        if isinstance(group, Forcing):
            return list(model.translator.force([task.item for task in tasks], len(tasks), posterior=group.posterior))
        listeners = {number: task.listener for number, task in enumerate(tasks) if task.listener is not None}
        results = model.translator.translate(
            [task.item for task in tasks], listeners=listeners, beam=group.beam, nbest=group.nbest, batch_size=len(tasks)
        )
        self.metrics.words.labels(model.name).inc(sum(len(result.tokens) for result in results))
        return results


def _told(listener: Callable[[Place, Translation], None], place: Place) -> Callable[[Translation], None]:
    return lambda so_far: listener(place, so_far)
