"""The service without HTTP: it translates texts and scores pairs, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from fastapi import HTTPException

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.serving.limits import WORDS, Limits, check_limit
from rnnsearch.serving.served_models import ServedModel, ServedModels
from rnnsearch.serving.work_queue import USUAL_WORDS, QueuedTask, WorkQueue
from rnnsearch.translation.faithful import Glossary
from rnnsearch.translation.languages import Paragraphs, split
from rnnsearch.translation.source_lines import joined

LONGEST_PART = 128
"""Largest number of subwords in a part of a sentence. A batch takes as many steps as its longest part, and
goes on while any client waits for it."""
Translated = tuple[Paragraphs, list[Translation]]
"""A text's sentences, and their translations."""
Listener = Callable[..., None]
"""Called with the index of a text, of a sentence in it, the sentence, its translation so far, and True if
that is the last. The thread of the models calls it with the words of greedy search."""


class Group(NamedTuple):
    """The settings that tasks must share to be worked on together. beam: 0 if the translations are given."""

    model: str
    beam: int = 0
    nbest: int = 1
    posterior: bool = False


class Service:
    """The models behind a queue. Run `queue` in the event loop."""

    def __init__(self, models: ServedModels, limits: Limits) -> None:
        self.models, self.limits = models, limits
        self.queue = WorkQueue(self._work, limits.batch, limits.queue)

    def warm_up(self) -> None:
        """Translates and scores a word with each model, so that weights are converted and libraries loaded
        before the first request."""
        split("a.", "en")
        for model in self.models:
            for beam in {1, model.translator.search.beam}:
                model.translator.translate(["a"], beam=beam, nbest=1)
            list(model.translator.force([("a", "a")]))

    async def translate(
        self,
        model: ServedModel,
        texts: Sequence[str],
        beam: int | None = None,
        nbest: int = 1,
        listener: Listener | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> list[Translated]:
        """Returns the sentences of each text with their translations. glossary: terms and their translations.
        Raises HTTPException."""
        characters = [*texts, *(term + other for term, other in (glossary or {}).items())]
        check_limit("the request", sum(map(len, characters)), "characters", self.limits.characters)
        most = min(beam or nbest, self.limits.nbest)
        if nbest > most or (beam or 1) > self.limits.beam:
            raise HTTPException(422, f"beam may be {self.limits.beam}, and nbest {most}, at most")
        group = Group(model.name, beam or max(model.translator.search.beam, nbest), nbest)
        paragraphs: list[Paragraphs] = []

        def tasks() -> list[QueuedTask]:
            paragraphs.extend(split(text, model.source) for text in texts)
            places = [
                (text, number, sentence)
                for text, paragraph in enumerate(paragraphs)
                for number, sentence in enumerate(paragraph.sentences)
            ]
            check_limit("the request", len(places), "sentences", self.limits.sentences)
            terms = Glossary(model.translator.source, model.translator.target, glossary) if glossary else None
            return [self._task(model, group, place, listener, terms) for place in places]

        results = iter(await self._finished(tasks, nbest))
        return [(paragraph, [next(results) for _ in paragraph.sentences]) for paragraph in paragraphs]

    async def force(
        self, model: ServedModel, pairs: Sequence[tuple[str, str]], posterior: bool
    ) -> list[Translation]:
        """Scores and aligns the pairs. Raises HTTPException."""
        check_limit("the request", len(pairs), "pairs", self.limits.sentences)
        characters = sum(len(line) for pair in pairs for line in pair)
        check_limit("the request", characters, "characters", 2 * self.limits.characters)
        codecs = model.translator.source, model.translator.target

        def task(number: int, pair: tuple[str, str]) -> QueuedTask:
            source, target = (len(codec.encode(line).ids) for codec, line in zip(codecs, pair, strict=True))
            where = f"a line of pair {number}"
            check_limit(where, max(source, target), "words or subwords", self.limits.words)
            size = max(target, source * target // USUAL_WORDS)
            group = Group(model.name, posterior=posterior)
            return QueuedTask(group, pair, size, numbers=source * target)

        return await self._finished(lambda: [task(*pair) for pair in enumerate(pairs, 1)])

    def _task(
        self,
        model: ServedModel,
        group: Group,
        place: tuple[int, int, str],
        listener: Listener | None,
        terms: Glossary | None,
    ) -> QueuedTask:
        """Encodes a sentence in parts. Raises HTTPException if it is too long."""
        text, number, sentence = place
        where, usual = f"sentence {number + 1} of text {text + 1}", model.translator.search
        most = min(usual.max_source_length, LONGEST_PART)
        try:
            settings = changed(usual, {"max_source_length": most})
            parts = model.translator.parts(sentence, settings=settings, glossary=terms)
        except InputError as error:
            raise HTTPException(413, f"{where}: {error}") from None
        words, subwords = (sum(map(len, each)) for each in ([p.words for p in parts], [p.ids for p in parts]))
        remedy = "divide it by full stops or line breaks"
        check_limit(where, words, "words", self.limits.words, remedy)
        check_limit(where, subwords, "subwords", 2 * self.limits.words, remedy)
        told = partial(listener, *place) if listener else None
        # A translation has about as many words as its source.
        return QueuedTask(group, parts, subwords, told, numbers=words**2)

    async def _finished(self, make: Callable[[], list[QueuedTask]], nbest: int = 1) -> list[Translation]:
        """Makes tasks in another thread and returns their results. Whatever happens, no work is left. Raises
        HTTPException if the answer is too large, as expected or, by far, as found."""

        def check(numbers: int, most: int) -> None:
            remedy = "send less text, or ask for fewer translations"
            check_limit("the answer", numbers, "alignment weights", most, remedy)

        tasks = await asyncio.to_thread(make)
        check(nbest * sum(task.numbers for task in tasks), self.limits.numbers)
        futures = self.queue.submit(tasks)
        for task, future in zip(tasks, futures, strict=True):
            if task.listener:
                future.add_done_callback(partial(_tell, task.listener))
        try:
            results = await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()
        every = (one for result in results for one in (result, *result.alternatives))
        check(sum(one.alignment.size for one in every), 2 * self.limits.numbers)
        return results

    def _work(self, group: Group, tasks: Sequence[QueuedTask]) -> list[Translation]:
        """Works on a batch, in the models' thread. Raises SearchStoppedError once no client waits for it."""
        translator = next(model.translator for model in self.models if model.name == group.model)
        if not group.beam:
            pairs = [task.item for task in tasks]
            return list(translator.force(pairs, len(pairs), posterior=group.posterior))
        parts = [(part, task.listener) for task in tasks for part in task.item]
        results = iter(
            translator.translate_parts(
                [part for part, _ in parts],
                # A listener knows no part of a sentence.
                listeners={n: told for n, (_, told) in enumerate(parts) if told and len(parts) == len(tasks)},
                cancelled=lambda: all(task.future.done() for task in tasks),
                beam=group.beam,
                nbest=group.nbest,
                batch_size=len(parts),
            )
        )
        translated = [joined([next(results) for _ in task.item], translator.target.text) for task in tasks]
        WORDS.labels(group.model).inc(sum(len(result.tokens) for result in translated))
        return translated


def _tell(listener: Listener, future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and not future.exception():
        listener(future.result(), True)
