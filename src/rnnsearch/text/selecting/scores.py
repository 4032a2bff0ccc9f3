"""Scores how much more each pair of a pool resembles a domain than the pool (Axelrod, He & Gao 2011), with
four n-gram models. The file of scores has eight bytes per pair."""

from __future__ import annotations

import functools
import heapq
import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import written_whole
from rnnsearch.system.parsing import check_regular, parse_json
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.formats.opening import STDIN
from rnnsearch.text.formats.readers import Layout, LinePair, ParallelText, parallel_texts
from rnnsearch.text.selecting.ngrams import Floats, NgramModel, encode_text
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import SPECIALS, Vocabulary

MINIMUM_COUNT = 2
"""A word must occur this often in the domain to be in the vocabulary of all models of its language; every
other word is unknown."""

RECORD = np.dtype([("score", "<f4"), ("words", "<u4")])
"""One pair: its score, the lower the better, infinite for a pair that is never kept; and the words of its
target side."""

Records = NDArray[Any]  # of RECORD, one per pair
Names = Sequence[str | Path]

_FORMAT = "rnnsearch scores 1"
_CHUNK = 2_000  # pairs sent to a worker at a time
_SMALL = 5 * _CHUNK  # fewer pairs are done before the workers have started


class Tokenisers(NamedTuple):
    """The tokenisers of the two languages."""

    source: Tokeniser
    target: Tokeniser

    def words(self, line: LinePair) -> tuple[list[str], list[str]]:
        return self.source.words(line[0]), self.target.words(line[1])


def tokenised(pairs: Iterable[LinePair], tokenisers: Tokenisers) -> list[LinePair]:
    """Returns the pairs without an empty side, as lines of words joined by spaces, which need less memory
    than lists."""
    words = filter(all, map(tokenisers.words, pairs))
    return [(" ".join(source), " ".join(target)) for source, target in words]


def word_counts(pairs: Iterable[LinePair]) -> list[int]:
    """Counts the words of either side of tokenised pairs."""
    sizes = [[line.count(" ") + 1 for line in pair] for pair in pairs]
    return [sum(side) for side in zip(*sizes, strict=True)]


def random_sample(pairs: Iterable[LinePair], tokenisers: Tokenisers, words: int, seed: int) -> list[LinePair]:
    """Returns tokenised pairs drawn at random, in the order of the pool: just enough pairs for `words` words
    on both sides together, or all pairs if there are fewer words.

    It takes one pass, and only the sample is in memory: each pair draws a random number, and the lowest
    numbers are the sample.
    """
    chosen: list[tuple[float, int, int, LinePair]] = []  # a heap: the highest number, negated, comes first
    total = 0
    for position, (number, line) in enumerate(zip(_random_numbers(seed), pairs, strict=False)):
        if total >= words and number >= -chosen[0][0]:
            continue
        for pair in tokenised([line], tokenisers):
            size = sum(word_counts([pair]))
            heapq.heappush(chosen, (-number, position, size, pair))
            total += size
        while chosen and total - chosen[0][2] >= words:
            total -= heapq.heappop(chosen)[2]
    return [pair for _, _, _, pair in sorted(chosen, key=lambda entry: entry[1])]


