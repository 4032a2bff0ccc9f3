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

from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import BLEU, CHRF, NLL_PER_SENTENCE, Statistics, system_statistics
from rnnsearch.evaluation.statistics import FEWEST, SufficientStatistics, compare
from rnnsearch.evaluation.test_set import RunAnswers, System
from rnnsearch.studies.study import LONG, StudyFolder, StudyRun
from rnnsearch.system.files import checksum
from rnnsearch.system.progress import Progress
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import OpenedRun, open_run, run_answers

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
FORMAT = "3"
"""Part of every fingerprint. A new value makes all rows be computed again."""


class Summary(NamedTuple):
    """A metric over the seeds. spread: the sample standard deviation (n − 1), None for one run."""

    mean: float
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Returns the mean and spread of values, one for each seed."""
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
        self.found: dict[tuple[str, str], Statistics] = {}
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
        opened = self.opened(run)
        fingerprint = self.fingerprint(opened)
        if self.rows.get(run.name, {}).get("fingerprint") != fingerprint:
            self.add(self.row(run, opened) | {"fingerprint": fingerprint})
        forward = self.done().get(run.variant, {}).get(run.seed)
        if run.reverse and forward is not None:
            self.measure(forward)

    def opened(self, run: StudyRun) -> list[OpenedRun]:
        """Returns a trained run, and the run of the other direction whose links are symmetrised with its own,
        if that is done. A network is loaded when an output is missing."""
        back = (
            one
            for one in self.folder.runs
            if one.reverse > run.reverse and (one.variant, one.seed) == (run.variant, run.seed)
            if self.status(one) == "done"
        )
        return [
            open_run(one.name, one.path, device=one.settings.training.device, trust_code=self.trust_code)
            for one in (run, *back)
        ]

    def fingerprint(self, opened: Sequence[OpenedRun]) -> str:
        """Returns a checksum of all that the row of `opened` is computed from."""
        parts: list[str | Path] = [FORMAT, self.folder.study.symmetrisation if opened[1:] else ""]
        for one in opened:
            parts += [one.run.checksum, json.dumps(one.search, sort_keys=True)]
        for files in self.folder.tests.values():
            parts += [Path(path) for path in (files.source, files.reference, files.gold) if path]
        return checksum(*parts)[:16]

    def row(self, run: StudyRun, opened: Sequence[OpenedRun]) -> Row:
        """Computes the row of a trained run from its outputs; those that are missing are made."""
        learned, parameters = read_statistics(run.path), None
        tests: dict[str, dict[str, Any]] = {}
        for name in self.folder.tests:
            answers, *back = (self.answers(one, name, side) for side, one in enumerate(opened, run.reverse))
            system = System(
                run.name,
                answers.texts,
                run=answers,
                reverse=back[0] if back else None,
                symmetrisation=self.folder.study.symmetrisation,
            )
            found = self.found[run.name, name] = self.measured(name, system, run.reverse)
            parameters = parameters or answers.parameters
            scores = tests[name] = {metric: measured.score().value for metric, measured in found.items()}
            if "bleu" in found:
                scores["seconds"] = sum(answers.seconds)
                scores |= {f"{metric}_signature": found[metric].signature for metric in ("bleu", "chrf")}
        return {
            **_identity(run),
            "status": "done",
            "parameters": parameters,
            **{key: learned.get(key) for key in LEARNING},
            "tests": tests,
        }

    def answers(self, run: OpenedRun, name: str, reverse: int) -> RunAnswers:
        """Returns a run's outputs for a test set. With gold links, they include posterior alignments."""
        files, test = self.folder.tests[name], self.folder.test_sets[name].test
        return run_answers(
            run,
            test.reversed() if reverse else test,
            self.folder.outputs,
            self.progress,
            translate=files.translate and not reverse,
            without_unk=False,
            posterior=files.gold is not None,
        )

    def measured(self, name: str, system: System, reverse: bool = False) -> Statistics:
        """Returns (key in the rows → statistics) of all that the test set allows: of translations, also those
        of long sentences if there are any, likelihood and links."""
        test, _, long = self.folder.test_sets[name]
        measured = system_statistics(test.reversed() if reverse else test, system)
        found = {KEYS.get(key, key.lower().replace(" ", "_")): value for key, value in measured.items()}
        if long and "bleu" in found:
            found["bleu_long"] = replace(found["bleu"], values=found["bleu"].values[long])
        return found

    def statistics(self, run: StudyRun, name: str) -> Statistics:
        """Returns the statistics from which the row of a run is computed."""
        if (run.name, name) not in self.found:
            self.row(run, self.opened(run))
        return self.found[run.name, name]

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
                if len(one[1]) < FEWEST:
                    continue
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
