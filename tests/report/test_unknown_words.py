"""What became of unknown words, against a case followed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rnnsearch.records import Translation
from rnnsearch.report import inputs
from rnnsearch.report.gather import Work, Worker, known_pairs, open_runs, unknown_positions
from rnnsearch.report.inputs import NamedRun
from rnnsearch.report.kept import Kept
from rnnsearch.report.outputs import RunOutput
from rnnsearch.report.unknown_words import outcomes, unknown_section


def worker(run: Path) -> Worker:
    return open_runs([NamedRun("run", run)], {})[0]


def output(of: Worker, source: str, target: str, aligned: list[int]) -> RunOutput:
    """aligned: for each target word the source word that it attends to."""
    source_tokens = [*source.split(), "</s>"]
    weights = np.full((len(aligned), len(source_tokens)), 0.01, dtype=np.float32)
    weights[np.arange(len(aligned)), aligned] = 0.9
    translation = Translation(target, target.split(), source_tokens, 0.0, [], weights)
    return RunOutput("run", 0, [target], of, Work([Kept(translation, 1.0)], {}, [], "here"))


def test_every_unknown_word_is_followed(tiny_run: Path) -> None:
    # The qq's are in no vocabulary; `the` is.
    found = outcomes(output(worker(tiny_run), "the qqa qqb qqc", "le <unk> chien de <unk>", [0, 1, 2, 2, 0]))
    assert (found.unknown, found.as_unknown, found.as_words, found.left_out, found.written) == (3, 1, 1, 1, 2)
    assert {word: dict(counter) for word, counter in found.of_word.items()} == {"qqa": {"<unk>": 1}, "qqb": {"chien de": 1}, "qqc": {"": 1}}


def test_what_a_word_became_can_be_told_from_its_commas(tiny_run: Path) -> None:
    section = unknown_section([output(worker(tiny_run), "qqa qqa the", "le , <unk>", [0, 1, 1])], "")
    assert section is not None
    assert [row for table in section.blocks[1:] for row in table.rows] == [["run", "qqa", 2, ", <unk> · le"]]  # type: ignore[union-attr]


def test_without_unknown_words_there_is_no_section(tiny_run: Path) -> None:
    assert unknown_section([output(worker(tiny_run), "the", "le", [0])], "") is None


def test_a_word_is_unknown_if_a_piece_of_it_is(tiny_subword_run: Path) -> None:
    codec = worker(tiny_subword_run).run.source
    assert unknown_positions(codec, ["the", "\N{SNOWMAN}", "the"]) == [1]


def test_known_pairs_are_known_to_every_run(tiny_run: Path, tiny_unknown_run: Path, tiny_corpus: Path) -> None:
    test = inputs.read_test_sets([str(tiny_corpus / "test.en"), str(tiny_corpus / "test.fr")])[0]
    long, short = worker(tiny_run), worker(tiny_unknown_run)
    both = known_pairs([long, short], test)
    assert both == sorted(set(known_pairs([long], test)) & set(known_pairs([short], test)))
    assert len(known_pairs([long], test)) > len(both)
