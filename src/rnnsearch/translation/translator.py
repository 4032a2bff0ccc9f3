"""`Translator`, the Python interface of trained models: text in, text and alignment out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import torch

from rnnsearch.config import SearchOptions, SearchSettings, Settings, changed
from rnnsearch.errors import InputError
from rnnsearch.model.layers import has_int8
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.formats.lines import given_lines, given_pairs
from rnnsearch.translation.batching import READ_AHEAD, batched_by_length, batches, stream_batches
from rnnsearch.translation.beam import Sampling
from rnnsearch.translation.faithful import Glossary, encode_faithfully, encode_words_faithfully
from rnnsearch.translation.sentence_search import (
    Attention,
    EncodedPair,
    Listener,
    SentenceSearch,
    Watched,
    encoded_pair,
)
from rnnsearch.translation.source_lines import (
    WrongLanguage,
    check_length,
    cut,
    empty_translation,
    joined,
    sentences,
)

if TYPE_CHECKING:
    from rnnsearch.pretrained.card import ModelCard

Work = Callable[[list[Watched]], list[Translation]]


class Translator:
    """One trained model, or an ensemble of several of the same vocabularies.

    networks: the models. source, target: codecs of both sides. search: the settings that a call does not
    override. dictionary: source word → the word that `replace_unk` writes instead of it.
    glossary: terms and their translations, which `translate` takes, too. The networks'
    weights must not change afterwards: they are converted once to the precision of the search."""

    def __init__(
        self,
        networks: Sequence[TranslationNetwork],
        source: Codec,
        target: Codec,
        search: SearchSettings | None = None,
        dictionary: Mapping[str, str] | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> None:
        self.networks: list[TranslationNetwork] = list(networks)
        self.source: Codec = source
        self.target: Codec = target
        self.search: SearchSettings = search or SearchSettings()
        self.dictionary: Mapping[str, str] = dictionary or {}
        self._terms = Glossary(source, target, glossary) if glossary else None
        self.settings: Settings | None = None
        """The settings of the loaded run, which `save_pretrained` writes; None if no run was loaded."""
        self._sentences = SentenceSearch(self.networks, source, target, self.dictionary)

    @classmethod
    def load(
        cls,
        *runs: str | Path,
        device: str = "cpu",
        trust_code: bool = False,
        dictionary: Mapping[str, str] | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> Translator:
        """Opens a run, or several as an ensemble. Nothing found in a run is executed. Code that its settings
        name is imported only with `trust_code`.

        runs: folders, or names of installed models (`rnnsearch models`). device: cpu, cuda or cuda:N.
        dictionary, glossary: as above. If a run's settings ask for int8 search and the device has no int8
        products, float32 is used.
        Raises InputError if a folder is not a run, or vocabularies or decoding directions of the runs differ.
        """
        if not runs:
            raise InputError("there is no run to load", remedy="give the folder of a trained run")
        opened = [Run.open(run) for run in runs]
        first = opened[0]
        for other in opened[1:]:
            if side := other.other_vocabulary(first):
                what = f"has another {side} vocabulary than {first.path}"
                raise InputError(what, file=other.path, remedy="train both on the same corpus")
            theirs, ours = other.settings.model.decoder, first.settings.model.decoder
            if theirs != ours:
                what = f'has model.decoder = "{theirs}" and {first.path} has "{ours}"'
                raise InputError(
                    what,
                    file=other.path,
                    remedy="an ensemble needs one value for all runs; instead, rerank the n-best list of "
                    "one run with the other",
                )
        networks = [run.load_network(trust_code=trust_code, device=device) for run in opened]
        search = first.settings.search
        if search.precision == "int8" and not has_int8(torch.device(device)):
            search = changed(search, {"precision": "float32"})
        translator = cls(networks, first.source, first.target, search, dictionary, glossary)
        translator.settings = first.settings
        return translator

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "cpu", revision: str | None = None
    ) -> Translator:
        """Loads a model from a folder, by its installed name, or as `owner/name` from a hub (extra `hub`).

        revision: a branch, tag or commit on the hub. No code from the model, or named by it, is executed.
        Raises InputError as `load` does, and if the hub cannot provide the model.
        """
        from rnnsearch.pretrained.hub import fetched, is_hub_name

        return cls.load(fetched(str(name), revision) if is_hub_name(name) else name, device=device)

    def save_pretrained(
        self, folder: str | Path, *, int8: bool = False, card: ModelCard | None = None
    ) -> None:
        """Writes a folder that `from_pretrained` reads and that can be uploaded to a hub, with a README.md
        made from `card`.

        int8: 8-bit weights, a quarter of the size; searches are then in int8 unless told otherwise. The
        folder is written completely or not at all. Raises InputError for an ensemble, for a translator that
        was not loaded from a run, and if the folder contains other files.
        """
        from rnnsearch.pretrained.folder import (
            save_model,
        )  # imported here, because translating does not need it

        if self.settings is None or len(self.networks) != 1:
            raise InputError(
                "only a translator of one run can be saved as a model",
                remedy="load one run with Translator.load",
            )
        save_model(
            Path(folder), self.settings, self.source, self.target, self.networks[0], int8=int8, card=card
        )

    def translate(
        self,
        lines: Iterable[str],
        *,
        attention: Attention | None = None,
        glossary: Mapping[str, str] | None = None,
        **search: Unpack[SearchOptions],
    ) -> list[Translation]:
        """Returns the translation of each line. search: settings to change, for example beam=5, no_unk=True.

        attention: changes where the decoder attends, in each line. It maps a step to the index in
        `source_tokens` of the only word to attend to, or to a factor for each of `source_tokens`; α_i is
        multiplied by these factors and normalised again (0 hides a word). Steps count the ids of the
        translation from 0, as `log_probabilities` does.
        glossary: terms and their translations, of one or several words, instead of the translator's own. The
        words that attend to a term are replaced by its translation, which is written as it is given.
        Raises InputError for an unknown or invalid setting, for a line that is no text or is too long, for a
        word that a line does not have, and for a decoder that does not write from left to right.
        """
        if attention is None:
            return list(self.stream(lines, full_batches=True, glossary=glossary, **search))
        settings = changed(self.search, search | {"batch_size": 1, "split_sentences": False})
        work = partial(self._sentences.search, settings=settings, attention=attention)
        return list(self._lines_in_order([given_lines(lines)], work, settings, glossary))

    def stream(
        self,
        lines: Iterable[str],
        *,
        full_batches: bool = False,
        first: int = 1,
        glossary: Mapping[str, str] | None = None,
        **search: Unpack[SearchOptions],
    ) -> Iterator[Translation]:
        """Yields what `translate` returns, for input of any length. An empty line gives an empty translation.

        A separate thread reads the lines. Lines that have arrived are translated at once: a single line does
        not wait for others.
        full_batches: wait for full batches instead, so that rounding does not depend on when lines arrive.
        first: the number of the first line in messages. Raises InputError as `translate` does.
        """
        settings = changed(self.search, search)
        some = given_lines(lines)
        groups = [some] if full_batches else stream_batches(some, READ_AHEAD * settings.batch_size)
        work = partial(self._sentences.search, settings=settings)
        return self._lines_in_order(groups, work, settings, glossary, first)

    def sample(
        self,
        lines: Iterable[str],
        *,
        samples: int = 1,
        temperature: float = 1.0,
        seed: int = 1,
        **search: Unpack[SearchOptions],
    ) -> Iterator[Translation]:
        """Draws translations from p(y | x) instead of searching for the best. Further samples are the
        `alternatives` of the first.

        samples: number of translations of each line. temperature: of the softmax; a lower one draws probable
        words more often. seed: of the random numbers. search: settings to change. With a bidirectional
        decoder, its left-to-right half draws and scores. Raises InputError as `translate` does, and for an
        invalid temperature or number of samples.
        """
        settings = changed(self.search, search)
        generator = torch.Generator(self._sentences.device).manual_seed(seed)
        sampling = Sampling(samples, temperature, generator)
        draw = partial(self._sentences.sample, settings=settings, sampling=sampling)
        return self._lines_in_order([given_lines(lines)], draw, settings)

    def parts(
        self,
        line: str,
        number: int = 1,
        settings: SearchSettings | None = None,
        glossary: Glossary | Mapping[str, str] | None = None,
    ) -> Sequence[EncodedSentence]:
        """Encodes a line under these settings: each of its sentences, or the parts of those that are longer
        than `max_source_length`.

        number: line number for messages. glossary: as in `translate`. Raises InputError for a line that is
        too long to be translated.
        """
        settings, source = settings or self.search, self.source
        split = settings.split_sentences and source.tokeniser.kind == "moses"
        whole: Callable[[str], EncodedSentence] = source.encode
        encode: Callable[[Sequence[str]], EncodedSentence] = source.encode_words
        if settings.faithful:
            whole, encode = partial(encode_faithfully, source), partial(encode_words_faithfully, source)
        parts: list[EncodedSentence] = []
        for sentence in sentences(line, source.tokeniser.language) if split else [line]:
            parts += cut(whole(sentence), source, settings.max_source_length, number, encode)
        check_length(parts, number)
        terms = self._glossary(glossary)
        return list(map(terms.mark, parts)) if terms else parts

    def _glossary(self, terms: Glossary | Mapping[str, str] | None) -> Glossary | None:
        if terms is None or isinstance(terms, Glossary):
            return terms or self._terms
        return Glossary(self.source, self.target, terms)

    def translate_parts(
        self,
        parts: Sequence[EncodedSentence],
        *,
        listeners: Mapping[int, Listener] | None = None,
        cancelled: Callable[[], bool] | None = None,
        **search: Unpack[SearchOptions],
    ) -> list[Translation]:
        """Translates encoded parts separately; `joined` combines the translations of a line's parts.

        listeners: index of a part → its listener. With beam=1, a listener is called after every word with its
        part's translation and alignment so far. A decoder that writes from right to left calls none.
        cancelled: asked before every word of every batch, in the calling thread. Once it returns True,
        SearchStoppedError is raised and nothing is returned.
        """
        settings = changed(self.search, search)
        told = listeners or {} if settings.beam == 1 else {}
        watched = [Watched(part, told.get(place)) for place, part in enumerate(parts)]
        work = partial(self._sentences.search, settings=settings, cancelled=cancelled)
        return list(self._in_order(watched, work, settings.batch_size))

    def score(self, pairs: Iterable[tuple[str, str]], *, batch_size: int = 64) -> list[float]:
        """Returns log p(y | x) of each pair (source line, translation), in nats. A bidirectional decoder
        gives the mean of both directions. Raises InputError as `force` does."""
        return [result.score for result in self.force(pairs, batch_size)]

    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        posterior: bool = False,
        exact: bool = False,
        batch_size: int = 64,
    ) -> list[Translation]:
        """Aligns the pairs: `links()` and `alignment` of each result say which words correspond.

        posterior, exact: as in `force`, which does the same for text of any length. Raises InputError as
        `force` does.
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
        fast: bool = False,
        first: int = 1,
    ) -> Iterator[Translation]:
        """Scores and aligns given translations: score is log p(y | x), alignment is that of forced decoding.

        posterior: return the alignment posterior, which also uses the target word, instead of α
        (translation/forced.py). exact: compute the posterior of every source position in float32, which is
        many times slower. Otherwise rows are estimated; mostly, far less than a tenth of a row's weight is
        misplaced (translation/posterior.py). α does not depend on `exact`, except as said for `fast`.
        scored: False skips log p, which takes most of the time when α is computed; the score is then nan.
        fast: compute α with the fastest products also if `scored`, as without it: α does not depend on
        `scored` then. With `exact`, products are float32.
        first: the number of the first pair in messages. Raises InputError for a pair that is not two lines of
        text, or is too long to be aligned.
        """
        encoded = (
            encoded_pair(self.source, self.target, pair, number) if any(pair) else None
            for number, pair in enumerate(given_pairs(pairs), first)
        )
        empty: list[Translation] = []  # the result of two empty lines, which is always the same
        force = partial(
            self._sentences.force,
            kernels=self.search.kernels,
            posterior=posterior,
            exact=exact,
            scored=scored,
            fast=fast,
        )

        def length(pair: EncodedPair) -> int:
            return max(len(side.ids) for side in pair)

        for ahead in batches(encoded, READ_AHEAD * batch_size):
            done = iter(batched_by_length([pair for pair in ahead if pair], length, batch_size, force))
            if None in ahead and not empty:
                empty = force([encoded_pair(self.source, self.target, ("", ""), first)])
            yield from (next(done) if pair else empty[0] for pair in ahead)

    def _lines_in_order(
        self,
        groups: Iterable[Iterable[str]],
        work: Work,
        settings: SearchSettings,
        glossary: Mapping[str, str] | None = None,
        first: int = 1,
    ) -> Iterator[Translation]:
        """Yields a translation for each line, and warns of a text in the wrong language.

        The translations of a line's sentences and parts are joined. groups: groups of lines; no batch mixes
        lines of two groups. first: the number of the first line.
        """
        counts: deque[int] = deque()  # number of parts of each line
        numbers = count(first)
        language = WrongLanguage(self.source, self.target)
        terms = self._glossary(glossary)

        def parts(lines: Iterable[str]) -> Iterator[Watched]:
            for line in lines:
                some = self.parts(line, next(numbers), settings, terms)
                counts.append(len(some))
                for part in some:
                    language.look(part.words)
                    yield Watched(part)

        for lines in groups:
            made = self._in_order(parts(lines), work, settings.batch_size)
            for part in made:
                yield joined([part, *islice(made, counts.popleft() - 1)], self.target.text)
        language.finish()

    def _in_order(self, parts: Iterable[Watched], work: Work, batch_size: int) -> Iterator[Translation]:
        for ahead in batches(parts, READ_AHEAD * batch_size):
            full = [part for part in ahead if part.sentence.words]
            done = iter(batched_by_length(full, lambda part: len(part.sentence.ids), batch_size, work))
            for part in ahead:
                yield next(done) if part.sentence.words else empty_translation()
