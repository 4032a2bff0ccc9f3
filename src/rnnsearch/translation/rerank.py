"""Moses n-best lists (`id ||| hypothesis ||| features ||| score`), scored by a model and put in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.nbest import SEPARATOR, NbestEntry, is_nbest
from rnnsearch.translation.translator import Translator


def not_nbest(pairs: Iterable[tuple[str, str]], file: str | Path) -> Iterator[tuple[str, str]]:
    """The pairs of source lines and translations. Raises InputError if the latter are an n-best list after all."""
    for number, (source, target) in enumerate(pairs, 1):
        if number == 1 and is_nbest(target):
            raise InputError("an n-best list cannot come through a pipe", file=file, line=1, remedy="write it to a file first")
        yield source, target


def rerank(translator: Translator, source: Sequence[str], candidates: Iterable[NbestEntry], batch_size: int = 64) -> Iterator[str]:
    """The list again, each sentence's candidates by falling log p(y | x): `id ||| hypothesis ||| features rnnsearch= s ||| s`."""
    for sentence, group in groupby(candidates, key=lambda candidate: candidate.sentence):
        mine = list(group)
        scores = [result.score for result in translator.force(((source[sentence], candidate.text) for candidate in mine), batch_size)]
        for score, candidate in sorted(zip(scores, mine, strict=True), key=lambda pair: -pair[0]):
            features = " ".join((*candidate.rest[:1], f"rnnsearch= {score:.4f}"))
            yield SEPARATOR.join((str(sentence), candidate.text, features, f"{score:.4f}"))
