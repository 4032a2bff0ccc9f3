"""Selects the pairs of a pool that are most like a domain, by bilingual cross-entropy difference (Axelrod, He
& Gao 2011)."""

from __future__ import annotations

import functools
import heapq
import json
import pickle
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int32
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import prepare_output, written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.formats.opening import STDIN
from rnnsearch.text.formats.readers import Layout, LinePair, ParallelText, parallel_texts
from rnnsearch.text.ngrams import Floats, NgramModel, encode_text
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import SPECIALS, Vocabulary

MINIMUM_COUNT = 2
"""A word must occur this often in the domain to be in the vocabulary of all models of its language; every
other word is unknown."""

Names = Sequence[str | Path]
Tokenisers = tuple[Tokeniser, Tokeniser]

_CHUNK = 2_000  # pairs sent to a worker at a time
_SMALL = 5 * _CHUNK  # fewer pairs are done before the workers have started


def tokenised(pairs: Iterable[LinePair], tokenisers: Tokenisers) -> list[LinePair]:
    """Returns the pairs without an empty side, as lines of words joined by spaces, which need less memory
    than lists."""
    words = ((tokenisers[0].words(source), tokenisers[1].words(target)) for source, target in pairs)
    return [(" ".join(source), " ".join(target)) for source, target in filter(all, words)]


def word_counts(pairs: Iterable[LinePair]) -> list[int]:
    """Counts the words of either side of tokenised pairs."""
    return [sum(line.count(" ") + 1 for line in side) for side in zip(*pairs, strict=True)]


def random_sample(pairs: Iterable[LinePair], tokenisers: Tokenisers, words: int, seed: int) -> list[LinePair]:
    """Returns tokenised pairs drawn at random, in the order of the pool: just enough pairs for `words` words
    on both sides together, or all pairs if there are fewer words.

    It takes one pass, and only the sample is in memory: each pair draws a random number, and the lowest
    numbers are the sample.
    """
    random = np.random.default_rng(seed)
    numbers = chain.from_iterable(random.random(4096).tolist() for _ in iter(int, 1))
    chosen: list[tuple[float, int, int, LinePair]] = []  # a heap: the highest number, negated, comes first
    total = 0
    for position, (number, line) in enumerate(zip(numbers, pairs, strict=False)):
        if total >= words and number >= -chosen[0][0]:
            continue
        for pair in tokenised([line], tokenisers):
            total += (size := sum(word_counts([pair])))
            heapq.heappush(chosen, (-number, position, size, pair))
        while chosen and total - chosen[0][2] >= words:
            total -= heapq.heappop(chosen)[2]
    return [pair for *_, pair in sorted(chosen, key=lambda entry: entry[1])]


class Contrast(NamedTuple):
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
            what = f"no {side} word of the in-domain text occurs twice"
            raise InputError(what, remedy="give more text of the domain")
        texts = (encode_text(map(str.split, lines), vocabulary) for lines in (domain, pool))
        return cls(vocabulary, *(NgramModel.estimate(text, len(vocabulary), order) for text in texts))

    def differences(self, sentences: Iterable[Sequence[str]]) -> Floats:
        """Returns H_domain(s) − H_pool(s) of each sentence, in bits per word."""
        text = encode_text(sentences, self.vocabulary)
        return self.domain.cross_entropies(text) - self.pool.cross_entropies(text)


@dataclass(frozen=True, slots=True)
class PairScorer:
    """Scores pairs with the contrasts of both sides in a file; it can be sent to another process."""

    file: Path
    tokenisers: Tokenisers

    def __call__(self, lines: list[LinePair]) -> tuple[NDArray[np.float32], list[int]]:
        """Returns the sums of both sides' differences, infinite if a side is empty, and the numbers of target
        words."""
        sides = [
            list(map(tokeniser.words, side))
            for tokeniser, side in zip(self.tokenisers, zip(*lines, strict=True), strict=True)
        ]
        source, target = (one.differences(side) for one, side in zip(_opened(self.file), sides, strict=True))
        filled = [all(pair) for pair in zip(*sides, strict=True)]
        return np.where(filled, source + target, np.inf).astype(np.float32), list(map(len, sides[1]))


