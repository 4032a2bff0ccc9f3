"""One row of the results: what a trained and measured run is worth, from its files alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.evaluation.alignment_error import alignment_statistics
from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.evaluation.test_set import TestSet, require_lines
from rnnsearch.studies.study import LONG
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.test_sets import SetFiles, counted_links
from rnnsearch.system.checksums import checksum
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.links.symmetrise import symmetrise
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import Kind, open_run
from rnnsearch.translation.outputs_file import OutputLine, read_header, read_outputs
from rnnsearch.word_links import Link, hard_links

Row = dict[str, Any]
Statistics = dict[str, SufficientStatistics]
"""Metric → its statistics on one test set"""
LEARNING = ("updates", "epochs", "hours", "train_nll", "dev_nll", "dev_bleu", "best_update", "ended_because", "hardware", "rnnsearch")
"""What the row takes from the run's learning statistics (Table 2)."""


class Scorer:
    """Scores the runs of one study. data: of its corpus, whose tokeniser counts words. symmetrisation: of both directions' links.

    page: whether a report follows, which wants translations without UNK as well.
    """

    def __init__(
        self, folder: StudyFolder, tests: dict[str, SetFiles], data: DataSettings, symmetrisation: str, page: bool = False
    ) -> None:
        self.folder, self.tests, self.data, self.symmetrisation, self.page = folder, tests, data, symmetrisation, page

    def is_measured(self, run: StudyRun) -> bool:
        """Whether all that a row is computed from was made from the weights that the run now has, and from these texts."""
        if not (run.path / "model.safetensors").exists():
            return False
        opened = open_run(run.name, run.path)
        tests = [(files.read(run.reverse), files.kinds(run.reverse, self.page)) for files in self.tests.values()]
        return all(opened.is_whole(self.folder.outputs, test, kind) for test, kinds in tests for kind in kinds)

    def fingerprint(self, run: StudyRun, reverse: StudyRun | None = None) -> str:
        """Of all that a row is computed from: with the same fingerprint it would say the same."""
        parts: list[str | Path] = [self.symmetrisation if reverse else ""]
        for name, files in self.tests.items():
            for each in (run, *([reverse] if reverse else [])):
                opened, test = open_run(each.name, each.path), files.read(each.reverse)
                parts += [name, *(opened.key(test, kind) for kind in files.kinds(each.reverse))]
            parts += [] if files.gold is None else [files.gold]
        return checksum(*parts)[:16]

    def row(self, run: StudyRun, reverse: StudyRun | None = None) -> Row:
        """Of a run that is trained and measured. reverse: the run of the other direction, if it is measured too."""
        learned = read_statistics(run.path)
        first, *_ = self.tests.values()
        return {
            "run": run.name,
            "variant": run.variant,
            "seed": run.seed,
            "reverse": run.reverse,
            "status": "done",
            "parameters": read_header(self._path(run, first, first.references)).get("parameters"),
            **{key: learned.get(key) for key in LEARNING},
            "tests": {name: self._scores(run, name, reverse) for name in self.tests},
            "fingerprint": self.fingerprint(run, reverse),
        }

    def statistics(self, run: StudyRun, name: str, reverse: StudyRun | None = None) -> Statistics:
        """BLEU and chrF of the translations, NLL of the references, alignment error of forced decoding: whatever the test set allows."""
        files = self.tests[name]
        references = self._lines(run, files, files.references)
        likelihood = Likelihood.of((line.translation for line in references), subwords=True)
        found = {"nll": likelihood.per_sentence(), "nll_per_word": likelihood.per_word()}
        if run.reverse:
            return found
        test = files.read()
        if files.translate:
            found |= translation_statistics(test, [line.translation.text for line in self._lines(run, files, Kind.TRANSLATIONS)], self.data)
        if test.gold is not None:
            back = self._lines(reverse, files, files.references) if reverse else []
            for prefix in ("", "posterior_"):
                links, back_links = (
                    [hard_links(line.posterior if prefix else line.translation.alignment) for line in lines]  # type: ignore[arg-type]
                    for lines in (references, back)
                )
                measures = self._alignment(test, links, back_links if reverse else None)
                found |= {f"{prefix}{metric}": statistics for metric, statistics in measures.items()}
        return found

    def _path(self, run: StudyRun, files: SetFiles, kind: Kind) -> Path:
        return open_run(run.name, run.path).path(self.folder.outputs, files.read(run.reverse), kind)

    def _lines(self, run: StudyRun, files: SetFiles, kind: Kind) -> list[OutputLine]:
        path = self._path(run, files, kind)
        lines = list(read_outputs(path))
        require_lines(path, len(lines), files.read(run.reverse))
        return lines

    def _alignment(self, test: TestSet, links: Sequence[Sequence[Link]], reverse: Sequence[Sequence[Link]] | None) -> Statistics:
        """Of the links, and symmetrised with those of the other direction, whose source is our target."""
        found = alignment_statistics(*counted_links(test, links, self.data))
        if reverse is not None:
            turned = ([(j, i) for i, j in pair] for pair in reverse)
            both = [symmetrise(forward, back, self.symmetrisation) for forward, back in zip(links, turned, strict=True)]
            symmetrised = alignment_statistics(*counted_links(test, both, self.data))
            found |= {f"{metric}_symmetrised": statistics for metric, statistics in symmetrised.items()}
        return found

    def _scores(self, run: StudyRun, name: str, reverse: StudyRun | None) -> dict[str, Any]:
        found = {metric: statistics.score() for metric, statistics in self.statistics(run, name, reverse).items()}
        scores: dict[str, Any] = {metric: score.value for metric, score in found.items()}
        if "bleu" in found:
            scores["seconds"] = sum(line.seconds for line in self._lines(run, self.tests[name], Kind.TRANSLATIONS))
            scores["bleu_signature"], scores["chrf_signature"] = found["bleu"].signature, found["chrf"].signature
        return scores


def failed_row(run: StudyRun, error: str) -> Row:
    """Of a run that did not come to its end."""
    return {"run": run.name, "variant": run.variant, "seed": run.seed, "reverse": run.reverse, "status": "failed", "error": error}


def translation_statistics(test: TestSet, translations: Sequence[str], data: DataSettings) -> Statistics:
    """Of all sentences, and BLEU of those of more than LONG source words, if there are any."""
    whole = bleu_statistics(translations, test.reference)
    found = {"bleu": whole, "chrf": chrf_statistics(translations, test.reference)}
    long = long_sentences(test, data)
    if len(long):
        found["bleu_long"] = SufficientStatistics("BLEU", whole.signature, whole.values[long], whole.of_sums)
    return found


def long_sentences(test: TestSet, data: DataSettings) -> NDArray[np.intp]:
    """Positions of the sentences of more than LONG source words, as the corpus's tokeniser counts."""
    tokeniser = side_tokeniser("source", data)
    return np.flatnonzero([len(tokeniser.words(line)) > LONG for line in test.source])
