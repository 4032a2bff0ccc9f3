"""Trains subwords by sentencepiece, on words and their frequencies."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.text.subwords import Subwords, spelt

Frequencies = Mapping[str, int]
"""Word → how often it occurs."""
_SEED = 1
_LINE = 40  # words
_RUNNING_WORDS = 4_000_000  # sentencepiece takes some 150 bytes for each


def train_subwords(
    counts: Frequencies, kind: Literal["unigram", "bpe"], size: int, marks_words: bool = True
) -> Subwords:
    """Trains on words and their frequencies; the result depends only on the arguments.

    No subword crosses a word boundary, so word frequencies are enough, and a corpus of any size
    fits in memory. bpe uses the frequencies directly. unigram needs running text, so it reads
    at most a few million words, the same share of each. size: number of subwords wanted, of
    which at most half are single characters; a small corpus may give fewer.
    Raises InputError if there are no words, or too few to train on.
    """
    import sentencepiece

    model, counts = io.BytesIO(), _of_common_characters(counts, size // 2)
    sentencepiece.set_random_generator_seed(_SEED)
    frequencies = (f"{word}\t{count}" for word, count in _ordered(counts))
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=frequencies if kind == "bpe" else _running_text(counts, marks_words),
            add_dummy_prefix=marks_words,
            input_format="tsv" if kind == "bpe" else "text",
            model_writer=model,
            model_type=kind,
            vocab_size=size + 1,  # + 1 for its unknown symbol, which is mandatory
            hard_vocab_limit=False,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            normalization_rule_name="identity",  # a subword must not change the spelling
            # one unknown character in some 700 sentences, but no subwords for stray characters
            character_coverage=0.99999,
            num_threads=1,  # one summation order: the same text gives the same model
            minloglevel=2,
        )
    except RuntimeError as error:
        what = f"sentencepiece cannot make {size} {kind} subwords of this text: {error}"
        raise InputError(what, "lower data.vocabulary_size, or give more text") from None
    return Subwords(model.getvalue())


def _of_common_characters(counts: Frequencies, most: int) -> Frequencies:
    """Cuts words at all but the `most` most frequent characters, which become no subwords: without
    that, Chinese and Japanese characters would leave no room for longer subwords, or exceed their
    number."""
    frequencies = Counter[str]()
    for word, count in counts.items():
        for character in word:
            frequencies[character] += count
    rare = [ord(character) for character, _ in _ordered(frequencies)[most:]]
    if not rare:
        return counts
    cut, parts = dict.fromkeys(rare, " "), Counter[str]()
    for word, count in counts.items():
        for part in word.translate(cut).split():
            parts[part] += count
    return parts


def _running_text(counts: Frequencies, several: bool = True) -> Iterator[str]:
    """Yields lines of one word or several in random order, each word as often as it occurs, or only
    every n-th occurrence if there are too many."""
    ordered = _ordered(counts)
    words, before = [word for word, _ in ordered], np.cumsum([0, *(count for _, count in ordered)])
    every = max(1, -(-int(before[-1]) // _RUNNING_WORDS))
    running = np.repeat(np.arange(len(words)), np.diff(-(-before // every)))
    np.random.default_rng(_SEED).shuffle(running)
    size = _LINE if several else 1
    for start in range(0, len(running), size):
        yield " ".join(words[number] for number in running[start : start + size].tolist())


def _ordered(counts: Frequencies) -> list[tuple[str, int]]:
    """Returns (spelling, frequency), most frequent first. The order does not depend on the order of
    the text."""
    return [
        (spelt(word), count)
        for word, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