@functools.lru_cache(maxsize=1)
def _opened(file: Path) -> list[Contrast]:
    contrasts: list[Contrast] = pickle.loads(file.read_bytes())
    return contrasts


class Scores(NamedTuple):
    """A scored pool: its files and how they were read, what its report says, the CRC-32 of its text, and for
    each pair the score, the lower the better, and the words of the target side."""

    pool: list[str]
    layout: Layout
    report: str
    checksum: int
    score: Float32[NDArray[np.float32], " pairs"]
    words: Int32[NDArray[np.int32], " pairs"]

    def save(self, path: Path) -> None:
        """Writes a file of NumPy arrays, whole or not at all."""
        about = json.dumps([self.pool, [getattr(self.layout, name) for name in Layout.__slots__], *self[2:4]])
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.savez(file, about=np.array(about), score=self.score, words=self.words)

    @classmethod
    def open(cls, path: Path) -> Scores:
        """Opens what `save` wrote. Raises InputError if it is something else, or cut short."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                pool, layout, report, checksum = json.loads(str(arrays["about"]))
                return cls(pool, Layout(*layout), report, checksum, arrays["score"], arrays["words"])
        except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
            what = (isinstance(error, OSError) and error.strerror) or "is not a whole file of scores"
            remedy = "give a file that `rnnsearch select --scores` of this version wrote"
            raise InputError(what, file=path, remedy=remedy) from None

    def best(self, amount: float, unit: str) -> Bool[NDArray[np.bool_], " pairs"]:
        """Returns a mask of the best pairs up to an amount in all; of equally good pairs, the earlier one
        comes first. unit: "pairs", target "words", or "share" of the target words."""
        sizes = np.ones_like(self.words) if unit == "pairs" else self.words
        limit = int(amount * sizes.sum()) if unit == "share" else int(amount)
        order = np.argsort(self.score, kind="stable")
        kept = np.zeros(len(order), np.bool_)
        kept[order[: np.searchsorted(np.cumsum(sizes[order]), limit, side="right")]] = True
        return kept & np.isfinite(self.score)


def score_pool(
    in_domain: Names,
    pool: Names,
    *,
    settings: DataSettings,
    layout: Layout | None = None,
    order: int = 4,
    seed: int = 1,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> Scores:
    """Returns the score of every pair of the pool: [H_I(s) − H_O(s)] + [H_I(t) − H_O(t)], in bits per word;
    the lower, the more in-domain.

    I are models of the in-domain texts; O are models of a random sample of the pool with as many words. All
    have the same order; their vocabulary is the words that occur at least twice in-domain. The pool is read
    twice and is never in memory as a whole. in_domain, pool, layout: files as `parallel_texts` takes them.
    settings: of the tokenisers. seed: of the sample. workers: processes that score. More than one are
    spawned, so a script that asks for them needs `if __name__ == "__main__":`. Raises InputError for files
    that cannot be read or are not parallel, and texts without words.
    """
    layout = layout or Layout("", "", "", settings.source_language, settings.target_language)
    tokenisers = side_tokeniser("source", settings), side_tokeniser("target", settings)
    domain = tokenised(_pairs(parallel_texts(in_domain, layout=layout)), tokenisers)
    texts = _pool_texts(pool, layout)
    progress("sampling the pool", 0, None)
    sample = random_sample(_pairs(texts), tokenisers, sum(word_counts(domain)), seed) if domain else []
    for text, what, names in ((domain, "in-domain text", in_domain), (sample, "pool", pool)):
        if not text:
            raise InputError(f"the {what} has no pair with words on both sides", file=names[0])
    progress("estimating the models", 0, None)
    sides = zip(SIDES, zip(*domain, strict=True), zip(*sample, strict=True), strict=True)
    contrasts = [Contrast.learn(own, general, order, side) for side, own, general in sides]
    known = _both([len(contrast.vocabulary) - len(SPECIALS) for contrast in contrasts])
    report = (
        f"in-domain: {len(domain):,} pairs, {_both(word_counts(domain))} words; {known} of them in the "
        f"vocabularies (they occur twice)\nsample of the pool (seed {seed}): {len(sample):,} pairs, "
        f"{_both(word_counts(sample))} words\n"
    )
    scores, words, checksum = [], [], 0
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
        (file := Path(folder) / "models").write_bytes(pickle.dumps(contrasts))
        pairs = _pairs(texts)
        beginning = list(islice(pairs, _SMALL))
        processes = workers if len(beginning) == _SMALL else 1
        given = _chunks(chain(beginning, pairs))
        for lines, (found, lengths) in ordered_map(PairScorer(file, tokenisers), given, processes):
            scores.append(found)
            words.append(np.array(lengths, np.int32))
            checksum = _crc(lines, checksum)
            progress("scoring", len(scores) * _CHUNK, None)
    return Scores(
        list(map(str, pool)), layout, report, checksum, np.concatenate(scores), np.concatenate(words)
    )


def _pool_texts(names: Names, layout: Layout) -> list[ParallelText]:
    for name in names:
        if str(name) == STDIN or Path(name).is_fifo():
            what = "the pool is read twice, so it cannot come from a pipe"
            raise InputError(what, file=name, remedy="give a file")
    return parallel_texts(names, layout=layout)


def _pairs(texts: Iterable[ParallelText]) -> Iterator[LinePair]:
    return chain.from_iterable(text.pairs() for text in texts)


def _chunks(pairs: Iterator[LinePair]) -> Iterator[list[LinePair]]:
    return iter(lambda: list(islice(pairs, _CHUNK)), [])


def _crc(lines: list[LinePair], before: int) -> int:
    return zlib.crc32("".join(f"{source}\n{target}\n" for source, target in lines).encode("utf-8"), before)


def _both(numbers: list[int]) -> str:
    return " | ".join(f"{number:,}" for number in numbers)


def output_files(out: str | Path, layout: Layout, overwrite: bool) -> list[Path]:
    """Returns the two files that `select` writes. Raises InputError if one is there already and may not be
    replaced."""
    endings = (layout.source_language, layout.target_language)
    files = [Path(f"{out}.{ending}") for ending in (endings if endings[0] != endings[1] else SIDES)]
    for file in files:
        prepare_output(file, overwrite)
    return files


def select(
    scores: Scores,
    out: str | Path,
    amount: float,
    unit: str,
    *,
    pool: Names = (),
    overwrite: bool = False,
    progress: Progress = lambda text, done, total: None,
) -> str:
    """Writes the best pairs of a scored pool, in the pool's order, line by line to `out`.LANGUAGE of either
    side, and returns a report.

    Pairs are taken as `Scores.best` does; pairs with an empty side are never kept. pool: the files, if they
    have moved since they were scored. Raises InputError if the pool is not the one that was scored, if
    nothing is kept, and if an output file exists.
    """
    files = output_files(out, scores.layout, overwrite)
    pairs, kept = _pairs(_pool_texts(pool or scores.pool, scores.layout)), scores.best(amount, unit)
    if not kept.any():
        remedy = "raise --words, --share or --pairs"
        raise InputError("the amount is too small to select any pair", remedy=remedy)
    position = checksum = 0
    with written_whole(files[0]) as source_path, written_whole(files[1]) as target_path:
        with source_path.open("wb") as source, target_path.open("wb") as target:
            for lines in _chunks(pairs):
                chosen = list(compress(lines, kept[position : position + len(lines)].tolist()))
                for side, file in enumerate((source, target)):
                    file.write("".join(f"{pair[side]}\n" for pair in chosen).encode("utf-8"))
                position, checksum = position + len(lines), _crc(lines, checksum)
                progress("writing", position, len(kept))
        if (position, checksum) != (len(kept), scores.checksum):
            what = f"the pool is not the text that was scored ({', '.join(scores.pool)}: {len(kept):,} pairs)"
            remedy = "give the files that were scored with --pool, in the same order, or score again"
            raise InputError(what, remedy=remedy)
        for path in files:  # a crash between the two renames must not leave a new side next to an old one
            path.unlink(missing_ok=True)
    words, all_words = scores.words[kept].sum(), scores.words.sum()
    return (
        f"{scores.report}pool: selected {kept.sum():,} of {len(kept):,} pairs, {words:,} of {all_words:,} "
        f"target words ({100 * words / all_words:.2f} %)\nscores: up to {scores.score[kept].max():.4f} bits "
        f"per word\nwritten: {', '.join(map(str, files))}\n"
    )
