"""One row of the results: what a trained and measured run is worth, from its files alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.evaluation.alignment_error import alignment_statistics
from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.studies.measuring import Forced, read_forced, read_note
from rnnsearch.studies.study import LONG
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.test_sets import SetFiles, counted_links
from rnnsearch.system.checksums import file_checksum
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.links.symmetrise import symmetrise
from rnnsearch.training.log import read_statistics
from rnnsearch.word_links import Link

Row = dict[str, Any]
Statistics = dict[str, SufficientStatistics]
"""Metric → its statistics on one test set"""
LEARNING = ("updates", "epochs", "hours", "train_nll", "dev_nll", "dev_bleu", "best_update", "ended_because", "hardware", "rnnsearch")
"""What the row takes from the run's learning statistics (Table 2)."""


class Scorer:
    """Scores the runs of one study. data: of its corpus, whose tokeniser counts words. symmetrisation: of both directions' links."""

    def __init__(self, folder: StudyFolder, tests: dict[str, SetFiles], data: DataSettings, symmetrisation: str) -> None:
        self.folder, self.tests, self.data, self.symmetrisation = folder, tests, data, symmetrisation

    def is_measured(self, run: StudyRun) -> bool:
        """Whether all that a row is computed from was made from the weights that the run now has, and from these texts."""
        model = run.path / "model.safetensors"
        if not model.exists():
            return False
        weights = file_checksum(model)
        for name, test in self.tests.items():
            source = file_checksum(test.reference if run.reverse else test.source)
            keys = [read_note(self.folder.forced(run, name)).get("key")]
            if test.translate and not run.reverse:
                keys.append(read_note(self.folder.translations(run, name)).get("key"))
            if any(key is None or key["model"] != weights or key["source"] != source for key in keys):
                return False
        return True

    def fingerprint(self, run: StudyRun, reverse: StudyRun | None = None) -> str:
        """Of all that a row is computed from: with the same fingerprint it would say the same."""
        keys: list[Any] = [self.symmetrisation if reverse else None]
        for name, test in self.tests.items():
            files = [self.folder.translations(run, name), self.folder.forced(run, name)]
            files += [self.folder.forced(reverse, name)] if reverse else []
            keys += [name, *(read_note(path).get("key") for path in files)]
            keys += [file_checksum(test.reference), None if test.gold is None else file_checksum(test.gold)]
        return hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:16]

    def row(self, run: StudyRun, reverse: StudyRun | None = None) -> Row:
        """Of a run that is trained and measured. reverse: the run of the other direction, if it is measured too."""
        learned = read_statistics(run.path)
        notes = [read_note(self.folder.forced(run, name)) for name in self.tests]
        return {
            "run": run.name,
            "variant": run.variant,
            "seed": run.seed,
            "reverse": run.reverse,
            "status": "done",
            "parameters": next((note["parameters"] for note in notes if "parameters" in note), None),
            **{key: learned.get(key) for key in LEARNING},
            "tests": {name: self._scores(run, name, reverse) for name in self.tests},
            "fingerprint": self.fingerprint(run, reverse),
        }

    def statistics(self, run: StudyRun, name: str, reverse: StudyRun | None = None) -> Statistics:
        """BLEU and chrF of the translations, NLL of the references, alignment error of forced decoding: whatever the test set allows."""
        test = self.tests[name]
        forced = read_forced(self.folder.forced(run, name))
        likelihood = Likelihood([pair.log_probability for pair in forced], [pair.words for pair in forced])
        found = {"nll": likelihood.per_sentence(), "nll_per_word": likelihood.per_word()}
        if run.reverse:
            return found
        if test.translate:
            found |= translation_statistics(test, self.folder.translations(run, name), self.data)
        if test.gold is not None:
            back = None if reverse is None else read_forced(self.folder.forced(reverse, name))
            found |= self._alignment(test, [pair.links for pair in forced], None if back is None else [pair.links for pair in back])
            informed, back_informed = _posterior(forced), None if back is None else _posterior(back)
            if informed is not None:
                measures = self._alignment(test, informed, back_informed)
                found |= {f"posterior_{metric}": statistics for metric, statistics in measures.items()}
        return found

    def _alignment(self, test: SetFiles, links: Sequence[Sequence[Link]], reverse: Sequence[Sequence[Link]] | None) -> Statistics:
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
            scores["seconds"] = read_note(self.folder.translations(run, name)).get("seconds")
            scores["bleu_signature"], scores["chrf_signature"] = found["bleu"].signature, found["chrf"].signature
        return scores


def _posterior(forced: Sequence[Forced]) -> list[list[Link]] | None:
    """The posterior links, if every pair has them."""
    found = [pair.posterior for pair in forced if pair.posterior is not None]
    return found if len(found) == len(forced) else None


def failed_row(run: StudyRun, error: str) -> Row:
    """Of a run that did not come to its end."""
    return {"run": run.name, "variant": run.variant, "seed": run.seed, "reverse": run.reverse, "status": "failed", "error": error}


def translation_statistics(test: SetFiles, translations: Path, data: DataSettings) -> Statistics:
    """Of all sentences, and BLEU of those of more than LONG source words, if there are any."""
    references, hypotheses = list(read_lines(test.reference)), list(read_lines(translations))
    whole = bleu_statistics(hypotheses, references)
    found = {"bleu": whole, "chrf": chrf_statistics(hypotheses, references)}
    long = long_sentences(test, data)
    if len(long):
        found["bleu_long"] = SufficientStatistics("BLEU", whole.signature, whole.values[long], whole.of_sums)
    return found


def long_sentences(test: SetFiles, data: DataSettings) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Positions of the sentences of more than LONG source words, as the corpus's tokeniser counts."""
    tokeniser = side_tokeniser("source", data)
    return np.flatnonzero([len(tokeniser.words(line)) > LONG for line in read_lines(test.source)])


def read_test_size(test: SetFiles, data: DataSettings) -> tuple[int, int]:
    """(sentences, those of more than LONG source words)"""
    return sum(1 for _ in read_pairs(test.source, test.reference)), len(long_sentences(test, data))
