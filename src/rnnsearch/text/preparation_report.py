"""The report of `prepare` on pairs read, kept and dropped, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from rnnsearch.text.formats.lines import InputWarnings, SideWarnings

EXAMPLES_EACH, SAMPLES = 3, 10
_SHOWN = 120  # characters of an example


@dataclass(frozen=True, order=True, slots=True)
class ShownPair:
    """An example pair in the report: the name of its text, its number there (1-based), and the
    beginnings of its sides."""

    text: str
    number: int
    source: str
    target: str


@dataclass(slots=True)
class Dropped:
    """The pairs that were dropped for one reason: their number, and the first few. setting: the
    setting that turns the filter off; empty if none does."""

    reason: str
    setting: str = ""
    pairs: int = 0
    examples: list[ShownPair] = field(default_factory=list)

    def add(self, pair: ShownPair) -> None:
        """Counts a dropped pair, and keeps it as an example if it is one of the first."""
        self.pairs += 1
        if len(self.examples) < EXAMPLES_EACH:
            self.examples.append(pair)


@dataclass(slots=True)
class TextReport:
    """The report on one parallel text.

    link_words: the words that its links refer to, "given" or "tokenised"; empty without links.
    repeat: how often each pair that is kept is used. repairs: number of changes to its lines,
    of each kind.
    """

    name: str
    pairs_read: int = 0
    pairs_kept: int = 0
    source_warnings: InputWarnings = field(default_factory=InputWarnings)
    target_warnings: InputWarnings = field(default_factory=InputWarnings)
    link_words: str = ""
    repeat: int = 1
    repairs: dict[str, int] = field(default_factory=dict)

    @property
    def warnings(self) -> SideWarnings:
        return self.source_warnings, self.target_warnings


@dataclass(slots=True)
class SideReport:
    """The report on one side of the kept pairs, each counted as often as it is used.

    kind: of the tokeniser's words; characters or clauses of text without spaces. words,
    distinct_words, longest: of the tokenised text (longest sentence in words). tokens: the words or
    subwords that the network reads; known_tokens: those with an id of their own; known_sentences:
    sentences that have only such tokens.
    vocabulary: its size with the two specials; 0 of development text.
    """

    kind: str = "words"
    sentences: int = 0
    words: int = 0
    distinct_words: int = 0
    longest: int = 0
    tokens: int = 0
    known_tokens: int = 0
    known_sentences: int = 0
    vocabulary: int = 0


@dataclass(slots=True)
class PreparationReport:
    """The report of a whole preparation.

    unit: what the network reads, words or subwords. pairs_used: those that are kept, each as often
    as its text is repeated. links: None without word links. dev_source, dev_target: None without
    dev. repeated:
    kept pairs that are the same as an earlier one. dev_in_train: development pairs that are also
    kept pairs.
    """

    unit: str = "words"
    pairs_read: int = 0
    pairs_kept: int = 0
    pairs_used: int = 0
    dropped: list[Dropped] = field(default_factory=list)
    texts: list[TextReport] = field(default_factory=list)
    source: SideReport = field(default_factory=SideReport)
    target: SideReport = field(default_factory=SideReport)
    samples: list[ShownPair] = field(default_factory=list)
    links: int | None = None
    dev: list[TextReport] = field(default_factory=list)
    dev_source: SideReport | None = None
    dev_target: SideReport | None = None
    repeated: int = 0
    dev_in_train: int = 0

    def json(self) -> str:
        """Returns the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def text(self) -> str:
        """Returns the report for a person to read."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        used = (
            f"; {self.pairs_used:,} with repetitions" if self.pairs_used != self.pairs_kept else ""
        )
        kept = f"{self.pairs_kept:,} kept ({share(self.pairs_kept, self.pairs_read)})"
        yield f"pairs    {self.pairs_read:,} read, {kept}{used}"
        for dropped in self.dropped:
            yield (
                f"dropped  {dropped.pairs:,} "
                f"({dropped.reason}{f'; {dropped.setting}' if dropped.setting else ''})"
            )
            for example in dropped.examples:
                yield f"           {self._pair(example)}"
        if self.repeated:
            yield (
                f"repeated {self.repeated:,} of the kept pairs repeat an earlier one "
                "(data.drop_duplicates = true drops them)"
            )
        for text in self.texts:
            yield from self._text(text)
        yield from self._side("source", self.source)
        yield from self._side("target", self.target)
        if self.links is not None:
            yield (
                f"links    {self.links:,} between {self.unit},"
                f" {self.links / max(self.pairs_used, 1):.1f} per pair"
            )
        if self.dev_source and self.dev_target:
            yield f"dev      {self.dev_source.sentences:,} pairs, all kept"
            if self.dev_in_train:
                yield (
                    f"  warning    {self.dev_in_train:,} of the development pairs are also in the"
                    " training text, so validation scores will be too good: remove them from one"
                    " of the two"
                )
            for text in self.dev:
                yield from self._text(text)
            yield from self._side("dev source", self.dev_source)
            yield from self._side("dev target", self.dev_target)
        for sample in self.samples:
            yield f"sample   {self._pair(sample)}"

    def _pair(self, pair: ShownPair) -> str:
        where = f"{pair.text} " if len(self.texts) > 1 else ""
        sides = (_beginning(side) or "(empty)" for side in (pair.source, pair.target))
        return f"{where}pair {pair.number}: {' ||| '.join(sides)}"

    def _text(self, text: TextReport) -> Iterator[str]:
        used = f", used {text.repeat} times" if text.repeat > 1 else ""
        yield f"text     {text.name}: {text.pairs_read:,} read, {text.pairs_kept:,} kept{used}"
        if text.repairs:
            kinds = (f"{kind} {changes:,}" for kind, changes in sorted(text.repairs.items()))
            yield f"  repairs    {', '.join(kinds)}"
        if text.link_words == "tokenised":
            yield "  links      refer to the tokeniser's words"
        for side, warnings in (("source", text.source_warnings), ("target", text.target_warnings)):
            for kind, lines in sorted(warnings.lines.items()):
                yield (
                    f"  warning    {side}: {kind}: {lines:,} line{'s' * (lines != 1)}, first line "
                    f"{warnings.first[kind]:,}"
                )

    def _side(self, name: str, side: SideReport) -> Iterator[str]:
        yield name
        mean = side.words / max(side.sentences, 1)
        yield (
            f"  {side.kind:<10} {side.words:,}, {side.distinct_words:,} distinct; {mean:.1f} per "
            f"sentence, at most {side.longest:,}"
        )
        entries = f"{side.vocabulary:,} entries; " if side.vocabulary else ""
        known = f"{share(side.known_tokens, side.tokens)} of the {side.tokens:,} {self.unit}"
        whole = share(side.known_sentences, side.sentences)
        yield (
            f"  vocabulary {entries}it covers {known}; {whole} of the sentences have no unknown"
            f" {self.unit}"
        )


def share(part: int, whole: int) -> str:
    """Formats part / whole in percent; "none" if whole is 0."""
    return f"{100 * part / whole:.2f} %" if whole else "none"


def _beginning(line: str) -> str:
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
