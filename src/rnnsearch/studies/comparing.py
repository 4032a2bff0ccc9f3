"""Are two variants different? Paired tests over the sentences of a test set, on the mean score over the seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rnnsearch.evaluation.significance import compare
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.studies.result_rows import Row
from rnnsearch.studies.scoring import Scorer
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_folder import StudyRun

COMPARED = ("bleu", "bleu_long", "nll_per_word", "aer", "aer_symmetrised", "posterior_aer", "posterior_aer_symmetrised")

RunsBySeed = dict[int, tuple[StudyRun, StudyRun | None, Row]]
"""seed → (run, the run of the other direction, row), of one variant"""


def mean_over_seeds(parts: Sequence[SufficientStatistics]) -> SufficientStatistics:
    """The statistics whose score is the mean of the parts' scores; a resampled or exchanged sentence is so in every one of them.

    What is tested on it is whether the difference would hold on other sentences; how it varies with the seed the spread says.
    """
    cuts = np.cumsum([0, *(part.values.shape[1] for part in parts)]).tolist()

    def of_sums(sums: Sequence[float]) -> float:
        scores = [part.of_sums(sums[begin:end]) for part, begin, end in zip(parts, cuts, cuts[1:], strict=False)]
        return sum(scores) / len(scores)

    first = parts[0]
    values = np.concatenate([part.values for part in parts], axis=1)
    return SufficientStatistics(first.name, first.signature, values, of_sums, first.lower_is_better)


def pairs_to_compare(plan: Plan) -> list[tuple[str, str]]:
    """(baseline, other): every other variant with the baseline, then the pairs that the study names."""
    baseline = plan.study.reference_variant
    usual = [(baseline, name) for name in plan.study.variants if name != baseline]
    return [*usual, *(pair for pair in plan.study.comparisons if pair not in usual)]


def comparisons(plan: Plan, scorer: Scorer, runs_by_seed: dict[str, RunsBySeed], before: dict[str, Any]) -> dict[str, Any]:
    """test set → list of what `compare` finds, for the variants that have runs of the same seeds.

    before: what an earlier call returned; what was computed from the same files is taken from it.
    """
    known = {entry["from"]: entry for entries in before.values() for entry in entries}
    loaded: dict[tuple[str, str], Any] = {}

    def statistics(run: StudyRun, reverse: StudyRun | None, test: str) -> dict[str, SufficientStatistics]:
        if (run.name, test) not in loaded:
            loaded[run.name, test] = scorer.statistics(run, test, reverse)
        found: dict[str, SufficientStatistics] = loaded[run.name, test]
        return found

    result: dict[str, Any] = {}
    for test in scorer.tests:
        result[test] = []
        for baseline, other in pairs_to_compare(plan):
            seeds = [seed for seed in plan.study.seeds if seed in runs_by_seed.get(baseline, {}) and seed in runs_by_seed.get(other, {})]
            sides = [[runs_by_seed[name][seed] for seed in seeds] for name in (baseline, other)]
            for metric in COMPARED if seeds else ():
                if not all(metric in row["tests"].get(test, {}) for side in sides for *_, row in side):
                    continue
                key = _key(test, metric, sides)
                if key not in known:
                    means = [mean_over_seeds([statistics(run, reverse, test)[metric] for run, reverse, _ in side]) for side in sides]
                    found = compare((baseline, means[0]), (other, means[1]))
                    known[key] = {"from": key} | asdict(found) | {"metric": metric, "seeds": seeds}
                result[test].append(known[key])
    return result


def _key(test: str, metric: str, sides: Sequence[Sequence[tuple[StudyRun, StudyRun | None, Row]]]) -> str:
    """Of everything that a comparison is computed from."""
    rows = [[row["fingerprint"] for *_, row in side] for side in sides]
    return hashlib.sha256(json.dumps([test, metric, rows]).encode()).hexdigest()[:16]
