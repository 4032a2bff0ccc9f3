"""Selects the pairs of a pool that are most like a domain, by bilingual cross-entropy difference
(Axelrod, He & Gao 2011)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from rnnsearch.arguments import in_step
from rnnsearch.errors import InputError
from rnnsearch.lab.held_out import pairs_of
from rnnsearch.lab.ngrams import Floats, Ids, NgramModel, encode_text
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import prepare_output, refuse_inputs, written_whole
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.formats.layout import Layout, LinePair
from rnnsearch.text.formats.opening import is_on_disk
from rnnsearch.text.formats.readers import ParallelText, parallel_texts
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import SPECIALS, Vocabulary

MINIMUM_COUNT = 2
"""A word must occur this often in the domain to be in the vocabulary of all models of its language;
every other word is unknown."""

Names = Sequence[str | Path]
Tokenisers = tuple[Tokeniser, Tokeniser]
Scores = Float32[np.ndarray, " pairs"]

_CHUNK = 2_000  # pairs scored at a time


def tokenised(pairs: Iterable[LinePair], tokenisers: Tokenisers) -> list[LinePair]:
    """Returns the pairs without an empty side, as lines of words joined by spaces, which need less
    memory than lists."""
    words = (tuple(map(Tokeniser.words, tokenisers, pair)) for pair in pairs)
    return [(" ".join(source), " ".join(target)) for source, target in filter(all, words)]


def word_counts(pairs: Iterable[LinePair]) -> list[int]:
    """Counts the words of either side of tokenised pairs."""
    return [sum(line.count(" ") + 1 for line in side) for side in zip(*pairs, strict=True)]


def random_sample(
    pairs: Iterable[LinePair], tokenisers: Tokenisers, words: int, seed: int
) -> list[LinePair]:
    """Returns tokenised pairs drawn at random, in the order of the pool: just enough pairs for
    `words` words on both sides together, or all pairs if there are fewer words.

    It takes one pass, and only the sample is in memory: each pair draws a random number, and the
    lowest numbers are the sample.
    """
    random = np.random.default_rng(seed)
    numbers = chain.from_iterable(random.random(4096).tolist() for _ in iter(int, 1))
    # a heap: the highest number, negated, comes first
    chosen: list[tuple[float, int, int, LinePair]] = []
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

    tokeniser: Tokeniser
    vocabulary: Vocabulary
    domain: NgramModel
    pool: NgramModel

    @classmethod
    def learn(
        cls,
        domain: Sequence[str],
        pool: Sequence[str],
        order: int,
        side: Side,
        tokeniser: Tokeniser,
    ) -> Contrast:
        """Learns from tokenised lines. Raises InputError if no word occurs often enough."""
        counts = Counter(chain.from_iterable(map(str.split, domain)))
        vocabulary = Vocabulary.from_counts(counts, len(counts), MINIMUM_COUNT)
        if len(vocabulary) == len(SPECIALS):
            what = f"no {side} word of the in-domain text occurs twice"
            raise InputError(what, "give more text of the domain")
        texts = (encode_text(map(str.split, lines), vocabulary) for lines in (domain, pool))
        models = (NgramModel.estimate(text, len(vocabulary), order) for text in texts)
        return cls(tokeniser, vocabulary, *models)

    def differences(self, lines: Iterable[str]) -> tuple[Floats, Ids]:
        """Returns H_domain(s) − H_pool(s) of each line, in bits per word, and the numbers of
        words."""
        text = encode_text(map(self.tokeniser.words, lines), self.vocabulary)
        differences = self.domain.cross_entropies(text) - self.pool.cross_entropies(text)
        return differences, np.diff(text.starts) - 2


def pair_scores(contrasts: Sequence[Contrast], lines: Sequence[LinePair]) -> tuple[Scores, Ids]:
    """Returns the sums of both sides' differences, infinite if a side is empty, and the numbers of
    target words."""
    sides = zip(contrasts, zip(*lines, strict=True), strict=True)
    (source, source_words), (target, words) = (one.differences(side) for one, side in sides)
    filled = (source_words > 0) & (words > 0)
    return np.where(filled, source + target, np.inf).astype(np.float32), words


def best(scores: Scores, words: Ids, amount: float, unit: str) -> Bool[np.ndarray, " pairs"]:
    """Returns a mask of the pairs with the lowest scores up to an amount in all; of equally good
    pairs, the earlier one comes first. words: of the target sides. unit: "pairs", target "words",
    or "share" of the target words."""
    sizes = np.ones_like(words) if unit == "pairs" else words
    limit = int(amount * sizes.sum()) if unit == "share" else int(amount)
    order = np.argsort(scores, kind="stable")
    kept = np.zeros(len(order), np.bool_)
    kept[order[: np.searchsorted(np.cumsum(sizes[order]), limit, side="right")]] = True
    kept &= np.isfinite(scores)
    return kept


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """Options of `select`. layout: of the files. order: of the language models. seed: of the sample
    of the pool. overwrite: whether files may be replaced."""

    layout: Layout = field(default_factory=Layout)
    order: int = 4
    seed: int = 1
    overwrite: bool = False
    progress: Progress = silent


def select(
    in_domain: Names,
    pool: Names,
    out: str | Path,
    amount: tuple[float, str],
    settings: DataSettings,
    options: SelectOptions,
) -> str:
    """Writes the pairs of the pool with the lowest scores [H_I(s) − H_O(s)] + [H_I(t) − H_O(t)], in
    bits per word, in the pool's order, line by line to `out`.LANGUAGE. Returns a report.

    I are models of the in-domain texts; O are models of a random sample of the pool with as many
    words. All have the same order; their vocabulary is the words that occur at least twice
    in-domain. The pool is read three times and is never in memory as a whole.
    in_domain, pool: files as `parallel_texts` takes them. amount: as of `best`; pairs with an empty
    side are never kept. settings: of the tokenisers.
    Raises InputError for files that cannot be read or are not parallel, texts without words, if
    nothing is kept, and if an output file exists.
    """
    files = _output_files(out, settings, [*in_domain, *pool], options.overwrite)
    domain_texts, texts = (
        parallel_texts(names, layout=options.layout) for names in (in_domain, pool)
    )
    for name in (one for one in pool if not is_on_disk(one)):
        what = "the pool is read several times"
        raise InputError(what, "give a file, not a pipe", file=name)
    tokenisers = side_tokeniser("source", settings), side_tokeniser("target", settings)
    domain = tokenised(pairs_of(domain_texts), tokenisers)
    options.progress("sampling the pool", 0, None)
    size = sum(word_counts(domain))
    sample = random_sample(pairs_of(texts), tokenisers, size, options.seed) if domain else []
    for text, what, names in ((domain, "in-domain text", in_domain), (sample, "pool", pool)):
        if not text:
            raise InputError(f"the {what} has no pair with words on both sides", file=names[0])
    options.progress("estimating the models", 0, None)
    contrasts = [
        Contrast.learn(own, general, options.order, side, tokeniser)
        for own, general, side, tokeniser in zip(
            zip(*domain, strict=True), zip(*sample, strict=True), SIDES, tokenisers, strict=True
        )
    ]
    pairs, found = pairs_of(texts), []
    while lines := list(islice(pairs, _CHUNK)):
        found.append(pair_scores(contrasts, lines))
        options.progress("scoring", len(found) * _CHUNK, None)
    scores, words = map(np.concatenate, zip(*found, strict=True))
    kept = best(scores, words, *amount)
    if not kept.any():
        remedy = "raise --words, --share or --pairs"
        raise InputError("the amount is too small to select any pair", remedy)
    _write(texts, kept.tolist(), files)
    known = _both([len(contrast.vocabulary) - len(SPECIALS) for contrast in contrasts])
    return (
        f"in-domain: {len(domain):,} pairs, {_both(word_counts(domain))} words; {known} of them in"
        f" the vocabularies (they occur twice)\nsample of the pool (seed {options.seed}):"
        f" {len(sample):,} pairs, {_both(word_counts(sample))} words\npool: selected {kept.sum():,}"
        f" of {len(kept):,} pairs, {words[kept].sum():,} of {words.sum():,} target words"
        f" ({words[kept].sum() / words.sum():.2%})\nscores: up to {scores[kept].max():.4f} bits per"
        f" word\nwritten: {', '.join(map(str, files))}\n"
    )


def _write(texts: Sequence[ParallelText], kept: list[bool], files: list[Path]) -> None:
    """Writes the pairs that are kept. Raises InputError if the pool has changed since it was
    scored."""
    changed = "the pool", "the pool that was scored"
    with written_whole(files[0]) as source_path, written_whole(files[1]) as target_path:
        with source_path.open("wb") as source, target_path.open("wb") as target:
            for pair, keep in in_step(pairs_of(texts), kept, changed, "begin again"):
                if keep:
                    source.write(f"{pair[0]}\n".encode())
                    target.write(f"{pair[1]}\n".encode())
        # a crash between the two renames must not leave a new side next to an old one
        for path in files:
            path.unlink(missing_ok=True)


def _both(numbers: list[int]) -> str:
    return " | ".join(f"{number:,}" for number in numbers)


def _output_files(
    out: str | Path, settings: DataSettings, inputs: Names, overwrite: bool
) -> list[Path]:
    """Returns the files to write. Raises InputError if one is an input, or is there already and may
    not be replaced."""
    languages = settings.source_language, settings.target_language
    endings = SIDES if len({*languages}) == 1 else languages
    files = [Path(f"{out}.{ending}") for ending in endings]
    refuse_inputs(files, inputs)
    for file in files:
        prepare_output(file, overwrite)
    return files
