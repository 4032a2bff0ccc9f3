"""What each run is worth, as rows of results.jsonl, and whether two variants differ."""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import (
    BLEU,
    CHRF,
    NLL_PER_SENTENCE,
    Statistics,
    link_statistics,
    system_statistics,
)
from rnnsearch.evaluation.significance import compare
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.evaluation.test_set import RunAnswers, System, TestSet
from rnnsearch.studies.study import LONG
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.system.files import checksum
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.links import symmetrise
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import OpenedRun, open_run, run_answers

Row = dict[str, Any]


class Metric(NamedTuple):
    """A column. factor: what the number is multiplied by where it is shown."""

    key: str
    heading: str
    factor: float = 1.0
    digits: int = 2


TEST_METRICS = (
    Metric("bleu", "BLEU"),
    Metric("chrf", "chrF2"),
    Metric("bleu_long", f"BLEU, over {LONG} words"),
    Metric("nll_per_word", "NLL/word", digits=3),
    Metric("aer", "AER %", 100.0),
    Metric("aer_symmetrised", "AER %, both directions", 100.0),
    Metric("posterior_aer", "posterior AER %", 100.0),
    Metric("posterior_aer_symmetrised", "posterior AER %, both directions", 100.0),
)
LEARNING_METRICS = (
    Metric("parameters", "million parameters", 1e-6),
    Metric("updates", "updates", digits=0),
    Metric("epochs", "epochs", digits=1),
    Metric("hours", "hours"),
    Metric("dev_nll", "dev NLL/sentence"),
    Metric("dev_bleu", "dev BLEU"),
)
LEARNING = (
    *("updates", "epochs", "hours", "train_nll", "dev_nll", "dev_bleu", "best_update", "ended_because"),
    *("hardware", "rnnsearch"),
)
"""What a row takes from the run's learning statistics (Table 2)."""
KEYS = {BLEU: "bleu", CHRF: "chrf", NLL_PER_SENTENCE: "nll"}
"""Names of metrics in the rows, where they are not the usual ones in lowercase."""
FORMAT = "2"
"""A part of every fingerprint: rows that measure in another way are made anew."""


class Summary(NamedTuple):
    """A metric over the seeds. spread: the sample standard deviation (n − 1), None for one run."""

    mean: float
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        spread = statistics.stdev(values) if len(values) > 1 else None
        return cls(math.fsum(values) / len(values), spread, len(values))

    def text(self, metric: Metric) -> str:
        """Writes it as a cell of a table."""
        shown = f"{self.mean * metric.factor:,.{metric.digits}f}"
        return shown if self.spread is None else f"{shown} ± {self.spread * metric.factor:,.{metric.digits}f}"


