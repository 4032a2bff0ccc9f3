"""Text in, text and alignment out: `Translator` is the model as a user meets it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from rnnsearch.config import SearchSettings, Settings, changed
from rnnsearch.errors import InputError
from rnnsearch.model.layers import has_int8
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.batching import READ_AHEAD, batched_by_length, batches, stream_batches
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.formats.lines import given_lines, given_pairs
from rnnsearch.text.lexicon import LexicalTable
from rnnsearch.translation.faithful import encode_faithfully, encode_words_faithfully
from rnnsearch.translation.sentence_search import (
    Attention,
    EncodedPair,
    Listener,
    SentenceSearch,
    Watched,
    encoded_pair,
)
from rnnsearch.translation.source_lines import WrongLanguage, cut, joined, nothing

if TYPE_CHECKING:
    from rnnsearch.pretrained.card import ModelCard

Work = Callable[[list[Watched]], list[Translation]]


class Translator:
    """One trained model, or an ensemble of several of the same vocabularies.

    search: the settings that a call does not override. dictionary: what `replace_unk` writes for a source
    word, instead of the word.
    lexical_table: makes a lexical shortlist for each batch; search and sampling consider only its words, and
    p(y | x) is over them. The networks' weights must stay as they are: they are converted once for the
    precision of the search.
    """

    def __init__(
        self,
        networks: Sequence[TranslationNetwork],
        source: Codec,
        target: Codec,
        search: SearchSettings | None = None,
        dictionary: Mapping[str, str] | None = None,
        lexical_table: LexicalTable | None = None,
    ) -> None:
        self.networks: list[TranslationNetwork] = list(networks)
        self.source: Codec = source
        self.target: Codec = target
        self.search: SearchSettings = search or SearchSettings()
        self.dictionary: Mapping[str, str] = dictionary or {}
        self.lexical_table: LexicalTable | None = lexical_table
        self.settings: Settings | None = None
        """Of the run that was loaded, if one was: `save_pretrained` writes them."""
        self._sentences = SentenceSearch(self.networks, source, target, self.dictionary, lexical_table)

    @classmethod
    def load(
        cls,
        *runs: str | Path,
        device: str = "cpu",
        trust_code: bool = False,
        dictionary: Mapping[str, str] | None = None,
        lexical_shortlist: str | Path | None = None,
    ) -> Translator:
        """Opens a run, or several as an ensemble. Nothing found in a run is executed, and code that it names
        only with `trust_code`.

        runs: folders, or names of installed models (`rnnsearch models`). Where a run's own search is in int8
        and this device has no such products, it is in float32.

        lexical_shortlist: file of a lexical translation table (`rnnsearch lexicon`); every batch is searched
        over the words it allows.
        Raises InputError for a folder that is no run, runs whose vocabularies or directions of decoding
        differ, or a file that is no table for them.
        """
        if not runs:
            raise InputError("there is no run to load", remedy="give the folder of a trained run")
        opened = [Run.open(run) for run in runs]
        first = opened[0]
        for other in opened[1:]:
            for side in ("source", "target"):
                if getattr(other, side).vocabulary != getattr(first, side).vocabulary:
                    raise InputError(
                        f"has another {side} vocabulary than {first.path}",
                        file=other.path,
                        remedy="train both on the same corpus",
                    )
            theirs, ours = other.settings.model.decoder, first.settings.model.decoder
            if theirs != ours:
                what = f'has model.decoder = "{theirs}" and {first.path} has "{ours}"'
                raise InputError(
                    what,
                    file=other.path,
                    remedy="an ensemble needs one value for all runs; instead, rerank the n-best list of "
                    "one run with the other",
                )
        vocabularies = first.source.vocabulary, first.target.vocabulary
        table = LexicalTable.read(Path(lexical_shortlist), *vocabularies) if lexical_shortlist else None
        networks = [run.load_network(trust_code=trust_code, device=device) for run in opened]
        search = first.settings.search
        if search.precision == "int8" and not has_int8(torch.device(device)):
            search = changed(search, {"precision": "float32"})
        translator = cls(networks, first.source, first.target, search, dictionary, table)
        translator.settings = first.settings
        return translator

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "cpu", revision: str | None = None
    ) -> Translator:
        """Returns the model in a folder, of an installed name, or `owner/name` on a hub (extra `hub`;
        revision: a branch, tag or commit there).

        No code of a model is executed, and none that it names. Raises InputError as `load` does, and if the
        hub cannot give it.
        """
        from rnnsearch.pretrained.hub import fetched, is_hub_name

        return cls.load(fetched(str(name), revision) if is_hub_name(name) else name, device=device)

    def save_pretrained(
        self, folder: str | Path, *, int8: bool = False, card: ModelCard | None = None
    ) -> None:
        """Writes the model as a folder that `from_pretrained` reads and that a hub can hold, with a README.md
        made of `card`.

        int8: 8-bit weights, a quarter of the size; searches are then in int8 unless told otherwise. The
        folder is whole or absent. Raises InputError for an ensemble or a translator that was not loaded from
        a run, and if the folder holds anything else.
        """
        from rnnsearch.pretrained.folder import (
            save_model,
        )  # not at the top: whoever only translates need not wait for it

        if self.settings is None or len(self.networks) != 1:
            raise InputError(
                "only a translator of one run can be saved as a model",
                remedy="load one run with Translator.load",
            )
        save_model(
            Path(folder), self.settings, self.source, self.target, self.networks[0], int8=int8, card=card
        )

    def translate(
        self, lines: Iterable[str], *, attention: Attention | None = None, **search: Any
    ) -> list[Translation]:
        """Returns the translation of each line. search: settings to change, for example beam=5, no_unk=True.

        attention: asks what would be written if the decoder looked elsewhere, in each line: step → a source
        word, by its place in `source_tokens`, which alone is looked at; or factors, one for each of
        `source_tokens`, by which α_i is multiplied before it sums to 1 again (0 hides a word). Steps count
        the ids of the translation from 0, as `log_probabilities` does. Raises InputError for a word that a
        line does not have, and for a decoder that does not write from left to right.
        """
        if attention is None:
            return list(self.stream(lines, full_batches=True, **search))
        settings = changed(self.search, search | {"batch_size": 1})
        work = partial(self._sentences.search, settings=settings, attention=attention)
        return list(self._lines_in_order([given_lines(lines)], work, settings))

    def stream(
        self, lines: Iterable[str], *, full_batches: bool = False, **search: Any
    ) -> Iterator[Translation]:
        """Does as `translate`, for input of any length. An empty line gives an empty translation.

        The lines are read on a thread of their own, and what has come is translated at once: a line that
        comes alone waits for no other.
        full_batches: wait for whole batches instead, so that rounding does not depend on when the lines come.
        """
        settings = changed(self.search, search)
        some = given_lines(lines)
        groups = [some] if full_batches else stream_batches(some, READ_AHEAD * settings.batch_size)
        return self._lines_in_order(groups, partial(self._sentences.search, settings=settings), settings)

    def sample(
        self,
        lines: Iterable[str],
        *,
        samples: int = 1,
        temperature: float = 1.0,
        seed: int = 1,
        **search: Any,
    ) -> Iterator[Translation]:
        """Draws translations from p(y | x) instead of searching the best; further samples are the
        `alternatives` of the first.

        Of a bidirectional decoder the left-to-right half draws, and scores.
        """
        settings = changed(self.search, search)
        draw = partial(
            self._sentences.sample,
            settings=settings,
            samples=samples,
            temperature=temperature,
            generator=torch.Generator(self._sentences.device).manual_seed(seed),
        )
        return self._lines_in_order([given_lines(lines)], draw, settings)

    def parts(
        self, line: str, number: int = 1, settings: SearchSettings | None = None
    ) -> list[EncodedSentence]:
        """Encodes a line as these settings read it; one longer than `max_source_length` becomes several
        parts.

        Raises InputError, which names the line by `number`, for a line that is too long to be translated.
        """
        settings = settings or self.search
        limit = settings.max_source_length
        if not settings.faithful:
            return cut(self.source.encode(line), self.source, limit, number)
        encode = partial(encode_words_faithfully, self.source)
        return cut(encode_faithfully(self.source, line), self.source, limit, number, encode)

    def translate_parts(
        self,
        parts: Sequence[EncodedSentence],
        *,
        listeners: Mapping[int, Listener] | None = None,
        cancelled: Callable[[], bool] | None = None,
        **search: Any,
    ) -> list[Translation]:
        """Translates encoded parts, each by itself: `joined` makes a line's translation of theirs.

        listeners: of some parts, by their places. With beam=1, each is told of its part's translation after
        every word that greedy search writes, with the alignment so far. Nobody is told by a decoder that
        reads from right to left.
        cancelled: asked before every word of every batch, in the calling thread. Once it returns True,
        SearchStoppedError is raised and nothing is returned.
        """
        settings = changed(self.search, search)
        told = listeners or {} if settings.beam == 1 else {}
        watched = [Watched(part, told.get(place)) for place, part in enumerate(parts)]
        work = partial(self._sentences.search, settings=settings, cancelled=cancelled)
        return list(self._in_order(watched, work, settings.batch_size))

    def score(self, pairs: Iterable[tuple[str, str]], *, batch_size: int = 64) -> list[float]:
        """Returns log p(y | x) of each pair of a source line and its translation, in nats; of both directions
        the mean, if the decoder has two."""
        return [result.score for result in self.force(pairs, batch_size)]

    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        posterior: bool = False,
        exact: bool = False,
        batch_size: int = 64,
    ) -> list[Translation]:
        """Returns the pairs with their alignments: `links()` and `alignment` of each say which words belong
        together.

        posterior, exact: as in `force`, which does the same for text of any length.
        """
        return list(self.force(pairs, batch_size, posterior=posterior, exact=exact))

    def force(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_size: int = 64,
        *,
        posterior: bool = False,
        exact: bool = False,
        scored: bool = True,
        first: int = 1,
    ) -> Iterator[Translation]:
        """Scores and aligns given translations: score is log p(y | x), alignment is that of forced decoding.

        posterior: the alignment that each word has once it is known, in place of α (translation/forced.py).
        exact: the posterior of every source position, in float32: many times slower. Otherwise a row is
        estimated, mostly to far less than a tenth of its weight (translation/quick_alignment.py). α is the
        same either way.
        scored: False leaves out log p, and with it most of the time of α; the score is then nan.
        first: the number of the first pair, as messages have it.
        """
        encoded = (
            encoded_pair(self.source, self.target, pair, number)
            for number, pair in enumerate(given_pairs(pairs), first)
        )
        force = partial(
            self._sentences.force,
            kernels=self.search.kernels,
            posterior=posterior,
            exact=exact,
            scored=scored,
        )

        def length(pair: EncodedPair) -> int:
            return max(len(side.ids) for side in pair)

        for ahead in batches(encoded, READ_AHEAD * batch_size):
            yield from batched_by_length(ahead, length, batch_size, force)

    def _lines_in_order(
        self, groups: Iterable[Iterable[str]], work: Work, settings: SearchSettings
    ) -> Iterator[Translation]:
        """Yields a translation for each line, and warns of a text in the wrong language.

        Lines longer than `max_source_length` are cut, and put together again. groups: of lines; no batch has
        lines of two.
        """
        counts: deque[int] = deque()  # of the parts of each line
        numbers = count(1)
        language = WrongLanguage(self.source, self.target)

        def parts(lines: Iterable[str]) -> Iterator[Watched]:
            for line in lines:
                some = self.parts(line, next(numbers), settings)
                counts.append(len(some))
                for part in some:
                    language.look(part.words)
                    yield Watched(part)

        for lines in groups:
            made = self._in_order(parts(lines), work, settings.batch_size)
            for first in made:
                yield joined([first, *islice(made, counts.popleft() - 1)], self.target.text)
        language.finish()

    def _in_order(self, parts: Iterable[Watched], work: Work, batch_size: int) -> Iterator[Translation]:
        for ahead in batches(parts, READ_AHEAD * batch_size):
            full = [part for part in ahead if part.sentence.words]
            done = iter(batched_by_length(full, lambda part: len(part.sentence.ids), batch_size, work))
            for part in ahead:
                yield next(done) if part.sentence.words else nothing()
