"""A codec whose subwords a reader can see: whole words, or single letters."""

from __future__ import annotations

from rnnsearch.text.codec import Codec
from rnnsearch.text.subword_training import train_subwords
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary


def words_and_letters() -> Codec:
    """English words of one subword each, letters for all others, and no emoji."""
    words = "the a said Peter reads book love you now stop it costs euros in to XX 12"
    counts = dict.fromkeys(words.split(), 1000)
    counts |= dict.fromkeys(
        "$%{}_<>=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.@-#\"'", 1
    )
    subwords = train_subwords(counts, "bpe", 200)
    return Codec(Tokeniser("moses", "en", False), Vocabulary(subwords.vocabulary()), subwords)