def _random_numbers(seed: int) -> Iterator[float]:
    random = np.random.default_rng(seed)
    while True:
        yield from random.random(4096).tolist()


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two language models of one side with the same vocabulary: of the domain and of the pool."""

    vocabulary: Vocabulary
    domain: NgramModel
    pool: NgramModel

    @classmethod
    def learn(cls, domain: Sequence[str], pool: Sequence[str], order: int, side: Side) -> Contrast:
        """Learns from tokenised lines. Raises InputError if no word occurs often enough."""
        counts = Counter(chain.from_iterable(map(str.split, domain)))
        vocabulary = Vocabulary.from_counts(counts, len(counts), MINIMUM_COUNT)
        if len(vocabulary) == len(SPECIALS):
            raise InputError(
                f"no {side} word of the in-domain text occurs twice", remedy="give more text of the domain"
            )
        models = [
            NgramModel.estimate(encode_text(map(str.split, lines), vocabulary), len(vocabulary), order)
            for lines in (domain, pool)
        ]
        return cls(vocabulary, *models)

    def differences(self, sentences: list[list[str]]) -> Floats:
        """Returns H_domain(s) − H_pool(s) of each sentence, in bits per word."""
        text = encode_text(sentences, self.vocabulary)
        return self.domain.cross_entropies(text) - self.pool.cross_entropies(text)

    def save(self, folder: Path) -> None:
        """Writes the vocabulary and both models into a new folder."""
        for name, model in {"domain": self.domain, "pool": self.pool}.items():
            (folder / name).mkdir(parents=True)
            model.save(folder / name)
        self.vocabulary.save(folder / "vocabulary.txt")

    @classmethod
    def open(cls, folder: Path) -> Contrast:
        """Opens what `save` wrote; the models are mapped into memory."""
        return cls(
            Vocabulary.load(folder / "vocabulary.txt"),
            NgramModel.open(folder / "domain"),
            NgramModel.open(folder / "pool"),
        )


@dataclass(frozen=True, slots=True)
class PairScorer:
    """Scores pairs with the models in the folders `source` and `target` of `folder`: a plain value that can
    be sent to another process."""

    folder: Path
    tokenisers: Tokenisers

    def __call__(self, lines: list[LinePair]) -> Records:
        """Returns the records of these pairs: the sum of both sides' differences, infinite if a side is
        empty, and the words of the target."""
        sentences = [self.tokenisers.words(line) for line in lines]
        sources, targets = [source for source, _ in sentences], [target for _, target in sentences]
        records = np.empty(len(lines), RECORD)
        records["score"] = _opened(self.folder / "source").differences(sources) + _opened(
            self.folder / "target"
        ).differences(targets)
        records["score"][[not source or not target for source, target in sentences]] = np.inf
        records["words"] = [len(target) for target in targets]
        return records


@functools.lru_cache(maxsize=2)
def _opened(folder: Path) -> Contrast:
    """Opens the models once in each process."""
    return Contrast.open(folder)


@dataclass(frozen=True, slots=True)
class ScoresHeader:
    """The files that were scored, and how they were scored.

    in_domain, pool: the names of the files. layout: how they were read. Numbers of words and vocabulary sizes
    are for source and target. pairs, checksum: number of pairs and CRC-32 of the pool's text.
    """

    pool: list[str]
    in_domain: list[str]
    layout: Layout
    tokeniser: str
    order: int
    seed: int
    in_domain_pairs: int
    in_domain_words: list[int]
    sample_pairs: int
    sample_words: list[int]
    vocabularies: list[int]
    pairs: int = 0
    checksum: int = 0


class Scores(NamedTuple):
    """An opened file of scores. Records are read from the disk when they are needed."""

    about: ScoresHeader
    records: Records


def write_scores(path: Path, about: ScoresHeader, parts: Iterable[tuple[Records, int]]) -> None:
    """Writes a file of scores, whole or not at all. parts: the next records, and the checksum of the pool's
    text up to there."""
    size = len(_header(about, 10**15, 2**32))
    size += -size % RECORD.itemsize
    pairs = checksum = 0
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(bytes(size))  # the header's place: it counts the pairs, so it is written last
        for records, checksum_so_far in parts:
            file.write(records.tobytes())
            pairs, checksum = pairs + len(records), checksum_so_far
        file.seek(0)
        file.write(_header(about, pairs, checksum)[:-1].ljust(size - 1) + b"\n")


def _header(about: ScoresHeader, pairs: int, checksum: int) -> bytes:
    header = {"format": _FORMAT} | asdict(about) | {"pairs": pairs, "checksum": checksum}
    return json.dumps(header).encode() + b"\n"


def open_scores(path: Path) -> Scores:
    """Opens what `write_scores` wrote. Raises InputError if it is something else, or cut short."""
    remedy = "give a file that `rnnsearch select --scores` wrote"
    try:
        check_regular(path)
        with path.open("rb") as file:
            header = file.readline(1 << 24)
            length = path.stat().st_size - len(header)
        content = parse_json(header)
        if content.pop("format") != _FORMAT:
            raise ValueError
        about = ScoresHeader(**content | {"layout": Layout(**content["layout"])})
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, remedy=remedy) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError("is not a file of scores", file=path, remedy=remedy) from None
    if length != about.pairs * RECORD.itemsize or not about.pairs:
        what, remedy = "the file of scores is damaged or incomplete", "copy it again, or score again"
        raise InputError(what, file=path, remedy=remedy)
    return Scores(about, np.memmap(path, RECORD, mode="r", offset=len(header)))


def score_pool(
    in_domain: Names,
    pool: Names,
    scores: str | Path,
    *,
    settings: DataSettings,
    layout: Layout | None = None,
    order: int = 4,
    seed: int = 1,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> ScoresHeader:
    """Writes the score of every pair of the pool: [H_I(s) − H_O(s)] + [H_I(t) − H_O(t)], in bits per word;
    the lower, the more in-domain.

    I are models of the in-domain texts; O are models of a random sample of the pool with as many words. All
    have the same order; their vocabulary is the words that occur at least twice in-domain. The pool is read
    twice and is never in memory as a whole. in_domain, pool, layout: files as `parallel_texts` takes them.
    settings: of the tokenisers. seed: of the sample. workers: processes that score. More than one are
    spawned, so a script that asks for them needs `if __name__ == "__main__":`. Raises InputError for files
    that cannot be read or are not parallel, and texts without words.
    """
    layout = layout or Layout(
        source_language=settings.source_language, target_language=settings.target_language
    )
    tokenisers = Tokenisers(*(side_tokeniser(side, settings) for side in SIDES))
    domain_texts, texts = parallel_texts(in_domain, layout=layout), pool_texts(pool, layout)
    domain = tokenised(_pairs(domain_texts), tokenisers)
    if not domain:
        raise InputError("the in-domain text has no pair with words on both sides", file=domain_texts[0].name)
    words = word_counts(domain)
    pairs = _counted(_pairs(texts), "sampling the pool", progress)
    sample = random_sample(pairs, tokenisers, sum(words), seed)
    if not sample:
        raise InputError("the pool has no pair with words on both sides", file=texts[0].name)
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
        progress("estimating the models", 0, None)
        vocabularies = []
        for place, side in enumerate(SIDES):
            own, general = ([pair[place] for pair in text] for text in (domain, sample))
            contrast = Contrast.learn(own, general, order, side)
            contrast.save(Path(folder) / side)
            vocabularies.append(len(contrast.vocabulary) - len(SPECIALS))
        about = ScoresHeader(
            pool=[str(name) for name in pool],
            in_domain=[str(name) for name in in_domain],
            layout=layout,
            tokeniser=f"{settings.tokeniser}, lowercase" if settings.lowercase else settings.tokeniser,
            order=order,
            seed=seed,
            in_domain_pairs=len(domain),
            in_domain_words=words,
            sample_pairs=len(sample),
            sample_words=word_counts(sample),
            vocabularies=vocabularies,
        )
        scored = _scored(texts, PairScorer(Path(folder), tokenisers), workers, progress)
        write_scores(Path(scores), about, scored)
    return open_scores(Path(scores)).about


def pool_texts(names: Names, layout: Layout) -> list[ParallelText]:
    """Returns the texts of a pool. Raises InputError for a pipe, and as `parallel_texts` does."""
    for name in names:
        if str(name) == STDIN or Path(name).is_fifo():
            what = "the pool is read twice, so it cannot come from a pipe"
            raise InputError(what, file=name, remedy="give a file")
    return parallel_texts(names, layout=layout)


def _pairs(texts: Iterable[ParallelText]) -> Iterator[LinePair]:
    return chain.from_iterable(text.pairs() for text in texts)


def _counted(pairs: Iterable[LinePair], what: str, progress: Progress) -> Iterator[LinePair]:
    for number, pair in enumerate(pairs, 1):
        yield pair
        if number % _CHUNK == 0:
            progress(what, number, None)


def _scored(
    texts: list[ParallelText], scorer: PairScorer, workers: int, progress: Progress
) -> Iterator[tuple[Records, int]]:
    """Yields the records of a chunk of pairs, and the checksum of the text up to there."""
    pairs = _pairs(texts)
    beginning = list(islice(pairs, _SMALL))
    workers = workers if len(beginning) == _SMALL else 1
    done = checksum = 0
    for lines, records in ordered_map(scorer, chunks(chain(beginning, pairs)), workers):
        checksum = text_checksum(lines, checksum)
        yield records, checksum
        done += len(lines)
        progress("scoring", done, None)


def chunks(pairs: Iterator[LinePair]) -> Iterator[list[LinePair]]:
    """Cuts pairs into lists."""
    while chunk := list(islice(pairs, _CHUNK)):
        yield chunk


def text_checksum(lines: list[LinePair], before: int) -> int:
    """Returns the CRC-32 of a text. before: of the text before these lines."""
    return zlib.crc32("".join(f"{source}\n{target}\n" for source, target in lines).encode("utf-8"), before)
