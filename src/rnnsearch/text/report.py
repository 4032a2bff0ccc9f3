"""What `prepare` read, dropped and found: for people as text, for programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from rnnsearch.text.filters import Dropped
from rnnsearch.text.reading import Oddities


@dataclass(slots=True)
class TextReport:
    """One side of one set of pairs, as stored.

    words, distinct_words, longest: of the tokenised text (longest sentence in words). tokens: words, or pieces of words, that the
    network reads; known_tokens, known_sentences: how many of them have an id of their own, how many sentences have only such tokens.
    """

    file: str
    oddities: Oddities = field(default_factory=Oddities)
    sentences: int = 0
    words: int = 0
    distinct_words: int = 0
    longest: int = 0
    tokens: int = 0
    known_tokens: int = 0
    known_sentences: int = 0

    def read(self, words: int) -> None:
        """Counts a sentence of so many words."""
        self.sentences += 1
        self.words += words
        self.longest = max(self.longest, words)

    def encoded(self, tokens: int, unknown: int) -> None:
        """Counts a sentence of so many tokens, the end of sentence left out, of which so many are UNK."""
        self.tokens += tokens
        self.known_tokens += tokens - unknown
        self.known_sentences += int(unknown == 0)


@dataclass(frozen=True, slots=True)
class PreparationReport:
    """The whole of a preparation. Vocabulary sizes include the two specials; dev_source and dev_target are None without dev."""

    pairs_read: int
    pairs_kept: int
    dropped: list[Dropped]
    unit: str
    source_vocabulary: int
    target_vocabulary: int
    source: TextReport
    target: TextReport
    dev_source: TextReport | None = None
    dev_target: TextReport | None = None

    def json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"pairs    {self.pairs_read:,} read, {self.pairs_kept:,} kept ({_share(self.pairs_kept, self.pairs_read)})"
        for dropped in self.dropped:
            yield f"dropped  {dropped.pairs:,} ({dropped.reason})"
            for example in dropped.examples:
                yield f"           line {example.line}: {example.source or '(empty)'} ||| {example.target or '(empty)'}"
        yield from self._side("source", self.source, self.source_vocabulary)
        yield from self._side("target", self.target, self.target_vocabulary)
        if self.dev_source and self.dev_target:
            yield f"dev      {self.dev_source.sentences:,} pairs, all kept"
            yield from self._side("dev source", self.dev_source)
            yield from self._side("dev target", self.dev_target)

    def _side(self, name: str, side: TextReport, vocabulary: int = 0) -> Iterator[str]:
        yield f"{name}: {side.file}"
        mean = side.words / max(side.sentences, 1)
        yield f"  words      {side.words:,}, {side.distinct_words:,} different; {mean:.1f} a sentence, at most {side.longest:,}"
        entries = f"{vocabulary:,} entries; " if vocabulary else ""
        share = f"{_share(side.known_tokens, side.tokens)} of the {side.tokens:,} {self.unit}"
        yield f"  vocabulary {entries}it knows {share}, and {_share(side.known_sentences, side.sentences)} of the sentences whole"
        for kind, lines in sorted(side.oddities.lines.items()):
            yield f"  odd        {kind}: {lines:,} line{'s' * (lines != 1)}, first line {side.oddities.first[kind]:,}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"
