"""What became of unknown words, against a case followed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rnnsearch.records import Translation
from rnnsearch.report.measures import RunOutput
from rnnsearch.report.unknown_words import outcomes, unknown_positions, unknown_section
from rnnsearch.translation.outputs import LoadedRun, load_run
from rnnsearch.translation.outputs_file import OutputLine


def output(of: LoadedRun, source: str, target: str, aligned: list[int]) -> RunOutput:
    """aligned: for each target word the source word that it attends to."""
    source_tokens = [*source.split(), "</s>"]
    weights = np.full((len(aligned), len(source_tokens)), 0.01, dtype=np.float32)
    weights[np.arange(len(aligned)), aligned] = 0.9
    translation = Translation(target, target.split(), source_tokens, 0.0, [], weights)
    return RunOutput("run", 0, [target], of, [OutputLine(0, translation)], {}, [], "here")


def test_every_unknown_word_is_followed(tiny_run: Path) -> None:
    # The qq's are in no vocabulary; `the` is.
    found = outcomes(output(load_run("run", tiny_run), "the qqa qqb qqc", "le <unk> chien de <unk>", [0, 1, 2, 2, 0]))
    assert (found.unknown, found.as_unknown, found.as_words, found.left_out, found.written) == (3, 1, 1, 1, 2)
    assert {word: dict(counter) for word, counter in found.of_word.items()} == {"qqa": {"<unk>": 1}, "qqb": {"chien de": 1}, "qqc": {"": 1}}


def test_what_a_word_became_can_be_told_from_its_commas(tiny_run: Path) -> None:
    section = unknown_section([output(load_run("run", tiny_run), "qqa qqa the", "le , <unk>", [0, 1, 1])], "")
    assert section is not None
    assert [row for table in section.blocks[1:] for row in table.rows] == [["run", "qqa", 2, ", <unk> · le"]]  # type: ignore[union-attr]


def test_without_unknown_words_there_is_no_section(tiny_run: Path) -> None:
    assert unknown_section([output(load_run("run", tiny_run), "the", "le", [0])], "") is None


def test_a_word_is_unknown_if_a_piece_of_it_is(tiny_subword_run: Path) -> None:
    codec = load_run("run", tiny_subword_run).run.source
    assert unknown_positions(codec, ["the", "\N{SNOWMAN}", "the"]) == [1]