class ResultRows:
    """results.jsonl: one row for each run, appended as it ends; of several rows of a run the last one counts.

    Whatever ends the process, only the row that was being written can be lost.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("rb+") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8").split("\n")[:-1], 1):
            try:
                row = json.loads(line)
                self.rows[row["run"]] = row
            except (ValueError, KeyError, TypeError):
                what, remedy = "is not a row of results", "remove the line"
                raise InputError(what, file=path, line=number, remedy=remedy) from None

    def add(self, row: Row) -> None:
        """Appends a row, unless it says what the last one of the run says."""
        if self.rows.get(row["run"]) == row:
            return
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["run"]] = json.loads(json.dumps(row))

    def status(self, name: str) -> str:
        """Returns done or failed; "" for a run that has no row."""
        return str(self.rows[name]["status"]) if name in self.rows else ""


@dataclass
class Scorer:
    """Measures the runs of a study on its test sets. What a run makes of them is made once, and kept in
    files."""

    folder: StudyFolder
    trust_code: bool = False
    progress: Progress = lambda what, done, total: None
    found: dict[tuple[str, str, bool], Statistics] = field(default_factory=dict)

    def opened(self, run: StudyRun) -> OpenedRun:
        """Returns a trained run; its network is loaded when an output is missing."""
        device = self.folder.settings(run).training.device
        return open_run(run.name, run.path, device=device, trust_code=self.trust_code)

    def fingerprint(self, run: StudyRun, reverse: StudyRun | None = None) -> str:
        """Returns a checksum of all that a row is computed from: with the same one it would say the same."""
        parts: list[str | Path] = [FORMAT, self.folder.plan.study.symmetrisation if reverse else ""]
        for opened in map(self.opened, (run, *([reverse] if reverse else []))):
            parts += [opened.checksum, json.dumps(opened.search, sort_keys=True)]
        for files in self.folder.tests.values():
            parts += [path for path in (files.source, files.reference, files.gold) if path]
        return checksum(*parts)[:16]

    def row(self, run: StudyRun, reverse: StudyRun | None = None, error: str = "") -> Row:
        """Returns the row of a run that is trained, or that failed with an error.

        reverse: the run of the other direction, if it is done too.
        """
        row = {"run": run.name, "variant": run.variant, "seed": run.seed, "reverse": run.reverse}
        if error:
            return row | {"status": "failed", "error": error}
        learned = read_statistics(run.path)
        answers = {name: self.answers(run, name) for name in self.folder.tests}
        return {
            **row,
            "status": "done",
            "parameters": next(iter(answers.values())).parameters,
            **{key: learned.get(key) for key in LEARNING},
            "tests": {name: self._scores(run, found, name, reverse) for name, found in answers.items()},
            "fingerprint": self.fingerprint(run, reverse),
        }

    def statistics(
        self, run: StudyRun, name: str, reverse: StudyRun | None = None, answers: RunAnswers | None = None
    ) -> Statistics:
        """Returns whatever the test set allows to measure of a run: translations, likelihood, links.

        reverse: the run of the other direction, whose links are symmetrised with these. answers: what the run
        says of the test set, if it is at hand.
        """
        key = run.name, name, reverse is not None
        if key not in self.found:
            test, answers = self.folder.tests[name].read(run.reverse), answers or self.answers(run, name)
            texts = [translation.text for translation in answers.translations]
            measured = system_statistics(test, System(run.name, texts, run=answers))
            if test.gold is not None and reverse is not None:
                measured |= self._symmetrised(test, answers, self.answers(reverse, name))
            self.found[key] = self.named(test, measured)
        return self.found[key]

    def named(self, test: TestSet, measured: Statistics) -> Statistics:
        """Returns the measures by their names in the rows, with BLEU of the long sentences, if there are
        any."""
        found = {KEYS.get(key, key.lower().replace(" ", "_")): value for key, value in measured.items()}
        long = self.long_sentences(test)
        if len(long) and "bleu" in found:
            found["bleu_long"] = replace(found["bleu"], values=found["bleu"].values[long])
        return found

    def long_sentences(self, test: TestSet) -> NDArray[np.intp]:
        """Returns the positions of the sentences of more than LONG source words, as the corpus's tokeniser
        counts."""
        tokeniser = side_tokeniser("source", self.folder.plan.data)
        return np.flatnonzero([len(tokeniser.words(line)) > LONG for line in test.source])

    def answers(self, run: StudyRun, name: str) -> RunAnswers:
        """Returns what a run says of a test set; makes what is missing. With gold links, posterior alignments
        are compared, too."""
        files = self.folder.tests[name]
        return run_answers(
            self.opened(run),
            files.read(run.reverse),
            self.folder.outputs,
            self.progress,
            translate=files.translate and not run.reverse,
            without_unk=False,
            posterior=files.gold is not None,
        )

    def _symmetrised(self, test: TestSet, forward: RunAnswers, back: RunAnswers) -> Statistics:
        """Measures the links symmetrised with those of the other direction, whose source is our target."""
        ours, theirs = ([line.links() for line in each.references] for each in (forward, back))
        tokenisers = forward.source.tokeniser, forward.target.tokeniser
        measured: Statistics = {}
        for kind, here, there in (("", ours, theirs), ("posterior ", forward.posterior, back.posterior)):
            turned = ([(j, i) for i, j in pair] for pair in there or ())
            pairs = zip(here or (), turned, strict=True)
            both = [symmetrise(*pair, self.folder.plan.study.symmetrisation) for pair in pairs]
            found = link_statistics(test, both, tokenisers)
            measured |= {f"{kind}{metric} symmetrised": value for metric, value in found.items()}
        return measured

    def _scores(
        self, run: StudyRun, answers: RunAnswers, name: str, reverse: StudyRun | None
    ) -> dict[str, Any]:
        found = self.statistics(run, name, reverse, answers)
        scores: dict[str, Any] = {metric: measured.score().value for metric, measured in found.items()}
        if "bleu" in found:
            scores["seconds"] = sum(answers.seconds)
            scores |= {f"{metric}_signature": found[metric].signature for metric in ("bleu", "chrf")}
        return scores


class DoneRun(NamedTuple):
    """A run that is done, that of the other direction if it is done too, and its row."""

    run: StudyRun
    reverse: StudyRun | None
    row: Row


def done_runs(folder: StudyFolder, results: ResultRows) -> dict[str, dict[int, DoneRun]]:
    """Returns the runs that are done: variant → seed → run."""
    done = [run for run in folder.runs if results.status(run.name) == "done"]
    reverse = {(run.variant, run.seed): run for run in done if run.reverse}
    found: dict[str, dict[int, DoneRun]] = {}
    for run in done:
        if not run.reverse:
            back = reverse.get((run.variant, run.seed))
            found.setdefault(run.variant, {})[run.seed] = DoneRun(run, back, results.rows[run.name])
    return found


def mean_over_seeds(parts: Sequence[SufficientStatistics]) -> SufficientStatistics:
    """Returns statistics whose score is the mean of the parts' scores; a resampled or exchanged sentence is
    so in every one of them.

    A test on them asks whether the difference would hold on other sentences; how it varies with the seed the
    spread says.
    """
    cuts = np.cumsum([0, *(part.values.shape[1] for part in parts)]).tolist()

    def of_sums(sums: Sequence[float]) -> float:
        ranges = zip(parts, cuts, cuts[1:], strict=False)
        return sum(part.of_sums(sums[begin:end]) for part, begin, end in ranges) / len(parts)

    values = np.concatenate([part.values for part in parts], axis=1)
    return replace(parts[0], values=values, of_sums=of_sums)


def comparisons(
    scorer: Scorer, done: dict[str, dict[int, DoneRun]], before: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """Compares every variant with the baseline, and the pairs that the study names: test set → findings.

    before: what an earlier call returned; what was computed from the same files is taken from it.
    """
    study = scorer.folder.plan.study
    baseline = study.reference_variant
    pairs = [(baseline, name) for name in study.variants if name != baseline]
    pairs += [pair for pair in study.comparisons if pair not in pairs]
    known = {entry["from"]: entry for entries in before.values() for entry in entries}
    result: dict[str, list[dict[str, Any]]] = {test: [] for test in scorer.folder.tests}
    for test, (one, other) in product(result, pairs):
        ours, theirs = done.get(one, {}), done.get(other, {})
        seeds = [seed for seed in study.seeds if seed in ours and seed in theirs]
        sides = [[side[seed] for seed in seeds] for side in (ours, theirs)]
        for metric in [metric.key for metric in TEST_METRICS if metric.key != "chrf"] if seeds else ():
            if not all(metric in each.row["tests"].get(test, {}) for side in sides for each in side):
                continue
            rows = [[each.row["fingerprint"] for each in side] for side in sides]
            key = hashlib.sha256(json.dumps([test, metric, rows]).encode()).hexdigest()[:16]
            if key not in known:
                means = [
                    mean_over_seeds([scorer.statistics(run, test, back)[metric] for run, back, _ in side])
                    for side in sides
                ]
                compared = asdict(compare((one, means[0]), (other, means[1])))
                known[key] = {"from": key} | compared | {"metric": metric, "seeds": seeds}
            result[test].append(known[key])
    return result
