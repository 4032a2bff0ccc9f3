"""Table 3 and error browsing: chosen sentences with every system's translation side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from rnnsearch.drawing.page import (
    Block,
    Column,
    Paragraph,
    Section,
    Sentence,
    Sentences,
    SentenceText,
    Table,
    Value,
    Word,
)
from rnnsearch.evaluation.alignment_error import LEFT_OUT, TOO_OFTEN
from rnnsearch.evaluation.measures import CHRF
from rnnsearch.records import Translation
from rnnsearch.report.attention import UNKNOWN, Faults, faults, longest_gap
from rnnsearch.report.part import Part

SHOWN = 3
"""Sentences shown of each kind."""
SHORTEST = 10
"""Fewest source words of a best or worst sentence: many shorter sentences score very high or very low, which
says little."""
ATTENDED: tuple[tuple[str, str, Callable[[Faults], int]], ...] = (
    ("left-out", "phrases left out", lambda each: longest_gap(each.left_out)),
    ("repeated", "repeated words", lambda each: len(each.again)),
)
"""Faults that the attention shows, as (stem of the block's name, title, severity in a sentence)."""

LEGEND = (
    "Marked words of a translation are not in the reference, or not at this place. Framed words are UNKs "
    "that a run wrote. "
    f"Best and worst are by chrF2, among sentences of at least {SHORTEST} words."
)
LEGEND_OF_ATTENTION = (
    " Remarks on source words come from the attention. Among phrases left out, the "
    "source words left out are struck through."
)

_WORD = re.compile(rf"{re.escape(UNKNOWN)}|\w+(?:-\w+)*['’]?|[^\w\s]")


def words(text: str) -> list[Word]:
    """Splits a line into words, punctuation marks and UNKs, and notes whether a space follows each."""
    found = list(_WORD.finditer(text))
    follows = [*(match.start() for match in found), len(text)][1:]
    return [
        Word(match[0], "unknown" if match[0] == UNKNOWN else "", space=match.end() < start)
        for match, start in zip(found, follows, strict=True)
    ]


def marked(text: str, reference: str) -> list[Word]:
    """Splits a translation into words, and marks those outside the blocks that match the reference. Case
    counts."""
    ours, theirs = words(text), words(reference)
    matcher = SequenceMatcher(
        None, [word.text for word in ours], [word.text for word in theirs], autojunk=False
    )
    kept = {block.a + offset for block in matcher.get_matching_blocks() for offset in range(block.size)}
    return [
        word if place in kept or word.kind else replace(word, kind="differs")
        for place, word in enumerate(ours)
    ]


class Compared:
    """The sentences of a test set with every system's translation, its faults and its chrF2."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.faults = {name: [faults(each) for each in run.translations] for name, run in part.attending}
        self.chrf = {name: found[CHRF].by_sentence() for name, found in part.measures.statistics.items()}
        """chrF2, because BLEU and TER are noisy on single sentences."""

    def block(
        self, name: str, caption: str, numbers: Sequence[int], source_of: str = "", *, open: bool = False
    ) -> Sentences:
        """Returns these sentences with the texts of all systems. source_of: the run whose left-out source
        words are struck through."""
        found = [self._sentence(number, source_of) for number in numbers]
        return Sentences(f"{self.part.prefix}{name}", caption, found, open=open)

    def _sentence(self, number: int, source_of: str) -> Sentence:
        measures = self.part.measures
        source, reference = words(measures.test.source[number]), measures.test.reference[number]
        lines = []
        for system in measures.systems:
            shown = marked(system.texts[number], reference) or [Word("(nothing)")]
            remarks: list[str] = []
            if system.run is not None:
                translation = system.run.translations[number]
                found = self.faults[system.name][number] if system.run.attends else None
                remarks = list(_remarks(translation, found))
                notes = iter(found.unknown if found else ())
                if found:
                    shown = [
                        replace(word, note=f"for {next(notes, '?')}") if word.text == UNKNOWN else word
                        for word in shown
                    ]
                if found and system.name == source_of:
                    source = [
                        Word(word, "left-out", "little attention") if place in found.left_out else Word(word)
                        for place, word in enumerate(translation.source_tokens[:-1])
                    ]
            score = f"chrF2 {self.chrf[system.name][number]:.1f}"
            lines.append(SentenceText(system.name, shown, score, remarks))
        lines = [
            SentenceText("Source", source, role="source"),
            SentenceText("Reference", words(reference), role="reference"),
            *lines,
        ]
        return Sentence(f"Line {number + 1}", f"{measures.lengths[number]} words", lines)


def browsing(part: Part) -> tuple[Section, Table]:
    """Returns a section of sentences to look at, and a table of all sentences. The section has the longest
    sentences, the best and the worst of each system, and those in which a run left words out or wrote them
    twice."""
    compared, lengths = Compared(part), part.measures.lengths
    numbers = range(len(lengths))
    longest = sorted(numbers, key=lambda n: (-lengths[n], n))[:SHOWN]
    blocks: list[Block] = [
        Paragraph(LEGEND + (LEGEND_OF_ATTENTION if part.attending else "")),
        compared.block("longest", "The longest sentences", longest, open=True),
    ]
    enough = [n for n in numbers if lengths[n] >= SHORTEST] or list(numbers)
    for name, values in compared.chrf.items():
        ranked = sorted(enough, key=lambda n: (values[n], n))
        for kind, chosen in (("worst", ranked[:SHOWN]), ("best", ranked[::-1][:SHOWN])):
            caption = f"{name}: the {kind} sentences"
            blocks.append(compared.block(f"{kind}-{part.places[name]}", caption, chosen))
    for name, each in compared.faults.items():
        for kind, title, severity in ATTENDED:
            found = [severity(one) for one in each]
            worst = sorted((n for n in numbers if found[n] > 1), key=lambda n: (-found[n], n))[:SHOWN]
            if worst:
                caption = f"{name}: {title}"
                blocks.append(compared.block(f"{kind}-{part.places[name]}", caption, worst, name))
    if part.attending:
        blocks.append(_coverage(compared))
    section = part.section("table-3", "Table 3. Translations side by side", blocks)
    return section, _every_sentence(compared)


def _remarks(translation: Translation, found: Faults | None) -> Iterator[str]:
    if not translation.finished:
        yield "Ended by the length limit."
    if found is None:
        return
    source, target = translation.source_tokens, translation.tokens
    said = {
        "Left out (little attention)": [source[place] for place in found.left_out],
        "Attended to too often": [source[place] for place in found.too_often],
        "Repeated from the same source word": [target[place] for place in found.again],
        "UNK stands for": found.unknown,
    }
    yield from (f"{what}: {', '.join(which)}" for what, which in said.items() if which)


def _coverage(compared: Compared) -> Table:
    """Returns a table of the words that each run left out or wrote twice."""
    part = compared.part
    rows: list[list[Value]] = []
    for name, run in part.attending:
        found = compared.faults[name]
        source_words = max(1, sum(len(translation.source_tokens) - 1 for translation in run.translations))
        target_words = max(1, sum(len(translation.tokens) for translation in run.translations))
        rows.append(
            [
                name,
                100 * sum(len(each.left_out) for each in found) / source_words,
                sum(longest_gap(each.left_out) > 2 for each in found),
                100 * sum(len(each.too_often) for each in found) / source_words,
                100 * sum(len(each.again) for each in found) / target_words,
                sum(not translation.finished for translation in run.translations),
            ]
        )
    columns: list[Column | str] = [
        "System",
        Column("Source words left out, %", ".2f", best="lowest"),
        "Sentences with three or more in a row",
        Column("Source words attended to too often, %", ".2f", best="lowest"),
        Column("Target words repeated, %", ".2f", best="lowest"),
        "Ended by the length limit",
    ]
    note = (
        f"Coverage of a source word is Σ_i α_ij over the translation: left out below {LEFT_OUT} "
        f"(punctuation excepted), too often above {TOO_OFTEN}, as in the measures of `rnnsearch align`. "
        "Function words that the target language does not need count as left out, too. Repeated: the "
        "same word was written before in the sentence, with most attention on the same source word."
    )
    caption = "Words left out and words repeated, by the attention"
    return part.table("coverage", caption, columns, rows, [note])


def _every_sentence(compared: Compared) -> Table:
    part = compared.part
    test, lengths = part.measures.test, part.measures.lengths
    columns: dict[str, Sequence[Value]] = {
        "line": range(1, len(lengths) + 1),
        "words": lengths,
        "source": test.source,
        "reference": test.reference,
    }
    for system in part.measures.systems:
        columns |= {system.name: system.texts, f"{system.name}, chrF2": compared.chrf[system.name]}
        if system.run is not None and system.run.attends:
            columns[f"{system.name}, source words left out"] = [
                " ".join(one.source_tokens[place] for place in found.left_out)
                for one, found in zip(system.run.translations, compared.faults[system.name], strict=True)
            ]
    rows = list(zip(*columns.values(), strict=True))
    return part.table("sentences", "Every sentence with every translation", list(columns), rows)
