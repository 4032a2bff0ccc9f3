"""What `prepare` read, dropped and found: for people as text and as a page, for programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from rnnsearch.text.formats.lines import InputWarnings

EXAMPLES = 3
_SHOWN = 120  # characters of an example


@dataclass(frozen=True, slots=True)
class DroppedExample:
    """A dropped pair: its text, its number in it (1-based) and the beginnings of its raw sides."""

    text: str
    number: int
    source: str
    target: str


@dataclass(slots=True)
class Dropped:
    """How many pairs were dropped for one reason, and the first few of them. setting: what turns it off, empty if nothing does."""

    reason: str
    setting: str = ""
    pairs: int = 0
    examples: list[DroppedExample] = field(default_factory=list)

    def show(self, text: str, number: int, source: str, target: str) -> None:
        if len(self.examples) < EXAMPLES:
            self.examples.append(DroppedExample(text, number, _beginning(source), _beginning(target)))


@dataclass(slots=True)
class TextReport:
    """One parallel text. link_words: what its word links count, "given" or "tokenised" words; empty without links."""

    name: str
    pairs_read: int = 0
    pairs_kept: int = 0
    source_warnings: InputWarnings = field(default_factory=InputWarnings)
    target_warnings: InputWarnings = field(default_factory=InputWarnings)
    link_words: str = ""


@dataclass(slots=True)
class SideReport:
    """One side of the pairs that stay.

    words, distinct_words, longest: of the tokenised text (longest sentence in words). uncounted: 0, or, if there were more different
    words than a table holds, how often a word may have occurred and be missing in distinct_words.
    tokens: the words or subwords that the network reads; known_tokens, known_sentences: how many of them have an id of their own,
    how many sentences have only such tokens.
    lengths: sentences of 0, 1, 2, … words. growth: (words read, different words among them). coverage: (most frequent words, the share of
    running words that they are).
    """

    sentences: int = 0
    words: int = 0
    distinct_words: int = 0
    uncounted: int = 0
    longest: int = 0
    tokens: int = 0
    known_tokens: int = 0
    known_sentences: int = 0
    lengths: list[int] = field(default_factory=list)
    growth: list[tuple[int, int]] = field(default_factory=list)
    coverage: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Padding:
    """What one way of making batches wastes. share: of the positions of both sides, those that are padding."""

    batches: str
    share: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair that stays, in words."""

    text: str
    number: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class PreparationReport:
    """The whole of a preparation. Vocabulary sizes include the two specials; dev_source and dev_target are None without dev.

    ratios: pairs by target words / source words, as (lower bound, pairs); the last has no upper bound. links: None without word links.
    """

    pairs_read: int
    pairs_kept: int
    dropped: list[Dropped]
    unit: str
    source_vocabulary: int
    target_vocabulary: int
    texts: list[TextReport]
    source: SideReport
    target: SideReport
    ratios: list[tuple[float, int]]
    padding: list[Padding]
    samples: list[Sample]
    links: int | None = None
    dev: list[TextReport] = field(default_factory=list)
    dev_source: SideReport | None = None
    dev_target: SideReport | None = None

    def json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"pairs    {self.pairs_read:,} read, {self.pairs_kept:,} kept ({share(self.pairs_kept, self.pairs_read)})"
        for dropped in self.dropped:
            yield f"dropped  {dropped.pairs:,} ({dropped.reason}{f'; {dropped.setting}' if dropped.setting else ''})"
            for example in dropped.examples:
                where = f"{example.text} " if len(self.texts) > 1 else ""
                yield f"           {where}pair {example.number}: {example.source or '(empty)'} ||| {example.target or '(empty)'}"
        for text in self.texts:
            yield from self._text(text)
        yield from self._side("source", self.source, self.source_vocabulary)
        yield from self._side("target", self.target, self.target_vocabulary)
        if self.links is not None:
            yield f"links    {self.links:,} between {self.unit}, {self.links / max(self.pairs_kept, 1):.1f} per pair"
        for padding in self.padding:
            yield f"padding  {100 * padding.share:.1f} % of the positions in {padding.batches}"
        if self.dev_source and self.dev_target:
            yield f"dev      {self.dev_source.sentences:,} pairs, all kept"
            for text in self.dev:
                yield from self._text(text)
            yield from self._side("dev source", self.dev_source)
            yield from self._side("dev target", self.dev_target)

    def _text(self, text: TextReport) -> Iterator[str]:
        yield f"text     {text.name}: {text.pairs_read:,} read, {text.pairs_kept:,} kept"
        if text.link_words == "tokenised":
            yield "  links      refer to the tokeniser's words"
        for side, warnings in (("source", text.source_warnings), ("target", text.target_warnings)):
            for kind, lines in sorted(warnings.lines.items()):
                yield f"  warning    {side}: {kind}: {lines:,} line{'s' * (lines != 1)}, first line {warnings.first[kind]:,}"

    def _side(self, name: str, side: SideReport, vocabulary: int = 0) -> Iterator[str]:
        yield name
        mean = side.words / max(side.sentences, 1)
        more = f" or more (words that occur {side.uncounted:,} times or less may be missing)" if side.uncounted else ""
        yield f"  words      {side.words:,}, {side.distinct_words:,} distinct{more}; {mean:.1f} per sentence, at most {side.longest:,}"
        entries = f"{vocabulary:,} entries; " if vocabulary else ""
        known = f"{share(side.known_tokens, side.tokens)} of the {side.tokens:,} {self.unit}"
        whole = share(side.known_sentences, side.sentences)
        yield f"  vocabulary {entries}it covers {known}; {whole} of the sentences have no unknown {self.unit}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"


def _beginning(line: str) -> str:
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
