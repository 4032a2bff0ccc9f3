"""Words left out, words written again, what became of unknown words, and words that are marked, against cases
counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.drawing.figures import Album
from rnnsearch.evaluation.alignment_error import behaviour, shares
from rnnsearch.evaluation.measures import Measures
from rnnsearch.evaluation.test_set import RunAnswers, System
from rnnsearch.evaluation.test_set import TestSet as Texts
from rnnsearch.records import Translation
from rnnsearch.report.scores import TestSetReport
from rnnsearch.report.sentences import (
    COUNTS,
    faults,
    longest_gap,
    marked,
    outcomes,
    unknown_positions,
    unknown_section,
    words,
)
from rnnsearch.run import Run


def translation(source: str, target: str, weights: list[list[float]]) -> Translation:
    return Translation(
        target, target.split(), [*source.split(), "</s>"], 0.0, [], np.array(weights, dtype=np.float32)
    )


def test_words_left_out_and_words_attended_to_too_often() -> None:
    found = translation("old men , see", "x x x", [[0.9, 0.0, 0.0, 0.1, 0.0]] * 3)
    assert faults(found).left_out == [1]  # the comma is not missed, and `see` has 0.3
    assert faults(found).too_often == [0]
    shown = shares(behaviour(found.alignment, found.links()))  # one definition, in `rnnsearch align` too
    assert (shown["over_translated"], shown["under_translated"]) == (1 / 4, 2 / 4)  # there the comma counts


def test_nothing_written_leaves_everything_out() -> None:
    empty = Translation("", [], ["a", "b", "</s>"], 0.0, [], np.zeros((0, 3), dtype=np.float32))
    assert faults(empty) == ([0, 1], [], [], [])


@pytest.mark.parametrize(
    ("positions", "expected"), [([], 0), ([4], 1), ([0, 1, 2, 5, 6], 3), ([1, 3, 5], 1), ([0, 4, 5], 2)]
)
def test_the_longest_gap(positions: list[int], expected: int) -> None:
    assert longest_gap(positions) == expected


def test_a_word_is_written_again_only_from_the_same_source_word() -> None:
    on_a, on_b = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]
    assert faults(translation("a b", "le le LE", [on_a, on_b, on_a])).again == [2]
    assert faults(translation("a b", ", , le", [on_a, on_a, on_a])).again == []  # punctuation may repeat


def answers(run: Path, source: str, target: str, aligned: list[int]) -> RunAnswers:
    """aligned: for each target word the source word that it attends to."""
    source_tokens = [*source.split(), "</s>"]
    weights = np.full((len(aligned), len(source_tokens)), 0.01, dtype=np.float32)
    weights[np.arange(len(aligned)), aligned] = 0.9
    translation = Translation(target, target.split(), source_tokens, 0.0, [], weights)
    opened = Run.open(run)
    return RunAnswers(run, opened.source, opened.target, translations=[translation])


def part(run: RunAnswers) -> TestSetReport:
    measures = Measures(Texts("", [], []), [System("run", [], run=run)], {}, [], {})
    return TestSetReport(measures, Album(Path()), "", {"run": 0})


def test_every_unknown_word_is_followed(tiny_run: Path) -> None:
    # The qq's are in no vocabulary; `the` is.
    counts, of_word = outcomes(
        answers(tiny_run, "the qqa qqb qqc", "le <unk> chien de <unk>", [0, 1, 2, 2, 0])
    )
    assert [counts[count] for count in COUNTS] == [3, 1, 1, 1, 2]
    assert {word: dict(counter) for word, counter in of_word.items()} == {
        "qqa": {"<unk>": 1},
        "qqb": {"chien de": 1},
        "qqc": {"": 1},
    }


def test_what_a_word_became_can_be_told_from_its_commas(tiny_run: Path) -> None:
    section = unknown_section(part(answers(tiny_run, "qqa qqa the", "le , <unk>", [0, 1, 1])))
    assert section is not None
    assert [row for table in section.blocks[1:] for row in table.rows] == [["run", "qqa", 2, ", <unk> · le"]]  # type: ignore[union-attr]


def test_without_unknown_words_there_is_no_section(tiny_run: Path) -> None:
    assert unknown_section(part(answers(tiny_run, "the", "le", [0]))) is None


def test_a_word_is_unknown_if_a_piece_of_it_is(tiny_subword_run: Path) -> None:
    codec = Run.open(tiny_subword_run).source
    assert unknown_positions(codec, ["the", "\N{SNOWMAN}", "the"]) == [1]


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("a b c", "a b c", []),
        ("a x c", "a b c", ["x"]),
        ("a c", "a b c", []),  # what is missing cannot be marked
        ("b a", "a b", ["a"]),  # one of the two stands elsewhere
        ("l'homme.", "l'homme !", ["."]),
        ("Le chat", "le chat", ["Le"]),
        ("", "a", []),
        ("a b", "", ["a", "b"]),
    ],
)
def test_words_that_differ(text: str, reference: str, expected: list[str]) -> None:
    assert [word.text for word in marked(text, reference) if word.kind == "differs"] == expected


def test_an_unknown_word_is_shown_as_one() -> None:
    found = marked("de <unk>, <unk>.", "de <unk> .")
    assert [(word.text, word.kind) for word in found if word.kind == "unknown"] == [("<unk>", "unknown")] * 2
    assert [word.text for word in found if word.kind == "differs"] == [","]


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    shown = "".join(word.text + (" " if word.space else "") for word in words(text))
    assert "".join(shown.split()) == "".join(text.split())
