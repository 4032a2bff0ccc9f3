"""Text in, text and alignment out: `Translator` is the model as a user meets it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from rnnsearch.config import SearchSettings, Settings, changed
from rnnsearch.errors import InputError, warn_renamed
from rnnsearch.model.inference_weights import InferenceWeights, available
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Hypothesis, Translation
from rnnsearch.run import Run
from rnnsearch.system.arriving import arriving
from rnnsearch.system.batching import batches, in_halves
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.formats.given import given_lines, given_pairs
from rnnsearch.text.lexicon.table import LexicalTable
from rnnsearch.text.store.batches import pad
from rnnsearch.text.vocabulary import SPECIALS, UNK
from rnnsearch.translation.forced_pairs import Forcing, encoded_pair, forced_batch, numbers_of
from rnnsearch.translation.joint import Reader, in_order, search
from rnnsearch.translation.lexical_shortlist import in_vocabulary_ids, shortlist_of, shortlist_readers
from rnnsearch.translation.long_lines import cut, joined
from rnnsearch.translation.network_step import begin_search
from rnnsearch.translation.sampling import sample
from rnnsearch.translation.word_by_word import Heard, Listener, word_by_word
from rnnsearch.translation.word_weights import in_words

if TYPE_CHECKING:
    from rnnsearch.pretrained.card import ModelCard

END = SPECIALS[0]
READ_AHEAD = 16
"""Batches that are sorted by length together; results come back in the order of the input."""
LARGEST_BATCH = 1 << 29
"""Numbers of the largest tensor of one step. At the paper's size a batch has 64 × 12 hypotheses with 30,000 words each: 23 million."""

Item = TypeVar("Item")


