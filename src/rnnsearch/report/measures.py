"""All measures of one test set: every system's sufficient statistics, on all sentences and on those without unknown words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rnnsearch.evaluation.bleu import (
    bleu_statistics,
    chrf_statistics,
    length_ratio_statistics,
    lengths,
    multi_bleu_statistics,
    ter_statistics,
)
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.evaluation.test_set import TestSet
from rnnsearch.records import Translation
from rnnsearch.system.checksums import checksum
from rnnsearch.system.files import file_name, write_text
from rnnsearch.translation.outputs import LoadedRun
from rnnsearch.translation.outputs_file import OutputLine

Statistics = dict[str, SufficientStatistics]
"""System → what its score on any sentences can be computed from."""


@dataclass(frozen=True)
class Output:
    """A system's translations of one test set. texts: one per line. place: among all systems of the report, which decides its colour."""

    name: str
    place: int
    texts: list[str]


@dataclass(frozen=True)
class RunOutput(Output):
    """Of one of our runs. without_unk: line number, from 0 → its translation without UNK. hardware: on which the lines were translated."""

    loaded: LoadedRun
    lines: list[OutputLine]
    without_unk: dict[int, OutputLine]
    references: list[OutputLine]
    hardware: str

    @property
    def translations(self) -> list[Translation]:
        return [line.translation for line in self.lines]


def attending(outputs: Sequence[Output]) -> list[RunOutput]:
    """The runs whose α say something."""
    return [output for output in outputs if isinstance(output, RunOutput) and output.loaded.attends]


@dataclass(frozen=True)
class Measures:
    """Statistics of every system, by metric. nll: of our runs only.

    known: the numbers of the pairs without unknown words; known_bleu, known_multi_bleu: on these alone, our runs being forbidden to write
    UNK. lengths: source words, as sacreBLEU counts them; sentence_chrf: of every single sentence.
    """

    test: TestSet
    outputs: list[Output]
    lengths: list[int]
    bleu: Statistics
    multi_bleu: Statistics
    chrf: Statistics
    ter: Statistics
    length_ratio: Statistics
    nll: dict[str, Likelihood]
    known: list[int]
    known_bleu: Statistics
    known_multi_bleu: Statistics
    sentence_chrf: dict[str, list[float]]


def measure(
    test: TestSet, outputs: list[Output], known: Sequence[int], folder: Path, progress: Callable[[str, int, int | None], None]
) -> Measures:
    """Compares every text with the references, once a metric. known: pairs without unknown words; none if no run says which they are.

    folder: where the edits of TER are saved, which take minutes to find.
    """
    runs = [output for output in outputs if isinstance(output, RunOutput)]
    tokeniser = runs[0].loaded.run.target.tokeniser if runs else None
    texts = {output.name: output.texts for output in outputs}
    known_texts = {output.name: without_unknown_words(output, known) for output in outputs}
    known_references = [test.reference[number] for number in known]

    def every(of: Callable[[Sequence[str], Sequence[str]], SufficientStatistics], some: bool = False) -> Statistics:
        chosen, references = (known_texts, known_references) if some else (texts, test.reference)
        return {name: of(lines, references) for name, lines in chosen.items()} if references else {}

    def multi_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> SufficientStatistics:
        return multi_bleu_statistics(hypotheses, references, tokeniser)

    def ter(name: str) -> SufficientStatistics:
        key = checksum("TER", *texts[name], *test.reference)[:12]
        file = folder / file_name(name) / f"{file_name(test.name)}.ter.{key}.json"
        return saved_statistics(file, partial(ter_statistics, texts[name], test.reference, partial(progress, f"{name}, {test.name}: TER")))

    bleu, chrf = every(bleu_statistics), every(chrf_statistics)
    return Measures(
        test=test,
        outputs=outputs,
        lengths=lengths(test.source),
        bleu=bleu,
        multi_bleu=every(multi_bleu) if tokeniser else {},
        chrf=chrf,
        ter={name: ter(name) for name in texts},
        length_ratio={name: length_ratio_statistics(statistics) for name, statistics in bleu.items()},
        nll={run.name: Likelihood.of((line.translation for line in run.references), subwords=True) for run in runs},
        known=list(known),
        known_bleu=every(bleu_statistics, some=True),
        known_multi_bleu=every(multi_bleu, some=True) if tokeniser else {},
        sentence_chrf={name: sentence_scores(statistics) for name, statistics in chrf.items()},
    )


def without_unknown_words(output: Output, known: Sequence[int]) -> list[str]:
    """What a system makes of the known pairs: our runs without UNK; another system's translations stay as they are."""
    if isinstance(output, RunOutput):
        return [output.without_unk[number].translation.text for number in known]
    return [output.texts[number] for number in known]


def saved_statistics(path: Path, compute: Callable[[list[list[float]] | None], SufficientStatistics]) -> SufficientStatistics:
    """What `compute` finds, saved in the file, whose name says of which texts; given what is saved, `compute` need not look again."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    found = compute(known)
    if known is None:
        path.parent.mkdir(exist_ok=True)
        write_text(path, json.dumps(found.values.tolist()))
    return found


def sentence_scores(statistics: SufficientStatistics) -> list[float]:
    """The metric of every single sentence; of the usual ones chrF2 is the one that stays steady there."""
    return [statistics.of_sums(row) for row in statistics.values.tolist()]
