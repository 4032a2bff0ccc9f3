"""Table 3 and error browsing: chosen sentences with every system's translation side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from rnnsearch.drawing.document import (
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
from rnnsearch.evaluation.alignment_behaviour import LEFT_OUT, TOO_OFTEN
from rnnsearch.evaluation.measures import CHRF
from rnnsearch.evaluation.test_set import RunAnswers, System
from rnnsearch.records import Translation
from rnnsearch.report.attention import (
    UNKNOWN,
    left_out,
    longest_gap,
    too_often,
    unknown_sources,
    written_again,
)
from rnnsearch.report.part import Part

SHOWN = 3
"""Sentences of each kind."""
SHORTEST = 10
"""Words of a source sentence that may be among the best and the worst: among shorter ones, both are plenty
and say little."""
ATTENDED: tuple[tuple[str, str, Callable[[Translation], int]], ...] = (
    ("left-out", "phrases left out", lambda each: longest_gap(left_out(each))),
    ("repeated", "repeated words", lambda each: len(written_again(each))),
)
"""Faults that the attention shows: stem of the block's name, title, how bad a sentence is."""

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
    """Splits a translation into words; those in no common run with the reference differ. Case counts."""
    ours, theirs = words(text), words(reference)
    matcher = SequenceMatcher(
        None, [word.text for word in ours], [word.text for word in theirs], autojunk=False
    )
    kept = {block.a + offset for block in matcher.get_matching_blocks() for offset in range(block.size)}
    return [
        word if place in kept or word.kind else replace(word, kind="differs")
        for place, word in enumerate(ours)
    ]


def browsing(part: Part) -> Section:
    """Returns sentences to look at: the longest; the best and the worst of each system; where a run left
    words out, or wrote them twice."""
    lengths, prefix = part.measures.lengths, part.prefix
    numbers = range(len(lengths))
    longest = sorted(numbers, key=lambda n: (-lengths[n], n))[:SHOWN]
    blocks: list[Block] = [
        Paragraph(LEGEND + (LEGEND_OF_ATTENTION if part.attending else "")),
        Sentences(f"{prefix}longest", "The longest sentences", _sentences(part, longest), open=True),
    ]
    enough = [n for n in numbers if lengths[n] >= SHORTEST] or list(numbers)
    for system in part.measures.systems:
        values = sentence_chrf(part, system.name)
        ranked = sorted(enough, key=lambda n: (values[n], n))
        for kind, chosen in (("worst", ranked[:SHOWN]), ("best", ranked[::-1][:SHOWN])):
            name, caption = (
                f"{prefix}{kind}-{part.places[system.name]}",
                f"{system.name}: the {kind} sentences",
            )
            blocks.append(Sentences(name, caption, _sentences(part, chosen)))
    for name, run in part.attending:
        for kind, title, badness in ATTENDED:
            found = [badness(translation) for translation in run.translations]
            worst = sorted((n for n in numbers if found[n] > 1), key=lambda n: (-found[n], n))[:SHOWN]
            if worst:
                anchor = f"{prefix}{kind}-{part.places[name]}"
                blocks.append(Sentences(anchor, f"{name}: {title}", _sentences(part, worst, run)))
    if part.attending:
        blocks.append(_coverage(part))
    return Section(f"{prefix}table-3", "Table 3. Translations side by side", blocks)


def sentence_chrf(part: Part, system: str) -> list[float]:
    """Returns chrF2 of every sentence: of the usual metrics the one that stays steady there."""
    statistics = part.measures.statistics[system][CHRF]
    return [statistics.of_sums(row) for row in statistics.values.tolist()]


def _sentences(part: Part, numbers: Sequence[int], source_of: RunAnswers | None = None) -> list[Sentence]:
    """Returns sentences with every text. source_of: the run whose left-out source words are struck
    through."""
    return [_sentence(part, number, source_of) for number in numbers]


