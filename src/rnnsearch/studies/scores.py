"""Scores of the runs, as rows of results.jsonl, and comparisons of variants."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import BLEU, CHRF, NLL_PER_SENTENCE, Statistics, system_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics, compare
from rnnsearch.evaluation.test_set import RunAnswers, System, TestSet
from rnnsearch.studies.study import LONG, StudyFolder, StudyRun
from rnnsearch.system.files import checksum
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import OpenedRun, open_run, run_answers, write_texts

Row = dict[str, Any]


class Metric(NamedTuple):
    """A metric, as a column of tables. factor: multiplies the value where it is shown."""

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
"""Keys that a row takes from the run's learning statistics (Table 2)."""
KEYS = {BLEU: "bleu", CHRF: "chrf", NLL_PER_SENTENCE: "nll"}
"""Metric → its key in the rows, where that is not its name in lowercase."""
FORMAT = "2"
"""Part of every fingerprint. A new value makes all rows be computed again."""


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
        """Formats the summary as a cell of a table."""
        shown = f"{self.mean * metric.factor:,.{metric.digits}f}"
        return shown if self.spread is None else f"{shown} ± {self.spread * metric.factor:,.{metric.digits}f}"


class Results:
    """The results of a study's runs, in results.jsonl: one row for each run, appended as it ends. If a run
    has several rows, the last one counts.

    If the process is killed, only the row being written can be lost. A run's outputs for a test set are made
    once, and kept in files.
    """

    def __init__(
        self,
        folder: StudyFolder,
        trust_code: bool = False,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.folder, self.trust_code, self.progress = folder, trust_code, progress
        self.path = folder / "results.jsonl"
        self.rows: dict[str, Row] = {}
        self.found: dict[tuple[str, str, bool], Statistics] = {}
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        for number, line in enumerate(whole.decode("utf-8").split("\n")[:-1], 1):
            try:
                row = json.loads(line)
                self.rows[row["run"]] = row
            except (ValueError, KeyError, TypeError):
                what, remedy = "is not a row of results", "remove the line"
                raise InputError(what, file=self.path, line=number, remedy=remedy) from None

    def add(self, row: Row) -> None:
        """Appends a row, unless it equals the last row of the run."""
        if self.rows.get(row["run"]) == row:
            return
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["run"]] = json.loads(json.dumps(row))

    def status(self, run: StudyRun) -> str:
        """Returns done or failed; "" for a run that has no row."""
        return str(self.rows[run.name]["status"]) if run.name in self.rows else ""

    def done(self) -> dict[str, dict[int, StudyRun]]:
        """Returns the finished runs, without reverse ones: variant → seed → run."""
        found: dict[str, dict[int, StudyRun]] = {}
        for run in self.folder.runs:
            if not run.reverse and self.status(run) == "done":
                found.setdefault(run.variant, {})[run.seed] = run
        return found

    def failed(self, run: StudyRun, error: str) -> None:
        """Adds the row of a run that failed."""
        self.add(_identity(run) | {"status": "failed", "error": error})

    def measure(self, run: StudyRun) -> None:
        """Adds the row of a trained run, unless its present row was computed from the same files. After a
        reverse run, its forward run is measured again."""
        if self.rows.get(run.name, {}).get("fingerprint") != self.fingerprint(run):
            self.add(self.row(run))
        forward = self.done().get(run.variant, {}).get(run.seed)
        if run.reverse and forward is not None:
            self.measure(forward)

    def opened(self, run: StudyRun) -> OpenedRun:
        """Returns a trained run; its network is loaded when an output is missing."""
        device = self.folder.settings(run).training.device
        return open_run(run.name, run.path, device=device, trust_code=self.trust_code)

    def other_direction(self, run: StudyRun) -> StudyRun | None:
        """Returns the run whose links are symmetrised with this one's, if it is done."""
        return next(
            (
                one
                for one in self.folder.runs
                if one.reverse > run.reverse and (one.variant, one.seed) == (run.variant, run.seed)
                if self.status(one) == "done"
            ),
            None,
        )

    def fingerprint(self, run: StudyRun) -> str:
        """Returns a checksum of all that the run's row is computed from."""
        back = self.other_direction(run)
        parts: list[str | Path] = [FORMAT, self.folder.study.symmetrisation if back else ""]
        for opened in map(self.opened, [run, back] if back else [run]):
            parts += [opened.checksum, json.dumps(opened.search, sort_keys=True)]
        for files in self.folder.tests.values():
            parts += [Path(path) for path in (files.source, files.reference, files.gold) if path]
        return checksum(*parts)[:16]

    def row(self, run: StudyRun) -> Row:
        """Computes the row of a trained run, and writes its translations, one per line."""
        learned, parameters = read_statistics(run.path), None
        tests: dict[str, dict[str, Any]] = {}
        for name in self.folder.tests:
            answers = self.answers(run, name)
            parameters = parameters or answers.parameters
            found = self.statistics(run, name, answers)
            scores = tests[name] = {}
            scores |= {metric: measured.score().value for metric, measured in found.items()}
            if "bleu" in found:
                test = self.folder.read_test(name)
                write_texts(self.folder.outputs, self.opened(run), test, answers.texts)
                scores["seconds"] = sum(answers.seconds)
                scores |= {f"{metric}_signature": found[metric].signature for metric in ("bleu", "chrf")}
        return {
            **_identity(run),
            "status": "done",
            "parameters": parameters,
            **{key: learned.get(key) for key in LEARNING},
            "tests": tests,
            "fingerprint": self.fingerprint(run),
        }

    def statistics(self, run: StudyRun, name: str, answers: RunAnswers | None = None) -> Statistics:
        """Returns the statistics of a run that the test set allows: of translations, likelihood and links.

        answers: the run's outputs for the test set, if the caller has them.
        """
        back = self.other_direction(run)
        key = run.name, name, back is not None
        if key not in self.found:
            test, answers = self.folder.read_test(name, run.reverse), answers or self.answers(run, name)
            system = System(
                run.name,
                answers.texts,
                run=answers,
                reverse=None if back is None else self.answers(back, name),
                symmetrisation=self.folder.study.symmetrisation,
            )
            self.found[key] = self.measured(test, system)
        return self.found[key]

    def measured(self, test: TestSet, system: System) -> Statistics:
        """Returns (key in the rows → statistics), with BLEU of the long sentences if there are any."""
        measured = system_statistics(test, system)
        found = {KEYS.get(key, key.lower().replace(" ", "_")): value for key, value in measured.items()}
        long = self.long_sentences(test)
        if len(long) and "bleu" in found:
            found["bleu_long"] = replace(found["bleu"], values=found["bleu"].values[long])
        return found

    def long_sentences(self, test: TestSet) -> NDArray[np.intp]:
        """Returns the positions of the sentences of more than LONG source words, as the corpus's tokeniser
        counts."""
        tokeniser = side_tokeniser("source", self.folder.data)
        return np.flatnonzero([len(tokeniser.words(line)) > LONG for line in test.source])

    def answers(self, run: StudyRun, name: str) -> RunAnswers:
        """Returns a run's outputs for a test set; makes those that are missing. With gold links, they include
        posterior alignments."""
        files = self.folder.tests[name]
        return run_answers(
            self.opened(run),
            self.folder.read_test(name, run.reverse),
            self.folder.outputs,
            self.progress,
            translate=files.translate and not run.reverse,
            without_unk=False,
            posterior=files.gold is not None,
        )

    def comparisons(self, before: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
        """Compares every variant with the baseline, and the pairs that the study names: test set →
        comparisons.

        before: the result of an earlier call; comparisons of the same files are taken from it.
        """
        study, baseline, done = self.folder.study, self.folder.baseline, self.done()
        pairs = [(baseline, name) for name in study.variants if name != baseline]
        pairs += [pair for pair in study.comparisons if pair not in pairs]
        known = {entry["from"]: entry for entries in before.values() for entry in entries}
        result: dict[str, list[dict[str, Any]]] = {test: [] for test in self.folder.tests}
        for test, names, metric in product(result, pairs, TEST_METRICS):
            seeds = [seed for seed in study.seeds if all(seed in done.get(name, {}) for name in names)]
            sides = [[done[name][seed] for seed in seeds] for name in names] if seeds else []
            rows = [[self.rows[run.name] for run in side] for side in sides]
            measured = all(metric.key in row["tests"].get(test, {}) for side in rows for row in side)
            if metric.key == "chrf" or not seeds or not measured:
                continue
            prints = [[row["fingerprint"] for row in side] for side in rows]
            key = checksum(json.dumps([test, metric.key, prints]))[:16]
            if key not in known:
                one, other = (
                    (name, mean_over_seeds([self.statistics(run, test)[metric.key] for run in side]))
                    for name, side in zip(names, sides, strict=True)
                )
                compared = asdict(compare(one, other))
                known[key] = {"from": key} | compared | {"metric": metric.key, "seeds": seeds}
            result[test].append(known[key])
        return result


def _identity(run: StudyRun) -> Row:
    return {"run": run.name, "variant": run.variant, "seed": run.seed, "reverse": run.reverse}


def mean_over_seeds(parts: Sequence[SufficientStatistics]) -> SufficientStatistics:
    """Returns statistics whose score is the mean of the parts' scores; a sentence is resampled or exchanged
    in all parts at once.

    A test on them asks whether the difference would hold on other sentences. `Summary.spread` tells how it
    varies with the seed.
    """
    cuts = np.cumsum([0, *(part.values.shape[1] for part in parts)]).tolist()

    def of_sums(sums: Sequence[float]) -> float:
        ranges = zip(parts, cuts, cuts[1:], strict=False)
        return sum(part.of_sums(sums[begin:end]) for part, begin, end in ranges) / len(parts)

    values = np.concatenate([part.values for part in parts], axis=1)
    return replace(parts[0], values=values, of_sums=of_sums)