class _Begun(NamedTuple):
    """A batch before its first word. shortlist: (shortlist,) the target ids that are searched; None where all words are."""

    readers: list[Reader]
    """One for each direction of the decoder."""
    lengths: torch.Tensor
    shortlist: NDArray[np.int64] | None

    def in_words(self, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        return found if self.shortlist is None else in_vocabulary_ids(found, self.shortlist)


class Translator:
    """One trained model, or an ensemble of several of the same vocabularies.

    search: the settings that a call does not override. dictionary: what `replace_unk` writes for a source word, instead of the word.
    lexical_table: makes a lexical shortlist for each batch; search and sampling consider only its words, and p(y | x) is over them.
    The networks' weights must stay as they are: they are converted once for the precision of the search.
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
        self._weights: dict[str, list[InferenceWeights]] = {}

    @classmethod
    def load(
        cls,
        *runs: str | Path,
        device: str = "cpu",
        trust_code: bool = False,
        dictionary: Mapping[str, str] | None = None,
        lexical_shortlist: str | Path | None = None,
        candidates: str | Path | None = None,
    ) -> Translator:
        """Opens a run, or several as an ensemble. Nothing found in a run is executed, and code that it names only with `trust_code`.

        runs: folders, or names of installed models (`rnnsearch models`). Where a run's own search is in int8 and this device has no such
        products, it is in float32.

        lexical_shortlist: file of a lexical translation table (`rnnsearch lexicon`); every batch is searched over the words it allows.
        candidates: the old name of `lexical_shortlist`.
        Raises InputError for a folder that is no run, runs whose vocabularies or directions of decoding differ, or a file that is no
        table for them.
        """
        if candidates is not None:
            warn_renamed("candidates", "lexical_shortlist", file="Translator.load")
            lexical_shortlist = lexical_shortlist or candidates
        if not runs:
            raise InputError("there is no run to load", remedy="give the folder of a trained run")
        opened = [Run.open(run) for run in runs]
        first = opened[0]
        for other in opened[1:]:
            for side in ("source", "target"):
                if getattr(other, side).vocabulary != getattr(first, side).vocabulary:
                    raise InputError(
                        f"has another {side} vocabulary than {first.path}", file=other.path, remedy="train both on the same corpus"
                    )
            theirs, ours = other.settings.model.decoder, first.settings.model.decoder
            if theirs != ours:
                what = f'has model.decoder = "{theirs}" and {first.path} has "{ours}"'
                raise InputError(
                    what,
                    file=other.path,
                    remedy="an ensemble needs one value for all runs; instead, rerank the n-best list of one run with the other",
                )
        vocabularies = first.source.vocabulary, first.target.vocabulary
        table = LexicalTable.read(Path(lexical_shortlist), *vocabularies) if lexical_shortlist else None
        networks = [run.load_network(trust_code=trust_code, device=device) for run in opened]
        search = first.settings.search
        if search.precision == "int8" and (device != "cpu" or not available()):
            search = changed(search, {"precision": "float32"})
        translator = cls(networks, first.source, first.target, search, dictionary, table)
        translator.settings = first.settings
        return translator

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str = "cpu", revision: str | None = None) -> Translator:
        """The model in a folder, of an installed name, or `owner/name` on a hub (extra `hub`; revision: a branch, tag or commit there).

        No code of a model is executed, and none that it names. Raises InputError as `load` does, and if the hub cannot give it.
        """
        from rnnsearch.pretrained.hub import fetched, is_hub_name

        return cls.load(fetched(str(name), revision) if is_hub_name(name) else name, device=device)

    def save_pretrained(self, folder: str | Path, *, int8: bool = False, card: ModelCard | None = None) -> None:
        """Writes the model as a folder that `from_pretrained` reads and that a hub can hold, with a README.md made of `card`.

        int8: 8-bit weights, a quarter of the size; searches are then in int8 unless told otherwise. The folder is whole or absent.
        Raises InputError for an ensemble or a translator that was not loaded from a run, and if the folder holds anything else.
        """
        from rnnsearch.pretrained.folder import save_model  # not at the top: whoever only translates need not wait for it

        if self.settings is None or len(self.networks) != 1:
            raise InputError("only a translator of one run can be saved as a model", remedy="load one run with Translator.load")
        save_model(Path(folder), self.settings, self.source, self.target, self.networks[0], int8=int8, card=card)

    def translate(self, lines: Iterable[str], *, listeners: Mapping[int, Listener] | None = None, **search: Any) -> list[Translation]:
        """The translations of these lines, one each. search: settings to change, for example beam=5, no_unk=True.

        listeners: of some lines, by their numbers from 0. With beam=1, each is told of its line's translation after every word that
        greedy search writes, with the alignment so far. Nobody is told of lines that are translated in parts, or by a decoder that
        reads from right to left.
        """
        settings = changed(self.search, search)
        heard = Heard(listeners or {} if settings.beam == 1 else {})
        return list(self._in_order([given_lines(lines)], lambda encoded: self._search(encoded, settings, heard), settings, heard))

    def stream(self, lines: Iterable[str], *, full_batches: bool = False, **search: Any) -> Iterator[Translation]:
        """As `translate`, for input of any length. An empty line gives an empty translation.

        The lines are read on a thread of their own, and what has come is translated at once: a line that comes alone waits for no other.
        full_batches: wait for whole batches instead, so that rounding does not depend on when the lines come.
        """
        settings = changed(self.search, search)
        some = given_lines(lines)
        groups = [some] if full_batches else arriving(some, READ_AHEAD * settings.batch_size)
        return self._in_order(groups, lambda encoded: self._search(encoded, settings, Heard({})), settings)

    def sample(
        self, lines: Iterable[str], *, samples: int = 1, temperature: float = 1.0, seed: int = 1, **search: Any
    ) -> Iterator[Translation]:
        """Draws translations from p(y | x) instead of searching the best; further samples are the `alternatives` of the first.

        Of a bidirectional decoder the left-to-right half draws, and scores.
        """
        settings = changed(self.search, search)
        generator = torch.Generator(self._device).manual_seed(seed)

        def draw(encoded: list[EncodedSentence]) -> list[list[Hypothesis]]:
            begun = self._begin(encoded, settings)
            reader = begun.readers[0]
            drawn = sample(
                reader.step, reader.state, begun.lengths, settings, temperature=temperature, samples=samples, generator=generator
            )
            return begun.in_words([[in_order(one) for one in every] for every in drawn] if reader.backward else drawn)

        def drawn(encoded: list[EncodedSentence]) -> list[Translation]:
            return self._in_words(encoded, draw(encoded), settings)

        return self._in_order([given_lines(lines)], partial(self._in_memory, hypotheses=samples, work=drawn), settings)

    def score(self, pairs: Iterable[tuple[str, str]], *, batch_size: int = 64) -> list[float]:
        """log p(y | x) of each pair of a source line and its translation, in nats; of both directions the mean, if the decoder has two."""
        return [result.score for result in self.force(pairs, batch_size)]

    def align(
        self, pairs: Iterable[tuple[str, str]], *, posterior: bool = False, exact: bool = False, batch_size: int = 64
    ) -> list[Translation]:
        """The pairs with their alignments: `links()` and `alignment` of each say which words belong together.

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

        posterior: the alignment that each word has once it is known, in place of α (translation/posterior.py).
        exact: the posterior of every source position, in float32: many times slower. Otherwise a row is estimated, mostly to far
        less than a tenth of its weight (translation/quick_alignment.py). α is the same either way.
        scored: False leaves out log p, and with it most of the time of α; the score is then nan.
        first: the number of the first pair, as messages have it.
        """
        encoded = (encoded_pair(self.source, self.target, pair, number) for number, pair in enumerate(given_pairs(pairs), first))
        how = Forcing(posterior=posterior, exact=exact, scored=scored)
        force = partial(forced_batch, self.networks, self._inference_weights, self.target, how)
        cost = partial(numbers_of, len(self.target.vocabulary), self._annotation_size)
        for ahead in batches(encoded, READ_AHEAD * batch_size):
            yield from batched_by_length(
                ahead,
                lambda pair: max(len(pair[0].ids), len(pair[1].ids)),
                batch_size,
                lambda some: in_halves(some, cost, LARGEST_BATCH, force),
            )

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the converted weights, which are made again."""
        return self.__dict__ | {"_weights": {}}

    @property
    def _annotation_size(self) -> int:
        return max(network.encoder.annotation_size for network in self.networks)

    @property
    def _device(self) -> torch.device:
        return self.networks[0].output.weight.device

    def _in_order(
        self, groups: Iterable[Iterable[str]], work: Any, settings: SearchSettings, heard: Heard | None = None
    ) -> Iterator[Translation]:
        """A translation for each line; those longer than `max_source_length` are cut, and put together again.

        groups: of lines; no batch has lines of two.
        """
        counts: deque[int] = deque()  # of the parts of each line
        numbers = count(1)

        def parts(lines: Iterable[str]) -> Iterator[EncodedSentence]:
            for line in lines:
                number = next(numbers)
                some = cut(self.source.encode(line), self.source, settings.max_source_length, number)
                counts.append(len(some))
                if heard is not None and len(some) == 1:
                    heard.begin(number - 1, some[0])
                yield from some

        for lines in groups:
            made = self._encoded_in_order(parts(lines), work, settings.batch_size)
            for first in made:
                yield joined([first, *islice(made, counts.popleft() - 1)], self.target.text)

    def _encoded_in_order(self, encoded: Iterable[EncodedSentence], work: Any, batch_size: int) -> Iterator[Translation]:
        for ahead in batches(encoded, READ_AHEAD * batch_size):
            full = [sentence for sentence in ahead if sentence.words]
            done = iter(batched_by_length(full, lambda sentence: len(sentence.ids), batch_size, work))
            for sentence in ahead:
                yield next(done) if sentence.words else _nothing()

    @torch.no_grad()
    def _begin(self, encoded: Sequence[EncodedSentence], settings: SearchSettings) -> _Begun:
        ids, lengths = pad([sentence.ids for sentence in encoded])
        shortlist = None
        if self.lexical_table is not None:
            shortlist = shortlist_of(ids.numpy(), self.lexical_table, len(self.target.vocabulary), settings)
        chosen = None if shortlist is None else torch.from_numpy(shortlist).to(self._device)
        ids, lengths = ids.to(self._device), lengths.to(self._device)
        weights = self._inference_weights(settings.precision)
        readers = begin_search(self.networks, weights, ids, lengths, chosen)
        if chosen is not None:
            readers = shortlist_readers(readers, chosen)
        return _Begun(readers, lengths, shortlist)

    def _inference_weights(self, precision: str) -> list[InferenceWeights]:
        """Of each network, converted at their first use."""
        return self._weights.setdefault(precision, [InferenceWeights(precision) for _ in self.networks])

    def _search(self, encoded: list[EncodedSentence], settings: SearchSettings, heard: Heard) -> list[Translation]:
        def searched(some: list[EncodedSentence]) -> list[Translation]:
            begun = self._begin(some, settings)
            told = {number: self._told(begun, sentence, tell, settings) for number, sentence, tell in heard.among(some)}
            found = search(begun.readers, begun.lengths, settings, word_by_word(told) if told else None)
            return self._in_words(some, begun.in_words(found), settings)

        return self._in_memory(encoded, settings.beam, searched)

    def _told(self, begun: _Begun, sentence: EncodedSentence, tell: Listener, settings: SearchSettings) -> Callable[[Hypothesis], None]:
        return lambda so_far: tell(self._translation(sentence, begun.in_words([[so_far]])[0][0], settings.replace_unk))

    def _in_memory(
        self, encoded: list[EncodedSentence], hypotheses: int, work: Callable[[list[EncodedSentence]], list[Translation]]
    ) -> list[Translation]:
        """Work on fewer sentences at a time where so many hypotheses, words or positions would fill the memory."""

        def cost(some: list[EncodedSentence]) -> int:
            positions = max(len(sentence.ids) for sentence in some)
            return len(some) * hypotheses * max(len(self.target.vocabulary), self._annotation_size * positions)

        return in_halves(encoded, cost, LARGEST_BATCH, work)

    def _in_words(self, encoded: list[EncodedSentence], found: list[list[Hypothesis]], settings: SearchSettings) -> list[Translation]:
        translations = []
        for sentence, hypotheses in zip(encoded, found, strict=True):
            best, *others = (self._translation(sentence, hypothesis, settings.replace_unk) for hypothesis in hypotheses)
            best.alternatives.extend(others)
            translations.append(best)
        return translations

    def _translation(self, sentence: EncodedSentence, hypothesis: Hypothesis, replace_unk: bool) -> Translation:
        decoded = self.target.decode(hypothesis.ids)
        alignment = in_words(hypothesis.weights[: len(decoded.word_of)], sentence.word_of, decoded.word_of, len(decoded.words))
        words = list(decoded.words)
        if replace_unk:
            for position, number in enumerate(hypothesis.ids[: len(decoded.word_of)]):
                on_words = alignment[decoded.word_of[position], :-1]
                if number == UNK and on_words.any():  # else it read no word, and stands for none
                    aligned = sentence.words[int(np.argmax(on_words))]
                    words[decoded.word_of[position]] = self.dictionary.get(aligned, aligned)
        return Translation(
            text=self.target.text(words),
            tokens=words,
            source_tokens=[*sentence.words, END],
            score=hypothesis.score,
            log_probabilities=list(hypothesis.log_probabilities),
            alignment=alignment,
            finished=hypothesis.finished,
        )


def batched_by_length(items: list[Item], length: Any, batch_size: int, work: Any) -> list[Any]:
    """Calls `work` on batches of items of similar length and returns its results in the order of the items."""
    order = sorted(range(len(items)), key=lambda index: length(items[index]), reverse=True)
    results: dict[int, Any] = {}
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        results.update(zip(batch, work([items[index] for index in batch]), strict=True))
    return [results[index] for index in range(len(items))]


def _nothing() -> Translation:
    return Translation("", [], [END], 0.0, [], np.zeros((0, 1), dtype=np.float32))
