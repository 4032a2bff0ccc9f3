"""Pieces of words, by sentencepiece: an open vocabulary in place of the shortlist."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

WORD_START = "▁"
"""U+2581 begins the first piece of every word."""

_SENTENCES = 1_000_000  # trained on at most this many, drawn at random: more change the pieces little and cost memory
_SEED = 1


class Subwords:
    """A sentencepiece model of one language. It sees words, never raw text, so every piece belongs to exactly one word."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = _processor(model)

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]], kind: Literal["unigram", "bpe"], size: int, path: Path) -> Subwords:
        """Trains on tokenised sentences and writes the model to `path`.

        size: number of pieces wanted; a small corpus may give fewer. The result depends on nothing but the arguments.
        Raises InputError if the sentences hold no word, or too few to make pieces of.
        """
        model = _train((_joined(words) for words in sentences if words), kind, size)
        path.write_bytes(model)
        return cls(model)

    @classmethod
    def load(cls, path: Path) -> Subwords:
        """Reads what `train` wrote. Raises InputError if the file cannot be read or is not such a model."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None
        except (RuntimeError, ValueError):
            raise InputError("is not a sentencepiece model", file=path) from None

    def save(self, path: Path) -> None:
        path.write_bytes(self._model)

    def vocabulary(self) -> list[str]:
        """All pieces, best first, without sentencepiece's own sign for the unknown."""
        processor = self._processor
        return [processor.id_to_piece(number) for number in range(len(processor)) if not processor.is_unknown(number)]

    def pieces(self, words: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cuts words into pieces: (pieces, word_of), where piece k belongs to words[word_of[k]].

        Characters that training did not see come out as pieces that are in no vocabulary.
        """
        pieces: list[str] = self._processor.encode(_joined(words), out_type=str) if words else []
        word_of = [number - 1 for number in accumulate(int(piece.startswith(WORD_START)) for piece in pieces)]
        if words and (word_of[0] != 0 or word_of[-1] != len(words) - 1):
            raise ValueError(f"the pieces {pieces} do not begin where the words {list(words)} do")
        return pieces, word_of

    def words(self, pieces: Sequence[str]) -> tuple[list[str], list[int]]:
        """Joins pieces to words: (words, word_of), where piece k became a part of words[word_of[k]].

        Takes any sequence, as a model may write any: a first piece without word start begins a word all the same, and a bare
        word start belongs to the word after it. No word is empty unless nothing but word starts were given.
        """
        words: list[str] = []
        word_of: list[int] = []
        for piece in pieces:
            if not words or (piece.startswith(WORD_START) and words[-1]):
                words.append("")
            words[-1] += piece.removeprefix(WORD_START)
            word_of.append(len(words) - 1)
        if len(words) > 1 and not words[-1]:  # word starts at the end, with nothing after them
            words.pop()
            word_of = [min(number, len(words) - 1) for number in word_of]
        return words, word_of

    def __reduce__(self) -> tuple[type[Subwords], tuple[bytes]]:
        return Subwords, (self._model,)


def _joined(words: Sequence[str]) -> str:
    # A word start inside a word would cut it in two.
    return " ".join(words).replace(WORD_START, "_")


def _processor(model: bytes) -> SentencePieceProcessor:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor()
    if not model or not processor.LoadFromSerializedProto(model):
        raise ValueError("not a sentencepiece model")
    return processor


def _train(lines: Iterator[str], kind: str, size: int) -> bytes:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(_SEED)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type=kind,
            vocab_size=size + 1,  # its unknown sign, which cannot be left out
            hard_vocab_limit=False,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            normalization_rule_name="identity",  # a piece must spell the word as it stands
            character_coverage=0.99999,  # one unknown character in some 700 sentences, and no piece for every stray sign
            input_sentence_size=_SENTENCES,
            shuffle_input_sentence=True,
            num_threads=1,  # sums in one order: the same text gives the same model
            minloglevel=2,
        )
    except RuntimeError as error:
        what = f"sentencepiece cannot make {size} {kind} pieces of this text: {error}"
        raise InputError(what, remedy="lower data.shortlist, or give more text") from None
    return model.getvalue()
