"""`Translator`, the Python interface of trained models: text in, text and alignment out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import torch

from rnnsearch.arguments import require, require_number, require_texts
from rnnsearch.batch import pad
from rnnsearch.config import changed, with_short
from rnnsearch.errors import InputError
from rnnsearch.evaluation.confidence import word_confidence
from rnnsearch.kernels.int8 import has_int8
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Choice, Translation
from rnnsearch.run import Run
from rnnsearch.search.beam import Hypothesis, beam_search, longest
from rnnsearch.search.step import BeamSearch, search
from rnnsearch.settings import SearchSettings, Settings, ShortOptions, TranslationSettings
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.vocabulary import END
from rnnsearch.translation.batching import (
    READ_AHEAD,
    batched_by_length,
    batches,
    in_halves,
    stream_batches,
)
from rnnsearch.translation.beginning import (
    ENDED,
    by_sentence,
    check_order,
    encode_beginning,
    retyped,
    with_typed,
    word_functions,
)
from rnnsearch.translation.case import begins_small, least_gain, with_small_letter
from rnnsearch.translation.networks import Networks, sums_of, warn_of_edits
from rnnsearch.translation.source_lines import (
    MOST_WORDS,
    cut,
    empty_translation,
    indented,
    joined,
    sentences,
    warn_of_target_language,
    warn_of_unknown_words,
)
from rnnsearch.word_links import merge_subwords

if TYPE_CHECKING:
    from rnnsearch.pretrained.card import ModelCard
    from rnnsearch.translation.faithful import Faithful, Glossary
    from rnnsearch.translation.scorer import Scorer

SEARCHED_ELEMENTS = 1 << 29
"""Largest number of elements in a tensor of one step of search. At the paper's size a batch has 64
× 12 hypotheses with 30,000 words each: 23 million."""

MOST_CHOICES = 500


class Translator:
    """One trained model, or an ensemble of several of the same vocabularies.

    networks: the models. source, target: codecs of both sides. settings: those of the run, of which
    a call may change some. dictionary: source word → the word that `replace_unk` writes instead of
    it.
    glossary: terms and their translations, which `translate` takes, too. The networks'
    weights must not change afterwards: they are converted once to the precision of the search."""

    def __init__(
        self,
        networks: Sequence[TranslationNetwork],
        source: Codec,
        target: Codec,
        settings: Settings | None = None,
        dictionary: Mapping[str, str] | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> None:
        self.networks: list[TranslationNetwork] = list(networks)
        self.source: Codec = source
        self.target: Codec = target
        self.settings: Settings = settings or Settings()
        self.dictionary: Mapping[str, str] = {} if dictionary is None else dictionary
        require_texts("the dictionary", self.dictionary)
        self._terms = self._glossary(glossary)
        self._networks = Networks(self.networks)

    @classmethod
    def load(
        cls,
        *runs: str | Path | Run,
        device: str = "cpu",
        trust_code: bool = False,
        dictionary: Mapping[str, str] | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> Translator:
        """Opens a run, or several as an ensemble. Nothing found in a run is executed. Code that its
        settings name is imported only with `trust_code`.

        runs: folders, names of installed models (`rnnsearch models`), or open runs. device: cpu,
        cuda or cuda:N.
        dictionary, glossary: as above. If a run's settings ask for int8 search and the device has
        no int8 products, float32 is used.
        Raises InputError if a folder is not a run, or vocabularies or decoding directions of the
        runs differ.
        """
        if not runs:
            raise InputError("there is no run to load", "give the folder of a trained run")
        opened = [Run.open(run) for run in runs]
        first = opened[0]
        for other in opened[1:]:
            if side := other.other_vocabulary(first):
                what = f"has another {side} vocabulary than {first.path}"
                raise InputError(what, "train both on the same corpus", file=other.path)
            theirs, ours = other.settings.model.decoder, first.settings.model.decoder
            if theirs != ours:
                what = f'has model.decoder = "{theirs}" and {first.path} has "{ours}"'
                remedy = "an ensemble needs one value: rerank one run's n-best list with the other"
                raise InputError(what, remedy, file=other.path)
        for run in opened:
            warn_of_edits(run)
        networks = [run.load_network(trust_code=trust_code, device=device) for run in opened]
        settings = first.settings
        if settings.search.precision == "int8" and not has_int8(torch.device(device)):
            settings = changed(settings, {"search.precision": "float32"})
        return cls(networks, first.source, first.target, settings, dictionary, glossary)

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "cpu", revision: str | None = None
    ) -> Translator:
        """Loads a model from a folder, by its installed name, or as `owner/name` from a hub (extra
        `hub`).

        revision: a branch, tag or commit on the hub. No code from the model, or named by it, is
        executed.
        Raises InputError as `load` does, and if the hub cannot provide the model.
        """
        from rnnsearch.pretrained.hub import fetched, is_hub_name

        return cls.load(fetched(str(name), revision) if is_hub_name(name) else name, device=device)

    def save_pretrained(
        self, folder: str | Path, *, int8: bool = False, card: ModelCard | None = None
    ) -> None:
        """Writes a folder that `from_pretrained` reads and that can be uploaded to a hub, with a
        README.md made from `card`.

        int8: 8-bit weights, a quarter of the size; searches are then in int8 unless told otherwise.
        The folder is written completely or not at all. Raises InputError for an ensemble, and if
        the folder contains other files.
        """
        from rnnsearch.pretrained.folder import save_model  # translating does not need it

        require("folder", folder, str, Path)
        if len(self.networks) != 1:
            what = "only a translator of one run can be saved as a model"
            raise InputError(what, "load one run with Translator.load")
        codecs = self.source, self.target
        save_model(Path(folder), self.settings, codecs, self.networks[0], int8=int8, card=card)

    def translate(
        self,
        lines: Iterable[str],
        *,
        prefix: Iterable[str | None] | None = None,
        glossary: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        **options: Unpack[ShortOptions],
    ) -> list[Translation]:
        """Returns the translation of each line. Some settings are options, as in beam=5.

        prefix: the beginning of each line's translation, which is kept; None or "" where there is
        none. Its last word is unfinished if no space follows it. Beginnings need a decoder that
        reads forward.
        settings: any others to change, as in {"search.no_unk": True, "translation.faithful": True}.
        glossary: terms and their translations, of one or several words, instead of the translator's
        own. The words that attend to a term are replaced by its translation, which is written as it
        is given.
        Raises InputError for an unknown or invalid setting, and for a line that is no text or is
        too long.
        """
        how: dict[str, Any] = {"prefix": prefix, "glossary": glossary, **options}
        return list(self.stream(lines, full_batches=True, settings=settings, **how))

    def stream(
        self,
        lines: Iterable[str],
        *,
        full_batches: bool = False,
        first: int = 1,
        prefix: Iterable[str | None] | None = None,
        glossary: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        **options: Unpack[ShortOptions],
    ) -> Iterator[Translation]:
        """Yields what `translate` returns, for input of any length. An empty line gives an empty
        translation.

        A separate thread reads the lines. Lines that have arrived are translated at once: a single
        line does not wait for others.
        full_batches: wait for full batches instead, so that rounding does not depend on when lines
        arrive.
        first: the number of the first line in messages. Raises InputError as `translate` does.
        """
        require("settings", {} if settings is None else settings, Mapping)
        used = changed(self.settings, with_short(settings or {}, options))
        terms = self._glossary(glossary)
        size = READ_AHEAD * used.search.batch_size
        numbers, written = count(first), count(first)
        given = with_typed(lines, prefix)
        groups = [given] if full_batches else stream_batches(given, size)
        encoded = (
            (
                (line, typed, self.parts(line, next(numbers), used, terms, typed))
                for line, typed in group
            )
            for group in groups
        )
        blocks = chain.from_iterable(batches(group, size) for group in encoded)
        for number, block in enumerate(blocks):
            parts = list(chain.from_iterable(own for *_, own in block))
            if number == 0:
                words = (word for part in parts for word in part.words)
                warn_of_target_language(words, self.source, self.target)
            found = iter(self.translate_parts(parts, settings=used))
            for line, typed, own in block:
                result = joined([next(found) for _ in own], self.target.text)
                warn_of_unknown_words(result.unknown_words, next(written))
                begun = typed.strip()
                yield retyped(result, typed, self.target) if begun else indented(result, line)

    def parts(
        self,
        line: str,
        number: int = 1,
        settings: Settings | None = None,
        glossary: Glossary | None = None,
        typed: str = "",
    ) -> Sequence[EncodedSentence]:
        """Encodes a line under these settings: each of its sentences, or the parts of those that
        are longer than `max_source_length`.

        number: line number for messages. glossary: instead of the translator's own. typed: the
        beginning of the translation. Raises InputError for a line that is too long to be
        translated, and for a beginning that cannot be kept.
        """
        settings = settings or self.settings
        how, source = settings.translation, self.source
        terms = glossary or self._terms
        split = how.split_sentences and source.tokeniser.kind == "moses"
        target = self.target.tokeniser.language
        words_of, encode, _ = word_functions(source, how.faithful, target)
        parts: list[EncodedSentence] = []
        for sentence in sentences(line, source.tokeniser.language) if split else [line]:
            parts += cut(encode(words_of(sentence)), encode, how.max_source_length, number)
        if (words := sum(len(part.words) for part in parts)) > MOST_WORDS:
            what = f"line {number} has {words:,} words, and {MOST_WORDS:,} are the most"
            raise InputError(what, "write one sentence on each line")
        parts = list(map(terms.mark, parts)) if terms else parts
        return self._begun(parts, typed, number, settings) if typed.strip() else parts

    def _begun(
        self, parts: list[EncodedSentence], typed: str, number: int, settings: Settings
    ) -> list[EncodedSentence]:
        """Returns the parts of a line with the beginnings of their translations. Errors: as in
        `parts`."""
        check_order(self.networks[0])
        how, target = settings.translation, self.target
        given = by_sentence(typed, len(parts), target.tokeniser.language)
        begun = []
        for part, own in zip(parts, given, strict=True):
            beginning = encode_beginning(own, target, how.faithful)
            unfinished = beginning.kept > len(beginning.words)
            size = len(beginning.word_of) + unfinished
            most = longest(len(part.ids), settings.search)
            if size > most:
                what = f"line {number}: the beginning has {size:,} words or subwords"
                what = f"{what}, and {most:,} are allowed"
                remedy = "raise search.max_length_ratio, or shorten the beginning"
                raise InputError(what, remedy)
            begun.append(replace(part, beginning=beginning))
        return begun

    def translate_parts(
        self,
        parts: Sequence[EncodedSentence],
        *,
        settings: Settings | None = None,
        each_step: Callable[[], object] = lambda: None,
    ) -> list[Translation]:
        """Translates encoded parts separately; `joined` combines the translations of a line's
        parts.

        each_step: called before every word of every batch, in the calling thread; what it raises
        ends the search. A batch whose largest tensor would not fit in memory is split.
        """
        settings = settings or self.settings
        search, full = settings.search, [part for part in parts if part.words]
        recased = self._in_other_case(full) if settings.translation.faithful else {}
        searched, cost = partial(self._best, settings, each_step), partial(self._cost, search.beam)
        work = partial(in_halves, cost=cost, most=SEARCHED_ELEMENTS, work=searched)
        every = [*full, *recased.values()]
        done = batched_by_length(every, lambda part: len(part.ids), search.batch_size, work)
        others = dict(zip(recased, done[len(full) :], strict=True))
        best = (
            likelier(one, others.get(place), least_gain(part.words))
            for place, (part, one) in enumerate(zip(full, done, strict=False))
        )
        return [next(best) if part.words else empty_translation() for part in parts]

    def _in_other_case(self, parts: Sequence[EncodedSentence]) -> dict[int, EncodedSentence]:
        """Returns the parts that are also read in another case, so read, by their places."""
        from rnnsearch.translation.reading import in_other_case

        target = self.target.tokeniser.language
        read = (in_other_case(self.source, part, target) for part in parts)
        return {place: one for place, one in enumerate(read) if one is not None}

    def _best(
        self, settings: Settings, each_step: Callable[[], object], some: list[EncodedSentence]
    ) -> list[Translation]:
        """Translates a batch of parts."""
        beams = self._searched(some, settings.search, each_step)
        return [
            distinct([self._in_words(one, each, settings.translation) for each in beam])
            for one, beam in zip(some, beams, strict=True)
        ]

    def _cost(self, beam: int, some: list[EncodedSentence]) -> int:
        """Returns the number of elements of the largest tensor of a step."""
        positions = max(len(one.ids) for one in some)
        widest = max(len(self.target.vocabulary), self._networks.annotation_size * positions)
        return len(some) * beam * widest

    def _searched(
        self,
        some: Sequence[EncodedSentence],
        how: SearchSettings,
        each_step: Callable[[], object] = lambda: None,
        word_ends: Sequence[int] = (),
    ) -> list[list[Hypothesis]]:
        """Searches a batch of parts. word_ends: as in `with_beginnings`."""
        ids, lengths = (part.to(self._networks.device) for part in pad([one.ids for one in some]))
        networks = self._networks.converted(how.precision, how.kernels)
        sums = sums_of(how.kernels)
        find: BeamSearch = partial(beam_search, each_step=each_step, sums=sums)
        if any(one.beginning.places for one in some):
            from rnnsearch.search.prefix import with_beginnings  # only if there are some

            find = with_beginnings(find, [one.beginning.places for one in some], word_ends)
        if len(networks[0].directions) == 1:
            return search(networks, ids, lengths, how, find)
        from rnnsearch.search.two_directions import search_both  # few decoders have two
        from rnnsearch.translation.forced import forced_decoding

        forced = partial(forced_decoding, self.networks)
        return search_both(networks, ids, lengths, how, find, forced)

    def choices(self, line: str, prefix: str = "", count: int = 8) -> list[Choice]:
        """Returns the likeliest next words of a line's translation after a beginning, best first.
        UNK and the end of sentence do not count as words.

        prefix: whole words, with or without a space after them; `Translation.before` returns those
        before a word. Raises InputError as `translate` does.
        """
        from rnnsearch.translation.choices import next_words  # translating does not need it

        require("line", line, str)
        require("prefix", prefix, str)
        require_number("count", count, 1, MOST_CHOICES)
        check_order(self.networks[0])
        parts = self.parts(line, typed=f"{prefix} ")
        part = next((part for part in parts if [*part.beginning.places[-1:]] != [ENDED]), parts[-1])
        how, faithful = self.settings.search, self.settings.translation.faithful
        if not part.words:
            return []
        return next_words(part, self.target, count, how, self._searched, faithful)

    def score(self, pairs: Iterable[tuple[str, str]], *, batch_size: int = 64) -> list[float]:
        """Returns log p(y | x) of each pair (source line, translation), in nats. A bidirectional
        decoder gives the mean of both directions. Raises InputError as `force` does."""
        return [result.score for result in self.force(pairs, batch_size)]

    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        posterior: bool = False,
        exact: bool | None = None,
        batch_size: int = 64,
    ) -> list[Translation]:
        """Aligns the pairs: `links()` and `alignment` of each result say which words correspond.

        posterior, exact: as in `scorer`. `force` does the same for text of any length. Raises
        InputError as `force` does.
        """
        return list(self.force(pairs, batch_size, posterior=posterior, exact=exact))

    def force(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_size: int = 64,
        *,
        posterior: bool = False,
        exact: bool | None = None,
        scored: bool = True,
        first: int = 1,
    ) -> Iterator[Translation]:
        """Yields the scores and alignments of given translations: those of forced decoding.
        posterior, exact, scored: as in `scorer`.

        first: the number of the first pair in messages. Raises InputError for a pair that is not
        two lines of text, or is too long to be aligned.
        """
        return self.scorer(posterior, exact, scored).force(pairs, batch_size, first)

    def scorer(
        self, posterior: bool = False, exact: bool | None = None, scored: bool = True
    ) -> Scorer:
        """Returns a scorer with these networks.

        posterior: return the alignment posterior, which also uses the target word, instead of α
        (translation/forced.py).
        exact: if True, products are float32, and the posterior of every source position is
        computed, which is many times slower. If False, products have the fastest precision of the
        machine, and rows of the posterior are estimated; mostly, far less than a tenth of a row's
        weight is misplaced (translation/posterior.py). By default, α is exact if it is `scored`,
        and the posterior is not.
        scored: False skips log p, which takes most of the time unless `exact`; the score is then
        nan.
        """
        from rnnsearch.translation.scorer import Scorer  # translating does not need it

        exact = scored and not posterior if exact is None else exact
        kernels, codecs = self.settings.search.kernels, (self.source, self.target)
        return Scorer(self._networks, *codecs, kernels, posterior, exact, scored)

    def _glossary(self, entries: Mapping[str, str] | None) -> Glossary | None:
        if entries is None:
            return None
        from rnnsearch.translation.faithful import Glossary  # only if it is asked for

        return Glossary(self.source, self.target, entries)

    @cached_property
    def _faithful(self) -> Faithful:
        from rnnsearch.translation.faithful import Faithful  # only if it is asked for

        language = self.target.tokeniser.language
        return Faithful(self.source, self.target.known, self.dictionary, language)

    def _in_words(
        self, sentence: EncodedSentence, hypothesis: Hypothesis, settings: TranslationSettings
    ) -> Translation:
        """Returns the hypothesis in words."""
        begun = sentence.beginning
        written, places = self.target.decode(hypothesis.ids[len(begun.word_of) :])
        words = [*begun.words, *written]
        word_of = [*begun.word_of, *(len(begun.words) + place for place in places)]
        weights = hypothesis.weights[: len(word_of)]
        alignment = merge_subwords(weights, sentence.word_of, word_of, len(words))
        confidence = word_confidence(
            hypothesis.log_probabilities, word_of, len(words), settings.confidence
        )
        doubtful: list[str] = []
        if settings.faithful or settings.replace_unk or sentence.terms:
            words, alignment, confidence, doubtful = self._faithful(
                sentence, words, alignment, confidence, settings
            )
        if settings.faithful and not begun.kept and begins_small(sentence.words):
            kept = {*sentence.words, *(term.translation[0] for term in sentence.terms)}
            words = with_small_letter(words, self.target, kept)
        return Translation(
            text=self.target.text(words),
            tokens=words,
            source_tokens=[*sentence.words, END],
            score=hypothesis.score,
            log_probabilities=list(hypothesis.log_probabilities),
            alignment=alignment,
            finished=hypothesis.finished,
            confidence=confidence,
            doubtful_numbers=doubtful,
            unknown_words=[word for word in begun.unknown if word not in sentence.words],
        )


def likelier(one: Translation, other: Translation | None, least: float) -> Translation:
    """Returns the other translation if, given what was read, its log probability is larger by more
    than `least`."""
    gain = sum(other.log_probabilities) - sum(one.log_probabilities) if other else 0.0
    return other if other and other.tokens and gain > least else one


def distinct(hypotheses: Iterable[Translation]) -> Translation:
    """Returns the first translation; others that differ in words are its alternatives."""
    found: dict[tuple[str, ...], Translation] = {}
    for one in hypotheses:
        found.setdefault(tuple(one.tokens), one)
    best, *others = found.values()
    best.alternatives.extend(others)
    return best