def _sentence(part: Part, number: int, source_of: RunAnswers | None) -> Sentence:
    test = part.measures.test
    source, reference = words(test.source[number]), test.reference[number]
    if source_of is not None:
        missing = set(left_out(source_of.translations[number]))
        source = [
            Word(word, "left-out", "little attention") if place in missing else Word(word)
            for place, word in enumerate(source_of.translations[number].source_tokens[:-1])
        ]
    lines = [
        SentenceText("Source", source, role="source"),
        SentenceText("Reference", words(reference), role="reference"),
    ]
    for system in part.measures.systems:
        statistics = part.measures.statistics[system.name][CHRF]
        score = f"chrF2 {statistics.of_sums(statistics.values[number].tolist()):.1f}"
        shown, remarks = _translated(system, number, reference), list(_remarks(system.run, number))
        lines.append(SentenceText(system.name, shown, score, remarks))
    return Sentence(f"Line {number + 1}", f"{part.measures.lengths[number]} words", lines)


def _translated(system: System, number: int, reference: str) -> list[Word]:
    shown = marked(system.texts[number], reference) or [Word("(nothing)")]
    if system.run is None or not system.run.attends:
        return shown
    notes = iter(unknown_sources(system.run.translations[number]))
    return [replace(word, note=f"for {next(notes, '?')}") if word.text == UNKNOWN else word for word in shown]


def _remarks(run: RunAnswers | None, number: int) -> Iterator[str]:
    if run is None:
        return
    translation = run.translations[number]
    if not translation.finished:
        yield "Ended by the length limit."
    source, target = translation.source_tokens, translation.tokens
    said = {
        "Left out (little attention)": [source[place] for place in left_out(translation)],
        "Attended to too often": [source[place] for place in too_often(translation)],
        "Repeated from the same source word": [target[place] for place in written_again(translation)],
        "UNK stands for": unknown_sources(translation),
    }
    yield from (f"{what}: {', '.join(found)}" for what, found in said.items() if found and run.attends)


def _coverage(part: Part) -> Table:
    """Returns how often each run left source words out or wrote words twice."""
    rows: list[list[Value]] = []
    for name, run in part.attending:
        missing = [left_out(translation) for translation in run.translations]
        source_words = max(1, sum(len(translation.source_tokens) - 1 for translation in run.translations))
        target_words = max(1, sum(len(translation.tokens) for translation in run.translations))
        often = sum(len(too_often(translation)) for translation in run.translations)
        again = sum(len(written_again(translation)) for translation in run.translations)
        rows.append(
            [
                name,
                100 * sum(map(len, missing)) / source_words,
                sum(longest_gap(each) > 2 for each in missing),
                100 * often / source_words,
                100 * again / target_words,
                sum(not translation.finished for translation in run.translations),
            ]
        )
    return Table(
        f"{part.prefix}coverage",
        "Words left out and words repeated, by the attention",
        (
            Column("System"),
            Column("Source words left out, %", ".2f", best="lowest"),
            Column("Sentences with three or more in a row"),
            Column("Source words attended to too often, %", ".2f", best="lowest"),
            Column("Target words repeated, %", ".2f", best="lowest"),
            Column("Ended by the length limit"),
        ),
        rows,
        notes=[
            f"Coverage of a source word is Σ_i α_ij over the translation: left out below {LEFT_OUT} "
            "(punctuation excepted), "
            f"too often above {TOO_OFTEN}, as in the measures of `rnnsearch align`. "
            "Function words that the target language does not need count as left out, too. Repeated: the "
            "same word was written before in "
            "the sentence, with most attention on the same source word."
        ],
    )


def sentences_file(part: Part) -> Table:
    """Returns every sentence with every translation, for a spreadsheet."""
    test = part.measures.test
    numbers = range(len(test.source))
    columns: dict[str, Sequence[Value]] = {
        "line": [number + 1 for number in numbers],
        "words": part.measures.lengths,
        "source": test.source,
        "reference": test.reference,
    }
    for system in part.measures.systems:
        columns |= {system.name: system.texts, f"{system.name}, chrF2": sentence_chrf(part, system.name)}
        if system.run is not None and system.run.attends:
            columns[f"{system.name}, source words left out"] = [
                " ".join(found.source_tokens[place] for place in left_out(found))
                for found in system.run.translations
            ]
    rows = [[values[number] for values in columns.values()] for number in numbers]
    caption = "Every sentence with every translation"
    return Table(f"{part.prefix}sentences", caption, [Column(name) for name in columns], rows)
